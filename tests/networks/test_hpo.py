"""The network of rare diseases, from an ontology of few terms that is written down here."""

import gzip

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput

TABLES = {
    "terms": "term,name\nHP:0000001,All\nHP:2,Limb\nHP:3,Arm\nHP:4,Hand\nHP:5,three\nHP:6,Ear\n",
    "is_a": "term,parent\nHP:2,HP:0000001\nHP:3,HP:2\nHP:4,HP:3\nHP:5,HP:0000001\nHP:6,HP:0000001\n",
    "diseases": "disease,name\nOMIM:1,one\nOMIM:2,two\nORPHA:3,three\nOMIM:4,one\n",
    "annotations": (
        "disease,term,frequency,patients,of,reference\nOMIM:1,HP:4,1,1,1,PMID:1\nOMIM:1,HP:4,0,0,3,PMID:2;PMID:3\n"
        "OMIM:1,HP:2,0.1,,,PMID:1\nOMIM:2,HP:5,,,,PMID:1\nOMIM:2,HP:3,0,0,2,PMID:1\nORPHA:3,HP:5,1,,,PMID:1\n"
        "OMIM:2,HP:4,1,,,PMID:1\nOMIM:2,HP:6,0,,,PMID:1\n"
    ),
}
OBO = """format-version: 1.2
data-version: hp/releases/2026-01-02

[Term]
id: HP:0000001
name: All

[Term]
id: HP:2
name: Limb
is_a: HP:0000001 ! All

[Term]
id: HP:3
name: Arm
is_a: HP:2 {source="x"} ! Limb

[Term]
id: HP:9
name: Wing
is_obsolete: true

[Typedef]
id: part_of
name: part of
"""
HPOA = """#version: 2026-01-02
database_id\tdisease_name\tqualifier\thpo_id\treference\tevidence\tonset\tfrequency\tsex\tmodifier\taspect\tbiocuration
OMIM:1\tone "#1\t\tHP:3\tPMID:1\tPCS\t\t2/4\t\t\tP\t
OMIM:1\tone "#1\tNOT\tHP:2\tPMID:1\tPCS\t\t\t\t\tP\t
OMIM:2\ttwo\t\tHP:3\tPMID:1\tPCS\t\t50%\t\t\tP\t
OMIM:2\ttwo\t\tHP:2\tPMID:1\tPCS\t\tHP:0040281\t\t\tP\t
OMIM:2\ttwo\t\tHP:77\tPMID:1\tPCS\t\t\t\t\tI\t
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in TABLES.items():
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def probabilities(network, causes):
    return -np.expm1(-network.storage.to_sparse().toarray()[causes:, :causes].T)


def test_diseases_have_what_is_recorded_of_them_and_all_that_is_more_general(folder):
    network = pf.example("hpo", folder=folder, reported=0.5)
    assert network.names == ("OMIM:1", "OMIM:2", "OMIM:4", "HP:2", "HP:3", "HP:4", "HP:5")
    hand = (1 + 1) / (4 + 1 + 3)  # one of four patients of three references
    assert probabilities(network, 3) * 2 == pytest.approx(
        np.array([[hand, hand, hand, 0], [0.98, 0.98, 0.98, 0.3], [0, 0, 0, 0]])
    )
    limb = (hand + 0.98) / 3
    assert -np.expm1(-network.bias) == pytest.approx([1 / 3, 1 / 3, 1 / 3, limb, limb, limb, 0.1])
    assert network.implies == [("HP:3", "HP:2"), ("HP:4", "HP:3")]
    assert pf.infer(network, {"HP:4": 1, "HP:2": 1}, "exact")["HP:3"] == 1


def test_annotations_are_left_out_by_reference_and_catalogue(folder):
    network = pf.example("hpo", folder=folder, without=["PMID:2;PMID:3", "PMID:2"], reported=1, leak=0)
    assert probabilities(network, 3)[0] == pytest.approx([0.4, 0.4, 0.4, 0])
    assert -np.expm1(-network.bias[3]) == pytest.approx(0.2 / 3)
    assert pf.example("hpo", folder=folder, catalogue="ORPHA", prior=0.1).names == ("ORPHA:3", "HP:5")
    words = pf.example("hpo", folder=folder, names="words").names
    assert words == ("one (OMIM:1)", "two", "one (OMIM:4)", "Limb", "Arm", "Hand", "three")
    both = pf.example("hpo", folder=folder, catalogue="ORPHA", names="words").names
    assert both == ("three (ORPHA:3)", "three")


def test_a_release_is_read_as_it_is(tmp_path):
    (tmp_path / "hp.obo").write_text(OBO)
    (tmp_path / "phenotype.hpoa").write_text(HPOA)
    network = pf.example("hpo", folder=tmp_path, reported=1, names="words")
    assert network.version == "HPO 2026-01-02"
    assert network.names == ('one "#1', "two", "Limb", "Arm")
    assert probabilities(network, 2) == pytest.approx(np.array([[3 / 8, 3 / 8], [0.895, 0.5]]))


@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        ("terms", "term,name", "id,name", "got no column term of terms"),
        ("is_a", "HP:4,HP:3", "HP:4,HP:33", "every parent of is_a must be in terms, once; got HP:33"),
        ("terms", "HP:6,Ear", "HP:6,Ear\nHP:4,Paw", "must be in terms, once; got some twice"),
        ("diseases", TABLES["diseases"], "", "cannot be read as files of the ontology: EmptyDataError"),
        ("annotations", "OMIM:2,HP:5,,", "OMIM:2,HP:5,often,", "frequencies must be from 0 to 1"),
        ("annotations", "0,0,2", "0,3,2", "or k of N patients; got"),
        ("is_a", "HP:2,HP:0000001", "HP:2,HP:4", "implies must have no circle"),
    ],
)
def test_what_is_wrong_in_a_table_is_said(folder, table, old, new, message):
    (folder / f"{table}.csv.gz").unlink()
    (folder / f"{table}.csv").write_text(TABLES[table].replace(old, new))
    with pytest.raises(InvalidInput, match=message):
        pf.example("hpo", folder=folder)


def test_a_folder_without_files_and_options_that_are_not_valid(folder, tmp_path):
    with pytest.raises(InvalidFile, match=r"must have hp\.obo and phenotype\.hpoa"):
        pf.example("hpo", folder=tmp_path / "none")
    with pytest.raises(InvalidInput, match="which needs a folder; got 'hpo'"):
        pf.example("hpo")
    with pytest.raises(InvalidInput, match="catalogue must be one of OMIM, ORPHA; got 'DECIPHER'"):
        pf.example("hpo", folder=folder, catalogue="DECIPHER")
    with pytest.raises(InvalidInput, match="reported=2"):
        pf.example("hpo", folder=folder, reported=2)
