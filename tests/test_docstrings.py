"""Every public name explains itself: a docstring with an example, and the examples print what they show."""

import doctest
import importlib
import inspect
from collections.abc import Iterator

import pytest

import plefka

LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NOT_YET = {"METHODS"}  # a dictionary


def docstrings(name: str) -> Iterator[tuple[str, str]]:
    """The docstring of a public name, and of each public method and property of a class."""
    thing = getattr(plefka, name)
    yield name, inspect.getdoc(thing) or ""
    for member in list(vars(thing)) if inspect.isclass(thing) else ():  # copies write into it
        if not member.startswith("_"):
            yield f"{name}.{member}", inspect.getdoc(inspect.getattr_static(thing, member)) or ""


def examples(name: str) -> Iterator[doctest.DocTest]:
    parser = doctest.DocTestParser()
    for place, text in docstrings(name):
        found = parser.get_doctest(text, {}, place, None, 0)
        if found.examples:
            yield found


@pytest.mark.parametrize("name", plefka.__all__)
def test_examples_of_docstrings_print_what_they_show(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for example in examples(name):
        told: list[str] = []
        doctest.DocTestRunner(optionflags=LOOSELY).run(example, out=told.append)
        assert not told, "".join(told)
    assert not list(tmp_path.iterdir())  # an example leaves no file behind


@pytest.mark.parametrize("name", sorted({*plefka.__all__} - NOT_YET))
def test_every_public_name_has_an_example(name):
    assert list(examples(name))


@pytest.mark.parametrize("name", sorted({*plefka.__all__} - {"METHODS"}))  # a dictionary has that of all dictionaries
def test_every_public_name_has_a_docstring_that_is_a_sentence(name):
    text = inspect.getdoc(getattr(plefka, name)) or ""
    assert text.split("\n\n")[0].rstrip().endswith((".", ")")), text


def test_an_example_that_is_wrong_is_found():
    found = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=LOOSELY).run(found, out=told.append)
    assert told


def test_modules_say_what_they_are():
    for name in ("bridges", "ensembles", "errors", "plots", "progress"):
        assert importlib.import_module(f"plefka.{name}").__doc__
