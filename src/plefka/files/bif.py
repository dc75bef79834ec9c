"""The Bayesian Interchange Format (.bif): `network`, `variable` and `probability` blocks.

Tables are rows `(states of parents) p, p;`, or `table` with the states of the child slowest, as the format has it.
"""

import re
import warnings
from array import array

import numpy as np

from plefka.errors import InvalidFile, PlefkaWarning, listed, nearest
from plefka.files import conditional_tables
from plefka.files.conditional_tables import Conditional, TableNetwork, TableUnit, Variable
from plefka.files.scanner import COMMENTS, Scanner

SKIPPED = re.compile(rb"(?:%s)*+" % COMMENTS, re.DOTALL)
WORD = re.compile(rb'"[^"\n]*"|[{}()\[\],;|]|(?:[^\s{}()\[\],;|"/]|/(?![/*]))+')
MOST_FILLED = 2**22  # entries of all tables that have a default: the memory that a small file may take
PORTABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
PLAIN_WORD = re.compile(r"(?:[^\s{}()\[\],;|\"/]|/(?![/*]))+\Z")


def loads(content: bytes) -> TableNetwork:
    """The network that a text describes."""
    return BifReader(Scanner(content, SKIPPED, WORD)).network()


def dumps(network: TableNetwork) -> bytes:
    """The text of a network, a row for each state of the parents."""
    parts = ["network unknown {\n}\n"]
    for unit in network.units:
        states = ", ".join(map(_quoted, unit.states))
        parts.append(f"variable {_quoted(unit.name)} {{\n  type discrete [ 2 ] {{ {states} }};\n}}\n")
    parts += [_table_text(unit, network) for unit in network.units]
    words = (word for unit in network.units for word in unit.states if not word.isdigit())
    odd = [word for word in dict.fromkeys([*network.names, *words]) if not PORTABLE.match(word)]
    if odd:
        message = f"pyAgrum and pgmpy read letters, digits, _ and - in BIF, and may not read {listed(map(repr, odd))}. "
        warnings.warn(f"{message}Rename them, or write .xmlbif, which holds any name.", PlefkaWarning, stacklevel=3)
    return "".join(parts).encode()


class ProbabilityBlock:
    """Rows, a default or a whole table; room for all entries is made when they are known to be there."""

    def __init__(self, family: list[Variable], place: str):
        *parents, self.child = family
        self.parents, self.place = parents, place
        self.size = conditional_tables.table_size(len(parents), place, self.child.name)
        self.words = [{state: k for k, state in enumerate(parent.states)} for parent in parents]
        self.rows, self.pairs = array("q"), array("d")
        self.single: dict[str, array] = {}  # what stands after 'default' and 'table'

    def add_row(self, words: tuple[str, ...], numbers: array, place: str) -> None:
        if len(words) != len(self.parents):
            raise InvalidFile(
                f"{place}a row must have a state for each of the {len(self.parents)} parents of {self.child.name!r}; "
                f"got {len(words)}."
            )
        row = 0
        for word, known, parent in zip(words, self.words, self.parents, strict=True):
            if word not in known:
                hint = nearest(word, known) or f" They are {listed(known)}."
                raise InvalidFile(f"{place}must be a state of {parent.name!r}; got {word!r}.{hint}")
            row = 2 * row + known[word]
        self.rows.append(row)
        self.pairs.extend(self._pair(numbers, place))

    def set_single(self, word: str, numbers: array, place: str) -> None:
        if word in self.single:
            raise InvalidFile(f"{place}there must be one {word!r} in a table.")
        if word == "table":
            conditional_tables.check_total(len(numbers), self.size, place, self.child.name)
        self.single[word] = numbers if word == "table" else self._pair(numbers, place)

    def values(self, most_filled: int) -> np.ndarray:
        """All probabilities, those of the child last."""
        shape, count, default = (2,) * (len(self.parents) + 1), self.size // 2, self.single.get("default")
        if "table" in self.single:
            if self.rows or default:
                raise InvalidFile(
                    f"{self.place}a block must have 'table' or rows; that of {self.child.name!r} has both."
                )
            return np.moveaxis(np.frombuffer(self.single["table"]).reshape(shape), 0, -1)
        if len(np.unique(self.rows)) < len(self.rows):
            raise InvalidFile(f"{self.place}the rows of {self.child.name!r} must differ in the states of the parents.")
        if default is None and len(self.rows) < count:
            raise InvalidFile(
                f"{self.place}the table of {self.child.name!r} must have a row for each of the {count} states of its "
                f"parents; got {len(self.rows)}. Add the others, or a 'default'."
            )
        if default is not None and self.size > most_filled:
            raise InvalidFile(f"{self.place}tables with a 'default' must have at most {MOST_FILLED:,} entries in all.")
        values = np.empty((count, 2)) if default is None else np.tile(default, (count, 1))
        values[self.rows] = np.reshape(self.pairs, (-1, 2))
        return values.reshape(shape)

    def _pair(self, numbers: array, place: str) -> array:
        if len(numbers) != 2:
            raise InvalidFile(
                f"{place}a row must have a probability for each of the two states of {self.child.name!r}; "
                f"got {len(numbers)}."
            )
        return numbers


class BifReader:
    """What the blocks of a text say."""

    blocks = (b"network", b"variable", b"probability")

    def __init__(self, scan: Scanner):
        self.scan = scan
        self.variables: dict[str, Variable] = {}
        self.conditionals: list[Conditional] = []
        self.filled = 0

    def network(self) -> TableNetwork:
        if self.scan.is_done:
            raise InvalidFile("must be a network in BIF; got an empty file. Was it cut off?")
        while not self.scan.is_done:
            block = self.blocks.index(self.scan.expect(*self.blocks))
            (self._network, self._variable, self._probability)[block]()
        return conditional_tables.network_from(list(self.variables.values()), self.conditionals)

    def _network(self) -> None:
        if self.scan.word != b"{":
            self.scan.name("the name of the network")
        self.scan.expect(b"{")
        while self.scan.word != b"}":
            self._property()
        self.scan.advance()

    def _property(self) -> None:
        if self.scan.word != b"property":
            raise self.scan.refuse("'property' or '}'")
        self.scan.skip_past(b";")

    def _variable(self) -> None:
        place = self.scan.place()
        name, states = self.scan.name("the name of a variable"), ()
        self.scan.expect(b"{")
        while self.scan.word != b"}":
            if self.scan.word == b"type":
                states = self._states()
            else:
                self._property()
        self.scan.advance()
        conditional_tables.add_variable(Variable(name, states, place), self.variables)

    def _states(self) -> tuple[str, ...]:
        scan = self.scan
        scan.advance()
        scan.expect(b"discrete")
        scan.expect(b"[")
        place, count = scan.place(), scan.whole("the number of states", 2**31)
        scan.expect(b"]")
        scan.expect(b"{")
        states = scan.entries("the name of a state", b"}")
        scan.expect(b";")
        if len(states) != count:
            raise InvalidFile(f"{place}there must be {count} states; got {len(states)}: {listed(states)}.")
        return states

    def _probability(self) -> None:
        scan = self.scan
        place = scan.place()
        child, parents = scan.family()
        for name, role in ((child, "the child of a table"), *((p, f"a parent of {child!r}") for p in parents)):
            conditional_tables.find_variable(name, self.variables, place, role)
        scan.expect(b"{")
        table = ProbabilityBlock([self.variables[name] for name in (*parents, child)], place)
        while scan.word != b"}":
            self._entry(table)
        scan.advance()
        values = table.values(MOST_FILLED - self.filled)
        self.filled += values.size if "default" in table.single else 0
        self.conditionals.append(Conditional(child, parents, values, place))

    def _entry(self, table: ProbabilityBlock) -> None:
        scan = self.scan
        place = scan.place()
        if scan.word == b"(":
            scan.advance()
            words = scan.entries("the state of a parent", b")")
            table.add_row(words, scan.entries("a probability or ';'", numbers=True), place)
        elif scan.word in (b"table", b"default"):
            table.set_single(scan.advance().decode(), scan.entries("a probability or ';'", numbers=True), place)
        elif scan.word == b"property":
            self._property()
        else:
            raise scan.refuse("a row '(states of the parents)', 'table', 'default', 'property' or '}'")


def _table_text(unit: TableUnit, network: TableNetwork) -> str:
    parents = [network.units[parent] for parent in unit.parents]
    words = [tuple(map(_quoted, parent.states)) for parent in parents]
    family = _quoted(unit.name) + " | " * bool(parents) + ", ".join(_quoted(parent.name) for parent in parents)
    text = f"probability ( {family} ) {{\n"
    for states, on in np.ndenumerate(unit.table):
        row = ", ".join(word[state] for word, state in zip(words, states, strict=True))
        text += f"  {f'({row})' if parents else 'table'} {1 - float(on)!r}, {float(on)!r};\n"
    return text + "}\n"


def _quoted(word: str) -> str:
    if PLAIN_WORD.match(word):
        return word
    if '"' in word:
        raise InvalidFile(f"BIF has no way to write a quotation mark in a name; got {word!r}. Rename it.")
    return f'"{word}"'
