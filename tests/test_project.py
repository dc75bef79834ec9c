"""The project's own files agree with each other: what is checked, on which interpreters, and what is shipped."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests import wheel

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "plefka"
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def recipe(target: str) -> list[str]:
    """The commands of a target."""
    lines = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, flags=re.MULTILINE)
    assert lines, target
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in lines[1].splitlines()]


def test_a_commit_runs_the_commands_of_make_check():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"entry: (.*)", hooks) == recipe("check")
    assert re.findall(r"repo: (.*)", hooks) == ["local"]


def test_the_workflow_tests_every_interpreter_that_the_package_names():
    (matrix,) = re.findall(r"python-version: \[(.*)\]", WORKFLOW)
    named = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert re.findall(r'"([\d.]+)"', matrix) == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_workflow_calls_targets_that_exist():
    targets = re.findall(r"run: make (.*)", WORKFLOW)
    assert set(targets) == {"check", "test", "release", "docs"}
    assert all(recipe(target) for target in targets)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_asks_for_something(template):
    text = template.read_text(encoding="utf-8")
    if template.stem == "config":
        assert "blank_issues_enabled" in text
        return
    assert re.match(r"name: \S.*\ndescription: \S.*\.\n", text)
    ids = re.findall(r"id: (\S+)", text)
    assert len(ids) == len(set(ids)) == text.count("label: ")
    assert "required: true" in text


def test_nothing_but_code_is_in_the_package():
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    names = [path.relative_to(PACKAGE).as_posix() for path in files]
    assert wheel.out_of_place(names) == []
    assert set(names) >= wheel.READ_BY_THE_CODE


def test_a_wheel_with_rows_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "plefka-0.whl", "w") as archive:
        for name in ("plefka/__init__.py", "plefka/paper/rows/0.parquet", "results/report.md"):
            archive.writestr(name, "")
    with pytest.raises(SystemExit, match=r"paper/rows/0\.parquet, results/report\.md"):
        wheel.main(tmp_path)


def test_constraints_pin_what_the_extras_name():
    pinned = {line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    extras = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    wanted = {re.split(r"[\[>=<]", line)[0].lower() for line in [*PROJECT["dependencies"], *extras]} - {"plefka"}
    assert wanted - pinned == set()
