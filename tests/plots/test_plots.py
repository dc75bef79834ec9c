"""Pictures: what they show, that labels do not cover each other, and that files are written whole or not at all."""

import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

import plefka as pf
from plefka import plots
from plefka.errors import InvalidInput, MissingExtra
from plefka.inference.solution import Codes, Solution
from plefka.methods.posterior import ESTIMATE, OBSERVED, Status
from plefka.networks.evidence import as_evidence
from plefka.networks.examples import read_example
from plefka.plots.network_graph import THICKEST
from plefka.plots.style import figure_of

CHAIN = [[0, 0, 0, 0], [2, 0, 0, 0], [0, -1, 0, 0], [1, 0, 3, 0]]


def solution_of(network, means, observed) -> Solution:
    """An answer that nobody computed: a picture only shows what it is given."""
    numbers: dict[str, Any] = {"log_partition": -1.5, "status": Status.CONVERGED, "num_steps": 1, "residual": 0.0}
    return Solution(
        means=np.array(means), **numbers, num_restarts=0, num_cycles=cast(Any, 0),
        method=pf.parse_method("G12"), names=network.names, observed=np.array(observed),
        network=network, evidence=as_evidence(network, None),
        codes=Codes(ESTIMATE, np.where(observed, OBSERVED, ESTIMATE)),
    )  # fmt: skip


@pytest.fixture
def chain():
    network = pf.BeliefNetwork(CHAIN, np.zeros(4), "sigmoid", ["top $1$", "middle_one", "low", "last"])
    return network, solution_of(network, [0.25, 0.999, 0.0, 1.0], [False, False, True, True])


@pytest.fixture
def espresso():
    example = read_example("espresso")
    observed = [name in example.evidence for name in example.network.names]
    means = [example.evidence.get(name, 0.3) for name in example.network.names]
    return example.network, solution_of(example.network, means, observed)


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def drawn(axes: Any, kind: str) -> list[Any]:
    """The collections of one kind, lines or points."""
    return [c for c in axes.collections if c.__class__.__name__ == kind]


def test_units_carry_their_names_and_means(chain):
    shown = texts(plots.network(*chain))
    assert {"top $1$", "middle one", "low", "last"} <= set(shown)
    assert {"25", ">99", "off", "on"} <= set(shown)


def test_the_title_has_the_evidence(chain):
    axes = plots.network(*chain, title="A chain")
    assert axes.get_title(loc="left") == "A chain"
    assert any("given low off, last on" in text and "-1.500" in text for text in texts(axes))


def test_parents_are_above_their_children(chain):
    axes = plots.network(*chain)
    places = {text.get_text(): text.xy[1] for text in axes.texts if isinstance(text, Annotation)}
    assert places["top $1$"] > places["middle one"] > places["low"] > places["last"]


def test_edges_are_as_wide_as_their_weights_and_dashed_where_negative(chain):
    (lines,) = drawn(plots.network(*chain), "LineCollection")
    weights = np.array(CHAIN).ravel()
    weights = weights[weights != 0]
    widths = np.asarray(lines.get_linewidths())
    assert (np.argsort(widths) == np.argsort(np.abs(weights), kind="stable")).all()
    dashed = [pattern is not None for _, pattern in lines.get_linestyle()]
    assert dashed == (weights < 0).tolist()


def test_observed_units_differ_by_shape_and_word(espresso):
    network, solution = espresso
    circles, squares = drawn(plots.network(network, solution), "PathCollection")
    assert len(circles.get_offsets()) == np.sum(~solution.observed)
    assert len(squares.get_offsets()) == np.sum(solution.observed)
    assert len(circles.get_paths()[0]) != len(squares.get_paths()[0])
    shown = texts(plots.network(network, solution))
    assert (shown.count("on"), shown.count("off")) == (4, 2)


def test_no_label_covers_another(espresso):
    axes = plots.network(*espresso)
    figure = figure_of(axes)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    covered = [(a, b) for k, a in enumerate(boxes) for b in boxes[:k] if a.overlaps(b)]
    assert covered == []
    assert all(figure.bbox.contains(*corner) for box in boxes for corner in (box.min, box.max))


WORDS = [
    "temporomandibular joint",
    "Abnormality of the temporomandibular joint",
    "long_names_break_at_underscores",
    "x-ray",
]


@pytest.mark.parametrize("room", ["its own figure", "axes of the user's"])
def test_names_break_between_words_and_never_inside_one(chain, room):
    network = pf.BeliefNetwork(CHAIN, np.zeros(4), "sigmoid", WORDS)
    solution = solution_of(network, chain[1].means, chain[1].observed)
    axes = plots.network(network, solution, ax=None if room == "its own figure" else Figure().add_subplot())
    labels = [text.get_text() for text in axes.texts if isinstance(text, Annotation)][:4]
    assert [" ".join(label.split()) for label in labels] == [name.replace("_", " ") for name in WORDS]
    assert labels[1].startswith("Abnormality\n") or labels[1].startswith("Abnormality of\n")


def test_a_word_that_is_too_wide_becomes_smaller_and_is_cut_only_then():
    names = ["short", "sternocleidomastoid", "a" * 80, "flu"]
    network = pf.BeliefNetwork(np.zeros((4, 4)), np.zeros(4), "sigmoid", names)
    axes = plots.network(network, solution_of(network, [0.5] * 4, [False] * 4))
    short, long, endless, _ = [text for text in axes.texts if isinstance(text, Annotation)][:4]
    assert long.get_text() == "sternocleidomastoid"
    assert endless.get_text().endswith("a...")
    usual, smaller, smallest = (float(text.get_fontsize()) for text in (short, long, endless))
    assert usual > smaller > smallest >= usual / 2
    figure_of(axes).draw_without_rendering()
    boxes = [text.get_window_extent() for text in (short, long, endless)]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def test_a_certain_edge_is_the_widest():
    network = pf.BeliefNetwork([[0, 0, 0], [np.inf, 0, 0], [1, 2, 0]], np.full(3, 0.1), "noisy_or")
    axes = plots.network(network, solution_of(network, [0.5] * 3, [False] * 3))
    (lines,) = drawn(axes, "LineCollection")
    assert np.max(lines.get_linewidths()) == THICKEST
    assert np.isfinite(lines.get_linewidths()).all()


def test_a_network_without_edges_is_drawn():
    network = pf.BeliefNetwork(np.zeros((2, 2)), np.zeros(2))
    shown = texts(plots.network(network, solution_of(network, [0.5, 0.5], [False, False])))
    assert shown.count("50") == 2
    assert any("nothing observed" in text for text in shown)


def test_files_are_the_same_each_time_and_leave_nothing_else(chain, tmp_path):
    for kind in ("png", "svg", "pdf"):
        path = tmp_path / "new" / f"chain.{kind}"
        first = plots.save(plots.network(*chain), path).read_bytes()
        assert plots.save(plots.network(*chain), path).read_bytes() == first
    assert sorted(path.suffix for path in (tmp_path / "new").iterdir()) == [".pdf", ".png", ".svg"]


def test_a_picture_that_fails_leaves_the_old_one(chain, tmp_path, monkeypatch):
    path = plots.save(plots.network(*chain), tmp_path / "chain.png")
    before = path.read_bytes()
    axes = plots.network(*chain)
    monkeypatch.setattr(figure_of(axes), "savefig", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        plots.save(axes, path)
    assert [p.name for p in tmp_path.iterdir()] == ["chain.png"]
    assert path.read_bytes() == before


def test_what_cannot_be_drawn_says_so(chain, tmp_path):
    network, solution = chain
    with pytest.raises(InvalidInput, match="one row of evidence"):
        plots.network(network, pf.infer(network, np.full((2, 4), np.nan), "exact"))
    other = pf.BeliefNetwork(CHAIN, np.zeros(4))
    with pytest.raises(InvalidInput, match="must belong to the network"):
        plots.network(other, solution)
    large = pf.BeliefNetwork(np.zeros((101, 101)), np.zeros(101))
    with pytest.raises(InvalidInput, match="up to 100 units"):
        plots.network(large, solution_of(large, [0.5] * 101, [False] * 101))
    with pytest.raises(InvalidInput, match=r"ends with \.png, \.svg or \.pdf"):
        plots.save(plots.network(network, solution), tmp_path / "chain.docx")


def test_drawing_leaves_pyplot_alone():
    code = """
import sys, plefka as pf
network = pf.BeliefNetwork([[0, 0], [1, 0]], [0, 0])
pf.plots.network(network, pf.infer(network, {1: 1}, "exact"))
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("plefka.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'plefka\[plots\]'"):
        import_module("plefka.plots")
