"""Slow and half-open connections, with limits short enough to be waited for: in this process, without a network."""

import asyncio

import pytest

from plefka.explorer import bodies, running
from tests.explorer.in_process import PATIENCE, ends, opened, run, until

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"


@pytest.mark.parametrize("sent", [b"", b"GET / HT", REQUEST[:-2]])
def test_headers_that_do_not_come_are_not_waited_for(monkeypatch, sent):
    monkeypatch.setattr(running, "HEADER_SECONDS", 0.2)

    async def visit(server):
        reader, _ = await opened(server.port, sent)
        assert await ends(reader)

    run(visit)


def test_bytes_that_trickle_do_not_prolong_it(monkeypatch):
    monkeypatch.setattr(running, "HEADER_SECONDS", 0.3)

    async def visit(server):
        reader, writer = await opened(server.port)
        ended = asyncio.ensure_future(ends(reader))
        for letter in b"GET / HTTP/1.1\r\nX-Slow: " + b"x" * 10_000:
            if ended.done():
                break
            writer.write(bytes([letter]))
            await asyncio.sleep(0.01)
        assert await ended

    run(visit)


def test_a_second_request_that_trickles_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(running, "HEADER_SECONDS", PATIENCE)

    async def visit(server):
        reader, writer = await opened(server.port, REQUEST)
        assert b"answer" in await reader.readuntil(b"answer")
        monkeypatch.setattr(running, "HEADER_SECONDS", 0.3)
        writer.write(b"GET / HTTP")
        assert await ends(reader)

    run(visit)


def test_a_question_may_take_longer_than_its_headers(monkeypatch):
    """What it has for its headers ends with them."""
    monkeypatch.setattr(running, "HEADER_SECONDS", PATIENCE)

    async def visit(server):
        reader, writer = await opened(server.port, POST)
        await until(lambda: server.protocols and server.protocols[0].is_answering)
        await asyncio.sleep(0)
        assert server.protocols[0].waiting_for_headers is None
        writer.write(b"        }")
        assert b"{        }" in await reader.readuntil(b"}")

    run(visit)


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.2)

    async def visit(server):
        reader, _ = await opened(server.port, POST)
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"The body must arrive within 0.2 s." in answer

    run(visit)


def test_a_response_that_is_not_read_is_not_kept(monkeypatch):
    monkeypatch.setattr(running, "READING_SECONDS", 0.2)

    async def visit(server):
        _, _ = await opened(server.port, REQUEST.replace(b"GET /", b"GET /large"))
        await until(lambda: server.protocols and server.protocols[0].transport.is_closing())

    run(visit)


def test_the_oldest_that_has_not_asked_makes_room(monkeypatch):
    monkeypatch.setattr(running, "MOST_CONNECTIONS", 3)

    async def visit(server):
        first = [await opened(server.port, sent) for sent in (b"", b"GET / HT", POST)]
        for _ in range(20):  # each of them takes the place of another
            reader, _ = await opened(server.port, REQUEST)
            assert b"answer" in await reader.readuntil(b"answer")
        assert [await ends(reader) for reader, _ in first[:2]] == [True, True]

    run(visit)


def test_what_is_not_http_is_refused_like_everything_else():
    async def visit(server):
        reader, _ = await opened(server.port, b"nonsense\r\n\r\n")
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 400")
        assert b'"code":"invalid_http"' in answer

    run(visit)


def test_half_a_request_does_not_delay_the_end():
    async def visit(server):
        reader, _ = await opened(server.port, POST)
        await until(lambda: server.protocols and server.protocols[0].is_answering)
        server.protocols[0].shutdown()
        assert await ends(reader)

    run(visit)
