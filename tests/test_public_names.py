"""What is public says what it is: its fields have types."""

import inspect
import re
from collections.abc import Iterator

import pytest

import plefka as pf
from plefka.errors import PlefkaError

FREE = {"BeliefNetwork.weights", "BoltzmannMachine.weights"}  # of the form in which they were given
CLASSES = {name: value for name in pf.__all__ if inspect.isclass(value := getattr(pf, name))}


def own_classes(cls: type) -> Iterator[type]:
    return (each for each in cls.__mro__ if each.__module__.startswith("plefka"))


def types_of(cls: type) -> Iterator[tuple[str, object]]:
    """Public fields and properties, with their types as they are written."""
    for each in own_classes(cls):
        yield from ((name, hint) for name, hint in inspect.get_annotations(each).items() if not name.startswith("_"))
        for name, value in vars(each).items():
            if isinstance(value, property) and not name.startswith("_") and value.fget is not None:
                yield name, inspect.get_annotations(value.fget).get("return", "nothing")


@pytest.mark.parametrize("name", CLASSES)
def test_public_fields_have_types(name):
    untyped = [field for field, hint in types_of(CLASSES[name]) if re.search(r"\bAny\b|^nothing$", str(hint))]
    assert [field for field in untyped if f"{name}.{field}" not in FREE] == []


@pytest.mark.parametrize("name", [name for name in CLASSES if not issubclass(CLASSES[name], PlefkaError)])
def test_public_classes_have_a_docstring(name):
    assert (CLASSES[name].__doc__ or "").strip()
