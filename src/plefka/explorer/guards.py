"""Who may ask: the name by which the service is addressed, the site that asks, and the token. And a line in the log."""

import asyncio
import hmac
import logging
import re
import time
from contextlib import suppress
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plefka.explorer.responses import error_response
from plefka.explorer.settings import LOOPBACK, Settings, as_address

access = logging.getLogger("plefka.access")
API, STATIC = "/api/", "/static/"
OPEN = ("/", "/api/v1/health")  # and what is below STATIC
POLICY = "; ".join((
    "default-src 'self'", "img-src 'self' data: blob:", "object-src 'none'", "base-uri 'none'", "form-action 'none'",
    "frame-ancestors 'none'",
))  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
HEADER_BYTES = 16 * 2**10
DISCARD_SECONDS = 2.0
CLOSE_CONNECTION = {"Connection": "close"}
HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s\[\]:/?#@,]+))(?::\d{0,5})?", re.ASCII)


class Doorkeeper:
    """Refuses requests to other names and from other sites; adds what a browser should know to every response."""

    def __init__(self, app: ASGIApp, settings: Settings):
        self.app, self.settings = app, settings
        self.hosts = {_canonical(name) for name in (*LOOPBACK, settings.host, *settings.hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith(API):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        try:
            if refusal is None:
                await self.app(scope, receive, sending)
            else:
                await discard(receive)
                await error_response(*refusal, headers=CLOSE_CONNECTION)(scope, receive, sending)
        finally:
            if self.settings.log:
                access.info("%s", _line(scope, status or 500, time.perf_counter() - start))

    def _refusal(self, headers: Headers) -> tuple[int, str, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if sum(len(name) + len(value) for name, value in headers.raw) > HEADER_BYTES:
            return 431, "headers_too_large", f"the headers of a request may have {HEADER_BYTES:,} bytes; got more."
        name = _name_in(host)  # an address of numbers cannot be made to lead elsewhere
        if name not in self.hosts and (self.settings.is_local or as_address(name) is None):
            return (
                421, "unknown_host",
                f"this service is not called {host[:100]!r}. Use the address that it printed when it was started, or "
                "start it with --allow-host and this name.",
            )  # fmt: skip
        if origin is not None and origin.partition("://")[2] != host and origin not in self.settings.origins:
            return (
                403, "other_origin",
                f"pages of {origin[:100]!r} may not ask this service. Start it with --allow-origin and this origin if "
                "they should.",
            )  # fmt: skip
        return None


class TokenGuard:
    """Asks for the token wherever something can be asked; the page itself has no secrets."""

    def __init__(self, app: ASGIApp, token: str | None):
        self.app, self.token = app, None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.token is None or scope["type"] != "http" or self._may(scope):
            await self.app(scope, receive, send)
            return
        await discard(receive)
        message = "this service needs its token. Send the header Authorization: Bearer TOKEN with the right one."
        headers = {**CLOSE_CONNECTION, "WWW-Authenticate": "Bearer"}
        await error_response(401, "token_needed", message, headers)(scope, receive, send)

    def _may(self, scope: Scope) -> bool:
        if scope["path"] in OPEN or scope["path"].startswith(STATIC):
            return True
        kind, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), self.token or b"")
        return kind.casefold() == "bearer" and same


async def discard(receive: Receive) -> None:
    """Take what is left of a body, for a moment: a client that is still sending would not see the response."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while (await receive()).get("more_body", False):
                pass


def _name_in(host: str) -> str:
    """The name or address of a Host header as RFC 9110 has it, without the port; of anything else, nothing."""
    found = HOST.fullmatch(host)
    if found is None:
        return ""
    name = _canonical(found["address"] or found["name"])
    return name if found["name"] or ":" in name else ""  # in brackets, only addresses of version 6


def _canonical(name: str) -> str:
    address = as_address(name)
    return name.casefold() if address is None else str(address)


def _line(scope: Scope, status: int, seconds: float) -> str:
    """Without the query, which may say what was observed, and without any header."""
    path: Any = scope.get("raw_path") or scope["path"].encode()
    client = (scope.get("client") or ("-",))[0]
    return f"{client} {scope['method']} {path.decode('ascii', 'replace')[:200]} {status} {1e3 * seconds:.1f} ms"
