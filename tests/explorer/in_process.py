"""A server with our protocol in this process, without a network: for slow and half-open connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import NamedTuple

import uvicorn
from fastapi import APIRouter, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from uvicorn.server import ServerState

from plefka.explorer import bodies
from plefka.explorer.bodies import HeldBodies
from plefka.explorer.responses import on_refusal
from plefka.explorer.running import GuardedProtocol
from plefka.explorer.settings import QuestionLimits

PATIENCE = 600.0  # seconds: only against a test that hangs
visitors: list[asyncio.StreamWriter] = []
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


class Server(NamedTuple):
    """Its port, all connections by age, and the bodies that it holds."""

    port: int
    protocols: list[GuardedProtocol]
    bodies: HeldBodies


@contextlib.asynccontextmanager
async def listening(limits: QuestionLimits) -> AsyncIterator[Server]:
    app = FastAPI(exception_handlers={HTTPException: on_refusal})
    app.include_router(router)
    held = HeldBodies(limits.held_bytes)
    app.state.service = SimpleNamespace(settings=SimpleNamespace(limits=limits), bodies=held)
    config, state = uvicorn.Config(app, log_config=None, lifespan="off"), ServerState()
    config.load()
    loop = asyncio.get_running_loop()
    protocols: list[GuardedProtocol] = []

    def protocol() -> GuardedProtocol:
        protocols.append(GuardedProtocol(config, state, {}, loop))
        return protocols[-1]

    server = await loop.create_server(protocol, "127.0.0.1", 0)
    try:
        yield Server(server.sockets[0].getsockname()[1], protocols, held)
    finally:
        server.close()
        for each in (*protocols, *visitors):
            each.transport.abort()
        visitors.clear()
        await asyncio.sleep(0)


def run(visit: Callable[[Server], Awaitable[None]], limits: QuestionLimits | None = None) -> None:
    """What a visitor does, from its first connection to its last."""

    async def whole() -> None:
        async with asyncio.timeout(PATIENCE), listening(limits or QuestionLimits()) as server:
            await visit(server)

    asyncio.run(whole())


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def opened(port: int, sent: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    visitors.append(writer)
    writer.write(sent)
    return reader, writer


async def ends(reader: asyncio.StreamReader) -> bool:
    """Whether the service closes the connection, without a word."""
    try:
        return await reader.read(1) == b""
    except ConnectionResetError:
        return True
