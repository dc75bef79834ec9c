"""The loader of rare diseases: an ontology of few terms, written down."""

import gzip
import json

import numpy as np
import pytest
from benchmarks.rare_diseases import LEAK, MOST, UNSTATED, Patient, RareDiseases

FILES = {
    "terms": "term,name\nHP:0000001,All\nHP:2,limb\nHP:3,arm\nHP:4,hand\nHP:5,eye\n",
    "is_a": "term,parent\nHP:2,HP:0000001\nHP:3,HP:2\nHP:4,HP:3\nHP:5,HP:0000001\n",
    "diseases": "disease,name\nOMIM:1,one\nOMIM:2,two\nORPHA:3,three\n",
    "annotations": (
        "disease,term,frequency,patients,of,reference\nOMIM:1,HP:4,1,1,1,a\nOMIM:1,HP:4,0,0,3,b\nOMIM:1,HP:2,0.1,,,a\n"
        "OMIM:2,HP:5,,,,a\nOMIM:2,HP:3,0,0,2,a\nORPHA:3,HP:5,1,,,a\nOMIM:2,HP:4,1,,,a\n"
    ),
}


@pytest.fixture
def data(tmp_path):
    for name, text in FILES.items():
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    case = {"id": "p", "diagnosis": "OMIM:1", "present": ["HP:3", "HP:4"], "excluded": ["HP:5", "HP:2"]}
    (tmp_path / "cases.jsonl.gz").write_bytes(gzip.compress(json.dumps(case).encode()))
    return RareDiseases(tmp_path)


def test_a_disease_has_what_is_more_general_at_least_as_often(data):
    p = -np.expm1(-data.network.weights.toarray()[2:, :2])
    assert data.network.names == ("OMIM:1", "OMIM:2", "HP:2", "HP:3", "HP:4", "HP:5")
    assert p[:, 0] == pytest.approx([0.25, 0.25, 0.25, 0.0])  # one of four patients, of two sources
    assert p[:, 1] == pytest.approx([MOST, MOST, MOST, UNSTATED])
    assert -np.expm1(-data.network.bias) == pytest.approx([0.5, 0.5, *[LEAK] * 4])


def test_only_what_others_do_not_imply_is_observed(data):
    (patient,) = data.patients()
    assert data.evidence(patient) == {"HP:4": 1, "HP:5": 0}  # no limb is a contradiction, and is left out
    assert data.evidence(Patient("q", "OMIM:1", (), ("HP:4", "HP:2"))) == {"HP:2": 0}
