"""`plefka convert`: a network from one file format to another."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plefka.cli import options, output
from plefka.cli.targets import check_new, check_target, claimed

if TYPE_CHECKING:
    from plefka.files.recognition import Form

Source = Annotated[Path, typer.Argument(metavar="A", help="A network file: .json, .npz, .bif, .xmlbif, .uai, ...")]
Target = Annotated[Path, typer.Argument(metavar="B", help="The file to write. Its suffix selects the format.")]
Approximate = Annotated[
    float | None,
    typer.Option(
        "--approximate",
        metavar="ERROR",
        help="Replace tables by noisy-or or sigmoid units if no probability changes by more than this, e.g. 0.02.",
    ),
]


def convert(
    source: Source,
    target: Target,
    approximate: Approximate = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Convert a network file to another format."""
    from plefka.files import convert, stored_in

    check_target(target)
    files = stored_in(target)
    for file in files:
        check_new(file, [source], force=force)
    with claimed(files[0], [source], force=force):
        forms = convert(source, target, approximate)
    if json:
        output.print_json({"source": str(source), "target": str(target), "units": [_content(form) for form in forms]})
        return
    print(f"saved to {target}")
    _print_forms(forms)


def _content(form: "Form") -> dict:
    return {"name": form.unit.name, "kind": form.kind, "num_parents": len(form.parents), "error": form.error}


def _print_forms(forms: "list[Form]") -> None:
    """How many units are of each kind, and what an approximation costs."""
    from plefka.files.linear_fits import TOLERANCE

    if forms:
        print()
        counts = Counter(form.kind for form in forms)
        output.print_table(("recognised as", "units"), [(kind, f"{count:,}") for kind, count in counts.most_common()])
    costs = sorted((form for form in forms if form.error > TOLERANCE), key=lambda form: -form.error)
    if costs:
        print()
        rows = [(form.unit.name, form.kind, f"{form.error:.2g}") for form in costs[: output.PRINTED_ROWS]]
        output.print_table(("unit", "approximated by", "largest error"), rows)
        output.print_more(len(costs), len(rows))
