"""The report in a real browser, as wide as a desk and as narrow as a phone, light and dark."""

import base64
from pathlib import Path

import pytest

from tests.paper.audits import CONTRAST
from tests.paper.browser import PROGRAM, browser

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
PAGE = (Path(__file__).parents[2] / "results" / "report.html").as_uri()  # test_published: it is what the code draws
SIZES = {"desktop": (1280, 900), "tablet": (1024, 768), "phone": (360, 740)}
A4 = {"width": 673, "height": 1000, "deviceScaleFactor": 1, "mobile": False}  # between its margins, in pixels

CUT_OFF = """
(() => {
  const wide = document.documentElement.clientWidth;
  const found = [];
  if (document.documentElement.scrollWidth > wide) found.push(['page', document.documentElement.scrollWidth]);
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('thead') && getComputedStyle(element.closest('thead')).position === 'absolute') continue;
    const box = element.getBoundingClientRect();
    const words = element.textContent.slice(0, 40);
    if (box.width && (box.right > wide + 1 || box.left < -1)) found.push([element.tagName, words]);
    if (!(element instanceof SVGElement) && element.clientWidth && element.scrollWidth > element.clientWidth + 1)
      found.push([element.tagName, 'overflows', words]);
  }
  for (const drawing of document.querySelectorAll('svg')) {
    const outer = drawing.getBoundingClientRect();
    if (outer.width < 100 || outer.height < 60) found.push(['svg', outer.width, outer.height]);
    for (const text of drawing.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      const beside = box.left < outer.left - 1 || box.right > outer.right + 1;
      if (beside || box.top < outer.top - 1 || box.bottom > outer.bottom + 1)
        found.push(['svg text', text.textContent]);
    }
  }
  return found;
})()
"""
LINES = """
[...document.querySelectorAll('svg')].map(drawing => getComputedStyle(drawing).getPropertyValue('--first').trim())
"""
PICTURES = """
({
  images: [...document.images].filter(image => !image.complete || !image.naturalWidth).length,
  unnamed: [...document.querySelectorAll('svg')].filter(drawing => !drawing.getAttribute('aria-label')).length,
  drawings: document.querySelectorAll('svg').length,
  empty: [...document.querySelectorAll('svg')].filter(drawing => drawing.querySelectorAll('path').length < 5).length,
})
"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser(str(tmp_path_factory.mktemp("chromium"))) as opened:
        yield opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_is_whole_and_readable(chromium, size, scheme):
    chromium.open(PAGE, *SIZES[size], scheme)
    assert chromium.run(CUT_OFF) == []
    contrast = chromium.run(CONTRAST)
    assert contrast["seen"] > 200
    assert contrast["found"] == []
    pictures = chromium.run(PICTURES)
    assert pictures.pop("drawings") > 20
    assert pictures == {"images": 0, "unnamed": 0, "empty": 0}
    assert set(chromium.run(LINES)) == {{"light": "#0b6e8a", "dark": "#5cc4e0"}[scheme]}
    assert chromium.complaints() == []


def test_on_a_phone_tables_become_cards(chromium):
    names = "getComputedStyle(document.querySelector('td[data-name]'), '::before').content"
    chromium.open(PAGE, *SIZES["phone"], "light")
    assert "attr(" in chromium.run(names) or "holds" in chromium.run(names)
    chromium.open(PAGE, *SIZES["desktop"], "light")
    assert chromium.run(names) in ("none", "normal")


def test_it_prints(chromium):
    chromium.open(PAGE, *SIZES["desktop"], "dark")
    printed = base64.b64decode(chromium.call("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    chromium.call("Emulation.setEmulatedMedia", media="print")
    paper = chromium.run("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    chromium.call("Emulation.setDeviceMetricsOverride", **A4)
    assert chromium.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    chromium.call("Emulation.setEmulatedMedia", media="")


def test_the_audit_finds_what_is_wrong(chromium, tmp_path):
    """A page with every fault, so that the checks above mean something."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<body><p style="color:#999;background:#fff">pale</p><div style="width:3000px">wide</div>'
        '<img src="missing.png"><svg><path d=""/></svg><script>nothing()</script></body>'
    )
    chromium.open(bad.as_uri(), *SIZES["phone"], "light")
    assert chromium.run(CUT_OFF)
    assert chromium.run(CONTRAST)["found"]
    assert chromium.run(PICTURES) == {"images": 1, "unnamed": 1, "drawings": 1, "empty": 1}
    assert chromium.complaints()
