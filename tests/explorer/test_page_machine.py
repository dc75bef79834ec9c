"""A Boltzmann machine on the page: units and couplings in words that fit them, and only what it can answer."""

import numpy as np
import pytest

import plefka as pf
from tests.boltzmann.test_real_machines import read
from tests.explorer.browser import Visitor, case
from tests.explorer.browser_service import serving
from tests.explorer.machines import NAMES, couplings, random_machine
from tests.explorer.test_page_access import TOO_WIDE, show, violations
from tests.explorer.test_page_graph import LEFT, NODES
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
TABS = "[...document.querySelectorAll('[role=tab]')].filter(tab => tab.checkVisibility()).map(tab => tab.id)"
SEEN = """document.body.innerText + [...document.querySelectorAll('option:not([hidden])')]
  .filter(each => !each.closest('dialog:not([open])')).map(each => each.text)"""
LISTED = """[...document.querySelectorAll('#panel-graph h4')].map(title =>
  [title.textContent, [...title.nextSibling.querySelectorAll('.link')].map(each => each.textContent).sort()])"""
LINES = "[...document.querySelectorAll('.graph path')].map(path => path.classList.contains('is-negative'))"


@pytest.fixture(scope="module")
def spins(tmp_path_factory):
    path = tmp_path_factory.mktemp("machine") / "spins.json"
    pf.save(random_machine((-1, 1)), path)
    with serving(path, "--no-warm") as started:
        yield started


@pytest.fixture
def visitor(chromium):
    found = Visitor(chromium)
    yield found
    assert found.complaints() == []


def rarer(machine: pf.BoltzmannMachine, solution: pf.Solution) -> dict[str, str]:
    """The numbers of the ranking: of the state that is rarer beforehand."""
    p = np.where(pf.infer(machine).means > 0.5, 1 - solution.means, solution.means)
    return {name: f"{p[machine.index(name)]:.3f}" for name, _ in solution.ranking(None)}


def test_units_are_ranked_and_the_page_speaks_of_units(visitor, spins):
    machine = random_machine((-1, 1))
    visitor.visit(spins.address)
    assert visitor.text("#answer-title") == "Most probable units"
    assert visitor.text("#counts") == f"8 units of −1 and 1 · temperature 2 · {machine.num_couplings} couplings"
    assert dict(visitor.ranking) == rarer(machine, pf.infer(machine))
    visitor.observe("north", "off")
    solution = pf.infer(machine, {"north": -1})
    visitor.until("document.querySelectorAll('#ranking li').length === 7")
    visitor.until_text("#log-likelihood", f"{abs(solution.log_likelihood):.4f}")
    assert dict(visitor.ranking) == rarer(machine, solution)
    assert f"ln Z with the observations ({solution.log_partition:.4f}, exact)" in visitor.text("#verdict")
    assert visitor.observed == {"north": "off"}
    visitor.click("#orders [data-order=change]")
    visitor.until_text("#answer-title", "Units by change")
    show(visitor, "compare")
    visitor.until_text("#panel-compare", "How probable the units are")
    visitor.run("dispatchEvent(new Event('beforeprint'))")
    said = visitor.run(SEEN) + visitor.run("document.querySelector('#paper').textContent")
    visitor.click("#cases")
    visitor.click("#case-save")
    visitor.click(".case-actions button:nth-child(3)")
    visitor.until("document.querySelectorAll('#two-causes tr').length > 0")
    said += visitor.text("#two-dialog")
    assert "How probable the units are" in visitor.text("#two-dialog")
    for word in ("cause", "finding"):
        assert word not in said.lower()


def test_only_what_a_machine_can_answer_is_offered(visitor, spins):
    """Also where a link assumes exactly one cause."""
    visitor.visit(spins.address + case({"north": 1}) + "&exclusive=causes")
    assert not {"tab-next", "tab-interview", "tab-why"} & set(visitor.run(TABS))
    assert not visitor.run("document.querySelector('#assume').checkVisibility()")
    assert visitor.run("document.querySelector('#not-assumed').hidden")
    machine = random_machine((-1, 1))
    assert dict(visitor.ranking) == rarer(machine, pf.infer(machine, {"north": 1}))
    assert visitor.run("[...document.querySelectorAll('#roles button')].filter(b => b.checkVisibility()).length") == 1
    visitor.click("#ranking .cause")
    visitor.until("document.querySelector('#tab-graph').getAttribute('aria-selected') === 'true'")
    visitor.until("document.querySelector('#panel-graph h3')?.textContent !== 'Around what was observed'")
    visitor.run("document.querySelector('#tab-graph').focus()")
    visitor.press("ArrowLeft")
    assert visitor.run("document.activeElement.checkVisibility() && document.activeElement.id !== 'tab-graph'")


def test_the_picture_shows_the_couplings_by_their_distance(visitor, spins):
    wanted = couplings(random_machine((-1, 1)))
    visitor.visit(spins.address + case({"north": 0}))
    visitor.until_text("#panel-graph h3", "Around what was observed")
    near = sorted(other for pair in wanted if "north" in pair for other in pair - {"north"})
    assert visitor.run(LISTED) == [["Observed", ["north"]], ["Coupled units", near]]
    visitor.click(".node[aria-label^='north:']")
    visitor.until_text("#panel-graph h3", "Around north")
    assert visitor.run(LISTED) == [["In the middle", ["north"]], ["Coupled with", near]]
    assert f"Coupled with {len(near)} unit" in visitor.text("#panel-graph")
    visitor.click("[data-key=hops-2]")
    visitor.until("document.querySelectorAll('.layer').length > 2")
    shown = set(visitor.run(NODES))
    signs = [weight < 0 for pair, weight in wanted.items() if pair <= shown]
    assert sorted(visitor.run(LINES)) == sorted(signs)
    further = shown - {"north", *near}
    left = {name: visitor.run(f"{LEFT}('{name}')") for name in shown}
    assert left["north"] < min(left[name] for name in near) < min(left[name] for name in further)
    assert shown <= set(NAMES)


def test_units_are_chosen_around_them(visitor, spins):
    visitor.visit(spins.address + case({"north": 1}))
    visitor.until_text("#panel-graph h3", "Around")
    visitor.click("#ranking .cause")
    name = visitor.ranking[0][0]
    visitor.until_text("#panel-graph h3", name)
    visitor.run("[...document.querySelectorAll('#panel-graph button')].find(b => /chosen/.test(b.textContent)).click()")
    visitor.until_text("#targets [value=chosen]", "Chosen (1)")


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_axe_finds_nothing_and_nothing_is_cut_off(visitor, spins, width, height):
    visitor.visit(spins.address + case({"north": 0, "up": {"on": 0.8, "off": 0.2}}), width, height)
    for tab in ("graph", "compare"):
        show(visitor, tab)
        assert violations(visitor) == []
        assert visitor.run(TOO_WIDE) == []


def test_a_real_grid_of_units_of_0_and_1(visitor, tmp_path):
    machine, _ = read("Grids_11")
    pf.save(machine, tmp_path / "grid.npz")
    with serving(tmp_path / "grid.npz", "--no-warm") as started:
        visitor.visit(started.address + case({"12": 1, "45": 0}))
        assert visitor.text("#counts") == "100 units of 0 and 1 · temperature 1 · 200 couplings"
        expected = rarer(machine, pf.infer(machine, {12: 1, 45: 0}))
        assert len(visitor.ranking) == 20
        assert all(expected[name] == number for name, number in visitor.ranking)
        visitor.until_text("#panel-graph h3", "Around what was observed")
        shown = {int(name) for name in visitor.run(NODES)}
        inside = np.asarray(machine.weights.toarray())[np.ix_(sorted(shown), sorted(shown))]
        assert len(visitor.run(LINES)) == np.count_nonzero(np.tril(inside))
