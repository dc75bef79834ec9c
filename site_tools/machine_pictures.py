"""Draws the figures of the tutorials on neurons and on a restricted machine: `python -m site_tools.machine_pictures`.

Neurons are looked for in the folder that PLEFKA_DATA names, or in ../shared/data.
"""

import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import plefka as pf

FIGURES = Path("docs/figures")
SPIKES = Path(os.environ.get("PLEFKA_DATA", "../shared/data")) / "ising" / "spikes.npz"
INK, ACCENT, PALE = "#26323a", "#00796b", "#b0701a"
SHOWN = 10  # images


def neurons() -> None:
    """How many fire together, and the couplings."""
    spikes = np.load(SPIKES)["spikes15"].astype(float)
    machine = pf.fit(pf.ensembles.machine_to_learn(0, spikes), spikes, epochs=200, verbose=False).network
    rng = np.random.default_rng(0)
    chance = rng.random((400_000, 15)) < spikes.mean(axis=0)
    kinds = {
        "recorded": (spikes, INK, "o", "none"),
        "machine": (machine.sample(seed=0, count=400_000), ACCENT, "none", "-"),
        "independent neurons": (chance, PALE, "none", "--"),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), width_ratios=(1.15, 1), layout="constrained")
    for name, (states, colour, marker, line) in kinds.items():
        share = np.bincount(states.sum(axis=1).astype(int), minlength=16)[:11] / len(states)
        there = share > 0
        left.semilogy(
            np.arange(11)[there], share[there], color=colour, marker=marker, linestyle=line, label=name, markersize=5
        )
    left.set(xlabel="neurons that fire in the same bin", ylabel="fraction of bins")
    left.legend(frameon=False)
    weights = np.where(np.eye(15, dtype=bool), np.nan, machine.weights)
    image = right.imshow(weights, cmap="RdBu_r", vmin=-2, vmax=2)
    right.set(xlabel="neuron", ylabel="neuron", xticks=range(0, 15, 2), yticks=range(0, 15, 2))
    figure.colorbar(image, ax=right, label="coupling", extend="both", shrink=0.9)
    _finished(figure, (left, right), "neurons.svg")


def digits() -> None:
    """Weights of hidden units; images, halves of them, filled in, and draws."""
    images = (load_digits(return_X_y=True)[0] > 7).astype(float)
    order = np.random.default_rng(0).permutation(len(images))
    train, test = images[order[:1347]], images[order[1347:]]
    start = pf.ensembles.machine_to_learn(32, train, seed=0)
    machine = pf.fit(start, train, epochs=60, seed=0, verbose=False).network
    axes = pf.plots.features(machine)
    axes.figure.savefig(FIGURES / "restricted-features.svg", metadata={"Date": None})
    rows = np.full((SHOWN, machine.size), np.nan)
    rows[:, :32] = test[:SHOWN, :32]
    filled = pf.infer(machine, rows, "bethe").means[:, :64]
    draws = machine.sample(seed=0, count=SHOWN)[:, :64]
    lines = {"image": test[:SHOWN], "upper half": rows[:, :64], "filled in": filled, "drawn": draws}
    figure, tiles = plt.subplots(4, SHOWN, figsize=(9, 3.9), layout="constrained")
    for line, (name, kind) in zip(tiles, lines.items(), strict=True):
        for axis, image in zip(line, kind, strict=True):
            axis.imshow(image.reshape(8, 8), cmap="Greys", vmin=0, vmax=1)
            axis.set(xticks=[], yticks=[])
            axis.set_facecolor("#dfe7ea")
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", color=INK)
    _finished(figure, (), "restricted-digits.svg")


def _finished(figure: Any, axes: Any, name: str) -> None:
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.patch.set_facecolor("white")
    figure.savefig(FIGURES / name, metadata={"Date": None})


if __name__ == "__main__":
    if SPIKES.exists():
        neurons()
    digits()
