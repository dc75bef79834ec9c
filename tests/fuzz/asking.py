"""How a draw is asked: by a method, pruned or not, as a batch, row by row or inside a trace; and what is answered."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

import plefka as pf
from tests.fuzz.drawing import Draw

EXACT, LOWER, UPPER, ESTIMATE, OBSERVED = "exact", "lower bound", "upper bound", "estimate", "observed"
CONVERGED, IMPOSSIBLE, REFUSED, CRASHED = "converged", "impossible", "refused", "crashed"
FEW, FEWEST = 16, 2  # rows that are asked by methods that take long for a row, and inside a trace
# Rows of a batch, where a draw is asked in several. What has up to 63 rows is filled up to few sizes, so that networks
# share programs; what has more rows to many sizes, and for nearly every draw there is something to compile.
BATCH = 48
STEPS = "max_steps=200"  # what has not converged by then says so
SOLVED = tuple(f"{name}[{STEPS}]" for name in ("G1", "G2", "G11", "G12", "G22", "G221"))
ANY = ("bethe", *SOLVED, "conditioned[G12,k=2]")
NOISY_OR = (*ANY, "findings[k=1]")
MACHINE = ("bethe", *(f"G{order}[{STEPS}]" for order in (1, 2, 3, 4)), "conditioned[G2,k=2]")
SLOW = ("gibbs[sweeps=50,burn=20,temperatures=10,runs=4,seed=0]", "mixture[2]", "conditioned[bethe,k=1]")
TRACED = ("exact", "bethe", f"G1[{STEPS}]", f"G12[{STEPS}]")


class Asking(NamedTuple):
    """A method, and how it is called; spelled `exact+unpruned+alone`."""

    method: str
    options: frozenset[str] = frozenset()

    @classmethod
    def spelled(cls, text: str) -> "Asking":
        method, *options = text.split("+")
        return cls(method, frozenset(options))

    def __str__(self) -> str:
        return "+".join((self.method, *sorted(self.options)))

    @property
    def together(self) -> "Asking":
        """The same of all rows at once."""
        return self._replace(options=self.options - {"alone"})

    @property
    def name(self) -> str:
        """Of the method, without its options."""
        return self.method.partition("[")[0]

    def num_rows(self, draw: Draw) -> int:
        """How many of them are asked: the first so many."""
        return FEWEST if "traced" in self.options else FEW if "few" in self.options else len(draw.known)

    def batches(self, draw: Draw) -> list[np.ndarray]:
        """Rows that are asked together."""
        count = self.num_rows(draw)
        step = BATCH if "batches" in self.options else count
        return [np.arange(first, min(first + step, count)) for first in range(0, count, step)]


FINDINGS = [Asking(name, frozenset({"few"})) for name in ("findings", "findings[samples=0,k=1]")]
COMPILED = 0.1  # of draws are asked by methods that need a program, beside the others
IN_FULL = 0.005  # of draws are asked by these about all rows


class Answer(NamedTuple):
    """About one row."""

    status: str
    log_p: float = np.nan
    means: Any = None  # (n,)
    log_p_claim: str = ESTIMATE  # what the number is said to be
    claims: Any = None  # (n,): the same of the means
    log_likelihood: float = np.nan  # of a machine, beside ln Z
    log_likelihood_claim: str = ESTIMATE
    message: str = ""


def askings(kind: str, seed: int) -> list[Asking]:
    """How a draw is asked: always by `exact` and `auto`, and by a few others."""
    rng = np.random.default_rng([seed, 2])
    noisy_or = "noisy-or" in kind or kind == "diagnosis"
    methods = MACHINE if "machine" in kind else NOISY_OR if noisy_or else ANY
    methods = (*methods, f"SJJ[{STEPS}]") if "sigmoid" in kind else methods
    found = [Asking("exact"), Asking("auto"), *(FINDINGS if noisy_or else ())]
    found += [Asking("exact", frozenset({"unpruned"}))] * (rng.random() < 0.5)
    found += [Asking(str(rng.choice(["exact", "auto"])), frozenset({"alone"}))]
    if rng.random() < COMPILED:
        found += [Asking(str(rng.choice(methods)), frozenset({"batches"}))]
        found += [Asking(str(rng.choice(methods)), frozenset({str(rng.choice(["unpruned", "alone"])), "batches"}))]
    if rng.random() < IN_FULL:
        found += [Asking(str(rng.choice(methods)))]
    if rng.random() < 0.01:
        found += [Asking(str(rng.choice(TRACED)), frozenset({"traced"}))]
    if rng.random() < 0.02:
        found += [Asking(str(rng.choice(SLOW)), frozenset({"few"}))]
    return list(dict.fromkeys(found))


def asked(draw: Draw, asking: Asking, rows: Sequence[int]) -> list[Answer]:
    """What is answered about some rows; all rows are asked together, unless each is asked alone."""
    method, prune = asking.method, "unpruned" not in asking.options
    if "alone" in asking.options:
        return [_safely(partial(_alone, draw, row, method, prune), 1)[0] for row in rows]
    ask, wanted, found = _traced if "traced" in asking.options else _together, {*rows}, {}
    for batch in asking.batches(draw):
        if not wanted.isdisjoint(batch.tolist()):
            answers = _safely(partial(ask, draw.take(batch), method, prune), len(batch))
            found.update(zip(batch.tolist(), answers, strict=True))
    return [found[row] for row in rows]


def _safely(ask: Callable[[], list[Answer]], count: int) -> list[Answer]:
    """Refusals and failures are answers too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pf.errors.PlefkaWarning)
            warnings.simplefilter("error", RuntimeWarning)  # of NumPy: an overflow that nobody expected
            return ask()
    except pf.errors.InvalidEvidence as error:
        return [Answer(IMPOSSIBLE, -np.inf, message=str(error))] * count
    except pf.errors.PlefkaError as error:
        return [Answer(REFUSED, message=f"{type(error).__name__}: {error}")] * count
    except Exception as error:
        return [Answer(CRASHED, message=f"{type(error).__name__}: {error}")] * count


def _alone(draw: Draw, row: int, method: str, prune: bool) -> list[Answer]:
    return _answers(pf.infer(draw.row_network(row), draw.evidence(row), method, prune=prune, throw=False))


def _together(draw: Draw, method: str, prune: bool) -> list[Answer]:
    return _answers(pf.infer(draw.network, draw.evidence(), method, prune=prune, throw=False))


def _answers(solution: Any) -> list[Answer]:
    """One for each row of a solution."""
    means, log_p = np.atleast_2d(solution.means), np.atleast_1d(solution.log_partition)
    status = [pf.Status(z).name.lower() for z in np.atleast_1d(np.asarray(solution.status, object))]
    log_p_claim, claims = _claimed(solution)
    found = [Answer(*row) for row in zip(status, log_p, means, log_p_claim, claims, strict=True)]
    if solution.network.is_normalised:
        return found
    likelihood = np.atleast_1d(solution.log_likelihood), _likelihood_claims(solution)
    return [
        answer._replace(log_likelihood=z, log_likelihood_claim=claim) for answer, z, claim in zip(found, *likelihood)
    ]


def _claimed(solution: Any) -> tuple[list[str], np.ndarray]:
    """What ln P (rows,) and the means (rows, n) are said to be: by accuracies, or the flags of older versions."""
    if hasattr(solution, "accuracy"):
        return _words(solution.log_partition_accuracy), np.reshape(_words(solution.accuracy), (-1, len(solution.names)))
    kind = EXACT if solution.is_exact else LOWER if solution.is_bound else ESTIMATE
    if any("this is an upper bound" in note for note in solution.notes):
        kind = UPPER
    means = np.atleast_2d(solution.means)
    guessed = np.zeros(means.shape, bool) if solution.predicted is None else np.atleast_2d(solution.predicted)
    claims = np.where(guessed, ESTIMATE, EXACT if solution.is_exact else ESTIMATE)
    return [kind] * len(means), np.where(np.atleast_2d(solution.observed), OBSERVED, claims)


def _words(accuracies: Any) -> list[str]:
    return [accuracy.value for accuracy in np.ravel(np.asarray(accuracies, object))]


def _likelihood_claims(solution: Any) -> list[str]:
    if hasattr(solution, "log_likelihood_accuracy"):
        return _words(solution.log_likelihood_accuracy)
    return [EXACT if solution.is_exact else ESTIMATE] * solution.num_rows


def _traced(draw: Draw, method: str, prune: bool) -> list[Answer]:
    """Inside a trace of the evidence, or of the biases where there is soft evidence."""
    evidence, claims = draw.evidence(), []

    def of_rows(rows: Any) -> Any:
        return of(draw.network, rows)

    def of_bias(bias: Any) -> Any:
        return of(draw.network.with_parameters((draw.network.parameters[0], bias)), evidence)

    def of(network: Any, evidence: Any) -> Any:
        solution = pf.infer(network, evidence, method, prune=prune)
        claims.append(_claimed_in_trace(solution))
        return solution.means, solution.log_partition, solution.status

    is_soft = isinstance(evidence, list)
    with jax.enable_x64(True):
        found = jax.jit(of_bias if is_soft else of_rows)(np.asarray(draw.network.bias) if is_soft else evidence)
        means, log_p, status = map(np.asarray, found)
    words = [list(pf.Status)[code - 1].name.lower() for code in status]
    own = np.where((draw.known == 0).any(axis=-1), OBSERVED, EXACT if claims[0] == EXACT else ESTIMATE)
    return [Answer(*row) for row in zip(words, log_p, means, [claims[0]] * len(means), own, strict=True)]


def _claimed_in_trace(solution: Any) -> str:
    """What ln P is said to be, which is known without its numbers; where it is exact, means are."""
    if hasattr(solution, "accuracy"):
        return _words(solution.log_partition_accuracy)[0]
    return EXACT if solution.is_exact else LOWER if solution.is_bound else ESTIMATE
