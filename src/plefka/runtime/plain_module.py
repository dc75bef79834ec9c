"""Equinox modules that cost no more than Python's own objects.

Equinox makes a module of every method that is looked up, so that it can be an argument of a compiled function, and
looks at every field of a new value. The first takes 0.1 ms each time, the second 0.02 ms: together they were most of
the time of an answer for a small network. A method of these values must not be an argument of a compiled function.
"""

from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import equinox as eqx


@cache
def _fields(cls: type) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The names of all fields in order, and the defaults of those that have one."""
    found = fields(cls)
    return tuple(each.name for each in found), {f.name: f.default for f in found if f.default is not MISSING}


class QuicklyMade(type(eqx.Module)):
    """For classes without checks, converters and an __init__ of their own, of which there are many values."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        names, defaults = _fields(cast(Any, cls))
        given = dict(zip(names, args))
        values = {**defaults, **given, **kwargs}
        if values.keys() != set(names) or len(given) < len(args) or given.keys() & kwargs.keys():
            return super().__call__(*args, **kwargs)  # which says what is wrong
        made: Any = object.__new__(cls)
        made.__dict__.update(values)
        return made


def replaced(module: Any, **values: Any) -> Any:
    """A copy with other values of some fields, which are not checked; ten times as quick as those of Equinox."""
    made: Any = object.__new__(type(module))
    made.__dict__.update({name: values.get(name, getattr(module, name)) for name in _fields(type(module))[0]})
    return made


class PlainModule(eqx.Module):
    """For values that are used outside a trace, many times for one answer."""

    if not TYPE_CHECKING:
        __getattribute__ = object.__getattribute__
