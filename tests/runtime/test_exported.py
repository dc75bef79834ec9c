"""Programs that are kept as StableHLO: traced once, read by name, and never taken for one another."""

import jax.numpy as jnp
import numpy as np
import pytest

import plefka as pf
from plefka.runtime import exported_programs, programs

pytest.importorskip("flatbuffers")
WEIGHTS = [[0, 0, 0], [0, 0, 0], [0.8, 0.5, 0]]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr("plefka.runtime.program_cache._in_use", [tmp_path])
    monkeypatch.setattr(programs, "_kept", type(programs._kept)())
    return tmp_path


@pytest.fixture
def traced(monkeypatch):
    """The names of all files for which a program was traced."""
    names, trace = [], exported_programs._traced

    def counted(path, *rest):
        names.append(path.name)
        return trace(path, *rest)

    monkeypatch.setattr(exported_programs, "_traced", counted)
    return names


def solve(method="bethe", activation: pf.Custom | str = "sigmoid", **options):
    """As in a process that has just begun."""
    programs._kept.clear()
    return pf.infer(pf.BeliefNetwork(WEIGHTS, [-0.3, 0.4, -0.2], activation), {2: 1}, method, **options)


@pytest.mark.parametrize("method", ["bethe", "G2"])  # results like an argument, and others
def test_nothing_is_traced_twice(folder, traced, method):
    first = solve(method)
    before = len(traced)
    second = solve(method)
    assert len(traced) == before == len(list(folder.glob("plefka-*-cache"))) > 0
    assert second.log_likelihood == first.log_likelihood
    np.testing.assert_array_equal(second.means, first.means)


def test_what_differs_has_another_name(folder, traced):
    solve()
    solve(dtype="float32")
    solve("G12")
    solve("G13")
    assert len(set(traced)) == len(traced) >= 4


def test_other_code_has_another_name(folder, traced, monkeypatch):
    solve()
    monkeypatch.setattr(exported_programs, "_code", lambda: "another version")
    solve()
    assert len(set(traced)) == 2


def test_a_file_that_is_not_whole_is_written_again(folder, traced):
    first = solve()
    (path,) = folder.glob("plefka-*-cache")
    whole = path.read_bytes()
    for content in (b"", b"x", whole[:-1], whole[:-1] + b"x"):
        path.write_bytes(content)
        assert solve().log_likelihood == first.log_likelihood
    solve()
    assert len(traced) == 5


def test_functions_of_the_user_are_not_kept(folder, traced):
    """Nothing but the function itself says which one it is."""
    probit, steeper = (
        pf.Custom(lambda x, slope=slope: 1 / (1 + jnp.exp(-slope * x)), name="mine") for slope in (1.0, 2.0)
    )
    assert solve(activation=probit).log_likelihood != solve(activation=steeper).log_likelihood
    assert not traced


def test_nothing_is_kept_where_there_is_no_cache(monkeypatch, traced):
    monkeypatch.setattr("plefka.runtime.program_cache._in_use", [])
    solve()
    assert not traced
