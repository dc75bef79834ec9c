"""What `most_probable` returns: states, how probable they are, and whether anything could be more probable."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import listed
from plefka.exact.state_programs import CLOSED
from plefka.inference.infer import infer
from plefka.inference.solution import Solution
from plefka.methods.posterior import EXACT, Accuracy
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.runtime import extras
from plefka.tables.display import PRINTED_ROWS, Content, ShownAnswer

if TYPE_CHECKING:
    import pandas

PROVEN = "; proven, no other state is more probable"
NOT_PROVEN = (
    "; a state with a gap is an estimate: another one may be more probable, with ln P higher by as much as that"
)
MOST_WORDS = 8  # units that are named in a row of a table


@dataclass(frozen=True, eq=False, repr=False)
class MostProbable(ShownAnswer):
    """The result of `most_probable`. `print` shows it as a table.

    - `states`: (count, n), the most probable first, in the values of the network. Observed units have their state, and
        units that were summed out have nan. There are fewer where no more states are possible, or were found in
        time, which `method` says.
    - `log_joint`: (count,), ln P(state, evidence). Of a Boltzmann machine it is ln of the weight, -E / T, which is
        not normalised: see `probability`.
    - `bound`: (count,), what `log_joint` of the truly most probable, second, ... state cannot exceed. `gap`: how far
        that is above `log_joint`.
    - `proven`: (count,), whether `gap` is at most 1e-6, so that no other state belongs here.
    - `probability`: (count,), P(state | evidence), computed with `infer` when it is first asked for, and
        `probability_accuracy`: whether it is exact, or an estimate because P(evidence) is.
    - `interval`: (count, 2), where `probability` lies, if that is known of ln P(evidence) and the state is proven.
    - `units`: the names of the hidden units whose states were chosen.
    - `method`, `notes`: how the states were found.

    Of several rows of evidence every array has a leading axis. Rows with fewer states end with states of nan, whose
    `log_joint` is -inf.

    **Example:**

    >>> import plefka as pf
    >>> found = pf.most_probable(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, units="causes", count=2)
    >>> found.on()
    ['limescale', 'stale_beans']
    >>> found.proven.tolist()
    [True, True]
    """

    states: np.ndarray
    log_joint: np.ndarray
    bound: np.ndarray
    units: tuple[str, ...]
    method: str
    notes: tuple[str, ...]
    network: Network
    evidence: Evidence

    @property
    def is_batch(self) -> bool:
        """Whether there are several rows of evidence."""
        return self.log_joint.ndim > 1

    @property
    def gap(self) -> np.ndarray:
        """How far `bound` is above `log_joint`."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(self.log_joint), 0.0, self.bound - self.log_joint)

    @property
    def proven(self) -> np.ndarray:
        return self.gap <= CLOSED

    @cached_property
    def solution(self) -> Solution:
        """ln P(evidence), by `infer` with `auto`; no means are asked for."""
        asked = self.evidence._replace(wanted=np.zeros(self.network.size, bool), batched=True)
        return infer(self.network, asked, throw=False)

    @property
    def probability(self) -> np.ndarray:
        log_partition = np.asarray(self.solution.log_partition)[:, None]
        with np.errstate(invalid="ignore"):
            found = np.exp(np.minimum(self.log_joint - log_partition, 0)).reshape(self.log_joint.shape)
        return np.where(np.isneginf(self.log_joint), 0.0, found)

    @property
    def interval(self) -> np.ndarray:
        """Where `probability` lies; nan where the state is not proven, as its `log_joint` may be an estimate."""
        ends = np.stack(self.solution.log_partition_interval[::-1], axis=-1)
        with np.errstate(invalid="ignore"):
            found = np.exp(np.minimum(self.log_joint[..., None] - ends.reshape(*self.log_joint.shape[:-1], 1, 2), 0))
        return np.where(self.proven[..., None], found, np.nan)

    @property
    def probability_accuracy(self) -> Accuracy:
        """What `probability` is: exact where P(evidence) is, in every row."""
        return Accuracy.EXACT if np.all(self.solution.codes.log_partition == EXACT) else Accuracy.ESTIMATE

    def row(self, number: int) -> "MostProbable":
        """The answer for one row of evidence of a batch."""
        there = self.log_joint[number] > -np.inf
        one = {name: getattr(self, name)[number][there] for name in ("states", "log_joint", "bound")}
        return replace(self, **one, evidence=self.evidence.take([number])._replace(batched=False))

    def on(self, place: int = 0) -> list[str]:
        """The names of the chosen units that are on in the state at a place, of a single row of evidence."""
        chosen, high = set(self.units), self.network.values[1]
        return [name for name, state in zip(self.network.names, self.states[place], strict=True)
                if state == high and name in chosen]  # fmt: skip

    def to_frame(self) -> "pandas.DataFrame":
        """A DataFrame with a row for each state: its numbers, and a column for each of the chosen units."""
        chosen = [self.network.index(name) for name in self.units]
        count = self.log_joint.shape[-1]
        places = {"place": np.tile(np.arange(1, count + 1), self.log_joint.size // max(count, 1))}
        if self.is_batch:
            places = {"row": np.repeat(np.arange(len(self.log_joint)), count), **places}
        names = ("probability", "log_joint", "bound", "proven")
        numbers = {**places, **{name: getattr(self, name).ravel() for name in names}}
        pandas = extras.pandas("a DataFrame of the most probable states")
        states = pandas.DataFrame(self.states.reshape(-1, self.network.size)[:, chosen], columns=list(self.units))
        return pandas.concat([pandas.DataFrame(numbers), states], axis=1)

    def to_dict(self) -> dict[str, Any]:
        """The answer for a single row of evidence as plain values: of every state the chosen units that are on."""
        names = ("probability", "log_joint", "bound", "proven", "interval")
        numbers = zip(*(getattr(self, name).tolist() for name in names), strict=True)
        states = [{**dict(zip(names, each, strict=True)), "on": self.on(k)} for k, each in enumerate(numbers)]
        about = {"method": self.method, "notes": list(self.notes), "accuracy": str(self.probability_accuracy)}
        return {"units": list(self.units), "states": states, **about}

    # ---- in words ----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if self.is_batch:
            return f"<MostProbable: {self.log_joint.shape[1]} states for each of {len(self.log_joint)} rows>"
        return f"<MostProbable: {len(self.log_joint)} states of {len(self.units):,} units by {self.method}>"

    def _content(self) -> Content:
        is_exact = self.probability_accuracy is Accuracy.EXACT
        what = "evidence" if self.network.is_normalised else "evidence, not normalised"
        header = ["P(state | evidence)", f"ln P(state, {what})", "gap", "state"]
        sentences = [
            f"found by {self.method}{PROVEN if self.proven.all() else NOT_PROVEN}",
            *self.notes,
            "" if is_exact else "numbers with ~ are estimates, because P(evidence) is",
        ]
        if self.is_batch:
            count = len(self.log_joint)
            rows = [(str(k), *self.row(k)._told(0)) for k in range(min(PRINTED_ROWS, count))]
            title = f"the most probable state of the hidden units, for {count:,} rows of evidence"
            return Content(title, [*filter(None, sentences)], ["row", *header], rows, count, "rows")
        shown = range(max(1, min(PRINTED_ROWS, len(self.log_joint))))
        rows = [(str(k + 1), *self._told(k)) for k in shown]
        title = f"the most probable states of {len(self.units):,} hidden unit{'' if len(self.units) == 1 else 's'}"
        return Content(title, [*filter(None, sentences)], ["", *header], rows, len(self.log_joint), "states")

    def _told(self, place: int) -> tuple[str, ...]:
        """How probable the state at a place is, and its units that are on, or that differ from the first."""
        if place >= len(self.log_joint):
            return "", "", "", "the evidence is impossible"
        mark = "" if self.probability_accuracy is Accuracy.EXACT else "~"
        gap = "proven" if self.proven[place] else f"{self.gap[place]:.3g}"
        on, given = (self.states == self.network.values[1]).astype(int), self.network.given_states
        told = {name: self.network.index(name) for name in (self.units if place else self.on())}
        words = listed(
            (f"{name} {('off', 'on')[on[place, k]]}" if given is None else f"{name}={given[k][on[place, k]]}"
             for name, k in told.items() if not place or on[0, k] != on[place, k]),
            MOST_WORDS,
        )  # fmt: skip
        words = f"as 1, but {words}" if place else f"{words}; all others off" if words else "all off"
        return f"{mark}{self.probability[place]:.6f}", f"{self.log_joint[place]:.6f}", gap, words
