"""The states that the chains of gibbs visit, as they are drawn: (chain, draw, unit), the layout of ArviZ."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.errors import InvalidInput, nearest
from plefka.reduction.reduce import reduce
from plefka.runtime.extras import arviz_base
from plefka.sampling.gibbs import visited
from plefka.sampling.sampling_methods import Gibbs

MOST_BYTES = 2**28  # of all states


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """States drawn from the posterior; `states` is (chain, draw, unit) of 0 and 1, one byte each.

    `draws["flu"]` is (chain, draw) of one unit, as the functions of ArviZ take it. Consecutive draws of a chain depend
    on each other: judge them by effective sample sizes, not by their number.

    >>> import plefka as pf
    >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.5], "noisy_or", ["flu", "fever"])
    >>> draws = pf.infer(net, {"fever": 1}, "gibbs[seed=0]").draws(most=50)
    >>> draws
    <Draws: 8 chains of 50 draws of 2 units>
    >>> int(draws["fever"].min())
    1
    """

    states: np.ndarray
    names: tuple[str, ...]
    thinning: int

    def __getitem__(self, unit: str) -> np.ndarray:
        if unit not in self.names:
            raise InvalidInput(f"there is no unit {unit!r} in these draws." + nearest(str(unit), self.names))
        return self.states[:, :, self.names.index(unit)]

    def to_arviz(self) -> Any:
        """An ArviZ DataTree: the group `posterior` has the variable `state` with the dimensions chain, draw and unit.

        Needs the package arviz-base, of the extra `sampling`.
        """
        attributes = {"inference_library": "plefka", "thinning": self.thinning}
        return arviz_base().from_dict(
            {"posterior": {"state": self.states}},
            coords={"unit": list(self.names)}, dims={"state": ["unit"]}, attrs={"posterior": attributes},
        )  # fmt: skip

    def __repr__(self) -> str:
        chains, count, size = self.states.shape
        return f"<Draws: {chains} chains of {count:,} draws of {size:,} units>"


def draws(solution: Any, most: int) -> Draws:
    """See `Solution.draws`."""
    method = solution.method
    if not isinstance(method, Gibbs):
        raise InvalidInput(f"draws are those of gibbs; got a solution by {method}. Use method='gibbs[seed=0]'.")
    if solution.is_batch:
        raise InvalidInput("draws are for one row of evidence; got a batch. Infer one of its rows alone.")
    if not isinstance(most, int | np.integer) or isinstance(most, bool) or most < 1:
        raise InvalidInput(f"most must be a whole number of draws from 1 on; got {most!r}.")
    size = method.chains * solution.network.size
    if most * size > MOST_BYTES:
        raise InvalidInput(
            f"draws must fit into {MOST_BYTES // 2**20} MB, a byte for each unit of each state; got most={most:,} of "
            f"{method.chains} chains of {solution.network.size:,} units. "
            f"Pass most={max(1, MOST_BYTES // size):,} or less."
        )
    reduction = reduce(solution.network, solution.evidence._replace(batched=True), prune=False)
    (part,) = reduction.parts
    thinning = -(-method.sweeps // most)
    states = visited(method, part.question, thinning)  # (draws, units, 1, chains)
    whole = [reduction.restored(part, state[:, 0], None)[0] for state in states]  # each (units, chains)
    return Draws(np.stack(whole).astype(np.int8).transpose(2, 0, 1), solution.names, thinning)


def over_chains(averages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The average of all chains from that of each (chains, ...), and its standard error, by how they differ."""
    error = averages.std(axis=0, ddof=1) if len(averages) > 1 else np.full(averages.shape[1:], np.nan)
    return averages.mean(axis=0), error / np.sqrt(len(averages))
