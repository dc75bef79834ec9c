"""`plefka uai`: solution files of the UAI competitions, of every kind of network."""

import json
import math

import numpy as np
import pytest
from benchmarks.promedas_uai import answer, written
from tests.data import names_in, read_json
from tests.files.test_markov_files import text
from tests.networks.test_markov import weights

from plefka.cli.app import run

FACTORS = {
    "factors": [((0, 1), [[1.0, 0.0], [2.0, 4.0]]), ((0, 1, 2), np.arange(1.0, 9.0).reshape(2, 2, 2))],
    "pairs": [((0, 1), [[1.0, 0.5], [2.0, 4.0]]), ((2, 1), [[1.0, 3.0], [2.0, 0.1]])],
    "directed": [((0,), [0.9, 0.1]), ((2,), [0.7, 0.3]), ((0, 2, 1), [[[0.9, 0.1], [0.4, 0.6]], [[0.3, 0.7], [1, 0]]])],
}


@pytest.mark.parametrize("kind", FACTORS)
@pytest.mark.parametrize("evidence", [{}, {2: 1}, {0: 1, 1: 1, 2: 0}], ids=str)
def test_solutions_are_those_of_all_states(kind, evidence, tmp_path):
    model, factors = tmp_path / "net.uai", FACTORS[kind]
    model.write_text(text(3, factors))
    numbers = [number for pair in evidence.items() for number in pair]
    (tmp_path / "net.uai.evid").write_text(" ".join(map(str, (len(evidence), *numbers))))
    states, weight = weights(3, factors, evidence)
    assert answer(model, "PR") == pytest.approx([math.log10(weight.sum())])
    count, *marginals = answer(model, "MAR")
    assert count == 3
    on = weight @ states / weight.sum()
    np.testing.assert_allclose(np.reshape(marginals, (3, 3)), np.stack([[2] * 3, 1 - on, on], axis=1), atol=1e-9)
    count, *found = answer(model, "MPE")
    assert count == 3
    assert weight[int("".join(str(int(state)) for state in found), 2)] == pytest.approx(weight.max())


def test_evidence_may_be_missing_and_the_answer_printed(tmp_path, capsys):
    model = tmp_path / "net.uai"
    model.write_text(text(3, FACTORS["pairs"]))
    for words in ([str(model), "PR"], [str(model), "-", "pr"]):
        assert run(["uai", *words, "-o", "-", "--budget", "2"]) == 0
        task, number = capsys.readouterr().out.split()
        assert (task, float(number)) == ("PR", pytest.approx(math.log10(weights(3, FACTORS["pairs"])[1].sum())))
    assert not (tmp_path / "net.uai.PR").exists()
    assert run(["uai", str(model), "MAR", "--method", "G1", "--out", str(tmp_path / "a.MAR")]) == 0
    assert (tmp_path / "a.MAR").read_text().startswith("MAR\n3 2 0.")
    assert "MAR by G1" in capsys.readouterr().err


def test_a_markov_network_is_shown(tmp_path, capsys):
    model = tmp_path / "net.uai"
    model.write_text(text(3, FACTORS["factors"]))
    assert run(["show", str(model)]) == 0
    assert "3 units, 2 factors of up to 3 units" in capsys.readouterr().out
    assert run(["show", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["factors"][0] == {"units": [0, 1], "table": [1.0, 0.0, 2.0, 4.0]}


BAD = {
    "another task": (["MARG"], "one of PR, MAR, MPE; got MARG. Did you mean 'MAR'?"),
    "too many words": (["a", "b", "PR"], "MODEL, EVID and one of"),
    "no such evidence": (["nothing.evid", "PR"], "nothing.evid: cannot be read"),
    "several samples": (["two.evid", "PR"], "one sample of evidence; got 2"),
    "a variable beyond": (["beyond.evid", "PR"], "there is no unit 7"),
    "a method and a budget": (["PR", "--method", "bethe", "--budget", "2"], "has a budget of its own"),
    "a method for states": (["MPE", "--method", "bethe"], "--method is for PR and MAR"),
    "impossible": (["impossible.evid", "PR"], "the observations 0=0 and 1=1 cannot both be true"),
    "the model itself": (["PR", "--out", "net.uai"], "is one of the input files"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_wrong_input_is_refused_in_a_sentence(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.uai").write_text(text(3, FACTORS["factors"]))
    (tmp_path / "two.evid").write_text("2\n1 0 1\n1 1 1\n")
    (tmp_path / "beyond.evid").write_text("1 7 1")
    (tmp_path / "impossible.evid").write_text("2 0 0 1 1")
    assert run(["uai", "net.uai", *words]) != 0
    assert message in capsys.readouterr().err


def test_promedas_as_chains_of_ors(tmp_path):
    for name in names_in("promedas")[::12]:
        content = read_json(f"promedas/{name}.json")
        files, model = written(content), tmp_path / f"{name}.uai"
        model.write_text(files.model)
        (tmp_path / f"{name}.uai.evid").write_text(files.evidence)
        assert answer(model, "PR")[0] * math.log(10) == pytest.approx(content["lnZ_exact"], abs=1e-9)
        on = np.array(answer(model, "MAR")[1:]).reshape(-1, 3)[:, 2]
        for unit, p in content["posterior_exact"].items():
            assert on[files.variable[int(unit)]] == pytest.approx(p, abs=1e-9)
