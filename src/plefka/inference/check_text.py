"""A check in words, as `print(check)` shows it: the verdict, and where draws and solution differ, unit by unit."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.tables.display import PRINTED_ROWS, text_table

if TYPE_CHECKING:
    from plefka.inference.check_verdict import Check

# What a check calls small, reliable and sure.
IMPORTANCE, POPULATION = "importance sampling", "population annealing"
GOOD, USABLE = 0.5, 0.7  # shapes of the tail of the weights
FEWEST_EFFECTIVE = 100  # draws, or a quarter of those that were made
MOSTLY_EFFECTIVE = 0.5  # the fraction of draws from which on no shape of a tail speaks against them
INTERVAL = 1.96  # standard errors
CHANCE = 4.0  # standard errors that chance explains: beyond them one of two numbers is wrong
SMALL_DIFFERENCE = 0.1  # nats: a tenth of a probability, which is no reason to distrust an estimate
SMALL_MEAN = 0.05  # the same for the probability of a unit
DRAWN_ROUNDING = 1e-6  # by which means may differ for no other reason
SURE, SURE_NOT = 2.0, 3.0  # standard errors by which a difference is seen to be small, or not to be

USABLE_AS_IT_IS = "The answer can be used as it is."
TAKE_THE_DRAWS = "Take the values of the samples (check.corrected()), or use a better method."
NOT_CONVERGED = "The method has not converged, and its answer is not trusted whatever the samples say."
OTHER_WAYS = "Condition on more units, as in conditioned[bethe,k=5], raise num_samples, or use gibbs."
NOT_DECIDED = "The samples do not decide whether the answer is close enough; raise num_samples."
DIFFERENCE_COLUMNS = ("unit", "by the solution", "by the draws", "standard error", "difference")


def rounding(estimate: float) -> float:
    """By how much a log-likelihood may differ for no other reason."""
    return DRAWN_ROUNDING * max(1.0, abs(estimate))


def verdict_of(check: "Check") -> str:
    """What the draws say, what the solution says, and what to do."""
    about_draws = _about_draws(check)
    if not check.reliable:
        return about_draws
    if not np.isfinite(check.estimate):
        return f"{about_draws} The method has no finite answer: take the values of the samples."
    return " ".join([about_draws, *_about_estimate(check), *_about_means(check), _advice(check)])


def _about_draws(check: "Check") -> str:
    if check.impossible and np.isneginf(check.log_likelihood):
        return "The evidence is impossible: its probability is zero, and there is no posterior to draw from."
    if not np.isfinite(check.log_likelihood):
        return (
            "The check could not confirm this answer: none of its samples is possible in the network, so that the "
            "solution misses the posterior altogether. Use another method, or gibbs."
        )
    if check.standard_error == 0:
        return f"{check.quantity} = {check.log_likelihood:.4f}: all samples have the same weight."
    drawn = f"effective sample size {check.effective_samples:,.0f} of {check.num_samples:,}"
    if not check.reliable:
        return f"The check could not confirm this answer: {_why_not(check, drawn)}. {OTHER_WAYS}"
    number = f"{check.quantity} = {check.log_likelihood:.4f} +- {check.standard_error:.2g}"
    return f"{number} by {check.sampler} ({_grade(check)}{drawn})."


def _why_not(check: "Check", drawn: str) -> str:
    if check.has_few_effective and check.sampler == POPULATION:
        return f"its population of states has not equilibrated, and few families of it are left ({drawn})"
    if check.has_few_effective:
        return f"too few of its samples carry weight ({drawn})"
    return (
        f"a few of its samples may outweigh all others (Pareto k = {check.pareto_k:.2f}, not below {USABLE}; {drawn})"
    )


def _grade(check: "Check") -> str:
    """How even the weights are; nothing where no tail was fitted, or most draws are effective in spite of it."""
    if not np.isfinite(check.pareto_k) or check.pareto_k >= USABLE:
        return ""
    return f"{'good' if check.pareto_k < GOOD else 'usable'}: Pareto k = {check.pareto_k:.2f}, "


def _about_estimate(check: "Check") -> list[str]:
    side = "lower " if check.is_bound else "upper " if check.is_upper else ""
    kind = "exact value" if check.is_exact else f"{side}bound" if side else "estimate"
    subject, difference = f"The {kind} {check.estimate:.4f}", check.estimate - check.log_likelihood
    if abs(check.gap) <= rounding(check.estimate):
        return [f"{subject} lies within the interval."]
    where = f"lies {abs(difference):.2g} {'above' if difference > 0 else 'below'}"
    is_valid = (check.is_bound and difference < 0) or (check.is_upper and difference > 0)
    if is_valid and not check.is_exact and abs(difference) > SMALL_DIFFERENCE:
        return [
            f"The bound {check.estimate:.4f} is a valid {side}bound, but {where}: too far to be used as an estimate."
        ]
    return [f"{subject} {where}{_about_difference(check, difference)}"]


def _about_difference(check: "Check", difference: float) -> str:
    if check.is_exact and check.contradicted:
        return ", more than chance allows: the samples miss states that matter, or the sum is wrong."
    if check.contradicted:
        return ", which no bound may: the solution is wrong."
    if check.is_exact or (check.is_bound and difference > 0) or (check.is_upper and difference < 0):
        return ", outside the interval but within what chance allows."
    return (
        f", outside the interval but close to it (by less than {SMALL_DIFFERENCE})."
        if abs(difference) < SMALL_DIFFERENCE
        else "."
    )


def _about_means(check: "Check") -> list[str]:
    """The mean that differs most, where that is more than a little."""
    if check.estimated_means is None:
        return []
    differences = check.mean_differences
    if np.isnan(differences).any():
        return ["Some of its means are not numbers."]
    at_most = np.abs(differences) + SURE * check.means_error
    doubtful = check.contradicted_means if check.is_exact else at_most > SMALL_MEAN
    if not doubtful.any():
        return []
    unit = int(np.argmax(np.where(doubtful, at_most, 0.0)))
    by = differences[unit]
    name = f"unit {unit}" if check.solution is None else repr(check.solution.names[unit])
    side = "above" if by > 0 else "below"
    return [f"The mean of {name} lies {abs(by):.2g} {side} that of the samples (+- {check.means_error[unit]:.1g})."]


def _advice(check: "Check") -> str:
    if check.trusted:
        return USABLE_AS_IT_IS
    if not check.converged:
        return NOT_CONVERGED
    return TAKE_THE_DRAWS if check.contradicted or check.differs or not check.close else NOT_DECIDED


# ---- unit by unit ----------------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """P(on | evidence) of a unit by the solution and by the draws."""

    unit: str
    solution: float
    draws: float
    error: float

    @property
    def size(self) -> float:
        """By how much the solution lies above the draws."""
        return self.solution - self.draws

    def in_words(self) -> tuple[str, str, str, str, str]:
        """As a row of a table."""
        size = round(self.size, 4) + 0.0  # no minus before zero
        return self.unit, f"{self.solution:.4f}", f"{self.draws:.4f}", f"{self.error:.1e}", f"{size:+.4f}"


def differences(check: "Check") -> list[Difference]:
    """Of every hidden unit, the largest difference first; none where the check does not know the solution's means."""
    if check.solution is None or check.estimated_means is None:
        return []
    columns = zip(
        check.solution.names, check.estimated_means.tolist(), check.means.tolist(), check.means_error.tolist()
    )
    found = [
        each
        for each in map(Difference._make, columns)
        if not (each.error == 0 and each.solution == each.draws and each.draws in (0.0, 1.0))  # as observed units are
    ]
    return sorted(found, key=lambda each: -abs(each.size) if np.isfinite(each.size) else -np.inf)


def check_table(check: "Check") -> str:
    """The verdict, and below it the units."""
    found = differences(check)
    lines = [check.verdict]
    if found:
        lines += ["", text_table(DIFFERENCE_COLUMNS, [each.in_words() for each in found[:PRINTED_ROWS]])]
    if len(found) > PRINTED_ROWS:
        lines.append(f"... and {len(found) - PRINTED_ROWS:,} more units, which differ less")
    return "\n".join(lines)
