"""`bounds`: the best known lower and upper bounds on ln P(evidence) or ln Z, and the method that gave each of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.exact.bounding_tables import bounding_tables
from plefka.exact.cost import BOUND_SECONDS, BOUNDED_SECONDS
from plefka.exact.mini_bucket_answer import BoundedRow
from plefka.exact.mini_buckets import Axes, OrderWriter
from plefka.exact.state_sum import planned_sum
from plefka.inference.conditioned import held, solve_again
from plefka.inference.library import parse_method
from plefka.methods.method import Method
from plefka.methods.posterior import CONVERGED, OUT_OF_STEPS, Posterior
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.markov import MarkovNetwork
from plefka.networks.network import Network
from plefka.reduction.question import PairModel, Part, Question
from plefka.reduction.recovery import exact_rows, posterior_of_part
from plefka.reduction.reduce import Reduction, reduce
from plefka.sampling.coupling_chains import PairTarget

LOWER = ("SJJ", "G1", "conditioned[G1,k=4]", "mixture[4]")
LIKELIHOOD, PARTITION = "log_likelihood", "log_partition"
MOST_AXES, FEW_AXES = (14, 10, 6), 4  # of mini-buckets: the first that are quick enough, and where none are
FEWEST_STEPS, MOST_STEPS, SMALL_GAIN = 50, 500, 1e-4  # of the search, which ends where a step gains few nats
WIDTHS = (18, 15, 12, 8)  # axes of tables of an exact sum with some units held
MOST_COUPLINGS, MOST_UNITS = 100_000, 2_000  # for which mini-buckets, and eigenvalues, take a few seconds
ROUNDING = 1e-9  # of bounds, at most, by which they are moved apart
Found = tuple[float, str, np.ndarray | None]  # a bound, how it was found, and means, where they are known as well


@dataclass(frozen=True)
class Bounds:
    """lower <= ln P(evidence) <= upper, or the same of ln Z.

    - `lower`, `upper`: the bounds, in nats.
    - `lower_method`, `upper_method`: how they were found: a method by its name, or in words.
    - `is_exact`: whether both are the number itself, up to rounding.
    - `of`: which number: "log_likelihood", or of a Boltzmann machine "log_partition", as the fields of `Solution`.

    **Example:**

    >>> import plefka as pf
    >>> pf.Bounds(lower=-3.6, upper=-3.5, lower_method="G1", upper_method="exact").gap < 0.2
    True
    """

    lower: float
    upper: float
    lower_method: str
    upper_method: str
    is_exact: bool = False
    of: str = LIKELIHOOD

    @property
    def gap(self) -> float:
        """The distance between the two bounds; 0 if the evidence is impossible and both are -inf."""
        return 0.0 if self.upper == self.lower else self.upper - self.lower


def bounds(network: Network, evidence: Any = None, *, of: str | None = None) -> Bounds:
    """Bound ln P(evidence) from below and from above, for a single network and a single row of evidence.

    If an exact answer takes at most about a second, both bounds are exact. Otherwise the lower bound is the best of
    `SJJ`, `G1`, `conditioned[G1,k=4]` and `mixture[4]`, as far as they apply, and of exact sums with some units held at
    one state. The upper bound is that of `findings[samples=0]` for noisy-or networks where that applies; otherwise of
    weighted mini-buckets (`minibucket`) or, if that is lower, of the largest eigenvalue of a machine's couplings.

    `of`: what is bounded of a Boltzmann machine: "log_partition", ln Z with the evidence clamped, unless given; or
    "log_likelihood", ln P(evidence), the difference of two ln Z, each of which is bounded.

    **Example:**

    >>> import plefka as pf
    >>> found = pf.bounds(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1})
    >>> print(f"{found.lower:.3f} to {found.upper:.3f}, by {found.upper_method}")
    -2.452 to -2.452, by exact
    """
    if not isinstance(network, Network):
        raise InvalidInput(f"network must be one of plefka's networks; got {type(network).__name__}.")
    of = of or (LIKELIHOOD if network.is_normalised else PARTITION)
    if of not in (LIKELIHOOD, PARTITION):
        raise InvalidInput(f"of must be {LIKELIHOOD!r} or {PARTITION!r}; got {of!r}.")
    given = as_evidence(network, evidence)
    if given.batched:
        raise InvalidInput(
            "bounds needs a single network and a single row of evidence; got a batch. Call bounds once for each row."
        )
    clamped = _of_partition(network, given, of)
    if of == PARTITION or network.is_normalised:
        return clamped
    free = _of_partition(network, as_evidence(network, None), of)
    if np.isneginf(free.upper):
        raise InvalidInput("ln P(evidence) needs a network with a state that is possible; this one has none.")
    if clamped.is_exact and free.is_exact:
        return Bounds(clamped.lower - free.lower, clamped.upper - free.upper, "exact", "exact", True, of)
    most = clamped.upper - free.lower if given.tilt is not None else min(clamped.upper - free.lower, 0.0)
    return Bounds(
        clamped.lower - free.upper, most,
        f"{clamped.lower_method}, less {free.upper_method}", f"{clamped.upper_method}, less {free.lower_method}", of=of,
    )  # fmt: skip


def _of_partition(network: Network, given: Evidence, of: str) -> Bounds:
    """Of ln Z with the evidence clamped; that of a Markov network is ln P of a belief network, but for a constant."""
    offset = 0.0 if given.offset is None else float(given.offset[0])
    if isinstance(network, MarkovNetwork):
        offset, network, given = offset + network.constant, network.carrier, network.widened(given)
    reduction = reduce(network, given._replace(batched=True))  # so that impossible evidence has a bound
    (part,) = reduction.parts
    if reduction.impossible[0]:
        return Bounds(-np.inf, -np.inf, "exact", "exact", is_exact=True, of=of)
    if planned_sum(part).seconds <= BOUNDED_SECONDS:
        found = posterior_of_part(parse_method("exact"), part, "float64")
        exact = offset + float(part.constant[0] - found.free_energy[0])
        return Bounds(exact, exact, "exact", "exact", bool(exact_rows(part, found)[0]), of)
    upper, by, means = min(_upper(network, part), key=lambda bound: bound[0])
    lower, lower_by, _ = max(_lower(network, reduction, means), key=lambda bound: bound[0])
    lower -= ROUNDING * (1 + abs(lower))
    upper += ROUNDING * (1 + abs(upper)) if np.isfinite(upper) else 0.0
    return Bounds(lower + offset, upper + offset, lower_by, by, of=of)


def _found(network: Network, part: Part, names: Iterable[str]) -> Iterator[tuple[Method, Posterior, float]]:
    for name in names:
        method = parse_method(name)
        try:
            method.check(network)
            found = method.posterior(part, dtype="float64")
        except MethodDoesNotApply:
            continue
        if found.status[0] in (CONVERGED, OUT_OF_STEPS) and np.isfinite(found.free_energy[0]):
            yield method, found, float(part.constant[0] - found.free_energy[0])


def _lower(network: Network, reduction: Reduction, means: np.ndarray | None) -> Iterator[Found]:
    """All lower bounds that apply; those with units held are in states that other means favour."""
    (part,) = reduction.parts
    best = -np.inf, "no lower bound applies", None
    for method, found, value in _found(network, part, () if reduction.deterministic_rows[0] else LOWER):
        if found.about.is_lower(method) and value > best[0]:
            best = value, str(method), found.means[:, 0]
    yield best
    if part.question.storage.num_edges <= MOST_COUPLINGS:
        scopes = bounding_tables(part.question, FEW_AXES).scopes
        yield from (_with_held_units(part, scopes, each) for each in (best[2], means) if each is not None)


def _with_held_units(part: Part, scopes: list[Axes], means: np.ndarray, widths: tuple[int, ...] = WIDTHS) -> Found:
    """The exact sum over states in which some units are as their means say: a part of the sum over all states."""

    def exact(smaller: Part) -> Posterior:
        if planned_sum(smaller).seconds > BOUNDED_SECONDS:
            raise MethodDoesNotApply
        return parse_method("exact").posterior(smaller, dtype="float64")

    for widest in widths:
        units = np.array(OrderWriter(scopes).written(widest).held, int)
        units = units[units < part.question.size][:, None]
        try:
            found = solve_again(exact, part, held(part.question, units, (means[units[:, 0]] > 0.5)[:, None] * 1.0))
        except MethodDoesNotApply:
            continue
        value = float(part.constant[0] - found.free_energy[0])
        value = value if found.status[0] == CONVERGED else -np.inf
        return value, f"an exact sum with {len(units)} units held", None
    return -np.inf, "no exact sum is quick enough", None


def _upper(network: Network, part: Part) -> Iterator[Found]:
    """All upper bounds that apply, in about `BOUND_SECONDS`."""
    question, constant = part.question, float(part.constant[0])
    yield np.inf, "no upper bound applies", None
    if isinstance(question.model, PairModel) and question.size <= MOST_UNITS:
        yield constant + _largest_eigenvalue(question), "the largest eigenvalue of the couplings", None
    for method, _, value in _found(network, part, ["findings[samples=0]"]):
        yield value, str(method), None
        return  # as tangents of findings leave less to be bounded
    if question.storage.num_edges <= MOST_COUPLINGS:
        rows = ((most, BoundedRow(question, most)) for most in MOST_AXES)
        quick = (each for each in rows if FEWEST_STEPS * each[1].seconds <= BOUND_SECONDS)
        most, row = next(quick, None) or (FEW_AXES, BoundedRow(question, FEW_AXES))
        found = row.best(int(np.clip(BOUND_SECONDS / row.seconds, 1, MOST_STEPS)), SMALL_GAIN)
        yield constant - float(found.free_energy[0]), f"minibucket[i={most}]", found.means[:, 0]


def _largest_eigenvalue(question: Question) -> float:
    """ln weight = s J s / 2 + g s + constant, with n spins s of -1 and 1: s J s <= n times the largest eigenvalue."""
    target = PairTarget(question)
    J, h = sp.csr_array(target.matrices[0]).toarray() / 4, target.h[:, 0, 0]
    g = h / 2 + J.sum(axis=1)
    highest = max(0.0, float(np.linalg.eigvalsh(J)[-1])) * len(h) / 2
    sizes = np.abs(J).sum() + np.abs(g).sum() + len(h)
    return float(J.sum() / 2 + h.sum() / 2 + highest + np.logaddexp(g, -g).sum() + ROUNDING * sizes)
