"""The radius of convergence of random networks: a tiny run against single calls, and what is published."""

from pathlib import Path

import numpy as np
import pytest

import plefka as pf
from plefka.paper import compute, pages, plan, radius, random_networks, render, store
from plefka.paper.experiment_settings import PARTS, Radii, TruncatedRadii
from tests import zoo

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "results"
TINY = Radii("radius", (radius.GROUPS[1], ("sigmoid scales", radius.SCALED["sigmoid scales"][:2])), 3, 2, 16, 5)
FIRST = 4  # networks of each column that are computed again


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("radius")
    compute.complete(TINY, folder)
    return folder


def test_the_rows_are_those_of_single_calls(folder):
    rows = store.read_one(folder, TINY)
    assert rows.complete
    ((_, ((ensemble, observed),)), _) = TINY.groups
    part = rows.where(group="paper 1")
    stack = random_networks.draw(ensemble, TINY.seed, 0, TINY.networks)
    evidence = random_networks.observe(stack, observed)[0]
    for k in range(TINY.networks):
        found = pf.series(zoo.network_of(stack, k), evidence[k], TINY.order)
        assert part["radius"][k] == pytest.approx(found.radius, rel=1e-4)
        assert part["ratios"][k] == pytest.approx(found.radius_by_ratios, rel=1e-4)
        assert part["error"][k] == pytest.approx(abs(found.partial_sums[-1] - found.exact), rel=1e-4)
        assert part["established"][k] == found.is_established
    assert len(rows.where(group="sigmoid scales")["radius"]) == 2 * TINY.scale_networks


def test_a_report_of_its_own(folder, tmp_path):
    rows = store.read_one(folder, TINY)
    text = render.write({"radius": rows}, tmp_path)[1].read_text()
    assert "Is the radius of convergence above 1?" in text
    assert "The share of networks with a radius above 1" in text
    assert len(list((tmp_path / "figures").iterdir())) == 2
    assert "radius" in PARTS["all"]


@pytest.fixture(scope="module")
def everything() -> dict[str, store.StoredRows]:
    return store.read(PUBLISHED)


@pytest.fixture(scope="module")
def published(everything) -> store.StoredRows:
    return everything["radius"]


def test_the_published_run_is_the_full_one(published):
    full, _ = plan.experiments(["radius"], plan.FULL, 0)
    assert isinstance(full, Radii)
    assert published.complete
    assert published.settings["networks"] == full.networks
    assert [len(column.rows["radius"]) for column in radius.columns_of(published, "paper")] == 6 * [full.networks]


def test_the_page_is_that_of_the_rows(everything, published, tmp_path):
    page = ROOT / "docs" / "series.md"
    text = page.read_text(encoding="utf-8")
    assert pages.MARKED.search(text)
    assert pages.filled(text, everything) == text
    render.write_drawings(radius.figure(published), tmp_path)
    for drawing in tmp_path.iterdir():
        assert drawing.read_text() == (page.parent / "figures" / drawing.name).read_text()


@pytest.mark.parametrize("number", range(6))
def test_the_first_networks_computed_again_have_the_same_radius(published, number):
    (ensemble, observed) = radius.PAPER[number]
    stack = random_networks.draw(ensemble, 0, 0, FIRST)
    evidence = random_networks.observe(stack, observed)[0]
    again = [pf.series(stack.take(k), evidence[k]).radius for k in range(FIRST)]
    column = radius.columns_of(published, "paper")[number]
    np.testing.assert_allclose(column.rows["radius"][:FIRST], again, rtol=1e-3)


def test_what_the_rows_must_show(published):
    """Weak weights converge, strong ones do not, and two estimates agree with what was established."""
    shares = {column.name: column.share for column in radius.columns_of(published, "paper")}
    assert shares["sigmoid [-1, 1]"] > 0.99
    assert shares["sigmoid [-5, 5]"] < 0.5
    scaled = [np.median(column.rows["radius"]) for column in radius.columns_of(published, "sigmoid")]
    assert np.all(np.diff(scaled) < 0)
    established = published.columns["established"]
    assert established.mean() > 0.9
    for name in ("ratios", "poles"):
        off = np.abs(published.columns[name] / published.columns["radius"] - 1)[established]
        assert np.median(off) < 0.03


# ---- the energy (43) -------------------------------------------------------------------------------------------------

TINY_43 = TruncatedRadii("truncated", (radius.GROUPS[1],), 2, 1, 14, 5, (1, 2))


def test_the_rows_of_the_truncated_energy_are_those_of_single_calls(tmp_path):
    compute.complete(TINY_43, tmp_path)
    rows = store.read_one(tmp_path, TINY_43)
    assert rows.complete
    ((_, ((ensemble, observed),)),) = TINY_43.groups
    stack = random_networks.draw(ensemble, TINY_43.seed, 0, TINY_43.networks)
    evidence = random_networks.observe(stack, observed)[0]
    for degree in TINY_43.degrees:
        part = rows.where(degree=degree)
        found = [pf.series(stack.take(k), evidence[k], 14, taylor=degree) for k in range(TINY_43.networks)]
        np.testing.assert_allclose(part["radius"], [each.radius for each in found], rtol=1e-3)
        np.testing.assert_array_equal(part["established"], [each.is_established for each in found])


def test_the_published_answer_is_about_both_energies_and_says_how_it_was_measured(everything):
    full = next(each for each in plan.experiments(["radius"], plan.FULL, 0) if each.name == "truncated")
    assert isinstance(full, TruncatedRadii)
    truncated = everything["truncated"]
    assert truncated.complete
    assert truncated.settings["networks"] == full.networks
    for degree in full.degrees:
        columns = radius.columns_of(truncated, "paper", degree=degree)
        assert [len(column.rows["radius"]) for column in columns] == 6 * [full.networks]
    answer = radius.answer(everything)
    for words in ("is for (4): sigmoid", "For (43) with C = 1", "For (43) with C = 2", "are measurements and no proof"):
        assert words in answer


def test_small_weights_converge_for_both_energies_and_large_ones_for_neither(everything):
    for degree in (1, 2):
        shares = {c.name: c.share for c in radius.columns_of(everything["truncated"], "paper", degree=degree)}
        assert shares["sigmoid [-1, 1]"] > 0.99
        assert shares["sigmoid [-5, 5]"] < 0.5
