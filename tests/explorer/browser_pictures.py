"""The pictures of docs/explorer.md, taken from the page itself: python -m tests.explorer.browser_pictures."""

import io
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from tests.explorer.browser import Visitor, case
from tests.explorer.browser_service import serving
from tests.paper.browser import browser

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
CASE = case({"slow_flow": 1, "thin_crema": 1, "puddle_below": 0, "loud_hum": {"on": 0.8, "off": 0.2}})
FONT = """
(sheet => { sheet.replaceSync('body { font-family: Inter, system-ui, sans-serif }');
  document.adoptedStyleSheets = [sheet]; })(new CSSStyleSheet())
"""
STILL = "new Promise(done => setTimeout(() => done(true), 700))"
PANEL = """
(box => ({x: box.left, y: box.top + scrollY, width: box.width, height: box.height}))(
  document.querySelector('.details').getBoundingClientRect())
"""
COLOURS = 200


def take(visitor: Visitor, name: str, clip: dict | None = None) -> None:
    """A picture in few colours, so that it stays small."""
    visitor.run("scrollTo(0, 0)")
    visitor.run(STILL)
    with TemporaryDirectory() as folder:
        visitor.screenshot(Path(folder) / "whole.png", clip=clip)
        image = Image.open(io.BytesIO((Path(folder) / "whole.png").read_bytes())).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(FIGURES / f"{name}.png", optimize=True)
    print(f"{name}.png: {(FIGURES / f'{name}.png').stat().st_size / 1e3:.0f} kB, {image.size}")


def open_page(visitor: Visitor, address: str, width: int, height: int, scheme: str = "light") -> None:
    visitor.visit(address, width, height, scheme)
    size = {"width": width, "height": height, "deviceScaleFactor": 1.5, "mobile": width < 600}
    visitor.browser.call("Emulation.setDeviceMetricsOverride", **size)
    visitor.browser.call("Emulation.setScrollbarsHidden", hidden=True)
    visitor.run(FONT)
    visitor.until("!!document.querySelector('#panel-next .candidate')")


def main(address: str, visitor: Visitor) -> None:
    open_page(visitor, address, 1280, 820)
    take(visitor, "explorer-start")
    open_page(visitor, address + CASE, 1280, 820)
    visitor.tab("why")
    visitor.until("!!document.querySelector('.shifts')")
    take(visitor, "explorer")
    visitor.click("#ranking li:nth-child(2) .cause")
    for tab, shown in (("graph", ".graph .node"), ("compare", "#panel-compare table")):
        visitor.tab(tab)
        if tab == "compare":
            visitor.click("#panel-compare .is-primary")
        visitor.until(f"!!document.querySelector('{shown}')")
        take(visitor, f"explorer-{tab}", clip=visitor.run(f"(scrollTo(0, 0), {PANEL})"))
    open_page(visitor, address + CASE, 360, 760, "dark")
    visitor.run("document.querySelector('#answer').scrollIntoView()")
    take(
        visitor,
        "explorer-phone",
        clip={
            "x": 0,
            "y": visitor.run("document.querySelector('#answer').offsetTop - 12"),
            "width": 360,
            "height": 760,
        },
    )


if __name__ == "__main__":
    with TemporaryDirectory() as folder, serving("example:espresso") as service, browser(folder) as opened:
        main(service.address, Visitor(opened))
