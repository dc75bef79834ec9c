"""What notebooks show: valid, escaped, short, and in the colours of the page."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import plefka as pf
from plefka.learning.fitted import Fitted, Stopped

NASTY = '<b>"flu" & co</b>'
NET = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or", [NASTY, "fever"])
LARGE = pf.BeliefNetwork(np.zeros((50, 50)), np.linspace(-2, 2, 50))
TIGHT = pf.BeliefNetwork(np.tril(np.full((4, 4), 2.0), -1), np.full(4, -1.0))
HISTORY = {
    "epoch": np.arange(1, 31), "objective": np.linspace(-5, -3, 30), "log_likelihood": np.full(30, np.nan),
    "validation": np.full(30, np.nan), "solved": np.ones(30), "converged": np.ones(30), "seconds": np.arange(30.0),
}  # fmt: skip
FITTED = Fitted(NET, HISTORY, Stopped.EPOCHS, pf.parse_method("G12"), None)
BATCH = [{}, {"fever": 1}, {"fever": 0}]

SHOWN = {
    "solution": pf.infer(NET, {"fever": 1}, "exact", check=True),
    "batch": pf.infer(NET, BATCH, "exact", check=True),
    "check": pf.infer(NET, {"fever": 1}, "exact").check(seed=0),
    "network": NET,
    "fitted": FITTED,
    "stack": pf.ensembles.layered((2, 3), -1, 1, 4, seed=0),
    "large solution": pf.infer(LARGE, {3: 1}, "exact"),
    "large check": pf.infer(LARGE, {3: 1}, "G12").check(seed=0),
    "large network": LARGE,
    "large batch": pf.infer(NET, BATCH * 10, "exact"),
}


class Reader(HTMLParser):
    """The text and the cells, with every tag closed by its own."""

    def __init__(self, html: str):
        super().__init__()
        self.open, self.text, self.rows = [], "", []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_well_formed_and_has_the_colours_of_the_page(name):
    html = SHOWN[name]._repr_html_()
    Reader(html)
    colours = re.findall(r"(?:color|background):([^;\"]+)", html)
    assert set(colours) <= {"inherit", "transparent", "currentColor"}
    assert not re.search(r"https?:|<script|<style|class=", html)
    assert len(html) < 20_000


@pytest.mark.parametrize("name", ["solution", "batch", "check", "network"])
def test_names_are_escaped(name):
    html = SHOWN[name]._repr_html_()
    assert "<b>" not in html
    assert NASTY in Reader(html).text


def test_a_solution_shows_its_probabilities_as_numbers_and_bars():
    solution = pf.infer(LARGE, {3: 1}, "exact")
    html = solution._repr_html_()
    header, *rows = Reader(html).rows
    assert header[:2] == ["unit", "P(on | evidence)"]
    shown = solution.ranking(20, units="all")  # all are causes, and none has changed
    assert [(name, number) for name, number, *_ in rows] == [(name, f"{mean:.4f}") for name, mean in shown]
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%", html)]
    assert widths == [pytest.approx(100 * mean, abs=0.06) for _, mean in shown]
    assert "... and 29 more units" in Reader(html).text
    assert "observed: 3=1" in Reader(html).text


def test_the_verdict_and_failures_are_said():
    assert SHOWN["solution"].checked.verdict in Reader(SHOWN["solution"]._repr_html_()).text
    stopped = pf.infer(TIGHT, {3: 1}, "G12[max_steps=1]", throw=False)
    assert "ran out of steps" in Reader(stopped._repr_html_()).text


def test_a_batch_shows_a_line_for_each_row():
    _, *rows = Reader(SHOWN["batch"]._repr_html_()).rows
    assert [row[0] for row in rows] == ["0", "1", "2"]
    assert all(NASTY in row[-1] for row in rows)
    assert "... and 10 more rows" in Reader(SHOWN["large batch"]._repr_html_()).text


def test_a_fit_shows_its_epochs():
    header, *rows = Reader(FITTED._repr_html_()).rows
    assert header == ["epoch", "objective", "seconds"]
    assert (rows[0][0], rows[-1][:2], len(rows)) == ("1", ["30", "-3.0000"], 10)


# ---- print(check) ----------------------------------------------------------------------------------------------------


def test_a_check_prints_units_by_name_the_largest_difference_first():
    solution = pf.infer(LARGE, {3: 1}, "G12")
    off = solution.means.copy()
    off[[7, 20]] += [0.2, -0.1]
    check = type(solution)(**{**vars(solution), "means": off}).check(seed=0)
    lines = str(check).splitlines()
    assert lines[0] == check.verdict
    assert lines[2].split() == [
        "unit",
        "by",
        "the",
        "solution",
        "by",
        "the",
        "draws",
        "standard",
        "error",
        "difference",
    ]
    assert [line.split()[0] for line in lines[4:6]] == ["7", "20"]
    sizes = [abs(float(line.split()[-1])) for line in lines[4:-1]]
    assert sizes == sorted(sizes, reverse=True)
    assert lines[-1] == "... and 29 more units, which differ less"
    assert not any(line.split()[0] == "3" for line in lines[4:])
    assert "array" not in repr(check)
