"""Networks that visitors open: read strictly and within limits, kept apart by their keys, and saved as they came."""

import asyncio
import base64
import gzip
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.explorer import opened_files, served_network, service
from plefka.explorer.outcomes import ENDED, Failure
from plefka.explorer.settings import QuestionLimits, Settings
from tests.explorer.browser_service import serving
from tests.explorer.client import Client

CLINIC = {
    "clinic.causes.csv": b"cause,prior\nflu,6 %\ncold,0.18\n",
    "clinic.findings.csv": b"finding,cause,probability,leak\nfever,flu,.8,.02\nfever,cold,.3,\ncough,cold,.6,0.1\n",
}
SEEN = {"evidence": {"fever": 1}}
HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def client():
    with serving("example:espresso", "--no-warm", "--open-networks", "--max-body", str(2**22)) as started:
        yield Client(started.address)


def sent(files: dict[str, bytes], *, keep: bool = True) -> dict:
    return {"files": {name: base64.b64encode(content).decode() for name, content in files.items()}, "keep": keep}


def saved(client: Client, key: str, suffix: str) -> dict[str, bytes]:
    found = client.answer(f"save?network={key}", {"suffix": suffix, "name": "clinic"})["files"]
    return {name: base64.b64decode(content) for name, content in found.items()}


def in_files(tmp_path, files: dict[str, bytes]) -> pf.BeliefNetwork:
    """As the library reads the same files."""
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return pf.load(tmp_path / next(iter(files)))


def refused(client: Client, files: dict[str, bytes]) -> str:
    found = client.post("networks", sent(files))
    assert found.error == (422, "invalid_file")
    return found.message


def test_an_opened_network_is_asked_by_its_key_and_the_first_one_stays(client, tmp_path):
    network = in_files(tmp_path, CLINIC)
    found = client.answer("networks", sent(CLINIC))
    key = found["network"]
    assert len(key) == 32  # what others could only guess
    assert key != network.fingerprint
    assert (found["name"], found["units"], found["edges"]) == ("clinic", 4, 3)
    assert client.get("network", network=key).json["title"] == "clinic"
    assert client.get("units/names", network=key).json["names"] == list(network.names)
    assert client.get("unit", network=key, name="fever").json["parents"] == 2
    expected = pf.infer(network, SEEN["evidence"])
    answer = client.answer(f"infer?network={key}", SEEN)
    assert answer["log_likelihood"] == pytest.approx(expected.log_likelihood, rel=1e-12)
    assert answer["fingerprint"] == network.fingerprint
    compared = client.answer(f"compare?network={key}", SEEN)
    assert compared["fingerprint"] == network.fingerprint
    assert client.get("network").json["name"] == "espresso"
    assert client.post("infer", SEEN).error == (422, "unknown_unit")


def test_a_bundled_example_is_opened_by_its_name(client):
    found = client.answer("networks", sent({"example:espresso": b""}))
    assert (len(found["network"]), found["name"]) == (32, "espresso")
    assert "'tea'" in refused(client, {"example:tea": b""})


def test_a_network_that_is_only_read_is_not_kept(client):
    found = client.answer("networks", sent({"a.csv": b"cause,prior,fever\nflu,0.1,0.4\n"}, keep=False))
    assert found["network"] is None
    assert [each["kind"] for each in found["suspicions"]] == [each.kind for each in pf.lint(matrix())]


def matrix() -> pf.BeliefNetwork:
    causes, findings = [("flu", 0.1)], [("fever", "flu", 0.4)]
    return pf.BeliefNetwork.diagnosis(
        {"cause": [c for c, _ in causes], "prior": [p for _, p in causes]},
        {name: [row[k] for row in findings] for k, name in enumerate(("finding", "cause", "probability"))},
    )


@pytest.mark.parametrize("suffix", [".csv", ".json", ".npz", ".xlsx", ".bif", ".uai"])
def test_what_is_saved_is_the_same_network(client, tmp_path, suffix):
    key = client.answer("networks", sent(CLINIC))["network"]
    first, again = in_files(tmp_path, CLINIC), in_files(tmp_path, saved(client, key, suffix))
    evidence = {int(first.index("fever")): 1}
    assert pf.infer(again, evidence).log_likelihood == pytest.approx(pf.infer(first, evidence).log_likelihood, rel=1e-9)


def test_files_are_saved_in_another_format_without_being_kept(client, tmp_path):
    found = client.answer("networks", sent(CLINIC, keep=False) | {"save": {"suffix": ".json", "name": "other"}})
    assert found["network"] is None
    files = {name: base64.b64decode(content) for name, content in found["files"].items()}
    assert list(files) == ["other.json"]
    assert in_files(tmp_path, files).fingerprint == in_files(tmp_path, CLINIC).fingerprint
    assert client.answer("networks", sent(CLINIC, keep=False))["files"] == {}
    wrong = sent(CLINIC, keep=False) | {"save": {"suffix": ".png"}}
    assert client.post("networks", wrong).error == (422, "invalid_file")


def test_the_tables_of_a_network_can_be_edited(client):
    key = client.answer("networks", sent(CLINIC))["network"]
    found = client.answer(f"tables?network={key}", {})
    assert [name for name, _ in found["causes"]] == ["flu", "cold"]
    np.testing.assert_allclose([prior for _, prior in found["causes"]], [0.06, 0.18])
    assert [row[:2] for row in found["findings"]] == [["fever", "flu"], ["fever", "cold"], ["cough", "cold"]]
    sigmoid = json.dumps({"format": "plefka", "version": 1, "activation": "sigmoid", "names": ["a", "b"],
                          "bias": {"a": 0.0, "b": -1.0}, "weights": {"edges": [["a", "b", 2.0]]}})  # fmt: skip
    other = client.answer("networks", sent({"s.json": sigmoid.encode()}))["network"]
    assert "noisy-or" in client.post(f"tables?network={other}", {}).message


def test_names_with_markup_are_names(client):
    files = {"x.csv": f'cause,prior,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\nflu,0.1,0.4\n'.encode()}
    key = client.answer("networks", sent(files))["network"]
    assert HOSTILE in client.get("units/names", network=key).json["names"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b"", "got an empty file"),
        ("a.json", b'{"fever": 1}', "format"),
        ("photo.png", b"\x89PNG\r\n", "the name must end with"),
        ("noname", b"", "got no suffix"),
        ("../a.json", b"{}", "without a folder"),
        ("..", b"", "without a folder"),
        ("a\0.json", b"", "without a folder"),
        ("a.csv", b"\0\0\0", "a.csv"),
        ("a.bif", b"network x { }", "at least one variable"),
        ("bomb.json.gz", gzip.compress(b" " * 2**25), "when unpacked"),
        ("a.npz", b"PK\x03\x04 nothing", "a.npz"),
    ],
)
def test_files_that_cannot_be_read_are_refused_in_words(client, name, content, words):
    message = refused(client, {name: content})
    assert words in message
    assert "/tmp" not in message


def test_one_of_two_files_a_cycle_and_wrong_base64_are_refused_in_words(client):
    assert "clinic.findings.csv" in refused(client, {"clinic.causes.csv": CLINIC["clinic.causes.csv"]})
    cycle = {"c.causes.csv": b"cause,prior\n", "c.findings.csv": b"finding,cause,probability\na,b,.5\nb,a,.5\n"}
    assert "cycle a -> b -> a" in refused(client, cycle)
    found = client.post("networks", {"files": {"a.json": "###"}, "keep": True})
    assert found.error == (422, "invalid_file")
    assert "base64" in found.message


def test_a_network_of_a_million_units_is_refused_before_a_browser_holds_it(client, tmp_path):
    n = 1_000_000
    pf.save(pf.BeliefNetwork(sp.csr_array((n, n)), np.zeros(n), "sigmoid"), tmp_path / "many.npz")
    content = (tmp_path / "many.npz").read_bytes()
    assert client.post("networks", sent({"many.npz": content})).error == (413, "body_too_large")
    message = refused(client, {"many.npz.gz": gzip.compress(content)})
    assert "may have 200,000 units" in message
    assert "got 1,000,000" in message


def test_units_and_links_have_a_limit_in_words(monkeypatch):
    monkeypatch.setattr(opened_files, "MOST_UNITS", 3)
    with pytest.raises(pf.errors.InvalidFile, match=r"may have 3 units .*; got 4 and 3. Start plefka explore"):
        opened_files.open_files(sent(CLINIC, keep=False))


def test_large_tables_are_not_edited_in_a_browser(monkeypatch):
    monkeypatch.setattr(opened_files, "MOST_LINES", 1)
    with pytest.raises(pf.errors.InvalidInput, match="more than 1"):
        opened_files.tables(matrix())


def test_a_key_that_is_not_open_says_so_and_a_service_opens_only_where_it_should(client):
    for path in ("infer", "explain", "save"):
        assert client.post(f"{path}?network=abc", {}).status in (404, 422)
    found = client.post("infer?network=abc", SEEN)
    assert found.error == (404, "unknown_network")
    assert "Open its file again" in found.message
    assert client.get("network", network="abc").error == (404, "unknown_network")


def code_of(made: service.Service, key: str | None) -> str:
    found = made.served(key)
    assert isinstance(found, Failure)
    return found.code


def test_the_network_asked_about_longest_ago_makes_room(monkeypatch, tmp_path):
    monkeypatch.setattr(service, "MOST_OPEN", 2)
    settings = Settings(None, opens=True, limits=QuestionLimits())
    made = service.Service(settings)
    assert code_of(made, None) == "no_network"

    async def ask(kind, asked, about=None):
        return [] if kind == "priors" else opened_files.open_files(asked)

    monkeypatch.setattr(made, "ask", ask)

    async def visits() -> list[str]:
        keys = []
        for k in range(3):
            found = await made.open(sent({f"n{k}.csv": f"cause,prior,fever\nflu,0.{k + 1},0.4\n".encode()}))
            assert isinstance(found, dict)
            keys.append(found["network"])
            made.served(keys[0])
        await asyncio.gather(*made.learning)
        return keys

    keys = asyncio.run(visits())
    assert made.folder is not None
    made.folder.cleanup()
    assert isinstance(made.served(keys[0]), served_network.ServedNetwork)
    assert code_of(made, keys[1]) == "unknown_network"
    assert isinstance(made.served(keys[2]), served_network.ServedNetwork)


def test_what_a_worker_that_was_ended_has_begun_to_write_goes(monkeypatch):
    made = service.Service(Settings(None, opens=True, limits=QuestionLimits()))
    written = []

    def killed(network, path):
        written.append(path)
        raise SystemExit

    async def ask(kind, asked, seconds):
        for write in (opened_files.open_files, partial(opened_files.save, matrix())):
            with pytest.raises(SystemExit):
                write(asked)
            assert written.pop().is_relative_to(asked["own"])
        (Path(asked["own"]) / ".plefka-1.tmp").write_bytes(b"half of it")
        return ENDED

    monkeypatch.setattr(pf, "save", killed)
    monkeypatch.setattr(made.pool, "ask", ask)
    fields = {"folder": made.folder.name, "secret": made.secret, "suffix": ".json", "name": "clinic"}
    assert asyncio.run(made.ask("open", sent(CLINIC) | fields)) is ENDED
    assert not list(Path(made.folder.name).iterdir())
    made.folder.cleanup()


def test_a_service_that_opens_none_says_how_to_start_one_that_does():
    with serving("example:espresso", "--no-warm") as started:
        found = Client(started.address).post("networks", sent(CLINIC))
        assert found.error == (403, "opens_no_networks")
        assert "--open-networks" in found.message
