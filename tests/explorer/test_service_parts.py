"""The parts of the service by themselves: batches of questions, JSON, the catalogue, the commands."""

import asyncio
import functools
import sys
import time
import webbrowser
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from starlette.exceptions import HTTPException

import plefka as pf
from plefka.cli import main, serve
from plefka.explorer import bodies, served_network, worker_answers
from plefka.explorer.catalogue import Catalogue
from plefka.explorer.outcomes import FAILED, NO_MEMORY, encoded
from plefka.explorer.pool import ABANDONED, Pool, WaitingQuestion
from plefka.explorer.served_network import ServedNetwork
from plefka.explorer.settings import Settings
from plefka.explorer.worker_answers import Answers, Worker
from plefka.scale.worker_process import Assignment
from tests.explorer.in_process import until

NETWORK = pf.example("espresso")
CAUSES, FINDINGS = NETWORK.names[:7], NETWORK.names[7:]
TOKEN = "a-token-of-some-length"


def question(evidence: dict[str, Any], **changes: Any) -> Mapping[str, Any]:
    return {"evidence": evidence, "method": "auto", "check": False, "top": 5, "units": "causes", **changes}


# ---- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "exact", "bethe"])
def test_questions_in_one_batch_have_the_answers_that_they_have_alone(method):
    asked = [question({name: 1}, method=method, top=k + 1) for k, name in enumerate(FINDINGS)]
    for each, found in zip(asked, Answers(NETWORK).answer("infer", asked), strict=True):
        alone = pf.infer(NETWORK, each["evidence"], method)
        assert found["log_likelihood"] == pytest.approx(alone.log_likelihood, rel=1e-12)
        ranking = alone.ranking(each["top"])
        assert [one["name"] for one in found["ranking"]] == [name for name, _ in ranking]
        np.testing.assert_allclose([one["probability"] for one in found["ranking"]], [p for _, p in ranking])
        assert found["kind"] == ("exact" if alone.is_exact else "estimate")


def test_a_question_that_is_not_valid_fails_alone():
    asked = [question({"slow_flow": 1}), question({"slow_flo": 1}), question({"slow_flow": 7}), question({})]
    good, unknown, invalid, other = Answers(NETWORK).answer("infer", asked)
    assert good["converged"]
    assert other["converged"]
    assert unknown[:2] == (422, "unknown_unit")
    assert invalid[:2] == (422, "invalid_evidence")


def test_answers_by_different_methods_are_given_one_by_one(monkeypatch):
    """A batch says of all rows together whether it is exact, and its notes are about all rows."""
    rng = np.random.default_rng(0)
    weights = np.zeros((60, 60))
    weights[30:, :30] = rng.uniform(0.2, 1, (30, 30))
    network = pf.BeliefNetwork(sp.csr_array(weights), np.full(60, 0.1), "noisy_or", [f"u{k}" for k in range(60)])
    many = {f"u{k}": 1 for k in range(30, 60)}
    asked = [question({"u30": 1}, method="auto[budget=0.001]"), question(many, method="auto[budget=0.001]")]
    few, several = Answers(network).answer("infer", asked)
    assert (few["kind"], several["kind"]) == ("exact", "estimate")
    assert few["method"] == "exact"
    assert not [note for note in [*few["notes"], *several["notes"]] if "rows" in note]


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: Out of memory")])
def test_too_little_memory_is_said(monkeypatch, error):
    def infer(*arguments, **options):
        raise error

    monkeypatch.setattr(worker_answers.pf, "infer", infer)
    (found,) = Answers(NETWORK).answer("infer", [question({})])
    assert found == NO_MEMORY


def test_an_answer_that_fails_does_not_end_the_worker(monkeypatch, capsys):
    monkeypatch.setattr(worker_answers.pf, "infer", lambda *arguments, **options: 1 / 0)
    assert Worker({"": Answers(NETWORK)})("infer", [question({})]) == [FAILED]
    assert "ZeroDivisionError" in capsys.readouterr().err


# ---- JSON ------------------------------------------------------------------------------------------------------------


def test_numbers_that_are_not_finite_are_null():
    content = {"a": [float("nan"), 1.5], "b": (np.float64("inf"), np.int64(3), np.bool_(True)), "☕": None}
    assert encoded(content) == b'{"a":[null,1.5],"b":[null,3,true],"\\u2615":null}'
    assert encoded({"a": 0.1 + 0.2}) == b'{"a":0.30000000000000004}'


@pytest.mark.parametrize(
    "body",
    [
        b'"' + b'\\"' * 2_000_000,
        b'"' + b'\\"' * 2_000_000 + b"\\",
        b'"' * 4_000_000,
        b"{" + b",".join(b'"%d":1' % k for k in range(300_000)) + b',"299999":2}',
        b"[" * 4_000_000,
    ],
    ids=lambda body: body[:8].decode(),
)
def test_no_body_takes_long_to_be_refused(body):
    """In time that grows with the body, not with its square: this test would take hours."""
    with pytest.raises(HTTPException):
        bodies.strict_json(body)


@pytest.mark.parametrize(("body", "depth"), [(b"1", 0), (b'{"a": [1, {}]}', 3), (b'["[[[[", "\\"[[["]', 1)])
def test_nesting_is_counted_outside_of_strings(body, depth):
    assert bodies.nesting(body) == depth


# ---- the catalogue ---------------------------------------------------------------------------------------------------

NETWORKS = {
    "layers": NETWORK,
    "dense": pf.BeliefNetwork(np.tril(np.ones((4, 4)), -1), np.zeros(4)),
    "sparse": pf.BeliefNetwork(sp.csr_array(np.tril(np.eye(4, k=-1) * 2.5)), np.zeros(4), "sigmoid"),
    "tables": pf.BeliefNetwork.of_units([("a", [], pf.Table(0.3)), ("b", ["a"], pf.Table([0.1, 0.8]))]),
    "no edges": pf.BeliefNetwork(np.zeros((2, 2)), np.zeros(2)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_catalogue_has_the_edges_of_the_network(name):
    network = NETWORKS[name]
    found = Catalogue(network)
    assert found.facts["edges"] == len(network.edges())
    everything = [edge for unit in range(network.size) for edge in found.around([unit], 1, 500, 500)["edges"]]
    edges = {(edge["parent"], edge["child"]): edge["weight"] for edge in everything}
    assert set(edges) == {(edge.parent, edge.child) for edge in network.edges()}
    assert found.facts["causes"] == int(network.roots.sum())
    for edge in network.edges():
        assert edge.weight is None or edges[edge.parent, edge.child] == edge.weight


# ---- the commands ----------------------------------------------------------------------------------------------------


def test_explore_opens_the_page_with_its_token(monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(serve, "start", lambda settings, *, or_any, then: then("http://127.0.0.1:8000/"))
    assert main(["explore", "example:espresso", "--token", TOKEN]) == 0
    assert main(["explore", "example:espresso", "--no-open"]) == 0
    assert opened == [f"http://127.0.0.1:8000/#token={TOKEN}"]
    assert serve.explore.__doc__


def test_a_port_that_is_taken_is_no_obstacle_to_explore():
    from plefka.explorer.running import listening

    with listening("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with listening("127.0.0.1", port, or_any=True) as other:
            assert other.getsockname()[1] != port
        with pytest.raises(pf.errors.InvalidInput, match=f"cannot listen on 127.0.0.1, port {port}: it is in use"):
            listening("127.0.0.1", port)


@pytest.mark.parametrize("command", ["serve", "explore"])
def test_a_port_that_was_asked_for_and_is_taken_is_an_error(monkeypatch, capsys, command):
    """Another port would break all links to the page."""
    from plefka.explorer import running

    monkeypatch.setattr(running, "serve", lambda *arguments: pytest.fail("it serves at another port"))
    with running.listening("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        assert main([command, "example:espresso", "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("Loading example:espresso ...\n")
    assert f"port {port}: it is in use, perhaps by another plefka. End that program, or pass another" in said


def test_explore_takes_a_free_port_unless_one_was_asked_for(monkeypatch, capsys):
    from plefka.explorer import running

    with running.listening("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(serve, "USUAL_PORT", port)
        addresses = []
        monkeypatch.setattr(running, "serve", lambda settings, listener, *_: addresses.append(listener.getsockname()))
        assert main(["explore", "example:espresso", "--no-open"]) == 0
    assert addresses[0][1] != port
    assert f"Port {port} is in use, so a free one was chosen." in capsys.readouterr().err


def test_without_the_extra_it_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "example:espresso"]) == 2
    assert "pip install 'plefka[explorer]'" in capsys.readouterr().err


def test_a_stack_of_networks_is_refused(tmp_path, capsys):
    stack = pf.ensembles.layered((2, 3), -1, 1, 4, 0, "sigmoid")
    pf.save(stack, tmp_path / "stack.json")
    assert main(["serve", str(tmp_path / "stack.json"), "--port", "0"]) == 2
    assert "must hold one network; got a stack of 4" in capsys.readouterr().err


def test_a_markov_network_is_refused(tmp_path, capsys):
    pf.save(pf.MarkovNetwork(2, [((0, 1), [[1, 0], [2, 4]])]), tmp_path / "factors.uai")
    assert main(["serve", str(tmp_path / "factors.uai"), "--port", "0"]) == 2
    assert "must be a belief network or a Boltzmann machine; got a Markov network" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.5"])
def test_addresses_of_this_computer_need_no_token(host):
    assert Settings("net", host).is_local


# ---- the queue -------------------------------------------------------------------------------------------------------


def test_a_batch_stays_far_below_the_limit_of_time():
    """By what earlier questions took; questions with a check, and those of a batch that failed, are asked alone."""

    async def sizes():
        pool = Pool(Assignment(worker_answers.prepared, (None, [])), workers=1, waiting=500)
        found = []
        for pace in (None, 0.001, 1.0, 20.0):
            if pace is not None:
                pool._learn([WaitingQuestion("infer", question({}), 30.0)], pace)
            pool._queue(*(WaitingQuestion("infer", question({}), 30.0) for _ in range(100)))
            found.append(len(await pool._next()))
            pool.waiting.clear()
        alone = WaitingQuestion("infer", question({}), 30.0, alone=True)
        pool._queue(
            alone,
            WaitingQuestion("infer", question({}, check=True), 30.0),
            WaitingQuestion("infer", question({}), 30.0),
        )
        return found, [len(await pool._next()) for _ in range(3)]

    assert asyncio.run(sizes()) == ([8, 64, 10, 1], [1, 1, 1])


def test_rankings_go_first_and_one_of_several_workers_is_kept_for_them():
    """A check takes much longer than a ranking, so that it waits with all others."""

    async def order():
        pool = Pool(Assignment(worker_answers.prepared, (None, [])), workers=2, waiting=500)
        slow, check = WaitingQuestion("ask", {}, 30.0), WaitingQuestion("infer", question({}, check=True), 30.0)
        rankings = [WaitingQuestion("infer", question({}, method=method), 30.0) for method in ("exact", "G12", "bethe")]
        pool._queue(slow, check, *rankings)
        by_any = [*await pool._next(1), *await pool._next(1)]
        by_the_one_that_is_kept = [*await pool._next(0), *await pool._next(0)]
        return [by_any, by_the_one_that_is_kept, [*await pool._next(1), *await pool._next(1)]], [
            rankings[:2], rankings[2:], [slow, check]
        ]  # fmt: skip

    found, expected = asyncio.run(order())
    assert found == expected


def asleep_if_asked(kind, asked):
    """In a worker: what a ranking takes, and a question that takes hours."""
    time.sleep(0.0 if kind == "infer" else 1e4)
    return ["ranked" for _ in asked]


def worker_that_sleeps():
    return asleep_if_asked


def test_an_abandoned_question_gives_its_worker_back_at_once():
    """With one worker: the ranking waits for the start of another process, and little more."""

    async def waits():
        pool = Pool(Assignment(worker_that_sleeps, ()), workers=1, waiting=5)
        pool.start()
        try:
            await pool.ask("infer", question({}), 600.0)
            slow = asyncio.create_task(pool.ask("ask", {}, 600.0))
            await until(lambda: pool.running)
            (process,) = pool.processes
            ranking = asyncio.create_task(pool.ask("infer", question({}), 600.0))
            await asyncio.sleep(2 * ABANDONED)
            was_left_alone = process is not None and process.is_alive and not ranking.done()
            start = time.monotonic()
            slow.cancel()
            await until(lambda: process is not None and process.was_ended)
            return was_left_alone, time.monotonic() - start, await ranking
        finally:
            await pool.close(0)

    was_left_alone, seconds, answer = asyncio.run(waits())
    assert was_left_alone  # while somebody waits for it, a ranking does not end it
    assert seconds < 1 + ABANDONED
    assert answer == "ranked"


def out_of_memory(*_):
    """In a worker: what nobody expected."""
    raise MemoryError


def test_what_nobody_expected_is_answered_and_the_worker_stays():
    async def answers():
        pool = Pool(Assignment(functools.partial, (out_of_memory,)), workers=1, waiting=5)
        pool.start()
        try:
            return [await pool.ask("infer", question({}), 30.0) for _ in range(2)], pool.lanes[0].done()
        finally:
            await pool.close(0)

    found, has_ended = asyncio.run(answers())
    assert [each.status for each in found] == [500, 500]
    assert not has_ended


def test_a_second_order_of_very_many_pairs_is_not_compared_unasked(monkeypatch):
    assert "G2" in ServedNetwork(NETWORK, "espresso").compared
    monkeypatch.setattr(served_network, "MANY_PAIRS", 1)
    compared = ServedNetwork(NETWORK, "espresso").compared
    assert "G1" in compared
    assert "G2" not in compared


def test_a_ranking_of_causes_has_the_numbers_of_a_ranking_of_all_units():
    """Though the means of findings are not computed for it."""
    asked = question({FINDINGS[0]: 1}, top=len(NETWORK.names))
    one, other = Answers(NETWORK), Answers(NETWORK)
    (of_causes,), (of_all,) = one.answer("infer", [asked]), other.answer("infer", [{**asked, "units": "all"}])
    known = {each["name"]: each for each in of_all["ranking"]}
    assert of_causes["ranking"]
    for each in of_causes["ranking"]:
        assert each["probability"] == pytest.approx(known[each["name"]]["probability"], abs=1e-12)
        assert each["accuracy"] == known[each["name"]]["accuracy"]
