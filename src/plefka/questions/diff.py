"""What changed between two versions of a network: units, probabilities and answers."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.infer import infer
from plefka.methods.method import Method
from plefka.networks.belief import BeliefNetwork
from plefka.networks.units import unit_numbers, units_of

SAME_NUMBER, SAME_ANSWER = 1e-9, 1e-6  # what differs by no more is rounding


class Change(NamedTuple):
    """One change: "renamed", "removed", "added", "number" or "answer", what it is about, and both values."""

    kind: str
    what: str
    before: float | str | None = None
    after: float | str | None = None

    def __str__(self) -> str:
        if self.before is self.after:
            return f"{self.kind}: {self.what}"
        before, after = (f"{z:.6g}" if isinstance(z, float) else z or "none" for z in (self.before, self.after))
        return f"{self.what}: {before} -> {after}"


def diff(
    before: BeliefNetwork, after: BeliefNetwork, evidence: Any = None, *, method: str | Method = "auto"
) -> list[Change]:
    """What changed from one network to another: units, then numbers, then answers, the largest changes first.

    Numbers are probabilities (priors, leaks, strengths of causes, tables) or weights and biases. Answers are
    P(unit | evidence), of one row or of several; without evidence, prior probabilities. A unit counts as renamed where
    one was removed and one was added with the same numbers and neighbours.

    >>> import plefka as pf
    >>> nets = [pf.BeliefNetwork([[0, 0], [w, 0]], [0.1, 0.1], "noisy_or", ["flu", "fever"]) for w in (1.0, 2.0)]
    >>> for change in pf.diff(*nets):
    ...     print(change)
    fever: strength of flu: 0.632121 -> 0.864665
    P(fever): 0.149592 -> 0.169616
    """
    if not all(isinstance(each, BeliefNetwork) and each.stack is None for each in (before, after)):
        raise InvalidInput(f"diff compares two belief networks; got {before!r} and {after!r}.")
    changed, old, new = {*before.names} ^ {*after.names}, _numbers(before), _numbers(after)
    known = _signatures(new, changed)
    renamed = {name: known[text] for text, name in _signatures(old, changed).items() if text in known}
    names = [renamed.get(name, name) for name in before.names]
    gone, more = ({*names} - {*after.names}, {*after.names} - {*names})
    found = [Change("renamed", "unit", *pair) for pair in renamed.items()]
    found += [Change("removed", name) for name in names if name in gone]
    found += [Change("added", name) for name in after.names if name in more]
    old = {(renamed.get(unit, unit), what, renamed.get(parent, parent)): z for (unit, what, parent), z in old.items()}
    numbers = []
    for key in [key for key in old | new if {key[0], key[2]}.isdisjoint(gone | more)]:
        a, b, (unit, what, parent) = old.get(key), new.get(key), key
        if a is None or b is None or abs(a - b) > SAME_NUMBER * max(abs(a), abs(b)):
            numbers.append(Change("number", f"{unit}: {what}{f' of {parent}' if parent else ''}", a, b))
    for changes in (numbers, _answers(before, after, names, evidence, method)):
        found += sorted(changes, key=lambda change: -abs(float(change.after or 0) - float(change.before or 0)))
    return found


def _numbers(network: BeliefNetwork) -> dict[tuple[str, str, str], float]:
    """All numbers by unit, what they are, and parent, which is empty for those of the unit itself."""
    units = zip(network.names, units_of(network), strict=True)
    return {(name, *key): z for name, unit in units for key, z in unit_numbers(unit).items()}


def _signatures(numbers: dict[tuple[str, str, str], float], changed: set[str]) -> dict[frozenset, str]:
    """What tells the units that are in one network only: their numbers and their edges to units of both."""
    found: dict[str, set] = {}
    for (unit, what, parent), z in numbers.items():
        for name, other in ((unit, parent), (parent, unit)):
            if name in changed and other not in changed:
                found.setdefault(name, set()).add((other, what, name == unit, f"{z:.9g}"))
    texts = {name: frozenset(parts) for name, parts in found.items() if any(other for other, *_ in parts)}
    counts = Counter(texts.values())
    return {text: name for name, text in texts.items() if counts[text] == 1}


def _answers(
    before: BeliefNetwork, after: BeliefNetwork, names: list[str], evidence: Any, method: str | Method
) -> list[Change]:
    """P(unit | evidence) of the hidden units of both networks, where it differs."""
    place = {name: unit for unit, name in enumerate(after.names)}
    a, b = (infer(network, evidence, method, throw=False) for network in (before, after))
    old = [unit for unit, name in enumerate(names) if name in place]
    p, q = np.atleast_2d(a.means)[:, old], np.atleast_2d(b.means)[:, [place[names[unit]] for unit in old]]
    bar = " | evidence" if np.any(a.evidence.informed) else ""
    what = [f"P({names[unit]}{bar})" for unit in old]
    changes = np.argwhere(np.isnan(a.evidence.rows[:, old]) & (abs(p - q) > SAME_ANSWER)).tolist()
    rows = [f"row {row}: " if a.is_batch else "" for row in range(len(p))]
    return [Change("answer", rows[row] + what[k], float(p[row, k]), float(q[row, k])) for row, k in changes]
