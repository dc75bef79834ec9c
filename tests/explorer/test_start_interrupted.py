"""Ctrl-C at each stage of the start of a service: also where Python drops the interrupt, it is not lost."""

import asyncio
import signal
import sys
import threading
import weakref

import pytest
import uvicorn

from plefka.cli import app, main
from plefka.cli.exits import INTERRUPTED
from plefka.explorer import running
from plefka.explorer.pool import Pool
from plefka.explorer.service import Service
from plefka.runtime import extras

COMMAND = ["explore", "example:espresso", "--no-open", "--port", "0", "--workers", "1"]
PROGRESS = {"Loading example:espresso ...", "Starting 1 worker ..."}  # all that it says before the address
BEFORE = {  # what is called while the service is being made
    "the package": (extras, "web_service"),
    "the address": (running, "listening"),
    "the network": (running, "Service"),
    "the log": (running, "_log"),
    "the application": (running, "application"),
    "the server": (running, "Server"),
}
DURING = {  # and from then on, when a signal ends the server
    "the loop": (uvicorn.Config, "get_loop_factory"),
    "the protocols": (uvicorn.Config, "load"),
    "the service": (Service, "start"),
    "the workers": (Pool, "start"),
    "listening": (uvicorn.Server, "startup"),
}


def raised(sent: signal.Signals) -> None:
    signal.raise_signal(sent)


def dropped(sent: signal.Signals) -> None:
    """In the callback of a weak reference, out of which no exception comes."""

    class Referred:
        pass

    thing = Referred()
    kept = weakref.ref(thing, lambda _: signal.raise_signal(sent))
    del thing
    assert kept() is None


def changed(sent: signal.Signals) -> None:
    """Caught by somebody who raises something else instead."""
    try:
        signal.raise_signal(sent)
    except KeyboardInterrupt:
        raise ValueError("a schema could not be built") from None


@pytest.fixture
def served(monkeypatch) -> list[str]:
    """Empty unless the service comes to serve; nothing outlives it."""
    found: list[str] = []

    async def main_loop(self) -> None:
        found.append("served")

    async def never(self, *work) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(uvicorn.Server, "main_loop", main_loop)
    monkeypatch.setattr(Pool, "_in_thread", never)  # no worker is ever ready
    monkeypatch.setattr(running, "_log", lambda settings: None)
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    return found


def at(monkeypatch, stage, way, sent=signal.SIGINT) -> None:
    """The signal comes when the stage begins."""
    place, name = stage
    original = getattr(place, name)

    def interrupted(*arguments, **options):
        way(sent)
        return original(*arguments, **options)

    monkeypatch.setattr(place, name, interrupted)


@pytest.mark.parametrize("way", [raised, dropped, changed])
@pytest.mark.parametrize("stage", BEFORE | DURING)
def test_an_interrupt_ends_it_at_every_stage(monkeypatch, served, stage, way, capsys):
    at(monkeypatch, (BEFORE | DURING)[stage], way)
    assert main(COMMAND) == INTERRUPTED
    assert served == []
    assert set(capsys.readouterr().err.splitlines()) <= PROGRESS
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("way", [raised, dropped, changed])
def test_an_interrupt_while_the_command_is_imported(monkeypatch, served, way):
    class Importing:
        @property
        def run(self):
            way(signal.SIGINT)
            return app.run

    monkeypatch.setitem(sys.modules, "plefka.cli.app", Importing())
    assert main(COMMAND) == INTERRUPTED
    assert served == []


def test_an_interrupt_when_the_address_is_printed(monkeypatch, served):
    monkeypatch.setattr("webbrowser.open", lambda address: raised(signal.SIGINT))
    assert main([*COMMAND, "--open"]) == INTERRUPTED
    assert served == []


@pytest.mark.parametrize("stage", DURING)
def test_a_request_to_end_is_not_lost_either(monkeypatch, served, stage):
    at(monkeypatch, DURING[stage], raised, signal.SIGTERM)
    assert main(COMMAND) == 0
    assert served == []


def test_without_a_signal_it_serves(served):
    assert main(COMMAND) == 0
    assert served == ["served"]


def test_another_thread_starts_a_command_without_signals(capsys):
    thread = threading.Thread(target=main, args=(["--version"],))
    thread.start()
    thread.join()
    assert "plefka" in capsys.readouterr().out
