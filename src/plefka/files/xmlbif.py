"""XMLBIF (.xmlbif, .bifxml, .xml), the Bayesian Interchange Format in XML; tables have the states of the child fastest.

Read by expat, which loads nothing from elsewhere: a file that declares entities of its own is refused, and so is text
with one that is not declared. Attributes are not read.
"""

import re
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from plefka.errors import InvalidFile
from plefka.files import conditional_tables
from plefka.files.conditional_tables import Conditional, TableNetwork, Variable
from plefka.files.scanner import QUOTED_CHARACTERS, Scanner

DEEPEST = 32  # elements inside elements
BLANK, WORD = re.compile(rb"\s*+"), re.compile(rb"\S+")
READ_TAGS = {"NAME", "OUTCOME", "VALUE", "FOR", "GIVEN", "TABLE"}  # elements whose text is read
UNDEFINED = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
ENTITY = re.compile(rb"&([^#\s;&][^\s;&]*)")
PREDEFINED = {b"amp", b"lt", b"gt", b"quot", b"apos"}
VARIABLES, TABLES = ("VARIABLE",), ("DEFINITION", "PROBABILITY")


def loads(content: bytes) -> TableNetwork:
    """The network that a text describes."""
    reader = _XmlReader()
    parse(content, reader)
    if not reader.is_bif:
        raise InvalidFile("must be XMLBIF, with a NETWORK of VARIABLE and DEFINITION elements; got other XML.")
    return conditional_tables.network_from(list(reader.variables.values()), reader.conditionals)


def parse(content: bytes, reader: Any) -> None:
    """Give `reader.start` the tags that are open, attributes and place of every element, and `reader.end` its text."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    tags: list[str] = []
    texts: list[str] = []

    def started(tag: str, attributes: dict[str, str]) -> None:
        place = f"line {parser.CurrentLineNumber}: "
        if len(tags) == DEEPEST:
            raise InvalidFile(f"{place}elements must not be nested more than {DEEPEST} levels deep.")
        tags.append(tag)
        texts.clear()
        reader.start(tags, attributes, place)

    def ended(_: str) -> None:
        reader.end(tags, "".join(texts))
        tags.pop()
        texts.clear()

    parser.StartElementHandler, parser.EndElementHandler = started, ended
    parser.CharacterDataHandler = texts.append
    parser.EntityDeclHandler = lambda *_: _refuse_entity(parser.CurrentLineNumber)
    parser.SkippedEntityHandler = lambda name, _: _refuse_undefined(name, parser.CurrentLineNumber)
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        if error.code == UNDEFINED:
            rest = content[parser.ErrorByteIndex :].replace(b"\0", b"")  # in any encoding that ASCII is a part of
            names = (found[1] for found in ENTITY.finditer(rest) if found[1] not in PREDEFINED)
            _refuse_undefined(next(names, b"?").decode("utf-8", "backslashreplace"), error.lineno)
        reason = expat.ErrorString(error.code)
        raise InvalidFile(f"line {error.lineno}, column {error.offset + 1}: must be XML; got {reason}.") from None
    except InvalidFile:
        raise
    except (LookupError, ValueError) as error:  # an encoding that Python does not know, or not in XML
        raise InvalidFile(f"must be XML in a known encoding, preferably UTF-8; got: {error}.") from None


def dumps(network: TableNetwork) -> bytes:
    """The text of a network."""
    parts = [_HEAD]
    for unit in network.units:
        states = "".join(f"  <OUTCOME>{escape(state)}</OUTCOME>\n" for state in unit.states)
        parts.append(f'<VARIABLE TYPE="nature">\n  <NAME>{escape(unit.name)}</NAME>\n{states}</VARIABLE>\n')
    for unit in network.units:
        given = "".join(f"  <GIVEN>{escape(network.units[parent].name)}</GIVEN>\n" for parent in unit.parents)
        rows = "".join(f"    {1 - on!r} {on!r}\n" for on in unit.table.ravel().tolist())
        parts.append(
            f"<DEFINITION>\n  <FOR>{escape(unit.name)}</FOR>\n{given}  <TABLE>\n{rows}  </TABLE>\n</DEFINITION>\n"
        )
    return "".join((*parts, "</NETWORK>\n</BIF>\n")).encode()


class _XmlReader:
    """Collects the text of a VARIABLE or DEFINITION until it ends."""

    def __init__(self):
        self.variables: dict[str, Variable] = {}
        self.conditionals: list[Conditional] = []
        self.fields: dict[str, list[str]] = {}
        self.place = ""
        self.is_bif = False

    def start(self, tags: list[str], _: dict[str, str], place: str) -> None:
        tag = tags[-1].upper()
        self.is_bif |= tag == "NETWORK"
        if tag in VARIABLES + TABLES:
            self.fields, self.place = {}, place

    def end(self, tags: list[str], text: str) -> None:
        tag = tags[-1].upper()
        if tag in READ_TAGS:
            self.fields.setdefault(tag, []).append(text.strip())
        elif tag in VARIABLES:
            name, states = self._only("NAME"), (*self.fields.get("OUTCOME", ()), *self.fields.get("VALUE", ()))
            conditional_tables.add_variable(Variable(name, states, self.place), self.variables)
        elif tag in TABLES:
            child, parents = self._only("FOR"), tuple(self.fields.get("GIVEN", ()))
            size = conditional_tables.table_size(len(parents), self.place, child)
            values = read_numbers(self._only("TABLE"), size, self.place, child)
            table = values.reshape((2,) * (len(parents) + 1))
            self.conditionals.append(Conditional(child, parents, table, self.place))

    def _only(self, tag: str) -> str:
        texts = self.fields.get(tag, [])
        if len(texts) != 1:
            raise InvalidFile(f"{self.place}there must be one {tag} element here; got {len(texts)}.")
        return texts[0]


def read_numbers(text: str, expected: int, place: str, child: str) -> np.ndarray:
    """The probabilities of a table, which stand in the text of an element."""
    if expected > (len(text) + 1) // 2:  # no more fit in there
        conditional_tables.check_total(len(text.split()), expected, place, child)
    scan = Scanner(text.encode(), BLANK, WORD)
    try:
        values = scan.numbers(expected, "a probability")
        if not scan.is_done:
            raise scan.refuse(f"the end of the table after {expected} probabilities")
    except InvalidFile as error:
        raise InvalidFile(f"{place}in the table of {child!r}, {error}") from None
    return values


def _refuse_undefined(name: str, line: int) -> None:
    raise InvalidFile(
        f"line {line}: XML must only use the entities amp, lt, gt, quot and apos, and numbers as in &#233;; "
        f"got &{name[:QUOTED_CHARACTERS]};, which is not defined. Write out what it stands for."
    )


def _refuse_entity(line: int) -> None:
    raise InvalidFile(f"line {line}: XML must not declare entities of its own. Write out what they stand for.")


# Without the declaration of elements that the format allows before these: not every library reads past it.
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n<NAME>unknown</NAME>\n'
