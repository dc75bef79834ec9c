"""What is sent back over HTTP: refusals and files of the page.

A refusal has a status, a word for programs, and a sentence for people. The files come from the package, by a list that
is made once: no path of a request is opened.
"""

import gzip
import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import fastapi
from fastapi import Request, Response
from starlette.exceptions import HTTPException

from plefka.explorer.outcomes import Failure, encoded

SENTENCES = {
    404: ("not_found", "there is nothing at this address. The description of all addresses is at /api/openapi.json."),
    405: ("method_not_allowed", "this address does not take this method. /api/openapi.json says which it takes."),
}
RETRY = {"Retry-After": "5"}
JSON = "application/json"
INDEX = "index.html"
UNITS_AT = {"evidence": 1, "rows": 2}  # where the unit stands in the place of a state that is not valid
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def refuse(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> HTTPException:
    """To be raised in any handler."""
    return fastapi.HTTPException(status, {"code": code, "message": message}, dict(headers or {}))


def refused(failure: Failure) -> HTTPException:
    return refuse(*failure, headers=RETRY if failure.status == 503 else None)


def error_response(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    ended = message if message.endswith((".", "?", "!")) else f"{message}."
    body = encoded({"error": {"code": code, "message": ended[:1].upper() + ended[1:]}})
    return Response(body, status, dict(headers or {}), JSON)


async def on_refusal(request: Request, error: Any) -> Response:
    status, detail = error.status_code, error.detail
    said = detail.values() if isinstance(detail, dict) else SENTENCES.get(status, ("refused", str(detail)))
    return error_response(status, *said, headers=error.headers)


async def on_invalid(request: Request, error: Any) -> Response:
    return error_response(422, "invalid_request", _in_words(error.errors()))


async def on_crash(request: Request, error: Exception) -> Response:
    return error_response(500, "internal_error", "the service failed on this request. Its log says more.")


def _in_words(problems: Iterable[Mapping[str, Any]]) -> str:
    """The first problem, by the name of its field."""
    first, *_ = problems
    place = [str(part)[:100] for part in first["loc"][1:]]
    depth = UNITS_AT.get(place[0], len(place)) if place else 0
    field, unit = ".".join(place), next(iter(place[depth:]), None)
    if unit is not None:
        return (
            f"the state of {unit!r} must be 0, 1, a word for one of its states, null (hidden), or soft evidence as in "
            '{"on": 0.9, "off": 0.2}, with numbers of 0 or more'
        )
    if first["type"] == "extra_forbidden":
        return f"there is no field {field!r} here. /api/openapi.json lists all fields."
    if first["type"] == "missing":
        return f"{field or 'a body with a JSON object'} is needed and was not given."
    if first["type"] == "model_attributes_type":
        return "a body must be a JSON object with the fields that /api/openapi.json lists; got something else."
    return f"{field or 'the request'} is not valid: {first['msg'][:1].lower()}{first['msg'][1:]}."


class Pages:
    """Every file of the page, by its address below /static."""

    def __init__(self):
        folder = Path(__file__).with_name("page")
        self.files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.suffix in TYPES}

    def response(self, name: str, request: Request) -> Response:
        """The file of that name; names that are not in the list are not looked for."""
        entry = self.files.get(name)
        if entry is None:
            raise refuse(404, "not_found", "there is no such file. The page is at /.")
        return tagged(entry.read_bytes(), request, TYPES[entry.suffix])


packed = lru_cache(256)(partial(gzip.compress, mtime=0))


def tagged(content: bytes, request: Request, content_type: str) -> Response:
    """With an ETag, by which a browser asks whether its copy is still the same; packed, if the browser unpacks it."""
    headers = {"Content-Type": content_type, "Vary": "Accept-Encoding", "Cache-Control": "no-cache"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = packed(content), "gzip"
    headers["ETag"] = tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    if tag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    return Response(content, 200, headers)
