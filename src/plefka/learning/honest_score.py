"""ln P per row beside the objective of a run: exact where that is affordable, else an estimate with its error.

A scheme's objective is what is climbed, and may rise while the network gets worse. What is validated, stopped by and
chosen by is this score instead, which is that of `score`. Its cost is counted in multiply-adds, so that two runs score
the same epochs, and kept to a fifth of that of learning: of many rows some are scored, and not after every epoch.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plefka.learning import likelihood
from plefka.learning.annealed import RowsScore, annealed_score, annealed_work, independent
from plefka.learning.fitted import counted
from plefka.learning.patterns import MISSING, Patterns
from plefka.learning.scoring import score_patterns
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork

if TYPE_CHECKING:
    from plefka.learning.steps import Steps

DRAWS = 100  # of states for each row
SEARCHES = 90  # what the search of a row's means takes, and that they follow the weights, in draws
SHARE = 5  # one part of so many is what scores may cost
FEWEST_ROWS, FREE_WORK, WORK_ONCE = 256, 2**22, 2**25  # rows that are scored in any case; what needs no thrift
GAP, GAP_OF_SIZE, SLIGHT = 0.02, 0.05, 0.01  # nats per row, and parts of ln P, of no account: above it, and lost


LEFT_BEHIND = (
    "the objective says {objective:.4g} per row where ln P is {score:.4g} {kind}: the method errs there, and learning "
    "exploits it. Do not choose by the objective: hold rows out (validation), or learn by a bound or by draws, such as "
    "{better}"
)
WORSE = (
    "ln P per row is {score:.4g} {kind} after learning, less than {begun:.4g}, that of {reference}. Use smaller steps, "
    "as in optimizer=optax.adam(0.01), fewer epochs, or another method, such as {better}"
)
BETTER = {True: "SJJ, reweighted or em", False: "persistent or pseudolikelihood"}  # of belief networks, and machines


class Verdict(NamedTuple):
    """Of a run: sentences with the numbers of the first network that each is about, and which have diverged."""

    sentences: tuple[str, ...]
    diverged: Any


class HonestScore:
    """The score of some rows for the networks of a run."""

    def __init__(self, steps: "Steps", rows: Patterns):
        self.steps, self.epoch_work, self.rows = steps, steps.epoch_work, rows
        if isinstance(steps.run.network, BeliefNetwork):  # of machines ln Z takes the time, and not the rows
            affordable = max(self.epoch_work, FREE_WORK) / (self._work(rows) / len(rows))
            self.rows = rows.thinned(max(FEWEST_ROWS, int(affordable)))
        work = self._work(self.rows)
        self.every = 1 if work <= FREE_WORK else max(1, -(-SHARE * work // int(self.epoch_work)))

    def is_due(self, epoch: int) -> bool:
        """Whether an epoch, counted from 1, is one after which rows are scored."""
        return epoch % self.every == 0 or epoch == 1

    def is_cheap(self, epochs: int) -> bool:
        """Whether two scores are a fifth of the work of so many epochs."""
        work = 2 * self._work(self.rows)
        return work <= WORK_ONCE or SHARE * work <= epochs * self.epoch_work

    def verdict(self, network: Any, objective: Any) -> "Verdict":
        """What the score says of a run that ended with this network, and this objective."""
        begun, ended, alone = self.of(self.steps.run.network), self.of(network), independent(self.rows)
        is_less = bool(np.all(begun.value < alone - SLIGHT * abs(alone)))
        if is_alone := is_less and not self.steps.estimates:  # no estimate of its own
            begun = RowsScore(np.full_like(begun.value, alone), begun.error)
        error = 5 * np.hypot(begun.error, ended.error)
        slack = error + SLIGHT * np.abs(begun.value)
        worse = ~(ended.value >= begun.value - slack)
        above = objective - ended.value > error + GAP + GAP_OF_SIZE * np.abs(ended.value)
        above &= self.steps.estimates & (self.steps.accuracy is not Accuracy.LOWER_BOUND) & (objective <= 0) & ~worse
        seen = (self.rows.values != MISSING).sum(axis=1) @ self.rows.counts / self.rows.total
        diverged = worse & ~(ended.value >= -np.log(2) * seen - slack)
        about = {
            "reference": "independent columns" if is_alone else "its beginning",
            "better": BETTER[isinstance(network, BeliefNetwork)],
        }
        numbers = {"objective": objective, "score": ended.value, "error": ended.error, "begun": begun.value}
        holds = {LEFT_BEHIND: above, WORSE: worse}
        return Verdict(tuple(sentence(*each, numbers, about) for each in holds.items() if np.any(each[1])), diverged)

    def of(self, network: Any) -> RowsScore:
        """Of the network, or of every one of a stack."""
        run = self.steps.run
        found = [_mean(each, self.rows, run.seed or 0) for each in self.steps.each(network)]
        shared = run.devices.gathered(np.array(found))[0]  # several processes decide by the same numbers
        return RowsScore(*(np.reshape(part, self.steps.stack) for part in shared.T))

    def _work(self, rows: Patterns) -> int:
        """The multiply-adds of a score, about."""
        network = self.steps.run.network
        work = len(rows) * network.num_edges * (SEARCHES + 2 * DRAWS)
        if not isinstance(network, BeliefNetwork):
            work = annealed_work(network, rows)
        elif likelihood.affordable(network, rows):
            work = 2 ** len(rows.latent) * (network.num_edges + len(rows) * len(rows.units))
        return work * (network.stack or 1)


def sentence(text: str, mask: Any, numbers: dict[str, Any], about: dict[str, str]) -> str:
    """What is said of some networks, with the numbers of the first of them."""
    first = {name: np.ravel(values)[np.argmax(mask)] for name, values in numbers.items()}
    kind = f"(by sampling, +- {first['error']:.2g})" if first["error"] else "(exact)"
    return counted(text.format(**first, **about, kind=kind), np.ravel(mask))


def _mean(network: Any, rows: Patterns, seed: int) -> RowsScore:
    """Of one network."""
    if not isinstance(network, BeliefNetwork):
        return annealed_score(network, rows, seed)
    one_each = replace(rows, which=np.arange(len(rows)))
    found = score_patterns(network, one_each, None, seed, DRAWS, most=likelihood.LIKELIHOOD_WORK)
    share = rows.counts / rows.total
    return RowsScore(float(share @ found.log_likelihood), float(np.linalg.norm(share * found.standard_error)))
