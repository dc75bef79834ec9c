"""The examples in README.md and docs/ are tests.

The `python` blocks of a page are run in one namespace, and an `output` block must be what the block above it printed.
Lines of a `console` block that start with `$ plefka` are run, and what is shown below them must be what they print. In
both, `...` stands for anything, and the amount of white space does not count.
"""

import doctest
import os
import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

from plefka.cli import main
from plefka.runtime import program_cache

PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "PLEFKA_CACHE_DIR": "", "PLEFKA_PROGRESS": "0"}
CACHE = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"
PROMPT = "$ "
LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

os.environ.setdefault("PLEFKA_DATA", str(Path(__file__).parents[1] / "shared" / "data"))  # a page has its own folder

# Before any test is imported, and with it JAX; commands run by the tests inherit it.
os.environ.setdefault("XLA_FLAGS", program_cache.COMPILE_FAST)


def agree(shown: str, printed: str) -> bool:
    return doctest.OutputChecker().check_output(shown.strip(), printed.strip(), LOOSELY)


class RunPython(PythonEvaluator):
    """Run a block and keep what it prints."""

    def __call__(self, example: Example) -> None:
        with redirect_stdout(StringIO()) as printed:
            super().__call__(example)
        example.namespace["_printed"] = printed.getvalue()


def compare_output(example: Example) -> str | None:
    """What the block above should have printed and did not, or None."""
    printed = example.namespace.get("_printed", "")
    return None if agree(example.parsed, printed) else f"should print:\n{example.parsed}\nbut prints:\n{printed}"


def commands_of(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown below it."""
    commands: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith(PROMPT):
            commands.append((line.removeprefix(PROMPT).strip(), ""))
        elif commands:
            command, shown = commands[-1]
            commands[-1] = (command, shown + line)
    return commands


def run_console(example: Example) -> str | None:
    """Run every `$ plefka ...` of a block in this process; what is wrong, or None."""
    for command, shown in commands_of(example.parsed):
        program, *arguments = shlex.split(command)
        if program != "plefka":
            continue
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as errors, patch.dict(os.environ, PLAIN):
            code = main(arguments)
        if code:
            return f"{command}\nended with {code}:\n{out.getvalue()}{errors.getvalue()}"
        if shown.strip() and not agree(shown, out.getvalue()):
            return f"{command}\nshould print:\n{shown}\nbut prints:\n{out.getvalue()}"
    return None


def enter_folder(namespace: dict) -> None:
    """Every page has an empty folder to itself, which goes away with it."""
    namespace["has_spikes"] = (Path(os.environ["PLEFKA_DATA"]) / "ising" / "spikes.npz").exists()
    namespace["has_ontology"] = (Path(os.environ["PLEFKA_DATA"]) / "hpo" / "is_a.csv.gz").exists()
    import jax

    folder = TemporaryDirectory()
    namespace["_page"] = (folder, Path.cwd(), {name: getattr(jax.config, name) for name in CACHE})
    os.chdir(folder.name)


def leave_folder(namespace: dict) -> None:
    folder, home, cache = namespace.pop("_page")
    os.chdir(home)
    if program_cache.folder_in_use() is not None:
        _keep_no_more_programs(cache)
    folder.cleanup()


def _keep_no_more_programs(cache: dict) -> None:
    """A page may have called keep_compiled(), which holds for the whole process, and with it for other tests."""
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    program_cache._in_use.clear()
    for name, value in cache.items():
        jax.config.update(name, value)
    reset_cache()


pytest_collect_file = Sybil(
    parsers=[
        SkipParser(),
        CodeBlockParser("python", RunPython()),
        CodeBlockParser("output", compare_output),
        CodeBlockParser("console", run_console),
    ],
    patterns=["README.md", "docs/*.md", "docs/tutorials/*.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
