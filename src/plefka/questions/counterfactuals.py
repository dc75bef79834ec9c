"""Counterfactual rankings of causes (Richens, Lee and Johri 2020): what would go without one, and what it could do."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence, MethodDoesNotApply
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork
from plefka.questions.changed_evidence import ChangedEvidence
from plefka.questions.sensitivity import numbers_of
from plefka.questions.sensitivity_answer import PRINTED
from plefka.runtime import extras
from plefka.tables.display import Content, ShownAnswer


@dataclass(frozen=True)
class CounterfactualCause:
    """A cause of findings that are on: P(on | evidence), and its expected disablement and sufficiency, in findings."""

    cause: str
    probability: float
    disablement: float
    sufficiency: float


@dataclass(frozen=True, repr=False)
class Counterfactuals(ShownAnswer):
    """The result of `counterfactuals`. `print` shows the first causes.

    - `causes`: all causes of findings that are on, those of the largest expected disablement first.
    - `findings`: the findings that are on. `accuracy`: of all numbers, which are exact.

    **Example:**

    >>> import plefka as pf
    >>> found = pf.counterfactuals(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1})
    >>> found.causes[0].cause
    'stale_beans'
    """

    causes: tuple[CounterfactualCause, ...]
    findings: tuple[str, ...]
    accuracy: Accuracy = Accuracy.EXACT

    def to_frame(self) -> Any:
        """A DataFrame with a row for each cause."""
        return extras.pandas().DataFrame([vars(each) for each in self.causes])

    def __repr__(self) -> str:
        return f"<Counterfactuals of {len(self.causes):,} causes of {len(self.findings):,} findings>"

    def _content(self) -> Content:
        rows = [
            (each.cause, *(f"{z:.6f}" for z in (each.disablement, each.sufficiency, each.probability)))
            for each in self.causes[:PRINTED]
        ]
        sentences = [
            "disablement: how many of them would be off had the cause been off",
            "sufficiency: how many would be on had it been the only cause, with all leaks off",
            "expected numbers, given the evidence; all of them are exact",
        ]
        title = f"findings that are on: {', '.join(self.findings[:PRINTED])}{', ...' * (len(self.findings) > PRINTED)}"
        header = ("cause", "disablement", "sufficiency", "P(on | evidence)")
        return Content(title, sentences, header, rows, len(self.causes), "causes")


def counterfactuals(network: BeliefNetwork, evidence: Any) -> Counterfactuals:
    """Rank causes by how many of the findings that are on would be off without them, and how many they could explain.

    With the links and leaks of a noisy-or network as independent switches, the expected disablement of a cause is the
    number of findings, of those that are on, that would be off had the cause been off; its expected sufficiency is the
    number that would be on had it been the only cause, with all leaks off. Both are expected given the evidence, and
    follow from one elimination, whatever the number of causes of a finding.

    **Arguments:**

    - `network`: a noisy-or network without negative weights. The causes of findings that are on have no parents.
    - `evidence`: one row, as for `infer`, with at least one unit that has parents and is on.

    **Example:**

    >>> import plefka as pf
    >>> found = pf.counterfactuals(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1})
    >>> for each in found.causes[:2]:
    ...     print(f"{each.cause}: {each.disablement:.3f}")
    stale_beans: 0.380
    limescale: 0.300
    """
    changed = ChangedEvidence.of(network, evidence, None, "counterfactuals")
    child, parent, w = (z.reshape(len(z)) for z in network.storage.edge_list())
    if network.conditionals is not None or not network.activation.has_linear_log_off:
        raise MethodDoesNotApply(
            "counterfactuals needs a network of noisy-or units, whose links are switches; got other kinds of units."
        )
    if (w < 0).any():
        raise MethodDoesNotApply("counterfactuals needs weights of at least 0; got a negative one, which inhibits.")
    on = (changed.evidence.rows[0] == 1) & ~network.roots
    if not on.any():
        raise InvalidEvidence("counterfactuals needs a finding that is on; got none. Observe a unit with parents as 1.")
    below = parent[on[child] & ~network.roots[parent]]
    if below.size:
        raise MethodDoesNotApply(
            f"counterfactuals needs findings whose causes have no causes of their own; {network.names[below[0]]!r} has."
        )
    found = numbers_of(changed, on, {}, verb="counterfactuals")
    edges, links = np.flatnonzero(on[child]), found.links()
    acting, alone = np.exp(links.log_on), np.exp(found.if_alone()[:, 0])
    disablement, sufficiency = (
        np.bincount(parent[edges], (acting * z)[edges], network.size)
        for z in ((np.exp(links.if_on) - np.exp(links.if_off))[:, 0], alone)
    )
    means = np.nan_to_num(changed.evidence.rows[0])
    for unit, mean in found.outside.means.items():
        means[unit] = mean[0]
    causes = np.unique(parent[edges])
    order = causes[np.lexsort((-sufficiency[causes], -disablement[causes]))].tolist()
    rows = zip(means[order].tolist(), disablement[order].tolist(), sufficiency[order].tolist(), strict=True)
    names = network.names
    ranked = (CounterfactualCause(names[unit], *row) for unit, row in zip(order, rows, strict=True))
    return Counterfactuals(tuple(ranked), tuple(names[unit] for unit in np.flatnonzero(on)))
