"""What a method finds, row by row, before it becomes a Solution."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from plefka.methods.method import Method
    from plefka.networks.activations import AnyArray  # of JAX, without which accuracies are named


class Status(Enum):
    """How a computation ended; the value is the sentence for the user.

    >>> import plefka as pf
    >>> pf.infer(pf.example("espresso"), {"slow_flow": 1}, "exact").status is pf.Status.CONVERGED
    True
    """

    CONVERGED = "converged"
    OUT_OF_STEPS = (
        "ran out of steps before the means settled; raise max_steps or tol, as in G12[max_steps=10000], "
        "of gibbs its sweeps and temperatures, of findings k and samples, or try another method"
    )
    DIVERGED = (
        "diverged: the free energy fell below what any probability allows, as it is unbounded below here; use a first "
        "order scheme such as G12, or a bound"
    )
    NOT_FINITE = (
        "the free energy is not a finite number at the starting point; look for weights of extreme size, "
        "or use a method that does not expand the energy"
    )
    IMPOSSIBLE = (
        "the evidence is impossible: its probability is zero; correct it, give a unit that is observed on a leak, "
        "or make a certain edge less than certain"
    )
    WITHOUT_LEAK = (
        "has no finite answer, as a noisy-or unit that is on or hidden has no leak, or one below 1e-12; give it one "
        "(a positive bias), or use bethe, which needs none"
    )


STATUS_CODES = tuple(Status)  # inside a computation a status is its position in this list, from 1
RUNNING, CONVERGED, OUT_OF_STEPS, DIVERGED, NOT_FINITE, IMPOSSIBLE, WITHOUT_LEAK = range(7)


class Accuracy(StrEnum):
    """What a number is: exact up to rounding, a bound, an estimate, or the value that was observed.

    >>> import plefka as pf
    >>> solution = pf.infer(pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or"), {1: 1})
    >>> [str(each) for each in solution.accuracy]
    ['exact', 'observed']
    """

    EXACT = "exact"
    LOWER_BOUND = "lower bound"
    UPPER_BOUND = "upper bound"
    ESTIMATE = "estimate"
    OBSERVED = "observed"


ACCURACIES = tuple(Accuracy)  # inside a computation an accuracy is its position in this list
EXACT, LOWER_BOUND, UPPER_BOUND, ESTIMATE, OBSERVED = (np.uint8(code) for code in range(5))


class JointDraws(NamedTuple):
    """States of the posterior, all of the same weight, and the seed of what is drawn given them."""

    states: Any  # (draws, units, rows)
    seed: int


@dataclass(frozen=True)
class About:
    """What the posterior of a part is, beyond its numbers."""

    is_bound: bool | None = None  # whether ln P is a lower bound; None: what the method says of itself
    is_upper: bool = False  # whether it is an upper bound
    notes: tuple[str, ...] = ()  # sentences for the user: what was chosen, what was approximated
    by_field: bool = False  # whether barren units are predicted by f at the mean field
    proposals: Any = None  # (log-weights (components, rows), means (components, units, rows)) nearby, likely first
    contributions: Any = None  # (units, rows): of each unit to the second order, where they were asked for
    conditioned_on: Any = None  # the units of a single row that were conditioned on
    without_leak: Any = None  # (units, rows): the units that need a leak for the answer to be finite
    draws: JointDraws | None = None  # from which barren units are predicted
    exact_rows: Callable[[], Any] | None = None  # (rows,): where the posterior of all units together is exact
    error: Any = None  # (rows,): the standard error of ln P, where it is known
    means_error: Any = None  # (units, rows): those of the means
    degrees_of_freedom: Any = None  # of these errors, one number or (rows,), where few populations stand behind them

    def is_lower(self, method: "Method") -> bool:
        """Whether ln P is a lower bound: what the method says of itself, unless more is known."""
        return method.is_bound if self.is_bound is None else self.is_bound


class Posterior(NamedTuple):
    """What a method finds. Arrays have rows on their last axis: NumPy's outside a trace, JAX's inside one.

    A method of one's own makes one by `Posterior.of`. The `posterior` of a method returns means of (units, rows), and
    its `answer` means of (rows, units).

    >>> import numpy as np
    >>> import plefka as pf
    >>> found = pf.Posterior.of(means=np.array([[0.3], [1.0]]), log_partition=np.array([-1.5]), steps=7)
    >>> found.converged, found.free_energy
    (array([ True]), array([1.5]))
    """

    means: "AnyArray"  # (units, rows)
    free_energy: "AnyArray"
    status: "AnyArray"  # positions in STATUS_CODES, from 1
    num_steps: "AnyArray"
    num_cycles: "AnyArray"
    residual: "AnyArray"
    slope: "AnyArray | None" = None  # (units, rows): d ln P / dh, where it was asked for
    about: About = About()

    @classmethod
    def of(
        cls,
        means: "AnyArray",
        log_partition: "AnyArray",
        *,
        converged: "bool | AnyArray" = True,
        steps: "int | AnyArray" = 0,
        residual: "float | AnyArray" = 0.0,
        slope: "AnyArray | None" = None,
        is_exact: "bool | AnyArray" = False,
        is_bound: bool | None = None,
        is_upper: bool = False,
        notes: tuple[str, ...] = (),
    ) -> "Posterior":
        """What a method of one's own found; an estimate, unless it says more.

        **Arguments:**

        - `means`: the probability of each unit to be on.
        - `log_partition`: ln P(evidence) of every row, (rows,); of what a part leaves, in `posterior`; without the
            offset of soft evidence, which is added to it, in `answer`.
        - `converged`: whether each row is an answer. Where it is not, its status is `OUT_OF_STEPS`.
        - `steps`, `residual`: how long it took, and by how much a mean may still move.
        - `slope`: d ln P / dh, (units, rows), which a part with `needs_slope` asks for: it leads back to units that
            were summed out.
        - `is_exact`: where nothing was approximated, so that ln P and the means of a row are exact.
        - `is_bound`: whether `log_partition` is a lower bound; the method's own `is_bound` unless given.
        - `is_upper`: whether it is an upper bound.
        - `notes`: sentences for the user.

        >>> import numpy as np
        >>> import plefka as pf
        >>> bool(pf.Posterior.of(np.array([[0.5]]), np.array([0.0]), converged=np.array([False])).converged[0])
        False
        """
        from plefka.networks.activations import namespace  # of JAX

        xp = namespace(log_partition)
        rows = xp.zeros(log_partition.shape, int)
        status = xp.where(xp.asarray(converged), CONVERGED, OUT_OF_STEPS) + rows
        exact = None if is_exact is False else lambda: xp.asarray(is_exact) | (rows > 0)
        about = About(is_bound=is_bound, is_upper=is_upper, notes=notes, exact_rows=exact)
        return cls(means, -log_partition, status, steps + rows, rows, residual + 0.0 * rows, slope, about)

    @property
    def converged(self) -> "AnyArray":
        """Where a row has an answer."""
        return self.status == CONVERGED

    def with_rows(self, rows: np.ndarray, other: "Posterior") -> "Posterior":
        """With what `other` says of these rows, but for its slope."""
        changed = {name: np.array(getattr(self, name)) for name in NUMBERS}
        for name, array in changed.items():
            array[..., rows] = getattr(other, name)
        return self._replace(**changed)

    @staticmethod
    def join(pieces: "Sequence[Posterior]", about: About) -> "Posterior":
        """The rows of all of them one after another."""
        columns = [[getattr(piece, name) for piece in pieces] for name in (*NUMBERS, "slope")]
        arrays = (None if column[0] is None else np.concatenate(column, axis=-1) for column in columns)
        return Posterior(*arrays, about=about)  # pyright: ignore[reportArgumentType]


NUMBERS = ("means", "free_energy", "status", "num_steps", "num_cycles", "residual")  # of every row


def accuracy_of_rows(count: int, *, is_exact: Any = False, is_lower: Any = False, is_upper: Any = False) -> np.ndarray:
    """What ln P is, (rows,)."""
    bound = np.where(is_lower, LOWER_BOUND, np.where(is_upper, UPPER_BOUND, ESTIMATE))
    return np.broadcast_to(np.where(is_exact, EXACT, bound), count).astype(np.uint8)


def normalised(log_weights: np.ndarray, axis: int) -> np.ndarray:
    """Weights that add up to one; equal ones where no component has any."""
    lost = np.isneginf(log_weights).all(axis, keepdims=True)
    log_weights = np.where(lost, 0.0, log_weights)
    weights = np.exp(log_weights - log_weights.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


# ---- rows of evidence ------------------------------------------------------------------------------------------------


class ProposedComponents(NamedTuple):
    """A mixture of factorial distributions near the posterior of some rows, or states that were drawn from it."""

    rows: np.ndarray
    units: np.ndarray  # of the network, which the means are of: (units,), or (units, rows); -1: none
    log_weights: np.ndarray  # (components, rows)
    means: np.ndarray  # (components, units, rows)


def proposals_of(proposals: "Sequence[ProposedComponents]", rows: Sequence[int]) -> "tuple[ProposedComponents, ...]":
    """Those of some rows, numbered in this order."""
    number, found = {row: k for k, row in enumerate(rows)}, []
    for old, units, log_weights, means in proposals:
        at = np.array([k for k, row in enumerate(old.tolist()) if row in number], int)
        if len(at):
            new = np.array([number[row] for row in old[at].tolist()], int)
            units = units if units.ndim == 1 else units[:, at]
            found.append(ProposedComponents(new, units, log_weights[:, at], means[:, :, at]))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class RowAnswers:
    """What was found for rows of evidence; arrays are (rows,) or (rows, units), in the order of the rows.

    A field that is None is known of no row.
    """

    means: Any
    free_energy: Any
    status: Any  # positions in STATUS_CODES, from 1
    num_steps: Any
    num_cycles: Any
    residual: Any
    accuracy: Any  # (rows,): what ln P is, as positions in ACCURACIES
    means_accuracy: Any  # (rows, units): what the means are; of units that were observed it does not matter
    error: Any = None  # (rows,): the standard error of ln P; nan where it is not known
    means_error: Any = None  # (rows, units): those of the means
    degrees_of_freedom: Any = None  # (rows,): of these errors; nan where they are many
    predicted: Any = None  # (rows, units): hidden units whose parents were taken to be independent of each other
    knows_parents: Any = None  # (rows,): where those parents have an exact posterior
    methods: Any = None  # (rows,): the method that answered each, where they were chosen
    notes: tuple[str, ...] = ()  # sentences for the user
    proposals: tuple[ProposedComponents, ...] = ()

    @classmethod
    def of(cls, found: Posterior, method: "Method") -> "RowAnswers":
        """What a method found by itself, (rows, units): an estimate or a bound, unless it says that it is exact."""
        about, count = found.about, len(found.status)
        exact = np.zeros(count, bool) if about.exact_rows is None else np.asarray(about.exact_rows())
        means = np.where(exact[:, None], EXACT, ESTIMATE) + np.zeros(found.means.shape, np.uint8)
        accuracy = accuracy_of_rows(count, is_exact=exact, is_lower=about.is_lower(method), is_upper=about.is_upper)
        numbers = {name: getattr(found, name) for name in NUMBERS}
        freedom = about.degrees_of_freedom
        return cls(
            **numbers, accuracy=accuracy, means_accuracy=means, error=about.error, means_error=about.means_error,
            degrees_of_freedom=None if freedom is None else freedom + np.zeros(count), notes=about.notes,
        )  # fmt: skip

    def take(self, rows: np.ndarray) -> "RowAnswers":
        """Some of the rows."""
        some = {name: None if (z := getattr(self, name)) is None else z[rows] for name in _BY_ROW}
        return replace(self, **some, proposals=proposals_of(self.proposals, rows.tolist()))

    @staticmethod
    def join(pieces: "Sequence[RowAnswers]", order: np.ndarray | None = None) -> "RowAnswers":
        """The rows of all of them one after another, or in this order."""
        if len(pieces) == 1 and order is None:
            return pieces[0]
        whole = {}
        for name in _BY_ROW:
            some = [getattr(piece, name) for piece in pieces]
            if name in _ERRORS and any(z is not None for z in some):
                alike = (np.full(np.shape(getattr(piece, _ERRORS[name])), np.nan) for piece in pieces)
                some = [unknown if z is None else z for z, unknown in zip(some, alike, strict=True)]
            whole[name] = None if any(z is None for z in some) else np.concatenate(some)
        starts = np.cumsum([0, *(len(piece.status) for piece in pieces)])
        proposals = tuple(
            each._replace(rows=first + each.rows) for first, piece in zip(starts, pieces) for each in piece.proposals
        )
        notes = tuple(dict.fromkeys(note for piece in pieces for note in piece.notes))
        joined = RowAnswers(**whole, notes=notes, proposals=proposals)
        return joined if order is None else joined.take(order)

    def with_predicted(self, predicted: np.ndarray) -> "RowAnswers":
        """With other units that were predicted as if their parents were independent: all else of exact rows is."""
        exact = (self.accuracy == EXACT)[:, None]
        means = np.where(exact, np.where(predicted, ESTIMATE, EXACT), self.means_accuracy)
        return replace(self, predicted=predicted, means_accuracy=means)


_BY_ROW = tuple(each.name for each in fields(RowAnswers) if each.name not in ("notes", "proposals"))
_ERRORS = {"error": "free_energy", "means_error": "means", "degrees_of_freedom": "free_energy"}  # nan in such a shape
