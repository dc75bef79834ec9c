"""Bodies of requests: read up to a limit of bytes and time, each and all together, and strictly as JSON."""

import asyncio
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from fastapi import Request
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from plefka.errors import first_repeated
from plefka.explorer.guards import CLOSE_CONNECTION, discard
from plefka.explorer.responses import RETRY, refuse

DEEPEST = 16  # objects and lists inside each other
BODY_SECONDS = 30.0
FREE_BYTES = 2**16  # of each body: small ones are limited by the number of connections, and never refused
STRING = re.compile(rb'"(?:[^"\\]|\\.?)*+(?:"|\Z)', re.DOTALL)  # one that does not end, too: it is searched only once


@dataclass(eq=False)
class HeldBody:
    """What is held of one body, and the time that it has to arrive; None when it is complete."""

    size: int = 0
    arriving: asyncio.Timeout | None = None
    made_room: bool = False

    @property
    def counted(self) -> int:
        return 0 if self.made_room else max(0, self.size - FREE_BYTES)

    def make_room(self) -> None:
        """Its task is told at once that its time is over."""
        assert self.arriving is not None
        self.made_room = True
        self.arriving.reschedule(asyncio.get_running_loop().time())


class HeldBodies:
    """The bodies that a service holds, the oldest first, with `most` bytes in all, whoever sends them.

    Each body has a limit of its own, and very many below it would still take all memory. What is held of a body counts
    from its arrival until its question is answered. Where it is too much, the oldest body that is not complete makes
    room, so that clients which send slowly, or never finish, keep nobody out.
    """

    def __init__(self, most: int):
        self.most = most
        self.bodies: dict[HeldBody, None] = {}

    @property
    def counted(self) -> int:
        return sum(body.counted for body in self.bodies)

    @contextmanager
    def one_more(self) -> Iterator[HeldBody]:
        """A body, held until the block ends."""
        body = HeldBody()
        self.bodies[body] = None
        try:
            yield body
        finally:
            del self.bodies[body]

    def have_room(self, body: HeldBody, count: int) -> bool:
        """Whether the body may have so many bytes more; others that are not complete make room for them."""
        body.size += count
        others = (other for other in list(self.bodies) if other is not body and other.arriving and other.counted)
        while self.counted > self.most:
            oldest = next(others, None)
            if oldest is None:
                return False
            oldest.make_room()
        return True


class CheckedRequest(Request):
    """A request whose body is checked while it arrives."""

    held: HeldBody

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            await self._check_type()
            service = self.app.state.service
            try:
                async with asyncio.timeout(BODY_SECONDS) as self.held.arriving:
                    self._body = await self._read(service.settings.limits.body_bytes, service.bodies)
                    self.held.arriving = None
            except TimeoutError:
                if self.held.made_room:
                    await self._refuse_for_others()
                message = f"the body must arrive within {BODY_SECONDS:g} s"
                raise refuse(408, "slow_body", message, CLOSE_CONNECTION) from None
            except ClientDisconnect:
                raise refuse(400, "incomplete_body", "the connection was closed before the body was complete") from None
        return self._body

    async def _check_type(self) -> None:
        """Other sites may send a form without asking, but no JSON."""
        given = self.headers.get("content-type", "")
        if given.partition(";")[0].strip().casefold() != "application/json":
            await discard(self.receive)
            message = f"a body must have the Content-Type application/json; got {given[:60]!r}"
            raise refuse(415, "not_json", message, CLOSE_CONNECTION)

    async def _refuse_for_others(self) -> None:
        await discard(self.receive)
        message = "the service receives too many large bodies at once. Try again in a few seconds, or send fewer rows."
        raise refuse(503, "too_many_bodies", message, RETRY | CLOSE_CONNECTION)

    async def _read(self, most: int, bodies: HeldBodies) -> bytes:
        body = bytearray()
        async for piece in self.stream():
            if not bodies.have_room(self.held, len(piece)):
                await self._refuse_for_others()
            body += piece
            if len(body) > most:
                await discard(self.receive)
                message = f"a body may have {most:,} bytes; got more. Send fewer rows, or a smaller file."
                raise refuse(413, "body_too_large", message, CLOSE_CONNECTION)
        return bytes(body)

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = strict_json(await self.body())
        return self._json


class CheckedRoute(APIRoute):
    """A route that reads its body so."""

    def get_route_handler(self) -> Any:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Any:
            mine = CheckedRequest(request.scope, request.receive)
            with request.app.state.service.bodies.one_more() as mine.held:
                return await handle(mine)

        return checked


def strict_json(body: bytes) -> Any:
    """JSON in UTF-8 without what is ambiguous: keys that come twice, numbers that are not finite, endless nesting."""
    encoding = json.detect_encoding(body)
    if not encoding.startswith("utf-8"):  # in others, quotes and brackets are not the bytes that `nesting` looks for
        raise refuse(400, "invalid_json", f"a body must be JSON in UTF-8; got {encoding.upper()}")
    if nesting(body) > DEEPEST:
        raise refuse(400, "nested_too_deeply", f"JSON may be nested {DEEPEST} deep here; got more")
    try:
        return json.loads(body, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)
    except UnicodeDecodeError:
        raise refuse(400, "invalid_json", "a body must be JSON in UTF-8; got other bytes") from None
    except json.JSONDecodeError as error:
        place = f"in line {error.lineno}, column {error.colno}"
        raise refuse(400, "invalid_json", f"a body must be JSON; {error.msg} {place}") from None
    except ValueError:  # of a whole number with thousands of digits
        raise refuse(400, "invalid_json", "a number must have fewer digits") from None


def nesting(body: bytes) -> int:
    """How deep brackets are nested, outside of strings."""
    signs = np.frombuffer(STRING.sub(b"", body), np.uint8)
    opened = np.isin(signs, np.frombuffer(b"[{", np.uint8))
    closed = np.isin(signs, np.frombuffer(b"]}", np.uint8))
    return int(np.cumsum(opened.astype(np.int64) - closed).max(initial=0))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = str(first_repeated(key for key, _ in pairs))
        raise refuse(400, "duplicate_key", f"every key must come once; got {twice[:100]!r} twice. Keep one of them.")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise refuse(400, "not_finite", f"numbers must be finite; got {text[:20]}.")
    return number
