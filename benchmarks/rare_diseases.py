"""Published patients with rare diseases: where their diagnosis ranks among all diseases, how sure that is, how long.

The network is `pf.example("hpo")`: all diseases of OMIM and the findings that any of them has. Each patient is answered
by `auto`, with and without what was excluded, and with these annotations: all; without those whose reference is a paper
that any patient comes from; without those that name such a paper, alone or beside others. The second is what is often
done, but many annotations count the patients of several papers together, so that a patient may still be among those
that were counted. Beside it stands a likelihood ratio of one disease at a time, as in LIRICAL (Robinson 2020).

Numbers were chosen on the patients of one half of the diseases (`is_chosen_on`); figures are of the other half and of
all. Seconds are those of the processor. Every answer is a line of rare_diseases.jsonl, from which a run of the same
code resumes; `--draws 300` takes so many patients, evenly. The data does not come with the library: it is in the folder
that PLEFKA_DATA names, or beside the repository.
"""

import gzip
import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_least, at_most
from plefka.errors import PlefkaError
from plefka.networks.evidence import as_evidence
from plefka.networks.examples import hpo
from plefka.runtime import provenance

BESIDE = Path(__file__).parents[2] / "shared" / "data"
ALL, WITHOUT, STRICT = "all annotations", "without own papers", "without all that names one of them"
BOTH, PRESENT = "present and excluded", "present only"
FLOORS = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)  # of the likelihood ratio, times the mean frequency of a finding
CERTAIN, RELEVANT = 1e-3, 0.01  # a certificate is this narrow, of diseases that are more probable than this
FIRST, AHEAD, BINS, EVERY = {ALL: 57.0, WITHOUT: 32.0}, 3.0, 10, 100
IN_ROWS = 300  # patients that are answered together
PUBLISHED = (
    "Published for other cases, so that figures cannot be compared one to one: Exomiser's phenotype score has the "
    "diagnosis first in 35.5 % of 5,213 cases, and the best large language model in 23.6 % (PMC11302616); LIRICAL has "
    "it among the first three in 92.9 % of 384 cases whose genomes were looked at too (PMC7477017)."
)


class Patient(NamedTuple):
    """A published case: terms that were found, terms that were looked for and not found, and the disease."""

    name: str
    diagnosis: str
    present: tuple[str, ...]
    excluded: tuple[str, ...]
    references: tuple[str, ...] = ()


class RareDiseases:
    """The network of all diseases, and the published patients.

    **Example:**

    >>> data = RareDiseases()                                                               # doctest: +SKIP
    >>> patient = data.patients()[0]                                                        # doctest: +SKIP
    >>> pf.infer(data.network, data.evidence(patient)).ranking()                            # doctest: +SKIP
    """

    def __init__(self, folder: Path | None = None, annotations: str = ALL):
        self.folder = folder or Path(os.environ.get("PLEFKA_DATA") or BESIDE) / "hpo"
        own = {each for one in self.patients() for each in one.references}
        lines = hpo.pandas().read_csv(self.folder / "annotations.csv.gz", usecols=["reference"])["reference"].dropna()
        named = {text for text in lines.unique() if own & {*text.split(";")}}
        self.without = {ALL: (), WITHOUT: own, STRICT: named}[annotations]

    @cached_property
    def network(self) -> pf.BeliefNetwork:
        return pf.example("hpo", folder=self.folder, without=self.without)

    @cached_property
    def raw(self) -> pf.BeliefNetwork:
        """With frequencies as they are stated, .5 where they are not."""
        with patch.multiple(hpo, SEEN=0.0, UNSEEN=0.0, UNSTATED=0.5):
            return pf.example("hpo", folder=self.folder, without=self.without, reported=1.0)

    @cached_property
    def num_diseases(self) -> int:
        return next(k for k, name in enumerate(self.network.names) if name.startswith("HP:"))

    @cached_property
    def parents(self) -> dict[str, list[str]]:
        pairs = hpo.pandas().read_csv(self.folder / "is_a.csv.gz")
        return pairs.groupby("term")["parent"].apply(list).to_dict()

    def patients(self) -> list[Patient]:
        """All published cases, in the order of the file."""
        with gzip.open(self.folder / "cases.jsonl.gz", "rt", encoding="utf-8") as file:
            cases = [json.loads(line) for line in file]
        fields = ("present", "excluded", "references")
        return [
            Patient(case["id"], case["diagnosis"], *(tuple(case.get(name, ())) for name in fields)) for case in cases
        ]

    def evidence(self, patient: Patient, kind: str = BOTH) -> dict[str, int]:
        """What is observed. A term that no disease has stands for what is more general; unknown ones are left out."""
        excluded = [term for term in patient.excluded if kind == BOTH and term in self._known]
        return dict.fromkeys(excluded, 0) | {term: 1 for given in patient.present for term in self._nearest(given)}

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.network.names)

    def _nearest(self, term: str) -> set[str]:
        if term in self._known:
            return {term}
        return {found for parent in self.parents.get(term, ()) for found in self._nearest(parent)}


def is_chosen_on(disease: str) -> bool:
    """Whether numbers were chosen on the patients of this disease: one half, by a fixed digest."""
    return int(hashlib.sha256(disease.encode()).hexdigest(), 16) % 2 == 0


# ---- what is measured ------------------------------------------------------------------------------------------------


def rows(folder: Path, draws: int | None) -> Iterator[Row]:
    """Of every setting: errors, seconds, certainty, ranks and calibration, beside the likelihood ratio."""
    print(PUBLISHED, file=sys.stderr)
    for annotations in (ALL, WITHOUT, STRICT):
        data = RareDiseases(annotations=annotations)
        patients = data.patients()
        patients = [patients[k] for k in np.linspace(0, len(patients) - 1, draws or len(patients)).astype(int)]
        annotated = {edge.parent for edge in data.network.edges()}
        lost, known = [one.name for one in patients if one.diagnosis not in annotated], {*data.parents}
        yield Row(f"no annotation left: {annotations}", 100 * len(lost) / len(patients), "%", "information", True, {})
        unknown = {term for one in patients for term in (*one.present, *one.excluded) if term not in known}
        print(f"{len(unknown)} terms of patients are not in the ontology and are left out", file=sys.stderr)
        of_ratio = ratio_scores(data, patients)
        for kind in (BOTH, PRESENT):
            found = list(answers(folder / "rare_diseases.jsonl", data, patients, f"{annotations}, {kind}"))
            right = [each for each in found if "error" not in each]
            yield at_most(f"errors: {annotations}, {kind}", len(found) - len(right), f"of {len(found)}", 0, {})
            yield from _times(annotations, kind, right)
            yield from _ranks(annotations, kind, right, of_ratio)
            yield from _calibration(annotations, kind, right)
        if annotations == ALL:
            yield _in_rows(data, patients)


def _times(annotations: str, kind: str, found: list[dict]) -> Iterator[Row]:
    seconds, where = np.array([each["seconds"] for each in found]), f"{annotations}, {kind}"
    aims = {"median": (50, 0.05), "99th percentile": (99, 2.0), "worst": (100, 5.0)}
    for name, (percent, most) in aims.items():
        yield at_most(f"seconds, {name}: {where}", float(np.percentile(seconds, percent)), "s", most, {})
    certain = 100 * float(np.mean([each["certain"] for each in found]))
    exact = 100 * np.mean([each["exact"] for each in found])
    yield at_least(f"exact or certain: {where}", certain, "%", 90.0, {"exact": exact})


def _ranks(annotations: str, kind: str, found: list[dict], of_ratio: dict) -> Iterator[Row]:
    """By cases and averaged over diseases, of the other half of the diseases and of all."""
    diseases = np.array([each["diagnosis"] for each in found])
    other = np.array([not is_chosen_on(each) for each in diseases])
    ours = np.array([each["place"] for each in found])
    theirs = np.array([of_ratio[kind][each["patient"]] for each in found])
    for half, some in (("all", np.ones(len(found), bool)), ("other half", other)):
        where, details = f"{annotations}, {kind}, {half}", {}
        for name, place in (("plefka", ours[some]), ("likelihood ratio", theirs[some])):
            for figure, values in scores(place).items():
                details[f"{name}, {figure}"] = 100 * values.mean()
                by_disease = [values[diseases[some] == each].mean() for each in np.unique(diseases[some])]
                details[f"{name}, {figure}, by diseases"] = 100 * float(np.mean(by_disease))
        for name, value in details.items():
            print(f"{where}: {name} {value:.1f} %", file=sys.stderr)
        if annotations not in FIRST:
            yield Row(f"first: {where}", details["plefka, first"], "%", "information", True, details)
            continue
        yield at_least(f"first: {where}", details["plefka, first"], "%", FIRST[annotations], details)
        for by in ("", ", by diseases"):
            ahead = details[f"plefka, first{by}"] - details[f"likelihood ratio, first{by}"]
            yield at_least(f"ahead of the likelihood ratio{by}: {where}", ahead, "points", AHEAD, details)


def scores(place: np.ndarray) -> dict[str, np.ndarray]:
    """First, among ten first, and reciprocal rank, of places (cases, 2): how many are more, how many as probable."""
    more, same = place.T
    return {
        "first": (more == 0) / (1 + same),
        "ten first": np.clip((10 - more) / (1 + same), 0, 1),
        "reciprocal rank": 1 / (1 + more + same / 2),
    }


def _calibration(annotations: str, kind: str, found: list[dict]) -> Iterator[Row]:
    """Of the first disease: as it is, and by a logistic map that is fitted on one half and used on the other."""
    chance, right = np.array([each["leading"] for each in found]), np.array([each["is_first"] for each in found], float)
    chosen_on = np.array([is_chosen_on(each["diagnosis"]) for each in found])
    odds = np.log(np.clip(chance, 1e-9, 1 - 1e-9)) - np.log1p(-np.clip(chance, 1e-9, 1 - 1e-9))
    X = np.stack([np.ones(len(odds)), odds, np.log(np.maximum([each["present"] for each in found], 1))], axis=1)
    mapped = 1 / (1 + np.exp(-X @ logistic_fit(X[chosen_on], right[chosen_on])))
    where = f"{annotations}, {kind}"
    yield Row(f"calibration error as it is: {where}", calibration_error(chance, right), "", "information", True, {})
    error = calibration_error(mapped[~chosen_on], right[~chosen_on])
    yield at_most(f"calibration error, mapped, other half: {where}", error, "", 0.05, {})


def logistic_fit(X: np.ndarray, y: np.ndarray, steps: int = 30) -> np.ndarray:
    """Newton's method, with a little of a ridge."""
    w = np.zeros(X.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-X @ w))
        w = w + np.linalg.solve((X.T * (p * (1 - p))) @ X + 1e-3 * np.eye(len(w)), X.T @ (y - p) - 1e-3 * w)
    return w


def calibration_error(chance: np.ndarray, right: np.ndarray) -> float:
    """How far stated chances are from how often they are right, averaged over ten bins of equal width."""
    bins = np.minimum((chance * BINS).astype(int), BINS - 1)
    apart = [abs((chance - right)[bins == each].mean()) * (bins == each).mean() for each in np.unique(bins)]
    return float(np.sum(apart))


def _in_rows(data: RareDiseases, patients: list[Patient]) -> Row:
    some = [patients[k] for k in np.linspace(0, len(patients) - 1, min(IN_ROWS, len(patients))).astype(int)]
    start = time.process_time()
    quietly(data.network, [data.evidence(patient) for patient in some])
    return at_least("in rows", len(some) / (time.process_time() - start), "cases a second", 30.0, {"rows": len(some)})


# ---- answers ---------------------------------------------------------------------------------------------------------


def quietly(network: pf.BeliefNetwork, evidence: Any) -> pf.Solution:
    """Without warnings of patients that contradict themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pf.infer(network, evidence)


def answers(kept: Path, data: RareDiseases, patients: list[Patient], setting: str) -> Iterator[dict]:
    """Of every patient in one setting, those first that were answered before by the same code."""
    source = provenance.source()
    lines = [json.loads(line) for line in kept.read_text().splitlines()] if kept.is_file() else []
    known = {line["patient"]: line for line in lines if line["source"] == source and line["setting"] == setting}
    todo = [patient for patient in patients if patient.name not in known]
    yield from (known[patient.name] for patient in patients if patient.name in known)
    if todo:
        quietly(data.network, data.evidence(todo[0]))  # imports and programs
    with kept.open("a") as file:
        for number, patient in enumerate(todo, start=1):
            answer = {"patient": patient.name, "source": source, "setting": setting, **answered(data, patient, setting)}
            print(json.dumps(answer), file=file, flush=True)
            if number % EVERY == 0:
                print(f"{setting}: {number} of {len(todo)} patients", file=sys.stderr, flush=True)
            yield answer


def answered(data: RareDiseases, patient: Patient, setting: str) -> dict:
    """Seconds, how certain the diseases are, and where the diagnosis is; or what went wrong."""
    evidence, start = data.evidence(patient, BOTH if setting.endswith(BOTH) else PRESENT), time.process_time()
    try:
        solution = quietly(data.network, evidence)
    except (PlefkaError, ArithmeticError, ValueError) as error:
        return {"error": f"{patient.name}: {error!r}"}
    seconds, count = time.process_time() - start, data.num_diseases
    chance, accuracy = np.asarray(solution.means[:count]), solution.accuracy[:count]
    low, high = (limit[:count] for limit in solution.intervals())
    narrow = (accuracy == pf.Accuracy.EXACT) | (high - low <= CERTAIN)
    place = data.network.index(patient.diagnosis)
    more, same = int((chance > chance[place]).sum()), int((chance == chance[place]).sum()) - 1
    return {
        "diagnosis": patient.diagnosis, "present": sum(evidence.values()), "observed": len(evidence),
        "seconds": seconds, "exact": bool((accuracy == pf.Accuracy.EXACT).all()),
        "certain": bool(narrow[~(chance < RELEVANT)].all()), "place": [more, same], "leading": float(chance.max()),
        "is_first": more == 0 and same == 0, "chance": float(chance[place]), "note": " ".join(solution.notes[:1]),
    }  # fmt: skip


# ---- one disease at a time -------------------------------------------------------------------------------------------


def ratio_scores(data: RareDiseases, patients: list[Patient]) -> dict[str, dict[str, list[int]]]:
    """Places by the sum of ln max(p, floor * mean) / mean of what is on and ln (1 - p) / (1 - mean) of what is off.

    The floor is the one with the most diagnoses first among the patients of the half that numbers are chosen on.
    """
    count, chosen_on = data.num_diseases, np.array([is_chosen_on(patient.diagnosis) for patient in patients])
    p = -np.expm1(-data.raw.storage.to_sparse()[count:, :count].toarray()).astype(np.float32)
    means, found = np.maximum(p.mean(axis=1), 1e-6), {}
    for kind in (BOTH, PRESENT):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            observed = [as_evidence(data.raw, data.evidence(patient, kind)).rows[0, count:] for patient in patients]
        places = {}
        for floor in FLOORS:

            @cache
            def of_on(unit: int, floor: float = floor) -> np.ndarray:
                return np.log(np.maximum(p[unit], floor * means[unit]) / means[unit])

            places[floor] = []
            for patient, row in zip(patients, observed, strict=True):
                on, off = np.flatnonzero(row == 1).tolist(), np.flatnonzero(row == 0)
                score = sum((of_on(unit) for unit in on), np.zeros(count))
                score = score + np.log((1 - p[off]) / (1 - means[off, None])).sum(axis=0)
                own = score[data.raw.index(patient.diagnosis)]
                places[floor].append([int((score > own).sum()), int((score == own).sum()) - 1])
        best = max(FLOORS, key=lambda floor: scores(np.array(places[floor])[chosen_on])["first"].sum())
        print(f"likelihood ratio, {kind}: the floor is {best} times the mean frequency", file=sys.stderr)
        found[kind] = {patient.name: place for patient, place in zip(patients, places[best], strict=True)}
    return found
