"""Figure 10: bars learned by every scheme, from ten starts, with the exact ln P per pattern."""

from collections.abc import Iterator, Mapping

import numpy as np

from plefka.experiments.drawing import curves, dots
from plefka.experiments.printed import paper
from plefka.experiments.report import Figure, Panel, Section, Table, Text
from plefka.experiments.settings import Learning
from plefka.experiments.store import Rows
from plefka.experiments.summary import signed

SCHEMES = (("sigmoid", ("G11", "G12", "G22", "SJJ")), ("noisy_or", ("G11", "G12", "G22", "G221")))
CEILING = 28 / 32 * np.log(1 / 32) + 2 / 16 * np.log(1 / 16)  # 28 images of 1/32 each, the empty and the full of 1/16
Final = dict[str, np.ndarray]  # exact ln P per pattern of every start, by method


def settings(starts: int, epochs: int, seed: int) -> Learning:
    printed = paper()["learning"]
    return Learning("learning", SCHEMES, tuple(printed["layers"]), printed["patterns"], starts, epochs, seed)


def render(everything: Mapping[str, Rows]) -> Section:
    rows = everything["learning"]
    about = (
        f"Networks of 1 x 8 x 16 units learn {rows.settings['patterns']:,} images of bars in "
        f"{rows.settings['epochs']} epochs, from {rows.settings['starts']} starts for each scheme. The ceiling in the "
        f"plots is minus the entropy of the bars, {signed(CEILING, 3)} nats per pattern, which the true model would "
        "reach. A model that knows how often each image occurs in this sample would reach "
        f"{signed(of_these_images(rows), 3)}. Learning maximises the estimate of the scheme; the plots show the exact "
        "ln P."
    )
    return Section("Figure 10: learning bars", [Text(about), Text(verdict(rows)), _table(rows), *_figures(rows)])


def of_these_images(rows: Rows) -> float:
    return float(rows.columns["ceiling"][0])


def history(rows: Rows, activation: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Epochs, and the exact ln P per pattern (epochs, starts)."""
    part = rows.where(activation=activation, method=method)
    starts = int(part["start"].max()) + 1
    return part["epoch"][::starts], part["log_likelihood"].reshape(-1, starts).astype(float)


def by_method(rows: Rows, activation: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    methods = next(methods for name, methods in rows.settings["schemes"] if name == activation)
    computed = set(rows.where(activation=activation)["method"])
    return {method: history(rows, activation, method) for method in methods if method in computed}


def final(rows: Rows, activation: str) -> Final:
    return {method: values[-1] for method, (_, values) in by_method(rows, activation).items()}


def verdict(rows: Rows) -> str:
    """Whether SJJ learns worse than the other schemes, in numbers."""
    ends = final(rows, "sigmoid")
    if "SJJ" not in ends or len(ends) < 2:
        return ""
    sjj = ends.pop("SJJ")
    better = [name for name, values in ends.items() if values.mean() > sjj.mean()]
    wins = {name: int(np.sum(values > sjj)) for name, values in ends.items()}
    means = ", ".join(f"{name} {signed(float(values.mean()), 3)}" for name, values in {"SJJ": sjj, **ends}.items())
    counts = ", ".join(f"{name} {count}" for name, count in wins.items())
    outcome = {0: "is refuted here: SJJ learns best", len(ends): "is confirmed here: SJJ learns worst"}.get(
        len(better), f"holds in part here: {' and '.join(better)} learn better than SJJ, the others learn worse"
    )
    return (
        f"The paper concludes: “{paper()['learning']['conclusion']}” That {outcome}. "
        f"The mean of the exact ln P per pattern at the end of training is: {means}. "
        f"The number of starts, out of {len(sjj)}, from which a scheme ends higher than SJJ: {counts}."
    )


def _table(rows: Rows) -> Table:
    lines = []
    for activation, _ in rows.settings["schemes"]:
        for method, (epochs, values) in by_method(rows, activation).items():
            best = values.max(axis=0)
            lines.append(
                (
                    f"{activation.replace('_', '-')}, {method}",
                    f"{signed(float(values[-1].mean()), 3)} ± {values[-1].std(ddof=1) / len(best) ** 0.5:.3f}"
                    if len(best) > 1 else signed(float(values[-1].mean()), 3),
                    f"{signed(float(values[-1].min()), 3)} to {signed(float(values[-1].max()), 3)}",
                    signed(float(best.mean()), 3),
                    f"{epochs[values.argmax(axis=0)].mean():.0f}",
                )
            )  # fmt: skip
    header = (
        "scheme",
        "at the end ± standard error",
        "worst to best start",
        "at the best epoch, mean",
        "best epoch, mean",
    )
    return Table("Exact ln P per pattern, in nats", header, lines)


def _figures(rows: Rows) -> Iterator[Figure]:
    for activation, _ in rows.settings["schemes"]:
        found = by_method(rows, activation)
        if not found:
            continue
        ends = {method: values[-1] for method, (_, values) in found.items()}
        words = "; ".join(
            f"{method} from {signed(float(values.min()), 2)} to {signed(float(values.max()), 2)}"
            for method, values in ends.items()
        )
        epochs = next(iter(found.values()))[0]
        lines = {method: values for method, (_, values) in found.items() if len(values) == len(epochs)}
        name = activation.replace("_", "-")
        yield Figure(
            f"figure10-{name}",
            [
                Panel(dots(ends, CEILING), f"Exact ln P per pattern of every start in the end: {words}."),
                Panel(curves(epochs, lines, CEILING), f"Exact ln P per pattern over the epochs, ending at: {words}."),
            ],
            f"Figure 10, {'left' if activation == 'sigmoid' else 'right'}: {name} networks, every start.",
        )
