"""Averages of functions of a unit's field over independent parents: what the energy and the messages are made of."""

from plefka.averages.any_activation import Enumerated, GaussHermite
from plefka.averages.average import Average
from plefka.averages.exponentials import Exponentials
from plefka.averages.fourier import Fourier
from plefka.averages.parents import Parents

__all__ = ["Average", "Enumerated", "Exponentials", "Fourier", "GaussHermite", "Parents"]
