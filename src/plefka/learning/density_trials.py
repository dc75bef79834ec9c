"""The trials of a search for a density: independent columns, machines of coupled columns, and other families.

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
from plefka.learning import likelihood_polish
from plefka.learning.annealed import log_partitions
from plefka.learning.fitted import HISTORY_COLUMNS, Fitted, Stopped
from plefka.learning.fitting import fit
from plefka.learning.likelihood_polish import polished
from plefka.learning.patterns import MISSING, Patterns
from plefka.learning.penalty_path import CompleteRows, penalty_path, sparing, strongest
from plefka.learning.scoring import score
from plefka.learning.semi_restricted import BATCH, Climb, Penalties, SemiRestricted, climbed
from plefka.methods.posterior import Accuracy

PATH, TRIAL, CLIMB = 0.1, 0.07, 0.3  # of the budget: the path, the trial of a size, and the climb of the best size
SIZES, COMPILING = (8, 32, 96), 1.5  # hidden units that are tried, and seconds that each takes beside its steps
POINTS, WEAKER, PATH_STEPS = 23, 0.7, 60  # of the path of l1, each so much weaker; steps for each at most
STRONG_L2, L2_POINTS, HIDDEN_L2 = 30.0, 8, 3.0  # rows' worth: where the path of l2 begins, and with hidden units
SPARING = (4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5)  # times the best l1, for the path that spares strong couplings
RATE, CHUNK, PASSES = 1e-2, 64, 60  # of a climb: its first rate, steps at once, and passes over the rows at most
MOST_POLISHED = 20_000  # steps
TRIED, JUDGED = (200, 300), (500, 1000)  # runs and temperatures of the annealing of a trial, and of the result
TRIED_SHARE, JUDGED_SHARE, MOST_FINER = 0.012, 0.08, 2.5  # of the budget, that make both finer, so many times at most
EXACT_SECONDS = 1.0  # of a sum over states that is done instead
OTHERS_BUDGET, FAMILY_SECONDS = 20.0, 6.0  # seconds from which on other families are tried; what one takes, about
FAMILY_ROWS, FAMILY_EPOCHS, FAMILY_HIDDEN = 2000, 10, 16  # of the brief trial of a family that fit learns
PAIRWISE, SEMI = "pairwise machine", "semi-restricted machine"


class HeldScore(NamedTuple):
    """ln P per held row, its standard error, and what it is."""

    value: float
    error: float
    kind: Accuracy

    @property
    def safe(self) -> float:
        """What trials are compared by: states that annealing misses make ln P look high, and its error large."""
        return self.value - 2 * self.error


class Trained(NamedTuple):
    """What was learned in a trial: a network, or the parameters of a machine around columns that are 0."""

    score: HeldScore
    result: Any


class DensityTrials:
    """One after another, and the best so far."""

    best: Trained | None = None
    best_pairs = -np.inf  # the best score of a pairwise machine

    def __init__(self, data: Patterns, held: Patterns, budget: float, seed: int, names: Sequence[str] | None):
        self.data, self.held, self.budget, self.seed, self.names = data, held, budget, seed, names
        self.left, self.start = budget, time.monotonic()
        self.tried: list[dict] = []
        self.size, self.doing = data.size, "independent columns"
        self.trial_size, self.final_size = self._finer(TRIED, TRIED_SHARE), self._finer(JUDGED, JUDGED_SHARE)
        self.complete = not any(rows.has_gaps().any() or len(rows.units) < self.size for rows in (data, held))

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    @property
    def kept(self) -> Trained:
        """The best so far; independent columns are tried before anything can be interrupted."""
        if self.best is None:
            raise RuntimeError("the search has not begun")
        return self.best

    def label(self) -> str:
        best = "" if self.best is None else f", best ln P of held rows {self.best.score.value:.4f}"
        return f"{self.doing}{best}"

    def stages(self) -> Iterator[None]:
        """Everything in turn; it can be left wherever it yields."""
        self._alone()
        yield
        if self.complete and self.size > 1:
            yield from self._machines()
        elif not self.complete:
            for family in (PAIRWISE, SEMI):
                self._leave_out(family, "it needs rows without missing values")
            yield from self._families()
        if self.best is not None and isinstance(self.best.result, SemiRestricted):
            self.doing = "scoring"
            self.best = Trained(self._score(self.best.result, self.final_size, 1), self.best.result)

    def fitted(self, stopped: Stopped) -> Fitted:
        """The best network, with an entry of the history for each trial."""
        result = self.kept.result
        network = result.machine(self.names) if isinstance(result, SemiRestricted) else result
        scored = [each for each in self.tried if each["kind"] is not None]
        history = {name: np.ones(len(scored)) for name in HISTORY_COLUMNS}
        history |= {"epoch": np.arange(1, len(scored) + 1), "seconds": np.array([each["until"] for each in scored])}
        history |= dict.fromkeys(("objective", "log_likelihood"), np.full(len(scored), np.nan))
        history["validation"] = np.array([each["held_log_likelihood"] for each in scored])
        history["validation_error"] = np.array([each["standard_error"] for each in scored])
        return Fitted(network, history, stopped, parse_method("pseudolikelihood"), None)

    # ---- what is kept of a trial -----------------------------------------------------------------------------------

    def _keep(self, family: str, settings: str, found: HeldScore, result: Any) -> HeldScore:
        done = sum(each["seconds"] for each in self.tried)
        about = (found.value, found.error, found.kind, self.seconds - done, self.seconds)
        names = ("held_log_likelihood", "standard_error", "kind", "seconds", "until")
        self.tried.append({"family": family, "settings": settings, **dict(zip(names, about, strict=True))})
        if self.best is None or found.safe > self.best.score.safe:
            self.best = Trained(found, result)
        return found

    def _leave_out(self, family: str, reason: str) -> None:
        about = {"held_log_likelihood": np.nan, "standard_error": np.nan, "kind": None, "seconds": 0.0}
        self.tried.append({"family": family, "settings": f"left out: {reason}", **about})

    def _try(self, machine: SemiRestricted, penalties: Penalties, how: str) -> HeldScore:
        """A machine around the means of the columns, scored and kept."""
        hidden = len(machine.hidden)
        settings = (f"hidden={hidden}, " if hidden else "") + f"{penalties}, {how}"
        machine = machine.around(-self.columns.means)
        self.left -= self._score_seconds(hidden, self.trial_size)
        return self._keep(SEMI if hidden else PAIRWISE, settings, self._score(machine, self.trial_size, 0), machine)

    def _score(self, machine: SemiRestricted, size: tuple[int, int], number: int) -> HeldScore:
        """ln P of held rows by a machine around columns that are 0."""
        network = machine.machine()
        nothing = np.full((1, network.size), np.nan)
        free = log_partitions(network, nothing, (self.seed, number), *size, seconds=EXACT_SECONDS)
        precise = SemiRestricted(*(part.astype(float) for part in machine))
        value = self.held.counts @ precise.log_weight(self.held.values.astype(float)) / self.held.total
        kind = Accuracy.EXACT if free.is_exact else Accuracy.ESTIMATE
        return HeldScore(float(value - free.value[0]), float(free.error[0]), kind)

    def _finer(self, size: tuple[int, int], share: float) -> tuple[int, int]:
        """Runs and temperatures for a share of the budget."""
        times = np.clip(np.sqrt(share * self.budget / self._score_seconds(32, size)), 1, MOST_FINER)
        return int(times * size[0]), int(times * size[1])

    def _score_seconds(self, hidden: int, size: tuple[int, int]) -> float:
        (runs, temperatures), units = size, self.size + hidden
        return temperatures * units * (1.5e-5 + 4.4e-10 * runs * units)

    def _alone(self) -> None:
        """CompleteRows that are independent of each other, of rows that may lack values."""
        on, off = np.zeros(self.size), np.zeros(self.size)
        for state, total in ((1, on), (0, off)):
            total[self.data.units] = self.data.counts @ (self.data.values == state)
        log_on, log_off = np.log(on + 0.5) - np.log(on + off + 1), np.log(off + 0.5) - np.log(on + off + 1)
        S, units = self.held.values, self.held.units
        rows = (S == 1) @ log_on[units] + (S == 0) @ log_off[units]
        value = float(rows @ self.held.counts / self.held.total)
        n = self.size
        machine = SemiRestricted(np.zeros((n, n)), log_on - log_off, np.zeros((n, 0)), np.zeros(0))
        self._keep("independent columns", "", HeldScore(value, 0.0, Accuracy.EXACT), machine)

    # ---- machines of coupled columns -------------------------------------------------------------------------------

    def _machines(self) -> Iterator[None]:
        self.columns = CompleteRows.of(self.data.values, self.data.counts)
        path = yield from self._path()
        if path is None:
            return
        base, penalties = path
        scores, climbs = {0: self.best_pairs}, {}
        with_hidden = penalties._replace(hidden=HIDDEN_L2 / self.data.total)
        for hidden in SIZES:
            steps = self._climb_steps(hidden, TRIAL * self.budget - COMPILING)
            if not steps:
                self._leave_out(SEMI, f"{hidden} hidden units take too long")
                continue
            machine = yield from self._climb(base, hidden, with_hidden, steps)
            self.left -= COMPILING
            climbs[hidden] = steps, machine
            scores[hidden] = self._try(machine, with_hidden, "pseudolikelihood, briefly").safe
            yield
        if self.budget >= OTHERS_BUDGET:
            yield from self._families()
        hidden = max(scores, key=lambda size: scores[size])
        if hidden:
            penalties, (done, base) = with_hidden, climbs[hidden]
            steps = self._climb_steps(hidden, CLIMB * self.budget)
            if steps > done:
                base = yield from self._climb(path[0], hidden, penalties, steps)
                self._try(base, penalties, "pseudolikelihood")
            yield
        yield from self._polish(base, penalties)

    def _path(self) -> Generator[None, None, tuple[SemiRestricted, Penalties] | None]:
        """The best of the paths of l1, of l2 and of l1 that spares strong couplings, and its penalties.

        The pseudo-likelihood of held rows chooses a point of each path, and their ln P one of these and the points
        before them, as the best penalty for ln P is often a stronger one.
        """
        self.doing = "pairs of columns"
        top, share = strongest(self.columns), 1 / self.data.total
        step = 4e-9 * len(self.data) * self.size * (1 + self.size / 20) + 1e-4
        points, affordable = POINTS + L2_POINTS + len(SPARING), PATH * self.budget / step
        every = int(np.ceil(10 * points / affordable))
        if every > POINTS:
            return self._leave_out(PAIRWISE, "its pairs take too long")
        most = int(np.clip(affordable * every / points, 10, PATH_STEPS))
        by_l1 = [Penalties(top * WEAKER**k, 0.0) for k in range(1, POINTS + 1)][every - 1 :: every]
        by_l2 = [Penalties(0.0, STRONG_L2 * share / 2**k) for k in range(L2_POINTS)][::every]
        best = None
        alone = self.columns.alone(self.data.total)
        found = yield from self._down(alone, by_l1, most, step)
        paths = [found, (yield from self._down(found[-1][0], by_l2, most, step))]
        spared = [sparing(found[-1][1], found[-1][0], factor) for factor in SPARING]
        paths.append((yield from self._down(found[-1][0], spared, most, step)))
        for machine, penalties in (each for path in paths for each in path):
            scored = self._try(machine, penalties, "pseudolikelihood").safe
            if best is None or scored > self.best_pairs:
                best, self.best_pairs = (machine, penalties), scored
            yield
        return best

    def _down(
        self, start: SemiRestricted, penalties: list[Penalties], most: int, step: float
    ) -> Generator[None, None, list[tuple[SemiRestricted, Penalties]]]:
        """The best point of a path by the pseudo-likelihood of held rows, last, and the one before it."""
        path, values = [], []
        for each, machine in zip(penalties, penalty_path(self.columns, start, penalties, most), strict=True):
            self.left -= most * step
            path.append((machine, each))
            values.append(self._neighbours(machine))
            yield
            if len(values) - np.argmax(values) > 3:
                break
        best = int(np.argmax(values))
        return path[max(best - 1, 0) : best + 1]

    def _neighbours(self, machine: SemiRestricted) -> float:
        """The pseudo-likelihood of held rows, of a machine without hidden units."""
        V = self.held.values.astype(np.float32)
        x = (V - self.columns.means) @ machine.pairs + machine.bias
        return float(self.held.counts @ (V * x - np.logaddexp(0, x)).sum(axis=1))

    def _climb_step(self, hidden: int) -> float:
        """Seconds of a step, about."""
        return 6e-9 * BATCH * self.size * hidden + 2e-8 * self.size**2 + 2e-4

    def _climb_steps(self, hidden: int, seconds: float) -> int:
        """Whole chunks that the seconds, and passes over the rows, allow."""
        most = PASSES * max(self.data.total / BATCH, CHUNK / 4)
        return max(0, int(min(seconds / self._climb_step(hidden), most))) // CHUNK * CHUNK

    def _climb(
        self, base: SemiRestricted, hidden: int, penalties: Penalties, steps: int
    ) -> Generator[None, None, SemiRestricted]:
        """By the pseudo-likelihood, from pairs with further hidden units."""
        self.doing = f"{hidden} hidden units"
        climb, columns = Climb.begin(base.with_hidden(hidden, self.seed)), self.columns
        rng, chances = np.random.default_rng([self.seed, hidden]), columns.shares / columns.shares.sum(dtype=float)
        for first in range(0, steps, CHUNK):
            batches = rng.choice(len(columns.V), (CHUNK, BATCH), p=chances)
            rates = RATE * (1 - np.arange(first, first + CHUNK) / steps)
            given = climb, columns.V, columns.means, batches, rates, penalties
            climb = climbed(*given, work=BATCH * self.size * hidden, dtype="float32")
            self.left -= CHUNK * self._climb_step(hidden)
            yield
        return climb.machine

    def _polish(self, machine: SemiRestricted, penalties: Penalties) -> Iterator[None]:
        """Maximum likelihood in the time that is left, kept where it raises the score."""
        self.doing, hidden = "maximum likelihood", len(machine.hidden)
        step = likelihood_polish.seconds_of_a_step(self.size, hidden, len(self.data))
        reserve = self._score_seconds(hidden, self.final_size) + 4 * self._score_seconds(hidden, self.trial_size)
        steps = int(np.clip((self.left - reserve) / step, 0, MOST_POLISHED)) // 4 * 4
        for part, found in enumerate(polished(machine, self.columns, penalties.halved, steps, self.seed), 1):
            self._try(found, penalties.halved, f"maximum likelihood, {part} of 4")
            yield

    # ---- other families --------------------------------------------------------------------------------------------

    def _families(self) -> Iterator[None]:
        """A restricted machine and a sigmoid belief network, by the methods that `fit` takes, on some rows."""
        some = self.data.thinned(FAMILY_ROWS)
        rows, hidden = _table(some, self.size), min(FAMILY_HIDDEN, 2 * self.size)
        starts = {"restricted machine": machine_to_learn, "sigmoid belief network": to_learn}
        for family, start in starts.items():
            self.doing = family
            network = start(hidden if start is machine_to_learn else (hidden,), rows, self.seed)
            found = fit(network, rows, weights=some.counts, epochs=FAMILY_EPOCHS, seed=self.seed, verbose=False)
            self.left -= FAMILY_SECONDS
            held = self.held.thinned(256)
            scored = score(found.network, _table(held, self.size), seed=self.seed, num_samples=100)
            kind = Accuracy.EXACT if scored.is_exact else Accuracy.ESTIMATE
            value = float(scored.log_likelihood @ held.counts / held.total)
            settings = f"hidden={hidden}, {found.method}, {len(some):,} rows"
            self._keep(family, settings, HeldScore(value, scored.mean_error, kind), found.network)
            yield


def _table(patterns: Patterns, size: int) -> np.ndarray:
    """Patterns with nan where missing."""
    rows = np.full((len(patterns), size), np.nan)
    rows[:, patterns.units] = np.where(patterns.values == MISSING, np.nan, patterns.values)
    return rows
