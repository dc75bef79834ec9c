"""Draws the figures of the tutorial on rare diseases: `python -m site_tools.rare_disease_pictures [RESULTS.json]`.

The ontology is looked for in the folder that PLEFKA_DATA names, or in ../shared/data; the results are those of
`python -m benchmarks rare_diseases`, without which the second figure stays as it is.
"""

import json
import os
import sys
from pathlib import Path
from textwrap import shorten
from typing import Any

import matplotlib.pyplot as plt

import plefka as pf

FIGURES = Path("docs/figures")
FOLDER = Path(os.environ.get("PLEFKA_DATA", "../shared/data")) / "hpo"
SEEN = {"Arachnodactyly": 1, "Ectopia lentis": 1, "Aortic root aneurysm": 1, "Thoracic lordosis": 1}
COLOURS = ("#00796b", "#b0701a", "#5b6ea6", "#8a4f7d", "#26323a")
SETTINGS = {
    "all annotations": "all\nannotations",
    "without own papers": "without those of\nthe cases' papers",
    "without all that names one of them": "without all that\nname one of them",
}


def findings_one_by_one() -> None:
    """How probable the leading diseases are after each further finding."""
    network = pf.example("hpo", folder=FOLDER, names="words")
    solutions = [pf.infer(network, dict(list(SEEN.items())[:count])) for count in range(len(SEEN) + 1)]
    leading = [name for name, _ in solutions[-2].ranking(3)]
    leading = list(dict.fromkeys([*leading, *(name for name, _ in solutions[2].ranking(2))]))[: len(COLOURS)]
    figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
    for name, colour in zip(leading, COLOURS, strict=False):
        values = [float(each[name]) for each in solutions]
        axis.semilogy(range(len(solutions)), values, color=colour, marker="o", markersize=5, label=shorten(name, 45))
    axis.set(ylabel="P(disease | findings so far)", xticks=range(len(solutions)))
    axis.set_xticklabels(["nothing", *(f"+ {name}" for name in SEEN)], fontsize=8)
    axis.legend(frameon=False, fontsize=8, loc="upper left")
    _finished(figure, axis, "rare-diseases.svg")


def diagnoses_found(results: Path) -> None:
    """How often the diagnosis is first, and among the first ten, beside the likelihood ratio."""
    rows = {row["name"]: row["details"] for row in json.loads(results.read_text())["rows"]}
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    for place, setting in enumerate(SETTINGS):
        details = rows[f"first: {setting}, present and excluded, all"]
        for shift, method, colour in ((-0.2, "plefka", COLOURS[0]), (0.2, "likelihood ratio", COLOURS[1])):
            ten, first = (details[f"{method}, {figure_name}"] for figure_name in ("ten first", "first"))
            label = None if place else f"{method}: first (dark), among ten"
            axis.bar(place + shift, ten, 0.36, color=colour, alpha=0.35)
            axis.bar(place + shift, first, 0.36, color=colour, label=label)
            axis.annotate(f"{first:.0f}", (place + shift, first), ha="center", va="top", color="white")
            axis.annotate(f"{ten:.0f}", (place + shift, ten), ha="center", va="bottom")
    axis.set(ylabel="% of published patients", xticks=range(len(SETTINGS)), ylim=(0, 100))
    axis.set_xticklabels(SETTINGS.values())
    axis.legend(frameon=False)
    _finished(figure, axis, "rare-diseases-found.svg")


def _finished(figure: Any, axis: Any, name: str) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    pf.plots.save(figure, FIGURES / name)
    plt.close(figure)


if __name__ == "__main__":
    findings_one_by_one()
    if len(sys.argv) > 1:
        diagnoses_found(Path(sys.argv[1]))
