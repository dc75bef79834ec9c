"""What users add to the library by a name: methods, free energies, policies, activations, file formats.

Each room says here what kinds of things it takes and in which of its dictionaries they belong.
"""

import os
import re
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any, TypeVar

from plefka.errors import InvalidMethod

# For each kind of thing the entries of one with a name: dictionaries, and what is known there by the name.
REGISTRABLE: dict[type, Callable[[Any, str], list[tuple[dict, Any]]]] = {}
KINDS = "a pf.Method, a pf.Functional, a pf.Policy, an activation or a pf.FileFormat"
NAME = re.compile(r"\.?[A-Za-z][\w-]*")
IMPORT = "PLEFKA_IMPORT"  # names the modules that are imported where a name is not known
_registered: dict[str, tuple[dict, ...]] = {}  # what users gave a name, and the dictionaries that hold it
T = TypeVar("T")


def register(name: str) -> Callable[[T], T]:
    """Give a name to something of one's own: a decorator, for classes or instances.

    For the command, and for processes that work for you, name the module that registers it in the environment variable
    `PLEFKA_IMPORT`. A later registration of the same name replaces yours; names of the library are refused.

    **Arguments:**

    - `name`: letters, digits, _ and -; of a file format its suffix, such as ".coin".

    What may be registered:

    - a subclass of `pf.Method` becomes a method of this name; the name goes wherever names of methods go: `infer`,
        options such as `conditioned[NAME,k=2]`, `free_energy`, `fit`, `infer_rows`, `parse_method`.
    - a `pf.Functional`, a free energy of the means, becomes a method that minimises it, with the options of `G12`.
    - a `pf.Policy` becomes a value of `policy=`.
    - an activation, such as `pf.Custom(...)`, becomes a value of `activation=`, which files may name.
    - a `pf.FileFormat` is what `load`, `save`, `convert` and the command use for files of this suffix.

    >>> import plefka as pf
    >>> @pf.register("half_steps")
    ... class HalfSteps(pf.Policy):
    ...     def step(self, point, trial, memory, evaluate):
    ...         return trial, trial.theta + trial.direction / 2, memory
    >>> pf.infer(pf.example("espresso"), {"slow_flow": 1}, "G12[policy=half_steps]").status.name
    'CONVERGED'
    >>> pf.unregister("half_steps")
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidMethod(f"a name must begin with a letter and have letters, digits, _ and - only; got {name!r}.")

    def registered(thing: T) -> T:
        entries, before = _entries(thing, name), _registered.get(name, ())
        if any(name in known and all(known is not other for other in before) for known, _ in entries):
            raise InvalidMethod(f"{name!r} is a name of the library. Choose another one.")
        if before:
            unregister(name)
        for known, value in entries:
            known[name] = value
        _registered[name] = tuple(known for known, _ in entries)
        return thing

    return registered


def unregister(name: str) -> None:
    """Forget a name that `pf.register` gave.

    >>> import plefka as pf
    >>> pf.unregister("G12")
    Traceback (most recent call last):
    plefka.errors.InvalidMethod: 'G12' was not registered by pf.register; nothing was.
    """
    if name not in _registered:
        others = f"there are {', '.join(_registered)}" if _registered else "nothing was"
        raise InvalidMethod(f"{name!r} was not registered by pf.register; {others}.")
    for known in _registered.pop(name):
        del known[name]


def import_registering_modules() -> None:
    """The modules of users that register things, as the environment names them."""
    for module in filter(None, map(str.strip, os.environ.get(IMPORT, "").split(","))):
        try:
            import_module(module)
        except ImportError as error:
            raise InvalidMethod(
                f"{IMPORT} must name modules that can be imported, with commas between; got {module!r} ({error})."
            ) from error


def instance_of(thing: Any) -> Any:
    """The thing, or one of its class with all defaults."""
    try:
        return thing() if isinstance(thing, type) else thing
    except TypeError as error:
        why = "what is abstract must be defined, and every field must have a default"
        raise InvalidMethod(f"{thing.__name__} cannot be registered: {why} ({error}).") from error


def _entries(thing: Any, name: str) -> list[tuple[dict, Any]]:
    """The dictionaries that it belongs to, and what is known there by its name."""
    cls = thing if isinstance(thing, type) else type(thing)
    for kind, entries_of in REGISTRABLE.items():
        if issubclass(cls, kind):
            return entries_of(thing, name)
    advice = " Is it an activation? Then register pf.Custom(function)." if cls is FunctionType else ""
    raise InvalidMethod(f"what is registered must be {KINDS}; got {cls.__name__}.{advice}")
