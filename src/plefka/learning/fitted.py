"""What `fit` returns: the network that was learned, how it went, and why it stopped."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from jaxtyping import PyTree

from plefka.errors import InvalidInput
from plefka.inference.solution import LIKELIHOOD_ROUNDING
from plefka.inference.solution_words import SENTENCES
from plefka.methods.posterior import Accuracy
from plefka.tables.display import Content, page

if TYPE_CHECKING:
    from plefka.methods.method import Method
    from plefka.networks.network import Network

N = TypeVar("N", bound="Network")


class Stopped(Enum):
    """Why learning ended; the value is the sentence for the user.

    >>> import plefka as pf
    >>> pf.Stopped.EPOCHS.value
    'all epochs are done'
    """

    EPOCHS = "all epochs are done"
    VALIDATION = "the validation rows stopped improving; the network is the best seen on them"
    SETTLED = "the numbers no longer change"
    CALLBACK = "the callback stopped it"
    INTERRUPTED = "it was interrupted; the network is what had been learned so far"
    NOT_FINITE = (
        "no row could be solved, or parameters became infinite or nan; the network is the last usable one; "
        "use a smaller step, as in optimizer=optax.adam(0.01), or a first order method such as G12"
    )


ABOVE_ZERO = (
    "ln P per row is above 0, which no probability allows: the estimate is wrong there, and learning exploits it; "
    "use a bound (SJJ) or a first order method such as G12"
)
UNSOLVED = (
    "most rows could not be solved in the last epoch; use a first order method such as G12, or a smaller step, "
    "as in optimizer=optax.adam(0.01)"
)
SETTLED_SHARE = 0.99  # of the rows
UNCONVERGED = (
    "of more than 1 % of the rows the means have not converged in the last epoch, see history['converged']; allow more "
    "evaluations, as in {}[max_steps=1000], or use a smaller step, as in optimizer=optax.adam(0.01)"
)
IMPOSSIBLE = (
    "some rows are impossible in the network (ln P is -inf): a leak, prior or weight of 0 stays 0, and an infinite one "
    "infinite. Start these from small or large numbers to learn them"
)
FAILED = (
    "learning diverged: parameters became infinite or nan and the last usable ones were kept, or ln P ended below its "
    "beginning and below fair coin flips; use a smaller step"
)
HISTORY_COLUMNS = (
    "epoch", "objective", "log_likelihood", "validation", "validation_error", "solved", "converged", "seconds",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(Generic[N]):
    """What `fit` learned, and how it went.

    - `network`: the network with the learned parameters.
    - `history`: arrays with an entry for each epoch (of a stack, a row with an entry for each network):
        `epoch`; `objective`, the method's estimate of ln P per row as it was during the epoch (of pseudolikelihood, the
        sum of ln P of each unit given all others; of persistent, an estimate with ln Z by annealed importance sampling,
        renewed now and then); `log_likelihood`, the
        exact one after it, nan where that costs too much; `validation` and `validation_error`, ln P per validation row
        as `score` has it: exact (with error 0) where that is affordable, else by importance sampling, or with ln Z by
        annealing, with its standard error, and nan after epochs in which it was left out, as scores are a fifth of
        the work at most; `solved`, the fraction of
        rows that could be learned from, as their free energy is that of some probability; `converged`, the fraction
        whose means reached `tol` within the evaluations that a solve has; `seconds` since the start.
    - `stopped`: why it ended. `warnings`: reasons to doubt the network although learning came to its end.
    - `optimizer_state`: what the optimiser remembers after the last epoch. With validation rows the network may be that
        of an earlier epoch, and the two do not belong together. To go on with a run use a checkpoint.
    - `accuracy`: what the objective is as ln P of the rows: exact, a lower bound or an estimate.
    - `doubts`: what ln P of the rows says against the objective, or of an end below the beginning; part of `warnings`.
    - `failed`: True for a network that diverged: it was left at its last usable parameters, or ended below both its
        beginning and fair coin flips; of a stack, one for each network.

    >>> import plefka as pf
    >>> rows = [[1, 1, 0, 0], [0, 0, 1, 1]] * 10
    >>> fitted = pf.fit(pf.ensembles.to_learn((1, 2, 4), rows, seed=0), rows, "G12", epochs=2, seed=0)
    >>> fitted.epochs, fitted.stopped.value
    (2, 'all epochs are done')
    """

    network: N
    history: dict[str, np.ndarray]
    stopped: Stopped
    method: "Method"
    optimizer_state: PyTree
    failed: bool | np.ndarray = False
    doubts: tuple[str, ...] = ()
    accuracy: Accuracy = Accuracy.ESTIMATE
    _records: Any = None  # of a fit with prior
    _memory: Any = None  # what later steps need of earlier ones: a fit whose optimiser has it as `memory` goes on

    def update(self, rows: Any, weights: Any = None) -> "Fitted":
        """What one fit with `prior` on all rows so far and these would give, in whatever order they came.

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork.diagnosis({"cause": ["flu"], "prior": [0.1]}, {"finding": [], "cause": [], "p": []})
        >>> fitted = pf.fit(net, [[1], [0]], prior=10).update([[1]])
        >>> print(fitted.intervals().round(3).loc[0, ["probability", "low", "high", "count"]].tolist())
        [0.231, 0.055, 0.484, 13.0]
        """
        return self._counted("update").with_rows(rows, weights).fitted()

    def intervals(self, level: float = 0.95) -> Any:
        """A DataFrame of all numbers of a fit with `prior`, with intervals that contain them at a level.

        `kind`: "Beta counts", quantiles where rows show the number alone (with half a case on and off if it was worth
        none); "Laplace", from the second derivatives at the mode; or "fixed". `count`: the cases it is now worth.
        """
        return self._counted("intervals").intervals(level)

    def save(self, path: Any) -> None:
        """Write the network to a .json file with its records: `fit(network, rows, prior=path)` goes on from them."""
        self._counted("save").save(self.network, path)

    def _counted(self, verb: str) -> Any:
        if self._records is None:
            raise InvalidInput(f"{verb} needs the records of a fit with prior, as in fit(network, rows, prior=10).")
        return self._records

    @property
    def epochs(self) -> int:
        """How many epochs were done."""
        return len(self.history["epoch"])

    @property
    def kind_of_objective(self) -> str:
        """What the objective is, in words: of a machine it is a difference of two ln Z, which is no bound."""
        return SENTENCES[self.accuracy]

    @property
    def warnings(self) -> list[str]:
        """Sentences, none where all is well."""
        if not self.epochs:
            return []
        last = {name: column[-1] for name, column in self.history.items()}
        kept = np.fmax.reduce(self.history["validation"], axis=0)
        unsolved = last["solved"] < 0.5
        found = {
            ABOVE_ZERO: (last["objective"] > LIKELIHOOD_ROUNDING) | (kept > LIKELIHOOD_ROUNDING),
            UNSOLVED: unsolved,
            UNCONVERGED.format(self.method.name): (last["converged"] < SETTLED_SHARE) & ~unsolved,
            IMPOSSIBLE: last["log_likelihood"] == -np.inf,
            FAILED: np.asarray(self.failed),
        }
        sentences = (counted(sentence, np.atleast_1d(doubt)) for sentence, doubt in found.items() if np.any(doubt))
        return [*sentences, *self.doubts]

    def __repr__(self) -> str:
        if not self.epochs:
            return f"<Fitted by {self.method}: no epoch done, {self.stopped.name.lower()}>"
        last = np.fmax.reduce(np.atleast_1d(self.history["objective"][-1]))
        kind = "best objective" if self.network.stack is not None else "objective"
        return (
            f"<Fitted by {self.method}: {self.epochs} epochs, {kind} {last:.4f} per row, {self.stopped.name.lower()}>"
        )

    def _repr_html_(self) -> str:
        """A table for notebooks: how learning ended, and some of its epochs."""
        about = [self.stopped.value, repr(self.network).strip("<>"), *(f"warning: {w}" for w in self.warnings)]
        shown = np.unique(np.linspace(0, self.epochs - 1, min(self.epochs, 10)).round().astype(int))
        names = ("epoch", "objective", "log_likelihood", "validation", "seconds")
        known = [name for name in names if name in self.history and np.isfinite(self.history[name]).any()]
        rows = [tuple(_epoch_text(name, self.history[name][k]) for name in known) for k in shown]
        header = [{"log_likelihood": "exact ln P"}.get(name, name) for name in known]
        return page(Content(f"Fitted by {self.method}: {self.epochs:,} epochs", about, header, rows, len(rows)))


def counted(sentence: str, doubtful: np.ndarray) -> str:
    """The sentence, of a stack with the number of networks that it is about."""
    return sentence if len(doubtful) == 1 else f"{np.count_nonzero(doubtful)} of {len(doubtful)} networks: {sentence}"


def _epoch_text(name: str, value: np.ndarray) -> str:
    best = float(np.fmax.reduce(np.atleast_1d(value)))
    return f"{best:.0f}" if name == "epoch" else f"{best:.1f}" if name == "seconds" else f"{best:.4f}"
