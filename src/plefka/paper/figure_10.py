"""Figure 10: bars learned by every scheme with steps of several sizes, from several starts, with the exact ln P."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from plefka.paper.beside_printed import paper
from plefka.paper.drawings import curves, dots, sweep
from plefka.paper.experiment_settings import Learning
from plefka.paper.step_size_sweep import CHOICES, CONVERGED_SHARE, Learned, chosen, conditions, runs, step_sizes
from plefka.paper.store import StoredRows
from plefka.paper.summary import mean_and_error, percent, signed
from plefka.tables.html_page import Figure, Panel, ReportTable, Section, Text

SCHEMES = (("sigmoid", ("G11", "G12", "G22", "G221", "SJJ")), ("noisy_or", ("G11", "G12", "G22", "G221")))
BEYOND = (("sigmoid", ("reweighted",)), ("noisy_or", ("reweighted",)))  # schemes that the paper does not have
BY_ITSELF = 0.0  # a step size: the one that a scheme beyond the paper chooses
FIGURE_STEPS = 50  # evaluations of a solve
CERTAIN = 2  # standard errors between two schemes, start by start
CEILING = 28 / 32 * np.log(1 / 32) + 2 / 16 * np.log(1 / 16)  # 28 images of 1/32 each, the empty and the full of 1/16


def settings(step_sizes: tuple[float, ...], starts: int, epochs: int, seed: int) -> Learning:
    """The sizes of Adam's steps are computed in their order."""
    layers, patterns = (paper()["learning"][name] for name in ("layers", "patterns"))
    return Learning("learning", SCHEMES, step_sizes, tuple(layers), patterns, starts, epochs, FIGURE_STEPS, seed)


def settings_beyond(starts: int, epochs: int, seed: int) -> Learning:
    """The same images and starts for what the paper does not have, with steps and batches of its own choice."""
    return replace(settings((BY_ITSELF,), starts, epochs, seed), name="learning_beyond", schemes=BEYOND)


# ---- words -----------------------------------------------------------------------------------------------------------


def render(everything: Mapping[str, StoredRows]) -> Section:
    rows = everything["learning"]
    printed, ceiling = paper()["learning"], float(rows.columns["ceiling"][0])  # of these images
    about = (
        f"Networks of 1 x 8 x 16 units learn images of bars. The conditions: {conditions(rows)}. The paper has "
        f"{printed['starts']} starts and {printed['epochs']} epochs, and names neither an optimiser nor a step size. "
        "The ceiling in the plots is minus the entropy of the bars, "
        f"{signed(CEILING, 3)} nats per pattern, which the true model would reach. A model that knows how often each "
        f"image occurs in this sample would reach {signed(ceiling, 3)}. Learning maximises the estimate "
        "of the scheme, its objective; the plots show the exact ln P. A start fails if no pattern can be solved any "
        "more, or a parameter is not finite. It then keeps its last usable parameters, and counts with these."
    )
    parts: list = [Text(about), Text(verdict(rows))]
    beyond = everything.get("learning_beyond")  # if it was computed
    for activation, _ in rows.settings["schemes"]:
        if runs(rows, activation):
            found = chosen(beyond, activation, "exact") if beyond else {}
            words = [Text(_in_words(found, activation))] if found else []
            parts += [*tables(rows, activation), *words, _figure(rows, activation, found)]
    return Section("Figure 10: learning bars", parts)


def _in_words(found: Mapping[str, Learned], activation: str) -> str:
    """A paragraph about schemes beyond the paper."""
    ends = "; ".join(f"{method} {signed(run.mean, 3)} on average, from {run.span(3)}" for method, run in found.items())
    return (
        f"Beyond the paper, on the same images and starts of {activation.replace('_', '-')} networks, in as many "
        f"epochs, of which each may have several steps, the exact ln P per pattern in the end is: {ends}."
    )


class Versus(NamedTuple):
    """A scheme beside SJJ, start by start, each with the step size that is best for it."""

    method: str
    difference: float  # of the exact ln P in the end, above 0 where the scheme is higher
    error: float
    wins: int

    @property
    def words(self) -> str:
        if not abs(self.difference) > CERTAIN * self.error:
            return "not told apart from"
        return "higher than" if self.difference > 0 else "lower than"


def beside_sjj(rows: StoredRows, choice: str) -> list[Versus]:
    """Every other scheme of sigmoid networks; none where SJJ is not there."""
    found = chosen(rows, "sigmoid", choice)
    if "SJJ" not in found:
        return []
    sjj = found.pop("SJJ").end
    return [Versus(method, *mean_and_error(run.end - sjj), int(np.sum(run.end > sjj))) for method, run in found.items()]


def verdict(rows: StoredRows, choices: Sequence[str] = tuple(CHOICES)) -> str:
    """What becomes of the paper's conclusion about SJJ, in the numbers of these choices and with all conditions."""
    by_choice = {choice: beside_sjj(rows, choice) for choice in CHOICES}
    if not all(by_choice.values()):
        return ""
    sentences = [_compared(rows, choice, by_choice[choice]) for choice in choices]
    return (
        f"The paper concludes: “{paper()['learning']['conclusion']}” {_outcome(by_choice)} "
        f"{' '.join(sentences)} {_by_step_size(rows)} The conditions: {conditions(rows)}; a scheme is called higher or "
        f"lower if the mean difference from SJJ, start by start, is more than {CERTAIN} standard errors."
    )


def _outcome(by_choice: Mapping[str, list[Versus]]) -> str:
    """Which schemes SJJ is below, and above, however the step size is chosen; nothing is said of other conditions."""
    kinds = {
        words: [
            each.method
            for each in by_choice["objective"]
            if all(
                other.words == words for found in by_choice.values() for other in found if other.method == each.method
            )
        ]
        for words in ("higher than", "lower than")
    }
    others = [each.method for each in by_choice["objective"] if not any(each.method in some for some in kinds.values())]
    if len(kinds["higher than"]) == len(by_choice["objective"]):
        return "That holds under the conditions below: every other scheme ends higher, however the step size is chosen."
    parts = [
        *(
            f"{_listed(names)} {'end' if len(names) > 1 else 'ends'} {words} SJJ"
            for words, names in kinds.items()
            if names
        ),
        *([f"for {_listed(others)} it depends on how the step size is chosen, or on chance"] if others else []),
    ]
    return f"That does not hold under the conditions below: however the step size is chosen, {'; '.join(parts)}."


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _compared(rows: StoredRows, choice: str, found: list[Versus]) -> str:
    """The means in the end under one choice of the step size."""
    best = chosen(rows, "sigmoid", choice)
    means = []
    for method, run in sorted(best.items(), key=lambda item: -item[1].mean):
        failed = f", {int(run.failed.sum())} of {len(run.failed)} starts failed" if run.failed.any() else ""
        share = f"{percent(float(run.converged[-1].mean()))} of the solves converged{failed}"
        means.append(f"{method} {signed(run.mean, 3)} (step size {run.step_size:g}, {share})")
    wins = ", ".join(f"{each.method} {each.wins}" for each in found)
    return (
        f"With the step size of each scheme chosen by {CHOICES[choice]}, the mean of the exact ln P per pattern in the "
        f"end is {', '.join(means)}; of {rows.settings['starts']} starts those that end higher than with SJJ are: "
        f"{wins}. {_in_the_lead(best)}"
    )


def _in_the_lead(best: Mapping[str, Learned]) -> str:
    """From which epoch on the scheme that ends highest has been the highest, and which ones were before."""
    means = np.array([run.exact.mean(axis=1) for run in best.values()])
    leaders = means.argmax(axis=0)
    changes = np.flatnonzero(leaders != leaders[-1])
    last, epochs = list(best)[leaders[-1]], next(iter(best.values())).epochs
    if not len(changes):
        return f"{last} has the highest mean in every epoch."
    before = _listed([list(best)[number] for number in np.unique(leaders[: changes[-1] + 1]) if number != leaders[-1]])
    return f"{last} has the highest mean from epoch {epochs[changes[-1] + 1]} on; before, ahead at times: {before}."


def _by_step_size(rows: StoredRows) -> str:
    """Which scheme is ahead where all have the same step size."""
    found = runs(rows, "sigmoid")
    parts = []
    for size in step_sizes(rows):
        ends = {method: run.mean for method, some in found.items() for run in some if run.step_size == size}
        if ends:
            first = max(ends, key=ends.__getitem__)
            parts.append(f"{first} at {size:g} ({signed(ends[first], 3)})")
    return f"With one step size for all schemes, those with the highest mean are {', '.join(parts)}."


def solves(rows: StoredRows) -> str:
    """How many solves converged in all, scheme by scheme."""
    shares = ", ".join(
        f"{activation.replace('_', '-')} {method} {percent(float(np.mean([run.converged.mean() for run in some])))}"
        for activation, _ in rows.settings["schemes"]
        for method, some in runs(rows, activation).items()
    )
    return f"The share of all solves that converged while bars were learned ({conditions(rows)}): {shares}."


# ---- tables and figures ----------------------------------------------------------------------------------------------


def tables(rows: StoredRows, activation: str) -> Iterator[ReportTable]:
    """Every scheme at its best step sizes, and the whole sweep."""
    name = activation.replace("_", "-")
    about = f"{rows.settings['starts']} starts, {rows.settings['epochs']} epochs"
    header = (
        "scheme", "step size chosen by", "step size", "objective", "exact ln P ± standard error", "worst to best start",
        "solves converged", "starts failed", "exact ln P where solves converged", "at the best epoch",
    )  # fmt: skip
    best = {choice: chosen(rows, activation, choice) for choice in CHOICES}
    lines = [_line(best[choice][method], choice) for method in runs(rows, activation) for choice in CHOICES]
    yield ReportTable(
        f"{name} networks at the end of learning, nats per pattern; {about}, mean over all starts. Beside it, the mean "
        f"over the starts that have not failed and where {100 * CONVERGED_SHARE:.0f} % of the solves converged in the "
        "last epoch, and the mean of each start's best epoch",
        header,
        lines,
    )
    yield _sweep_table(rows, activation, name, about)


def _line(run: Learned, choice: str) -> tuple[str, ...]:
    mean, error = mean_and_error(run.end)
    ends = run.end[~run.failed & (run.converged[-1] >= CONVERGED_SHARE)]
    return (
        run.method,
        CHOICES[choice],
        f"{run.step_size:g}",
        signed(run.score("objective"), 3),
        signed(mean, 3) if np.isnan(error) else f"{signed(mean, 3)} ± {error:.3f}",
        run.span(3),
        percent(float(run.converged[-1].mean())),
        f"{int(run.failed.sum())} of {len(run.failed)}",
        f"{signed(float(ends.mean()), 3)} ({len(ends)} of {len(run.end)} starts)" if len(ends) else "none",
        signed(float(run.exact.max(axis=0).mean()), 3),
    )


def _sweep_table(rows: StoredRows, activation: str, name: str, about: str) -> ReportTable:
    """Schemes by step sizes: the exact ln P in the end, and how the solves went."""
    found, sizes = runs(rows, activation), step_sizes(rows)
    best = {choice: chosen(rows, activation, choice) for choice in CHOICES}
    marks = {"objective": "*", "exact": "†"}
    lines = []
    for method, some in found.items():
        by_size = {run.step_size: run for run in some}
        cells = []
        for size in sizes:
            run = by_size.get(size)
            mark = "".join(marks[choice] for choice in CHOICES if best[choice][method].step_size == size)
            failed = f", {int(run.failed.sum())} failed" if run is not None and run.failed.any() else ""
            share = "" if run is None else f" ({percent(float(run.converged[-1].mean()))}{failed})"
            cells.append("" if run is None else f"{signed(run.mean, 3)}{mark}{share}")
        lines.append((method, *cells))
    caption = (
        f"{name} networks, the whole sweep: mean of the exact ln P per pattern in the end by step size, with the share "
        f"of solves that converged in the last epoch, and failed starts; {about}. * is the best by the scheme's own "
        "objective, † by the exact ln P"
    )
    return ReportTable(caption, ("scheme", *(f"{size:g}" for size in sizes)), lines)


def _figure(rows: StoredRows, activation: str, beyond: Mapping[str, Learned]) -> Figure:
    found, best = runs(rows, activation), {choice: chosen(rows, activation, choice) for choice in CHOICES}
    drawn = {**best["objective"], **beyond}
    ends = {method: run.end for method, run in drawn.items()}
    shown = "; ".join(
        f"{method}{f' with step size {run.step_size:g}' if run.step_size else ''} from {run.span(2)}"
        for method, run in drawn.items()
    )
    everywhere = "; ".join(
        f"{method} " + ", ".join(f"{signed(run.mean, 2)} at {run.step_size:g}" for run in some)
        for method, some in found.items()
    )
    epochs = next(iter(best["objective"].values())).epochs
    lines = {method: run.exact for method, run in drawn.items()}
    ends_by_size = {
        method: ([r.step_size for r in some], np.array([r.end for r in some])) for method, some in found.items()
    }
    sizes = {method: {choice: best[choice][method].step_size for choice in CHOICES} for method in found}
    failed = ", ".join(
        f"{int(run.failed.sum())} with {method}" for method, run in best["objective"].items() if run.failed.any()
    )
    name, found_under = activation.replace("_", "-"), conditions(rows)
    caption = (
        f"Figure 10, {'left' if activation == 'sigmoid' else 'right'}: {name} networks. First the sweep: the mean over "
        "starts of the exact ln P in the end, with a bar from the worst to the best start; a filled mark is the step "
        "size that the scheme's own objective chooses, a ring the one that the exact ln P chooses. Then every start in "
        "the end and over the epochs, with the step size that the objective chooses. "
        f"{found_under[0].upper()}{found_under[1:]}. Failed starts: {failed or 'none'}."
    )
    return Figure(
        f"figure10-{name}",
        [
            Panel(
                sweep(ends_by_size, sizes, CEILING), f"Exact ln P per pattern in the end by step size: {everywhere}."
            ),
            Panel(dots(ends, CEILING), f"Exact ln P per pattern of every start in the end: {shown}."),
            Panel(curves(epochs, lines, CEILING), f"Exact ln P per pattern over the epochs, ending at: {shown}."),
        ],
        caption,
    )
