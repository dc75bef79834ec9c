"""Pairs of units given the evidence: their covariances, and the four probabilities of each pair.

    exact, findings, mixture, others    rows in which one unit after another is observed as well
    free energies, bethe                linear response, how the means follow the log-odds of units
    conditioned                         the covariances of its states, and of the means of its states
    gibbs                               the states of its chains

`auto` has those of the method that it chose for the row.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plefka.errors import InvalidInput, listed
from plefka.exact.exact_answer import in_blocks
from plefka.exact.exact_method import Exact
from plefka.inference.composite_methods import Conditioned
from plefka.inference.conditioned import NEGLIGIBLE, choose
from plefka.inference.further_rows import answered_rows, relevant_part
from plefka.inference.linear_response import responses
from plefka.mean_field.schemes import MeanField
from plefka.messages.message_methods import Bethe
from plefka.methods.method import Method
from plefka.methods.posterior import EXACT, OBSERVED, Accuracy, Status, normalised
from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import bits
from plefka.networks.index_arrays import mask_of
from plefka.networks.network import Network
from plefka.progress import progress
from plefka.reduction.reduce import reduce
from plefka.runtime.late_binding import INFER, supplied
from plefka.runtime.precision import is_traced
from plefka.sampling.chain_draws import over_chains
from plefka.sampling.sampling_methods import Gibbs

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

MOST_NUMBERS = 2**26  # of all covariances, half a GiB
MOST_SECONDS = 600.0  # that exact rows may take together
HOW = {
    "rows": "from rows in which one unit after another is observed as well",
    "response": "by linear response: how the means follow the log-odds of units",
    "states": "from the states that were conditioned on, and the response of the inner method in each",
    "draws": "from the draws of its chains",
}


@dataclass(frozen=True, eq=False, repr=False)
class PairPosteriors:
    """How units vary together given the evidence; of a batch, every array has one more axis in front.

    - `units`: their names; `means`: (k,), P(on | evidence) of each.
    - `covariance`: (k, k), cov(S_i, S_j | evidence), with units counting as 0 and 1; zero for observed units.
    - `accuracy`: whether all of it is exact, or an estimate; `how`: where it comes from.
    - `standard_error`: (k, k), of covariances from draws; otherwise None.

    `pairs["a", "b"]` is the table (2, 2) of P(a, b | evidence): `[1, 0]` is a on and b off. Tables of linear response
    may have entries slightly below 0; `pf.joint` has none.

    >>> import plefka as pf
    >>> pairs = pf.infer(pf.example("espresso"), {"slow_flow": 1}).pairs(["limescale", "clogged_screen"])
    >>> pairs
    <PairPosteriors of limescale, clogged_screen by auto: exact>
    >>> bool(pairs.covariance[0, 1] < 0)  # they explain each other away
    True
    """

    units: tuple[str, ...]
    means: np.ndarray
    covariance: np.ndarray
    accuracy: Accuracy
    how: str
    standard_error: np.ndarray | None
    method: str

    def __getitem__(self, pair: tuple[str, str]) -> np.ndarray:
        for name in pair:
            if name not in self.units:
                raise InvalidInput(f"{name!r} is not among the units of these pairs: {listed(self.units)}.")
        i, j = (self.units.index(name) for name in pair)
        a, b = self.means[..., i], self.means[..., j]
        both = a * b + self.covariance[..., i, j]
        table = np.stack([np.stack([1 - a - b + both, b - both], -1), np.stack([a - both, both], -1)], -2)
        return np.maximum(table, 0.0) if self.accuracy is Accuracy.EXACT else table  # below 0 by rounding alone

    def __repr__(self) -> str:
        return f"<PairPosteriors of {listed(self.units)} by {self.method}: {self.accuracy}>"


def pair_posteriors(solution: "Solution", units: Any) -> PairPosteriors:
    """See `Solution.pairs`."""
    network = solution.network
    if is_traced(network, solution.evidence):
        raise InvalidInput("covariances are computed outside a trace of JAX; got a solution inside one.")
    places = np.arange(network.size) if units is None else named_units(network, units)
    shape = (*((solution.num_rows,) if solution.is_batch else ()), len(places), len(places))
    if (numbers := np.prod(shape, dtype=float)) > MOST_NUMBERS:
        raise InvalidInput(
            f"covariances are limited to {MOST_NUMBERS:,} numbers; {solution.num_rows:,} rows of {len(places):,} units "
            f"would need {numbers:,.0f}, or {numbers / 2**27:.1f} GiB. Pass units=[...] with fewer units, take fewer "
            "rows, or use covariance_product(vector)."
        )
    rows = [solution.row(row) for row in range(solution.num_rows)]
    found = [_covariances(row, places) for row in (progress(rows, "covariances") if len(rows) > 1 else rows)]
    errors = [each.error for each in found if each.error is not None]
    return PairPosteriors(
        tuple(map(network.names.__getitem__, places)), np.reshape([each.means for each in found], shape[:-1]),
        np.reshape([each.covariance for each in found], shape),
        Accuracy.EXACT if all(each.is_exact for each in found) else Accuracy.ESTIMATE,
        "; ".join(dict.fromkeys(HOW[each.how] for each in found)),
        np.reshape(errors, shape) if len(errors) == len(found) else None, str(solution.method),
    )  # fmt: skip


def covariance_product(solution: "Solution", z: np.ndarray) -> np.ndarray:
    """See `Solution.covariance_product`."""
    if z.shape != (len(solution.names),):
        raise InvalidInput(f"vector must have one number for each unit, ({len(solution.names)},); got {z.shape}.")
    if solution.is_batch:
        raise InvalidInput("covariance_product is for a single row of evidence; take solution.row(number).")
    if isinstance(solution.methods[0], MeanField | Bethe):
        return responses(solution, z[None])[0]
    return pair_posteriors(solution, None).covariance @ z


def named_units(network: Network, units: Any) -> np.ndarray:
    """The places of units that are given by name or index, each once."""
    if isinstance(units, str | int | np.integer):
        units = [units]
    if not isinstance(units, Iterable):
        raise InvalidInput(f"units must be names or indices of units, in a list; got {units!r}.")
    places = np.array([network.index(unit) for unit in units], int)
    if not len(places):
        raise InvalidInput("units must name at least one unit; got none.")
    if len(set(places.tolist())) < len(places):
        twice = next(network.names[unit] for unit in places if (places == unit).sum() > 1)
        raise InvalidInput(f"units must be distinct; got {twice!r} twice.")
    return places


class _Covariances(NamedTuple):
    """Of some units of one row, (units, units)."""

    means: np.ndarray
    covariance: np.ndarray
    how: str
    is_exact: bool = False
    error: np.ndarray | None = None


def _covariances(solution: "Solution", places: np.ndarray) -> _Covariances:
    """Of one row, by the method that answered it."""
    (method,) = solution.methods
    if solution.status is not Status.CONVERGED:
        return _Covariances(solution.means[places], np.full((len(places),) * 2, np.nan), "rows")
    network, evidence, units = relevant_part(solution.network, solution.evidence, method, places)
    if network is not solution.network:
        solution = replace(
            solution, network=network, names=network.names, means=solution.means[units], evidence=evidence,
            observed=solution.observed[units], codes=solution.codes._replace(means=solution.codes.means[units]),
        )  # fmt: skip
        places = np.searchsorted(units, places)
    if solution.codes.log_partition == EXACT and _are_affordable(solution, method, places):
        return _of_rows(solution, Exact("exact"), places)
    if isinstance(method, MeanField | Bethe):
        directions = np.zeros((len(places), solution.network.size))
        directions[np.arange(len(places)), places] = 1.0
        C = responses(solution, directions)[:, places]
        return _Covariances(solution.means[places], (C + C.T) / 2, "response")
    if isinstance(method, Gibbs):
        return _of_draws(solution, places)
    if isinstance(method, Conditioned):
        return _of_states(solution, method, places)
    return _of_rows(solution, method, places)


def _of_draws(solution: "Solution", places: np.ndarray) -> _Covariances:
    """Products of how far each chain is from the mean of all, chain by chain."""
    states = solution.draws().states[:, :, places].astype(float)
    away = states - states.mean(axis=(0, 1))
    covariance, error = over_chains(np.einsum("cdi,cdj->cij", away, away) / states.shape[1])
    return _Covariances(states.mean(axis=(0, 1)), covariance, "draws", error=error)


def _are_affordable(solution: "Solution", method: Method, places: np.ndarray) -> bool:
    """Whether exact rows are, before they are begun; where exact inference was asked for, they must be."""
    given, count = solution.evidence._replace(batched=True), int((~solution.observed[places]).sum())
    blocks = in_blocks(Exact("exact"), solution.network, given, prune=solution.prune)
    seconds = count * sum(float(block.question.row_seconds.sum()) for block in blocks)
    if seconds > MOST_SECONDS and isinstance(method, Exact):
        raise InvalidInput(
            f"exact covariances of {count:,} units would take up to {seconds:,.0f} s, and {MOST_SECONDS:.0f} is the "
            "most. Pass units=[...] with fewer units, or infer with bethe."
        )
    return seconds <= MOST_SECONDS


def _of_rows(solution: "Solution", method: Method, places: np.ndarray) -> _Covariances:
    """P(i on | j on) for every j; by methods that are not exact, beside P(i on | j off), as these may contradict."""
    network, one_sided = solution.network, isinstance(method, Exact)
    hidden = np.flatnonzero(~solution.observed[places])
    states = np.full((1 + len(hidden) * (1 if one_sided else 2), len(places)), np.nan)  # the first is the evidence
    states[np.arange(1, len(states)), np.resize(hidden, len(states) - 1)] = 1.0
    states[1 + len(hidden) :] -= 1.0
    means, is_exact, wanted = np.zeros(states.shape), True, mask_of(places, network.size)
    given = solution.evidence
    if network.is_normalised:
        given = given._replace(wanted=EdgeList.of(network.storage).graph.with_ancestors(wanted))
    source = np.zeros(len(states), int)
    for some, found in answered_rows(network, given, method, source, places, states, prune=solution.prune):
        impossible = (found.status == Status.IMPOSSIBLE)[:, None]
        usable = np.where(found.converged[:, None], found.means[:, places], np.nan)
        means[some] = np.where(impossible, solution.means[places], usable)
        codes = found.codes.means[:, places]
        is_exact &= bool(np.all(impossible | (codes == EXACT) | (codes == OBSERVED)))
    u, on, off = means[0], means[1 : 1 + len(hidden)], means[1 + len(hidden) :]
    v, C = (u * (1 - u))[hidden], np.zeros((len(places),) * 2)
    C[hidden] = u[hidden, None] * (on - u) if one_sided else v[:, None] * (on - off)
    C[hidden, hidden] = v
    C[:, solution.observed[places]] = 0.0
    return _Covariances(u, (C + C.T) / 2, "rows", is_exact)


def _of_states(solution: "Solution", method: Conditioned, places: np.ndarray) -> _Covariances:
    """The law of total covariance over the states of the units that were conditioned on."""
    kept = method.units_to_keep(solution.network)
    (part,) = reduce(solution.network, solution.evidence, prune=solution.prune, kept=kept).parts
    chosen = part.units.reshape(len(part.units), -1)[choose(method, part, "float64")[:, 0], 0]
    states = bits(np.arange(2 ** len(chosen)), np.arange(len(chosen))).T.astype(float)
    given = solution.evidence.take(np.zeros(len(states), int))._replace(batched=True)
    given.rows[:, chosen] = states
    inner = supplied(INFER)(solution.network, given, method.inner, prune=solution.prune, throw=False)
    weight = normalised(np.where(inner.status == Status.IMPOSSIBLE, -np.inf, inner.log_partition), axis=0)
    matters = np.flatnonzero(weight > NEGLIGIBLE)
    found = [_covariances(inner.row(int(row)), places) for row in matters]
    w, means = weight[matters], np.array([each.means for each in found])
    away = means - w @ means
    within = np.einsum("c,cij->ij", w, [each.covariance for each in found])
    return _Covariances(w @ means, within + (w[:, None] * away).T @ away, "states")
