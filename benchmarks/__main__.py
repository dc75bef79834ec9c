"""`python -m benchmarks --out FOLDER`: run, print a table, and keep it as JSON with the machine's facts."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks import core
from benchmarks.measure import machine
from plefka.formats import atomic
from plefka.tables import text_table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    folder = parser.parse_args().out
    rows = []
    for row in core.rows():
        print(f"{row.name}: {row.value:.4g} {row.unit} (aim: {row.aim})", file=sys.stderr, flush=True)
        rows.append(row)
    lines = [(r.name, f"{r.value:.4g} {r.unit}", r.aim, "yes" if r.met else "no") for r in rows]
    print(text_table(("benchmark", "measured", "aim", "met"), lines))
    folder.mkdir(parents=True, exist_ok=True)
    facts = json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=2)
    atomic.write(folder / "core.json", facts.encode())
    print(f"saved to {folder / 'core.json'}")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
