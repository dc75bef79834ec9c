"""A Boltzmann machine behind the service: units without causes, every coupling once, and the numbers of the library."""

import base64

import numpy as np
import pytest

import plefka as pf
from plefka.errors import MethodDoesNotApply
from plefka.explorer.routes import QUESTIONS
from plefka.explorer.served_network import ServedNetwork
from tests.boltzmann.test_real_machines import read
from tests.explorer.browser_service import serving
from tests.explorer.client import Client
from tests.explorer.machines import NAMES, couplings, random_machine

SEEN = {"north": 0, "up": 1, "out": {"on": 0.9, "off": 0.2}}
CONVENTIONS = [(0, 1), (-1, 1)]
ASKED = {  # what each question needs besides evidence
    "rows": {"rows": [SEEN, {}]}, "explain": {"evidence": SEEN, "unit": "in"}, "joint": {"units": ["in", "east"]},
    "sensitivity": {"target": "in"}, "save": {"suffix": ".json"}, "tables": {},
    "table_case": {"csv": "north\n1\n"}, "table_rows": {"csv": "north\n1\n"}, "table_validation": {"csv": "case\n"},
}  # fmt: skip


def in_values(machine: pf.BoltzmannMachine, evidence: dict) -> dict:
    """As the library takes it."""
    off, on = machine.values
    return {
        name: pf.Likelihood(**state) if isinstance(state, dict) else (off, on)[state]
        for name, state in evidence.items()
    }


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("machine") / "spins.json"
    pf.save(random_machine((-1, 1)), path)
    with serving(path, "--no-warm", "--open-networks") as started:
        yield Client(started.address)


def opened(client: Client, machine: pf.BoltzmannMachine, folder) -> str:
    """The key of a machine that a visitor opens."""
    pf.save(machine, folder / "machine.npz")
    content = base64.b64encode((folder / "machine.npz").read_bytes()).decode()
    found = client.answer("networks", {"files": {"machine.npz": content}})
    assert (found["units"], found["edges"], found["suspicions"]) == (machine.size, machine.num_couplings, [])
    return f"?network={found['network']}"


def agrees(answer: dict, expected: pf.Solution) -> None:
    assert answer["log_likelihood"] == pytest.approx(expected.log_likelihood, abs=1e-12)
    assert answer["log_partition"] == pytest.approx(expected.log_partition, rel=1e-12)
    assert answer["kind"] == str(expected.log_likelihood_accuracy).replace(" ", "_")
    assert answer["log_partition_kind"] == str(expected.log_partition_accuracy).replace(" ", "_")
    ranked = {each["name"]: each["probability"] for each in answer["ranking"]}
    assert ranked == pytest.approx(dict(expected.ranking(None)), rel=1e-12)


def serves(method: str, machine: pf.BoltzmannMachine) -> bool:
    try:
        pf.parse_method(method).check(machine)
    except MethodDoesNotApply:
        return False
    return True


@pytest.mark.parametrize("values", CONVENTIONS)
@pytest.mark.parametrize("method", ["auto", "G1", "bethe"])
def test_all_hidden_units_are_ranked_with_the_numbers_of_the_library(client, tmp_path, values, method):
    machine = random_machine(values)
    key = opened(client, machine, tmp_path)
    expected = pf.infer(machine, in_values(machine, SEEN), method)
    answer = client.answer(f"infer{key}", {"evidence": SEEN, "method": method})
    agrees(answer, expected)
    assert {each["name"] for each in answer["ranking"]} == set(NAMES) - {"north", "up"}
    assert client.answer(f"rows{key}", {"rows": [SEEN], "method": method})["rows"][0]["kind"] == answer["kind"]


def test_states_may_be_given_in_the_values_of_the_machine(client):
    """0 and -1 both say off."""
    answers = [client.answer("infer", {"evidence": {"north": off}}) for off in (0, -1, "-1", False)]
    assert len({answer["log_likelihood"] for answer in answers}) == 1


def test_the_facts_are_those_of_a_machine(client):
    machine, found = random_machine((-1, 1)), client.get("network").json
    assert (found["kind"], found["values"], found["temperature"]) == ("Boltzmann machine", [-1, 1], 2.0)
    assert (found["units"], found["causes"], found["findings"]) == (machine.size, 0, 0)
    assert found["edges"] == machine.num_couplings
    for method in pf.METHODS:
        spelling = "gibbs[seed=0]" if method == "gibbs" else method
        assert (spelling in found["methods"]) == serves(spelling, machine)
    assert client.get("examples").json["cases"] == []
    assert client.get("units/names").json["roles"] == "u" * machine.size
    assert client.get("units", role="cause").json["total"] == 0


def test_every_coupling_is_answered_once(client):
    wanted = couplings(random_machine((-1, 1)))
    found = client.get("neighbourhood", name="north", hops=6).json
    ends = [frozenset((edge["parent"], edge["child"])) for edge in found["edges"]]
    assert len(ends) == len(set(ends))
    shown = {node["name"] for node in found["nodes"]}
    assert {pair: edge["weight"] for pair, edge in zip(ends, found["edges"], strict=True)} == pytest.approx(
        {pair: weight for pair, weight in wanted.items() if pair <= shown}
    )
    distance = {node["name"]: node["hops"] for node in found["nodes"]}
    assert all(distance[edge["parent"]] <= distance[edge["child"]] for edge in found["edges"])
    for name in NAMES:
        unit = client.get("unit", name=name).json
        coupled = {other for pair in wanted if name in pair for other in pair - {name}}
        assert (unit["role"], unit["parents"]) == ("unit", len(coupled))
        assert set(unit["parent_names"]) == set(unit["child_names"]) == coupled


@pytest.mark.parametrize("kind", QUESTIONS)
def test_what_cannot_be_asked_is_known_before_and_refused_in_words(client, kind):
    found = client.post(kind.replace("_", "-"), ASKED.get(kind, {"evidence": SEEN}))
    if kind in client.get("network").json["questions"]:
        assert found.status == 200
    else:
        assert found.error == (422, "invalid_input")
        assert "BoltzmannMachine" in found.message or "couplings" in found.message


def test_a_belief_network_may_be_asked_everything():
    questions = ServedNetwork(pf.example("espresso"), "espresso").questions
    assert set(questions) >= set(QUESTIONS)


def test_a_real_grid_has_its_published_partition_function(client, tmp_path):
    machine, known = read("Grids_11")
    key = opened(client, machine, tmp_path)
    answer = client.answer(f"infer{key}", {"top": 100})
    assert answer["log_partition"] == pytest.approx(float(known["lnZ_exact"]), abs=1e-8)
    means = {each["name"]: each["probability"] for each in answer["ranking"]}
    np.testing.assert_allclose([means[name] for name in machine.names], known["p1_reference"], atol=1e-6)
    agrees(client.answer(f"infer{key}", {"evidence": {"12": 1}, "top": 100}), pf.infer(machine, {12: 1}))
