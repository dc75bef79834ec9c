"""Sensitivity: derivatives, ranges and the change of the leading cause, beside a plain sum over all states."""

import copy
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from benchmarks.diagnoses import large_network, patients
from benchmarks.sensitivity import changed

import plefka as pf
from plefka.exact.outside import ParameterElimination
from tests import data

STEP = 1e-30  # of a complex step, which gives derivatives to all digits
POWER = {"prior": 0, "leak": 0, "link": 1, "bias": 0, "weight": 1}


class Plain:
    """A network as numbers that can be changed one by one, and the sum over all of its states."""

    def __init__(self, network: pf.BeliefNetwork):
        self.names, self.families = network.names, []
        for unit in network.units:
            parents, activation = [network.index(parent) for parent in unit.parents], cast(Any, unit.kind)
            if isinstance(unit.kind, pf.Table):
                self.families.append(["table", parents, np.array(unit.kind.probabilities, complex)])
            elif activation.name == "noisy_or":
                w = np.array(unit.weights)
                base = unit.bias + np.minimum(w, 0).sum()
                with np.errstate(over="ignore"):
                    numbers = -np.expm1(-np.array([base, *abs(w)]))
                self.families.append(["noisy_or", parents, numbers.astype(complex), [*(w > 0)]])
            else:
                prior = not parents  # a number of its own: the probability
                numbers = np.array([unit.bias, *unit.weights], complex)
                if prior:
                    numbers = activation.probability(np.array([unit.bias])).astype(complex)
                self.families.append(["prior" if prior else activation.name, parents, numbers])

    def on(self, unit: int, states: tuple[int, ...]) -> complex:
        kind, parents, numbers, *acts = self.families[unit]
        seen = [states[parent] for parent in parents]
        if kind == "table":
            return numbers[tuple(seen)]
        if kind == "prior":
            return numbers[0]
        if kind == "noisy_or":
            off = 1 - numbers[0]
            for link, state, when in zip(numbers[1:], seen, acts[0], strict=True):
                off = off * (1 - link if state == when else 1)
            return 1 - off
        return 1 / (1 + np.exp(-(numbers[0] + sum(w * s for w, s in zip(numbers[1:], seen, strict=True)))))

    def posteriors(self, known: dict[int, tuple[float, float]]) -> tuple[complex, np.ndarray]:
        """P(evidence), and P(on | evidence) of all units; `known`: what states are multiplied by."""
        total, means = 0j, np.zeros(len(self.names), complex)
        for states in product((0, 1), repeat=len(self.names)):
            weight = 1 + 0j
            for unit, state in enumerate(states):
                on = self.on(unit, states)
                weight *= (on if state else 1 - on) * known.get(unit, (1, 1))[state]
            total += weight
            means += weight * np.array(states)
        return total, means / total

    def changed(self, number, value) -> "Plain":
        """With another value of a number that `sensitivity` has named."""
        found = copy.deepcopy(self)
        unit = self.names.index(number.unit)
        kind, parents, numbers, *_ = found.families[unit]
        if kind == "table":
            if number.kind == "prior":
                numbers[()] = value
            else:
                words = number.name.split(" | ")[1].rstrip(")").split(", ")
                numbers[tuple(int(word.split("=")[1]) for word in words)] = value
        else:
            numbers[0 if number.parent is None else 1 + parents.index(self.names.index(number.parent))] = value
        return found


def mixed_network(rng: np.random.Generator, size: int, kinds: list[str]) -> pf.BeliefNetwork:
    """Units of these kinds, with extremes: leaks of 0, links of 1, and of parents that are off, certain entries."""
    units = []
    for unit in range(size):
        count = int(rng.integers(0, min(unit, 3) + 1)) if unit > 1 else 0
        parents = [f"u{k}" for k in sorted(rng.choice(unit, count, replace=False).tolist())]
        kind = str(rng.choice(kinds))
        if kind == "table":
            table = rng.random((2,) * count)
            table = np.where(rng.random(table.shape) < 0.12, np.round(table), table)
            units.append(pf.Unit(f"u{unit}", parents, pf.Table(table)))
        elif kind == "noisy_or":
            w = rng.exponential(1.0, count) * rng.choice([1, 1, 1, -1], count)
            w = np.where((rng.random(count) < 0.1) & (w > 0), np.inf, w)
            base = 0.0 if rng.random() < 0.3 and count else rng.exponential(0.5)
            units.append(pf.Unit(f"u{unit}", parents, kind, tuple(w), float(base - np.minimum(w, 0).sum())))
        else:
            units.append(pf.Unit(f"u{unit}", parents, kind, tuple(rng.normal(size=count) * 2), float(rng.normal())))
    return pf.BeliefNetwork.of_units(units)


def drawn_evidence(rng, network):
    """Possible evidence, some of it soft, and a hidden target."""
    state = network.sample(int(rng.integers(2**31)), 1)[0]
    target = int(rng.integers(network.size))
    evidence, known = {}, {}
    for unit, name in enumerate(network.names):
        chance = rng.random()
        if unit == target or chance < 0.4:
            continue
        if chance < 0.5:
            on, off = rng.random(2)
            evidence[name], known[unit] = pf.Likelihood(on, off), (off, on)
        else:
            evidence[name] = int(state[unit])
            known[unit] = (1 - state[unit], state[unit])
    return evidence, known, target


MIXTURES = [["noisy_or"], ["sigmoid"], ["table"], ["noisy_or", "table"], ["noisy_or", "sigmoid", "table"]]


@pytest.mark.parametrize("kinds", MIXTURES, ids="-".join)
def test_derivatives_and_ranges_equal_the_sum_over_all_states(kinds):
    rng = np.random.default_rng(len(kinds) + 10 * len(kinds[0]))
    compared = 0
    for _ in range(12):
        network = mixed_network(rng, 6, kinds)
        evidence, known, target = drawn_evidence(rng, network)
        plain = Plain(network)
        factor = float(rng.choice([1.5, 10.0, 1e4]))
        found = pf.sensitivity(network, evidence, target, factor=factor)
        truth = plain.posteriors(known)[1][target].real
        assert found.probability == pytest.approx(truth, abs=1e-12)
        for number in found.top(len(found.value)):
            if np.isnan(number.derivative):
                assert truth in (0, 1)
                assert number.value in (0, 1)
                continue
            moved = plain.changed(number, number.value + STEP * 1j).posteriors(known)[1][target]
            assert number.derivative == pytest.approx(moved.imag / STEP, rel=1e-9, abs=1e-11), number
            for end, at in ((number.low, number.at_low), (number.high, number.at_high)):
                assert at == pytest.approx(plain.changed(number, end).posteriors(known)[1][target].real, abs=1e-11)
                compared += 1
    assert compared > 200


def test_smallest_change_of_the_leading_cause_is_where_two_lines_meet_first():
    """Beside lines through P(cause, evidence) with each probability at 0 and at 1, for all causes and numbers."""
    rng, changes = np.random.default_rng(5), 0
    for kinds in MIXTURES * 4:
        network = mixed_network(rng, 6, kinds)
        evidence, known, target = drawn_evidence(rng, network)
        plain, found = Plain(network), pf.sensitivity(network, evidence, target)
        means = np.real(plain.posteriors(known)[1])
        hidden = {
            unit
            for unit, name in enumerate(network.names)
            if isinstance(evidence.get(name, 0.5), float | pf.Likelihood)
        }
        causes = [z for z in sorted(hidden) if not hidden & {network.index(p) for p in network.parents(z)}]
        leader = max(causes, key=lambda cause: means[cause])
        assert (network.names[leader] if means[leader] > 0 else None) == found.leading
        best = np.inf
        for number in found.top(None):
            if number.kind in ("bias", "weight") or number.value in (0, 1):
                continue
            ends = [plain.changed(number, end).posteriors(known) for end in (1e-9, 1 - 1e-9)]
            low, high = (np.real([z * p[k] for k in causes]) for z, p in ends)
            at = causes.index(leader)
            gap, slope = low[at] - low, (high - high[at]) - (low - low[at])
            with np.errstate(divide="ignore", invalid="ignore"):
                q = 1e-9 + (1 - 2e-9) * gap / slope
                size = abs(np.log(q / (1 - q)) - np.log(number.value / (1 - number.value)))
            best = min([best, *size[(q > 1e-6) & (q < 1 - 1e-6) & (np.arange(len(causes)) != at)]])
        if found.change is None:
            assert best == np.inf
        elif 1e-6 < found.change.value < 1 - 1e-6:
            assert np.log(found.change.odds_factor) == pytest.approx(best, rel=1e-6, abs=1e-8)
            after = np.real(plain.changed(found.change.number, found.change.value).posteriors(known)[1])
            assert after[leader] == pytest.approx(after[network.index(found.change.cause)], abs=1e-9)
            changes += 1
    assert changes > 8


def test_priors_of_1e_20_and_fields_that_underflow_keep_their_digits():
    causes = {"cause": ["rare", "other"], "prior": [1e-20, 1e-18]}
    findings = {
        "finding": ["sign", "sign", *(f"absent{k}" for k in range(60))], "cause": ["rare", "other", *["rare"] * 60],
        "probability": [0.9, 0.5, *[0.999] * 60],
    }  # fmt: skip
    network = pf.BeliefNetwork.diagnosis(causes, findings)
    evidence = {"sign": 1} | {f"absent{k}": 0 for k in range(60)}
    found = pf.sensitivity(network, evidence, "rare")
    odds = 1e-20 * 0.9 * 1e-3**60 / (1e-18 * 0.5)
    assert found.probability == pytest.approx(odds, rel=1e-9)
    prior = next(z for z in found.top(None) if z.name == "prior of rare")
    assert prior.at_high == pytest.approx(2 * odds, rel=1e-9)
    assert prior.at_low == pytest.approx(odds / 2, rel=1e-9)
    assert prior.derivative == pytest.approx(odds / 1e-20, rel=1e-9)


def test_rows_that_are_summed_over_one_after_another_are_the_same(monkeypatch):
    together = pf.sensitivity(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, "limescale")
    monkeypatch.setattr("plefka.exact.cost.ENTRIES_AT_ONCE", 1)
    apart = pf.sensitivity(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, "limescale")
    assert apart.derivative == pytest.approx(together.derivative, abs=1e-14)
    assert apart.at_high == pytest.approx(together.at_high, abs=1e-14)


def test_small_and_empty_questions():
    alone = pf.BeliefNetwork([[0.0]], [0.5], "noisy_or", names=["a"])
    found = pf.sensitivity(alone, None, "a", factor=3)
    q = -np.expm1(-0.5)
    assert found.derivative.tolist() == [pytest.approx(1.0)]
    assert found.probability == pytest.approx(q)
    assert found.at_high[0] == pytest.approx(3 * q / (1 + 2 * q))
    assert found.leading == "a"
    assert found.change is None
    pair = pf.BeliefNetwork.from_tables([[], [0]], [0.3, [0.2, 0.6]], names=["a", "b"])
    leaf = pf.sensitivity(pair, {"a": 1}, "b")  # all others are observed
    assert leaf.probability == pytest.approx(0.6)
    assert leaf.top(1)[0].name == "P(b=1 | a=1)"
    assert pf.sensitivity(pair, {}, "b").top(1)[0].name == "P(b=1 | a=0)"


def test_causes_that_lead_together_and_one_that_leads_by_far():
    pair = {"cause": ["a", "b"], "prior": [0.1, 0.1]}
    findings = {"finding": ["f", "f"], "cause": ["a", "b"], "probability": [0.5, 0.5], "leak": [0.1, 0.1]}
    found = pf.sensitivity(pf.BeliefNetwork.diagnosis(pair, findings), {"f": 1}, "a")
    assert "most probable causes: a and b, which are equally probable" in str(found)
    far = pf.BeliefNetwork([[0.0, 0], [0, 0.0]], [45.0, 1e-9], "noisy_or", names=["sure", "rare"])
    change = pf.sensitivity(far, {}, "rare").change  # P(sure) is 1 in floating point
    assert change is not None
    assert change.cause == "rare"
    assert change.odds_factor > 1e20


def test_a_proven_cause_leads_and_no_change_of_a_number_is_made_up():
    """P(a | f) is 1 whatever the numbers are, and differences of lines that coincide are rounding."""
    rng = np.random.default_rng(0)
    for draw in range(20):
        prior, p = rng.uniform(0.01, 0.5, 3).round(3).tolist(), rng.uniform(0.1, 0.9, 4).round(3).tolist()
        if not draw:
            prior, p = [0.097, 0.2, 0.041], [0.681, 0.17, 0.416, 0.799]
        links = {"finding": ["f", "g", "g", "g"], "cause": ["a", "a", "b", "c"], "probability": p}
        network = pf.BeliefNetwork.diagnosis({"cause": ["a", "b", "c"], "prior": prior}, links)
        for target in "ac":
            found = pf.sensitivity(network, {"f": 1, "g": 1}, target, factor=cast(Any, np.int64(2)))
            assert found.leading == "a"
            assert found.change is None


def test_a_change_by_a_large_factor_keeps_its_digits_and_one_beyond_floating_point_is_none():
    for bias in (5.0, 20.0, 45.0, 300.0):
        far = pf.BeliefNetwork([[0.0, 0], [0, 0.0]], [bias, 1e-9], "noisy_or", names=["sure", "rare"])
        change = pf.sensitivity(far, {}, "rare").change
        assert change is not None
        assert change.odds_factor == pytest.approx(np.expm1(bias) / np.expm1(1e-9), rel=1e-9)
        assert change.value == pytest.approx(-np.expm1(-1e-9), rel=1e-9)
    for kind in ("noisy_or", "sigmoid"):
        beyond = pf.BeliefNetwork([[0.0, 0], [0, 0.0]], [800.0, 1e-9], kind, names=["sure", "rare"])
        assert "no change of the odds of one number by a factor of up to 1e+07" in str(
            pf.sensitivity(beyond, {}, "rare")
        )


def test_a_derivative_is_finite_where_only_its_parts_overflow():
    """P(b | e) is 1 - 2e-100, and P(e) with b off is 1e-400."""
    units = [pf.Unit("a", [], "noisy_or", [], 1e-200), pf.Unit("b", [], "noisy_or", [], 1e-300)]
    units.append(pf.Unit("e", ["a", "b"], "noisy_or", [1e-200, np.log(2)], 0.0))
    found = pf.sensitivity(pf.BeliefNetwork.of_units(units), {"e": 1}, "b")
    leak = next(z for z in found.top(None) if z.name == "leak of e")
    assert leak.derivative == pytest.approx(-2e300, rel=1e-9)


def test_words_about_numbers_that_are_printed_alike_and_derivatives_that_are_undefined():
    sure = pf.BeliefNetwork([[0.0, 0], [0, 0.0]], [45.0, 44.0], "noisy_or", names=["sure", "other"])
    assert "with the odds of the prior of sure changed by a factor of 2.72, other is" in str(
        pf.sensitivity(sure, {}, "other")
    )
    near = pf.BeliefNetwork([[0.0, 0], [0, 0.0]], [0.5, 0.5 - 1e-6], "noisy_or", names=["a", "b"])
    assert "changed by a factor of 1 + 2.5e-06, b is as probable, and no smaller" in str(pf.sensitivity(near, {}, "a"))
    proven = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, 0.0], "noisy_or", names=["a", "b"])
    assert "undefined" in str(pf.sensitivity(proven, {"b": 1}, "a"))
    assert "nan" not in str(pf.sensitivity(proven, {"b": 1}, "a"))


def test_custom_activations_are_evaluated_at_both_ends():
    network = pf.BeliefNetwork(
        [[0, 0, 0], [1.2, 0, 0], [-0.7, 0.8, 0]], [0.1, -0.3, 0.2], pf.Custom(lambda x: 1 / (1 + np.e ** (-x)))
    )
    like = pf.BeliefNetwork([[0, 0, 0], [1.2, 0, 0], [-0.7, 0.8, 0]], [0.1, -0.3, 0.2], "sigmoid")
    found, truth = (pf.sensitivity(net, {2: 1}, 0, factor=5) for net in (network, like))
    for name in ("value", "low", "high", "derivative", "at_low", "at_high"):
        assert getattr(found, name) == pytest.approx(getattr(truth, name), abs=1e-12)


@pytest.fixture(scope="module")
def qmr():
    """570 causes, 4,075 findings and 45,470 links, with a patient."""
    network = large_network()
    return network, patients(network, 1, 1)[0]


def test_all_numbers_of_a_large_network_from_a_few_sums(qmr, monkeypatch):
    """Beside finite differences of exact inference, and exact inference at the ends."""
    sums, outside = [], ParameterElimination.outside
    monkeypatch.setattr(ParameterElimination, "outside", lambda self: sums.append(self.num_rows) or outside(self))
    network, row = qmr
    solution = pf.infer(network, row, "exact")
    target = int(np.argmax(solution.means[:570]))
    found = pf.sensitivity(network, row, target)
    assert len(found.value) == 45_470 + 570 + 4_075
    assert len(sums) <= 3
    assert sums[0] == 2
    assert found.probability == pytest.approx(solution.means[target], abs=1e-12)
    rng = np.random.default_rng(0)
    for k in [*found.order[:12], *rng.choice(len(found.value), 4), *rng.choice(found.order[:400], 8)]:
        number, means = found.number(int(k)), []
        step = 1e-4 * min(number.value, 1 - number.value)
        for value in (number.value - step, number.value + step, number.low, number.high):
            means.append(pf.infer(changed(network, number, value), row, "exact").means[target])
        difference = (means[1] - means[0]) / (2 * step)
        assert number.derivative == pytest.approx(difference, rel=1e-6, abs=1e-10)
        assert [number.at_low, number.at_high] == pytest.approx(means[2:], abs=1e-10)


# ---- what users see --------------------------------------------------------------------------------------------------


def test_print_html_and_frame():
    found = pf.sensitivity(pf.example("espresso"), {"slow_flow": 1}, "limescale")
    text, html, frame = str(found), found._repr_html_(), found.to_frame()
    assert "most probable cause: limescale; with" in text
    assert "prior of limescale" in text
    assert "and 29 more" in text
    assert "<table" in html
    assert len(frame) == len(found.value)
    assert frame["name"][0] == "prior of limescale"
    assert repr(found).startswith("<Sensitivity of 'limescale': probability 0.")
    assert set(found.kind) == {"prior", "leak", "link"}


REFUSED = [
    ({"slow_flow": 1}, "slow_flow", {}, "sensitivity needs a hidden target; 'slow_flow' is observed"),
    ({}, "slow_flow", {"factor": 1}, "factor must be a number above 1"),
    ({}, "slow_flow", {"factor": float("nan")}, "factor must be a number above 1"),
    ([{}, {}], "slow_flow", {}, "sensitivity takes one row of evidence; got 2"),
    ({}, "slow", {}, "slow"),
]


@pytest.mark.parametrize(("evidence", "target", "options", "words"), REFUSED)
def test_bad_input_is_refused_in_a_sentence(evidence, target, options, words):
    with pytest.raises(pf.errors.InvalidInput, match=words):
        pf.sensitivity(pf.example("espresso"), evidence, target, **options)


def test_stacks_machines_impossible_evidence_and_sums_out_of_reach_are_refused():
    machine = pf.BoltzmannMachine(np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(pf.errors.InvalidInput, match="sensitivity takes one BeliefNetwork; got BoltzmannMachine"):
        pf.sensitivity(machine, {}, 0)  # pyright: ignore[reportArgumentType]
    stack = pf.ensembles.layered((2, 3), -1, 1, 2, 0, "sigmoid")
    with pytest.raises(pf.errors.InvalidInput, match="got a stack"):
        pf.sensitivity(stack, {}, 0)
    without_leak = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, 0.0], "noisy_or", names=["a", "b"])
    three = pf.BeliefNetwork([[0, 0, 0], [1.0, 0, 0], [0, 0, 0]], [0.1, 0.0, 0.3], "noisy_or", names=["a", "b", "c"])
    with pytest.raises(pf.errors.InvalidInput, match="a=0 and b=1 cannot both be true"):
        pf.sensitivity(three, {"a": 0, "b": 1}, "c")
    assert pf.sensitivity(without_leak, {"b": 1}, "a").probability == 1
    wide = pf.ensembles.layered((60, 60), -1, 1, 1, 0, "sigmoid").take(0)
    with pytest.raises(pf.errors.InvalidInput, match="out of reach here: elimination would need a table of 2"):
        pf.sensitivity(wide, np.r_[np.full(60, np.nan), np.ones(60)], 0)


# ---- real networks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["win95pts", "andes"])
def test_ranges_of_a_real_network_equal_exact_inference_at_the_ends(name):
    network = pf.load(data.path_of(f"bif/{name}.bif.gz")).with_tables(None)
    findings = np.flatnonzero(~network.roots)[-6:]
    states = network.sample(0, 1)[0]
    evidence = {network.names[unit]: int(states[unit]) for unit in findings}
    solution = pf.infer(network, evidence, "exact")
    target = min(solution.ranking(None), key=lambda pair: abs(pair[1] - 0.5))[0]
    found = pf.sensitivity(network, evidence, target)
    assert found.probability == pytest.approx(solution[target], abs=1e-12)
    for number in [z for z in found.top(40) if z.kind == "entry"][:3] + [z for z in found.top(40) if z.kind == "prior"][
        :3
    ]:
        for end, at in ((number.low, number.at_low), (number.high, number.at_high)):
            moved = pf.infer(_with_entry(network, number, end), evidence, "exact")
            assert at == pytest.approx(moved[target], abs=1e-10)


def _with_entry(network, number, value):
    """With another entry of a table, or another prior."""
    units = network.units
    place = network.index(number.unit)
    if number.kind == "entry":
        table = np.array(units[place].kind.probabilities)
        words = number.name.split(" | ")[1].rstrip(")").split(", ")
        states = dict(word.split("=") for word in words)
        where = tuple(network.states[network.index(p)].index(states[p]) for p in units[place].parents)
        table[where] = value
        units[place] = units[place]._replace(kind=pf.Table(table))
    elif isinstance(units[place].kind, pf.Table):
        units[place] = units[place]._replace(kind=pf.Table(value))
    else:
        units[place] = units[place]._replace(bias=-np.log1p(-value))
    return pf.BeliefNetwork.of_units(units, states=network.states)
