"""What `infer` returns: the answer, whether to believe that it was reached, and how to check it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import InvalidInput, PlefkaError

if TYPE_CHECKING:
    from plefka.methods import Method


class Status(Enum):
    """How a computation ended; the value is the sentence for the user."""

    CONVERGED = "converged"
    OUT_OF_STEPS = (
        "ran out of steps before the means settled; raise max_steps or tol, as in G12[max_steps=10000], "
        "of gibbs its sweeps and temperatures, of findings k and samples, or try another method"
    )
    DIVERGED = (
        "diverged: the free energy fell below what any probability allows, as it is unbounded below here; use a first "
        "order scheme such as G12, or a bound"
    )
    NOT_FINITE = (
        "the free energy is not a finite number at the starting point; look for weights of extreme size, "
        "or use a method that does not expand the energy"
    )
    IMPOSSIBLE = (
        "the evidence is impossible: its probability is zero; correct it, give a unit that is observed on a leak, "
        "or make a certain edge less than certain"
    )
    WITHOUT_LEAK = (
        "has no finite answer, as a noisy-or unit that is on or hidden has no leak, or one below 1e-12; give it one "
        "(a positive bias), or use bethe, which needs none"
    )


ABOVE_ZERO = "ln P(evidence) above 0 cannot be the logarithm of a probability; compare with another method"
ABOVE_LIKELIHOODS = (
    "ln P(evidence) above what its Likelihoods allow cannot be the logarithm of a probability; compare with another "
    "method"
)
ROUNDING = 1e-6  # how far above 0 a log-likelihood of 0 may come out, in float32 too

STATUS_CODES = tuple(Status)  # inside a computation a status is its position in this list, from 1
RUNNING, CONVERGED, OUT_OF_STEPS, DIVERGED, NOT_FINITE, IMPOSSIBLE, WITHOUT_LEAK = range(7)


class InferenceFailed(PlefkaError):
    """A single inference that did not converge; `solution` is what was reached."""

    def __init__(self, solution: "Solution"):
        self.solution = solution
        super().__init__(
            f"{solution.method} {solution.status.value}. "
            f"After {solution.num_steps} steps the residual is {solution.residual:.2g}. "
            f"{''.join(f'{note[0].upper()}{note[1:]}. ' for note in solution.notes)}"
            "Pass throw=False to get the solution as it is."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Posterior means and ln P(evidence), of one row of evidence or of a batch, where every field gains an axis.

    - `means`: (n,) or (B, n), the probability of each unit to be on; observed units have their value.
    - `log_likelihood`: the estimate of ln P(evidence), or a lower bound where `is_bound`.
    - `status`, `converged`, `num_steps`, `residual`: how the solver ended, and by how much a further step would
        change the means at most.
    - `num_restarts`: how many further starting points were tried.
    - `notes`: how it was computed, where that was chosen or approximated for this network.
    - `is_exact`: whether it is ln P(evidence) itself, up to rounding.
    - `checked`: what `infer(..., check=True)` found, see `check`.
    - `warnings`: what speaks against an answer although it converged.
    """

    means: Any
    log_likelihood: Any
    status: Any
    num_steps: Any
    residual: Any
    num_restarts: int
    num_cycles: Any
    is_bound: bool
    method: "Method"
    names: tuple[str, ...]
    observed: Any
    notes: tuple[str, ...] = ()
    network: Any = None
    evidence: Any = None
    prune: bool = True
    proposals: Any = None
    is_exact: bool = False
    checked: Any = None

    @property
    def free_energy(self) -> Any:
        """-log_likelihood: what the method minimised."""
        return -self.log_likelihood

    @property
    def is_batch(self) -> bool:
        """Whether there is more than a single row."""
        return np.ndim(self.log_likelihood) > 0

    @property
    def converged(self) -> Any:
        """True, or one for each row."""
        converged = np.asarray(self.status) == Status.CONVERGED
        return converged if self.is_batch else bool(converged)

    @property
    def warnings(self) -> list:
        """Sentences, none where all is well; of a batch, such a list for each row."""
        highest = 0.0 if self.evidence is None else self.evidence.highest
        above = np.atleast_1d(self.converged & (np.asarray(self.log_likelihood) > highest + ROUNDING))
        sentence = ABOVE_ZERO if np.all(highest == 0) else ABOVE_LIKELIHOODS
        found = [[sentence] if doubtful else [] for doubtful in above]
        return found if self.is_batch else found[0]

    def check(self, *, seed: int, num_samples: int | None = None) -> Any:
        """Draw states from the solution and weigh them by the network: ln P(evidence) and means with their errors.

        Where noisy-or units are on, draws are those of `findings`, unless the solution is exact.
        The verdict says in words whether they can be believed, and whether they contradict the solution. Of a batch, a
        list with one `Check` for each row.
        """
        from plefka.sampling.checking import check

        return check(self, seed, num_samples)

    def covariance(self) -> np.ndarray:
        """cov(S_i, S_j | evidence) by linear response, (n, n); for free energies, and a single row."""
        from plefka.response import covariance

        return covariance(self)

    def covariance_product(self, vector: Any) -> np.ndarray:
        """covariance() @ vector, without forming the matrix."""
        from plefka.response import product

        z = np.asarray(vector, float)
        if z.shape != (len(self.names),):
            raise InvalidInput(f"vector must have one number for each unit, ({len(self.names)},); got {z.shape}.")
        return product(self, z)

    def marginals(self) -> dict[str, Any]:
        """{name: P(on | evidence)}; of a batch, {name: one for each row}."""
        return {name: self.means[..., unit] for unit, name in enumerate(self.names)}

    def ranking(self, top: int | None = None, *, among: str | Sequence[str | int] = "all") -> list:
        """The hidden units, most probable first: [(name, P(on | evidence)), ...]; of a batch, such a list for each row.

        **Arguments:**

        - `top`: how many of them; all unless given.
        - `among`: "all", "causes" (units without parents), or names of units.
        """
        from plefka.ranking import ranking

        return ranking(self, top, among)

    def __repr__(self) -> str:
        if self.is_batch:
            done = f"{int(np.sum(self.converged)):,} of {len(self.log_likelihood):,} rows converged"
            return f"<Solution by {self.method}: {done}, mean log_likelihood {np.mean(self.log_likelihood):.6g}>"
        return f"<Solution by {self.method}: log_likelihood {self.log_likelihood:.6g}, {self.status.name.lower()}>"

    def __str__(self) -> str:
        from plefka.tables import solution_table

        return solution_table(self)
