"""Rows that nobody computed: numbers from a seed in the shape of every experiment, to draw reports from."""

from pathlib import Path

import numpy as np

from plefka.paper import plan, random_networks
from plefka.paper.beside_printed import printed_mean
from plefka.paper.experiment_settings import Column, Learning, Radii, Study, TruncatedRadii
from plefka.paper.learn_bars import LearnedScheme
from plefka.paper.store import Store

NETWORKS = 40
SIZE = plan.Size(
    NETWORKS, NETWORKS, NETWORKS, 10, 10, step_sizes=(0.1, 0.05), starts=3, epochs=12, series=NETWORKS, scaled_series=8
)


def write(folder: Path, parts: tuple[str, ...] = ("all",)) -> None:
    """A complete set of rows of every experiment."""
    rng = np.random.default_rng(0)
    for experiment in plan.experiments(parts, SIZE, 0):
        store = Store(folder, experiment)
        if isinstance(experiment, Study):
            for number, column in enumerate(experiment.columns):
                store.write(f"{number}-00000", _columns(column, rng), 1.0, len(experiment.columns))
        if isinstance(experiment, Learning):
            runs = [
                LearnedScheme(activation, method, size)
                for activation, methods in experiment.schemes
                for method in methods
                for size in experiment.step_sizes
            ]
            for scheme in runs:
                store.write(scheme.name, _history(experiment, scheme, rng), 1.0, len(runs))
        if isinstance(experiment, TruncatedRadii):
            pairs = [(degree, name) for degree in experiment.degrees for name, _ in experiment.groups]
            for degree, name in pairs:
                columns = _radii(experiment, name, rng)
                columns["degree"] = np.full(len(columns["radius"]), degree)
                store.write(f"C{degree} {name}", columns, 1.0, len(pairs))
        elif isinstance(experiment, Radii):
            for name, _ in experiment.groups:
                store.write(name, _radii(experiment, name, rng), 1.0, len(experiment.groups))


def _radii(settings: Radii, group: str, rng: np.random.Generator) -> dict:
    count, columns = random_networks.radii_count(settings, group), dict(settings.groups)[group]
    radius = np.exp(rng.normal(0.1, 0.5, count * len(columns))).astype(np.float32)
    return {
        "group": np.full(len(radius), group),
        "ensemble": np.repeat([ensemble.name for ensemble, _ in columns], count),
        "observed": np.repeat([observed for _, observed in columns], count),
        "established": rng.random(len(radius)) < 0.9,
        "radius": radius,
        "ratios": 1.02 * radius,
        "poles": 1.01 * radius,
        "error": (1e-3 / radius).astype(np.float32),
        "pade": np.full(len(radius), 1e-8, np.float32),
    }


def _columns(column: Column, rng: np.random.Generator) -> dict:
    count = NETWORKS * len(column.methods)
    means = [_middle(column, method) for method in column.methods]
    return {
        "ensemble": np.full(count, column.ensemble.name),
        "observed": np.full(count, column.observed),
        "state": np.zeros(count, np.int8),
        "method": np.repeat(column.methods, NETWORKS),
        "network": np.tile(np.arange(NETWORKS, dtype=np.int32), len(column.methods)),
        "log_z": rng.uniform(-6, -3, count).astype(np.float32),
        "error": (np.repeat(means, NETWORKS) + rng.normal(0, 0.01, count)).astype(np.float32),
        "status": np.where(rng.random(count) < 0.9, "converged", "out_of_steps"),
        "steps": rng.integers(5, 30, count).astype(np.int32),
        "cycles": rng.integers(0, 3, count).astype(np.int32),
    }


def _middle(column: Column, method: str) -> float:
    table = "table1" if column.ensemble.activation == "sigmoid" else "table2"
    return printed_mean(table, column.ensemble.name, column.observed, method) or 0.01


def _history(learning: Learning, scheme: LearnedScheme, rng: np.random.Generator) -> dict:
    count = learning.starts * learning.epochs
    rise = np.repeat(np.linspace(-11, -5, learning.epochs), learning.starts) + rng.normal(0, 0.1, count)
    return {
        "activation": np.full(count, scheme.activation),
        "method": np.full(count, scheme.method),
        "step_size": np.full(count, scheme.step_size),
        "start": np.tile(np.arange(learning.starts, dtype=np.int32), learning.epochs),
        "epoch": np.repeat(np.arange(1, learning.epochs + 1, dtype=np.int32), learning.starts),
        "objective": (rise - 0.1).astype(np.float32),
        "log_likelihood": rise.astype(np.float32),
        "solved": np.ones(count, np.float32),
        "converged": np.ones(count, np.float32),
        "failed": np.zeros(count, bool),
        "ceiling": np.full(count, -3.375, np.float32),
    }
