"""One network that is being served, and all that is known of it without computing."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

import plefka as pf
from plefka.errors import MethodDoesNotApply
from plefka.explorer.catalogue import Catalogue, Served
from plefka.explorer.outcomes import encoded
from plefka.networks.examples import Example

COMPARED = ("exact", "findings", "bethe", "G2", "G12")  # of those that apply, unless others are asked for
MANY_PAIRS = 1e8  # of parents, in the whole network: then a second order may take long, and G1 stands for G2
MOST_CASES, FINDINGS = 6, 4
OF_ALL = ("infer", "rows", "compare", "joint", "most_probable", "sample", "save", "table_case")  # networks
OF_CAUSES = ("explain", "ask", "interview", "sensitivity", "tables", "table_rows", "table_validation")


class ServedNetwork:
    """A network by its name, with what visitors ask of it first.

    `file` is where workers find it: nothing for the network that they were started with.
    """

    def __init__(self, network: Served, name: str, example: Example | None = None, file: str = ""):
        self.name, self.file, self.about = name, file, example and example.about
        self.catalogue, self.identity = Catalogue(network), network.identity
        self.methods = _methods(network)
        usual = ["G1" if name == "G2" and network.storage.num_pairs() > MANY_PAIRS else name for name in COMPARED]
        self.compared = [name for name in usual if name in self.methods]
        self.questions = [*OF_ALL, *(OF_CAUSES if network.is_normalised else ())]
        self.kind = {
            "kind": "belief network" if network.is_normalised else "Boltzmann machine",
            "values": network.values, "temperature": getattr(network, "temperature", None),
        }  # fmt: skip
        self.cases = _cases(self.catalogue, example)
        self.names = encoded(self.catalogue.all_names())
        self.priors: list[float] = []

    @property
    def facts(self) -> dict[str, Any]:
        """What it is about."""
        return {
            "name": self.name,
            "title": self.name.replace("_", " "),
            "about": self.about,
            **self.identity,
            **self.kind,
            **self.catalogue.facts,
            "questions": self.questions,
            "methods": self.methods,
            "default_method": "auto",
        }

    @property
    def typical_questions(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The first of them is a ranking."""
        evidence, names = (self.cases[0]["evidence"] if self.cases else {}), self.catalogue.names
        common = {"evidence": evidence, "method": "auto", "top": 10}
        infer = {**common, "check": False, "units": "causes"}
        unseen = next((name for name in names if name not in evidence), None)
        explain: list[tuple[str, Mapping[str, Any]]] = [("explain", {**common, "unit": unseen})] if unseen else []
        typical = [
            ("infer", infer), *explain, ("ask", {**common, "candidates": None, "targets": None}),
            ("infer", {**infer, "check": True}),
        ]  # fmt: skip
        return [(kind, asked) for kind, asked in typical if kind in self.questions]


def _methods(network: Served) -> list[str]:
    """Those that can serve this network; the one that is random, with a seed."""
    found = []
    for spelling in ("gibbs[seed=0]" if name == "gibbs" else name for name in pf.METHODS):
        with suppress(MethodDoesNotApply):
            pf.parse_method(spelling).check(network)
            found.append(spelling)
    return found


def _cases(catalogue: Catalogue, example: Example | None) -> list[dict[str, Any]]:
    """Cases to start from: that of a bundled example, and the commonest findings of causes, of many findings first."""
    own = [] if example is None else [{"title": "The case of this example", "evidence": example.evidence}]
    causes, names = np.flatnonzero((catalogue.num_parents == 0) & (catalogue.num_children > 0)), catalogue.names
    order = np.argsort(-catalogue.num_children[causes], kind="stable")
    chosen = ((cause, catalogue.strongest_children(cause, FINDINGS)) for cause in causes[order[: 4 * MOST_CASES]])
    others = [
        {"title": f"The commonest findings of {names[cause]}", "evidence": {names[finding]: 1 for finding in findings}}
        for cause, findings in chosen
        if findings
    ]
    return own + others[:MOST_CASES]
