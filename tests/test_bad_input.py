"""Bad input: every message says what must hold, what came, and what to do; and extreme numbers never become nan."""

import itertools
import re
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput, InvalidMethod, InvalidNetwork, MethodDoesNotApply
from plefka.mean_field.schemes import SCHEMES, MeanField

NAMES = ("flu", "cold", "fever", "cough")


def ring(size, weight=1.0):
    """Unit k is the parent of unit k + 1, and the last one of the first."""
    units = np.arange(size)
    return sp.csr_array((np.full(size, weight), ((units + 1) % size, units)), shape=(size, size))


def clinic(activation="noisy_or", leak=0.1, certain=1.0):
    """flu and cold cause fever, cold causes cough."""
    weights = np.zeros((4, 4))
    weights[2, :2] = certain, 0.5
    weights[3, 1] = 0.7
    return pf.BeliefNetwork(weights, [0.2, 0.3, leak, leak], activation, NAMES)


def chain(bias, weights=(1.0, 1.0), tolerance=1e-6):
    """a -> b -> c."""
    return pf.BeliefNetwork(np.diag(weights, -1), bias, "noisy_or", ("a", "b", "c"), tolerance=tolerance)


def one_bad_network_in_a_stack():
    weights = np.zeros((3, 2, 2))
    weights[:, 1, 0] = 1.0
    weights[2] = [[0, 1], [1, 0]]
    return pf.BeliefNetwork(weights, np.zeros(2), names=("rain", "wet"))


def with_weight(value, activation: str | pf.Custom = "sigmoid"):
    return pf.BeliefNetwork([[0, 0], [value, 0]], [0.0, 1.0], activation)


BAD_NETWORKS = {
    "self loop": (lambda: pf.BeliefNetwork([[1.0]], [0.0], names=["rain"]), "got the cycle rain -> rain. Remove one"),
    "cycle of two": (
        lambda: pf.BeliefNetwork([[0, 1], [1, 0]], [0, 0], names=["rain", "wet"]),
        "weights must be acyclic; got the cycle rain -> wet -> rain. Remove one of these edges.",
    ),
    "dense cycle": (lambda: pf.BeliefNetwork(ring(4).toarray(), np.zeros(4)), "got the cycle 0 -> 1 -> 2 -> 3 -> 0."),
    "sparse cycle": (
        lambda: pf.BeliefNetwork(ring(4), np.zeros(4), names=NAMES),
        "got the cycle flu -> cold -> fever -> cough -> flu.",
    ),
    "cycle in one of a stack": (one_bad_network_in_a_stack, "got the cycle rain -> wet -> rain."),
    "nan bias": (lambda: chain([0.1, np.nan, 0.1]), "biases must be finite; got nan at unit b."),
    "inf bias": (lambda: chain([0.1, 0.1, np.inf]), "biases must be finite; got inf at unit c."),
    "nan weight": (lambda: with_weight(np.nan), "weights must be numbers; got nan. Use 0 for an absent edge."),
    "-inf weight": (
        lambda: with_weight(-np.inf, "noisy_or"),
        "weights must not be -inf. Use a finite negative number.",
    ),
    "inf weight on sigmoid": (lambda: with_weight(np.inf), "weights of a sigmoid network must be finite; got inf."),
    "not square": (lambda: pf.BeliefNetwork(np.zeros((2, 3)), [0, 0]), "square matrix.*got shape (2, 3)."),
    "sparse not square": (lambda: pf.BeliefNetwork(sp.csr_array((2, 3)), [0, 0]), "square matrix.*got shape (2, 3)."),
    "no units": (lambda: pf.BeliefNetwork(np.zeros((0, 0)), []), "square matrix.*got shape (0, 0)."),
    "ragged": (lambda: pf.BeliefNetwork([[0, 0], [1]], [0, 0]), "weights must be numbers in a rectangular array"),
    "words for weights": (lambda: pf.BeliefNetwork([["a"]], [0]), "weights must be numbers in a rectangular array"),
    "bias too short": (lambda: pf.BeliefNetwork(np.zeros((3, 3)), [0, 0]), "shape (3,); got shape (2,)."),
    "bias of a stack": (
        lambda: pf.BeliefNetwork(np.zeros((5, 3, 3)), np.zeros((4, 3))),
        "shape (3,) or (5, 3); got shape (4, 3).",
    ),
    "layers disagree": (
        lambda: pf.BeliefNetwork.layered([np.zeros((3, 2)), np.zeros((4, 2))], [np.zeros(2), np.zeros(3), np.zeros(4)]),
        "weights[1] must be (units of layer 2, units of layer 1) = (4, 3); got shape (4, 2).",
    ),
    "a layer without bias": (
        lambda: pf.BeliefNetwork.layered([np.zeros((3, 2))], [np.zeros(2)]),
        "one more bias vector than weight matrices; got 1 bias vectors and 1 weight matrices.",
    ),
    "half a stack": (
        lambda: pf.BeliefNetwork.layered(
            [np.zeros((5, 3, 2)), np.zeros((4, 3))], [np.zeros(2), np.zeros(3), np.zeros(4)]
        ),
        "in a stack all weights and biases must have the same leading axis",
    ),
    "names too few": (lambda: pf.BeliefNetwork(np.zeros((2, 2)), [0, 0], names=["a"]), "each of the 2 units; got 1."),
    "names twice": (
        lambda: pf.BeliefNetwork(np.zeros((3, 3)), np.zeros(3), names=["flu", "cold", "flu"]),
        "names must be unique; these occur more than once: flu.",
    ),
    "empty name": (lambda: pf.BeliefNetwork([[0]], [0], names=[" "]), "names must be printable words; got ' '."),
    "name with newline": (lambda: pf.BeliefNetwork([[0]], [0], names=["a\nb"]), r"printable words; got 'a\nb'."),
    "name is a number": (lambda: pf.BeliefNetwork([[0]], [0], names=[3]), "printable words; got 3."),  # pyright: ignore[reportArgumentType]
    "negative leak": (
        lambda: chain([0.1, -0.5, 0.1]),
        "must not be below 0; the field of unit b is -0.5 when all parents are off. Change its bias by +0.5",
    ),
    "negative field": (
        lambda: chain([0.1, 0.1, 0.5], weights=(1.0, -2.0)),
        "must not be below 0; the field of unit c is -1.5 when b is on and no other parent. Change its bias by +1.5",
    ),
    "outside a custom domain": (
        lambda: with_weight(3.0, pf.Custom(lambda x: x / 2, domain=(-1, 2))),
        "must not be above 2; the field of unit 1 is 4 when 0 is on",
    ),
    "tolerance": (
        lambda: pf.BeliefNetwork([[0]], [0], tolerance=-1),
        "tolerance must be a number, at least 0; got -1.",
    ),
    "negative field beyond the tolerance": (
        lambda: chain([0.1, -4e-7, 0.1], tolerance=1e-7),
        "must not be below 0; the field of unit b is -4e-07 when all parents are off.",
    ),
    "unknown activation": (
        lambda: clinic("noisyor"),
        "activation must be one of sigmoid, noisy_or, or a Custom(...); got 'noisyor'. Did you mean 'noisy_or'?",
    ),
    "Custom without anything": (lambda: pf.Custom(), "Custom takes either f,.*or both log_on and log_off"),
    "Custom with a half": (lambda: pf.Custom(log_on=np.log), "Custom takes either f,.*or both log_on and log_off"),
    "Custom with too much": (
        lambda: pf.Custom(np.exp, log_on=np.log, log_off=np.log),
        "Custom takes either f,.*or both log_on and log_off",
    ),
    "Custom f with a half": (lambda: pf.Custom(np.exp, log_on=np.log), "Custom takes either f,.*or both log_on"),
    "Custom domain": (lambda: pf.Custom(np.exp, domain=(1, 0)), "domain must be a pair (low, high) with low < high"),
    "ensemble without layers": (lambda: pf.ensembles.layered((), 0, 1, 1, 0), "there must be two layers or more"),
    "ensemble upside down": (lambda: pf.ensembles.layered((2, 2), 1, 0, 1, 0), "low must not exceed high"),
}


def infer(network, evidence=None, method: Any = "G12", **more):
    return lambda: pf.infer(network(), evidence, method, **more)


def stack_of_three():
    return pf.ensembles.layered((2, 2), 0.1, 1, 3, seed=0, activation="noisy_or")


BAD_EVIDENCE = {
    "unknown unit": (infer(clinic, {"fevr": 1}), "there is no unit 'fevr' in this network. Did you mean 'fever'?"),
    "unknown unit, other case": (infer(clinic, {"FLU": 1}), "Did you mean 'flu'?"),
    "unknown index": (
        infer(stack_of_three, {4: 1}),
        "there is no unit 4: units are identified by their index,.*0 to 3.",
    ),
    "negative index": (infer(clinic, {-1: 1}), "there is no unit -1"),
    "half an index": (infer(clinic, {0.5: 1}), "there is no unit 0.5"),
    "unknown state": (
        infer(clinic, {"flu": "maybe"}),
        "state of unit 'flu' must be 0 or 1; got 'maybe'. Words such as",
    ),
    "neither 0 nor 1": (infer(clinic, {"flu": 2}), "state of unit 'flu' must be 0 or 1; got 2."),
    "a list for a state": (infer(clinic, {"flu": [1, 0]}), "state of unit 'flu' must be 0 or 1; got [1, 0]."),
    "one unit twice": (infer(clinic, {"flu": 1, 0: 0}), "unit 'flu' is observed twice"),
    "neither in an array": (
        infer(clinic, [[0, 1, np.nan, 1], [0, 0.5, 1, 1]]),
        "evidence must be 0, 1 or nan (hidden); got 0.5 for unit 'cold' in row 1.",
    ),
    "wrong width": (infer(clinic, [0, 1]), "with nan for hidden units: shape (4,) or (rows, 4); got shape (2,)."),
    "three axes": (infer(clinic, np.zeros((1, 1, 4))), "got shape (1, 1, 4)."),
    "nothing among dictionaries": (
        infer(clinic, [{}, None]),
        "every row in a list of dictionaries must be a dictionary; got NoneType in row 1. Use {} for a row in which "
        "nothing is observed.",
    ),
    "a word": (infer(clinic, "flu"), "evidence must be None, a dictionary {unit: 0 or 1}, an array.*got str: 'flu'."),
    "rows for a stack": (
        infer(stack_of_three, np.zeros((2, 4))),
        "a stack of 3 networks takes one row of evidence, or 3; got 2.",
    ),
    "unknown column": (
        infer(clinic, pd.DataFrame({"flu": [1], "couhg": [0]})),
        "columns must be units of the network; there is no 'couhg'. Did you mean 'cough'? Rename or drop",
    ),
    "column twice": (
        infer(clinic, pd.DataFrame([[1, 0]], columns=["flu", "flu"])),
        "columns must differ in their names; got 'flu' more than once",
    ),
    "word in a column": (
        infer(clinic, pd.DataFrame({"flu": [1, "maybe"]})),
        "row 1: the states of unit 'flu' must be 0, 1 or nan; got 'maybe'.",
    ),
    "no leak, no parent": (
        infer(lambda: chain([0.0, 0.1, 0.1]), {"a": 1}),
        "unit 'a' is observed on, but has no leak and no cause that could be on. Give it a leak",
    ),
    "no leak, cause off": (infer(lambda: chain([0.1, 0.0, 0.1]), {"a": 0, "b": 1}), "unit 'b' is observed on, but has"),
    "no leak, cause impossible": (
        infer(lambda: chain([0.0, 0.0, 0.0]), {"c": 1}),
        "unit 'c' is observed on, but has no leak and no cause that could be on.",
    ),
    "no leak, cause of cause off": (
        infer(lambda: chain([0.1, 0.0, 0.0]), {"a": 0, "c": 1}),
        "unit 'c' is observed on, but has no leak",
    ),
    "off, so that the certain cause of both is off too": (
        infer(lambda: pf.BeliefNetwork([[0, 0, 0], [np.inf, 0, 0], [1, 0, 0]], [0.5, 0, 0], "noisy_or"), {1: 0, 2: 1}),
        "unit '2' is observed on, but has no leak and no cause that could be on.",
    ),
    "no rows": (infer(clinic, np.zeros((0, 4))), "a batch of evidence must have at least one row; got shape (0, 4)."),
    "a DataFrame without rows": (
        infer(clinic, pd.DataFrame({"flu": []})),
        "a batch of evidence must have at least one row",
    ),
    "nothing for a name": (infer(clinic, {None: 1}), "there is no unit 'None'"),
    "infinity for an index": (infer(clinic, {np.inf: 1}), "there is no unit 'inf'"),
    "a column twice, as number and as word": (
        lambda: pf.infer(pf.BeliefNetwork([[0.0]], [0.0]), pd.DataFrame([[1, 0]], columns=[0, "0"])),
        "columns must differ in their names; got '0' more than once.",
    ),
    "off against a certain cause": (
        infer(lambda: clinic(certain=np.inf), {"flu": 1, "fever": 0}),
        "unit 'fever' is observed off, but a cause that switches it on for certain is on. Correct the",
    ),
    "off against a certain chain": (
        infer(lambda: chain([0.1, 0.1, 0.1], weights=(np.inf, np.inf)), {"a": 1, "c": 0}),
        "unit 'c' is observed off, but",
    ),
}

BAD_METHODS = {
    "unknown": (infer(clinic, method="G99"), "there is no method 'G99'; there are auto, exact, G10,"),
    "lower case": (infer(clinic, method="g12"), "there is no method 'g12'.*Did you mean 'G12'?"),
    "misspelled": (infer(clinic, method="exat"), "there is no method 'exat'.*Did you mean 'exact'?"),
    "not a word": (infer(clinic, method=12), "spelled NAME or NAME[option=value,...]; got 12."),
    "open bracket": (infer(clinic, method="G12[tol=1"), "spelled NAME or NAME[option=value,...]; got 'G12[tol=1'."),
    "unknown option": (
        infer(clinic, method="G12[tole=1]"),
        "'tole=1' is not an option; options of G12: tol, max_steps, policy, restarts, seed, anneal. "
        "Did you mean 'tol'?",
    ),
    "no options": (infer(clinic, method="exact[tol=1]"), "'tol=1' is not an option; exact has no options."),
    "option without value": (infer(clinic, method="G12[tol]"), "'tol' is not an option"),
    "tol is a word": (infer(clinic, method="G12[tol=small]"), "tol must be a number; got 'small'."),
    "tol is negative": (infer(clinic, method="G12[tol=-1]"), "tol must be positive; got -1.0."),
    "tol is nan": (infer(clinic, method="G12[tol=nan]"), "tol must be positive; got nan."),
    "no steps": (infer(clinic, method="G12[max_steps=0]"), "max_steps >= 1 must hold; got 0."),
    "seed is negative": (
        infer(clinic, method="gibbs[seed=-1]"),
        "seed must be a whole number from 0 to 2^63 - 1; got -1.",
    ),
    "seed is a word": (
        lambda: MeanField("G1", seed=cast(Any, "x")),
        "seed must be a whole number from 0 to.*; got 'x'.",
    ),
    "open quote": (
        infer(clinic, method='conditioned[units="flu]'),
        "every double quote must be closed; got 'units=\"flu'.",
    ),
    "half a quote": (
        infer(clinic, method='conditioned[units="flu"s]'),
        'double quotes must enclose a whole name.*; got "flu"s.',
    ),
    "k against units": (infer(clinic, method="conditioned[G1,k=3,units=flu]"), "got k=3 and 1 in flu. Leave k out."),
    "policy": (
        infer(clinic, method="G12[policy=papers]"),
        "policy must be one of monotone, paper, sequential; got 'papers'. Did you mean 'paper'?",
    ),
    "restarts without seed": (
        infer(clinic, method="G12[restarts=3]"),
        "restarts are drawn from a seed; add one, as in G12[restarts=3,seed=0].",
    ),
}


def all_to_all(count):
    """Causes all of which act on all findings."""
    return pf.BeliefNetwork.layered([np.full((count, count), 0.1)], [np.full(count, 0.1)] * 2, "noisy_or")


INAPPLICABLE = {
    "SJJ on noisy-or": (
        infer(clinic, method="SJJ"),
        "SJJ does not apply: its bound is for sigmoid networks, and this one is noisy_or. Use G1, a bound.*instead.",
    ),
    "exact on 2^40 states": (
        infer(lambda: pf.BeliefNetwork(np.tri(41, k=-1), np.zeros(41)), {40: 1}, "exact"),
        "exact does not apply: elimination would need a table of 2^22 entries for the parents of a unit, and "
        "enumeration would sum over 2^40 = 1.1e+12 states of the hidden units (the limit is 2^24). Use auto",
    ),
    "exact on findings that are all open at once": (
        infer(lambda: all_to_all(30), dict.fromkeys(range(30, 60), 1), "exact"),
        "elimination would need tables of at least 2^30 entries, and enumeration would sum over 2^30 = 1.07e+09 states",
    ),
    "free energy of exact": (
        lambda: pf.free_energy(clinic(), None, [0.5] * 4, "exact"),
        "exact does not apply: it has no free energy as a function of the means. Use a scheme such as G12",
    ),
}

OTHER = {
    "not a network": (
        lambda: pf.infer(np.zeros((2, 2))),  # pyright: ignore[reportArgumentType]
        "network must be a BeliefNetwork or a BoltzmannMachine; got ndarray.",
    ),
    "a check by a word": (infer(clinic, check="yes"), "seed must be a whole number from 0 to 2^63 - 1; got 'yes'."),
    "dtype": (infer(clinic, dtype="float16"), "dtype must be one of float64, float32; got 'float16'."),
    "means outside": (lambda: pf.free_energy(clinic(), None, [0.5, 0.5, 0.5, 1.5]), "means must lie between 0 and 1."),
    "nan means": (lambda: pf.free_energy(clinic(), None, [0.5, 0.5, np.nan, 0]), "means must lie between 0 and 1."),
    "means of a wrong shape": (lambda: pf.free_energy(clinic(), None, [0.5]), "(4,) or (rows, 4); got (1,)."),
    "means and evidence disagree": (
        lambda: pf.free_energy(clinic(), np.zeros((2, 4)), np.full((3, 4), 0.5)),
        "3 rows of means.*2 rows of evidence",
    ),
    "state of a wrong shape": (lambda: clinic().log_joint([0, 1]), "shape (..., 4); got (2,)."),
    "state between": (lambda: clinic().log_joint([0, 1, 0.5, 0]), "a state consists of zeros and ones"),
    "no samples": (lambda: clinic().sample(0, 0), "count must be at least 1; got 0."),
    "samples of a stack": (lambda: stack_of_three().sample(0, 1), "from one network; got a stack of 3."),
    "samples of a batch": (lambda: clinic().sample(0, 1, np.zeros((2, 4))), "takes one row of evidence; got 2."),
}


def as_pattern(message):
    """The message as it is printed; only `.*` stands for anything."""
    return ".*".join(map(re.escape, message.split(".*")))


def parametrized(table):
    return pytest.mark.parametrize(("call", "message"), table.values(), ids=table.keys())


@parametrized(BAD_NETWORKS)
def test_network_is_refused(call, message):
    with pytest.raises(InvalidInput, match=as_pattern(message)):
        call()


@parametrized(BAD_EVIDENCE)
def test_evidence_is_refused(call, message):
    with pytest.raises(InvalidEvidence, match=as_pattern(message)):
        call()


@parametrized(BAD_METHODS)
def test_method_is_refused(call, message):
    with pytest.raises(InvalidMethod, match=as_pattern(message)):
        call()


@parametrized(INAPPLICABLE)
def test_method_that_does_not_apply(call, message):
    with pytest.raises(MethodDoesNotApply, match=as_pattern(message)):
        call()


@parametrized(OTHER)
def test_other_input_is_refused(call, message):
    with pytest.raises(InvalidInput, match=as_pattern(message)):
        call()


def test_cycle_of_a_hundred_thousand_units_is_a_readable_message():
    with pytest.raises(InvalidNetwork, match="got the cycle 0 -> 1 -> 2") as refusal:
        pf.BeliefNetwork(ring(100_000), np.zeros(100_000))
    assert len(str(refusal.value)) < 2_000


def test_acyclic_in_any_order_is_accepted():
    order = np.random.default_rng(0).permutation(50)
    weights = np.tril(np.ones((50, 50)), -1)[np.ix_(order, order)]
    assert pf.BeliefNetwork(weights, np.zeros(50)).size == 50
    assert pf.BeliefNetwork(sp.csr_array(weights), np.zeros(50)).num_edges == 50 * 49 / 2


def test_stack_whose_union_is_cyclic_is_accepted_where_no_network_is():
    weights = np.zeros((2, 2, 2))
    weights[0, 1, 0] = weights[1, 0, 1] = 1.0
    assert pf.BeliefNetwork(weights, np.zeros(2)).stack == 2


# ---- extreme numbers -------------------------------------------------------------------------------------------------

LAYERS = (2, 2, 3)
EXTREME = (1e3, 1e6)
CLAMPED = np.array([[np.nan] * 4 + [1.0, 0.0, 1.0]])


def extreme_weights(activation):
    """One network for each extreme, of weights and biases of that size and of both signs where they are allowed."""
    rng = np.random.default_rng(0)
    low = 0.1 if activation == "noisy_or" else -1.0
    drawn = [rng.uniform(low, 1.0, shape) for shape in [(2, 2), (3, 2), (2,), (2,), (3,)]]
    return [[size * part for part in drawn] for size in EXTREME]


def layered(activation):
    stacks = [np.stack(parts) for parts in zip(*extreme_weights(activation), strict=True)]
    return pf.BeliefNetwork.layered(stacks[:2], stacks[2:], activation), CLAMPED


def alone(activation, form):
    """Both extremes side by side in one network, dense or sparse."""
    parts = [pf.BeliefNetwork.layered(drawn[:2], drawn[2:], activation) for drawn in extreme_weights(activation)]
    weights = sp.block_diag([part.storage.to_sparse() for part in parts], format="csr")
    return pf.BeliefNetwork(form(weights), np.concatenate([part.bias for part in parts]), activation), np.tile(
        CLAMPED, 2
    )


FORMS = {
    "layered": layered,
    "dense": lambda activation: alone(activation, lambda weights: weights.toarray()),
    "sparse": lambda activation: alone(activation, lambda weights: weights),
}
SOLVED = {
    "sigmoid": {"layered": ("G12", "G22", "SJJ", "exact"), "dense": ("G12", "exact"), "sparse": ("G22", "exact")},
    "noisy_or": {"layered": ("G12", "G22", "exact"), "dense": ("G22", "exact"), "sparse": ("G12", "exact")},
}
EACH = [(f, form, method) for f, forms in SOLVED.items() for form, methods in forms.items() for method in methods]


def assert_named(solution):
    """Finite numbers, or a failure with a name; never nan, nowhere."""
    done = solution.converged
    assert np.all(np.isfinite(solution.log_likelihood[done]))
    assert np.all((solution.means >= 0) & (solution.means <= 1))
    assert not np.isnan(solution.log_likelihood).any()
    assert not np.isnan(solution.residual).any()


@pytest.mark.parametrize(("activation", "form", "method"), EACH)
def test_extreme_weights_are_solved_or_fail_by_name(activation, form, method):
    network, row = FORMS[form](activation)
    assert_named(pf.infer(network, row, method, throw=False))


PAPER_SCHEMES = [name for name, scheme in SCHEMES.items() if scheme.machine_order is None]
SCHEMES_THAT_APPLY = [(f, method) for f in SOLVED for method in PAPER_SCHEMES if (f, method) != ("noisy_or", "SJJ")]


@pytest.mark.parametrize(("activation", "method"), SCHEMES_THAT_APPLY)
def test_free_energy_is_finite_at_means_next_to_0_and_1(activation, method):
    network, row = FORMS["sparse"](activation)
    means = np.array([np.full(14, u) for u in (0.0, 1e-300, 1 - 2**-53, 1.0)])
    G = pf.free_energy(network, row, means, method, prune=False)
    assert np.isfinite(G).all()


# ---- probability one, and inhibitors ---------------------------------------------------------------------------------


def off_probability(weights, bias, S):
    """P(unit off | parents), with infinite weights: exp(-field), by hand."""
    return np.array(
        [np.exp(-(h + sum(w for w, s in zip(row, S, strict=True) if s))) for row, h in zip(weights, bias, strict=True)]
    )


def by_hand(weights, bias, row):
    """ln P(evidence) and the means by a plain loop over all states."""
    total, means = 0.0, np.zeros(len(bias))
    for S in itertools.product((0, 1), repeat=len(bias)):
        if all(np.isnan(e) or e == s for e, s in zip(row, S, strict=True)):
            off = off_probability(weights, bias, S)
            p = np.prod(np.where(S, 1 - off, off))
            total, means = total + p, means + p * np.array(S)
    return np.log(total), means / total


def with_certain_edges():
    weights = np.zeros((5, 5))
    weights[2, 0], weights[3, 1], weights[4, 2], weights[4, 3] = np.inf, 0.4, np.inf, 1.1
    return weights, np.array([0.3, 0.5, 0.05, 0.1, 0.02])


def with_inhibitors():
    weights = np.zeros((5, 5))
    weights[2, 0], weights[2, 1], weights[3, 1], weights[4, 2], weights[4, 3] = 0.9, -0.4, 0.4, -0.3, -0.7
    return weights, np.array([0.3, 0.5, 0.4, 0.1, 1.0])


ROWS = np.array([[np.nan, np.nan, np.nan, np.nan, 1.0], [np.nan, 1, np.nan, np.nan, 0], [np.nan, 0, 1, np.nan, np.nan]])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("make", [with_certain_edges, with_inhibitors])
def test_noisy_or_with_odd_weights_is_exact(make, store):
    weights, bias = make()
    solution = pf.infer(pf.BeliefNetwork(store(weights), bias, "noisy_or"), ROWS, "exact")
    for k, row in enumerate(ROWS):
        log_likelihood, means = by_hand(weights, bias, row)
        assert solution.log_likelihood[k] == pytest.approx(log_likelihood, abs=1e-12)
        np.testing.assert_allclose(solution.means[k], means, atol=1e-12)


@pytest.mark.parametrize("make", [with_certain_edges, with_inhibitors])
def test_mean_field_converges_with_odd_weights(make):
    weights, bias = make()
    solution = pf.infer(pf.BeliefNetwork(weights, bias, "noisy_or"), ROWS, "G12", throw=False)
    assert solution.converged.all()
    assert not np.isnan(solution.means).any()


@pytest.mark.parametrize(
    "store", [np.asarray, sp.csr_array, lambda W: np.stack([W, W])], ids=["dense", "sparse", "stack"]
)
def test_fields_a_little_outside_their_domain_are_moved_inside(store):
    """As they come from files with rounded numbers: all methods then agree with the network that is meant."""
    weights, bias = with_inhibitors()
    meant = pf.BeliefNetwork(store(weights), bias, "noisy_or")
    message = (
        r"fields of 2 units \(2, 4\) were outside the domain \(0, inf\) of noisy_or by up to 4\.0e-07; their biases"
    )
    with pytest.warns(pf.errors.PlefkaWarning, match=message) as warned:
        rounded = pf.BeliefNetwork(store(weights), bias - [0, 0, 4e-7, 0, 3e-7], "noisy_or")
    assert warned[0].filename == __file__
    np.testing.assert_allclose(rounded.bias, meant.bias, atol=1e-15)
    for method in ("exact", "G12", "bethe"):
        found, expected = (pf.infer(network, ROWS[0], method, throw=False) for network in (rounded, meant))
        np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-9)
        np.testing.assert_allclose(found.means, expected.means, atol=1e-9)


def test_the_highest_field_of_a_domain_has_the_same_tolerance():
    linear = pf.Custom(lambda x: x, domain=(0, 1))
    with pytest.warns(pf.errors.PlefkaWarning, match=r"fields of 1 unit \(1\) .* by up to 3\.0e-06"):
        network = pf.BeliefNetwork.layered([[[0.5]]], [[0.5], [0.500003]], linear, tolerance=1e-5)
    np.testing.assert_allclose(network.bias, [0.5, 0.5], atol=1e-15)


def test_state_against_a_certain_edge_has_probability_zero():
    network = pf.BeliefNetwork(*with_certain_edges(), "noisy_or")
    assert network.log_joint([1, 0, 0, 0, 0]) == -np.inf
    assert np.isfinite(network.log_joint([1, 0, 1, 0, 1]))
