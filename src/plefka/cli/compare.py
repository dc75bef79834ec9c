"""`plefka compare`: every method that applies, beside the exact one."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from plefka.cli import options, output
from plefka.inference.solution_text import estimates, kind_of, quantity_of, status_word

if TYPE_CHECKING:
    from plefka.inference.solution import Solution
    from plefka.networks.belief import BeliefNetwork

THREADS = 2  # of which mostly one traces, in Python, and the other compiles
Answer = TypeVar("Answer")
LEFT_OUT = ("G10", "gibbs")  # G10 is G11, as its first order term averages to zero; gibbs needs a seed
COMPARED = ("error", "worst mean", "bound?", "estimates", "status", "steps", "time")


@dataclass(frozen=True)
class TimedMethod:
    """What a method found, and how long it took once it had been compiled."""

    solution: "Solution"
    seconds: float


def compare(net: options.Network, evidence: options.Evidence = None, json: options.Json = False) -> None:
    """Compare the answers of all applicable methods with the exact answer."""
    import plefka as pf
    from plefka.cli.source import read_evidence, read_network

    network = read_network(net)
    options.check_single(network, net, "compare")
    observed = read_evidence(network, evidence)
    found, left_out = try_all(lambda method: pf.infer(network, observed, method, throw=False), "comparing methods")
    trials = {method: _timed(network, observed, method) for method in found}  # the first calls compiled
    exact = trials["exact"].solution if "exact" in trials else None
    if json:
        methods = [_content(trial, exact) for trial in trials.values()]
        output.print_json(
            {"network": net, "evidence": output.as_json(observed), "methods": methods, "left_out": left_out}
        )
    else:
        _print(observed, list(trials.values()), exact, left_out)
    output.exit_with([trial.solution for trial in trials.values()])


def try_all(solve: Callable[[str], Answer], label: str) -> tuple[dict[str, Answer], dict[str, str]]:
    """What every method by name makes of it, and those left out with the reason why.

    On all cores: while one program is compiled, the next one is traced.
    """
    from plefka.errors import MethodDoesNotApply
    from plefka.inference.library import METHODS
    from plefka.progress import progress

    answers, left_out = {}, {}
    pool = ThreadPoolExecutor(THREADS)
    try:
        solving = [(name, pool.submit(solve, name)) for name in METHODS if name not in LEFT_OUT]
        for name, solution in progress(solving, label):
            try:
                answers[name] = solution.result()
            except MethodDoesNotApply as error:
                left_out[name] = str(error)
    finally:
        pool.shutdown(cancel_futures=True)
    return answers, left_out


def _timed(network: "BeliefNetwork", evidence: Mapping[str, Any], method: str) -> TimedMethod:
    import plefka as pf

    start = time.perf_counter()
    solution = pf.infer(network, evidence, method, throw=False)
    return TimedMethod(solution, time.perf_counter() - start)


def errors(solution: "Solution", exact: "Solution | None") -> tuple[float, float] | tuple[None, None]:
    """The error of ln P(evidence), and the largest one of a mean."""
    if exact is None:
        return None, None
    worst = float(abs(solution.means - exact.means).max())
    return float(solution.log_partition - exact.log_partition), worst


def _content(trial: TimedMethod, exact: "Solution | None") -> dict[str, Any]:
    from plefka.inference.solution_tables import quantity_column

    solution = trial.solution
    error, worst = errors(solution, exact)
    return {
        "method": str(solution.method),
        "kind": kind_of(solution),
        "is_bound": solution.is_bound,
        "is_exact": solution.is_exact,
        "estimates": [name for name, each in zip(solution.names, solution.accuracy, strict=True) if each == "estimate"],
        quantity_column(solution): solution.log_partition,
        "error": error,
        "largest_mean_error": worst,
        "status": status_word(solution.status),
        "warnings": solution.warnings,
        "num_steps": solution.num_steps,
        "seconds": trial.seconds,
    }


def _print(
    observed: dict, trials: Sequence[TimedMethod], exact: "Solution | None", left_out: Mapping[str, str]
) -> None:
    print(output.state_text(observed))
    print()
    quantity = quantity_of(trials[0].solution)
    output.print_table(("method", quantity, *COMPARED), [_cells(trial, exact) for trial in trials])
    print()
    print(f"error: of {quantity}; worst mean: the largest error of a mean; time: of a second call, so that")
    print("compilation does not count; estimates: how many of the means are not exact.")
    output.print_doubts([trial.solution for trial in trials])
    output.print_left_out(left_out)


def _cells(trial: TimedMethod, exact: "Solution | None") -> tuple[str, ...]:
    solution = trial.solution
    error, worst = errors(solution, None if solution is exact else exact)
    return (
        str(solution.method),
        f"{solution.log_partition:.6f}",
        "" if error is None else f"{error:+.6f}",
        "" if worst is None else f"{worst:.4f}",
        kind_of(solution),
        *estimates(solution),
        status_word(solution.status),
        output.steps_text(solution.num_steps),
        f"{1e3 * trial.seconds:.1f} ms",
    )
