"""Chromium without a window, driven through the pipe that it opens for debuggers."""

import json
import os
import select
import shutil
import subprocess
import time
from contextlib import contextmanager
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe")
PATIENCE = 600.0  # seconds for an answer: only against a test that hangs


class Browser:
    """One page; messages are JSON with a zero byte behind each."""

    def __init__(self, to_browser: int, from_browser: int):
        self.to_browser, self.from_browser = to_browser, from_browser
        self.rest, self.number, self.session, self.context = b"", 0, None, ""
        self.events: list[dict] = []
        self.begin_afresh()

    def begin_afresh(self) -> None:
        """A new page that knows nothing of the one before: neither its storage nor its settings."""
        self.session = None
        if self.context:
            self.call("Target.disposeBrowserContext", browserContextId=self.context)
        self.context = self.call("Target.createBrowserContext")["browserContextId"]
        new = {"url": "about:blank", "browserContextId": self.context}
        target = self.call("Target.createTarget", **new)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.events.clear()

    def call(self, method: str, **params: Any) -> dict:
        """What the browser answers."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _next(self) -> dict:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.from_browser], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(self.from_browser, 2**20) if ready else b""
            if not piece:
                raise TimeoutError("the browser does not answer")
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def open(self, address: str, width: int, height: int, scheme: str) -> None:
        """Load a page at a size, in a colour scheme, and wait until it is there."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > deadline:
                raise TimeoutError("the page does not load")
            self.events.append(self._next())

    def run(self, script: str) -> Any:
        """The value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def complaints(self) -> list[dict]:
        """Errors of scripts, and whatever the browser logged."""
        bad = ("Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed")
        return [event for event in self.events if event.get("method") in bad]


@contextmanager
def browser(folder: str):
    """A browser that keeps its files in a folder and is gone afterwards."""
    assert PROGRAM is not None
    read_here, write_there = os.pipe()
    read_there, write_here = os.pipe()
    command = f'exec "$0" "$@" 3<&{read_there} 4>&{write_there}'
    process = subprocess.Popen(
        ["bash", "-c", command, PROGRAM, *OPTIONS, f"--user-data-dir={folder}"],
        pass_fds=(read_there, write_there), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(read_there)
    os.close(write_there)
    try:
        yield Browser(write_here, read_here)
    finally:
        process.kill()
        process.wait()
        os.close(read_here)
        os.close(write_here)
