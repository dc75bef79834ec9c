"""`plefka uai`: the tasks of the UAI competitions, from their files and to them, so that their scripts can run it."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import plefka as pf
from plefka.cli import options, output
from plefka.cli.targets import check_new
from plefka.errors import InvalidEvidence, InvalidInput, nearest
from plefka.runtime import whole_files

if TYPE_CHECKING:
    from plefka.networks.evidence import Evidence

TASKS = ("PR", "MAR", "MPE")
BUDGET = 20.0  # the shortest limit of the competitions, in seconds
Words = Annotated[
    list[str],
    typer.Argument(
        metavar="[EVID] TASK",
        help="The evidence file, or - or nothing for no evidence; and the task: PR (log10 of the partition function or "
        "of P(evidence)), MAR (marginals of all variables) or MPE (the most probable state).",
    ),
]
Output = Annotated[
    Path | None,
    options.of_out(metavar="FILE|-", help="The file to write, or - to print. By default MODEL.uai.TASK."),
]
Budget = Annotated[
    float | None,
    typer.Option(min=0.01, metavar="SECONDS", help="The time that auto may take, about; 20 by default."),
]


def uai(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A network file, such as MODEL.uai.")],
    words: Words,
    method: options.Method = None,
    budget: Budget = None,
    out: Output = None,
) -> None:
    """Answer a task of the UAI competitions: PR, MAR or MPE, in the format of their solution files.

    An existing solution file is replaced. Exit code 1 says that the method did not converge.
    """
    *given, task = words
    task = task.upper()
    if task not in TASKS or len(given) > 1:
        hint = "" if task in TASKS else nearest(task, TASKS)
        raise InvalidInput(f"must be MODEL, EVID and one of {', '.join(TASKS)}; got {' '.join(words)}.{hint}")
    if method is not None and (budget is not None or task == "MPE"):
        raise InvalidInput("--method is for PR and MAR, and has a budget of its own, as in --method auto[budget=5s].")
    target = Path(f"{model}.{task}") if out is None else out
    if str(target) != "-":
        check_new(target, [model, *(Path(name) for name in given)], force=True)
    pf.keep_compiled()
    network: Any = pf.load(model)
    evidence = _evidence(network, Path(given[0]) if given else None, with_means=task == "MAR")
    spelling = method or f"auto[budget={BUDGET if budget is None else budget:g}s]"
    solutions = [] if task == "MPE" else [pf.infer(network, evidence, spelling, throw=False)]
    answer = _sums(solutions[0], task) if solutions else _most_probable(network, evidence)
    text = f"{task}\n{answer}\n"
    if str(target) == "-":
        print(text, end="")
    else:
        whole_files.write(target, text.encode())
    output.exit_with(solutions)


def _evidence(network: Any, path: Path | None, *, with_means: bool) -> "Evidence":
    """What a file of evidence says of the network; means cost time, and are asked for where they are printed."""
    from plefka.networks.evidence import as_evidence

    observed = pf.load_evidence(path) if path is not None and str(path) != "-" else {}
    if isinstance(observed, list):
        raise InvalidEvidence(f"{path}: uai answers one sample of evidence; got {len(observed)}. Split the file.")
    found = as_evidence(network, {unit: int(state) for unit, state in observed.items()})
    return found if with_means else found._replace(wanted=network.roots & False)


def _sums(solution: "pf.Solution", task: str) -> str:
    """log10 of the partition function, or the number of variables and of each its number of states and P(state)."""
    if solution.status is pf.Status.IMPOSSIBLE:
        raise InvalidEvidence(f"{solution.status.value}: {solution.contradiction()}.")
    if not solution.is_exact if task == "MAR" else solution.log_partition_accuracy is not pf.Accuracy.EXACT:
        print(f"plefka: {task} by {solution.method}: {'; '.join(solution.notes) or 'an estimate'}", file=sys.stderr)
    if task == "PR":
        return repr(float(solution.log_partition) / math.log(10))
    return " ".join((str(len(solution.names)), *(f"2 {1 - on!r} {on!r}" for on in solution.means.tolist())))


def _most_probable(network: Any, evidence: "Evidence") -> str:
    with output.quiet_solver():
        found = pf.most_probable(network, evidence._replace(wanted=None))
    if not found.proven[0]:
        print(f"plefka: by {found.method}: a state up to {found.gap[0]:.3g} nats above may exist", file=sys.stderr)
    off, _ = network.values
    return " ".join((str(network.size), *(str(int(state != off)) for state in found.states[0])))
