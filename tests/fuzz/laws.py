"""What must hold of an answer beside the truth."""

from typing import NamedTuple

import numpy as np

from tests.fuzz.asking import CONVERGED, CRASHED, EXACT, IMPOSSIBLE, LOWER, OBSERVED, REFUSED, UPPER, Answer
from tests.fuzz.enumeration import Enumerated

# Sums of logarithms as large as 1e4 carry rounding of 1e-12, and 1e-9 leaves room for a few hundred of them; any
# formula that cancels or is cut off is further away than that somewhere.
CLOSE = 1e-9
SETTLED = 1e-5  # answers of an iteration that stops when means move by 1e-8 a step


class Verdict(NamedTuple):
    """The laws that an answer breaks, in words."""

    broken: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        return not self.broken


def judged(answer: Answer, truth: Enumerated, log_free: float = 0.0) -> Verdict:
    """All laws of a single answer; `log_free`: ln Z of a machine of which nothing is known."""
    if answer.status == CRASHED:
        return Verdict((f"crashed: {answer.message}",))
    if answer.status == REFUSED:
        return Verdict(())
    possible = truth.log_p > -np.inf
    if answer.status == IMPOSSIBLE or not possible:
        return Verdict(tuple(_of_possibility(answer, truth)))
    laws = _of_numbers(answer), _of_log_p(answer, truth), _of_means(answer, truth), _of_ratio(answer, truth, log_free)
    return Verdict(tuple(broken for law in laws for broken in law))


def _of_possibility(answer: Answer, truth: Enumerated):
    if answer.status == IMPOSSIBLE and truth.log_p > -np.inf:
        yield f"called impossible: ln P is {truth.log_p:.10g}"
    if answer.status != IMPOSSIBLE and answer.log_p > -np.inf and answer.log_p_claim in (EXACT, LOWER):
        yield f"called possible: ln P = {answer.log_p:.10g} ({answer.log_p_claim})"


def _of_numbers(answer: Answer):
    if np.isnan(answer.log_p):
        yield "ln P is nan"
    if np.isnan(answer.means).any():
        yield f"nan for {np.isnan(answer.means).sum()} means"
    elif not ((answer.means >= 0) & (answer.means <= 1)).all():
        yield f"a mean outside [0, 1]: {answer.means.min():.17g}, {answer.means.max():.17g}"
    if answer.status == CONVERGED and np.isinf(answer.log_p):
        yield f"converged with ln P = {answer.log_p}"


def _of_log_p(answer: Answer, truth: Enumerated):
    close, error = CLOSE * max(1.0, abs(truth.log_p)), answer.log_p - truth.log_p
    wrong = {EXACT: abs(error) > close, LOWER: error > close, UPPER: error < -close}
    if wrong.get(answer.log_p_claim, False):
        yield f"ln P = {answer.log_p:.12g} ({answer.log_p_claim}); it is {truth.log_p:.12g}"


def _of_means(answer: Answer, truth: Enumerated):
    error = np.abs(answer.means - truth.means)
    wrong = np.flatnonzero(np.isin(answer.claims, (EXACT, OBSERVED)) & (error > CLOSE))
    if len(wrong):
        worst = wrong[np.argmax(error[wrong])]
        yield (
            f"mean of unit {worst} = {answer.means[worst]:.12g} ({answer.claims[worst]}); it is "
            f"{truth.means[worst]:.12g} ({len(wrong)} such units)"
        )


def _of_ratio(answer: Answer, truth: Enumerated, log_free: float):
    right = truth.log_p - log_free
    close = CLOSE * max(1.0, abs(truth.log_p), abs(log_free))
    if answer.log_likelihood_claim == EXACT and abs(answer.log_likelihood - right) > close:
        yield f"log_likelihood = {answer.log_likelihood:.12g} (exact); it is {right:.12g}"
    if answer.log_likelihood_claim in (LOWER, UPPER):
        yield f"log_likelihood, a difference, is called a {answer.log_likelihood_claim}"


def compared(alone: Answer, together: Answer) -> Verdict:
    """A row alone has the answer that it has in a batch."""
    if REFUSED in (alone.status, together.status) or CRASHED in (alone.status, together.status):
        return Verdict(())
    if alone.status != together.status:
        return Verdict((f"{alone.status} alone, {together.status} in a batch",))
    if alone.status != CONVERGED:
        return Verdict(())
    limit = CLOSE if alone.log_p_claim == together.log_p_claim == EXACT else SETTLED
    error = max(
        abs(alone.log_p - together.log_p) / max(1.0, abs(together.log_p)), np.abs(alone.means - together.means).max()
    )
    return Verdict((f"alone and in a batch differ by {error:.3g}",) if error > limit else ())
