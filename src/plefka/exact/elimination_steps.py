"""The steps of an elimination: what is done to a table, whose axes are units and what has switched them on.

A table is an array (2^axes, rows). Its axes are in the order of a plan, the same in all tables, so that a step sees it
as an array of few axes: neighbours that go through the step together are one.
"""

from typing import NamedTuple

from plefka.exact.log_factors import Switch

WANTED_FACTORS = ("leak", "message")  # factors that the way back must say something of
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


class Plan(NamedTuple):
    """What to do, and what it costs for each row."""

    clusters: tuple[Cluster, ...]
    width: int  # axes of the largest table
    entries: float  # of all tables of all steps
    stored: float  # numbers that the way back needs of all clusters
    peak: float  # numbers in memory at a time, where the way there is gone again for each cluster

    @property
    def num_steps(self) -> int:
        return sum(len(cluster.steps) for cluster in self.clusters)
