"""`plefka demo`: what `make demo` shows, the paper's methods at work beside the truth, and a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plefka.cli import options, output
from plefka.cli.targets import check_folder, check_new
from plefka.inference.solution_text import kind_of

if TYPE_CHECKING:
    from plefka.inference.solution import Solution
    from plefka.networks.examples import Example

NAME = "espresso"
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for the picture.")]

WHAT_ONE_SEES = """\
What one sees: limescale explains most of the trouble at once, so that the thermostat stays unlikely although the cup is
lukewarm. G11, the simplest mean field, gives it too little credit; here each even order of the expansion (G12, G14)
comes closer to the truth. G21 repeats G11 and G221 repeats G12, because no two hidden units that matter here are parent
and child. G1 and the mixture are lower bounds; an estimate may lie above ln P(findings).

These findings were chosen so that every method gives a sensible answer. With many others G13 does not, since an odd
order is unbounded: plefka compare example:espresso --evidence slow_flow=1,low_pressure=1,sour_taste=0"""


def demo(out: Out = Path("demo"), force: options.Force = False) -> None:
    """Run a small diagnosis by every method, and draw the network."""
    from plefka.networks.examples import read_example
    from plefka.runtime.program_cache import keep_compiled

    check_folder(out)
    for path in _pictures(out):
        check_new(path, [], force=force)
    keep_compiled()
    example = read_example(NAME)
    print(example.about)
    print(output.state_text(example.evidence))
    print()
    solutions, left_out = _solve(example)
    _print_ranking(example, solutions)
    _print_likelihoods(example, solutions, left_out)
    print(WHAT_ONE_SEES)
    print()
    _draw(example, solutions["exact"], out)
    output.exit_with(list(solutions.values()))


def _solve(example: "Example") -> tuple[dict[str, "Solution"], dict[str, str]]:
    import plefka as pf
    from plefka.cli.compare import try_all

    return try_all(
        lambda method: pf.infer(example.network, example.evidence, method, throw=False), "compiling and solving"
    )


def _causes(example: "Example", solution: "Solution") -> list[str]:
    """The causes, most probable first."""
    return [unit for unit, _ in solution.ranking(None, units="all") if unit in example.causes]


def _print_ranking(example: "Example", solutions: dict[str, "Solution"]) -> None:
    marginals = [solution.marginals() for solution in solutions.values()]
    rows = [
        (f"{place} {cause}", *(f"{100 * means[cause]:.1f}" for means in marginals))
        for place, cause in enumerate(_causes(example, solutions["exact"]), start=1)
    ]
    output.print_table(("cause", *solutions), rows, "P(cause | findings) in percent, most probable first")
    print()


def _print_likelihoods(example: "Example", solutions: dict[str, "Solution"], left_out: dict[str, str]) -> None:
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


def _pictures(folder: Path) -> list[Path]:
    return [folder / f"{NAME}.{kind}" for kind in ("png", "svg")]


def _draw(example: "Example", solution: "Solution", folder: Path) -> None:
    from plefka import plots

    axes = plots.network(example.network, solution, title="Which part of the espresso machine is to blame?")
    paths = [plots.save(axes, path) for path in _pictures(folder)]
    print(f"The network, coloured by its posterior means, is in {' and '.join(map(str, paths))}.")
