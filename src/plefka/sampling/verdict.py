"""What the importance check has found, and the words for it: whether draws and an answer can be believed."""

from dataclasses import dataclass, replace

import numpy as np

GOOD, USABLE = 0.5, 0.7  # shapes of the tail of the weights
INTERVAL = 1.96  # standard errors
CHANCE = 4.0  # standard errors that chance explains: beyond them one of two numbers is wrong
SMALL = 0.1  # nats: a tenth of a probability, which is no reason to distrust an estimate


@dataclass(frozen=True, eq=False)
class Check:
    """What weighted draws say about one row of evidence, and about a solution of it.

    - `log_likelihood`, `standard_error`: ln P(evidence), and the error of it; their interval is 1.96 errors wide.
    - `means`, `means_error`: (n,), the probability of each unit to be on, and its standard error.
    - `pareto_k`: the shape of the tail of the weights; `effective_samples` out of `num_samples` draws.
    - `estimate`: the log-likelihood that was checked, or None; `is_bound`, `is_exact`: what it is claimed to be.
    - `impossible`: whether the method found that the evidence has probability zero.
    - `verdict`: all of this in words; `trusted`: whether the draws are reliable and do not contradict the estimate.
    """

    log_likelihood: float
    standard_error: float
    means: np.ndarray
    means_error: np.ndarray
    pareto_k: float
    effective_samples: float
    num_samples: int
    estimate: float | None
    is_bound: bool = False
    is_exact: bool = False
    impossible: bool = False

    def shifted(self, by: float) -> "Check":
        """The same with a constant added to every log-likelihood."""
        estimate = None if self.estimate is None else self.estimate + by
        return replace(self, log_likelihood=self.log_likelihood + by, estimate=estimate) if by else self

    @property
    def interval(self) -> tuple[float, float]:
        """Where ln P(evidence) lies in 95 of 100 cases, if the draws are reliable."""
        reach = INTERVAL * self.standard_error
        return self.log_likelihood - reach, self.log_likelihood + reach

    @property
    def reliable(self) -> bool:
        """Whether the weights have a tail that averages can bear."""
        return bool(np.isfinite(self.log_likelihood)) and self.pareto_k < USABLE

    @property
    def gap(self) -> float:
        """By how much the estimate lies outside the interval: above it if positive, below it if negative.

        An estimate that is not finite is its own gap.
        """
        if self.estimate is None:
            return 0.0
        if not np.isfinite(self.estimate):
            return self.estimate
        low, high = self.interval
        return max(0.0, self.estimate - high) - max(0.0, low - self.estimate)

    @property
    def trusted(self) -> bool:
        if not self.reliable or not np.isfinite(self.gap):
            return False
        return not self.contradicted if self.is_bound or self.is_exact else abs(self.gap) <= SMALL

    @property
    def contradicted(self) -> bool:
        """Whether the draws exclude that the estimate is what it is claimed to be: exact, or a bound."""
        if self.estimate is None:
            return False
        above = self.estimate - self.log_likelihood
        far = CHANCE * self.standard_error + _rounding(self.estimate)
        return bool(abs(above) > far if self.is_exact else self.is_bound and above > far)

    @property
    def verdict(self) -> str:
        return f"{_about_draws(self)} {_about_estimate(self)}".strip()


def _rounding(estimate: float | None) -> float:
    return 1e-6 * max(1.0, abs(estimate or 0.0))


def _about_draws(check: Check) -> str:
    if check.impossible and np.isneginf(check.log_likelihood):
        return "The evidence is impossible: its probability is zero, and there is no posterior to draw from."
    if not np.isfinite(check.log_likelihood):
        return (
            "No draw from the solution is possible in the network: the solution misses the posterior altogether. "
            "Use another method, or gibbs."
        )
    if check.standard_error == 0:
        return f"ln P(evidence) = {check.log_likelihood:.4f}: all draws have the same weight."
    number = f"ln P(evidence) = {check.log_likelihood:.4f} +- {check.standard_error:.2g}"
    drawn = f"{check.effective_samples:,.0f} effective of {check.num_samples:,} draws"
    if not check.reliable:
        return (
            f"Not to be believed (Pareto k = {check.pareto_k:.2f}, not below {USABLE}; {drawn}): the solution leaves "
            "out states that matter. Raise num_samples, condition on more units, or use gibbs."
        )
    grade = "good" if check.pareto_k < GOOD else "usable"
    tail = f"Pareto k = {check.pareto_k:.2f}" if np.isfinite(check.pareto_k) else "no tail of rare weights"
    return f"{number} ({grade}: {tail}, {drawn})."


def _about_estimate(check: Check) -> str:
    if check.estimate is None or not check.reliable:
        return ""
    if not np.isfinite(check.estimate):
        return "The method has no finite answer: take the values of the draws."
    kind = "exact value" if check.is_exact else "bound" if check.is_bound else "estimate"
    subject = f"The {kind} {check.estimate:.4f}"
    difference = check.estimate - check.log_likelihood
    if abs(check.gap) <= _rounding(check.estimate):
        return f"{subject} lies within the interval."
    where = f"{subject} lies {abs(difference):.2g} {'above' if difference > 0 else 'below'}"
    return f"{where}{_about_difference(check, difference)}"


def _about_difference(check: Check, difference: float) -> str:
    if check.is_exact and check.contradicted:
        return ", more than chance allows: the draws miss states that matter, or the sum is wrong."
    if check.contradicted:
        return ", which no bound may: the solution is wrong."
    if check.is_exact or (check.is_bound and difference > 0):
        return ", outside the interval but within what chance allows."
    if check.is_bound:
        return ", as a bound may; take the value of the draws."
    return (
        ", outside the interval but close to it."
        if check.trusted
        else ": take the values of the draws, or a better method."
    )
