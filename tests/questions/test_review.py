"""`pf.lint` and `pf.diff`: what is suspicious in a network, and what changed between two of them."""

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.errors import InvalidInput
from tests.data import path_of

NETWORK = pf.example("espresso")


def diagnosis(causes: dict[str, float], findings: list[tuple[str, str, float]], leak: float = 0.1) -> pf.BeliefNetwork:
    table = pd.DataFrame(findings, columns=["finding", "cause", "probability"])
    return pf.BeliefNetwork.diagnosis({"cause": [*causes], "prior": [*causes.values()]}, table, leak=leak)


SUSPICIOUS = {
    "names": (diagnosis({"a b": 0.1, "A_B": 0.2}, [("f", "a b", 0.5), ("f", "A_B", 0.6)]), ("a b", "A_B")),
    "isolated": (diagnosis({"a": 0.1, "b": 0.2}, [("f", "a", 0.5)]), ("b",)),
    "never on": (diagnosis({"a": 0.0, "b": 0.2}, [("f", "a", 0.5), ("g", "b", 0.5)], leak=0.0), ("a", "f")),
    "leak": (diagnosis({"a": 0.1}, [("f", "a", 0.5)], leak=0.0), ("f",)),
    "certain": (diagnosis({"a": 0.1}, [("f", "a", 1.0)]), ("f",)),
    "prior": (diagnosis({"a": 0.7, "b": 0.1}, [("f", "a", 0.5), ("g", "b", 0.4)]), ("a",)),
    "priors": (diagnosis(dict.fromkeys("abcd", 0.1), [(k * 2, k, 0.1 + ord(k) / 200) for k in "abcd"]), tuple("abcd")),
    "identical": (diagnosis({"a": 0.1, "b": 0.2}, [("f", "a", 0.5), ("f", "b", 0.5)]), ("a", "b")),
    "strength": (pf.BeliefNetwork([[0, 0], [-0.1, 0]], [0.1, 0.3], "noisy_or", ["a", "f"]), ("f",)),
    "always on": (pf.BeliefNetwork.from_tables([[], ["a"]], [0.5, [1.0, 1.0]], ["a", "f"]), ("f",)),
}


@pytest.mark.parametrize("kind", SUSPICIOUS)
def test_each_kind_is_found_alone(kind):
    network, units = SUSPICIOUS[kind]
    (found,) = [each for each in pf.lint(network) if each.kind == kind]
    assert found.units == units
    assert found.sentence.endswith(f"{', '.join(units)}.")


def test_priors_that_add_up_to_many_causes():
    network = diagnosis({f"c{k}": 0.1 + k / 100 for k in range(30)}, [("f", f"c{k}", 0.3 + k / 100) for k in range(30)])
    (found,) = pf.lint(network)
    assert found.sentence.startswith("Priors add up to 7.35 causes in every case: c29, c28")


def test_findings_that_are_the_same_are_found_in_layers_too():
    weights = np.array([[1.0, 0.5], [1.0, 0.5], [0.3, 0.2]])
    network = pf.BeliefNetwork.layered([weights], [[0.1, 0.2], [0.1, 0.1, 0.1]], "noisy_or", list("abfgh"))
    assert [(each.kind, each.units) for each in pf.lint(network)] == [("identical", ("f", "g"))]


def test_nothing_is_suspicious_in_an_example_and_one_unit_is_isolated():
    assert pf.lint(NETWORK) == []
    assert [each.kind for each in pf.lint(pf.BeliefNetwork([[0.0]], [0.3]))] == ["isolated"]


def test_a_real_network_is_looked_at():
    network = pf.load(path_of("bif/win95pts.bif.gz"))
    found = {each.kind: each.units for each in pf.lint(network)}
    assert found["prior"] == tuple(
        name for name, root in zip(network.names, network.roots) if root and pf.infer(network)[name] > 0.5
    )


def renamed(network: pf.BeliefNetwork, **names: str) -> list[pf.Unit]:
    return [
        unit._replace(name=names.get(str(unit.name), unit.name), parents=[names.get(str(p), p) for p in unit.parents])
        for unit in network.units
    ]


def test_the_same_network_has_no_changes_however_it_is_stored(tmp_path):
    pf.save(NETWORK, tmp_path / "net.json")
    assert pf.diff(NETWORK, pf.load(tmp_path / "net.json"), {"slow_flow": 1}) == []
    assert pf.diff(NETWORK, pf.BeliefNetwork.of_units(NETWORK.units)) == []


def test_units_that_were_added_removed_and_renamed():
    units = [unit for unit in renamed(NETWORK, limescale="kalk", slow_flow="slow flow") if unit.name != "thin_crema"]
    after = pf.BeliefNetwork.of_units([*units, pf.Unit("gurgle", ["kalk"], "noisy_or", [1.0], 0.1)])
    found = [str(change) for change in pf.diff(NETWORK, after, {"loud_hum": 1})]
    assert found == ["unit: limescale -> kalk", "unit: slow_flow -> slow flow", "removed: thin_crema", "added: gurgle"]


def test_numbers_are_probabilities_and_the_largest_changes_come_first():
    units = {str(unit.name): unit for unit in NETWORK.units}
    units["stale_beans"] = units["stale_beans"]._replace(bias=-np.log1p(-0.3))
    units["loud_hum"] = pf.Unit("loud_hum", ["limescale"], "noisy_or", [-np.log1p(-0.25)], units["loud_hum"].bias)
    after = pf.BeliefNetwork.of_units([*units.values()])
    found = pf.diff(NETWORK, after, {"sour_taste": 1})
    numbers = [str(change) for change in found if change.kind == "number"]
    assert numbers == [
        "loud_hum: strength of weak_pump: 0.6 -> none",
        "loud_hum: strength of clogged_screen: 0.25 -> none",
        "stale_beans: prior: 0.25 -> 0.3",
    ]
    answers = [change for change in found if change.kind == "answer"]
    a, b = (pf.infer(net, {"sour_taste": 1}) for net in (NETWORK, after))
    expected = {f"P({name} | evidence)": (a[name], b[name]) for name in NETWORK.names if abs(a[name] - b[name]) > 1e-6}
    assert {change.what: (change.before, change.after) for change in answers} == expected
    sizes = [abs(float(change.after or 0) - float(change.before or 0)) for change in answers]
    assert sizes == sorted(sizes, reverse=True)


def test_rows_tables_and_other_activations():
    before, after = (pf.BeliefNetwork.from_tables([[], ["a"]], [0.5, [0.1, p]], ["a", "b"]) for p in (0.8, 0.9))
    found = [str(change) for change in pf.diff(before, after, pd.DataFrame({"b": [0, 1]}))]
    assert found[0] == "b: P(on | a=1): 0.8 -> 0.9"
    assert [text.partition(":")[0] for text in found[1:]] == ["row 0", "row 1"]
    sigmoids = (pf.BeliefNetwork([[0, 0], [w, 0]], [0.1, 0.2], "sigmoid", ["a", "b"]) for w in (1.0, 1.5))
    assert str(pf.diff(*sigmoids)[0]) == "b: weight of a: 1 -> 1.5"


def test_only_belief_networks_are_looked_at():
    machine = pf.BoltzmannMachine([[0, 1.0], [1.0, 0]], [0, 0])
    for ask in (lambda: pf.lint(machine), lambda: pf.diff(NETWORK, machine)):  # pyright: ignore
        with pytest.raises(InvalidInput, match=r"BeliefNetwork|belief networks"):
            ask()


def test_what_follows_from_a_finding_is_no_duplicate_and_many_groups_share_a_sentence():
    edges = [("hand", "flu", 0.4), ("foot", "flu", 0.3), ("hand", "burn", 0.5)]
    net = diagnosis({"flu": 0.1, "burn": 0.02}, edges)
    implied = diagnosis({"flu": 0.1, "burn": 0.02}, [*edges, ("arm", "flu", 0.4), ("arm", "burn", 0.5)])
    assert [each.kind for each in pf.lint(implied)] == ["identical"]
    assert pf.lint(implied.with_implies([("hand", "arm")])) == pf.lint(net) == []
    twice = [(f"f{k}{copy}", f"c{k}", 0.3 + k / 100) for k in range(30) for copy in "ab"]
    found = pf.lint(diagnosis({f"c{k}": 0.01 + k / 1000 for k in range(30)}, twice))
    assert len(found) == 21
    assert "(in 10 more groups)" in found[-1].sentence
    assert len(found[-1].units) == 20
