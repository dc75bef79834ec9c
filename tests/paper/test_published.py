"""The run in results/: small, complete, and the source of every number of it in other pages."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plefka.paper import compute, pages, plan, render, store
from plefka.paper.beside_printed import cells
from plefka.paper.experiment_settings import Study

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
LIMIT = 8_000_000  # bytes
FIRST = 30  # networks of each column that are computed again


@pytest.fixture(scope="module")
def everything() -> dict[str, store.StoredRows]:
    return store.read(RESULTS)


def test_it_is_the_full_run(everything):
    full = {experiment.name: experiment for experiment in plan.experiments(["all"], plan.FULL, 0)}
    assert set(everything) == set(full)
    assert all(rows.complete for rows in everything.values())
    networks = {name: each.networks for name, each in full.items() if isinstance(each, Study)}
    assert {name: everything[name].settings["networks"] for name in networks} == networks


def test_it_is_small():
    assert sum(path.stat().st_size for path in RESULTS.rglob("*") if path.is_file()) < LIMIT


def test_no_machine_is_named(everything):
    text = str([rows.provenance for rows in everything.values()])
    assert "/" not in text.replace("n/a", "")


@pytest.mark.parametrize("page", ["README.md", "docs/reproduction.md", "docs/misprints.md", "docs/learning.md"])
def test_the_numbers_in_the_pages_are_those_of_the_rows(page, everything):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert pages.MARKED.search(text)
    assert pages.filled(text, everything) == text


def test_the_report_is_that_of_the_rows(everything, tmp_path):
    for path in render.write(everything, tmp_path):
        assert path.read_text() == (RESULTS / path.name).read_text()


@pytest.mark.parametrize(("table", "number"), [("table1", 0), ("table1", 1), *(("table2", k) for k in range(4))])
def test_the_first_networks_of_a_column_computed_again_give_the_same_rows(table, number, everything):
    (study,) = (each for each in plan.experiments([table], plan.FULL, 0) if isinstance(each, Study))
    column = study.columns[number]
    again = compute.solve(replace(study, block=FIRST), column, 0, lambda: None)
    stored = everything[table].where(ensemble=column.ensemble.name, observed=column.observed)
    first = stored["network"] < FIRST
    order = np.argsort([column.methods.index(method) for method in stored["method"][first]], kind="stable")
    for name in ("method", "network", "state", "status", "cycles"):
        np.testing.assert_array_equal(again[name], stored[name][first][order], name)
    settled = again["status"] == "converged"
    for name in ("log_z", "error"):
        np.testing.assert_allclose(again[name][settled], stored[name][first][order][settled], rtol=1e-6, atol=1e-7)


def test_what_the_rows_must_show(everything):
    """The claims of the paper that must come out, and ours."""
    found = {cell.key: cell for table in ("table1", "table2") for cell in cells(everything[table])}
    small = {key.method: cell for key, cell in found.items() if key.ensemble == "sigmoid [-1, 1]"}
    assert all(abs(small[scheme].difference) <= 0.0003 for scheme in ("G11", "G12", "SJJ"))
    assert abs(small["G22"].ours.mean) < 0.0029
    noisy = [key for key in found if key.method == "G221" and key.ensemble.startswith("noisy-or")]
    assert len(noisy) == 4
    for key in noisy:
        assert abs(found[key].ours.mean) < abs(found[key._replace(method="G22")].printed or 0.0)
    wins = [abs(found[key].ours.mean) < abs(found[key._replace(method="G12")].ours.mean) for key in noisy]
    assert sum(wins) >= 3


def test_a_page_may_only_ask_for_what_there_is():
    with pytest.raises(ValueError, match="rows must be one of means, claims"):
        pages.filled("<!-- rows: nothing -->\nold\n<!-- end of rows -->", {})
