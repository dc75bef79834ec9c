"""P(all of some findings are on) in a two-layer noisy-or network, by a table over the findings that are open.

The table says how probable it is that each open finding has been switched on yet. Causes are mixed in one after
another; a finding is open from its first shared cause to its last, and is then closed as being on. Every term is
positive, so that nothing cancels, and the cost is exponential only in how many findings are open at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

LOST = -690.0  # ln of more than all entries of a table, whose sum is one, can lose by underflow
SMALLEST = 1e-300
MOST_CERTAIN = 1 - 1e-16  # the largest chance below one
MOST_OPEN = 14  # findings that are open at once: tables of 16,384 entries


class Effect(NamedTuple):
    """An edge: how much the finding's field grows when the cause is on, or when it is off (an inhibitor)."""

    finding: int
    cause: int
    strength: float
    when_on: bool


class Switch(NamedTuple):
    """What a state of a cause does to one open finding, whose axis has `stride` entries behind it."""

    stride: int
    stay: float  # the chance that the finding is not switched on
    go: float

    @classmethod
    def of(cls, stride: int, strength: float) -> "Switch":
        return cls(stride, np.exp(-strength), -np.expm1(-strength))

    def apply(self, table: np.ndarray) -> None:
        view = table.reshape(-1, 2, self.stride)
        view[:, 1] += self.go * view[:, 0]
        view[:, 0] *= self.stay

    def apply_transposed(self, table: np.ndarray) -> None:
        view = table.reshape(-1, 2, self.stride)
        view[:, 0] *= self.stay
        view[:, 0] += self.go * view[:, 1]


def _switched(table: np.ndarray, switches: tuple[Switch, ...]) -> np.ndarray:
    table = table.copy() if switches else table
    for switch in switches:
        switch.apply(table)
    return table


def _transposed(table: np.ndarray, switches: tuple[Switch, ...]) -> np.ndarray:
    table = table.copy() if switches else table
    for switch in switches:
        switch.apply_transposed(table)
    return table


class Chances(NamedTuple):
    """Of each cause to be on and to be off, and of each finding to be switched on, or not, by what is its own."""

    on: np.ndarray
    off: np.ndarray
    stay: np.ndarray
    go: np.ndarray


class Open(NamedTuple):
    """A finding's axis is put in front of the table."""

    finding: int

    def forwards(self, table: np.ndarray, chance: Chances) -> np.ndarray:
        return np.concatenate([chance.stay[self.finding] * table, chance.go[self.finding] * table])

    def backwards(self, after: np.ndarray, before: np.ndarray, chance: Chances, slopes: "Slopes") -> np.ndarray:
        stay, go = after.reshape(2, -1)
        table = chance.stay[self.finding] * stay + chance.go[self.finding] * go
        slopes.stay[self.finding] = np.sum((stay - go) * before) / max(np.sum(table * before), SMALLEST)
        return table


class Mix(NamedTuple):
    """A cause that several findings share is summed out."""

    cause: int
    on: tuple[Switch, ...]
    off: tuple[Switch, ...]

    def forwards(self, table: np.ndarray, chance: Chances) -> np.ndarray:
        on, off = _switched(table, self.on), _switched(table, self.off)
        return chance.on[self.cause] * on + chance.off[self.cause] * off

    def backwards(self, after: np.ndarray, before: np.ndarray, chance: Chances, slopes: "Slopes") -> np.ndarray:
        on = chance.on[self.cause] * _transposed(after, self.on)
        table = on + chance.off[self.cause] * _transposed(after, self.off)
        slopes.means[self.cause] = np.sum(on * before) / max(np.sum(table * before), SMALLEST)
        return table


class Close(NamedTuple):
    """A finding that no further cause touches is on, and its axis goes."""

    stride: int

    def forwards(self, table: np.ndarray, chance: Chances) -> np.ndarray:
        return table.reshape(-1, 2, self.stride)[:, 1].ravel()

    def backwards(self, after: np.ndarray, before: np.ndarray, chance: Chances, slopes: "Slopes") -> np.ndarray:
        table = np.zeros((after.size // self.stride, 2, self.stride))
        table[:, 1] = after.reshape(-1, self.stride)
        return table.ravel()


class Slopes(NamedTuple):
    """What the way back collects: posterior means of causes, and d ln P / d stay of findings."""

    means: np.ndarray
    stay: np.ndarray


@dataclass(frozen=True)
class EliminationOrder:
    """In which order findings are opened and closed and causes mixed in."""

    leak: np.ndarray  # of each finding
    own: list[Effect]  # of causes that touch one of the findings only: they are part of its leak
    steps: list[Open | Mix | Close]
    most_open: int

    def log_all_on(self, on: np.ndarray, off: np.ndarray) -> tuple[float, np.ndarray]:
        """ln P(all findings on) and the posterior means of the causes, given their chances to be on and to be off.

        A probability of less than 1e-300 may come out as too large, and never as too small.
        """
        chance = self._chances(on, off)
        table, tables, log_p, lost = np.ones(1), [], 0.0, LOST
        for step in self.steps:
            tables.append(table)
            table = step.forwards(table, chance)
            total = table.sum()
            if total == 0:
                return lost, on
            table, log_p = table / total, log_p + np.log(total)
            lost = np.logaddexp(lost, log_p + LOST)
        return np.logaddexp(log_p, lost), self._means(tables, chance)

    def _chances(self, on: np.ndarray, off: np.ndarray) -> Chances:
        exponent = self.leak.copy()
        for effect in self.own:
            exponent[effect.finding] += _field(effect, on, off)
        return Chances(on, off, np.exp(-exponent), -np.expm1(-exponent))

    def _means(self, tables: list[np.ndarray], chance: Chances) -> np.ndarray:
        slopes = Slopes(chance.on.copy(), np.zeros(len(self.leak)))
        after = np.ones(1)
        for step, before in zip(reversed(self.steps), reversed(tables), strict=True):
            after = step.backwards(after, before, chance, slopes)
            after = after / max(after.max(), SMALLEST)
        for effect in self.own:
            slopes.means[effect.cause] += self._learned(effect, chance, slopes)
        return slopes.means

    def _learned(self, effect: Effect, chance: Chances, slopes: Slopes) -> float:
        """d ln P / d log-odds of a cause of one finding: how far its mean moves."""
        on, off = chance.on[effect.cause], chance.off[effect.cause]
        change = np.expm1(-effect.strength) * (1 if effect.when_on else -1)
        stay_without = chance.stay[effect.finding] * np.exp(_field(effect, chance.on, chance.off))
        return on * off * change * stay_without * slopes.stay[effect.finding]


def _field(effect: Effect, on: np.ndarray, off: np.ndarray) -> float:
    """-ln of the chance that a cause does not switch its finding on: what it adds to the leak."""
    acting = (on if effect.when_on else off)[effect.cause]
    return -np.log1p(max(acting * np.expm1(-effect.strength), -MOST_CERTAIN))


def elimination_order(leak: np.ndarray, effects: Sequence[Effect]) -> EliminationOrder:
    """Findings in an order that keeps few of them open, each time the one that needs the fewest further ones."""
    by_cause: dict[int, list[Effect]] = {}
    for effect in effects:
        by_cause.setdefault(effect.cause, []).append(effect)
    own = [touched[0] for touched in by_cause.values() if len(touched) == 1]
    shared = {cause: touched for cause, touched in by_cause.items() if len(touched) > 1}
    writer = _Writer(shared, len(leak))
    while writer.waiting:
        writer.finish(min(sorted(writer.waiting), key=writer.cost))
    return EliminationOrder(leak, own, writer.steps, writer.most_open)


class _Writer:
    """Writes the steps of an elimination down, and keeps track of where the axes of open findings are."""

    def __init__(self, shared: dict[int, list[Effect]], count: int):
        self.shared = shared
        self.waiting = set(range(count))  # findings that are not closed yet
        self.open: list[int] = []  # in the order of the axes, the last one's in front
        self.steps: list[Open | Mix | Close] = []
        self.most_open = 0
        self.near = [{finding} for finding in range(count)]
        for touched in shared.values():
            group = {effect.finding for effect in touched}
            for finding in group:
                self.near[finding] |= group

    def cost(self, finding: int) -> int:
        """How many findings would be opened before this one could be closed."""
        return len((self.near[finding] & self.waiting).difference(self.open))

    def finish(self, finding: int) -> None:
        self._open(finding)
        touching = [c for c, touched in self.shared.items() if any(effect.finding == finding for effect in touched)]
        for cause in sorted(touching, key=lambda cause: len(self.shared[cause])):
            self._mix(cause, self.shared.pop(cause))
        self.steps.append(Close(self._stride(finding)))
        self.open.remove(finding)
        self.waiting.remove(finding)

    def _open(self, finding: int) -> None:
        if finding not in self.open:
            self.open.append(finding)
            self.steps.append(Open(finding))
            self.most_open = max(self.most_open, len(self.open))

    def _mix(self, cause: int, touched: list[Effect]) -> None:
        for effect in touched:
            self._open(effect.finding)
        switches = [(effect.when_on, Switch.of(self._stride(effect.finding), effect.strength)) for effect in touched]
        on, off = (tuple(switch for when_on, switch in switches if when_on is state) for state in (True, False))
        self.steps.append(Mix(cause, on, off))

    def _stride(self, finding: int) -> int:
        return 2 ** self.open.index(finding)
