"""Equinox modules whose methods are Python's own.

Equinox makes a module of every method that is looked up, so that it can be an argument of a compiled function. That
takes 0.1 ms each time, and was three quarters of the time of an exact answer for a small network. A method of these
values must therefore not be an argument of a compiled function.
"""

from typing import TYPE_CHECKING

import equinox as eqx


class PlainModule(eqx.Module):
    """For values that are used outside a trace, many times for one answer."""

    if not TYPE_CHECKING:
        __getattribute__ = object.__getattribute__
