"""Plans of an elimination: clusters of steps on arrays, what they need of memory, and where every axis is."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from plefka.exact.cost import FEW_NUMBERS
from plefka.exact.elimination_steps import Act, Match, Multiply, Observe, Step, Sum
from plefka.exact.log_factors import Switch

WANTED_FACTORS = ("leak", "message")  # factors that the way back must say something of
MULTIPLY, ACT, SUM, OBSERVE, BECOME = "multiply", "act", "sum", "observe", "become"
Word = tuple[str, Any, Any]  # what is done, and to what


class Cluster(NamedTuple):
    """Steps from nothing to a table, which is a message to a later cluster."""

    steps: tuple[Step, ...]
    axes: tuple[int, ...]
    stored: float  # numbers that the way back needs of the steps, for each row

    def messages(self) -> list[tuple]:
        """The names of those from earlier clusters."""
        return [step.factor for step in self.steps if type(step) is Multiply and step.factor[0] == "message"]


class Plan(NamedTuple):
    """What to do, and what it costs for each row."""

    clusters: tuple[Cluster, ...]
    width: int  # axes of the largest table
    entries: float  # of all tables of all steps
    stored: float  # numbers that the way back needs of all clusters
    peak: float  # numbers in memory at a time, where every message is kept
    least: float  # and where only messages between segments are, for a single row

    @classmethod
    def of(cls, clusters: tuple[Cluster, ...], width: int, entries: float, peak: float) -> "Plan":
        """With what follows from these."""
        segments, total = segments_of(clusters, 1), sum(cluster.stored for cluster in clusters)
        number = {k: at for at, segment in enumerate(segments) for k in segment}
        sizes = [2.0 ** len(cluster.axes) for cluster in clusters]
        between = sum(
            sizes[sent]
            for k, cluster in enumerate(clusters)
            for _, sent in cluster.messages()
            if number[sent] < number[k]
        )
        largest = max((sum(clusters[k].stored + sizes[k] for k in segment) for segment in segments), default=0.0)
        return cls(clusters, width, entries, total, peak, min(peak, between + largest + 2.0 ** (width + 2)))

    @property
    def num_steps(self) -> int:
        return sum(len(cluster.steps) for cluster in self.clusters)


def segments_of(clusters: tuple[Cluster, ...], rows: int) -> list[range]:
    """Clusters one after another, of each of which the way back needs few numbers for so many rows.

    Of all segments but one only the messages into it are kept; the way there is gone again on the way back.
    """
    starts, numbers = [0] if clusters else [], 0.0
    for k, cluster in enumerate(clusters):
        if numbers and (numbers + cluster.stored) * rows > FEW_NUMBERS:
            starts.append(k)
            numbers = 0.0
        numbers += cluster.stored
    return [range(*ends) for ends in zip(starts, [*starts[1:], len(clusters)], strict=False)]


class AxisLayout:
    """Axes in the order in which they are summed over, and those of what has switched a unit on just before its own."""

    def __init__(self, size: int, eliminated: Iterable[int]):
        self.size = size
        self.place = {axis: 2 * at for at, axis in enumerate(eliminated)}
        for axis in [axis for axis in self.place if axis >= size and axis - size in self.place]:
            self.place[axis] = self.place[axis - size] - 1

    def cluster(self, words: list[Word], stored: float) -> Cluster:
        """The steps of one cluster, and the axes that are left."""
        axes: list[int] = []
        steps = []
        for what, first, second in words:
            if what == MULTIPLY:
                axes, step = self._multiply(axes, first, second)
            elif what == ACT:
                step = self._act(axes, first)
            elif what == BECOME:
                at = axes.index(first)
                step = Match(_around(axes, at, 2)) if second else None
                axes = [*axes[:at], first - self.size, *axes[at + 1 + second :]]
            else:
                at = axes.index(first)
                shape = _around(axes, at, 1)
                step = Sum(first, shape) if what == SUM else Observe(first - self.size, shape)
                axes = axes[:at] + axes[at + 1 :]
            if step is not None:
                steps.append(step)
        return Cluster(tuple(steps), tuple(axes), stored)

    def _multiply(self, axes: list[int], name: tuple, factor: tuple[int, ...]) -> tuple[list[int], Multiply]:
        ours, theirs = set(axes), set(factor)
        after = sorted(ours | theirs, key=self.place.__getitem__)
        table, shape, together, last = [], [], [], None
        for axis in after:
            kind = (axis in ours, axis in theirs)
            if kind == (True, True) and axis >= self.size:
                together.append(len(table))
                kind = (axis, axis)
            if kind == last:
                table[-1] *= 1 + kind[0]
                shape[-1] *= 1 + kind[1]
            else:
                table.append(2 if kind[0] else 1)
                shape.append(2 if kind[1] else 1)
            last = kind
        order = tuple(sorted(range(len(factor)), key=lambda at: self.place[factor[at]]))
        is_in_order = name[0] == "message" or order == tuple(range(len(factor)))  # as the axes of messages always are
        return after, Multiply(name, None if is_in_order else order, tuple(table), tuple(shape), tuple(together))

    def _act(self, axes: list[int], switch: Switch) -> Act:
        parent, child = axes.index(switch.parent), axes.index(self.size + switch.child)
        first, second = sorted((parent, child))
        shape = (2**first, 2, 2 ** (second - first - 1), 2, 2 ** (len(axes) - second - 1))
        every = slice(None)
        states = (
            (switch.state, child_state) if parent < child else (child_state, switch.state) for child_state in (0, 1)
        )
        off, on = ((every, a, every, b) for a, b in states)
        return Act(switch, shape, off, on)


def _around(axes: list[int], at: int, count: int) -> tuple[int, ...]:
    return (2**at, *(2,) * count, 2 ** (len(axes) - at - count))
