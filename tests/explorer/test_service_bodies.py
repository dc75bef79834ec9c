"""Bodies are limited together: very many at once, none of which is too large or complete, do not fill the memory."""

import asyncio

import pytest

from plefka.explorer import bodies, guards
from plefka.explorer.bodies import FREE_BYTES, HeldBodies
from plefka.explorer.settings import QuestionLimits
from tests.explorer.in_process import PATIENCE, Server, opened, run, until

LIMITS = QuestionLimits(body_bytes=2**18)
COUNTED = LIMITS.body_bytes - 1 - FREE_BYTES  # of a body that wants one byte
ROOM = LIMITS.held_bytes // COUNTED
HEAD = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
LARGE = HEAD.format(LIMITS.body_bytes).encode() + b" " * (LIMITS.body_bytes - 1)
SMALL = HEAD.format(2).encode() + b"{}"


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Nobody here goes on to send what is refused."""
    monkeypatch.setattr(guards, "DISCARD_SECONDS", 0.01)


async def one_large(server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection whose body has arrived but for its last byte."""
    count = len(server.protocols)
    reader, writer = await opened(server.port, LARGE)
    await until(lambda: len(server.protocols) > count)
    newest = server.protocols[count]
    await until(lambda: newest.is_answering and [*server.bodies.bodies][-1].size == LIMITS.body_bytes - 1)
    return reader, writer


def test_unfinished_bodies_make_room_for_others_and_a_small_one_is_answered(monkeypatch):
    """Of 4 MB each, 512 connections would hold 2 GB. The oldest are told to come again."""

    async def visit(server):
        large = [await one_large(server) for _ in range(ROOM)]
        assert server.bodies.counted == ROOM * COUNTED
        for oldest, _ in list(large):
            large.append(await one_large(server))
            assert server.bodies.counted <= LIMITS.held_bytes
            answer = await oldest.read()
            assert answer.startswith(b"HTTP/1.1 503")
            assert b'"code":"too_many_bodies"' in answer
            assert b"retry-after: 5" in answer.lower()
        small, _ = await opened(server.port, SMALL)
        assert (await small.readuntil(b"{}")).startswith(b"HTTP/1.1 200")
        for reader, writer in large[ROOM:]:  # the others are complete, and answered
            writer.write(b" ")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        await until(lambda: not server.bodies.bodies)

    monkeypatch.setattr(bodies, "BODY_SECONDS", PATIENCE)
    run(visit, LIMITS)


@pytest.mark.parametrize("end", ["complete", "broken", "late", "too large"])
def test_what_is_held_is_given_back(monkeypatch, end):
    if end == "late":
        monkeypatch.setattr(bodies, "BODY_SECONDS", 0.5)
    limits = QuestionLimits(body_bytes=2**17) if end == "too large" else LIMITS

    async def visit(server):
        reader, writer = await opened(server.port, LARGE)
        if end == "broken":
            await until(lambda: server.bodies.counted)
            writer.close()
        else:
            writer.write(b" " if end == "complete" else b"")
            status = {"complete": b"200", "late": b"408", "too large": b"413"}[end]
            assert (await reader.readline()).split()[1] == status
        await until(lambda: server.protocols and not server.bodies.bodies)
        assert server.bodies.counted == 0

    run(visit, limits)


def test_bodies_that_are_being_answered_count_and_keep_their_place():
    """They cannot make room: another large body is refused, and small ones are free."""
    held = HeldBodies(2 * FREE_BYTES)
    with held.one_more() as answered, held.one_more() as small, held.one_more() as large:
        assert held.have_room(answered, 3 * FREE_BYTES)
        assert held.have_room(small, FREE_BYTES)
        assert not held.have_room(large, FREE_BYTES + 1)
        assert not answered.made_room
    assert held.counted == 0
