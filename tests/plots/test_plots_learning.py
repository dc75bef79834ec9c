"""Pictures of learning: what they show, and how they are written."""

from typing import Any, cast

import numpy as np
import pytest

import plefka as pf
from plefka import plots
from plefka.errors import InvalidInput
from plefka.learning.fitted import Fitted, Stopped
from plefka.plots.learning_curves import image_shape
from plefka.plots.style import MOST_DRAWN, check_name


def fitted(stack: int | None = None, *, epochs: int = 5, method: str = "SJJ", **columns) -> Fitted:
    """A run that nobody made: a picture only shows what it is given."""
    lead = () if stack is None else (stack,)
    rng = np.random.default_rng(0)
    network = pf.ensembles.layered((1, 2, 4), -1, 1, stack or 1, seed=0)
    if stack is None:
        network = pf.BeliefNetwork(network.storage.take(0), network.bias[0], layers=network.layers)
    history = {name: np.full((epochs, *lead), np.nan) for name in ("log_likelihood", "validation")}
    history |= {"epoch": np.arange(1, epochs + 1), "objective": rng.normal(size=(epochs, *lead))}
    accuracy = pf.Accuracy.LOWER_BOUND if method == "SJJ" else pf.Accuracy.ESTIMATE
    return Fitted(network, history | columns, Stopped.EPOCHS, pf.parse_method(method), None, accuracy=accuracy)


def layered(activation: str = "sigmoid", hidden: int = 3, visible: int = 9) -> pf.BeliefNetwork:
    weights = np.arange(1.0, 1 + visible * hidden).reshape(visible, hidden)
    return pf.BeliefNetwork.layered(
        [np.ones((hidden, 1)), weights], [np.ones(1), np.ones(hidden), np.ones(visible)], activation
    )


def labels(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def tiles(axes) -> list[np.ndarray]:
    return [np.asarray(tile.images[0].get_array()) for tile in axes.child_axes]


# ---- history ---------------------------------------------------------------------------------------------------------


def test_what_is_unknown_has_no_line():
    axes = plots.history(fitted())
    assert labels(axes) == ["by SJJ, a lower bound"]
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 6))


def test_every_column_that_is_known_has_a_line():
    run = fitted(method="G12", log_likelihood=-np.ones(5), validation=-2 * np.ones(5))
    axes = plots.history(run)
    assert labels(axes) == ["by G12, an estimate, not a bound", "exact ln P", "ln P of validation rows"]
    lines = axes.get_lines()
    np.testing.assert_array_equal(lines[0].get_ydata(), run.history["objective"])
    assert len({line.get_linestyle() for line in lines}) == 3


def test_every_start_of_a_stack_is_a_line():
    run = fitted(4)
    axes = plots.history(run)
    lines = axes.get_lines()
    np.testing.assert_array_equal(np.column_stack([line.get_ydata() for line in lines]), run.history["objective"])
    assert axes.get_title(loc="left") == "Learning by SJJ from 4 starts"
    assert len(labels(axes)) == 1


def test_a_single_epoch_can_be_seen():
    (line,) = plots.history(fitted(epochs=1)).get_lines()
    assert line.get_marker() == "o"


def test_what_is_not_finite_is_left_out():
    objective = np.array([-3.0, -2.0, -np.inf, np.nan, -1.0])
    (line,) = plots.history(fitted(objective=objective)).get_lines()
    assert np.isfinite(line.get_ydata()).tolist() == [True, True, False, False, True]


def test_a_history_of_nothing_says_so():
    with pytest.raises(InvalidInput, match="nothing was learned"):
        plots.history(fitted(epochs=0))


# ---- features --------------------------------------------------------------------------------------------------------


def test_every_hidden_unit_is_an_image_of_its_weights():
    network = layered()
    axes = plots.features(network)
    for image, weights in zip(tiles(axes), np.asarray(network.weights[-1]).T, strict=True):
        np.testing.assert_array_equal(image, weights.reshape(3, 3))
    assert [tile.get_title() for tile in cast(Any, axes.child_axes)] == ["1", "2", "3"]


@pytest.mark.parametrize(("activation", "colours", "least"), [("sigmoid", "RdBu_r", -27), ("noisy_or", "YlOrRd", 0)])
def test_one_scale_for_all_with_signs_where_there_may_be_some(activation, colours, least):
    images = [tile.images[0] for tile in plots.features(layered(activation)).child_axes]
    assert {image.get_cmap().name for image in images} == {colours}
    assert {image.get_clim() for image in images} == {(least, 27.0)}


def test_a_certain_edge_has_the_last_colour():
    network = pf.BeliefNetwork.layered([[[np.inf], [2.0], [1.0], [0.5]]], [[0.1], [0.1] * 4], "noisy_or")
    image = plots.features(network).child_axes[0].images[0]
    assert image.get_clim() == (0.0, 2.0)


def test_shapes_are_guessed_or_given():
    assert [image.shape for image in tiles(plots.features(layered(visible=6), shape=(2, 3)))] == [(2, 3)] * 3
    assert image_shape(16) == (4, 4)
    with pytest.raises(InvalidInput, match=r"6 visible units make no square image; give the shape, height and width"):
        plots.features(layered(visible=6))
    with pytest.raises(InvalidInput, match="an image of 6 visible units; got 4 x 2"):
        plots.features(layered(visible=6), shape=(4, 2))


def test_of_very_many_units_the_first_are_shown():
    axes = plots.features(layered(hidden=101, visible=4))
    assert len(tiles(axes)) == MOST_DRAWN
    assert "the first 100 of 101 units" in axes.get_title(loc="left")


def test_what_has_no_bottom_layer_says_so():
    with pytest.raises(InvalidInput, match="a stack of 2"):
        plots.features(pf.ensembles.layered((1, 4), -1, 1, 2, seed=0))
    with pytest.raises(InvalidInput, match="must have layers"):
        plots.features(pf.BeliefNetwork([[0, 0], [1, 0]], [0, 0]))


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_are_the_same_each_time_and_leave_nothing_else(kind, tmp_path):
    run, network = fitted(), layered()
    for name, draw in (("h", lambda to: plots.history(run, to)), ("f", lambda to: plots.features(network, to))):
        path = tmp_path / f"{name}.{kind}"
        draw(path)
        first = path.read_bytes()
        draw(path)
        assert path.read_bytes() == first
    assert len(list(tmp_path.iterdir())) == 2


def test_a_foreign_suffix_is_refused_before_and_after(tmp_path):
    for refuse in (check_name, lambda path: plots.features(layered(), path)):
        with pytest.raises(InvalidInput, match=r"ends with \.png, \.svg or \.pdf; got \.docx"):
            refuse(tmp_path / "picture.docx")
    check_name("picture.SVG")
    assert list(tmp_path.iterdir()) == []
