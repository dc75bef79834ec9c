"""Pictures of answers: rankings, comparisons and calibration, and what all functions of pf.plots have in common."""

import inspect
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

import plefka as pf
from plefka import plots
from plefka.cli import main
from plefka.errors import InvalidEvidence, InvalidFile, InvalidInput
from plefka.learning.fitted import Fitted, Stopped
from plefka.plots.method_comparison import SMALLEST_SHOWN
from plefka.plots.style import DARK, LIGHT, figure_of, is_light, palette_of
from tests import zoo

ESPRESSO = pf.example("espresso")
SOLUTION = pf.infer(ESPRESSO, {"slow_flow": 1, "loud_hum": 0}, "exact")
WIDE = pf.BeliefNetwork.layered([np.eye(80)], [np.full(80, 0.1), np.full(80, 0.1)], "noisy_or")
LAYERED = pf.BeliefNetwork.layered([np.arange(12.0).reshape(4, 3)], [np.zeros(3), np.zeros(4)])
COLUMNS = {"epoch": np.arange(1, 6), "objective": -np.ones(5)}
FITTED = Fitted(
    LAYERED, {name: COLUMNS.get(name, np.full(5, np.nan)) for name in (*COLUMNS, "log_likelihood", "validation")},
    Stopped.EPOCHS, pf.parse_method("G12"), None,
)  # fmt: skip
TRIALS = [
    {"method": f"method {k}", "seconds": 0.001 * 1.1**k, "error": 0.1 * (-1.1) ** k, "largest_mean_error": 0.01}
    for k in range(12)
] + [{"method": "exact", "seconds": 0.002, "error": 0.0, "largest_mean_error": 0.0}]
SERIES = pf.series(zoo.ZOO["sigmoid, layered"], zoo.some_evidence(zoo.ZOO["sigmoid, layered"]), 14)
SENSITIVITY = pf.sensitivity(ESPRESSO, {"slow_flow": 1}, "limescale")
DRAW: dict[str, Any] = {
    "calibration": lambda **ax: plots.calibration([0.1, 0.9], [0, 1], **ax),
    "compare": lambda **ax: plots.compare(TRIALS, **ax),
    "features": lambda **ax: plots.features(LAYERED, **ax),
    "history": lambda **ax: plots.history(FITTED, **ax),
    "network": lambda **ax: plots.network(ESPRESSO, SOLUTION, **ax),
    "ranking": lambda **ax: plots.ranking(SOLUTION, **ax),
    "series": lambda **ax: plots.series(SERIES, **ax),
    "tornado": lambda **ax: plots.tornado(SENSITIVITY, **ax),
}


# ---- what all have in common -----------------------------------------------------------------------------------------


def test_the_public_functions_are_all_there_is():
    assert dir(plots) == sorted([*DRAW, "save"])
    assert all(inspect.isfunction(getattr(plots, name)) for name in dir(plots))


@pytest.mark.parametrize("name", DRAW)
def test_axes_are_taken_and_returned(name):
    mine = Figure().add_subplot()
    assert DRAW[name](ax=mine) is mine
    fresh = DRAW[name]()
    assert isinstance(fresh, Axes)
    assert fresh is not mine


@pytest.mark.parametrize("name", DRAW)
@pytest.mark.parametrize("background", ["white", "black"])
def test_text_can_be_read_on_light_and_dark_backgrounds(name, background):
    axes = DRAW[name](ax=Figure(facecolor=background).add_subplot(facecolor=background))
    labels = [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels()]  # pyright: ignore[reportAttributeAccessIssue]
    shown = [label for label in labels if label.get_text() and axes.axison]
    shown += [axes._left_title]  # pyright: ignore[reportAttributeAccessIssue]
    assert {is_light(label.get_color()) for label in shown} == {background == "black"}
    assert palette_of(axes).ink == (LIGHT if background == "white" else DARK).ink


@pytest.mark.parametrize("name", DRAW)
def test_axes_can_be_saved(name, tmp_path):
    assert plots.save(DRAW[name](), tmp_path / "picture.svg").read_bytes().startswith(b"<?xml")


# ---- parts of networks -----------------------------------------------------------------------------------------------


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_a_part_of_a_large_network_is_drawn_with_the_probabilities_of_the_whole():
    solution = pf.infer(WIDE, {"85": 1}, "exact")
    shown = texts(plots.network(WIDE, solution, around=5, hops=1))
    assert shown[:4] == [f"{100 * solution['5']:.0f}", "on", "5", "85"]
    assert "158 other units are not shown" in shown[4].replace("\n", " ")
    assert len(texts(plots.network(WIDE, solution, around=["5", "6", 7]))) == 13


def test_what_is_too_large_says_how_to_draw_a_part():
    solution = pf.infer(WIDE, None, "exact")
    with pytest.raises(InvalidInput, match=r"up to 100 units; this network has 160\. Pass around='NAME'"):
        plots.network(WIDE, solution)
    with pytest.raises(InvalidInput, match=r"the part within 1 edges has 102\. Pass fewer hops"):
        plots.network(WIDE, solution, around=[*range(51)])
    with pytest.raises(InvalidEvidence, match=r"there is no unit .*'x'"):
        plots.network(WIDE, solution, around="x")


# ---- rankings --------------------------------------------------------------------------------------------------------


def test_bars_are_as_long_as_the_probabilities():
    axes = plots.ranking(SOLUTION, top=3, units="all")
    ranked = SOLUTION.ranking(3, units="all")
    assert [bar.get_width() for bar in axes.patches] == [mean for _, mean in ranked]  # pyright: ignore[reportAttributeAccessIssue]
    assert [label.get_text() for label in axes.get_yticklabels()] == [name for name, _ in ranked]
    assert texts(axes) == [f"{mean:.3f}" for _, mean in ranked]
    low, high = axes.get_ylim()
    assert low > high  # the most probable on top


def marks(axes: Axes) -> list[float]:
    (lines,) = (c for c in axes.collections if isinstance(c, LineCollection))
    return [float(segment[0][0]) for segment in lines.get_segments()]


def test_a_ranking_marks_what_was_probable_beforehand():
    ranked, before = SOLUTION.ranking(), pf.infer(ESPRESSO, None, "exact")
    assert marks(plots.ranking(SOLUTION)) == pytest.approx([before[name] for name, _ in ranked])
    hidden = SOLUTION.ranking(None, units="all")
    everything = plots.ranking(SOLUTION, None, units="all", prior=before)
    assert marks(everything) == pytest.approx([before[name] for name, _ in hidden])
    assert "beforehand" in everything.get_xlabel()


def test_without_observations_there_is_nothing_to_mark():
    axes = plots.ranking(pf.infer(ESPRESSO, None, "exact"))
    assert "beforehand" not in axes.get_xlabel()
    assert marks(axes) == []


def test_rare_causes_have_a_scale_of_their_own():
    rare = pf.BeliefNetwork([[0, 0, 0], [0, 0, 0], [0.9, 0.5, 0]], [0.001, 0.004, 0.1], "noisy_or", ["a", "b", "c"])
    axes = plots.ranking(pf.infer(rare, {"c": 1}, "exact"))
    longest = max(bar.get_width() for bar in axes.patches)  # pyright: ignore[reportAttributeAccessIssue]
    assert 0.3 < longest / axes.get_xlim()[1] < 1


def test_marks_and_numbers_do_not_cover_each_other():
    priors = np.linspace(0.02, 0.12, 6)
    links = np.vstack([np.zeros((6, 7)), [*np.full(6, 0.5), 0]])
    network = pf.BeliefNetwork(links, -np.log1p(-np.append(priors, 0.01)), "noisy_or")
    axes = plots.ranking(pf.infer(network, {6: 0}, "exact"))
    figure_of(axes).draw_without_rendering()
    numbers = [text.get_window_extent() for text in axes.texts]
    pixels = [float(axes.transData.transform((mark, 0))[0]) for mark in marks(axes)]
    assert not any(box.x0 <= x <= box.x1 for box, x in zip(numbers, pixels, strict=True))


def test_long_names_have_room_and_break_between_words():
    names = [
        "Abnormality of the temporomandibular joint", "slow_flow_of_the_water_through_the_group_head_and_its_screen",
        "x" * 90, "flu", "fever",
    ]  # fmt: skip
    network = pf.BeliefNetwork.layered([np.ones((1, 4))], [np.full(4, 0.1), [0.1]], "noisy_or", names)
    axes = plots.ranking(pf.infer(network, {"fever": 1}, "exact"))
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert shown[0] == names[0]
    assert shown[1].replace("\n", "") == names[1]
    assert all(line.endswith("_") for line in shown[1].split("\n")[:-1])
    assert shown[2].endswith("x...")
    figure = figure_of(axes)
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(figure.bbox.contains(*corner) for box in boxes for corner in (box.min, box.max))
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def test_an_answer_beforehand_is_of_the_same_network_and_of_one_row():
    with pytest.raises(InvalidInput, match="prior must be an answer of the same network"):
        plots.ranking(SOLUTION, prior=pf.infer(LAYERED, None, "exact"))
    with pytest.raises(InvalidInput, match="one row of evidence; got a batch"):
        plots.ranking(SOLUTION, prior=pf.infer(ESPRESSO, [{}, {}], "exact"))


def test_a_ranking_needs_one_row_and_something_hidden():
    with pytest.raises(InvalidInput, match="a ranking is of one row of evidence; got a batch"):
        plots.ranking(pf.infer(ESPRESSO, [{}, {}], "exact"))
    with pytest.raises(InvalidInput, match="there is nothing to rank"):
        plots.ranking(SOLUTION, units=["slow_flow"])


def test_a_tornado_leads_from_one_end_of_a_number_to_the_other():
    axes, numbers = plots.tornado(SENSITIVITY, top=4), SENSITIVITY.top(4)
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches]  # pyright: ignore[reportAttributeAccessIssue]
    assert ends == pytest.approx([z.at_low for z in numbers] + [z.at_high for z in numbers])
    assert [label.get_text() for label in axes.get_yticklabels()] == [z.name for z in numbers]


# ---- comparisons -----------------------------------------------------------------------------------------------------


def points(axes: Axes) -> np.ndarray:
    return np.concatenate([np.asarray(c.get_offsets()) for c in axes.collections if isinstance(c, PathCollection)])


PRINTED = {"network": "example:espresso", "evidence": {"slow_flow": 1}, "methods": TRIALS, "left_out": {}}
FORMS = {
    "dictionaries": TRIALS, "frame": pd.DataFrame(TRIALS), "printed": PRINTED, "text": json.dumps(PRINTED, indent=2),
    "its methods": json.dumps(TRIALS),
}  # fmt: skip


@pytest.mark.parametrize("trials", FORMS.values(), ids=FORMS)
def test_every_method_is_a_point_of_its_time_and_error(trials):
    axes = plots.compare(trials)
    expected = [(trial["seconds"], max(abs(trial["error"]), SMALLEST_SHOWN)) for trial in TRIALS]
    np.testing.assert_allclose(points(axes), expected)
    assert {*texts(axes)} == {trial["method"] for trial in TRIALS}
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


@pytest.mark.parametrize("kind", [str, Path])
def test_the_output_of_the_command_is_a_picture(tmp_path, capsys, monkeypatch, kind):
    monkeypatch.setattr("plefka.METHODS", {name: pf.METHODS[name] for name in ("exact", "G11", "G12")})
    assert main(["compare", "example:espresso", "-e", "slow_flow=1,thin_crema=1", "--json"]) == 0
    path = tmp_path / "compared.json"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    assert {*texts(plots.compare(kind(path)))} == {"exact", "G11", "G12"}


def test_what_the_command_does_not_print_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="as those of plefka compare --json; got one without 'method'"):
        plots.compare({"network": "example:espresso"})
    with pytest.raises(InvalidFile, match="trials: line 1, column 2: must be JSON"):
        plots.compare("{methods}")
    with pytest.raises(InvalidFile, match=r"missing\.json: cannot be read: No such file"):
        plots.compare(tmp_path / "missing.json")


def test_several_trials_of_a_method_are_averaged_and_those_without_an_error_left_out():
    trials = [{"method": "a", "seconds": s, "largest_mean_error": e} for s, e in ((1, 0.1), (3, 0.3), (9, None))]
    axes = plots.compare(trials, error="largest_mean_error")
    np.testing.assert_allclose(points(axes), [(2, 0.2)])
    assert axes.get_ylabel() == "largest error of a mean"


def test_no_name_covers_another():
    axes = plots.compare(TRIALS)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_trials_without_what_is_needed_are_refused():
    with pytest.raises(
        InvalidInput, match=r"every trial must have 'method', 'seconds' and 'error'.* without 'seconds'"
    ):
        plots.compare([{"method": "a", "error": 1.0}])
    with pytest.raises(InvalidInput, match="there must be a trial with a finite 'error'; got 1 without"):
        plots.compare([{"method": "a", "seconds": 1.0, "error": None}])


# ---- calibration -----------------------------------------------------------------------------------------------------


def test_points_are_mean_predictions_and_frequencies():
    axes = plots.calibration([[0.0, 0.2], [0.3, 1.0]], [[0, 1], [np.nan, 1]], bins=2)
    np.testing.assert_allclose(points(axes), [(0.1, 0.5), (1.0, 1.0)])
    assert axes.get_title(loc="left") == "Calibration of 3 predictions"


def test_exact_predictions_lie_on_the_diagonal():
    states = ESPRESSO.sample(seed=0, count=2000)
    rows = np.where(np.arange(ESPRESSO.size) % 2 == 0, states, np.nan)
    predicted = pf.infer(ESPRESSO, rows, "exact").means
    axes = plots.calibration(predicted[np.isnan(rows)], states[np.isnan(rows)])
    mean, frequency = points(axes).T
    (sizes,) = (c.get_sizes() for c in axes.collections if isinstance(c, PathCollection))
    assert np.average(np.abs(mean - frequency), weights=sizes) < 0.02


@pytest.mark.parametrize(
    ("predicted", "happened", "message"),
    [
        ([0.1], [0, 1], r"must have the same shape; got \(1,\) and \(2,\)"),
        ([1.1], [1], "probabilities from 0 to 1; got 1.1"),
        ([0.5], [0.5], "happened must be 0 or 1, or nan where unknown; got 0.5"),
        ([0.5], [np.nan], "a prediction whose outcome is known; got none"),
    ],
)
def test_what_is_no_prediction_is_refused(predicted, happened, message):
    with pytest.raises(InvalidInput, match=message):
        plots.calibration(predicted, happened)
    with pytest.raises(InvalidInput, match="bins must be a whole number from 1 on; got 0"):
        plots.calibration([0.5], [1], bins=0)


# ---- series ----------------------------------------------------------------------------------------------------------


def test_a_series_is_drawn_as_the_errors_of_every_order():
    sums, pade = plots.series(SERIES).get_lines()
    errors = np.abs(SERIES.partial_sums - SERIES.exact)
    np.testing.assert_allclose(np.asarray(sums.get_ydata(), float), np.maximum(errors, 1e-16))
    assert np.asarray(pade.get_ydata(), float)[10] == pytest.approx(abs(SERIES.pade(5, 5) - SERIES.exact), abs=1e-16)
