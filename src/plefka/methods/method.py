"""What a method is: frozen data that says how a posterior is computed, with one spelling everywhere.

What it computes stands in a module of its own, which is imported when a posterior is asked for, so that methods can be
named without JAX. A user's method has it in its class, and gets its name by `register`.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from plefka.errors import InvalidInput, InvalidMethod, MethodDoesNotApply, nearest
from plefka.runtime.seeds import as_seed

if TYPE_CHECKING:
    from plefka.methods.posterior import Posterior, RowAnswers
    from plefka.networks.evidence import Evidence
    from plefka.networks.network import Network

QUOTE = '"'
APART = "+"  # stands between the names of units


class Seconds(float):
    """A time, spelled 1s."""

    def __new__(cls, value):
        return super().__new__(cls, value.strip().removesuffix("s") if isinstance(value, str) else value)

    def __str__(self) -> str:
        return f"{repr(float(self)).removesuffix('.0')}s"


def option(default: Any, holds: Callable[[Any], bool], rule: str, **metadata: Any) -> Any:
    """An option with what must hold for its value, and the words for that."""
    return field(default=default, metadata={"holds": holds, "rule": rule, **metadata})


def read_name(text: Any) -> tuple[str, str]:
    """The name, and what stands in the brackets behind it."""
    match = re.fullmatch(r"\s*([^\[\]\s]+)\s*(?:\[(.*)\])?\s*", text) if isinstance(text, str) else None
    if match is None:
        raise InvalidMethod(f"a method is spelled NAME or NAME[option=value,...]; got {text!r}.")
    return match[1], match[2] or ""


def read_options(default: Any, text: str, readers: Mapping[Any, Callable]) -> dict[str, Any]:
    """{option: value} as they stand in the brackets of a method; a reader for each type."""
    given: dict[str, Any] = {}
    for position, part in enumerate(_parts(text)):
        key, value = _option(default, part, position, readers)
        if key in given:
            raise InvalidMethod(f"{key} is given twice in {f'{default.name}[{text}]'!r}.")
        given[key] = value
    return given


def _parts(options: str) -> Iterator[str]:
    """Split at the commas that are not inside further brackets or quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in options:
        quoted ^= letter == QUOTE
        depth += 0 if quoted else (letter == "[") - (letter == "]")
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    if quoted:
        raise InvalidMethod(f"every double quote must be closed; got {options!r}.")
    return filter(None, map(str.strip, parts))


def _option(default: Any, text: str, position: int, readers: Mapping[Any, Callable]) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in text.partition("="))
    options = {each.name: each for each in fields(default) if each.name != "name"}
    in_front = next((each.name for each in options.values() if each.metadata.get("in_front")), None)
    if position == 0 and in_front and (not equals or "[" in key):
        key, equals, value = in_front, "=", text
    if not equals or key not in options:
        choices = f"options of {default.name}: {', '.join(options)}" if options else f"{default.name} has no options"
        raise InvalidMethod(f"{text!r} is not an option; {choices}." + nearest(key, options))
    kind: Any = options[key].type
    try:
        return key, readers[kind](value)
    except InvalidMethod:
        raise
    except ValueError:
        raise InvalidMethod(f"{key} must be {_KINDS.get(kind, 'a whole number')}; got {value!r}.") from None


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError
    return text == "yes"


READERS = {
    float: float, int: int, str: str, int | None: int, bool: _yes_or_no, bool | None: _yes_or_no, Seconds: Seconds,
}  # fmt: skip
_KINDS = {float: "a number", bool: "yes or no", bool | None: "yes or no", Seconds: "a time such as 2s"}


def names_in(text: str) -> list[str]:
    """["a", "b+c"] from 'a+"b+c"': a quote inside quotes is written twice."""
    try:
        return next(csv.reader([text], delimiter=APART, quotechar=QUOTE, strict=True), [])
    except csv.Error:
        raise InvalidMethod(f"double quotes must enclose a whole name, as in 'a+\"b+c\"'; got {text}.") from None


# ---- methods ---------------------------------------------------------------------------------------------------------


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
    rows_alone: ClassVar[bool] = False  # each row is reduced by itself, so that it has the same answer in any batch
    keeps_barren: ClassVar[bool] = False  # barren units are part of the question, as their exact means are wanted

    def __post_init__(self):
        """Refuse a value against the rule of its option."""
        for each in fields(self):
            value = getattr(self, each.name)
            if "holds" in each.metadata and not each.metadata["holds"](value):
                got = value if isinstance(value, float) else repr(value)
                raise InvalidMethod(f"{each.metadata['rule']}; got {got}.")

    @property
    def is_bound(self) -> bool:
        """Whether log_likelihood never exceeds the truth."""
        return False

    def check(self, network: "Network") -> None:
        """Refuse a network that the method cannot serve, before computing, and name one that can."""

    def posterior(self, part: Any, *, dtype: str) -> "Posterior":
        """Means and ln P(evidence) for every row of a part: what is left of the network after exact reductions."""
        if not self.module:
            raise does_not_apply(self, "it has no posterior of a part of a network", "bethe")
        return import_module(self.module).posterior(self, part, dtype=dtype)

    def answer(
        self, network: "Network", evidence: "Evidence", *, prune: bool, dtype: str
    ) -> "RowAnswers | Posterior | None":
        """Means and ln P(evidence) for every row of evidence; None: reduce, compute each part, and recover."""
        whole = getattr(import_module(self.module), "answer", None) if self.module else None
        return None if whole is None else whole(self, network, evidence, prune=prune, dtype=dtype)

    def traced(self, reduction: Any) -> "Posterior":
        """Means and ln P(evidence) of a reduction inside a user's trace of JAX."""
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

    def units_to_keep(self, network: "Network") -> Any:
        """The units of a network that the method names, (units,), so that they must not be summed out."""
        return False

    def __str__(self) -> str:
        """The name, and in brackets the options that differ from the defaults."""
        default, options = type(self)(self.name), []
        for each in fields(self):
            value = getattr(self, each.name)
            word = ("no", "yes")[value] if isinstance(value, bool) else str(value)
            if each.metadata.get("in_front"):
                options.insert(0, word)
            elif each.metadata.get("always") or value != getattr(default, each.name):
                options.append(f"{each.name}={word}")
        return f"{self.name}[{','.join(options)}]" if options else self.name


def posterior_of(method: Method, part: Any, *, dtype: str) -> "Posterior":
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
