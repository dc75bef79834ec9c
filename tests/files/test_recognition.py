"""Tables that are a noisy-or or a sigmoid in disguise are recognised, and no others."""

import gzip
from collections import Counter

import numpy as np
import pytest
from format_zoo import lower
from table_zoo import joint, joint_of, noisy_or, random_tables, read_real
from tests.data import path_of, read_json

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput, InvalidNetwork, PlefkaWarning
from plefka.files import ergo, uai
from plefka.files.conditional_tables import TableNetwork, TableUnit
from plefka.files.from_tables import flipped, network_of, tables_of
from plefka.files.linear_fits import NEGATED, NOISY_OR, SIGMOID
from plefka.files.recognition import TABLE, expanded, probabilities, recognised


def fan(table, states=("no", "yes")):
    """Causes a, b, ... with prior 0.3, and one effect with this table."""
    table = np.array(table, float)
    roots = [TableUnit(name, states, (), np.array(0.3)) for name in "abcdefgh"[: table.ndim]]
    return TableNetwork((*roots, TableUnit("effect", states, tuple(range(table.ndim)), table)))


def effect(table, approximate=None):
    return recognised(fan(table), approximate)[-1]


OR = [[0.1, 0.1 + 0.9 * 0.6], [0.1 + 0.9 * 0.7, 1 - 0.9 * 0.4 * 0.3]]
CASES = {
    "leak and causes": (OR, NOISY_OR),
    "no leak": ([[0, 0.6], [0.7, 1 - 0.4 * 0.3]], NOISY_OR),
    "certain": ([[0, 1], [1, 1]], NOISY_OR),
    "one certain": ([[0.2, 1], [0.5, 1]], NOISY_OR),
    "certain when off": ([[1, 0.3], [1, 0.5]], NOISY_OR),
    "inhibitor": ([[1 - 0.2, 1 - 0.2 * 0.5], [1 - 0.2 * 3, 1 - 0.2 * 3 * 0.5]], NOISY_OR),
    "noisy-and": ([[0.06, 0.2], [0.24, 0.8]], NEGATED),
    "and": ([[0, 0], [0, 1]], NEGATED),
    "always on": ([1, 1], NEGATED),
    "sigmoid": (1 / (1 + np.exp(-np.array([[-1.0, 0.5], [1, 2.5]]))), SIGMOID),
    "exclusive or": ([[0.1, 0.9], [0.9, 0.1]], TABLE),
    "any": ([[0.1, 0.7], [0.8, 0.9]], TABLE),
}


@pytest.mark.parametrize(("table", "kind"), CASES.values(), ids=CASES)
def test_kinds(table, kind):
    form = effect(table)
    assert form.kind == kind
    assert form.error <= 1e-12
    assert np.abs(probabilities(form) - form.table).max() <= 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_what_a_network_expands_to_is_recognised_again(seed):
    rng = np.random.default_rng(seed)
    for network in (
        noisy_or(np.tril(rng.exponential(size=(5, 5)), -1), rng.random(5)),
        pf.BeliefNetwork(np.tril(rng.normal(size=(5, 5)), -1), rng.normal(size=5)),
    ):
        forms = recognised(tables_of(network))
        assert all(form.error < 1e-9 for form in forms)
        assert TABLE not in {form.kind for form in forms}
        assert np.abs(joint_of(network_of(tables_of(network))) - joint_of(network)).max() < 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_a_random_table_stays_one(seed):
    tables = random_tables(7, 4, seed)
    forms = recognised(tables)
    wide = [form for form in forms if len(form.unit.parents) > 1]
    assert {form.kind for form in wide} <= {TABLE}
    assert np.abs(joint(expanded(tables, forms)) - joint(tables)).max() < 1e-9


def test_a_parent_that_does_not_matter_is_dropped():
    form = effect([[0.1, 0.1], [0.7, 0.7 + 1e-9]])
    assert (form.parents, form.dropped) == ((0,), (1,))
    assert effect(np.full((2, 2, 2), 0.25)).parents == ()


def test_rounded_tables_are_recognised():
    """Six digits, with zeros among them, as cpcs has them."""
    weights = np.array([4.0, 3.9, 4.1, -0.14, 1.0])
    fields = 1.66 + np.array([weights @ state for state in np.ndindex(2, 2, 2, 2, 2)]).reshape((2,) * 5)
    table = np.round(-np.expm1(-fields), 6)
    assert table.max() == 1
    form = effect(table)
    assert form.kind == NOISY_OR
    assert form.error < 1e-6


def test_approximation_says_what_it_cost():
    table = np.add(OR, [[0, 0], [0, 0.01]])
    assert effect(table).kind == TABLE
    form = effect(table, 0.02)
    assert form.kind == NOISY_OR
    assert 1e-3 < form.error <= 0.01
    assert effect(table, 1e-3).kind == TABLE
    assert effect(OR, 0.02).error < 1e-12
    with pytest.warns(PlefkaWarning, match=r"1 of 3 units were replaced by .* of each: effect 0.00"):
        network_of(fan(table), 0.02)


@pytest.mark.parametrize("approximate", [0, -1, 0.5, "0.1", float("nan")])
def test_approximate_is_an_error_of_probabilities(approximate):
    with pytest.raises(InvalidInput, match=r"approximate must be an error of probabilities, above 0 and below 0.5"):
        recognised(fan(OR), approximate)


RELABELLED = {
    "noisy-and": [[0.06, 0.2], [0.24, 0.8]],
    "and": [[0, 0], [0, 1]],
    "certain when off": [[1, 0.3], [1, 0.5]],
    "always on": [1, 1],
}


@pytest.mark.parametrize("table", RELABELLED.values(), ids=RELABELLED)
def test_states_are_exchanged_where_that_makes_all_a_noisy_or(table):
    tables = fan(table)
    network = network_of(tables)
    assert network.activation.name == "noisy_or"
    assert {frozenset(pair) for pair in network.states} == {frozenset(("no", "yes"))}
    swapped = [pair == ("yes", "no") for pair in network.states]
    assert any(swapped)
    axes = tuple(axis for axis, swap in enumerate(swapped) if swap)
    assert np.abs(np.flip(joint_of(network), axes) - joint(tables)).max() < 1e-12
    on = joint(tables)[..., 1].sum()
    assert np.exp(pf.infer(network, {"effect": "yes"}, "exact").log_likelihood) == pytest.approx(on)


def test_states_called_0_and_1_are_not_exchanged():
    network = network_of(fan([[0, 0], [0, 1]], ("0", "1")))
    assert set(network.states) == {("0", "1")}
    assert isinstance(network.units[-1].kind, pf.Table)


def test_exchanging_twice_changes_nothing():
    tables = random_tables(5, 3, 0)
    flips = [True, False, True, True, False]
    again = flipped(flipped(tables, flips), flips)
    assert np.abs(joint(again) - joint(tables)).max() < 1e-15
    assert again.states == tables.states


def test_real_tables():
    kinds = {name: Counter(form.kind for form in recognised(read_real(name))) for name in ("asia", "cancer", "andes")}
    assert kinds["asia"] == {NOISY_OR: 7, TABLE: 1}
    assert kinds["cancer"] == {NOISY_OR: 4, TABLE: 1}
    assert kinds["andes"] == {NOISY_OR: 105, NEGATED: 12, TABLE: 106}


def test_cancer_is_nearly_a_noisy_or():
    with pytest.warns(PlefkaWarning, match=r"Cancer 0.00041"):
        network = pf.load(path_of("bif/cancer.bif.gz"), approximate=0.02)
    reference = read_json("bif/cancer.reference.json")
    for case in reference["cases"]:
        solution = pf.infer(network, case["evidence"], "exact")
        assert solution.log_likelihood == pytest.approx(case["ln_p_evidence"], abs=1e-3)
        for name, second in case["p_second_state"].items():
            is_on = network.states[network.index(name)][1] == reference["states"][name][1]
            assert solution.marginals()[name] == pytest.approx(second if is_on else 1 - second, abs=0.01)


def test_the_tables_of_cpcs_are_the_published_noisy_or():
    content = gzip.decompress(path_of("cpcs/BN_80.erg.gz").read_bytes())
    network = network_of(ergo.loads(content))
    evidence = uai.loads_evidence(gzip.decompress(path_of("cpcs/BN_80.erg.evid.gz").read_bytes()))
    assert isinstance(evidence, dict)
    nodes = read_json("cpcs/BN_80.signed_noisyor.json")["nodes"]
    assert (network.size, network.num_edges) == (360, 729)
    worst = max(
        abs(np.expm1(-bias) - np.expm1(-node["theta0"])) for bias, node in zip(network.bias, nodes, strict=True)
    )
    assert worst < 2e-6
    assert {str(unit): int(state) for unit, state in evidence.items()} == read_json("cpcs/BN_80.reference.json")[
        "evidence"
    ]


def test_evidence_may_use_the_words_of_states():
    network = noisy_or(
        lower(3), [0.1, 0.2, 0.3], ["flu", "cold", "fever"], [("no", "yes"), ("No", "Yes"), ("low", "high")]
    )
    by_number = pf.infer(network, {"flu": 1, "fever": 0}, "exact")
    for evidence in ({"flu": "yes", "fever": "low"}, {"flu": "YES", 2: "Low"}, {"flu": "1", "fever": 0}):
        assert pf.infer(network, evidence, "exact").log_likelihood == by_number.log_likelihood
    assert "observed: flu=yes, fever=low" in str(by_number)
    assert "cold Yes" in str(by_number)
    with pytest.raises(
        pf.errors.InvalidEvidence, match=r"'flu' must be 0 or 1, or 'no' \(off\) or 'yes' \(on\); got 'yess'. Did you"
    ):
        pf.infer(network, {"flu": "yess"})


def test_a_data_frame_may_use_the_words_of_states():
    pd = pytest.importorskip("pandas", reason="pandas is not installed (plefka[data])")
    network = noisy_or(lower(2), [0.1, 0.2], ["flu", "fever"], [("no", "yes"), ("low", "high")])
    words = pd.DataFrame({"flu": ["yes", None, "no"], "fever": ["low", "high", None]})
    numbers = pd.DataFrame({"flu": [1, None, 0], "fever": [0, 1, None]})
    found, expected = (pf.infer(network, rows, "exact").log_likelihood for rows in (words, numbers))
    assert np.array_equal(found, expected)
    with pytest.raises(pf.errors.InvalidEvidence, match="got 'middle'"):
        pf.infer(network, pd.DataFrame({"fever": ["middle"]}))


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([("no", "yes")], "a pair .* for each of the 2 units; got 1"),
        ([("no", "yes"), ("no", "no")], "two different printable words, off and on; got .* for unit 'b'"),
        ([("no", "yes"), "no"], "two different printable words"),
        ([("no", "yes"), ("no", "")], "two different printable words"),
        ([("no", "yes"), ("a", "b", "c")], "two different printable words"),
    ],
)
def test_bad_states(states, message):
    with pytest.raises(InvalidNetwork, match=message):
        pf.BeliefNetwork(np.zeros((2, 2)), np.zeros(2), names=["a", "b"], states=states)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ('"no"', r"states must be a list of 1 pairs \[off, on\]"),
        ('[["no"]]', r"states\[0\] must be a list of 2 words"),
        ('[["no", 1]]', r"states\[0\]\[1\] must be a string"),
        ('[["no", "no"]]', "two different printable words"),
    ],
)
def test_bad_states_in_a_file(states, message, tmp_path):
    text = (
        '{"format": "plefka", "version": 1, "activation": "sigmoid", "bias": [0], "weights": {"edges": []}, "states": '
    )
    (tmp_path / "net.json").write_text(f"{text}{states}}}")
    with pytest.raises(InvalidFile, match=message):
        pf.load(tmp_path / "net.json")
