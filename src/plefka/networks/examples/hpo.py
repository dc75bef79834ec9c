"""Rare diseases and their findings: the Human Phenotype Ontology as a noisy-or network of recorded findings.

- A finding that k of N patients have has the mean of a Beta posterior, (k + SEEN) / (N + SEEN + UNSEEN); where nobody
  was counted, the frequency that is stated, or UNSTATED; a finding that was never seen has no edge.
- By the true path rule a disease has all that is more general, at least as often: the largest probability counts.
- A record mentions a part of what a patient has: `reported` multiplies all of these.
- The leak of a finding is a multiple of its mean probability over all diseases; all diseases are equally probable.
"""

import re
from collections.abc import Iterable
from csv import QUOTE_NONE
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidFile, InvalidInput, listed
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import field
from plefka.networks.hierarchy import Hierarchy
from plefka.runtime.extras import pandas

SEEN, UNSEEN, UNSTATED = 1.0, 3.0, 0.3
MOST, LEAST_LEAK, MOST_LEAK = 0.98, 0.2, 0.9  # the second one divided by the number of diseases
ROOT, OBO, HPOA = "HP:0000001", "hp.obo", "phenotype.hpoa"
RANGES = dict(zip((f"HP:004028{k}" for k in range(6)), (1.0, 0.895, 0.545, 0.17, 0.025, 0.0), strict=True))
COLUMNS = {"annotations": ("disease", "term", "frequency", "patients", "of", "reference"),
           "diseases": ("disease", "name"), "terms": ("term", "name"), "is_a": ("term", "parent")}  # fmt: skip
KNOWN = (("annotations", "term", "terms"), ("annotations", "disease", "diseases"), ("is_a", "term", "terms"),
         ("is_a", "parent", "terms"))  # fmt: skip
NUMBERS = ["frequency", "patients", "of"]


def hpo_network(
    folder: Any, *, catalogue: str = "OMIM", without: Iterable[str] = (), prior: float | None = None,
    leak: float = 1.0, reported: float = 0.25, names: str = "ids",
) -> BeliefNetwork:  # fmt: skip
    """The network of a folder; see `plefka.example`."""
    if names not in ("ids", "words") or not (0 < reported <= 1 and leak >= 0 and (prior is None or 0 < prior < 1)):
        raise InvalidInput(
            "names must be 'ids' or 'words', reported above 0 and at most 1, leak at least 0, and prior between 0 and "
            f"1; got names={names!r}, reported={reported!r}, leak={leak!r}, prior={prior!r}."
        )
    tables, release = _tables(Path(folder))
    terms, diseases, lines = (tables[name] for name in ("terms", "diseases", "annotations"))
    diseases = diseases[diseases["disease"].str.startswith(f"{catalogue}:")]
    if diseases.empty:
        there = {*tables["diseases"]["disease"].str.partition(":")[0]}
        raise InvalidInput(f"catalogue must be one of {listed(sorted(there))}; got {catalogue!r}.")
    known = _probabilities(lines[lines["disease"].isin(diseases["disease"]) & ~lines["reference"].isin({*without})])
    place, cause = (pandas().Index(frame.iloc[:, 0]) for frame in (terms, diseases))
    pairs = np.stack([place.get_indexer(tables["is_a"][end]) for end in COLUMNS["is_a"]], axis=1)
    hierarchy = Hierarchy.of(pairs, place) or Hierarchy(pairs, len(place))
    term, disease, p = hierarchy.closed(
        place.get_indexer(known["term"]), cause.get_indexer(known["disease"]), known["p"].to_numpy()
    )
    kept = place[term] != ROOT
    (found, finding), disease, p = np.unique(term[kept], return_inverse=True), disease[kept], np.minimum(p[kept], MOST)
    leaks = leak * np.bincount(finding, weights=p, minlength=len(found)) / len(cause)
    leaks = np.clip(leaks, LEAST_LEAK / len(cause), MOST_LEAK)
    chance = np.concatenate([np.full(len(cause), prior or min(0.5, 1 / len(cause))), leaks])
    ends = (len(cause) + finding, disease)
    weights = sp.csr_array((field(reported * p), ends), shape=(len(chance), len(chance)))
    words = pandas().concat([diseases.set_index("disease")["name"], terms.set_index("term")["name"].iloc[found]])
    shared = words.duplicated(keep=False) & ~words.index.str.startswith("HP:")  # names of findings stay as they are
    called = words.where(~shared, words + " (" + words.index + ")")
    network = BeliefNetwork(weights, field(chance), "noisy_or", (words.index if names == "ids" else called).tolist())
    inside = hierarchy.pairs[np.isin(hierarchy.pairs, found).all(axis=1)]
    return network.with_implies((len(cause) + np.searchsorted(found, inside)).tolist()).with_version(release)


def _probabilities(lines: Any) -> Any:
    """One line for each disease and term: counts of all references together, or the mean of what they state."""
    by = lines.groupby(["disease", "term"], sort=False)
    seen, of = by["patients"].sum(min_count=1), by["of"].sum(min_count=1)
    p = ((seen + SEEN) / (of + SEEN + UNSEEN)).where(seen != 0, 0.0)
    p = p.fillna(by["frequency"].mean()).fillna(UNSTATED).rename("p").reset_index()
    return p[p["p"] > 0]


# ---- the files -------------------------------------------------------------------------------------------------------


def _tables(folder: Path) -> tuple[dict[str, Any], str | None]:
    """The four tables of a folder, checked, and the release that they are of, where that is known."""
    paths = {name: [*folder.glob(f"{name}.csv"), *folder.glob(f"{name}.csv.gz")] for name in COLUMNS}
    tables, release, read = {}, None, partial(pandas().read_csv, dtype=str, keep_default_na=False)
    try:
        if all(paths.values()):
            tables = {name: read(some[0]) for name, some in paths.items()}
        elif (folder / OBO).is_file() and (folder / HPOA).is_file():
            tables, release = _of_release((folder / OBO).read_text("utf-8"), (folder / HPOA).read_text("utf-8"))
    except (KeyError, ValueError, OSError, EOFError) as error:
        raise InvalidFile(f"{folder}: cannot be read as files of the ontology: {error!r}.") from error
    for name, columns in COLUMNS.items():
        lacking = [column for column in columns if column not in tables.get(name, ())]
        if lacking:
            raise InvalidFile(
                f"{folder}: must have {OBO} and {HPOA} (https://hpo.jax.org/data), or tables {listed(COLUMNS)} as .csv "
                f"or .csv.gz; got no column {listed(lacking)} of {name}."
            )
    for name, column, other in KNOWN:
        unknown = tables[name][column][~tables[name][column].isin(tables[other].iloc[:, 0])]
        if len(unknown) or tables[other].iloc[:, 0].duplicated().any():
            got = listed(unknown.unique()) or "some twice"
            raise InvalidFile(f"{folder}: every {column} of {name} must be in {other}, once; got {got}.")
    lines = tables["annotations"]
    found = lines[NUMBERS].apply(pandas().to_numeric, errors="coerce")
    wrong = (found.isna() & (lines[NUMBERS] != "")).any(axis=1) | (found < 0).any(axis=1)
    wrong |= (found["frequency"] > 1) | (found["patients"] > found["of"])
    if wrong.any():
        raise InvalidFile(
            f"{folder}: frequencies must be from 0 to 1, in percent, or k of N patients; got "
            f"{lines[wrong].iloc[0].to_dict()}."
        )
    return {**tables, "annotations": lines.assign(**found)}, release


def _of_release(obo: str, hpoa: str) -> tuple[dict[str, Any], str | None]:
    """These tables, as text, from the two files of a release; annotations of phenotypes alone."""
    terms, is_a = [], []
    for stanza in obo.split("\n[Term]")[1:]:
        fields = re.findall(r"^(id|name|is_a|is_obsolete): (.+)$", stanza.partition("\n[")[0], re.MULTILINE)
        if ("is_obsolete", "true") not in fields:
            terms.append((dict(fields).get("id"), dict(fields).get("name")))
            is_a += [(terms[-1][0], value.partition(" ")[0]) for key, value in fields if key == "is_a"]
    text = "".join(line for line in hpoa.splitlines(keepends=True) if not line.startswith("#"))
    lines = pandas().read_csv(StringIO(text), sep="\t", dtype=str, keep_default_na=False, quoting=QUOTE_NONE)
    lines = lines[lines["aspect"] == "P"].rename(columns={"database_id": "disease", "hpo_id": "term"})
    given = lines["frequency"]
    counts, percent = given.str.extract(r"^(\d+)/(\d+)$").astype(float), given.str.extract(r"^([\d.]+)%$").astype(float)
    stated = (counts[0] / counts[1]).fillna(percent[0] / 100).fillna(given.map(RANGES)).astype(object).fillna(given)
    numbers = {"frequency": stated.where(lines["qualifier"] != "NOT", 0.0), "patients": counts[0], "of": counts[1]}
    frame = pandas().DataFrame
    return {
        "annotations": lines.assign(**{name: some.astype(object).fillna("") for name, some in numbers.items()}),
        "diseases": lines[["disease", "disease_name"]].drop_duplicates("disease").set_axis(COLUMNS["diseases"], axis=1),
        "terms": frame(terms, columns=COLUMNS["terms"]),
        "is_a": frame(is_a, columns=COLUMNS["is_a"]),
    }, next(("HPO " + line.rpartition("/")[2] for line in obo.splitlines() if line.startswith("data-version:")), None)
