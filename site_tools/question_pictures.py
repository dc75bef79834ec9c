"""Draws the figures of the pages on questions about a case: `python -m site_tools.question_pictures`."""

from pathlib import Path

import plefka as pf

FIGURES = Path("docs/figures")


def tornado() -> None:
    """Of docs/sensitivity.md."""
    found = pf.sensitivity(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 0}, "limescale")
    pf.plots.save(pf.plots.tornado(found, top=8), FIGURES / "tornado.svg")


if __name__ == "__main__":
    tornado()
