"""Rare diseases and published patients: the Human Phenotype Ontology as a noisy-or network.

Diseases are causes and all terms of the ontology but its root are findings. By the true path rule a disease that has a
finding has all that is more general, at least as often: the probability of an edge is the largest frequency of the
finding and of all below it. What is not known has a default:

- a finding whose frequency is not stated occurs in half of the patients (`UNSTATED`); one that is stated as 0 does not;
- no finding is certain (`MOST`), as most frequencies come from a few patients;
- a patient has one of the diseases, any of them: a prior of 1 / diseases each;
- a finding that no disease explains has a leak of `LEAK`.

The data does not come with the library: it is in the folder that PLEFKA_DATA names, or beside the repository.
"""

import gzip
import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
import scipy.sparse as sp

import plefka as pf

BESIDE = Path(__file__).parents[2] / "shared" / "data"
ROOT, CATALOGUE = "HP:0000001", "OMIM:"
UNSTATED, MOST, LEAK = 0.5, 0.98, 0.01


class Patient(NamedTuple):
    """A published case: terms that were found, terms that were looked for and not found, and the disease."""

    name: str
    diagnosis: str
    present: tuple[str, ...]
    excluded: tuple[str, ...]


class Ontology:
    """Terms, and which of them are more general than which."""

    def __init__(self, terms: pd.Index, is_a: pd.DataFrame):
        self.terms = terms
        term, parent = (self.places(is_a[column]) for column in ("term", "parent"))
        steps = sp.csr_array((np.ones(len(term), bool), (term, parent)), shape=(len(terms), len(terms)))
        self.above = _closed(steps)  # (terms, terms): what a term implies, itself included

    def places(self, terms) -> np.ndarray:
        """Where these terms are in the list; those that are not known are left out."""
        found = self.terms.get_indexer(pd.Index(terms))
        return found[found >= 0]

    def most_specific(self, terms) -> np.ndarray:
        """The places of these terms without those that another one implies."""
        places = np.unique(self.places(terms))
        implied = self.above[places][:, places].sum(axis=0) > 1  # by itself, and by another one
        return places[~implied]

    def most_general(self, terms) -> np.ndarray:
        """The places of these terms without those that imply another one: if that is excluded, so are they."""
        places = np.unique(self.places(terms))
        implies = self.above[places][:, places].sum(axis=1) > 1
        return places[~implies]


def _closed(steps: sp.csr_array) -> sp.csr_array:
    """All that can be reached by steps, none included: squared until nothing is new."""
    count = cast(tuple[int, int], steps.shape)[0]
    reached = sp.csr_array(sp.eye_array(count, dtype=bool, format="csr") + steps)
    while True:
        further = sp.csr_array(reached.astype(np.int32) @ reached.astype(np.int32)).astype(bool)
        if further.nnz == reached.nnz:
            return further.astype(np.int32)
        reached = further


class RareDiseases:
    """All diseases of a catalogue, and the terms of the ontology as findings.

    **Example:**

    >>> data = RareDiseases()                                                               # doctest: +SKIP
    >>> patient = data.patients()[0]                                                        # doctest: +SKIP
    >>> pf.infer(data.network, data.evidence(patient)).ranking()                            # doctest: +SKIP
    """

    def __init__(self, folder: Path | None = None, catalogue: str = CATALOGUE):
        self.folder = folder or Path(os.environ.get("PLEFKA_DATA") or BESIDE) / "hpo"
        diseases = self._read("diseases")["disease"]
        self.diseases = pd.Index(diseases[diseases.str.startswith(catalogue)])
        self.ontology = Ontology(pd.Index(self._read("terms")["term"]), self._read("is_a"))
        self.findings = self.ontology.terms.drop(ROOT)

    def _read(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / f"{name}.csv.gz")

    @cached_property
    def network(self) -> pf.BeliefNetwork:
        """Diseases above findings, all of them noisy-or units; names are those of the catalogue and the ontology."""
        disease, finding, p = self._edges()
        causes, size = len(self.diseases), len(self.diseases) + len(self.findings)
        weights = sp.csr_array((-np.log1p(-p), (causes + finding, disease)), shape=(size, size))
        chance = np.r_[np.full(causes, 1 / causes), np.full(size - causes, LEAK)]
        return pf.BeliefNetwork(weights, -np.log1p(-chance), "noisy_or", [*self.diseases, *self.findings])

    def _edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Disease, finding and probability of every edge."""
        known = self._frequencies()
        disease = self.diseases.get_indexer(cast(Any, known["disease"]))
        term = self.ontology.terms.get_indexer(cast(Any, known["term"]))
        above = self.ontology.above[term]
        line = np.repeat(np.arange(len(known)), np.diff(above.indptr))
        key = disease[line] * len(self.ontology.terms) + above.indices
        order = np.argsort(key, kind="stable")
        edge, first = np.unique(key[order], return_index=True)
        p = np.maximum.reduceat(known["frequency"].to_numpy()[line][order], first)
        disease, term = np.divmod(edge, len(self.ontology.terms))
        finding = self.findings.get_indexer(self.ontology.terms[term])
        kept = finding >= 0
        return disease[kept], finding[kept], np.minimum(p[kept], MOST)

    def _frequencies(self) -> pd.DataFrame:
        """One line for each disease and term: counts of all sources together, or the mean of what they state."""
        lines = self._read("annotations")
        lines = lines[lines["disease"].isin(self.diseases.tolist())]
        by: Any = lines.groupby(["disease", "term"], sort=False)
        counted = by["patients"].sum(min_count=1) / by["of"].sum(min_count=1)
        found = counted.fillna(by["frequency"].mean()).fillna(UNSTATED).rename("frequency").reset_index()
        return found[found["frequency"] > 0]

    def patients(self) -> list[Patient]:
        """All published cases, in the order of the file."""
        with gzip.open(self.folder / "cases.jsonl.gz", "rt", encoding="utf-8") as file:
            cases = [json.loads(line) for line in file]
        return [
            Patient(case["id"], case["diagnosis"], tuple(case["present"]), tuple(case["excluded"])) for case in cases
        ]

    def evidence(self, patient: Patient) -> dict[str, int]:
        """What is observed of a patient: the most specific terms that are present, the most general excluded ones.

        The others follow from these. A term that is excluded although one below it is present is left out.
        """
        terms, above = self.ontology.terms, self.ontology.above
        present = self.ontology.most_specific(patient.present)
        excluded = self.ontology.most_general(patient.excluded)
        excluded = np.setdiff1d(excluded, np.unique(above[present].indices))
        states = {terms[place]: 0 for place in excluded} | {terms[place]: 1 for place in present}
        states.pop(ROOT, None)
        return states
