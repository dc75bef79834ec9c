"""A ranking of faults: which state of a unit counts as its fault, and which units come first."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import rel_entr

import plefka as pf
from plefka.methods.posterior import ACCURACIES

COMMON = 0.3  # a fault that is so probable beforehand stands above others although nothing speaks for it
PRIOR_DECIMALS = 9  # a prior that is 1/2 to so many counts as 1/2
NO_CHANGE = 1e-5  # nats: less, such as 0.0200 to 0.0205, does not lift a unit above one that fell from 0.3 to 0


class FaultsAsked(NamedTuple):
    """What counts as the fault of a unit ("on", "rarer", or a state by name), in which order, and who is left out."""

    units: str | Sequence[str] = "causes"
    faults: str | Mapping[str, int] = "on"
    order: str = "probability"
    leave_out: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """All that were given."""
        return [name for given in (self.units, self.faults, self.leave_out) if type(given) is not str for name in given]


def fault_ranking(solution: pf.Solution, free: pf.Solution, asked: FaultsAsked, top: int) -> tuple[list, int, str]:
    """The first units of a ranking, how many are ranked, and by what: "probability" or "change".

    "auto" is judged by `free`, of the whole network without evidence: observations never turn the order over.
    """
    names, (places, free_places), states, now, before = _faults(solution, free, asked)
    order = asked.order
    if order == "auto":
        order = "change" if np.any(_faults(free, free, asked)[-1] > COMMON) else "probability"
    ends = (np.stack(each.intervals(), axis=-1)[at] for each, at in ((solution, places), (free, free_places)))
    lies, lay = (np.where(states[:, None], each, 1 - each[:, ::-1]) for each in ends)
    placed = np.argsort(-now, kind="stable") if order == "probability" else _by_change(now, before)
    entries = [
        {
            "name": names[k], "state": int(states[k]), "probability": float(now[k]),
            "accuracy": str(ACCURACIES[solution.codes.means[places[k]]]),
            "interval": lies[k].tolist(), "prior_interval": lay[k].tolist(),
            "prior": float(before[k]) if free.converged else None,
            "prior_accuracy": str(ACCURACIES[free.codes.means[free_places[k]]]) if free.converged else None,
        }
        for k in placed[:top]
    ]  # fmt: skip
    return entries, len(names), order


def _faults(solution: pf.Solution, free: pf.Solution, asked: FaultsAsked) -> tuple[Any, ...]:
    """Names of the units that are ranked, most probably on first, their indexes, faults, probabilities and priors."""
    left_out = frozenset(asked.leave_out)
    names = [name for name, _ in solution.ranking(None, units=asked.units) if name not in left_out]
    places, free_places = (np.array([each.network.index(name) for name in names], int) for each in (solution, free))
    on, free_on = solution.means[places], np.where(free.converged, free.means[free_places], np.nan)
    chosen = asked.faults if isinstance(asked.faults, Mapping) else {}
    is_on = (asked.faults == "on") | ~(np.round(free_on, PRIOR_DECIMALS) > 0.5)  # and where the prior is not known
    states = np.array([chosen.get(name, state) for name, state in zip(names, is_on, strict=True)], bool)
    return names, (places, free_places), states, np.where(states, on, 1 - on), np.where(states, free_on, 1 - free_on)


def _by_change(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """By the information p ln(p / prior) + (1 - p) ln((1 - p) / (1 - prior)): rises, falls, then what is as before.

    Neither the difference nor the ratio alone: .15 to .28 comes before .40 to .41, and .1 to .6 before 1e-6 to 1e-5.
    """
    nats = np.nan_to_num(rel_entr(now, before) + rel_entr(1 - now, 1 - before))
    nats[nats < NO_CHANGE] = 0
    return np.lexsort((-now, -nats, np.where(nats == 0, 2, now < before)))
