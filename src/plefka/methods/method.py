"""What a method is: frozen data that says how a posterior is computed, with one spelling everywhere.

What it computes stands in a module of its own, which is imported when a posterior is asked for, so that methods can be
named without JAX. A user's method has it in its class, and gets its name by `register`.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from plefka.errors import InvalidInput, InvalidMethod, MethodDoesNotApply
from plefka.methods.spelling import READERS, check_options, option, spelled
from plefka.runtime.seeds import as_seed

if TYPE_CHECKING:
    from plefka.methods.posterior import Posterior
    from plefka.networks.network import Network
    from plefka.reduction.evidence import Evidence
    from plefka.reduction.reduce import Part
    from plefka.reduction.traced_beliefs import TracedReduction


@dataclass(frozen=True)
class Method:
    """A way of computing a posterior. A subclass is a frozen dataclass whose fields are its options, with defaults.

    It takes over at one of two places, `posterior` or `answer`, or at both. With `traced` it works inside a trace of
    JAX as well. `pf.register` gives it a name.

    >>> from dataclasses import dataclass
    >>> import plefka as pf
    >>> @pf.register("thorough")
    ... @dataclass(frozen=True)
    ... class Thorough(pf.Method):
    ...     tol: float = 1e-12
    ...
    ...     def posterior(self, part, *, dtype):
    ...         return pf.parse_method(f"bethe[tol={self.tol}]").posterior(part, dtype=dtype)
    >>> str(pf.infer(pf.example("espresso"), {"slow_flow": 1}, "thorough[tol=1e-10]").method)
    'thorough[tol=1e-10]'
    >>> pf.unregister("thorough")
    """

    name: str
    module: ClassVar[str] = ""  # with `posterior` for a part and, if it can be used inside a trace, `traced`

    def __post_init__(self):
        check_options(self)

    @property
    def is_bound(self) -> bool:
        """Whether log_likelihood never exceeds the truth."""
        return False

    def check(self, network: "Network") -> None:
        """Refuse a network that the method cannot serve, before computing, and name one that can."""

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        """Means and ln P(evidence) for every row of a part: what is left of the network after exact reductions."""
        if not self.module:
            raise does_not_apply(self, "it has no posterior of a part of a network", "bethe")
        return import_module(self.module).posterior(self, part, dtype=dtype)

    def answer(self, network: "Network", evidence: "Evidence", *, prune: bool, dtype: str) -> "Posterior":
        """Means and ln P(evidence) for every row of evidence: reduce, compute the posterior of each part, recover."""
        from plefka.reduction.recovery import solved

        return solved(self, network, evidence, prune=prune, dtype=dtype)

    def traced(self, reduction: "TracedReduction") -> "Posterior":
        """The same inside a user's trace."""
        module = import_module(self.module) if self.module else None
        if not hasattr(module, "traced"):
            raise does_not_apply(self, "it looks at numbers, which cannot be done inside a trace of JAX", "G1 or bethe")
        return module.traced(self, reduction)  # pyright: ignore[reportOptionalMemberAccess]

    @property
    def solves_parts(self) -> bool:
        """Whether there is a posterior of a part of a network, so that `conditioned` can use it."""
        return bool(self.module) or type(self).posterior is not Method.posterior

    @property
    def takes_soft_evidence(self) -> bool:
        """Whether a `Likelihood` counts. Where parts are solved it does; an `answer` of one's own has to say so."""
        return type(self).answer is Method.answer

    @property
    def keeps_barren(self) -> bool:
        """Whether barren units are part of the question, as their exact means are wanted."""
        return False

    def units_to_keep(self, network: "Network") -> Any:
        """The units of a network that the method names, (units,), so that they must not be summed out."""
        return False

    def __str__(self) -> str:
        return spelled(self)


def posterior_of(method: Method, part: "Part", *, dtype: str) -> "Posterior":
    """The posterior of a part, with all that the part asks for."""
    found = method.posterior(part, dtype=dtype)
    if part.needs_slope and found.slope is None:
        why = "its posterior has no `slope`, which this network asks for (part.needs_slope)"
        raise does_not_apply(method, why, "pf.Posterior.of(..., slope=...)")
    return found


def does_not_apply(method: Method, why: str, instead: str) -> MethodDoesNotApply:
    """The error of a method that cannot serve a network."""
    return MethodDoesNotApply(f"{method.name} does not apply: {why}. Use {instead} instead.")


def tolerance(default: float) -> Any:
    return option(default, lambda tol: tol > 0, "tol must be positive")


def steps_at_most(default: int) -> Any:
    return option(default, lambda count: count >= 1, "max_steps >= 1 must hold")


def at_least(least: int, default: int, name: str) -> Any:
    return option(default, lambda count: count >= least, f"{name} must be {least} or more")


def optional_seed() -> Any:
    return option(None, is_seed, "seed must be a whole number from 0 to 2^63 - 1")


def is_seed(seed: int | None) -> bool:
    """Whether it is a seed, or none."""
    try:
        return seed is None or as_seed(seed) >= 0
    except InvalidInput:
        return False


# ---- names -----------------------------------------------------------------------------------------------------------

METHODS: dict[str, Method] = {}  # all that `infer` knows by name; methods.py has the library's own
REGISTERED: dict[str, tuple[dict, ...]] = {}  # what users gave a name, and the dictionaries that hold it
NAME = re.compile(r"[A-Za-z][\w-]*")
IMPORT = "PLEFKA_IMPORT"  # names the modules that are imported where a method is not known
T = TypeVar("T")


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
        if any(name in known for known, _ in entries) or import_module("plefka.methods.library").is_taken(name):
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
    from plefka.mean_field.minimisation import entries_of  # of JAX, which what is registered has loaded

    return entries_of(thing, name)


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
