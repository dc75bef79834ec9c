"""Draws the figure of the hard end from what `python -m benchmarks hard` kept: `python -m site_tools.hard_picture`."""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

FIGURES = Path("docs/figures")
COLOURS = {
    "bethe": "#8a97a6", "loops": "#b0701a", "gibbs[seed=0]": "#7b4ea3",
    "auto[exact=no]": "#00796b", "auto[budget=5s,exact=no]": "#d9480f", "auto[budget=20s,exact=no]": "#26323a",
}  # fmt: skip
LEAST = 1e-5  # nats: smaller errors are drawn here


def main(trials: Path) -> None:
    """One point for each draw, hollow where the method says that it has not converged."""
    found = json.loads(trials.read_text(encoding="utf-8"))
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for method, colour in COLOURS.items():
        some = [each for each in found if each["method"] == method]
        if not some:
            continue
        x = np.array([each["seconds"] for each in some])
        y = np.maximum(np.abs([each["error"] for each in some]), LEAST)
        done = np.array([each["converged"] for each in some])
        axes.scatter(x[done], y[done], s=22, color=colour, label=method, alpha=0.8, linewidths=0)
        axes.scatter(x[~done], y[~done], s=22, facecolors="none", edgecolors=colour)
    axes.set(xscale="log", yscale="log", xlabel="CPU seconds, once compiled", ylabel="|error of ln P|, nats")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#d5dbe1", linewidth=0.5)
    axes.set_axisbelow(True)
    figure.legend(frameon=False, loc="outside right upper", fontsize=9)
    figure.savefig(FIGURES / "hard.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/results/hard_trials.json"))
