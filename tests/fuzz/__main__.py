"""`python -m tests.fuzz [--seconds 60] [--cases N] [--draws N] [--seed S] [--out FILE]`, or `--replay CASE`.

It tries the plefka that Python finds: with PYTHONPATH=/another/tree/src that of another tree.
"""

import argparse
import secrets
import sys
from pathlib import Path

import plefka as pf
from tests.fuzz.running import Fuzz, replayed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, default=None, help="stop when there are so many")
    parser.add_argument("--draws", type=int, default=None, help="stop after so many draws")
    parser.add_argument("--seed", type=int, default=None, help="a new one unless given")
    parser.add_argument("--out", type=Path, default=None, help="a JSON file of counts, from which a run goes on")
    parser.add_argument("--kinds", nargs="*", default=(), help="these kinds of networks alone")
    parser.add_argument("--methods", nargs="*", default=(), help="these methods alone")
    parser.add_argument("--programs", type=Path, default=None, help="a folder in which compiled programs are kept")
    parser.add_argument("--replay", default=None, metavar="CASE")
    options = parser.parse_args()
    if options.programs is not None:
        pf.keep_compiled(options.programs)
    if options.replay is not None:
        return int(not replayed(options.replay).is_good)
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    fuzz = Fuzz(seed, options.out, tuple(options.kinds), tuple(options.methods))
    fuzz.run(options.seconds, options.cases, options.draws)
    print(f"{fuzz.cases:,} cases of {fuzz.next:,} draws in {fuzz.seconds:.0f} s, {fuzz.num_failures:,} failures")
    return int(fuzz.num_failures > 0)


if __name__ == "__main__":
    sys.exit(main())
