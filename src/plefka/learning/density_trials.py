"""The trials of a search for a density: independent columns, machines of coupled columns, and what `fit` learns.

Couplings between columns come from the penalty path, hidden units are added by the pseudo-likelihood, in which they
are summed out, and the best machine is polished by maximum likelihood. Whatever was tried is scored by ln P of held
rows, exact or with ln Z by annealing.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from plefka.ensembles import machine_to_learn, to_learn
from plefka.inference.library import parse_method
from plefka.learning.annealed import frequencies
from plefka.learning.fitted import HISTORY_COLUMNS, Fitted, Stopped
from plefka.learning.fitting import fit
from plefka.learning.held_scores import HeldRows, HeldScore
from plefka.learning.patterns import Patterns
from plefka.learning.penalty_path import penalty_path, sparing, strongest
from plefka.learning.semi_restricted import (
    BATCH,
    Climb,
    CompleteRows,
    Penalties,
    SemiRestricted,
    climbed,
    polished,
    seconds_of_a_step,
)

PATH, TRIAL, CLIMB = 0.1, 0.07, 0.25  # of the budget: the path, the trial of a size, and the climb of the best one
SIZES, COMPILING = (8, 32, 96), 1.5  # hidden units that are tried, and seconds that each takes beside its steps
POINTS, WEAKER, PATH_STEPS = 23, 0.7, 60  # of the path of l1, each so much weaker; steps for each at most
STRONG_L2, L2_POINTS = 30.0, 8  # where the path of l2 begins, as so many rows' worth
HIDDEN_L2, WEAK_L2 = 20.0, 3.0  # rows' worth, with hidden units, and what the best size is tried with as well
SPARING = (4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5)  # times the best l1, for the path that spares strong couplings
RATE, CHUNK, PASSES = 1e-2, 64, 60  # of a climb: its first rate, steps at once, and passes over the rows at most
MOST_POLISHED = 20_000  # steps
TRIED, JUDGED = 0.01, 0.1  # of the budget: the annealing of a trial, and of the result
FAMILIES = {"restricted machine": (64, "persistent", 3e-7), "sigmoid belief network": (16, None, 2e-6)}
FAMILY_EPOCHS, MOST_EPOCHS, EPOCH_SECONDS = 10, 300, 0.02  # of what `fit` learns; on fewer rows if 10 take too long
FAMILIES_FROM = 20.0  # seconds of budget, where rows are complete
PAIRWISE, SEMI = "pairwise machine", "semi-restricted machine"


class Trained(NamedTuple):
    """What was learned in a trial, and the method that did: a machine around columns that are 0, or a network."""

    score: HeldScore
    result: Any
    method: Any = "pseudolikelihood"
    penalties: Penalties = Penalties(0.0, 0.0)


class DensityTrials:
    """One after another, and the best so far."""

    def __init__(self, data: Patterns, held: Patterns, budget: float, seed: int, names: Sequence[str] | None):
        self.data, self.budget, self.seed, self.names = data, budget, seed, names
        self.left, self.start, self.size, self.doing = budget, time.monotonic(), data.size, "independent columns"
        self.tried: list[dict] = []
        on = frequencies(data)
        self.held = HeldRows(held, np.where(np.isnan(on), 0.5, on), seed)
        self.best = Trained(self.held.of_columns(), SemiRestricted.alone(self.held.on))
        self._keep(self.doing, "", self.best)
        self.complete = not any(rows.has_gaps().any() or len(rows.units) < self.size for rows in (data, held))

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def label(self) -> str:
        return f"{self.doing}, best ln P of held rows {self.best.score.value:.4f}"

    def stages(self) -> Iterator[None]:
        """Everything in turn; it can be left wherever it yields."""
        if self.complete and self.size > 1:
            yield from self._machines()
        elif not self.complete:
            for family in (PAIRWISE, SEMI):
                self._leave_out(family, "it needs rows without missing values")
            found = {}
            for family in FAMILIES:
                found[family] = self._family(family, TRIAL * self.budget).safe
                yield
            self._family(max(found, key=lambda family: found[family]), self.left)
        if isinstance(self.best.result, SemiRestricted):
            self.doing = "scoring"
            found = self.held.of_machine(self.best.result, JUDGED * self.budget, number=1)
            self.best = self.best._replace(score=found)

    def fitted(self, stopped: Stopped) -> Fitted:
        """The best network, with an entry of the history for each trial."""
        result = self.best.result
        network = result.machine(self.names) if isinstance(result, SemiRestricted) else result
        scored = [each for each in self.tried if each["kind"] is not None]
        history = {name: np.full(len(scored), np.nan) for name in HISTORY_COLUMNS} | {
            "epoch": np.arange(len(scored)) + 1
        }
        told = {"seconds": "until", "validation": "held_log_likelihood", "validation_error": "standard_error"}
        history |= {name: np.array([each[key] for each in scored]) for name, key in told.items()}
        history |= dict.fromkeys(("solved", "converged"), np.ones(len(scored)))
        return Fitted(network, history, stopped, parse_method(self.best.method), None)

    # ---- what is kept of a trial -----------------------------------------------------------------------------------

    def _keep(self, family: str, settings: str, found: Trained) -> HeldScore:
        done = sum(each["seconds"] for each in self.tried)
        about = (*found.score, self.seconds - done, self.seconds)
        names = ("held_log_likelihood", "standard_error", "kind", "seconds", "until")
        self.tried.append({"family": family, "settings": settings, **dict(zip(names, about, strict=True))})
        if found.score.safe > self.best.score.safe:
            self.best = found
        return found.score

    def _leave_out(self, family: str, reason: str) -> None:
        about = {"held_log_likelihood": np.nan, "standard_error": np.nan, "kind": None, "seconds": 0.0}
        self.tried.append({"family": family, "settings": f"left out: {reason}", **about})

    def _try(self, machine: SemiRestricted, penalties: Penalties, how: str, method: str = "pseudolikelihood") -> float:
        """A machine around the means of the columns, scored and kept; what it is compared by."""
        hidden = len(machine.hidden)
        settings = (f"hidden={hidden}, " if hidden else "") + f"{penalties}, {how}"
        machine = machine.around(-self.columns.means)
        self.left -= TRIED * self.budget
        found = Trained(self.held.of_machine(machine, TRIED * self.budget), machine, method, penalties)
        return self._keep(SEMI if hidden else PAIRWISE, settings, found).safe

    # ---- machines of coupled columns -------------------------------------------------------------------------------

    def _machines(self) -> Iterator[None]:
        self.columns = CompleteRows.of(self.data.values, self.data.counts)
        base, penalties = yield from self._path()
        strong, weak = (penalties._replace(hidden=worth / self.data.total) for worth in (HIDDEN_L2, WEAK_L2))
        briefly, scores = (TRIAL * self.budget, "pseudolikelihood, briefly"), []
        kinds = [(hidden, strong) for hidden in SIZES]
        for kind in kinds:
            scores.append((yield from self._climb(base, *kind, *briefly)))
        kinds.append((SIZES[int(np.argmax(scores))], weak))
        scores.append((yield from self._climb(base, *kinds[-1], *briefly)))
        for family in FAMILIES if self.budget >= FAMILIES_FROM else ():
            self._family(family, TRIAL / 2 * self.budget)
            yield
        best = int(np.argmax(scores))
        if scores[best] >= self.best.score.safe:
            yield from self._climb(base, *kinds[best], CLIMB * self.budget, "pseudolikelihood")
        yield from self._polish()

    def _path(self) -> Generator[None, None, tuple[SemiRestricted, Penalties]]:
        """The best of the paths of l1, of l2 and of l1 that spares strong couplings, and its penalties.

        The pseudo-likelihood of held rows chooses a point of each path, and their ln P one of these and the points
        before them, as the best penalty for ln P is often a stronger one.
        """
        self.doing, share = "pairs of columns", 1 / self.data.total
        row, points = 4e-9 * self.size * (1 + self.size / 20), POINTS + L2_POINTS + len(SPARING)
        rows = PATH * self.budget / points / row  # in all steps for a point; on some rows, if these are too many
        some = self.data.thinned(max(100, int(rows / 10)))
        columns, most = CompleteRows.of(some.values, some.counts), int(np.clip(rows / len(some), 10, PATH_STEPS))
        self.left -= PATH * self.budget * most * len(some) / rows
        top = strongest(columns)
        by_l1 = [Penalties(top * WEAKER**k, 0.0) for k in range(1, POINTS + 1)]
        by_l2 = [Penalties(0.0, STRONG_L2 * share / 2**k) for k in range(L2_POINTS)]
        alone = SemiRestricted(*(part.astype(np.float32) for part in SemiRestricted.alone(frequencies(some))))
        found = yield from self._down(columns, alone, by_l1, most)
        paths = [*found, *(yield from self._down(columns, found[-1][0], by_l2, most))]
        spared = [sparing(found[-1][1], found[-1][0], factor) for factor in SPARING]
        paths += yield from self._down(columns, found[-1][0], spared, most)
        paths = [(machine.around(self.columns.means - columns.means), each) for machine, each in paths]
        scores = []
        for machine, penalties in paths:
            scores.append(self._try(machine, penalties, "pseudolikelihood"))
            yield
        return paths[int(np.argmax(scores))]

    def _down(
        self, columns: CompleteRows, start: SemiRestricted, penalties: list[Penalties], most: int
    ) -> Generator[None, None, list[tuple[SemiRestricted, Penalties]]]:
        """The best point of a path by the pseudo-likelihood of held rows, last, and the one before it."""
        path, values, V = [], [], self.held.rows.values.astype(np.float32)
        for each, machine in zip(penalties, penalty_path(columns, start, penalties, most), strict=True):
            path.append((machine, each))
            x = (V - columns.means) @ machine.pairs + machine.bias
            values.append(self.held.rows.counts @ (V * x - np.logaddexp(0, x)).sum(axis=1))
            yield
            if len(values) - np.argmax(values) > 3:
                break
        best = int(np.argmax(values))
        return path[max(best - 1, 0) : best + 1]

    def _climb(
        self, base: SemiRestricted, hidden: int, penalties: Penalties, seconds: float, how: str
    ) -> Generator[None, None, float]:
        """By the pseudo-likelihood, from pairs with further hidden units; what the result is compared by."""
        self.doing, columns = f"{hidden} hidden units", self.columns
        step = 6e-9 * BATCH * self.size * hidden + 2e-8 * self.size**2 + 2e-4
        most = PASSES * max(self.data.total / BATCH, CHUNK / 4)
        steps = max(0, int(min((seconds - COMPILING) / step, most))) // CHUNK * CHUNK
        if not steps:
            self._leave_out(SEMI, f"{hidden} hidden units take too long")
            return -np.inf
        climb, self.left = Climb.begin(base.with_hidden(hidden, self.seed)), self.left - COMPILING - steps * step
        rng = np.random.default_rng([self.seed, hidden])
        for first in range(0, steps, CHUNK):
            rates = RATE * (1 - np.arange(first, first + CHUNK) / steps)
            given = climb, columns.V, columns.means, columns.drawn(rng, (CHUNK, BATCH)), rates, penalties
            climb = climbed(*given, work=BATCH * self.size * hidden, dtype="float32")
            yield
        return self._try(climb.machine, penalties, how)

    def _polish(self) -> Iterator[None]:
        """Maximum likelihood of the best machine in the time that is left, kept where it raises the score."""
        best = self.best
        if not isinstance(best.result, SemiRestricted):
            return
        self.doing, hidden = "maximum likelihood", len(best.result.hidden)
        step = seconds_of_a_step(self.size, hidden, len(self.data))
        reserve = (JUDGED + 4 * TRIED) * self.budget
        steps = int(np.clip((self.left - reserve) / step, 0, MOST_POLISHED)) // 4 * 4
        machine = SemiRestricted(*(part.astype(np.float32) for part in best.result.around(self.columns.means)))
        given = self.columns, best.penalties.halved, steps, self.seed
        for part, found in enumerate(polished(machine, *given), 1):
            self._try(found, best.penalties.halved, f"maximum likelihood, {part} of 4", "persistent")
            yield

    # ---- what fit learns -------------------------------------------------------------------------------------------

    def _family(self, family: str, seconds: float) -> HeldScore:
        """A restricted machine or a sigmoid belief network, on some rows if the seconds do not suffice for all."""
        hidden, method, cost = FAMILIES[family]
        self.doing, hidden = family, min(hidden, 2 * self.size)
        cost *= self.size + hidden
        some = self.data.thinned(max(50, int(seconds / FAMILY_EPOCHS / cost)))
        cost = cost * len(some) + EPOCH_SECONDS
        rows, epochs = some.rows(), int(np.clip(seconds / cost, 1, MOST_EPOCHS))
        belief = family == "sigmoid belief network"
        start = to_learn((hidden,), rows, self.seed) if belief else machine_to_learn(hidden, rows, self.seed)
        l2 = 0.0 if belief else HIDDEN_L2 / 2 / self.data.total
        found = fit(start, rows, method, weights=some.counts, epochs=epochs, seed=self.seed, l2=l2, verbose=False)
        self.left -= epochs * cost
        settings, how = f"hidden={hidden}, {found.method}, {len(some):,} rows, {epochs} epochs", found.method
        if belief or not self.complete:
            return self._keep(family, settings, Trained(self.held.of_network(found.network), found.network, how))
        self.left -= TRIED * self.budget
        network: Any = found.network
        machine = SemiRestricted.of(network, *np.split(np.arange(network.size), [self.size]))
        penalties, score = Penalties(0.0, 0.0, 2 * l2), self.held.of_machine(machine, TRIED * self.budget)
        return self._keep(family, settings, Trained(score, machine, how, penalties))
