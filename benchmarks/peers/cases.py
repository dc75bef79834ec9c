"""The networks that libraries are compared on, with evidence and exact answers."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

BESIDE = Path(__file__).parents[3] / "shared" / "data"
PARENTS = (8, 12, 16, 20, 24)
BIF = ("asia", "cancer", "earthquake", "win95pts", "andes")
PROMEDAS = ("or_chain_218", "or_chain_90")
CPCS = "BN_80"  # cpcs360b
AT_ONCE = 2**18  # states of causes that are summed over together
OFF, ON = "no", "yes"


@dataclass(frozen=True)
class Diagnosis:
    """A noisy-or network of two layers; units are c0, c1, ... and f0, f1, ..., with the states no and yes."""

    priors: list[float]
    leaks: list[float]
    parents: list[list[int]]
    strengths: list[list[float]]

    @property
    def causes(self) -> list[str]:
        return [f"c{k}" for k in range(len(self.priors))]

    @property
    def findings(self) -> list[str]:
        return [f"f{k}" for k in range(len(self.leaks))]


@dataclass(frozen=True)
class Asked:
    """Evidence {unit: state}, and what is true given it."""

    evidence: dict[str, str]
    log_likelihood: float
    probabilities: dict[str, tuple[str, float]]  # of hidden units: a state and how probable it is


@dataclass(frozen=True)
class Case:
    """A network, a diagnosis or a file in BIF, and questions about it: the first, and a later one."""

    name: str
    network: Diagnosis | str
    asked: tuple[Asked, Asked]
    most_parents: int
    size: int


def cases() -> Iterator[Case]:
    """Drawn networks, and real ones where their folder is there."""
    yield from (drawn(count) for count in PARENTS)
    folder = Path(os.environ.get("PLEFKA_DATA") or BESIDE)
    if not folder.is_dir():
        print(f"real networks are left out: there is no {folder}; PLEFKA_DATA names their folder", file=sys.stderr)
        return
    yield from (of_bif(folder, name) for name in BIF)
    yield from (of_promedas(folder, name) for name in PROMEDAS)
    with tempfile.TemporaryDirectory() as written:
        yield of_cpcs(folder, Path(written))


def drawn(count: int) -> Case:
    """A finding of all causes and three of half of them; the answers by summing over all states of the causes."""
    rng = np.random.default_rng(count)
    parents = [list(range(count)), *(sorted(rng.choice(count, count // 2, replace=False).tolist()) for _ in range(3))]
    network = Diagnosis(
        rng.uniform(0.01, 0.1, count).tolist(), rng.uniform(0.001, 0.02, 4).tolist(), parents,
        [rng.uniform(0.1, 0.9, len(some)).tolist() for some in parents],
    )  # fmt: skip
    rows = ((1, 1, 1, 1), (1, 0, 1, 0))
    asked = tuple(_summed(network, {f"f{k}": state for k, state in enumerate(row)}) for row in rows)
    return Case(f"noisy-or of {count} parents", network, (asked[0], asked[1]), count, count + 4)


def _summed(network: Diagnosis, states: dict[str, int]) -> Asked:
    """The exact answer, state by state: nothing is shared with what is measured."""
    prior = np.array(network.priors)
    total, on = 0.0, np.zeros(len(prior))
    for first in range(0, 2 ** len(prior), AT_ONCE):
        number = np.arange(first, min(first + AT_ONCE, 2 ** len(prior)))
        S = (number[:, None] >> np.arange(len(prior))) & 1
        p = np.where(S == 1, prior, 1 - prior).prod(axis=1)
        for k, (leak, parents, strengths) in enumerate(
            zip(network.leaks, network.parents, network.strengths, strict=True)
        ):
            off = (1 - leak) * np.where(S[:, parents] == 1, 1 - np.array(strengths), 1.0).prod(axis=1)
            p *= 1 - off if states[f"f{k}"] else off
        total += p.sum()
        on += p @ S
    evidence = {name: (OFF, ON)[state] for name, state in states.items()}
    means = dict(zip(network.causes, on / total, strict=True))
    return Asked(evidence, float(np.log(total)), {name: (ON, float(mean)) for name, mean in means.items()})


def of_bif(folder: Path, name: str) -> Case:
    """The last two sets of evidence of the reference."""
    reference = _read(folder / "bif" / f"{name}.reference.json")
    first, later = (_bif_asked(reference["states"], case) for case in reference["cases"][-2:])
    path = str(folder / "bif" / f"{name}.bif.gz")
    return Case(name, path, (first, later), _most_parents(path), len(reference["states"]))


def _bif_asked(states: dict[str, list[str]], case: dict[str, Any]) -> Asked:
    hidden = {unit: (states[unit][1], p) for unit, p in case["p_second_state"].items() if unit not in case["evidence"]}
    return Asked(case["evidence"], case["ln_p_evidence"], hidden)


def of_promedas(folder: Path, name: str) -> Case:
    """All findings are on; a later answer is to the same question, as there is one reference."""
    content = _read(folder / "promedas" / f"{name}.json")
    place = {root["id"]: k for k, root in enumerate(content["roots"])}
    network = Diagnosis(
        [root["prior"] for root in content["roots"]],
        [finding["leak"] for finding in content["findings"]],
        [[place[parent] for parent in finding["parents"]] for finding in content["findings"]],
        [finding["p"] for finding in content["findings"]],
    )
    names = {root: f"c{k}" for root, k in place.items()}
    names |= {finding["id"]: f"f{k}" for k, finding in enumerate(content["findings"])}
    evidence = {names[int(unit)]: (OFF, ON)[state] for unit, state in content["evidence"].items()}
    posterior = {names[int(root)]: (ON, p) for root, p in content["posterior_exact"].items()}
    hidden = {unit: value for unit, value in posterior.items() if unit not in evidence}
    asked = Asked(evidence, content["lnZ_exact"], hidden)
    size = len(network.priors) + len(network.leaks)
    return Case(f"Promedas {name}", network, (asked, asked), max(map(len, network.parents)), size)


def of_cpcs(folder: Path, written: Path) -> Case:
    """Tables of the Ergo file, written as BIF, which every library reads."""
    from plefka.files import load_tables
    from plefka.files.bif import dumps
    from plefka.files.conditional_tables import TableNetwork, TableUnit

    tables = load_tables(folder / "cpcs" / f"{CPCS}.erg.gz")
    reference = _read(folder / "cpcs" / f"{CPCS}.reference.json")
    units = [TableUnit(f"x{k}", (OFF, ON), unit.parents, unit.table) for k, unit in enumerate(tables.units)]
    path = written / "cpcs360b.bif"
    path.write_bytes(dumps(TableNetwork(tuple(units))))
    evidence = {f"x{k}": (OFF, ON)[state] for k, state in reference["evidence"].items()}
    hidden = {f"x{k}": (ON, p) for k, p in enumerate(reference["p1"]) if f"x{k}" not in evidence}
    asked = Asked(evidence, reference["ln_p_evidence"], hidden)
    return Case("cpcs360b", str(path), (asked, asked), max(len(unit.parents) for unit in units), len(units))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _most_parents(path: str) -> int:
    from plefka.files import load_tables

    return max(len(unit.parents) for unit in load_tables(path).units)
