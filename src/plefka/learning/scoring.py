"""score(network, rows) -> Score: how probable rows are, exactly where affordable, else by importance sampling."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.infer import infer
from plefka.inference.library import parse_method
from plefka.learning import likelihood
from plefka.learning.annealed import MORE, AnnealingStart, exact_sums, frequencies, log_partitions
from plefka.learning.patterns import MISSING, Patterns, as_patterns, as_table
from plefka.mean_field.schemes import MeanField
from plefka.methods.for_learning import ForLearning
from plefka.methods.method import Method
from plefka.methods.posterior import EXACT, LOWER_BOUND, Accuracy, Status
from plefka.networks.activations import Sigmoid
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import Evidence
from plefka.progress import progress
from plefka.reduction.reduce import reduce
from plefka.runtime.precision import precision
from plefka.runtime.seeds import as_seed
from plefka.sampling.importance import Proposals, averaged, weighted_draws
from plefka.sampling.state_weights import Target
from plefka.tables.columns import IdColumns
from plefka.tables.table import NumberTable, is_table

AFFORDABLE = 2**33  # multiply-adds of the sum over all states: half a minute
SCORED_NUMBERS = 2**22  # of a chunk of rows
WIDER = 0.02  # how far the means that are sampled from move to 1/2, so that no state is left out
ROUNDS, ADAPTING = 4, 3  # before that these means follow the weights, by one part of so many of the draws each time
EXACT_SECONDS, TEMPERATURES = 30.0, 1000  # of the sum over the states of a machine, and of its annealing


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """ln P of every row.

    - `log_likelihood`, `standard_error`: exact with errors of zero, or an estimate by importance sampling; the error is
        of the mean of the weights, and too small where few samples carry them: see `effective`.
    - `accuracy`: which of the two each row has; `is_exact`: whether all rows are exact.
    - `bound`: what the log-likelihood is not below, by `method` where that is a bound, else the mean logarithm of the
        weights, a bound up to its own sampling error. None where exact.
    - `effective`: how many samples carry the estimate of each row, inf for a row that is exact; None where all are.
    - `which`: the estimate that each row has; equal rows share one.
    - `shared_error`: of a Boltzmann machine, the part of every row's error that is that of ln Z; 0 elsewhere.
    - `ids`: what the table calls its rows, {column: values}.

    A row that cannot happen has -inf.

    >>> import plefka as pf
    >>> net = pf.BeliefNetwork.layered([[[1.6, 0.3], [0.8, 1.0]]], [[0.06, 0.2], [0.02, 0.1]], "noisy_or")
    >>> score = pf.score(net, [[1, 0], [0, 0], [1, 1]])
    >>> len(score.log_likelihood), score.is_exact
    (3, True)
    """

    log_likelihood: np.ndarray
    standard_error: np.ndarray
    accuracy: np.ndarray
    bound: np.ndarray | None
    effective: np.ndarray | None
    method: Method | None
    which: np.ndarray
    ids: dict[str, list] = field(default_factory=dict)
    shared_error: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether ln P of every row is exact."""
        return bool(np.all(self.accuracy == Accuracy.EXACT))

    @property
    def mean(self) -> float:
        """ln P per row."""
        return float(self.log_likelihood.mean())

    @property
    def mean_error(self) -> float:
        """The sampling error of the mean; equal rows share one estimate, and so their errors add up."""
        own = np.sqrt(np.maximum(self.standard_error**2 - self.shared_error**2, 0.0))
        shared = np.bincount(self.which, own)
        return float(np.hypot(np.sqrt(np.sum(shared**2)) / len(self.which), self.shared_error))

    def __repr__(self) -> str:
        if self.is_exact:
            return f"<Score: {self.mean:.4f} per row, exact, {len(self.log_likelihood):,} rows>"
        bound = "" if self.bound is None else f", at least {self.bound.mean():.4f}"
        how = "annealed importance sampling" if self.method is None else "importance sampling"
        carried = 0.0 if self.effective is None else float(np.median(self.effective))
        carried = "" if np.isinf(carried) else f", {carried:,.0f} effective samples"
        return f"<Score: {self.mean:.4f} +- {self.mean_error:.4f} per row by {how}{bound}{carried}>"


def accuracies(exact: np.ndarray) -> np.ndarray:
    """What ln P of every row is."""
    return np.where(exact, Accuracy.EXACT, Accuracy.ESTIMATE).astype(object)


def score(
    network: BeliefNetwork | BoltzmannMachine,
    rows: Any,
    method: str | Method | None = None,
    *,
    seed: int | None = None,
    num_samples: int = 1000,
    exact: bool | None = None,
    id_columns: IdColumns = None,
) -> Score:
    """ln P of rows (0, 1, nan where missing) under a network.

    Of a Boltzmann machine, ln Z is summed over all states where that is affordable, and else an estimate by annealed
    importance sampling, whose error all rows share. It is seldom too high, so that ln P is seldom too low.

    **Arguments:**

    - `rows`: an array, a DataFrame, or the file of a table.
    - `method`: whose solutions are sampled from; G11 unless given. A
        machine takes none.
    - `seed`, `num_samples`: of importance sampling; a seed is needed where the sum over all states is too long.
    - `exact`: True or False to insist; None takes the sum over all states where it is affordable.
    - `id_columns`: columns of a table that name its rows, kept in `Score.ids`; recognised unless given.

    >>> import plefka as pf
    >>> net = pf.BeliefNetwork.layered([[[1.6, 0.3], [0.8, 1.0]]], [[0.06, 0.2], [0.02, 0.1]], "noisy_or")
    >>> pf.score(net, [[1, 0], [0, 0], [1, 1]])
    <Score: -... per row, exact, 3 rows>
    """
    if not isinstance(network, BeliefNetwork | BoltzmannMachine):
        raise InvalidInput(f"network must be a BeliefNetwork or a BoltzmannMachine; got {type(network).__name__}.")
    if network.stack is not None:
        raise InvalidInput("score takes one network; take them from the stack one by one.")
    table = as_table(network, rows, id_columns=id_columns) if is_table(rows) or id_columns else rows
    return score_table(network, table, method, seed, num_samples, exact=exact)


def score_table(
    network: Any, table: Any, method: str | Method | None, seed: int | None, num_samples: int,
    *, exact: bool | None = None,
) -> Score:  # fmt: skip
    """The score of an array, or of a table that was read already."""
    patterns = as_patterns(network, table)
    if network.hierarchy is not None:  # what follows from other observations of a row is not counted
        rows = network.hierarchy.most_telling(patterns.rows(), network.names)[:, patterns.units]
        patterns = replace(patterns, values=np.where(np.isnan(rows), MISSING, rows).astype(np.int8))
    if seed is not None:
        as_seed(seed)
    if not isinstance(num_samples, int | np.integer) or num_samples < 2:
        raise InvalidInput(f"num_samples must be a whole number of 2 or more; got {num_samples!r}.")
    score_rows: Any = score_patterns if isinstance(network, BeliefNetwork) else _score_machine
    found = score_rows(network, patterns, method, seed, num_samples, exact=exact)
    return replace(found, ids=table.ids if isinstance(table, NumberTable) else {})


def _reason(network: BeliefNetwork, patterns: Patterns) -> str:
    if likelihood.affordable(network, patterns, AFFORDABLE):
        return "exact=False was given"
    if network.storage.num_children()[patterns.units].any():
        return "observed units have children, and score sums over the units above observed ones only"
    return f"the 2^{len(patterns.latent)} states of the hidden units are too many to sum over"


def answering(method: str | Method | None, network: BeliefNetwork) -> Method:
    """What answers for a network that was learned by the method: itself, unless it only learns."""
    f = network.activation
    chosen = parse_method(method or ("SJJ" if isinstance(f, Sigmoid) else "G1" if f.mixes_kinds else "G12"))
    return answering(None, network) if isinstance(chosen, ForLearning) else chosen


def proposal(method: str | Method | None, network: BeliefNetwork) -> Method:
    """The method whose means states are drawn from, unless one is given that has means.

    G11 leaves the largest weights: with 32 hidden units that were learned, draws from SJJ were nats too low and those
    from G12 tenths, where its were within hundredths; with 20 causes of 100 findings those of G12 missed half a nat.
    """
    chosen = parse_method(method or ("G1" if network.activation.mixes_kinds else "G11"))
    return proposal(None, network) if isinstance(chosen, ForLearning) else chosen


def score_patterns(
    network: BeliefNetwork, patterns: Patterns, method: str | Method | None, seed: int | None, num_samples: int,
    *, exact: bool | None = None, most: int = AFFORDABLE,
) -> Score:  # fmt: skip
    """ln P of rows under a belief network: summed over its latent units in `most` steps, or by importance sampling."""
    chosen = proposal(method, network)
    if not isinstance(chosen, MeanField):  # where the sum is exact too: a slip should not depend on the data
        raise InvalidInput(f"importance sampling draws from the solution of a scheme such as G12; got {chosen}.")
    chosen.check(network)
    possible = likelihood.affordable(network, patterns, most)
    if exact is True and not possible:
        raise InvalidInput(
            f"exact=True does not apply, because {_reason(network, patterns)}. "
            "Leave exact out and pass a seed for importance sampling."
        )
    if possible and exact is not False:
        with precision("float64"):
            found = likelihood.exact(network, patterns)[patterns.which]
        sure = accuracies(np.ones(len(found), bool))
        return Score(found, np.zeros(len(found)), sure, None, None, None, patterns.which)
    if seed is None:
        raise InvalidInput(
            f"importance sampling needs a seed; add seed=0. It is used because {_reason(network, patterns)}."
        )
    return _sampled(network, patterns, chosen, as_seed(seed), num_samples)


def _sampled(network: BeliefNetwork, patterns: Patterns, method: MeanField, seed: int, num_samples: int) -> Score:
    step = max(1, SCORED_NUMBERS // network.size)
    pieces = [np.arange(first, min(first + step, len(patterns))) for first in range(0, len(patterns), step)]
    parts = [
        _sampled_chunk(network, patterns.rows(index), method, seed, number, num_samples)
        for number, index in progress(list(enumerate(pieces)), "sampling")
    ]
    joined = (np.concatenate(part)[patterns.which] for part in zip(*parts, strict=True))
    value, error, effective, bound, exact = joined
    bound, effective = (None, None) if exact.all() else (bound, effective)
    return Score(value, error, accuracies(exact), bound, effective, method, patterns.which)


def _sampled_chunk(
    network: BeliefNetwork, rows: np.ndarray, method: MeanField, seed: int, number: int, num_samples: int
) -> tuple:
    """(estimate, error, effective samples, bound, exact) of some rows; what is exact is known without sampling."""
    solution = infer(network, rows, method)
    impossible, code = solution.status == Status.IMPOSSIBLE, solution.codes.log_partition
    exact = (code == EXACT) & ~impossible
    means = np.where(impossible[:, None] | ~np.isfinite(solution.means), 0.5, solution.means)
    rng = np.random.default_rng((seed, number))
    log_weights = _log_weights(network, rows, means, rng, num_samples)
    value, error, effective = averaged(log_weights)
    own = solution.log_likelihood
    bound = np.where((code == EXACT) | (code == LOWER_BOUND), own, log_weights.mean(axis=1))
    found = ((value, own, -np.inf), (error, 0.0, 0.0), (effective, np.inf, 0.0), (bound, own, -np.inf))
    parts = (np.where(impossible, never, np.where(exact, known, part)) for part, known, never in found)
    return *parts, exact | impossible


def _log_weights(network: BeliefNetwork, rows: np.ndarray, means: np.ndarray, rng, num_samples: int) -> np.ndarray:
    """ln P(S, evidence) - ln q(S) of states S drawn from the factorial q; (rows, samples)."""
    out = np.empty((len(rows), num_samples))
    for part in reduce(network, Evidence(rows, batched=True)).parts:
        u = part.narrowed(means[part.rows].T)
        step = max(1, SCORED_NUMBERS // (part.question.size * num_samples))
        for first in range(0, len(part.rows), step):
            some = np.arange(first, min(first + step, len(part.rows)))
            target = Target(part.question.take(some))
            own = u[target.units][:, some]
            both = np.stack([own, _adapted(target, own, rng, max(2, num_samples // ADAPTING))])
            _, found = weighted_draws(target, _around(both), rng, num_samples)
            out[part.rows[some]] = found + part.constant[some, None]
    return out


def _adapted(target: Target, u: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """Means (units, rows) that have gone half way to those of weighted draws, a few times (Cappe et al. 2004)."""
    for _ in range(ROUNDS):
        S, log_weights = weighted_draws(target, _around(u[None]), rng, count)
        top = log_weights.max(axis=1, keepdims=True)
        w = np.exp(log_weights - np.where(np.isfinite(top), top, 0.0))
        total = w.sum(axis=1)
        means = np.einsum("urc,rc->ur", S, w / np.where(total > 0, total, 1.0)[:, None])
        u = np.where(total > 0, (u + means) / 2, u)
    return u


def _around(u: np.ndarray) -> Proposals:
    """An even mixture of the factorial distributions of means (components, units, rows), a little wider."""
    return Proposals.of(np.zeros(u.shape[::2]), (1 - WIDER) * u + WIDER / 2)


def _score_machine(
    machine: BoltzmannMachine, patterns: Patterns, method: Any, seed: int | None, num_runs: int, *, exact: bool | None
) -> Score:
    """ln P of rows under a Boltzmann machine: ln Z with every row clamped, less that of the free machine."""
    if method is not None:
        raise InvalidInput(f"the score of a Boltzmann machine takes no method; got {method}. Leave it out.")
    questions = np.full((1, machine.size), np.nan), patterns.rows()
    sums = [exact_sums(machine, rows, 0.0 if exact is False else EXACT_SECONDS) for rows in questions]
    sampled = any(each is None for each in sums)
    if sampled and exact is True:
        raise InvalidInput(
            "exact=True does not apply, because the states of this machine are too many to sum over. Leave exact out "
            "and pass a seed for annealed importance sampling."
        )
    if sampled and seed is None:
        raise InvalidInput(
            "annealed importance sampling needs a seed; add seed=0. It is used because the states of this machine are "
            "too many to sum over, or exact=False was given."
        )
    start, seeds = AnnealingStart(frequencies(patterns), MORE), (0 if seed is None else as_seed(seed),)
    free, clamped = (
        found or log_partitions(machine, rows, (*seeds, number), num_runs, TEMPERATURES, seconds=0.0, start=start)
        for number, (rows, found) in enumerate(zip(questions, sums, strict=True))
    )
    which, effective = patterns.which, np.minimum(clamped.effective, free.effective[0])[patterns.which]
    are_exact = np.isinf(effective)
    return Score(
        (clamped.value - free.value[0])[which], np.hypot(clamped.error, free.error[0])[which], accuracies(are_exact),
        None, None if are_exact.all() else effective, None, which, shared_error=float(free.error[0]),
    )  # fmt: skip
