"""`python -m benchmarks [SUITE ...] --out FOLDER`: run, print tables, keep JSON; some suites resume from the folder."""

import argparse
import json
import sys
from dataclasses import asdict
from importlib import import_module
from inspect import signature
from pathlib import Path

from benchmarks.measure import Row, machine
from plefka.runtime import whole_files
from plefka.tables.display import text_table

SUITES = (
    "core", "beyond", "learning", "learning_scale", "reproduction", "latency", "streams", "rows_ended", "spreadsheet",
    "findings", "real_networks", "calibration", "batches", "serve", "many_rows",
    "boltzmann", "hard", "machine_learning", "rare_diseases", "chains", "questions", "coverage",
    "promedas_uai", "bounds", "records", "planted", "honest", "density", "interview", "page",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "suites", nargs="*", default=SUITES, help=f"of {', '.join(SUITES)}, which is all unless given; or peers or warm"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--over", type=Path, help="clone or worktree of another commit, for `warm`")
    parser.add_argument("--draws", type=int, help="of every kind of network, for `hard` and `planted`")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    return max([run(suite, options.out, options.over, options.draws) for suite in options.suites])


def run(suite: str, folder: Path, other: Path | None = None, draws: int | None = None) -> int:
    """One suite: its table, and its JSON with the machine's facts."""
    rows: list[Row] = []
    measured = import_module(f"benchmarks.{suite}").rows
    given = {"folder": folder, "other": other, "draws": draws}
    for row in measured(**{name: given[name] for name in signature(measured).parameters}):
        print(f"{row.name}: {row.value:.4g} {row.unit} (aim: {row.aim})", file=sys.stderr, flush=True)
        rows.append(row)
    lines = [(r.name, f"{r.value:.4g} {r.unit}", r.aim, "yes" if r.met else "no") for r in rows]
    print(text_table(("benchmark", "measured", "aim", "met"), lines))
    facts = json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=2)
    whole_files.write(folder / f"{suite}.json", facts.encode())
    print(f"saved to {folder / f'{suite}.json'}")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
