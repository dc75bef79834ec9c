"""Slow and half-open connections, with limits short enough to be waited for: in this process, without a network."""

import asyncio
import contextlib
from types import SimpleNamespace

import pytest
import uvicorn
from fastapi import APIRouter, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from uvicorn.server import ServerState

from plefka.explorer import bodies, connections
from plefka.explorer.refusals import on_refusal
from plefka.explorer.settings import Limits

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
PATIENCE = 20.0
router = APIRouter(route_class=bodies.CheckedRoute)


@router.get("/")
async def get() -> Response:
    return Response(b"answer")


@router.get("/large")
async def large() -> Response:
    return Response(b"x" * 50_000_000)


@router.post("/")
async def post(request: Request) -> Response:
    return Response(await request.body())


@contextlib.asynccontextmanager
async def listening():
    """A server with our protocol; the address and all connections by age."""
    app = FastAPI(exception_handlers={HTTPException: on_refusal})
    app.include_router(router)
    app.state.service = SimpleNamespace(settings=SimpleNamespace(limits=Limits()))
    config, state = uvicorn.Config(app, log_config=None, lifespan="off"), ServerState()
    config.load()
    loop = asyncio.get_running_loop()
    protocols = []

    def protocol():
        protocols.append(connections.GuardedProtocol(config, state, {}, loop))
        return protocols[-1]

    server = await loop.create_server(protocol, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], protocols
    finally:
        server.close()
        for each in protocols:
            each.transport.abort()
        await asyncio.sleep(0)


def run(visit) -> None:
    async def whole():
        async with asyncio.timeout(PATIENCE), listening() as (port, protocols):
            await visit(port, protocols)

    asyncio.run(whole())


async def opened(port: int, sent: bytes = b""):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    return reader, writer


async def ends(reader: asyncio.StreamReader) -> bool:
    """Whether the service closes the connection, without a word."""
    try:
        return await reader.read(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET / HT", REQUEST[:-2]])
def test_headers_that_do_not_come_are_not_waited_for(monkeypatch, sent):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)

    async def visit(port, protocols):
        reader, writer = await opened(port, sent)
        assert await ends(reader)
        writer.close()

    run(visit)


def test_bytes_that_trickle_do_not_prolong_it(monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)

    async def visit(port, protocols):
        reader, writer = await opened(port)
        ended = asyncio.ensure_future(ends(reader))
        for letter in b"GET / HTTP/1.1\r\nX-Slow: " + b"x" * 10_000:
            if ended.done():
                break
            writer.write(bytes([letter]))
            await asyncio.sleep(0.01)
        assert await ended
        writer.close()

    run(visit)


def test_a_second_request_that_trickles_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)

    async def visit(port, protocols):
        reader, writer = await opened(port, REQUEST)
        assert b"answer" in await reader.readuntil(b"answer")
        writer.write(b"GET / HTTP")
        assert await ends(reader)
        writer.close()

    run(visit)


def test_a_question_may_take_longer_than_its_headers(monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.1)

    async def visit(port, protocols):
        reader, writer = await opened(port, POST)
        await asyncio.sleep(0.3)
        writer.write(b"        }")
        assert b"{        }" in await reader.readuntil(b"}")
        writer.close()

    run(visit)


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.2)

    async def visit(port, protocols):
        reader, writer = await opened(port, POST)
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"The body must arrive within 0.2 s." in answer
        writer.close()

    run(visit)


def test_a_response_that_is_not_read_is_not_kept(monkeypatch):
    monkeypatch.setattr(connections, "READING_SECONDS", 0.2)

    async def visit(port, protocols):
        _, writer = await opened(port, REQUEST.replace(b"GET /", b"GET /large"))
        while not protocols or not protocols[0].transport.is_closing():
            await asyncio.sleep(0.02)
        writer.close()

    run(visit)


def test_the_oldest_that_has_not_asked_makes_room(monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)

    async def visit(port, protocols):
        first = [await opened(port, sent) for sent in (b"", b"GET / HT", POST)]
        for _ in range(20):  # each of them takes the place of another
            reader, writer = await opened(port, REQUEST)
            assert b"answer" in await reader.readuntil(b"answer")
            writer.close()
        assert [await ends(reader) for reader, _ in first[:2]] == [True, True]
        for _, writer in first:
            writer.close()

    run(visit)


def test_what_is_not_http_is_refused_like_everything_else():
    async def visit(port, protocols):
        reader, writer = await opened(port, b"nonsense\r\n\r\n")
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 400")
        assert b'"code":"invalid_http"' in answer
        writer.close()

    run(visit)


def test_half_a_request_does_not_delay_the_end():
    async def visit(port, protocols):
        reader, writer = await opened(port, POST)
        while not protocols or not protocols[0].is_answering:
            await asyncio.sleep(0.01)
        protocols[0].shutdown()
        assert await ends(reader)
        writer.close()

    run(visit)
