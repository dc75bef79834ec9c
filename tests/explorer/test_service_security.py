"""Who may ask, and what may come: tokens, names, other sites, sizes, malformed bodies, paths. All refused in words."""

import json
import socket
from contextlib import suppress

import pytest

from plefka.cli import main
from tests.explorer.browser_service import serving
from tests.explorer.client import PATIENCE, Client

TOKEN = "a-token-of-some-length"
LIMITS = ("--max-rows", "5", "--max-body", "20000", "--no-warm")
FRIEND = "https://friend.example"
OTHERS = ("--allow-origin", FRIEND, "--allow-host", "Net.Example")
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def service():
    with serving("example:espresso", *LIMITS, *OTHERS, token=TOKEN) as started:
        yield started


@pytest.fixture(scope="module")
def client(service):
    return Client(service.address, TOKEN)


@pytest.fixture(autouse=True)
def still_answers(client):
    """Whatever was sent, the next question is answered."""
    yield
    assert client.get("health").status == 200


# ---- the token -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer \xe9\xff"],
)
def test_without_the_right_token_nothing_is_told(service, header):
    stranger = Client(service.address)
    for path in ("/api/v1/network", "/api/v1/units/names", "/api/openapi.json", "/api/v1/nothing"):
        found = stranger.request("GET", path, headers={"Authorization": header} if header else {})
        assert found.error == (401, "token_needed")
        assert found.headers["www-authenticate"] == "Bearer"
    found = stranger.post("infer", {"evidence": {"slow_flow": 1}})
    assert found.error == (401, "token_needed")
    assert "espresso" not in found.message


def test_the_right_token_is_enough(client):
    assert client.answer("infer", {"evidence": {"slow_flow": 1}})["converged"]
    assert client.request("GET", "/api/v1/network", headers={"Authorization": f"bearer  {TOKEN}"}).status == 200


def test_health_and_the_page_need_no_token(service):
    stranger = Client(service.address)
    assert stranger.get("health").status == 200
    page = stranger.request("GET", "/")
    assert page.status == 200
    assert TOKEN.encode() not in page.body


# ---- other names and other sites -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8000", "localhost.evil.example", "", "127.0.0.1.evil", "8.8.8.8",
        "[::1].evil.example", "[::1]evil", "[::1]:80.evil", "[::1", "::1", "[localhost]", "[127.0.0.1]", "[::1%evil]",
        "localhost:evil", "localhost:80:90", "localhost:1@evil", "evil@localhost", "localhost/evil", "localhost,evil",
        "localhost:123456", "[]", "[[::1]]", "127.1", "0x7f.1",
    ],
)  # fmt: skip
def test_it_does_not_answer_to_other_names(client, host):
    for path in ("/", "/api/v1/health", "/api/v1/network"):
        assert client.request("GET", path, headers={"Host": host}).error == (421, "unknown_host")


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:80", "[0:0:0:0:0:0:0:1]", "localhost:", "net.example:443"],
)
def test_it_answers_to_its_own_names(client, host):
    assert client.request("GET", "/api/v1/network", headers={"Host": host}).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil", "", "file://"])
def test_pages_of_other_sites_may_not_ask(client, origin):
    found = client.post("infer", {}, {"Origin": origin})
    assert found.error == (403, "other_origin")
    assert "access-control-allow-origin" not in found.headers


def test_its_own_page_may_ask(service, client):
    host = service.address.removeprefix("http://").strip("/")
    assert client.post("infer", {}, {"Origin": f"http://{host}"}).status == 200


def test_a_site_that_is_allowed_may_ask(client):
    found = client.post("infer", {}, {"Origin": FRIEND})
    assert (found.status, found.headers["access-control-allow-origin"]) == (200, FRIEND)
    asked = {
        "Origin": FRIEND,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    before = Client(f"http://{client.place.netloc}/").request("OPTIONS", "/api/v1/infer", headers=asked)
    assert before.status == 200
    assert "authorization" in before.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in before.headers


def test_browsers_are_told_to_be_strict(client):
    for path in ("/", "/api/v1/network", "/static/nothing", "/api/v1/nothing"):
        headers = client.request("GET", path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


# ---- paths -----------------------------------------------------------------------------------------------------------

TRICKS = (
    "../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/__init__.py", "/etc/passwd", "//etc/passwd",
    "....//....//etc/passwd", "..\\..\\settings.py", "index.html%00.js", "%c0%ae%c0%ae/settings.py", "",
    "C:/Windows/win.ini", "js/../../settings.py", "file:///etc/passwd",
)  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS)
def test_no_path_leads_out_of_the_page(client, trick):
    assert client.request("GET", f"/static/{trick}").status == 404
    assert client.request("GET", f"/{trick}").status in (200, 404)
    assert b"root:" not in client.request("GET", f"/{trick}").body


def test_a_network_cannot_be_chosen_by_a_request(client):
    assert client.post("infer", {"network": "/etc/passwd"}).error == (422, "invalid_request")
    assert client.post("infer", {"method": "/etc/passwd"}).error == (422, "invalid_method")


# ---- bodies ----------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large(client):
    found = client.post("infer", {"evidence": {}, "units": ["x" * 30_000]})
    assert found.error == (413, "body_too_large")
    assert "20,000 bytes" in found.message
    assert client.post("infer", b" " * 2_000_000).error == (413, "body_too_large")


def test_a_body_in_pieces_that_is_too_large(client):
    pieces = (b"[" * 1000 for _ in range(40))
    found = client.request("POST", "/api/v1/infer", pieces, JSON)
    assert found.error == (413, "body_too_large")


def test_too_many_rows(client):
    found = client.post("rows", {"rows": [{}] * 6})
    assert found.error == (413, "too_many_rows")
    assert found.message == "Rows may be 5 at most; got 6. Ask several times."
    assert client.post("sample", {"count": 6}).error == (413, "too_many_rows")
    assert len(client.answer("rows", {"rows": [{}] * 5})["rows"]) == 5


MALFORMED = {
    b"": (422, "invalid_request"),
    b"{": (400, "invalid_json"),
    b"\xff\xfe{}": (400, "invalid_json"),
    '{"evidence": {"slow_flow": 1}}'.encode("utf-16"): (400, "invalid_json"),
    ('{"\u0122": ' + "[" * 900 + "]" * 900 + "}").encode("utf-16-le"): (400, "invalid_json"),
    ('{"\u0122": ' + "[" * 900 + "]" * 900 + "}").encode("utf-32"): (400, "invalid_json"),
    b'{"evidence": {"slow_flow": NaN}}': (400, "not_finite"),
    b'{"evidence": {"slow_flow": 1e999}}': (400, "not_finite"),
    b'{"evidence": {"slow_flow": -Infinity}}': (400, "not_finite"),
    b'{"evidence": {"slow_flow": 1, "slow_flow": 0}}': (400, "duplicate_key"),
    b'{"top": 1, "top": 2}': (400, "duplicate_key"),
    b'{"evidence": ' + b"[" * 5000 + b"]" * 5000 + b"}": (400, "nested_too_deeply"),
    b'{"evidence": ' + b'{"a":' * 2000 + b"1" + b"}" * 2000 + b"}": (400, "nested_too_deeply"),
    b'{"top": ' + b"1" * 6000 + b"}": (400, "invalid_json"),
    b"[]": (422, "invalid_request"),
    b"null": (422, "invalid_request"),
    b'"text"': (422, "invalid_request"),
    b'{"evidense": {}}': (422, "invalid_request"),
    b'{"evidence": []}': (422, "invalid_request"),
    b'{"evidence": {"slow_flow": [1]}}': (422, "invalid_request"),
    b'{"evidence": {"slow_flow": {"on": -1, "off": 1}}}': (422, "invalid_request"),
    b'{"evidence": {"slow_flow": {"on": 0.5}}}': (422, "invalid_request"),
    b'{"evidence": {"slow_flow": {"on": 0, "off": 0}}}': (422, "invalid_evidence"),
    b'{"evidence": {"slow_flow": 2}}': (422, "invalid_evidence"),
    b'{"evidence": {"slow_flow": "perhaps"}}': (422, "invalid_evidence"),
    b'{"evidence": {"slow_flo": 1}}': (422, "unknown_unit"),
    b'{"evidence": {"\\ud800": 1}}': (422, "invalid_request"),
    b'{"units": ["nobody"]}': (422, "unknown_unit"),
    b'{"units": "some"}': (422, "invalid_request"),
    b'{"top": 0}': (422, "invalid_request"),
    b'{"top": true}': (422, "invalid_request"),
    b'{"top": "3"}': (422, "invalid_request"),
    b'{"check": 1}': (422, "invalid_request"),
    b'{"method": "nothing"}': (422, "invalid_method"),
    b'{"method": "G12[tol=x]"}': (422, "invalid_method"),
    b'{"method": "SJJ"}': (422, "method_does_not_apply"),
    b'{"method": "gibbs"}': (422, "method_does_not_apply"),
}  # fmt: skip


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: body[:40].decode("latin-1"))
def test_a_malformed_body_is_refused_in_words(client, body):
    found = client.post("infer", body)
    assert found.error == MALFORMED[body]
    assert found.message.endswith((".", "?"))
    assert "Traceback" not in found.message


def test_refusals_name_what_is_wrong(client):
    assert "'slow_flo'" in client.post("infer", {"evidence": {"slow_flo": 1}}).message
    assert "'slow_flow'?" in client.post("infer", {"evidence": {"slow_flo": 1}}).message
    assert "no field 'evidense'" in client.post("infer", {"evidense": {}}).message
    assert "state of 'slow_flow' must be 0, 1" in client.post("infer", {"evidence": {"slow_flow": [1]}}).message
    assert "state of 'slow_flow' must be" in client.post("rows", {"rows": [{}, {"slow_flow": [1]}]}).message
    assert "'top' twice" in client.post("infer", b'{"top": 1, "top": 2}').message
    assert "Top is not valid" in client.post("infer", {"top": 0}).message
    assert client.post("explain", {}).message == "Unit is needed and was not given."
    assert "Limit is not valid" in client.get("units", limit=5000).message
    assert client.get("unit", name="limescal").error == (404, "unknown_unit")
    assert "Did you mean 'limescale'?" in client.get("unit", name="limescal").message


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_must_say_that_it_is_json(client, kind):
    assert client.request("POST", "/api/v1/infer", b"{}", {"Content-Type": kind}).error == (415, "not_json")


def test_other_methods_and_addresses(client):
    assert client.request("GET", "/api/v1/infer").error == (405, "method_not_allowed")
    assert client.request("DELETE", "/api/v1/network").error == (405, "method_not_allowed")
    assert client.request("GET", "/api/v2/network").error == (404, "not_found")
    assert client.request("GET", "/docs").error == (404, "not_found")


def test_more_samples_than_fit_are_refused(client):
    assert client.post("sample", {"count": 10**12}).error == (413, "too_many_rows")


# ---- connections -----------------------------------------------------------------------------------------------------

HEAD = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n"
HALF = (b"", b"GET /api/v1/health HTTP/1.1\r\nHost: loc", f"POST /api/v1/infer HTTP/1.1\r\n{HEAD}\r\n{{".encode())


def test_a_thousand_half_open_connections(service, client):
    """They send nothing, half of a header, or half of a body; the next visitor is answered all the same."""
    place = (client.place.hostname, client.place.port)
    opened = []
    try:
        for number in range(1000):
            with suppress(OSError):  # the service may close one at once
                opened.append(socket.create_connection(place, timeout=PATIENCE))
                opened[-1].sendall(HALF[number % len(HALF)])
        assert client.answer("infer", {"evidence": {"slow_flow": 1}})["converged"]
        assert closed(opened[:300]) > 100  # the oldest have made room
    finally:
        for each in opened:
            each.close()


def closed(connections: list[socket.socket]) -> int:
    """How many of them the service has closed."""
    return sum(is_closed(each) for each in connections)


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /api/v1/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"POST /api/v1/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET /\nHost: localhost\n\n\x00\x00",
    ],
)
def test_what_is_not_http_is_refused(client, raw):
    with socket.create_connection((client.place.hostname, client.place.port), timeout=PATIENCE) as connection:
        with suppress(OSError):
            connection.sendall(raw)
        answer = b""
        with suppress(OSError):
            answer = connection.recv(1000)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


# ---- starting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "can be reached from other computers and needs a token; got none"),
        (["--host", "::"], "needs a token"),
        (["--host", "192.0.2.7"], "needs a token"),
        (["--token", "short"], "a token must have at least 16 characters"),
        (["--token", "with a space in its middle"], "none of them a space"),
        (["--host", "192.0.2.7", "--token", TOKEN], "cannot listen on 192.0.2.7, port 0"),
    ],
)
def test_an_unsafe_start_is_refused(capsys, monkeypatch, options, said):
    monkeypatch.delenv("PLEFKA_TOKEN", raising=False)
    assert main(["serve", "example:espresso", "--port", "0", *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "short" not in error


def test_a_file_that_is_not_there(capsys):
    assert main(["serve", "nothing.json", "--port", "0"]) == 2
    assert "nothing.json" in capsys.readouterr().err


def test_a_port_that_is_taken(service, client, capsys):
    assert main(["serve", "example:espresso", "--port", str(client.place.port)]) == 2
    assert f"cannot listen on 127.0.0.1, port {client.place.port}" in capsys.readouterr().err
    assert json.loads(client.get("health").body)["status"] == "ok"
