"""The explorer on large networks: of the size of QMR, from a real system of diagnosis, and with 120,000 units."""

import json

import numpy as np
import pytest
from benchmarks.diagnoses import CAUSES, drawn, large_network, patients

import plefka as pf
from tests.explorer.browser import CTRL, Visitor, case
from tests.explorer.browser_service import serving
from tests.paper.browser import PROGRAM
from tests.test_real_networks import diagnosis

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")]
ROWS = "document.querySelectorAll('.unit').length"
SHOWN = "[...document.querySelectorAll('.unit')].map(unit => unit.querySelector('.unit-name').textContent)"
END = "(box => { box.scrollTop = box.scrollHeight; })(document.querySelector('#units-scroll'))"


@pytest.fixture(scope="module")
def visitor(chromium):
    return Visitor(chromium)


def named(network: pf.BeliefNetwork, causes: int) -> pf.BeliefNetwork:
    """With names that can be searched."""
    names = [f"{'cause' if unit < causes else 'finding'} {unit}" for unit in range(network.size)]
    return pf.BeliefNetwork(network.weights, network.bias, "noisy_or", names)


def of_qmr_size():
    """570 causes, 4,075 findings, and a patient with a dozen of them."""
    network = named(large_network(), CAUSES)
    (row,) = patients(network, 1, seed=3)
    seen = np.flatnonzero(~np.isnan(row))
    return network, {network.names[unit]: int(row[unit]) for unit in seen}


def of_promedas():
    network, evidence, _, _ = diagnosis("or_chain_10")
    return network, {str(unit): int(state) for unit, state in list(evidence.items())[:5]}


def ranked(network, evidence) -> list[tuple[str, str]]:
    """The first causes as the page should show them."""
    found = pf.infer(network, evidence).ranking(8)
    return [(name, shown(p)) for name, p in found]


def shown(p: float) -> str:
    return "<0.001" if 0 < p < 0.0005 else ">0.999" if 0.9995 <= p < 1 else f"{p:.3f}"


@pytest.mark.parametrize("read", [of_qmr_size, of_promedas])
def test_a_diagnosis(visitor, tmp_path, read):
    network, evidence = read()
    pf.save(network, tmp_path / "large.npz")
    *first, last = evidence
    with serving(tmp_path / "large.npz") as service:
        known = {name: evidence[name] for name in first}
        visitor.visit(service.address + case(known))
        visitor.until_ranking(ranked(network, known))
        visitor.click("[data-role=a]")
        visitor.observe(last, "on" if evidence[last] else "off")
        visitor.until_ranking(ranked(network, evidence))
        best = visitor.ranking[0][0]
        visitor.click("#ranking .cause")
        why = pf.explain(network, evidence, best, top=6)
        visitor.until_text("#panel-why", f"to {shown(why.probability)}")
        visitor.tab("graph")
        visitor.until_text("#panel-graph", f"Around {best}")
        visitor.tab("next")
        advice = pf.ask(network, evidence, top=8)
        if visitor.run("!!document.querySelector('#panel-next .offer')"):  # where a first question took long
            visitor.click("#panel-next .offer button")
        visitor.until(f"document.querySelector('.candidate .unit-name')?.textContent === {json.dumps(advice.unit)}")
        visitor.press("z", CTRL)
        visitor.until_ranking(ranked(network, known))
        assert visitor.complaints() == []


def test_lists_of_120000_units_stay_short(visitor, tmp_path):
    rng = np.random.default_rng(0)
    weights, bias = drawn(rng, 20_000, rng.integers(1, 8, 100_000))
    network = named(pf.BeliefNetwork(weights, bias, "noisy_or"), 20_000)
    pf.save(network, tmp_path / "huge.npz")
    with serving(tmp_path / "huge.npz") as service:
        visitor.visit(service.address)
        assert visitor.text("#counts").startswith("20,000 causes · 100,000 findings")
        assert visitor.run(ROWS) < 60
        visitor.run(END)
        visitor.until(f"{SHOWN}.includes('finding 119999')")
        assert visitor.run(ROWS) < 60
        visitor.write("#search", "finding 77777")
        visitor.until(f"{SHOWN}.length === 1")
        visitor.observe("finding 77777", "on")
        visitor.until_ranking(ranked(network, {"finding 77777": 1}))
