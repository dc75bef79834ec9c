"""`python -m benchmarks.cpcs360b METHOD`: 360 units of internal medicine, 50 of them observed, solved once.

The network does not come with the library: it is in the folder that PLEFKA_DATA names, or beside the repository.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import plefka as pf

BESIDE = Path(__file__).parents[2] / "shared" / "data"
NAME = "BN_80"  # cpcs360b with its units renumbered, in which the evidence is given


def missing() -> str | None:
    """What to say where there is no network; None where there is one."""
    paths = [_path(kind) for kind in ("signed_noisyor", "reference")]
    absent = [str(path) for path in paths if not path.is_file()]
    return f"there is no {' and no '.join(absent)}; PLEFKA_DATA names the folder of real networks" if absent else None


def solve(method: str) -> None:
    """Print ln P(evidence); the network is stored as its edges."""
    nodes = _read("signed_noisyor")["nodes"]
    children = np.repeat(np.arange(len(nodes)), [len(node["parents"]) for node in nodes])
    parents, strength = (np.concatenate([node[key] for node in nodes]) for key in ("parents", "theta"))
    weights = sp.csr_array((strength, (children, parents.astype(int))), shape=(len(nodes), len(nodes)))
    network = pf.BeliefNetwork(weights, [node["theta0"] for node in nodes], "noisy_or")
    print(pf.infer(network, _read("reference")["evidence"], method, throw=False).log_likelihood)


def _path(kind: str) -> Path:
    return Path(os.environ.get("PLEFKA_DATA") or BESIDE) / "cpcs" / f"{NAME}.{kind}.json"


def _read(kind: str) -> dict:
    return json.loads(_path(kind).read_text(encoding="utf-8"))


if __name__ == "__main__":
    solve(*sys.argv[1:])
