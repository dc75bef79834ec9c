"""A client of the service: plain HTTP, and what came back."""

import http.client
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

PATIENCE = 600.0  # seconds for one answer: only against a test that hangs


class Reply(NamedTuple):
    """Status, headers with lower case names, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body, parse_constant=_refuse)

    @property
    def error(self) -> tuple[int, str]:
        """The status and the code of a refusal."""
        return self.status, self.json["error"]["code"]

    @property
    def message(self) -> str:
        return self.json["error"]["message"]


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def until(condition: Callable[[], object], what: Callable[[], str] = lambda: "") -> None:
    """Wait for something to come true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


class Client:
    """Requests to one service."""

    def __init__(self, address: str, token: str = ""):
        self.place = urlsplit(address)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        """One request in a connection of its own; the path goes out as it is."""
        connection = http.client.HTTPConnection(self.place.hostname or "", self.place.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())
        finally:
            connection.close()

    def get(self, path: str, headers: dict[str, str] | None = None, **query: Any) -> Reply:
        asked = "&".join(f"{name}={quote(str(value))}" for name, value in query.items())
        return self.request("GET", f"/api/v1/{path}{'?' if asked else ''}{asked}", headers=headers)

    def post(self, path: str, content: Any, headers: dict[str, str] | None = None) -> Reply:
        """Content as JSON, or bytes as they are."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.request("POST", f"/api/v1/{path}", body, {"Content-Type": "application/json", **(headers or {})})

    def until_ready(self) -> None:
        """Until all workers can answer."""
        until(lambda: self.get("health").json["ready"])

    def answer(self, path: str, content: Any) -> Any:
        """What it says to a question that is valid."""
        found = self.post(path, content)
        assert found.status == 200, found.body
        return found.json
