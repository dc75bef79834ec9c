"""`plefka compare`: every method that applies, beside the exact one; `plefka demo`: a small diagnosis by all."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import plefka as pf
from plefka.cli import options, output, source
from plefka.cli.targets import check_folder, check_new
from plefka.errors import MethodDoesNotApply
from plefka.inference.solution_words import estimates, kind_of, quantity_of, status_word
from plefka.progress import progress

if TYPE_CHECKING:
    from plefka.networks.examples import Example

THREADS = 2  # of which mostly one traces, in Python, and the other compiles
LEFT_OUT = ("G10", "gibbs")  # G10 is G11, as its first order term averages to zero; gibbs needs a seed
NAME = "espresso"
Out = Annotated[Path, options.of_out(metavar="DIR", help="The folder for the picture.")]
COMPARED = ("error", "worst mean", "bound?", "estimates", "status", "steps", "time")
WHAT_ONE_SEES = """\
What one sees: limescale explains most of the trouble at once, so that the thermostat stays unlikely although the cup is
lukewarm. G11, the simplest mean field, gives it too little credit; here each even order of the expansion (G12, G14)
comes closer to the truth. G21 repeats G11 and G221 repeats G12, because no two hidden units that matter here are parent
and child. G1 and the mixture are lower bounds; an estimate may lie above ln P(findings).

These findings were chosen so that every method gives a sensible answer. With many others G13 does not, since an odd
order is unbounded: plefka compare example:espresso --evidence slow_flow=1,low_pressure=1,sour_taste=0"""


def compare(net: options.Network, evidence: options.Evidence = None, json: options.Json = False) -> None:
    """Compare the answers of all applicable methods with the exact answer."""
    network, observed = source.read_question(net, evidence, "compare")
    found, left_out = try_all(network, observed, "comparing methods")
    trials: dict[str, tuple[pf.Solution, float]] = {}
    for method in found:  # again, as the first calls compiled
        start = time.perf_counter()
        solution = pf.infer(network, observed, method, throw=False)
        trials[method] = solution, time.perf_counter() - start
    exact = trials["exact"][0] if "exact" in trials else None
    solutions = [solution for solution, _ in trials.values()]
    if json:
        methods = [_content(*trial, exact) for trial in trials.values()]
        about = {"network": net, **network.identity, "evidence": output.as_json(observed)}
        output.print_json({**about, "methods": methods, "left_out": left_out})
    else:
        print(output.state_text(observed))
        print()
        quantity = quantity_of(solutions[0])
        output.print_table(("method", quantity, *COMPARED), [_cells(*trial, exact) for trial in trials.values()])
        print()
        print(f"error: of {quantity}; worst mean: the largest error of a mean; time: of a second call, so that")
        print("compilation does not count; estimates: how many of the means are not exact.")
        output.print_doubts(solutions)
        output.print_left_out(left_out)
    output.exit_with(solutions)


def try_all(network: Any, evidence: Any, label: str) -> tuple[dict[str, "pf.Solution"], dict[str, str]]:
    """The solutions of all methods by name, and those left out with the reason why.

    On all cores: while one program is compiled, the next one is traced.
    """
    answers, left_out = {}, {}
    pool = ThreadPoolExecutor(THREADS)
    try:
        names = [name for name in pf.METHODS if name not in LEFT_OUT]
        solving = [(name, pool.submit(pf.infer, network, evidence, name, throw=False)) for name in names]
        for name, solution in progress(solving, label):
            try:
                answers[name] = solution.result()
            except MethodDoesNotApply as error:
                left_out[name] = str(error)
    finally:
        pool.shutdown(cancel_futures=True)
    return answers, left_out


def errors(solution: "pf.Solution", exact: "pf.Solution | None") -> tuple[float, float] | tuple[None, None]:
    """The error of ln P(evidence), and the largest one of a mean."""
    if exact is None:
        return None, None
    worst = float(abs(solution.means - exact.means).max())
    return float(solution.log_partition - exact.log_partition), worst


def _content(solution: "pf.Solution", seconds: float, exact: "pf.Solution | None") -> dict[str, Any]:
    from plefka.inference.solution_tables import quantity_column

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
        "seconds": seconds,
    }


def _cells(solution: "pf.Solution", seconds: float, exact: "pf.Solution | None") -> tuple[str, ...]:
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
        f"{1e3 * seconds:.1f} ms",
    )


# ---- the demonstration -----------------------------------------------------------------------------------------------


def demo(out: Out = Path("demo"), force: options.Force = False) -> None:
    """Run a small diagnosis by every method, and draw the network."""
    from plefka.networks.examples import read_example

    check_folder(out)
    pictures = [out / f"{NAME}.{kind}" for kind in ("png", "svg")]
    for path in pictures:
        check_new(path, [], force=force)
    pf.keep_compiled()
    example = read_example(NAME)
    print(example.about)
    print(output.state_text(example.evidence))
    print()
    solutions, left_out = try_all(example.network, example.evidence, "compiling and solving")
    _print_ranking(example, solutions)
    _print_likelihoods(example, solutions, left_out)
    print(WHAT_ONE_SEES)
    print()
    axes = pf.plots.network(
        example.network, solutions["exact"], title="Which part of the espresso machine is to blame?"
    )
    drawn = " and ".join(str(pf.plots.save(axes, path)) for path in pictures)
    print(f"The network, coloured by its posterior means, is in {drawn}.")
    output.exit_with(list(solutions.values()))


def _causes(example: "Example", solution: "pf.Solution") -> list[str]:
    """The causes, most probable first."""
    return [unit for unit, _ in solution.ranking(None, units="all") if unit in example.causes]


def _print_ranking(example: "Example", solutions: dict[str, "pf.Solution"]) -> None:
    marginals = [solution.marginals() for solution in solutions.values()]
    rows = [
        (f"{place} {cause}", *(f"{100 * means[cause]:.1f}" for means in marginals))
        for place, cause in enumerate(_causes(example, solutions["exact"]), start=1)
    ]
    output.print_table(("cause", *solutions), rows, "P(cause | findings) in percent, most probable first")
    print()


def _print_likelihoods(example: "Example", solutions: dict[str, "pf.Solution"], left_out: dict[str, str]) -> None:
    exact = solutions["exact"]
    ranking = _causes(example, exact)
    rows = [
        (
            name,
            f"{solution.log_likelihood:.4f}",
            "" if solution is exact else f"{solution.log_likelihood - exact.log_likelihood:+.4f}",
            kind_of(solution),
            " ".join(str(1 + ranking.index(cause)) for cause in _causes(example, solution)),
        )
        for name, solution in solutions.items()
    ]
    output.print_table(("method", "ln P(findings)", "error", "bound?", "ranking"), rows)
    print("ranking: the causes in the order of the method, by their place in the exact one")
    output.print_left_out(left_out)
    print()
