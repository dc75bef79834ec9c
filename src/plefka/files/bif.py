"""The Bayesian Interchange Format (.bif): `network`, `variable` and `probability` blocks.

Tables are rows `(states of parents) p, p;`, or `table` with the states of the child slowest, as the format has it.
"""

import re
from array import array

import numpy as np

from plefka.errors import InvalidFile, listed, nearest
from plefka.files import conditional_tables
from plefka.files.conditional_tables import Conditional, TableNetwork, TableUnit, Variable
from plefka.files.scanner import Scanner

SKIPPED = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/)*+", re.DOTALL)
WORD = re.compile(rb'"[^"\n]*"|[{}()\[\],;|]|[^\s{}()\[\],;|"]+')
PUNCTUATION = frozenset(b"{}()[],;|")
MOST_FILLED = 2**22  # entries of all tables that have a default: the memory that a small file may take
PLAIN_WORD = re.compile(r"(?!//|/\*)[^\s{}()\[\],;|\"]+\Z")


def loads(content: bytes) -> TableNetwork:
    """The network that a text describes."""
    return _BifReader(content).network()


def dumps(network: TableNetwork) -> bytes:
    """The text of a network, a row for each state of the parents."""
    parts = ["network unknown {\n}\n"]
    parts += [_variable_text(unit) for unit in network.units]
    parts += [_table_text(unit, network) for unit in network.units]
    return "".join(parts).encode()


class ProbabilityBlock:
    """Rows, a default or a whole table; room for all entries is made when they are known to be there."""

    def __init__(self, family: list[Variable], place: str):
        *parents, self.child = family
        self.parents, self.place = parents, place
        self.size = conditional_tables.table_size(len(parents), place, self.child.name)
        self.words = [{state: k for k, state in enumerate(parent.states)} for parent in parents]
        self.rows, self.pairs = array("q"), array("d")
        self.default: array | None = None
        self.whole: array | None = None

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

    def set_default(self, numbers: array, place: str) -> None:
        if self.default is not None:
            raise InvalidFile(f"{place}there must be one 'default' in a table.")
        self.default = self._pair(numbers, place)

    def set_whole(self, numbers: array, place: str) -> None:
        if self.whole is not None:
            raise InvalidFile(f"{place}there must be one 'table' in a block.")
        conditional_tables.check_total(len(numbers), self.size, place, self.child.name)
        self.whole = numbers

    def values(self, most_filled: int) -> np.ndarray:
        """All probabilities, those of the child last."""
        shape = (2,) * (len(self.parents) + 1)
        if self.whole is not None:
            if self.rows or self.default:
                raise InvalidFile(
                    f"{self.place}a block must have 'table' or rows; that of {self.child.name!r} has both."
                )
            return np.moveaxis(np.frombuffer(self.whole).reshape(shape), 0, -1)
        count = self.size // 2
        if len(np.unique(self.rows)) < len(self.rows):
            raise InvalidFile(f"{self.place}the rows of {self.child.name!r} must differ in the states of the parents.")
        if self.default is None and len(self.rows) < count:
            raise InvalidFile(
                f"{self.place}the table of {self.child.name!r} must have a row for each of the {count} states of its "
                f"parents; got {len(self.rows)}. Add the others, or a 'default'."
            )
        if self.default is not None and self.size > most_filled:
            raise InvalidFile(f"{self.place}tables with a 'default' must have at most {MOST_FILLED:,} entries in all.")
        values = np.empty((count, 2)) if self.default is None else np.tile(self.default, (count, 1))
        values[self.rows] = np.reshape(self.pairs, (-1, 2))
        return values.reshape(shape)

    def _pair(self, numbers: array, place: str) -> array:
        if len(numbers) != 2:
            raise InvalidFile(
                f"{place}a row must have a probability for each of the two states of {self.child.name!r}; "
                f"got {len(numbers)}."
            )
        return numbers


class _BifReader:
    def __init__(self, content: bytes):
        self.scan = Scanner(content, SKIPPED, WORD)
        self.variables: dict[str, Variable] = {}
        self.conditionals: list[Conditional] = []
        self.filled = 0

    def network(self) -> TableNetwork:
        blocks = {b"network": self._network, b"variable": self._variable, b"probability": self._probability}
        if self.scan.is_done:
            raise InvalidFile("must be a network in BIF; got an empty file. Was it cut off?")
        while not self.scan.is_done:
            blocks[self.scan.expect(*blocks)]()
        return conditional_tables.network_from(list(self.variables.values()), self.conditionals)

    def _network(self) -> None:
        if self.scan.word != b"{":
            self._name("the name of the network")
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
        name, states = self._name("the name of a variable"), ()
        self.scan.expect(b"{")
        while self.scan.word != b"}":
            if self.scan.word == b"type":
                states = self._states()
            else:
                self._property()
        self.scan.advance()
        variable = Variable(name, states, place)
        conditional_tables.check_variable_count(len(self.variables) + 1)
        conditional_tables.check_variables([*([self.variables[name]] if name in self.variables else []), variable])
        self.variables[name] = variable

    def _states(self) -> tuple[str, ...]:
        scan = self.scan
        scan.advance()
        scan.expect(b"discrete")
        scan.expect(b"[")
        place, count = scan.place(), scan.whole("the number of states", 2**31)
        scan.expect(b"]")
        scan.expect(b"{")
        states = self._words(b"}", "the name of a state")
        scan.expect(b";")
        if len(states) != count:
            raise InvalidFile(f"{place}there must be {count} states; got {len(states)}: {listed(states)}.")
        return states

    def _probability(self) -> None:
        scan = self.scan
        place = scan.place()
        scan.expect(b"(")
        child = self._name("the child of a table")
        parents = ()
        if scan.word == b"|":
            scan.advance()
            parents = self._words(b")", f"the name of a parent of {child!r}")
        else:
            scan.expect(b")")
        for name, role in ((child, "the child of a table"), *((p, f"a parent of {child!r}") for p in parents)):
            conditional_tables.find_variable(name, self.variables, place, role)
        scan.expect(b"{")
        table = ProbabilityBlock([self.variables[name] for name in (*parents, child)], place)
        while scan.word != b"}":
            self._entry(table)
        scan.advance()
        values = table.values(MOST_FILLED - self.filled)
        self.filled += values.size if table.default else 0
        self.conditionals.append(Conditional(child, parents, values, place))

    def _entry(self, table: ProbabilityBlock) -> None:
        scan = self.scan
        place = scan.place()
        if scan.word == b"(":
            scan.advance()
            words = self._words(b")", "the state of a parent")
            table.add_row(words, self._numbers(), place)
        elif scan.word == b"table":
            scan.advance()
            table.set_whole(self._numbers(), place)
        elif scan.word == b"default":
            scan.advance()
            table.set_default(self._numbers(), place)
        elif scan.word == b"property":
            self._property()
        else:
            raise scan.refuse("a row '(states of the parents)', 'table', 'default', 'property' or '}'")

    def _numbers(self) -> array:
        """Up to the semicolon, with or without commas."""
        numbers = array("d")
        while self.scan.word != b";":
            numbers.append(self.scan.number("a probability or ';'"))
            if self.scan.word == b",":
                self.scan.advance()
        self.scan.advance()
        return numbers

    def _words(self, end: bytes, what: str) -> tuple[str, ...]:
        words = []
        while self.scan.word != end:
            words.append(self._name(what))
            if self.scan.word == b",":
                self.scan.advance()
        self.scan.advance()
        return tuple(words)

    def _name(self, what: str) -> str:
        word = self.scan.word
        if not word or word[0] in PUNCTUATION:
            raise self.scan.refuse(what)
        self.scan.advance()
        return self.scan.text(word, what).strip('"')


def _variable_text(unit: TableUnit) -> str:
    states = ", ".join(map(_quoted, unit.states))
    return f"variable {_quoted(unit.name)} {{\n  type discrete [ 2 ] {{ {states} }};\n}}\n"


def _table_text(unit: TableUnit, network: TableNetwork) -> str:
    name = _quoted(unit.name)
    if not unit.parents:
        return f"probability ( {name} ) {{\n  table {_pair_text(float(unit.table))};\n}}\n"
    parents = [network.units[parent] for parent in unit.parents]
    words = [tuple(map(_quoted, parent.states)) for parent in parents]
    rows = [
        f"  ({', '.join(word[state] for word, state in zip(words, states, strict=True))}) {_pair_text(float(on))};\n"
        for states, on in np.ndenumerate(unit.table)
    ]
    given = ", ".join(_quoted(parent.name) for parent in parents)
    return f"probability ( {name} | {given} ) {{\n{''.join(rows)}}}\n"


def _pair_text(on: float) -> str:
    return f"{1 - on!r}, {on!r}"


def _quoted(word: str) -> str:
    if PLAIN_WORD.match(word):
        return word
    if '"' in word:
        raise InvalidFile(f"BIF has no way to write a quotation mark in a name; got {word!r}. Rename it.")
    return f'"{word}"'
