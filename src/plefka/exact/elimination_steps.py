"""The steps of an elimination: what is done to a table, whose axes are units and what has switched them on.

A table is an array (2^axes, rows). Its axes are in the order of a plan, the same in all tables, so that a step sees it
as an array of few axes: neighbours that go through the step together are one.
"""

from typing import NamedTuple

from plefka.exact.log_factors import Switch

WANTED_FACTORS = ("leak", "message")  # factors that the way back must say something of
FEW_NUMBERS = 2**25  # that are kept from the way there, where it is not gone again on the way back
Shape = tuple[int, ...]


class Multiply(NamedTuple):
    """A factor or a message is multiplied in."""

    factor: tuple
    order: tuple[int, ...] | None  # of the axes of the factor; None where they are in order
    table: Shape  # with 1 for axes that only the factor has
    shape: Shape  # of the factor, with 1 for axes that only the table has
    together: tuple[int, ...]  # axes that both switch on: on where either is

    @property
    def sizes(self) -> Shape:
        """Of the product."""
        return tuple(map(max, self.table, self.shape))


class Act(NamedTuple):
    """A parent acts on its child, in the entries where it is in the state for that and the child is off, and on."""

    switch: Switch
    shape: Shape
    off: tuple
    on: tuple


class Sum(NamedTuple):
    """A unit is summed over."""

    unit: int
    shape: Shape  # with the unit in the middle


class Observe(NamedTuple):
    """A unit that was observed on is on."""

    shape: Shape  # with the unit in the middle


class Match(NamedTuple):
    """A unit is in the state that its parents have left it in: the diagonal of the two axes in the middle."""

    shape: Shape


class Cluster(NamedTuple):
    """Steps from nothing to a table, which is a message to a later cluster."""

    steps: tuple
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
