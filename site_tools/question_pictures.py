"""Draws the figures of the pages on questions about a case: `python -m site_tools.question_pictures`."""

import re
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import plefka as pf
from plefka.cli import main

DOCS = Path("docs").resolve()
FIGURES = DOCS / "figures"
DRAWN = {"index.md": "ranking.svg", "first-hour.md": "first-hour.svg"}  # each by the page itself, as `ax`
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def of_page(page: str, name: str) -> None:
    """What the Python of a page calls `ax`."""
    namespace: dict = {}
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
        for block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
            exec(block, namespace)
    pf.plots.save(namespace["ax"], FIGURES / name)


def tornado() -> None:
    """Of docs/sensitivity.md."""
    found = pf.sensitivity(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 0}, "limescale")
    pf.plots.save(pf.plots.tornado(found, top=8), FIGURES / "tornado.svg")


def compare() -> None:
    """Of docs/gallery.md: what the command prints, as a picture."""
    with redirect_stdout(StringIO()) as printed:
        main(["compare", "example:espresso", "-e", "slow_flow=1,thin_crema=1,loud_hum=0,sour_taste=1", "--json"])
    pf.plots.save(pf.plots.compare(printed.getvalue()), FIGURES / "compare.svg")


def calibration() -> None:
    """Of docs/gallery.md: causes of states that the network draws itself, from half of its findings."""
    net = pf.example("espresso")
    states = net.sample(seed=0, count=4000).astype(float)
    rows = np.where(net.roots | (np.arange(net.size) % 2 == 0), np.nan, states)
    found = pf.infer(net, rows).means[:, net.roots]
    pf.plots.save(pf.plots.calibration(found, states[:, net.roots]), FIGURES / "calibration.svg")


if __name__ == "__main__":
    for page, name in DRAWN.items():
        of_page(page, name)
    tornado()
    compare()
    calibration()
