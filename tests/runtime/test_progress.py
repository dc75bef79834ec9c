"""Progress bars: who sees them, and how they are switched on and off."""

import re
import sys

import pytest

import plefka as pf
from plefka.cli import main
from plefka.progress import progress


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr("plefka.progress.QUIET_SECONDS", 0.0)
    for style in pf.progress.STYLE.values():
        monkeypatch.setitem(style, "mininterval", 0.0)
    monkeypatch.delenv("PLEFKA_PROGRESS", raising=False)


@pytest.fixture
def drawn(capsys, monkeypatch):
    """Whether a library call draws a bar."""

    def drawn(terminal: bool = False) -> bool:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
        assert list(progress(range(3), "counting")) == [0, 1, 2]
        return "counting" in capsys.readouterr().err

    return drawn


def test_the_library_draws_on_a_terminal_only(drawn):
    assert not drawn()
    assert drawn(terminal=True)


def test_the_variable_switches_bars_on_and_off(drawn, monkeypatch):
    for value, shown in (("0", False), ("1", True)):
        monkeypatch.setenv("PLEFKA_PROGRESS", value)
        assert drawn(terminal=not shown) is shown


def test_show_holds_until_its_context_ends(drawn, monkeypatch):
    monkeypatch.setenv("PLEFKA_PROGRESS", "0")
    with pf.progress.show(True):
        assert drawn()
        with pf.progress.show(False):
            assert not drawn()
        assert drawn()
    assert not drawn()


def test_show_without_a_context_holds_from_now_on(drawn):
    undo = pf.progress.show(True)
    assert drawn()
    undo.close()
    assert not drawn()


def test_an_argument_counts_more_than_the_switch(capsys):
    with pf.progress.show(False):
        list(progress(range(3), "counting", shown=True))
    assert "counting" in capsys.readouterr().err


def test_a_bar_says_how_much_is_done_and_how_long_the_rest_takes(capsys):
    done: list[int] = []
    for k in progress(range(4), lambda: f"{len(done)} done", shown=True):
        done.append(k)
    lines = capsys.readouterr().err.split("\n")
    assert re.search(r"\r3 done:  75%\|.*\| 3/4 \[00:00<00:00, .*\]", lines[3])


def test_without_tqdm_there_is_no_bar_unless_one_is_asked_for(drawn, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert not drawn(terminal=True)
    with pf.progress.show(True), pytest.raises(pf.errors.MissingExtra, match=r"progress bar needs tqdm.*plefka\[cli\]"):
        drawn()


def test_the_command_draws_unless_the_variable_forbids_it(drawn, monkeypatch):
    seen = []

    def look(source: str) -> None:
        seen.append(drawn())
        raise KeyboardInterrupt

    monkeypatch.setattr("plefka.cli.source.read_network", look)
    main(["show", "example:espresso"])
    monkeypatch.setenv("PLEFKA_PROGRESS", "0")
    main(["show", "example:espresso"])
    assert seen == [True, False]
