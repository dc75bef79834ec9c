"""Whoever computes them, rows and sweeps are the same to the last bit."""

import functools

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.paper import compute
from plefka.paper.store import read_one
from plefka.scale.cluster import DaskCluster
from plefka.scale.teams import Processes
from tests.cluster.conftest import patients, same
from tests.paper.test_resume import COLUMNS, Study

DRAW = functools.partial(pf.ensembles.layered, (2, 3), -1, 1, activation="sigmoid")


def by_all(tmp_path, client, answer):
    """The folders that this process, two local processes and a cluster of two workers write."""
    teams = {"here": {}, "processes": {"workers": 2}, "cluster": {"client": client}}
    done = {name: answer(tmp_path / name, **team) for name, team in teams.items()}
    return [tmp_path / name for name in teams], done


@pytest.mark.parametrize("method", ["G12", pytest.param("exact", marks=pytest.mark.slow)])
def test_rows(tmp_path, client, method):
    network, frame = patients()
    folders, done = by_all(
        tmp_path,
        client,
        lambda out, **team: pf.infer_rows(network, frame, out, method, id_columns="patient", block=16, **team),
    )
    assert same(folders[1], folders[0])
    assert same(folders[2], folders[0])
    whole = pf.infer(network, frame.drop(columns="patient"), method)
    table = pd.read_parquet(folders[0])
    assert table["patient"].tolist() == frame["patient"].tolist()
    np.testing.assert_allclose(table[list(network.names)], whole.means, atol=1e-9)
    totals = {(each.rows, each.total_log_likelihood, str(each.statuses)) for each in done.values()}
    assert len(totals) == 1


def test_sweeps(tmp_path, client):
    evidence = {2: 1, 3: 0, 4: 1}
    folders, _ = by_all(
        tmp_path,
        client,
        lambda out, **team: pf.sweep(DRAW, 70, out, ["exact", "G12"], seed=3, evidence=evidence, block=16, **team),
    )
    assert same(folders[1], folders[0])
    assert same(folders[2], folders[0])
    assert len(pd.read_parquet(folders[0])) == 140


@pytest.mark.slow
def test_rows_of_the_paper(tmp_path, client):
    study = Study("table1", COLUMNS[:1], networks=30, block=10, max_steps=300, seed=0)
    teams = {"here": None, "processes": Processes(2), "cluster": DaskCluster(client)}
    for name, team in teams.items():
        compute.complete(study, tmp_path / name, team)
    whole, *others = (read_one(tmp_path / name, study).columns for name in teams)
    for each in others:
        assert all(np.array_equal(each[name], whole[name]) for name in whole)


def test_functions_of_the_user_travel(tmp_path, client):
    from jax.scipy.special import log_ndtr

    probit = pf.Custom(log_on=log_ndtr, log_off=lambda x: log_ndtr(-x), name="probit")
    network = pf.BeliefNetwork.layered([[[1.2, -0.8], [0.5, 0.9]]], [[0.1, -0.3], [0.0, -0.4]], probit)
    rows = np.array([[np.nan, np.nan, 1, 0], [np.nan, np.nan, 0, 0]])
    folders, _ = by_all(
        tmp_path, client, lambda out, **team: pf.infer_rows(network, rows, out, "exact", block=1, **team)
    )
    assert same(folders[1], folders[0])
    assert same(folders[2], folders[0])


def test_a_dask_dataframe(tmp_path, client):
    dataframe = pytest.importorskip("dask.dataframe")
    network, frame = patients()
    parts = dataframe.from_pandas(frame, npartitions=3)
    with pytest.warns(pf.errors.PlefkaWarning, match="'patient' is not a unit and holds text"):
        pf.infer_rows(network, parts, tmp_path / "here", "exact", block=16)
    done = pf.infer_rows(network, parts, tmp_path / "cluster", "exact", id_columns="patient", block=16, client=client)
    assert same(tmp_path / "cluster", tmp_path / "here")
    assert done.rows == 200
    pf.infer_rows(network, frame, tmp_path / "whole.parquet", "exact", id_columns="patient")
    here, whole = (pd.read_parquet(tmp_path / name) for name in ("here", "whole.parquet"))
    pd.testing.assert_frame_equal(here, whole, rtol=1e-9)  # other blocks: the last bit may differ
    again = pf.infer_rows(network, parts, tmp_path / "here", "exact", id_columns="patient", block=16, client=client)
    assert (again.rows, again.resumed) == (200, 200)
