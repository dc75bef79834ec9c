"""What the importance check has found, and the words for it: whether draws and an answer can be believed."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.check_text import (
    CHANCE,
    DRAWN_ROUNDING,
    FEWEST_EFFECTIVE,
    IMPORTANCE,
    INTERVAL,
    MOSTLY_EFFECTIVE,
    SMALL_DIFFERENCE,
    SMALL_MEAN,
    SURE,
    SURE_NOT,
    USABLE,
    check_table,
    rounding,
    verdict_of,
)
from plefka.inference.library import METHODS
from plefka.inference.solution_text import check_html
from plefka.methods.method import Method, does_not_apply
from plefka.methods.posterior import Status

if TYPE_CHECKING:
    from plefka.inference.solution import Solution
    from plefka.methods.posterior import Posterior
    from plefka.reduction.question import Part


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """What weighted draws say about one row of evidence, and about a solution of it.

    - `log_likelihood`, `standard_error`: ln P(evidence), and the error of it; their interval is 1.96 errors wide. Of a
        Boltzmann machine it is ln Z with the evidence clamped, as `quantity` says.
    - `means`, `means_error`: (n,), the probability of each unit to be on, and its standard error.
    - `pareto_k`: the shape of the tail of the weights; `effective_samples` out of `num_samples` draws.
    - `estimate`: the log-likelihood that was checked; `is_bound`, `is_upper`, `is_exact`: what it is
        claimed to be: a lower bound, an upper bound, or exact.
    - `impossible`: whether the method found that the evidence has probability zero; `converged`: whether it converged,
        without which nothing is trusted.
    - `estimated_means`: (n,), the means that were checked, or None; `print(check)` shows where they differ.
    - `solution`: the single row that was checked; None if there was no solution yet.
    - `trusted`: whether the numbers of the solution can be used as they are: it has converged, the draws are reliable,
        and they show that ln P is within 0.1 and every mean within 0.05 of the truth. It means the same for bounds. Of
        an exact solution they must show no difference that chance does not explain, and would show larger ones.
    - `sampler`: where the draws come from: importance sampling of a belief network, or population annealing of a
        Boltzmann machine, whose effective samples are families of states with a common start at infinite temperature.
    - `verdict`: all of this in words. `corrected()`: the numbers of the draws as a solution.

    >>> import plefka as pf
    >>> check = pf.infer(pf.example("espresso"), {"slow_flow": 1}, "exact").check(seed=0)
    >>> check
    <Check: trusted, ln P(evidence) ...>
    >>> print(check)
    ln P(evidence) = ...
    <BLANKLINE>
    unit...by the solution  by the draws  standard error  difference
    ...
    """

    log_likelihood: float
    standard_error: float
    means: np.ndarray
    means_error: np.ndarray
    pareto_k: float
    effective_samples: float
    num_samples: int
    estimate: float
    is_bound: bool = False
    is_exact: bool = False
    impossible: bool = False
    converged: bool = True
    estimated_means: np.ndarray | None = None
    solution: "Solution | None" = None
    quantity: str = "ln P(evidence)"
    sampler: str = IMPORTANCE
    is_upper: bool = False

    def __repr__(self) -> str:
        word = "trusted" if self.trusted else "not trusted"
        return f"<Check: {word}, {self.quantity} {self.log_likelihood:.6g} +- {self.standard_error:.2g}>"

    def __str__(self) -> str:
        return check_table(self)

    def _repr_html_(self) -> str:
        """A table for notebooks: the verdict, and the units that differ most."""
        return check_html(self)

    def shifted(self, by: float) -> "Check":
        """The check with a constant added to every log-likelihood."""
        return replace(self, log_likelihood=self.log_likelihood + by, estimate=self.estimate + by) if by else self

    @property
    def interval(self) -> tuple[float, float]:
        """Where ln P(evidence) lies in 95 of 100 cases, if the draws are reliable."""
        reach = INTERVAL * self.standard_error
        return self.log_likelihood - reach, self.log_likelihood + reach

    @property
    def reliable(self) -> bool:
        """Whether enough draws carry weight, and none that were not seen can be expected to outweigh them.

        The latter is so where the weights have a tail that averages can bear, or where most draws are effective.
        """
        if not np.isfinite(self.log_likelihood) or self.has_few_effective:
            return False
        return self.pareto_k < USABLE or self.effective_samples >= MOSTLY_EFFECTIVE * self.num_samples

    @property
    def has_few_effective(self) -> bool:
        """Whether too few draws carry weight for averages over them."""
        return self.effective_samples < min(FEWEST_EFFECTIVE, self.num_samples / 4)

    @property
    def gap(self) -> float:
        """By how much the estimate lies outside the interval: above it if positive, below it if negative.

        An estimate that is not finite is its own gap.
        """
        if not np.isfinite(self.estimate):
            return self.estimate
        low, high = self.interval
        return max(0.0, self.estimate - high) - max(0.0, low - self.estimate)

    @property
    def mean_differences(self) -> np.ndarray:
        """By how much the means that were checked lie above those of the draws; nan where there is no number."""
        return np.zeros_like(self.means) if self.estimated_means is None else self.estimated_means - self.means

    def _is_close(self, errors: float) -> bool:
        """Whether ln P and all means are close to the truth if that is so many errors further away than the draws."""
        log_p = abs(self._above) + errors * self.standard_error
        means = np.abs(self.mean_differences) + errors * self.means_error
        return bool(log_p <= SMALL_DIFFERENCE and means.max(initial=0.0) <= SMALL_MEAN)

    @property
    def agrees(self) -> bool:
        """Whether the draws show that ln P and all means are close to the truth."""
        return self._is_close(SURE)

    @property
    def differs(self) -> bool:
        """Whether the draws show that ln P or a mean is not close to the truth."""
        return not self._is_close(-SURE_NOT)

    @property
    def close(self) -> bool:
        """Whether ln P and all means are as close as `agrees` asks for, if the draws had no errors."""
        return self._is_close(0.0)

    @property
    def precise(self) -> bool:
        """Whether the draws would show that an exact value is wrong, and do not: it is close, and errors are small."""
        errors = float(self._chance_errors.max(initial=0.0))
        return (
            self.standard_error <= SMALL_DIFFERENCE / 2
            and errors <= SMALL_MEAN
            and abs(self._above) <= SMALL_DIFFERENCE
        )

    @property
    def _above(self) -> float:
        """By how much the estimate lies above ln P of the draws."""
        return self.estimate - self.log_likelihood

    @property
    def settled(self) -> bool:
        """Whether more draws could not change the verdict, as a rule."""
        decided = self.precise or self.contradicted if self.is_exact else self.agrees or self.differs
        return self.reliable and decided

    def is_within_reach(self, most: int) -> bool:
        """Whether so many draws might be reliable, if as many of them are effective as of these."""
        return self.effective_samples * most >= FEWEST_EFFECTIVE * self.num_samples

    @property
    def trusted(self) -> bool:
        if not (self.converged and self.reliable and np.isfinite(self.estimate)) or self.contradicted:
            return False
        return self.precise if self.is_exact else self.agrees

    @property
    def contradicted(self) -> bool:
        """Whether the draws exclude that the estimate is what it is claimed to be: exact, or a bound."""
        above, far = self._above, CHANCE * self.standard_error + rounding(self.estimate)
        if not self.is_exact:
            return bool((self.is_bound and above > far) or (self.is_upper and above < -far))
        return bool(not abs(above) <= far or self.contradicted_means.any())

    @property
    def contradicted_means(self) -> np.ndarray:
        """(n,): the means that differ from those of the draws by more than chance explains in so many units."""
        most = np.sqrt(CHANCE**2 + 2 * np.log(max(1, len(self.means))))
        return ~(np.abs(self.mean_differences) <= most * self._chance_errors + DRAWN_ROUNDING)

    @property
    def _chance_errors(self) -> np.ndarray:
        """The errors of the draws' means, and no less than those that the checked means would lead to.

        Draws none of which has a rare state know no error of it.
        """
        if self.estimated_means is None:
            return self.means_error
        u = np.clip(self.estimated_means, 0.0, 1.0)
        return np.maximum(self.means_error, np.sqrt(u * (1 - u) / max(1.0, self.effective_samples)))

    @property
    def verdict(self) -> str:
        return verdict_of(self)

    def corrected(self) -> "Solution":
        """The solution with ln P and the means of the draws, and their standard errors, instead of its own.

        An exact solution that the draws do not contradict stays as it is. Draws that are not reliable are refused.
        """
        solution = self.solution
        if solution is None:
            raise InvalidInput("only the check of a solution can be corrected; use solution.check(seed=0).")
        if self.is_exact and not self.contradicted:
            return solution
        if not self.reliable:
            raise InvalidInput(f"the samples must be reliable to be used instead of the solution. {self.verdict}")
        method = Corrected("corrected", inner=solution.method)
        note = (
            f"ln P and means are averages over {self.num_samples:,} weighted samples "
            f"(effective sample size {self.effective_samples:,.0f}), with a standard error of "
            f"{self.standard_error:.2g} in ln P and of {self.means_error.max(initial=0.0):.2g} in a mean at most"
        )
        before = f"{solution.method} alone says ln P = {solution.log_partition:.6g}"
        return replace(
            solution, means=self.means, log_partition=self.log_likelihood, standard_error=self.standard_error,
            means_error=self.means_error, status=Status.CONVERGED, codes=solution.codes.estimated(), method=method,
            methods=(method,), notes=(note, before, *solution.notes), checked=self,
        )  # fmt: skip


@dataclass(frozen=True)
class Corrected(Method):
    """What a corrected solution says of where it comes from; nothing to ask `infer` for."""

    inner: Method = METHODS["auto"]

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        raise does_not_apply(self, "it only says how a solution was found", f"infer with {self.inner}, and check it,")

    def __str__(self) -> str:
        return f"{self.inner} corrected by its check"
