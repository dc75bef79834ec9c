"""Names of methods: what is known by which name, how users add their own, and from a spelling to a method.

`str(method)` is its name with the options that differ from the defaults in brackets, and `parse_method` reads it back:
`G12`, `SJJ`, `exact`, `G22[tol=1e-10,policy=paper]`. The library's methods are entered by the decorator
`library_method`, and those of users by `register`.
"""

import os
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, TypeVar

from plefka.errors import InvalidMethod, nearest
from plefka.methods.method import READERS, Method, read_name, read_options

METHODS: dict[str, Method] = {}  # all that `infer` knows by name, in the order in which they are listed
LEARNING_METHODS: dict[str, Method] = {}  # what only `fit` takes
OTHER_NAMES = {"G211": "G21", "G222": "G22"}  # the long name of a scheme, and its usual one
POLICY_NAMES = {  # policies of the solver, and what they do
    "monotone": "the free energy never rises",
    "paper": "plain iteration with the paper's rule for cycles",
    "sequential": "plain iteration, one unit at a time",
}
REGISTRABLE: dict[type, Callable[[Any, str], list[tuple[dict, Any]]]] = {}  # what else than methods may have a name
REGISTERED: dict[str, tuple[dict, ...]] = {}  # what users gave a name, and the dictionaries that hold it
NAME = re.compile(r"[A-Za-z][\w-]*")
IMPORT = "PLEFKA_IMPORT"  # names the modules that are imported where a method is not known
_PLACES: dict[str, int] = {}  # of the methods of the library in lists
T = TypeVar("T")
M = TypeVar("M", bound=Method)


def library_method(*names: str, place: int, for_learning: bool = False) -> Callable[[type[M]], type[M]]:
    """A decorator for the methods of the library: the names of a class, and where they stand in lists of methods.

    `for_learning`: whether `fit` alone takes it.
    """

    def entered(cls: type[M]) -> type[M]:
        known = LEARNING_METHODS if for_learning else METHODS
        known.update((name, cls(name)) for name in names)
        _PLACES.update(dict.fromkeys(names, place))
        listed = sorted(known.items(), key=lambda item: _PLACES[item[0]])
        known.clear()
        known.update(listed)
        return cls

    return entered


def register(name: str) -> Callable[[T], T]:
    """Give a name to a method, a free energy or a policy of one's own: a decorator, for classes or instances.

    From then on the name goes wherever names of methods go: `infer`, options such as `conditioned[NAME,k=2]`,
    `free_energy`, `fit`, `infer_rows`, `parse_method`. For the command, and for processes that work for you, name the
    module that registers it in the environment variable `PLEFKA_IMPORT`. A later registration of the same name replaces
    yours; names of the library are refused.

    **Arguments:**

    - `name`: letters, digits, _ and -. A subclass of `pf.Method` becomes a method of this name; one of `pf.Functional`,
        a free energy of the means, becomes a method that minimises it, with the options of `G12`; one of `pf.Policy`
        becomes a value of `policy=`.

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
        entries = _entries(thing, name)
        if name in REGISTERED:
            unregister(name)
        if any(name in known for known, _ in entries) or is_taken(name):
            raise InvalidMethod(f"{name!r} is a name of the library. Choose another one.")
        for known, value in entries:
            known[name] = value
        REGISTERED[name] = tuple(known for known, _ in entries)
        return thing

    return registered


def unregister(name: str) -> None:
    """Forget a name that `pf.register` gave.

    >>> import plefka as pf
    >>> pf.unregister("G12")
    Traceback (most recent call last):
    plefka.errors.InvalidMethod: 'G12' was not registered by pf.register; nothing was.
    """
    if name not in REGISTERED:
        others = f"there are {', '.join(REGISTERED)}" if REGISTERED else "nothing was"
        raise InvalidMethod(f"{name!r} was not registered by pf.register; {others}.")
    for known in REGISTERED.pop(name):
        del known[name]


def import_registering_modules() -> None:
    """The modules of users that register methods, as the environment names them."""
    for module in filter(None, map(str.strip, os.environ.get(IMPORT, "").split(","))):
        try:
            import_module(module)
        except ImportError as error:
            raise InvalidMethod(
                f"{IMPORT} must name modules that can be imported, with commas between; got {module!r} ({error})."
            ) from error


def _entries(thing: Any, name: str) -> list[tuple[dict, Any]]:
    """The dictionaries that it belongs to, and what is known there by its name."""
    if isinstance(thing, type) and issubclass(thing, Method):
        return [(METHODS, _default(thing, name))]
    for kind, entries_of in REGISTRABLE.items():
        if isinstance(thing, kind) or (isinstance(thing, type) and issubclass(thing, kind)):
            return entries_of(_instance(thing), name)
    kind = thing.__name__ if isinstance(thing, type) else type(thing).__name__
    raise InvalidMethod(f"what is registered must be a pf.Method, a pf.Functional or a pf.Policy; got {kind}.")


def _instance(thing: Any) -> Any:
    try:
        return thing() if isinstance(thing, type) else thing
    except TypeError as error:
        why = "what is abstract must be defined, and every field must have a default"
        raise InvalidMethod(f"{thing.__name__} cannot be registered: {why} ({error}).") from error


def _default(cls: type[Method], name: str) -> Method:
    """The method with all its defaults, if it can be spelled."""
    about = f"{cls.__name__} cannot be registered as a method"
    if not is_dataclass(cls) or "__dataclass_params__" not in vars(cls) or not cls.__dataclass_params__.frozen:  # pyright: ignore
        raise InvalidMethod(f"{about}: it must be a frozen dataclass. Write @dataclass(frozen=True) above the class.")
    try:
        found = cls(name)
    except TypeError as error:
        raise InvalidMethod(f"{about}: every option must have a default ({error}).") from error
    wrong = [each for each in fields(cls) if each.name != "name" and each.type not in (*READERS, Method)]
    if wrong:
        raise InvalidMethod(
            f"{about}: an option must be a float, int, str, bool, int | None or bool | None, or a Method, and not "
            f"written as text (as `from __future__ import annotations` does); {wrong[0].name} is {wrong[0].type!r}."
        )
    if not found.solves_parts and cls.answer is Method.answer:
        raise InvalidMethod(f"{about}: it must define `posterior` or `answer`.")
    return found


def is_taken(name: str) -> bool:
    """Whether the library has a method of this name."""
    return name in METHODS or name in LEARNING_METHODS or name in OTHER_NAMES


def parse_method(method: str | Method) -> Method:
    """The method that is spelled so; `parse_method(str(m)) == m`.

    >>> import plefka as pf
    >>> method = pf.parse_method("G12[tol=1e-10]")
    >>> method.name, str(method)
    ('G12', 'G12[tol=1e-10]')
    """
    if isinstance(method, Method):
        return method
    name, options = read_name(method)
    name = OTHER_NAMES.get(name, name)
    if name not in METHODS:
        import_registering_modules()
    known = METHODS | LEARNING_METHODS
    if name not in known:
        raise InvalidMethod(f"there is no method {name!r}; there are {', '.join(METHODS)}." + nearest(name, known))
    default = known[name]
    return type(default)(name, **read_options(default, options, {**READERS, Method: parse_method}))
