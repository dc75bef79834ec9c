"""The page in chromium: from a tick to new numbers, from a tick to each tab's answer, and how long a key blocks.

Two networks: 60 causes with 300 findings, and HPO where its data are. A visitor ticks findings of one simulated
patient, one after the other, in each tab. Seconds count from the click until the first frame with the answer, by the
clock of the page, and so hold the 250 ms that panels other than the interview wait for a pause. Keys are typed into
the search; what counts is the time that the browser spent in the handlers of each. Browser and service share the
machine: run it alone.
"""

import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.explorer.browser import Visitor
from tests.explorer.browser_service import serving
from tests.paper.browser import browser

import plefka as pf
from benchmarks.interview import drawn_patient
from benchmarks.measure import Row, at_most
from benchmarks.questions import two_layers
from benchmarks.rare_diseases import BESIDE

TICKS = 10  # findings of a visitor, in each tab
TYPED = "abdominal pain, recurrent"
AIMS = {"60 x 300": {}, "hpo": {"next": 3.0}}
TABS = {"next": "ask", "interview": "interview", "why": "explain", "together": "joint", "graph": "neighbourhood"}
TABS |= {"compare": "compare"}  # the question that a tab asks
TICK = """(async () => {
  const start = performance.now();
  const answered = (question) => performance.getEntriesByType('resource').findLast((each) =>
    each.startTime >= start && each.responseEnd > 0 && each.name.endsWith(`/${question}`))?.responseEnd;
  document.querySelector('.unit .is-on').click();
  while (!(DONE)) {
    document.querySelector('#panel-TAB > .offer .asks:not([disabled])')?.click();
    await new Promise(requestAnimationFrame);
  }
  return (performance.now() - start) / 1000;
})()"""
RANKED = "answered('infer') && document.querySelector('#busy').hidden"
BUSY = "document.querySelector('#panel-TAB[aria-busy], #panel-TAB [aria-busy]')"
ANSWERED = f"{RANKED} && window.drawn > answered('ASKED') && !{BUSY}"
WATCH = """window.drawn = 0; performance.setResourceTimingBufferSize(5000);
new MutationObserver(() => { window.drawn = performance.now(); })
  .observe(document.querySelector('#panel-TAB'), {childList: true, subtree: true}); 0"""
KEYS = """window.keys = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.keys.push([each.name, each.processingEnd - each.processingStart]);
}).observe({type: 'event', durationThreshold: 16}); 0"""


def rows() -> Iterator[Row]:
    networks = {"60 x 300": lambda: two_layers(60, 300, 0, 0)[0]}
    data = Path(os.environ.get("PLEFKA_DATA") or BESIDE) / "hpo"
    if data.is_dir():
        networks["hpo"] = lambda: pf.example("hpo", folder=data)
    for name, made in networks.items():
        network = made()
        with opened(network) as (visitor, address):
            seconds = ticks(visitor, address, network, "next", RANKED)
            yield answered(f"{name}: a tick shows new numbers", seconds, 0.5)
            for tab, asked in TABS.items():
                seconds = ticks(visitor, address, network, tab, ANSWERED.replace("ASKED", asked))
                yield answered(f"{name}: a tick to the answer of {tab}", seconds, AIMS[name].get(tab, 1.0))
            yield longest_key(visitor, name)


def answered(name: str, seconds: list[float], most: float) -> Row:
    return at_most(name, statistics.median(seconds), "s", most, {"seconds": seconds})


@contextmanager
def opened(network: pf.BeliefNetwork) -> Iterator[tuple[Visitor, str]]:
    """A visitor of a service with the workers that it has by default."""
    with tempfile.TemporaryDirectory() as folder, browser(folder) as chromium:
        pf.save(network, path := Path(folder) / "network.npz")
        with serving(path, "--workers", str(os.cpu_count())) as service:
            yield Visitor(chromium), service.address


def ticks(visitor: Visitor, address: str, network: pf.BeliefNetwork, tab: str, done: str) -> list[float]:
    """The seconds of each tick of one visit."""
    visitor.visit(address)
    visitor.tab(tab)
    visitor.run(WATCH.replace("TAB", tab))
    seconds = []
    for name in findings(network):
        visitor.write("#search", name)
        visitor.until(f"document.querySelector('.unit .unit-name')?.textContent === {json.dumps(name)}")
        seconds.append(visitor.run(TICK.replace("DONE", done).replace("TAB", tab)))
    return seconds


def findings(network: pf.BeliefNetwork) -> list[str]:
    """Those that a patient has, in the order of the units."""
    patient = drawn_patient(network, 0)
    on = [
        name
        for name, state, is_root in zip(network.names, patient.truth, network.roots, strict=True)
        if state and not is_root
    ]
    return on[:: max(1, len(on) // TICKS)][:TICKS]


def longest_key(visitor: Visitor, name: str) -> Row:
    """Of a search that is typed letter by letter, with a correction."""
    visitor.run(KEYS)
    visitor.write("#search", "")
    for letter in TYPED:
        visitor.press(letter)
    for _ in TYPED:
        visitor.press("Backspace")
    visitor.until("new Promise(done => setTimeout(() => done(true), 500))")
    slow = visitor.run("window.keys")
    return at_most(f"{name}: the longest key", max((each for _, each in slow), default=0.0), "ms", 16, {"slow": slow})
