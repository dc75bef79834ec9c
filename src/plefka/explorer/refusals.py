"""How a request is refused: a status, a word for programs, and a sentence for people."""

from collections.abc import Iterable, Mapping
from typing import Any

import fastapi
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plefka.explorer.failures import Failure
from plefka.explorer.json_encoding import encoded

SENTENCES = {
    404: ("not_found", "there is nothing at this address. The description of all addresses is at /api/openapi.json."),
    405: ("method_not_allowed", "this address does not take this method. /api/openapi.json says which it takes."),
}
RETRY = {"Retry-After": "5"}


def refuse(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> HTTPException:
    """To be raised in any handler."""
    return fastapi.HTTPException(status, {"code": code, "message": message}, dict(headers or {}))


def refused(failure: Failure) -> HTTPException:
    return refuse(*failure, headers=RETRY if failure.status == 503 else None)


def error_response(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    body = encoded({"error": {"code": code, "message": _sentence(message)}})
    return Response(body, status, dict(headers or {}), "application/json")


def _sentence(text: str) -> str:
    """It begins with a capital letter and ends with a full stop."""
    ended = text if text.endswith((".", "?", "!")) else f"{text}."
    return ended[:1].upper() + ended[1:]


async def on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail: Any = error.detail
    if not isinstance(detail, dict):
        code, message = SENTENCES.get(error.status_code, ("refused", str(detail)))
        detail = {"code": code, "message": message}
    return error_response(error.status_code, detail["code"], detail["message"], error.headers)


async def on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return error_response(422, "invalid_request", _in_words(error.errors()))


async def on_crash(request: Request, error: Exception) -> Response:
    return error_response(500, "internal_error", "the service failed on this request. Its log says more.")


def _in_words(problems: Iterable[Mapping[str, Any]]) -> str:
    """The first problem, by the name of its field."""
    first, *_ = problems
    place = [str(part)[:100] for part in first["loc"][1:]]
    field, unit = ".".join(place), _unit(place)
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


def _unit(place: list[str]) -> str | None:
    """The unit whose state is not valid, if it is that."""
    if place[:1] == ["evidence"] and len(place) > 1:
        return place[1]
    return place[2] if place[:1] == ["rows"] and len(place) > 2 else None
