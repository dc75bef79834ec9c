"""Figure 10 in a tiny configuration."""

import numpy as np
import pytest

from plefka.experiments import compute, learn_bars, learning
from plefka.experiments.settings import Learning
from plefka.experiments.store import read_one
from tests.learning.bars import BARS

TINY = Learning("learning", (("sigmoid", ("G12", "SJJ")), ("noisy_or", ("G12", "G221"))), (1, 3), 40, 2, 3, 0)


@pytest.mark.slow  # one scheme is computed in the test of an interrupted run
def test_every_start_and_epoch_has_a_row(tmp_path):
    compute.complete(TINY, tmp_path)
    rows = read_one(tmp_path, TINY)
    assert rows.complete
    assert len(rows.columns["epoch"]) == 4 * 2 * 3
    assert not list(tmp_path.rglob("*checkpoint*"))
    for activation, methods in TINY.schemes:
        for method in methods:
            epochs, values = learning.history(rows, activation, method)
            assert epochs.tolist() == [1, 2, 3]
            assert values.shape == (3, 2)
            assert np.all(values < rows.columns["ceiling"][0])
    assert "SJJ" in learning.verdict(rows)
    assert learning.render({"learning": rows}).parts


def test_the_whole_experiment_is_that_of_the_paper():
    full = learning.settings(10, 500, 0)
    assert (full.layers, full.patterns) == ((1, 8), 2000)
    assert full.schemes == (("sigmoid", ("G11", "G12", "G22", "SJJ")), ("noisy_or", ("G11", "G12", "G22", "G221")))


def test_bars_are_bars():
    assert np.array_equal(learn_bars.bars(0, 2000), BARS)
    assert len(np.unique(learn_bars.bars(1, 2000), axis=0)) == 30
    assert pytest.approx(-3.379, abs=5e-4) == learning.CEILING
    assert learn_bars.ceiling(BARS) == pytest.approx(learning.CEILING, abs=0.02)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    """Ctrl-C in the second epoch: nothing is written but the checkpoint, and the rest gives the same rows."""
    small = Learning("learning", (("sigmoid", ("G12",)),), (1, 3), 40, 2, 4, 0)
    compute.complete(small, tmp_path / "whole")
    calls = iter(range(100))

    def interrupt(*_) -> None:
        if next(calls) == 2:
            raise KeyboardInterrupt

    block = compute._learning_blocks(small, tmp_path)[0]
    with pytest.raises(KeyboardInterrupt):
        block.compute(interrupt)
    assert list(tmp_path.glob("sigmoid-G12-*.checkpoint.npz"))
    rest = block.compute(lambda: None)
    whole = read_one(tmp_path / "whole", small).columns
    assert all(np.array_equal(rest[name], whole[name]) for name in whole)
