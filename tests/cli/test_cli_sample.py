"""`plefka sample`: states as CSV, the same for the same seed."""

import csv
import io

import numpy as np
import pytest

import plefka as pf

NET = "example:espresso"


def states(text: str) -> tuple[list[str], np.ndarray]:
    header, *lines = csv.reader(io.StringIO(text))
    return header, np.array(lines, dtype=int)


def test_the_same_seed_draws_the_same_states(run):
    first, again, other = (run("sample", NET, "--count", 50, "--seed", seed).out for seed in (1, 1, 2))
    assert first == again != other


def test_states_are_those_of_the_library(run):
    header, drawn = states(run("sample", NET, "-n", 20, "-s", 3, "-e", "slow_flow=1,limescale=0").out)
    network = pf.example("espresso")
    assert header == list(network.names)
    np.testing.assert_array_equal(drawn, network.sample(3, 20, {"slow_flow": 1, "limescale": 0}))
    assert (drawn[:, network.index("slow_flow")] == 1).all()


def test_json_holds_the_same_states(run):
    arguments = ("sample", NET, "-n", 5, "-s", 3)
    content = run(*arguments, "--json").json
    header, drawn = states(run(*arguments).out)
    assert content["names"] == header
    assert content["states"] == drawn.tolist()
    assert content["seed"] == 3


def test_samples_are_rows_of_evidence(run, tmp_path):
    path = tmp_path / "states.csv"
    path.write_text(run("sample", NET, "-n", 4, "-s", 0).out, encoding="utf-8")
    rows = run("infer", NET, "--rows", path, "-m", "exact", "--json").json["solutions"][0]["rows"]
    expected = pf.example("espresso").log_joint(pf.example("espresso").sample(0, 4))
    assert [row["log_likelihood"] for row in rows] == pytest.approx(expected.tolist(), abs=1e-12)


def test_the_seed_is_never_a_default(run):
    answer = run("sample", NET, "--count", 5)
    assert answer.code == 2
    assert "Missing option '--seed'" in answer.err
