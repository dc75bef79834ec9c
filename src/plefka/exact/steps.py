"""The steps of an elimination: what is done to a table, whose axes are units and what has switched them on."""

from typing import NamedTuple

from plefka.exact.factors import Switch

ASKED = ("leak", "message")  # factors that the way back must say something of


class Multiply(NamedTuple):
    """A factor or a message is multiplied in; its new axes are put in front of those of the table."""

    factor: tuple
    order: tuple[int, ...]  # of the axes of the factor, with those of the table last and in its order
    shape: tuple[int, ...]  # with 1 for axes of the table that the factor does not have
    new: int
    together: tuple[int, ...]  # axes that both switch on: on where either is


class Act(NamedTuple):
    """A parent acts on its child, in the entries where it is in the state for that and the child is off, and on."""

    switch: Switch
    off: tuple
    on: tuple


class Sum(NamedTuple):
    """A unit is summed over."""

    unit: int
    axis: int


class Observe(NamedTuple):
    """A unit that was observed on is on."""

    axis: int


class Match(NamedTuple):
    """A unit is in the state that its parents have left it in: of two axes the diagonal, as the first."""

    waiting: int
    axis: int


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
