"""Names of methods: what is known by which name, and from a spelling to a method.

`str(method)` is its name with the options that differ from the defaults in brackets, and `parse_method` reads it back:
`G12`, `SJJ`, `exact`, `G22[tol=1e-10,policy=paper]`. The library's methods are entered by the decorator
`library_method`, and those of users by `pf.register`.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from plefka.errors import InvalidMethod, nearest
from plefka.methods.method import READERS, Method, read_name, read_options
from plefka.runtime.registry import REGISTRABLE, import_registering_modules

METHODS: dict[str, Method] = {}  # all that `infer` knows by name, in the order in which they are listed
LEARNING_METHODS: dict[str, Method] = {}  # what only `fit` takes
OTHER_NAMES = {"G211": "G21", "G222": "G22"}  # the long name of a scheme, and its usual one
POLICY_NAMES = {  # policies of the solver, and what they do
    "monotone": "the free energy never rises",
    "paper": "plain iteration with the paper's rule for cycles",
    "sequential": "plain iteration, one unit at a time",
}
_PLACES: dict[str, int] = {}  # of the methods of the library in lists
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


def refuse_library_names(name: str) -> None:
    """What has to do with methods must not have the name of one of the library's, nor that of a file format."""
    if name.startswith("."):
        raise InvalidMethod(f"a name must begin with a letter, unless it is the suffix of a file format; got {name!r}.")
    if name in _PLACES or name in OTHER_NAMES:
        raise InvalidMethod(f"{name!r} is a name of the library. Choose another one.")


def _entries(cls: Any, name: str) -> list[tuple[dict, Any]]:
    """Where `pf.register` puts a method of a user's own."""
    refuse_library_names(name)
    if not isinstance(cls, type):
        raise InvalidMethod(f"a method is registered by its class, whose fields are its options; got {cls}.")
    return [(METHODS, _default(cls, name))]


REGISTRABLE[Method] = _entries


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
        learning = f"and in pf.fit also {', '.join(LEARNING_METHODS)}"
        raise InvalidMethod(
            f"there is no method {name!r}; there are {', '.join(METHODS)}, {learning}." + nearest(name, known)
        )
    default = known[name]
    return type(default)(name, **read_options(default, options, {**READERS, Method: parse_method}))
