"""A visitor of the explorer: clicks, types and reads as a person would, in chromium without a window."""

import base64
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.paper.browser import Browser

PATIENCE = 600.0  # seconds until the page shows what it should: only against a test that hangs
KEYS = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39, "ArrowLeft": 37, "Tab": 9}
KEYS |= {"Backspace": 8, "Delete": 46, "Home": 36, "End": 35}
CTRL, SHIFT = 2, 8
TRIES = 5
READY = "document.body?.dataset.ready === 'true' && document.querySelectorAll('#ranking li').length > 0"
RANKING = """[...document.querySelectorAll('#ranking .cause')].map(cause =>
  [cause.querySelector('.cause-name').textContent, cause.querySelector('.number').textContent])"""
OBSERVED = """Object.fromEntries([...document.querySelectorAll('.observation')].map(each =>
  [each.querySelector('.unit-name').textContent,
   each.querySelector('[aria-pressed=true]')?.dataset.part]))"""
NAMES = "[...document.querySelectorAll('.unit .unit-name')].map(name => name.textContent)"
FOUND = f"{NAMES}.includes(NAME) && {NAMES}.every(name => name.toLowerCase().includes(NAME.toLowerCase()))"
ROW = "[...document.querySelectorAll('.unit')].find(u => u.querySelector('.unit-name').textContent === NAME)"
STILL = "document.getAnimations().every(each => each.playState === 'finished')"
MIDDLE = """(element => {
  const box = element.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const top = document.elementFromPoint(x, y);
  return [x, y, element.contains(top), top?.outerHTML];
})(ELEMENT)"""


def case(evidence: dict) -> str:
    """What stands behind the address of the page for a case."""
    return f"#case={quote(json.dumps(evidence))}"


class Visitor:
    """Actions on the page, each of which waits for what it needs."""

    def __init__(self, browser: Browser):
        self.browser = browser

    def visit(self, address: str, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Load the page and wait for its first ranking."""
        self.browser.open("about:blank", width, height, scheme)
        self.browser.open(address, width, height, scheme)
        self.until(READY)

    def run(self, script: str) -> Any:
        return self.browser.run(script)

    def until(self, script: str, patience: float = PATIENCE) -> Any:
        """The value of a script once it is true."""
        deadline = time.monotonic() + patience
        while not (value := self._value(script)):
            assert time.monotonic() < deadline, (
                f"the page never showed: {script}\n{self.run('document.body.innerText')}"
            )
            time.sleep(0.02)
        return value

    def _value(self, script: str) -> Any:
        try:
            return self.run(script)
        except RuntimeError:  # the page is being exchanged for another one
            return None

    def until_text(self, selector: str, text: str) -> str:
        """The text of an element once it holds some words."""
        chosen = f"document.querySelector({json.dumps(selector)})"
        return self.until(f"{chosen}?.textContent.includes({json.dumps(text)}) && {chosen}.textContent")

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    # ---- hands -------------------------------------------------------------------------------------------------------

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of an element; again, where the page moved it away in the meantime."""
        chosen = f"document.querySelector({json.dumps(selector)})"
        self.until(f"!!{chosen} && !{chosen}.disabled")
        self.run(f"window.arrived = false; {chosen}.addEventListener('click', () => {{ window.arrived = true; }})")
        what = ""
        for _ in range(TRIES):
            self.run(f"{chosen}.scrollIntoView({{block: 'center'}})")
            self.until(STILL)
            x, y, is_there, what = self.run(MIDDLE.replace("ELEMENT", chosen))
            if is_there:
                self.click_at(x, y)
                if self.run("window.arrived"):
                    return
        raise AssertionError(f"{selector} cannot be clicked: {what} is there")

    def click_at(self, x: float, y: float) -> None:
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, modifiers: int = 0) -> None:
        code = KEYS.get(key, ord(key.upper()[0]))
        text = {"text": key} if len(key) == 1 and not modifiers else {"text": "\r"} if key == "Enter" else {}
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.browser.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, selector: str, text: str) -> None:
        """Into a field, in the place of what is there."""
        self.run(f"(() => {{ const f = document.querySelector({json.dumps(selector)}); f.focus(); f.select(); }})()")
        if text:
            self.browser.call("Input.insertText", text=text)
        else:
            self.press("Delete")

    def choose_file(self, selector: str, path: Path) -> None:
        root = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        node = self.browser.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.browser.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    # ---- the explorer ------------------------------------------------------------------------------------------------

    def observe(self, name: str, part: str) -> None:
        """Search a unit and press one of its buttons: on, off or sure."""
        self.write("#search", name)
        self.until(FOUND.replace("NAME", json.dumps(name)))  # the list holds nothing else any more
        self.run(f"{ROW.replace('NAME', json.dumps(name))}.querySelector('.is-{part}').id = 'wanted'")
        before = self.run("document.querySelector('#wanted').getAttribute('aria-pressed')")
        self.click("#wanted")
        self.until(f"document.querySelector('#wanted').getAttribute('aria-pressed') !== '{before}'")
        self.run("document.querySelector('#wanted').removeAttribute('id')")
        self.run("(f => { f.value = ''; f.dispatchEvent(new Event('input')); })(document.querySelector('#search'))")

    def tab(self, name: str) -> None:
        self.click(f"#tab-{name}")
        self.until(f"!document.querySelector('#panel-{name}').hidden")

    @property
    def ranking(self) -> list[tuple[str, str]]:
        return [(name, number) for name, number in self.run(RANKING)]

    @property
    def observed(self) -> dict[str, str]:
        return self.run(OBSERVED)

    def until_ranking(self, expected: list[tuple[str, str]]) -> None:
        """Wait until the ranking begins with these causes and numbers."""
        deadline = time.monotonic() + PATIENCE
        while self.ranking[: len(expected)] != expected:
            assert time.monotonic() < deadline, (self.ranking, expected)
            time.sleep(0.02)

    def complaints(self) -> list[dict]:
        """Errors of scripts and of loading; that an old question is given up is as it should be."""
        found = self.browser.complaints()
        return [event for event in found if not event["params"].get("canceled")]

    def screenshot(self, path: Path, clip: dict | None = None) -> None:
        """Of the window, or of a part of the page."""
        part = {} if clip is None else {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True}
        data = self.browser.call("Page.captureScreenshot", format="png", **part)["data"]
        path.write_bytes(base64.b64decode(data))
