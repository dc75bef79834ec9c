"""Evidence of probability zero: the observations that contradict each other are named, and no more than those."""

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidEvidence
from plefka.files.from_tables import network_of
from plefka.inference import contradictions
from plefka.inference.contradictions import contradiction
from plefka.reduction.certainty import Possible
from tests.files.table_zoo import random_tables
from tests.mixed_networks import random_units

YES_NO = ("no", "yes")


def clinic(leak=0.0, certain=0.7):
    """Two causes of a fever; a cough that has nothing to do with it."""
    units = [
        pf.Unit("cold", [], "noisy_or", [], 0.2),
        pf.Unit("flu", [], "noisy_or", [], 0.1),
        pf.Unit("fever", ["cold", "flu"], "noisy_or", [0.7, certain], leak),
        pf.Unit("cough", ["cold"], "noisy_or", [0.4], 0.1),
    ]
    return pf.BeliefNetwork.of_units(units, states=[YES_NO] * 4)


def with_a_gate(kind="sigmoid"):
    """An AND of two units, one of which is of another kind; a lamp that shows the gate."""
    units = [
        pf.Unit("a", [], pf.Table(0.3)),
        pf.Unit("b", ["a"], kind, [0.5], 0.2),
        pf.Unit("gate", ["a", "b"], pf.Table([[0, 0], [0, 1]])),
        pf.Unit("lamp", ["gate"], pf.Table([0.0, 0.9])),
        pf.Unit("noise", ["a"], pf.Table([0.2, 0.6])),
    ]
    return pf.BeliefNetwork.of_units(units)


CASES = {
    "noisy-or without leak": (
        clinic(), {"fever": "yes", "cold": "no", "flu": "no", "cough": "yes"},
        "the observations cold=no, flu=no and fever=yes cannot all be true",
    ),
    "an edge of probability one": (
        clinic(0.1, np.inf), {"flu": "yes", "fever": "no", "cold": "yes"},
        "the observations flu=yes and fever=no cannot both be true",
    ),
    "a table": (
        with_a_gate(), {"a": 1, "b": 0, "gate": 1, "noise": 0}, "the observations b=0 and gate=1 cannot both be true",
    ),
    "tables in a row": (
        with_a_gate(), {"lamp": 1, "a": 0, "noise": 1}, "the observations a=0 and lamp=1 cannot both be true",
    ),
    "mixed with noisy-or": (
        with_a_gate("noisy_or"), {"lamp": 1, "b": 0, "noise": 1},
        "the observations b=0 and lamp=1 cannot both be true",
    ),
    "one observation": (
        pf.BeliefNetwork([[0, 0], [1, 0]], [0.0, 0.0], "noisy_or", ["a", "b"]), {"b": 1},
        "the observation b=1 cannot be true",
    ),
}  # fmt: skip


def message(network, evidence, method):
    with pytest.raises((InvalidEvidence, pf.InferenceFailed)) as error:
        pf.infer(network, evidence, method)
    assert str(error.value).count("the evidence is impossible") == 1
    return str(error.value)


@pytest.mark.parametrize("method", ["auto", "exact", "bethe"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_single_row_names_what_contradicts(case, method):
    network, evidence, said = case
    assert said[0].upper() + said[1:] + "." in message(network, evidence, method)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_batch_of_one_row_says_it_in_its_notes(case):
    network, evidence, said = case
    solution = pf.infer(network, [evidence], "bethe")
    assert solution.status[0] is pf.Status.IMPOSSIBLE
    assert said in solution.notes
    several = pf.infer(network, [evidence, {}], "bethe")
    assert several.status.tolist() == [pf.Status.IMPOSSIBLE, pf.Status.CONVERGED]
    assert said not in several.notes


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_row_of_a_batch_says_it_when_asked(case):
    network, evidence, said = case
    solution = pf.infer(network, [{}, evidence, {}], "bethe")
    assert [solution.contradiction(row) for row in range(3)] == [None, said, None]
    assert solution.contradiction(-2) == said
    assert pf.infer(network, {}, "bethe").contradiction() is None


def test_a_row_of_a_stack_says_it_too():
    weights = [[[0.0, 0.0], [1.0, 0.0]]] * 2
    stack = pf.BeliefNetwork(np.array(weights), [[0.0, 0.3], [0.5, 0.0]], "noisy_or")
    solution = pf.infer(stack, [[0.0, 1.0], [0.0, 1.0]], "bethe")
    assert solution.contradiction(0) is None
    assert solution.contradiction(1) == "the observations 0=0 and 1=1 cannot both be true"


def test_the_row_must_be_one_of_the_batch():
    solution = pf.infer(clinic(), [{}, {}], "bethe")
    with pytest.raises(pf.errors.InvalidInput, match=r"row must be one of the 2 rows of this batch; got none. Say"):
        solution.contradiction()
    wrong: Any
    for wrong in (2, -3, "first"):
        with pytest.raises(pf.errors.InvalidInput, match="row must be a whole number from 0 to 1; got"):
            solution.contradiction(wrong)


@pytest.mark.parametrize("method", ["G12", "G2", "conditioned", "mixture"])
def test_every_method_names_it(method):
    network, evidence, said = CASES["noisy-or without leak"]
    assert said[1:] in message(network, evidence, method)


def test_other_questions_name_it_too():
    network, evidence, said = CASES["an edge of probability one"]
    with pytest.raises(pf.InferenceFailed, match=said[1:]):
        pf.explain(network, evidence, "cough")
    with pytest.raises(InvalidEvidence, match=f"nothing can be sampled given it: {said}. Correct it."):
        network.sample(0, 10, {"fever": "no", "flu": "yes"})


def ruled_out(network, states):
    """By single units."""
    return Possible(network, states).is_ruled_out(np.array(list(states), int), np.array(list(states.values()), int))


def networks(seed):
    if seed % 2:
        return pf.BeliefNetwork.of_units(random_units(seed, 7, certain=True))
    return network_of(random_tables(8, 3, seed, zeros=True))


@pytest.mark.parametrize("seed", range(24))
def test_it_is_minimal_by_brute_force(seed):
    network, rng = networks(seed), np.random.default_rng(seed)
    every = np.array(list(itertools.product((0, 1), repeat=network.size)))
    p = np.exp(network.log_joint(every))

    def is_impossible(states):
        return p[(every[:, list(states)] == list(states.values())).all(axis=1)].sum() == 0

    for _ in range(8):
        row = np.where(rng.random(network.size) < 0.6, rng.integers(0, 2, network.size), np.nan)
        states = {int(unit): int(row[unit]) for unit in np.flatnonzero(~np.isnan(row))}
        seen = ruled_out(network, states)
        assert seen is None or seen == is_impossible(states)
        if not is_impossible(states):
            continue
        found = contradiction(network, row)
        assert found is not None
        assert found.is_minimal
        assert is_impossible(found.states)
        for unit in found.states:
            assert not is_impossible({other: state for other, state in found.states.items() if other != unit})


def parity(size, seen=1):
    """Of free units a chain of exclusive ors, and one more that is their opposite: no unit alone rules it out."""
    units = [pf.Unit(f"x{k}", [], pf.Table(0.5)) for k in range(size)]
    for name in ("s", "t"):
        last = "x0"
        for k in range(1, size):
            units.append(pf.Unit(f"{name}{k}", [last, f"x{k}"], pf.Table([[0, 1], [1, 0]])))
            last = f"{name}{k}"
    return pf.BeliefNetwork.of_units(units), {f"s{size - 1}": 1, f"t{size - 1}": 0, "x0": seen}


def test_what_units_do_not_see_by_themselves_is_found_by_exact_inference():
    network, evidence = parity(4)
    row = pf.infer(network, [evidence], "exact").evidence.rows[0]
    states = {network.index(name): state for name, state in evidence.items()}
    assert ruled_out(network, states) is None
    assert contradiction(network, row) is not None
    assert "The observations s3=1 and t3=0 cannot both be true." in message(network, evidence, "exact")


def test_where_there_is_no_time_it_says_so(monkeypatch):
    monkeypatch.setattr(contradictions, "CONTRADICTION_SECONDS", -1.0)
    network, evidence = parity(4)
    assert "The observations that contradict each other could not be found, because exact" in message(
        network, evidence, "exact"
    )
    units = [pf.Unit("u", [], "noisy_or", [], 0.5), pf.Unit("v", ["u"], "noisy_or", [1.0], 0.0)]
    wide = [pf.Unit(f"y{k}", [], "noisy_or", [], 0.3) for k in range(18)]
    inhibited = pf.Unit("z", [f"y{k}" for k in range(18)], "noisy_or", [1.0] * 17 + [-0.1], 0.1)  # too many to list
    network = pf.BeliefNetwork.of_units([*units, *wide, inhibited])
    said = message(network, {"u": 0, "v": 1, "z": 1}, "exact")
    assert (
        "The observations u=0 and v=1 cannot both be true; a smaller set may already be impossible, but exact" in said
    )


def test_many_observations_are_named_in_part():
    count = 40
    units = [pf.Unit(f"x{k}", [], "noisy_or", [], 0.1) for k in range(count)]
    units.append(pf.Unit("y", [f"x{k}" for k in range(count)], "noisy_or", [1.0] * count, 0.0))
    said = message(pf.BeliefNetwork.of_units(units), [0] * count + [1], "exact")
    assert "x19=0, ... (41 in all) cannot all be true." in said


def test_thousands_of_observations_that_all_matter_are_found():
    count = 2000
    weights = sp.csr_array((np.ones(count), (np.full(count, count), np.arange(count))), shape=(count + 1, count + 1))
    network = pf.BeliefNetwork(weights, np.r_[np.full(count, 0.1), 0.0], "noisy_or")
    found = contradiction(network, np.r_[np.zeros(count), 1.0])
    assert found is not None
    assert found.is_minimal
    assert len(found.states) == count + 1
