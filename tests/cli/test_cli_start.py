"""How the command starts and ends: quickly, quietly, and with compiled code from the time before."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from plefka.cli import main
from plefka.runtime.version import __version__

COMMAND = [sys.executable, "-m", "plefka"]
SCRIPT = str(Path(sys.executable).with_name("plefka"))  # which is installed
INFER = [*COMMAND, "infer", "example:espresso", "-e", "slow_flow=1", "-m", "G12"]
MOST_OURS, MOST_MODULES = 50, 300  # modules; there were 32 and 197
HEAVY = ("jax", "numpy", "scipy", "matplotlib", "rich", "equinox", "pandas")


def start(arguments: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, env={**os.environ, **variables}, timeout=600)


def test_help_imports_nothing_heavy_and_little_else():
    code = f"""
import sys
from plefka.cli import main
main(["--help"])
print(*[name for name in {HEAVY!r} if name in sys.modules], sep=",", file=sys.stderr)
print(sum(name.partition(".")[0] == "plefka" for name in sys.modules), len(sys.modules), file=sys.stderr)
"""
    done = start([sys.executable, "-c", code])
    imported, counts = done.stderr.splitlines()
    ours, everything = map(int, counts.split())
    assert "Usage: plefka" in done.stdout
    assert imported == ""
    assert ours < MOST_OURS
    assert everything < MOST_MODULES


def test_version(run):
    answer = run("--version")
    assert (answer.code, answer.out) == (0, f"plefka {__version__}\n")


def test_without_a_command_there_is_help(run):
    answer = run()
    assert (answer.code, answer.out) == (2, "")
    assert "Commands:" in answer.err


def test_a_second_call_compiles_nothing(tmp_path):
    folder = tmp_path / "cache"
    first = start(INFER, PLEFKA_CACHE_DIR=str(folder))
    kept = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.name.endswith("-cache")}
    second = start([SCRIPT, *INFER[len(COMMAND) :]], PLEFKA_CACHE_DIR=str(folder))
    again = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.name.endswith("-cache")}
    assert kept
    assert again == kept
    assert (first.returncode, first.stderr, second.returncode, second.stderr) == (0, "", 0, "")
    assert first.stdout == second.stdout
    assert "\033" not in first.stdout


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = start(INFER, PLEFKA_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "ln P(evidence)" in done.stdout


def test_without_typer_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "plefka.cli.app", raising=False)
    assert main(["--help"]) == 2
    assert "pip install 'plefka[cli]'" in capsys.readouterr().err


def test_an_interrupt_ends_quietly(run, monkeypatch):
    def interrupted(source: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("plefka.cli.source.read_network", interrupted)
    answer = run("show", "example:espresso")
    assert (answer.code, answer.out, answer.err.strip()) == (130, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_control_c_ends_it_without_a_traceback():
    code = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
from plefka.cli import main, source
def endless(_):
    print("working", flush=True)
    time.sleep(600)
source.read_network = endless
sys.exit(main(["show", "example:espresso"]))
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=600)
    assert (process.returncode, message.strip()) == (130, "")


def test_colours_only_on_a_terminal(run, monkeypatch):
    plain = run("show", "example:espresso").out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    styled = run("show", "example:espresso").out
    assert "\033[" not in plain
    assert "\033[1m" in styled
    assert "limescale" in styled
