"""Error against time: a tiny trial against solves of single networks and sums over states, and what is published."""

from pathlib import Path

import numpy as np
import pytest

import plefka as pf
from plefka.paper import compute, error_and_time, pages, plan, random_networks, render, store
from plefka.paper.experiment_settings import PARTS, Trial
from plefka.paper.scatter import Mark, error_against_time
from tests import slow

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "results" / "methods"
TRIED = ("exact", "G11", "SJJ")
COUNT = 3
TRIAL = Trial("methods", (error_and_time.TIMED_COLUMNS[0], error_and_time.TIMED_COLUMNS[5]), COUNT, 7)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(error_and_time, "TIMED_METHODS", TRIED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_and_time, "TIMED_METHODS", TRIED)
        folder = tmp_path_factory.mktemp("methods")
        compute.complete(TRIAL, folder)
        return folder


def test_there_is_a_row_for_every_ensemble_that_a_method_serves(folder, few):
    rows = store.read_one(folder, TRIAL)
    assert rows.complete
    found = {column.name: set(column.found) for column in error_and_time.columns_of(rows)}
    assert found == {"sigmoid [-1, 1]": set(TRIED), "noisy-or [0.2, 0.8], smallest ln Z": {"exact", "G11"}}
    assert np.all(rows.columns["seconds"] > 0)
    assert np.all(rows.columns["networks"] == COUNT)


@pytest.mark.parametrize("number", [0, 1])
def test_the_errors_are_those_of_single_solves_against_sums_over_states(folder, number):
    ensemble, observed = TRIAL.columns[number]
    row = store.read_one(folder, TRIAL).where(ensemble=ensemble.name, observed=observed, method="G11")
    stack = random_networks.draw(ensemble, TRIAL.seed + number, 0, COUNT)
    evidence = random_networks.observe(stack, observed)[0]
    errors, off = [], []
    for k in range(COUNT):
        by_layer = np.split(stack.bias[k], [2, 6])
        net = pf.BeliefNetwork.layered([W[k] for W in stack.weights], by_layer, ensemble.activation)
        log_z, means = slow.exact(net, evidence[k])[:2]
        solution = pf.infer(net, evidence[k], "G11")
        errors.append(solution.log_likelihood / log_z - 1)
        off.append(np.abs(solution.means - means)[:6].mean())
    assert row["error"] == pytest.approx(np.mean(errors), abs=1e-6)
    assert row["size"] == pytest.approx(np.mean(np.abs(errors)), abs=1e-6)
    assert row["size_se"] == pytest.approx(np.std(np.abs(errors), ddof=1) / COUNT**0.5, abs=1e-6)
    assert row["worst"] == pytest.approx(np.max(np.abs(errors)), abs=1e-6)
    assert row["means"] == pytest.approx(np.mean(off), abs=1e-6)


def test_exact_has_no_error(folder):
    rows = store.read_one(folder, TRIAL).where(method="exact")
    assert rows["size"] == pytest.approx(0, abs=1e-12)
    assert rows["means"] == pytest.approx(0, abs=1e-12)


def test_one_more_method_is_added_to_those_that_are_there(folder, monkeypatch):
    monkeypatch.setattr(error_and_time, "TIMED_METHODS", (*TRIED, "G10"))
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    compute.complete(TRIAL, folder)
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    assert {path: after[path] for path in before} == before
    assert [path.stem for path in after if path not in before] == ["G10"]
    rows = store.read_one(folder, TRIAL)
    assert rows.complete
    assert rows.where(method="G10")["error"] == pytest.approx(rows.where(method="G11")["error"], abs=1e-9)
    next(path for path in after if path.stem == "G10").unlink()


def test_the_networks_are_fresh():
    trial = plan.experiments(["methods"], plan.FULL, 0)[0]
    assert isinstance(trial, Trial)
    seeds = {trial.seed + number for number in range(len(trial.columns))}
    assert len(trial.columns) == 6
    assert trial.networks == 2000
    assert 0 not in seeds


def test_it_is_a_report_of_its_own(folder, few, tmp_path):
    rows = store.read_one(folder, TRIAL)
    paths = render.write({"methods": rows}, tmp_path)
    text = paths[1].read_text()
    assert "libDAI (J. M. Mooij" in text
    assert "![Mean error and time of every method, sigmoid [-1, 1]" in text
    assert len(list((tmp_path / "figures").iterdir())) == 2
    assert "methods" not in PARTS["all"]


def test_names_beside_marks_do_not_cover_each_other():
    marks = [Mark(f"method {k}", 1e-4 * (1 + k / 50), 0.01 * (1 + k / 50), "paper") for k in range(6)]
    svg = error_against_time("t", marks, 1e-5, (1e-6, 1e-2), (1e-3, 1e-1))
    assert all(f"method {k}" in svg for k in range(6))


@pytest.mark.parametrize(
    ("seconds", "spelled"),
    [(2.34e-5, "23 µs"), (9.96e-4, "1.0 ms"), (1.49e-2, "15 ms"), (4e-6, "4.0 µs"), (0.2, "200 ms")],
)
def test_times_are_spelled_with_two_digits(seconds, spelled):
    assert error_and_time.spelled_time(seconds) == spelled


def test_short_names():
    assert error_and_time.label_of("conditioned[G2,k=3]") == "G2 k=3"
    assert error_and_time.label_of("auto[exact=no]") == "auto"
    assert error_and_time.family_of("conditioned[bethe,k=2]") == "conditioned"
    assert error_and_time.family_of("auto[exact=no]") == "other"


@pytest.fixture(scope="module")
def published() -> dict[str, store.StoredRows]:
    return store.read(PUBLISHED)


def test_every_method_is_in_the_published_rows(published):
    rows = published["methods"]
    assert rows.settings["networks"] == plan.FULL.studies
    for column, number in zip(error_and_time.columns_of(rows), range(6), strict=True):
        served = {
            method
            for method in error_and_time.TIMED_METHODS
            if number in error_and_time.columns_for(error_and_time.trial(2, 0), method)
        }
        assert set(column.found) == served


def test_the_page_is_that_of_the_rows(published, tmp_path):
    page = ROOT / "docs" / "choosing.md"
    text = page.read_text(encoding="utf-8")
    assert pages.filled(text, published) == text
    render.write_drawings(error_and_time.figure(published["methods"]), tmp_path)
    for drawing in tmp_path.iterdir():
        assert drawing.read_text() == (page.parent / "figures" / drawing.name).read_text()


def test_what_the_rows_must_show(published):
    """Bounds are on one side, and conditioning a bound brings it closer."""
    for column in error_and_time.columns_of(published["methods"]):
        for method in ("SJJ", "G1", "conditioned[G1,k=2]"):
            if method in column.found:
                assert column.found[method]["error"] == pytest.approx(column.found[method]["size"])
        assert column.found["conditioned[G1,k=2]"]["size"] < column.found["G1"]["size"]
