"""The radius of convergence of random networks: a tiny run against single calls, and what is published."""

from pathlib import Path

import numpy as np
import pytest

import plefka as pf
from plefka.experiments import compute, networks, pages, plan, radii, radius, render, store
from plefka.experiments.settings import PARTS, Radii
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
    stack = networks.draw(ensemble, TINY.seed, 0, TINY.networks)
    evidence = networks.observe(stack, observed)[0]
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
    assert "Not in general: it depends on the weights." in text
    assert len(list((tmp_path / "figures").iterdir())) == 2
    assert "radius" in PARTS["all"]


@pytest.fixture(scope="module")
def published() -> store.Rows:
    return store.read(PUBLISHED)["radius"]


def test_the_published_run_is_the_full_one(published):
    (full,) = plan.experiments(["radius"], plan.FULL, 0)
    assert isinstance(full, Radii)
    assert published.complete
    assert published.settings["networks"] == full.networks
    assert [len(column.rows["radius"]) for column in radius.columns_of(published, "paper")] == 6 * [full.networks]


def test_the_page_is_that_of_the_rows(published, tmp_path):
    page = ROOT / "docs" / "series.md"
    text = page.read_text(encoding="utf-8")
    assert pages.MARKED.search(text)
    assert pages.filled(text, {"radius": published}) == text
    render.write_drawings(radius.figure(published), tmp_path)
    for drawing in tmp_path.iterdir():
        assert drawing.read_text() == (page.parent / "figures" / drawing.name).read_text()


@pytest.mark.parametrize("number", range(6))
def test_the_first_networks_computed_again_have_the_same_radius(published, number):
    (ensemble, observed) = radius.PAPER[number]
    stack = networks.draw(ensemble, 0, 0, FIRST)
    evidence = networks.observe(stack, observed)[0]
    again = [pf.series(radii.one_of(stack, k), evidence[k]).radius for k in range(FIRST)]
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
