"""`plefka reproduce`: parts, sizes, and how it ends."""

import subprocess
import sys

from tests.paper import made_up


def test_without_pyarrow_the_extra_is_named():
    code = 'import sys; sys.modules["pyarrow"] = None; from plefka.cli import main; sys.exit(main(["reproduce"]))'
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "pip install 'plefka[data]'" in done.stderr


def test_a_part_that_there_is_not(run):
    answer = run("reproduce", "table3")
    assert answer.code == 2
    assert "there is no part 'table3'" in answer.err
    assert "Did you mean 'table1'?" in answer.err or "Did you mean 'table2'?" in answer.err


def test_tables_on_the_terminal_and_in_the_report(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = run("reproduce", "table1", "--quick", "--networks", "6", "--out", "out")
    assert answer.code == 0, answer.err
    assert "sigmoid [-5, 5], bottom layer off: mean of 𝓔 over those of 6 networks on which" in answer.out
    assert "This is a quick run, smaller than the full one: table1 has 6 networks in each column" in answer.out
    assert "The report is in out/report.html and out/report.md." in answer.out
    assert (tmp_path / "out" / "report.html").exists()


def test_redraw_computes_nothing(run, tmp_path, monkeypatch):
    made_up.write(tmp_path)
    monkeypatch.setattr("plefka.paper.compute.complete", None)
    answer = run("reproduce", "--redraw", "--out", tmp_path)
    assert answer.code == 0, answer.err
    assert "What was expected, and whether it holds" in answer.out


def test_an_interruption_says_how_to_go_on(run, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("plefka.paper.compute.complete", interrupted)
    answer = run("reproduce", "table1", "--networks", "4", "--out", tmp_path)
    assert answer.code == 130
    assert "Run the same command to resume." in answer.err


def test_nothing_to_draw(run, tmp_path):
    answer = run("reproduce", "--redraw", "--out", tmp_path)
    assert answer.code == 2
    assert "there are no rows to draw" in answer.err
