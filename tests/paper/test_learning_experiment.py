"""Figure 10 in a tiny configuration."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plefka.paper import claims, compute, figure_10, learn_bars, plan, step_size_sweep
from plefka.paper.experiment_settings import Learning, spelled
from plefka.paper.store import StoredRows, read_one
from plefka.tables.html_page import Figure
from tests.learning.bars import BARS

SCHEMES = (("sigmoid", ("G12", "SJJ")), ("noisy_or", ("G12", "G221")))
TINY = Learning("learning", SCHEMES, (0.05, 0.2), (1, 3), 40, 2, 3, 50, 0)


@pytest.mark.slow  # one scheme is computed in the test of an interrupted run
def test_every_start_and_epoch_has_a_row(tmp_path):
    compute.complete(TINY, tmp_path)
    rows = read_one(tmp_path, TINY)
    assert rows.complete
    assert len(rows.columns["epoch"]) == 4 * 2 * 2 * 3
    assert not list(tmp_path.rglob("*checkpoint*"))
    for activation, methods in TINY.schemes:
        found = step_size_sweep.runs(rows, activation)
        assert tuple(found) == methods
        for some in found.values():
            assert [run.step_size for run in some] == [0.05, 0.2]
            for run in some:
                assert run.epochs.tolist() == [1, 2, 3]
                assert run.exact.shape == run.converged.shape == (3, 2)
                assert np.all(run.exact < rows.columns["ceiling"][0])
    assert "SJJ" in figure_10.verdict(rows)
    assert figure_10.render({"learning": rows}).parts


def test_the_whole_experiment_is_that_of_the_paper():
    """But for the starts and epochs, which are fewer, as there are step sizes; the report says so."""
    full, beyond = (each for each in plan.experiments(["learning"], plan.FULL, 0) if isinstance(each, Learning))
    assert (full.layers, full.patterns) == ((1, 8), 2000)
    schemes = ("G11", "G12", "G22", "G221")
    assert full.schemes == (("sigmoid", (*schemes, "SJJ")), ("noisy_or", schemes))
    assert len(full.step_sizes) >= 5
    assert (beyond.layers, beyond.patterns, beyond.starts, beyond.seed) == (full.layers, full.patterns, full.starts, 0)
    assert {method for _, methods in beyond.schemes for method in methods} >= {"reweighted"}


def test_what_the_paper_does_not_have_is_drawn_beside_its_schemes(tmp_path):
    sizes = {0.05: (-6.0, -6.0)}
    rows = rows_of({"G12": sizes, "SJJ": sizes}, starts=2)
    beyond = replace(figure_10.settings_beyond(2, 2, 0), layers=(3,), patterns=40, schemes=figure_10.BEYOND[:1])
    compute.complete(beyond, tmp_path)
    (run,) = step_size_sweep.runs(read_one(tmp_path, beyond), "sigmoid")["reweighted"]
    assert np.all(run.exact[0] != run.exact[1])  # it goes on after the first epoch
    parts = figure_10.render({"learning": rows, "learning_beyond": read_one(tmp_path, beyond)}).parts
    assert any("Beyond the paper" in getattr(part, "words", "") for part in parts)
    (figure,) = (part for part in parts if isinstance(part, Figure))
    assert "reweighted from" in figure.panels[1].alternative
    assert "reweighted" not in figure.panels[0].alternative


# ---- what is said of it ----------------------------------------------------------------------------------------------


def rows_of(ends: dict[str, dict[float, tuple[float, float]]], starts: int = 4, failed: bool = False) -> StoredRows:
    """Sigmoid networks that end at (exact, objective), by method and step size; starts differ by little."""
    sizes = sorted({size for each in ends.values() for size in each})
    settings = spelled(Learning("learning", (("sigmoid", tuple(ends)),), tuple(sizes), (1, 3), 40, starts, 2, 50, 0))
    noise = np.linspace(-0.01, 0.01, starts)
    parts = [
        {
            "activation": np.full(2 * starts, "sigmoid"),
            "method": np.full(2 * starts, method),
            "step_size": np.full(2 * starts, size),
            "epoch": np.repeat([1, 2], starts),
            "log_likelihood": np.r_[np.full(starts, -9.0), exact + noise],
            "objective": np.r_[np.full(starts, -9.0), np.full(starts, np.nan if failed else objective)],
            "converged": np.repeat([1.0, 0.5], starts),
            "failed": np.full(2 * starts, failed),
            "ceiling": np.full(2 * starts, -3.4),
        }
        for method, each in ends.items()
        for size, (exact, objective) in each.items()
    ]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return StoredRows("learning", settings, columns, {}, complete=True)


def test_a_step_size_is_chosen_by_the_objective_and_by_the_exact_likelihood():
    rows = rows_of({"G12": {0.1: (-5.0, -4.0), 0.2: (-6.0, -3.0)}, "SJJ": {0.1: (-5.5, -5.6), 0.2: (-5.2, -5.3)}})
    for choice, size in (("objective", 0.2), ("exact", 0.1)):
        assert step_size_sweep.chosen(rows, "sigmoid", choice)["G12"].step_size == size
    text = figure_10.verdict(rows)
    assert "for G12 it depends on how the step size is chosen" in text
    assert "With one step size for all schemes, those with the highest mean are G12 at 0.1" in text


@pytest.mark.parametrize(
    ("others", "words"), [(-4.0, "every other scheme ends higher"), (-6.0, "G12 ends lower than SJJ")]
)
def test_the_verdict_says_what_holds_and_under_which_conditions(others, words):
    rows = rows_of(
        {"G12": {0.1: (others, others), 0.2: (others - 1, others - 1)}, "SJJ": {0.1: (-5, -5), 0.2: (-7, -7)}}
    )
    text = figure_10.verdict(rows)
    assert words in text
    for condition in ("step sizes 0.1, 0.2", "4 starts", "2 epochs", "at most 50 evaluations", "50.0 % of the solves"):
        assert condition in text
    assert not re.search(r"\b(refuted|best)\b", text)
    assert [claim[1] for claim in claims._learning(rows)] == ["yes" if others > -5 else "no"] * 2


def test_failed_starts_and_solves_that_did_not_converge_stand_beside_the_means():
    rows = rows_of({"G12": {0.1: (-5, -4)}, "SJJ": {0.1: (-5, -5)}}, failed=True)
    assert "4 of 4 starts failed" in figure_10.verdict(rows)
    best, swept = figure_10.tables(rows, "sigmoid")
    assert all("4 of 4" in line and "50.0 %" in line and "none" in line for line in best.rows)
    assert all("50.0 %, 4 failed" in line[1] for line in swept.rows)


def test_rows_go_on_to_the_last_epoch_where_all_starts_have_failed():
    """Of a run that ended early every epoch has rows, as its networks stay what they were."""
    settings = Learning("learning", SCHEMES, (0.05,), (1, 3), 40, 2, 6, 50, 0)
    history: dict[str, np.ndarray] = {
        name: np.arange(8.0).reshape(4, 2) for name in ("objective", "log_likelihood", "solved", "converged")
    }
    history["epoch"] = np.arange(1, 5)
    fitted: Any = SimpleNamespace(history=history, epochs=4, failed=np.array([True, True]))
    columns = learn_bars._columns(fitted, settings, learn_bars.LearnedScheme("sigmoid", "G22", 0.05), -3.4)
    assert columns["epoch"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert columns["log_likelihood"].reshape(6, 2).tolist()[3:] == [[6, 7]] * 3
    assert columns["failed"].all()


def test_bars_are_bars():
    assert np.array_equal(learn_bars.bars(0, 2000), BARS)
    assert len(np.unique(learn_bars.bars(1, 2000), axis=0)) == 30
    assert pytest.approx(-3.379, abs=5e-4) == figure_10.CEILING
    assert learn_bars.ceiling(BARS) == pytest.approx(figure_10.CEILING, abs=0.02)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    """Ctrl-C in the second epoch: nothing is written but the checkpoint, and the rest gives the same rows."""
    small = Learning("learning", (("sigmoid", ("G12",)),), (0.05,), (1, 3), 40, 2, 4, 50, 0)
    compute.complete(small, tmp_path / "whole")
    calls = iter(range(100))

    def interrupt(*_) -> None:
        if next(calls) == 2:
            raise KeyboardInterrupt

    block = compute._learning_blocks(small, tmp_path)[0]
    with pytest.raises(KeyboardInterrupt):
        block.compute(interrupt)
    assert list(tmp_path.glob("sigmoid-G12-0.05-*.checkpoint.npz"))
    rest = block.compute(lambda: None)
    whole = read_one(tmp_path / "whole", small).columns
    assert all(np.array_equal(rest[name], whole[name]) for name in whole)
