"""Every address of the service says what the library says, to the last digit."""

import gzip
import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

import plefka as pf
from tests.explorer.browser_service import serving
from tests.explorer.client import Client

HOSTILE = "<script>alert('x')</script> & \"q\" \\ ☕ ../../etc/passwd"
NETWORK = pf.BeliefNetwork.of_units(
    [
        pf.Unit("flu", [], "noisy_or", [], 0.05),
        pf.Unit("cold", [], "noisy_or", [], 0.2),
        pf.Unit(HOSTILE, [], "noisy_or", [], 0.1),
        pf.Unit("fever", ["flu", "cold"], "noisy_or", [1.6, 0.3], 0.02),
        pf.Unit("Fever at night", ["fever"], "noisy_or", [2.0], 0.0),
        pf.Unit("cough", ["flu", "cold", HOSTILE], "noisy_or", [0.5, 0.9, 0.7], 0.05),
        pf.Unit("test", ["flu"], pf.Table([0.02, 0.9]), (), 0.0),
    ],
    states=[("no", "yes")] * 6 + [("negative", "positive")],
)
EVIDENCE = {"fever": 1, "cough": "yes", "cold": 0, "test": {"on": 0.9, "off": 0.2}, "flu": None}
OBSERVED = {"fever": 1, "cough": 1, "cold": 0, "test": pf.Likelihood(0.9, 0.2)}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "some_illness.json"
    pf.save(NETWORK, path)
    with serving(path, "--no-warm") as service:
        found = Client(service.address)
        found.until_ready()
        yield found


def test_the_network(client):
    found = client.get("network").json
    assert (found["name"], found["title"], found["about"]) == ("some_illness", "some illness", None)
    assert (found["units"], found["causes"], found["findings"], found["edges"]) == (7, 3, 4, 7)
    assert found["kinds"] == {"noisy_or": 6, "table": 1}
    assert found["largest_in_degree"] == 3
    assert found | NETWORK.identity == found
    assert {"auto", "exact", "bethe"} <= set(found["methods"])
    assert "SJJ" not in found["methods"]
    assert found["limits"] == {"rows": 1000, "seconds": 600.0, "body_bytes": 4 * 2**20}


def test_what_is_set_and_one_cause_at_a_time(client):
    asked: list[dict[str, Any]] = [
        {"do": {"fever": 1}},
        {"exclusive": "causes"},
        {"exclusive": ["flu", "cold", None], "do": {"test": "positive"}},
    ]
    for fields in asked:
        evidence = {"cough": 1}
        found = client.post("infer", {"evidence": evidence, **fields}).json
        expected = pf.infer(NETWORK, evidence, **fields)
        assert found["log_likelihood"] == expected.log_likelihood
        assert {each["name"]: each["probability"] for each in found["ranking"]} == dict(expected.ranking())
        assert found["notes"] == list(expected.notes)
        advice = client.post("ask", {"evidence": evidence, **fields}).json
        assert advice["candidates"][0]["unit"] == pf.ask(NETWORK, evidence, **fields).unit
        rows = client.post("rows", {"rows": [evidence], **fields}).json["rows"]
        assert rows[0]["log_likelihood"] == expected.log_likelihood
    together = client.post("most-probable", {"evidence": {"cough": 1}, "do": {"fever": 1}, "count": 2}).json
    said = pf.most_probable(NETWORK, {"cough": 1}, "causes", 2, do={"fever": 1}).to_dict()
    assert together == json.loads(json.dumps(said)) | NETWORK.identity | {"usually_on": []}
    refused = client.post("infer", {"evidence": {"fever": 1}, "do": {"fever": 0}})
    assert (refused.status, refused.json["error"]["code"]) == (422, "invalid_evidence")
    assert "is set by do and must not be observed" in refused.json["error"]["message"]
    unknown = client.post("infer", {"exclusive": ["flu", "colt"]})
    assert (unknown.status, unknown.json["error"]["code"]) == (422, "unknown_unit")
    assert client.post("infer", {"do": {"fever": 0.5}}).status == 422
    impossible = client.post("infer", {"evidence": {"flu": 1, "cold": 1}, "exclusive": ["flu", "cold"]}).json
    assert "leave no state in which exactly one of flu, cold is on" in impossible["contradiction"]


def test_units_are_searched_and_paged(client):
    assert [unit["name"] for unit in client.get("units").json["units"]] == list(NETWORK.names)
    assert [unit["name"] for unit in client.get("units", search="FEVER").json["units"]] == ["fever", "Fever at night"]
    assert [unit["name"] for unit in client.get("units", search="night fever").json["units"]] == ["Fever at night"]
    found = client.get("units", role="finding", offset=1, limit=2).json
    assert (found["total"], found["offset"]) == (4, 1)
    assert [unit["name"] for unit in found["units"]] == ["Fever at night", "cough"]
    unit = client.get("units", search="test").json["units"][0]
    assert unit == {
        "index": 6, "name": "test", "role": "finding", "kind": "table", "states": ["negative", "positive"],
        "parents": 1, "children": 0,
    }  # fmt: skip


def test_names_that_begin_with_the_search_come_first(client):
    assert [unit["name"] for unit in client.get("units", search="c").json["units"]][:2] == ["cold", "cough"]


def test_all_names_are_packed_and_asked_for_once(client):
    plain = client.get("units/names")
    assert plain.json["names"] == list(NETWORK.names)
    assert plain.json["roles"] == "cccffff"
    assert plain.json["states"] == {"default": ["no", "yes"], "others": {"6": ["negative", "positive"]}}
    packed = client.get("units/names", {"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    again = client.get("units/names", {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("name", NETWORK.names)
def test_one_unit(client, name):
    found = client.get("unit", name=name).json
    assert found["name"] == name
    assert found["parent_names"] == NETWORK.parents(name)
    assert found["child_names"] == NETWORK.children(name)
    client.answer("infer", {})  # the priors are computed by the time that another question has been answered
    assert client.get("unit", name=name).json["prior"] == pytest.approx(pf.infer(NETWORK)[name], rel=1e-12)


def test_a_neighbourhood(client):
    found = client.get("neighbourhood", name="flu").json
    assert found["nodes"][:2] == [
        {"name": "flu", "role": "cause", "hops": 0},
        {"name": "fever", "role": "finding", "hops": 1},  # the strongest edge
    ]
    assert {node["name"] for node in found["nodes"]} == {"flu", "fever", "cough", "test"}
    edges = {(edge["parent"], edge["child"]): edge["weight"] for edge in found["edges"]}
    assert edges == {("flu", "fever"): 1.6, ("flu", "cough"): 0.5, ("flu", "test"): None}
    assert found["left_out"] == 0
    few = client.get("neighbourhood", name="flu", hops=2, limit=3).json
    assert [node["name"] for node in few["nodes"]] == ["flu", "fever", "cough"]
    assert few["left_out"] == len(within_two_edges("flu")) - 3
    assert (found["parents"], found["children"]) == (0, 3)
    assert client.get("neighbourhood", name="flu", hops=0).json["edges"] == []


def within_two_edges(*units: str) -> set[str]:
    beside = {name: {*NETWORK.parents(name), *NETWORK.children(name)} for name in NETWORK.names}
    near = set(units).union(*(beside[name] for name in units))
    return near.union(*(beside[name] for name in near))


def test_a_neighbourhood_of_several(client):
    asked = {"units": ["fever", "cough"], "hops": 2}
    found = client.answer("neighbourhood", asked)
    assert {node["name"] for node in found["nodes"]} == within_two_edges("fever", "cough")
    assert found["left_out"] == 0
    assert found["parents"] == len({*NETWORK.parents("fever"), *NETWORK.parents("cough")})
    few = client.answer("neighbourhood", asked | {"each_hop": 1})
    assert [node["hops"] for node in few["nodes"]] == [0, 0, 1]  # whose other neighbours are as near to the two units
    assert few["left_out"] == len(found["nodes"]) - 3
    refused = client.post("neighbourhood", {"units": ["fevr"]})
    assert (refused.status, refused.json["error"]["code"]) == (422, "unknown_unit")


def test_cases_to_start_from(client):
    found = client.get("examples").json["cases"]
    assert found[0]["title"].startswith("The commonest findings of ")
    for case in found:
        assert client.answer("infer", {"evidence": case["evidence"]})["converged"]


@pytest.mark.parametrize("method", ["auto", "exact", "bethe"])
def test_infer(client, method):
    found = client.answer("infer", {"evidence": EVIDENCE, "method": method, "units": "all"})
    alone = pf.infer(NETWORK, OBSERVED, method)
    assert found["log_likelihood"] == pytest.approx(alone.log_likelihood, rel=1e-13)
    ranking = [(each["name"], each["probability"]) for each in found["ranking"]]
    assert [name for name, _ in ranking] == [name for name, _ in alone.ranking(units="all")]
    np.testing.assert_allclose([p for _, p in ranking], [p for _, p in alone.ranking(units="all")], rtol=1e-13)
    priors = pf.infer(NETWORK)
    np.testing.assert_allclose([each["prior"] for each in found["ranking"]], [priors[name] for name, _ in ranking])
    assert found["method"] == str(alone.methods[0])
    assert found["kind"] == ("exact" if alone.is_exact else "estimate")
    assert found["frequency"] == ""  # soft evidence is no frequency
    assert (found["status"], found["status_text"], found["converged"]) == ("converged", "converged", True)
    assert (found["units_total"], found["check"], found["contradiction"]) == (4, None, None)


def test_infer_ranks_what_was_asked_for(client):
    found = client.answer("infer", {"evidence": {"fever": 1}, "top": 1})
    assert [each["name"] for each in found["ranking"]] == [pf.infer(NETWORK, {"fever": 1}).ranking(1)[0][0]]
    assert found["units_total"] == len(pf.infer(NETWORK, {"fever": 1}).ranking(None))
    assert str(pf.infer(NETWORK, {"fever": 1})).splitlines()[0].endswith(f": {found['frequency']}")
    assert found["frequency"].startswith("about ")
    some = client.answer("infer", {"evidence": {"fever": 1}, "units": [HOSTILE, "fever"]})
    assert [each["name"] for each in some["ranking"]] == [HOSTILE]


def test_infer_with_a_check(client):
    found = client.answer("infer", {"evidence": EVIDENCE, "check": True})["check"]
    check = pf.infer(NETWORK, OBSERVED, check=True).checked
    assert isinstance(check, pf.Check)
    assert (found["trusted"], found["verdict"]) == (check.trusted, check.verdict)
    assert found["log_likelihood"] == pytest.approx(check.log_likelihood, rel=1e-12)


@pytest.mark.parametrize("method", ["auto", "exact", "bethe"])
def test_impossible_evidence_is_an_answer(client, method):
    """ "Fever at night" has no leak."""
    found = client.answer("infer", {"evidence": {"Fever at night": 1, "fever": 0}, "method": method})
    assert (found["status"], found["log_likelihood"], found["converged"]) == ("impossible", None, False)
    assert found["contradiction"] == "the observations fever=no and Fever at night=yes cannot both be true"
    refused = client.post("explain", {"evidence": {"Fever at night": 1, "fever": 0}, "unit": "flu"})
    assert refused.status == 422
    assert "Fever at night=yes cannot both be true" in refused.message


def test_rows(client):
    found = client.answer("rows", {"rows": [EVIDENCE, {}, {"fever": 0}], "units": "all", "top": 2})["rows"]
    alone = pf.infer(NETWORK, [OBSERVED, {}, {"fever": 0}])
    np.testing.assert_allclose([row["log_likelihood"] for row in found], alone.log_likelihood, rtol=1e-12, atol=1e-12)
    for row, ranking in zip(found, alone.ranking(2, units="all"), strict=True):
        assert [each["name"] for each in row["ranking"]] == [name for name, _ in ranking]


def test_explain(client):
    found = client.answer("explain", {"evidence": EVIDENCE, "unit": "flu", "top": 3})
    why = pf.explain(NETWORK, OBSERVED, "flu", top=3)
    said = json.loads(json.dumps(asdict(why))) | {"log_odds": why.log_odds, "prior_log_odds": why.prior_log_odds}
    assert found == said | NETWORK.identity


def test_ask(client):
    found = client.answer("ask", {"evidence": {"fever": 1}, "targets": ["flu"], "top": 2})
    advice = pf.ask(NETWORK, {"fever": 1}, targets=["flu"], top=2)
    assert found == json.loads(json.dumps(asdict(advice))) | {"targets_total": 1, "usually_on": []} | NETWORK.identity
    only = client.answer("ask", {"evidence": {"fever": 1}, "candidates": ["cough"]})
    assert [each["unit"] for each in only["candidates"]] == ["cough"]
    others = client.answer("ask", {"evidence": {"fever": 1}, "without": ["cough"]})
    assert "cough" not in [each["unit"] for each in others["candidates"]]
    assert client.post("ask", {"without": ["no such unit"]}).error == (422, "unknown_unit")


def test_ask_with_costs_and_sets(client):
    options: dict[str, Any] = {"costs": {"cough": 3.5}, "together": 2, "stop_below": 0.5, "certain_above": 0.9}
    found = client.answer("ask", {"evidence": {"fever": 1}, "targets": ["flu"], **options})
    advice = pf.ask(NETWORK, {"fever": 1}, targets=["flu"], **options)
    assert found == json.loads(json.dumps(asdict(advice))) | {"targets_total": 1, "usually_on": []} | NETWORK.identity
    assert found["best_set"]["bound"] >= found["best_set"]["information"]
    assert client.post("ask", {"costs": {"no such unit": 2.0}}).error == (422, "unknown_unit")
    assert "number above 0; got 0.0 for 'cough'" in client.post("ask", {"costs": {"cough": 0.0}}).message
    assert client.post("ask", {"together": 6}).error[0] == 422


@pytest.mark.parametrize("rules", [{}, {"stop_below": 0.5}, {"stop_below": 0.0, "certain_above": 2.0}])
def test_interview(client, rules):
    asked = {"evidence": {"cold": 0, "fever": None, "cough": "yes"}, **rules}
    start = pf.Interview(NETWORK, {"cold": 0, "cough": 1}, **rules)
    for unknown, later in (([], []), (["test"], []), ([], ["fever", "test"]), (["Fever at night"], ["test", "test"])):
        found = client.answer("interview", {**asked, "unknown": unknown, "later": later})
        answers = [(unit, None) for unit in unknown] + [(unit, "later") for unit in later]
        said = replace(start, answers=tuple(answers))
        assert (found["unit"], found["why"]) == said.next[:2]
        assert [(unit, share) for unit, share in found["left"]] == list(said.next.left)
        assert found["is_exact"]
    everything = {"fever": 1, "Fever at night": 1, "cough": 1, "test": 1}
    done = client.answer("interview", {"evidence": everything, "certain_above": 2.0})
    assert (done["unit"], done["why"], done["left"]) == (None, "Nothing is left to ask.", [])
    assert client.post("interview", {"later": ["no such unit"]}).error == (422, "unknown_unit")
    assert client.post("interview", {"certain_above": 0}).error == (422, "invalid_request")


def test_joint(client):
    found = client.answer("joint", {"evidence": EVIDENCE, "units": ["flu", HOSTILE]})
    said = pf.joint(NETWORK, OBSERVED, ["flu", HOSTILE]).to_dict()
    assert found == said | NETWORK.identity | {"usually_on": []}
    assert client.post("joint", {"units": ["flu", "no such unit"]}).error == (422, "unknown_unit")
    observed = client.post("joint", {"evidence": EVIDENCE, "units": ["flu", next(iter(EVIDENCE))]})
    assert "is observed" in observed.message


def test_sensitivity(client):
    found = client.answer("sensitivity", {"evidence": EVIDENCE, "target": "flu", "factor": 3, "top": 4})
    said = json.loads(json.dumps(pf.sensitivity(NETWORK, OBSERVED, "flu", factor=3).to_dict(4)))
    assert found == said | NETWORK.identity | {"usually_on": []}
    assert client.post("sensitivity", {"target": "no such unit"}).error == (422, "unknown_unit")
    assert client.post("sensitivity", {"target": "flu", "factor": 1}).error == (422, "invalid_request")
    assert "is observed" in client.post("sensitivity", {"evidence": EVIDENCE, "target": next(iter(EVIDENCE))}).message


def test_most_probable(client):
    found = client.answer("most-probable", {"evidence": EVIDENCE, "count": 2})
    said = pf.most_probable(NETWORK, OBSERVED, "causes", 2).to_dict()
    assert found == said | NETWORK.identity | {"usually_on": []}
    assert client.post("most-probable", {"units": ["flu", "no such unit"]}).error == (422, "unknown_unit")
    observed = client.post("most-probable", {"evidence": EVIDENCE, "units": [next(iter(EVIDENCE))]})
    assert "is observed" in observed.message
    assert client.post("most-probable", {"count": 101}).error[0] == 422


def test_compare(client):
    found = client.answer("compare", {"evidence": EVIDENCE, "methods": ["exact", "bethe", "SJJ"]})["methods"]
    exact = pf.infer(NETWORK, OBSERVED, "exact")
    assert [each["method"] for each in found] == ["exact", "bethe", "SJJ"]
    assert [each["status"] for each in found] == ["converged", "converged", "does_not_apply"]
    assert found[0]["log_likelihood"] == pytest.approx(exact.log_likelihood, rel=1e-13)
    assert set(found[0]["means"]) == set(found[1]["means"]) == {name for name, _ in exact.ranking()}
    assert found[0]["means"]["flu"] == pytest.approx(exact["flu"], rel=1e-13)
    assert "SJJ" in found[2]["status_text"]


def test_sample(client):
    found = client.answer("sample", {"count": 5, "seed": 3})
    assert found["names"] == list(NETWORK.names)
    assert found["rows"] == NETWORK.sample(3, 5).astype(int).tolist()


def test_a_hostile_name_is_a_name(client):
    found = client.answer("infer", {"evidence": {HOSTILE: 1}})
    assert found["log_likelihood"] == pytest.approx(pf.infer(NETWORK, {HOSTILE: 1}).log_likelihood)
    assert client.get("unit", name=HOSTILE).json["name"] == HOSTILE
    assert client.get("unit", name=HOSTILE).headers["content-type"] == "application/json"


def test_the_description_names_every_address(client):
    found = client.request("GET", "/api/openapi.json").json
    assert {path.removeprefix("/api/v1/") for path in found["paths"]} == {
        "health", "network", "units", "units/names", "unit", "neighbourhood", "examples", "infer", "rows", "explain",
        "ask", "interview", "joint", "most-probable", "sensitivity", "compare", "sample", "networks", "save", "tables",
        "table-rows", "table-case", "table-validation",
    }  # fmt: skip
    assert found["components"]["schemas"]["Infer"]["additionalProperties"] is False


def test_health(client):
    found = client.get("health").json
    assert found == {"status": "ok", "ready": True, "version": pf.__version__}
