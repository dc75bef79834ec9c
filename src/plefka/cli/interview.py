"""`plefka interview`: one question at a time, on a terminal or from a pipe; a file keeps the answers."""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import plefka as pf
from plefka.cli import options, output, source
from plefka.cli.exits import INTERRUPTED
from plefka.cli.questions import Costs
from plefka.errors import InvalidEvidence, InvalidFile
from plefka.runtime import whole_files

FORMAT = {"format": "plefka-case", "version": 1}  # which the page opens, too
UNKNOWN, LATER, UNDO, STOP = "don't know", "later", "undo", "stop"
SHORT = {"y": 1, "n": 0, "d": UNKNOWN, "l": LATER, "u": UNDO, "s": STOP} | {z: z for z in (UNKNOWN, LATER, UNDO, STOP)}
ADVICE = f"Or answer {UNKNOWN}, {LATER} (then it comes again at the end), {UNDO} (the last answer) or {STOP}."
RANKED = 10
Yes = Annotated[list[str] | None, options.of_units(help="Units that are observed to be on.")]
Target = Annotated[list[str] | None, options.of_units("--target", "-t", help="The units to learn about.")]
StopBelow = Annotated[float, typer.Option(min=0, help="Stop when no question gives so many nats per cost.")]
Certain = Annotated[float, typer.Option(min=0, help="Stop when a cause has this probability.")]
Case = Annotated[Path | None, typer.Option(metavar="FILE", help="The file that keeps the answers. Go on from it.")]


def interview(
    net: options.Network, evidence: options.Evidence = None, yes: Yes = None, case: Case = None, target: Target = None,
    candidate: options.Candidates = None, method: options.Method = None, costs: Costs = None,
    stop_below: StopBelow = 0.01, certain_above: Certain = 0.95, exclusive: options.Exclusive = None,
) -> None:  # fmt: skip
    """Ask one question at a time, each the one that is expected to tell most, and say when to stop.

    Answers are yes, no, the words of the network, don't know, later, undo and stop. They may come from a pipe.
    """
    network = source.read_single(net, "interview")
    units = (options.names_in(some, network.names) or () for some in (yes, target, candidate))
    on, targets, candidates = ([network.names[network.index(unit)] for unit in some] for some in units)
    given = source.read_evidence(network, [*(evidence or ()), *(f"{unit}=1" for unit in on)])
    rules = {"candidates": candidates, "targets": targets, "method": method, "costs": source.read_costs(network, costs)}
    rules |= source.read_conditions(network, None, exclusive)
    asked = {name: rule for name, rule in rules.items() if rule is not None and len(rule)}
    start = pf.Interview(network, given, asked, stop_below, certain_above)
    _ask_all(_resumed(start, case) if case is not None and case.exists() else start, case)


def _ask_all(current: "pf.Interview", case: Path | None) -> None:
    """Until it is time to stop, and what was found. The last answer is taken back where it contradicts others."""
    try:
        while True:
            if case is not None:
                _write(current, case)
            try:
                unit, why, _ = current.next
            except pf.InferenceFailed as error:
                if not current.answers:
                    raise
                print(f"   {error}\n   The last answer is taken back.")
                current = current.undone()
                continue
            if unit is None:
                return _print_end(current, why)
            print(f"\n{len(current.answers) + 1}. {unit}? {why}")
            if (said := _answer(current, unit)) == STOP:
                return _print_end(current, "The answers ended it.")
            current = current.undone() if said == UNDO else current.answered(unit, None if said == UNKNOWN else said)
    except KeyboardInterrupt:
        states = output.state_text(current.observed).partition(": ")[2].replace(", ", ",")
        further = f"--case {case}" if case else f"--evidence '{states}'"
        print(f"\nplefka: interrupted. The same command goes on with {further}.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _answer(current: "pf.Interview", unit: str) -> Any:
    """A state, or a word; wrong input gets a sentence, and the question again."""
    prompt = " / ".join([*reversed(current.words(unit)), UNKNOWN, LATER, UNDO, STOP])
    while True:
        text = ""
        try:
            text = input(f"   {prompt}: ").strip().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
            state = source.read_state(current.network, unit, text)
            return UNKNOWN if state is None else state
        except EOFError:
            return STOP
        except InvalidEvidence as error:
            if (said := SHORT.get(text.casefold())) is not None:
                return said
            print(f"   {error} {ADVICE}")


def _print_end(done: "pf.Interview", why: str) -> None:
    unanswered = [unit for unit in dict(done.answers) if unit not in done.observed]
    not_asked = [f"{unit} ({share:.1%})" for unit, share in done.next.left]
    print(f"\nThe interview ends. {why}\nWithout a state: {', '.join(unanswered) or 'none'}.")
    print(f"Best questions not asked: {', '.join(not_asked) or 'none'}.\n")
    said = [(unit, done.words(unit)[z] if isinstance(z, int) else str(z or UNKNOWN)) for unit, z in done.answers]
    output.print_table(("question", "answer"), said)
    print()
    output.print_table(("cause", "probability"), [(unit, f"{p:.6f}") for unit, p in done.ranking[:RANKED]])


def _write(current: "pf.Interview", path: Path) -> None:
    """The case as a whole, as the page writes it, with the answers in their order."""
    answers = [(unit, asdict(z) if isinstance(z, pf.Likelihood) else z) for unit, z in current.answers]
    content = {"evidence": output.as_json(current.observed), "interview": answers}
    whole_files.write(path, json.dumps({**FORMAT, **current.network.identity, **content}, indent=2).encode())


def _resumed(start: "pf.Interview", path: Path) -> "pf.Interview":
    """With what a case of the page has, and the answers of an interview; the command's own observations count first."""

    def read(unit: str, value: Any) -> Any:
        name = start.network.names[start.network.index(unit)]
        text = f"{value['on']!r}:{value['off']!r}" if isinstance(value, dict) else str(value)
        return value if value == LATER else source.read_state(start.network, name, text)

    try:
        content = json.loads(path.read_bytes())
        if content.get("format", FORMAT["format"]) != FORMAT["format"]:
            raise ValueError(f"its format is {content['format']!r}")
        known = content["evidence"] if "format" in content else content
        answers = tuple((unit, read(unit, z)) for unit, z in content.get("interview", ()))
        before = {unit: z for unit in known.keys() - dict(answers) if (z := read(unit, known[unit])) is not None}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidFile(f'{path}: must be a case as JSON, such as {{"fever": 1}}; {error}.') from error
    return replace(start, evidence={**before, **start.evidence}, answers=answers)
