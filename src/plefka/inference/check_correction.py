"""`Check.corrected`: the numbers of the draws as a solution, where they are better than those of the method."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from plefka.errors import InvalidInput
from plefka.inference.library import METHODS
from plefka.methods.method import Method, does_not_apply
from plefka.methods.status import Status

if TYPE_CHECKING:
    from plefka.inference.check_verdict import Check
    from plefka.inference.solution import Solution
    from plefka.methods.posterior import Posterior
    from plefka.reduction.question import Part


@dataclass(frozen=True)
class Corrected(Method):
    """What a corrected solution says of where it comes from; nothing to ask `infer` for."""

    inner: Method = METHODS["auto"]

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        raise does_not_apply(self, "it only says how a solution was found", f"infer with {self.inner}, and check it,")

    def __str__(self) -> str:
        return f"{self.inner} corrected by its check"


def corrected(check: "Check") -> "Solution":
    """The solution that was checked, with the numbers of the draws."""
    solution = check.solution
    if solution is None:
        raise InvalidInput("only the check of a solution can be corrected; use solution.check(seed=0).")
    if check.is_exact and not check.contradicted:
        return solution
    if not check.reliable:
        raise InvalidInput(f"the samples must be reliable to be used instead of the solution. {check.verdict}")
    method = Corrected("corrected", inner=solution.method)
    note = (
        f"ln P and means are averages over {check.num_samples:,} weighted samples "
        f"(effective sample size {check.effective_samples:,.0f}), with a standard error of {check.standard_error:.2g} "
        f"in ln P and of {check.means_error.max(initial=0.0):.2g} in a mean at most"
    )
    before = f"{solution.method} alone says ln P = {solution.log_partition:.6g}"
    return replace(
        solution, means=check.means, log_partition=check.log_likelihood, standard_error=check.standard_error,
        means_error=check.means_error, status=Status.CONVERGED, codes=solution.codes.estimated(), method=method,
        methods=(method,), notes=(note, before, *solution.notes), checked=check,
    )  # fmt: skip
