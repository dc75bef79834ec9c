"""The format of the UAI competitions (.uai, and evidence in .evid): numbers alone.

Variables go by their number, and in every table the last variable varies fastest; in BAYES files that is the child.
"""

import re
from array import array
from collections.abc import Sequence
from itertools import chain

import numpy as np

from plefka.errors import InvalidFile, listed
from plefka.files import conditional_tables
from plefka.files.conditional_tables import Conditional, TableNetwork, Variable
from plefka.files.factors import network_of_factors
from plefka.files.scanner import Scanner
from plefka.networks.activations import MOST_PARENTS
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.checks import NUMBERED
from plefka.networks.markov import MarkovNetwork

SKIPPED = re.compile(rb"(?:\s+|#[^\n]*|/\*.*?\*/)*+", re.DOTALL)
WORD = re.compile(rb"\S+")


def loads(content: bytes) -> TableNetwork | BoltzmannMachine | MarkovNetwork:
    """The network that a text describes; a MARKOV network whose factors are P(child | parents) is one of tables."""
    scan = open_text(content)
    is_directed = scan.word.upper() == b"BAYES"
    if not is_directed and scan.word.upper() != b"MARKOV":
        raise scan.refuse("'BAYES' or 'MARKOV'")
    scan.advance()
    variables = read_variables(scan)
    if not is_directed:
        return _read_factors(scan, variables)
    place = scan.place()
    count = scan.whole("the number of tables", scan.remaining)
    if count != len(variables):
        raise InvalidFile(
            f"{place}a belief network must have a table for each of the {len(variables)} variables; got {count}."
        )
    scopes = [
        read_scope(scan, scan.whole("the number of variables of a table", len(variables)), variables)
        for _ in range(count)
    ]
    found = [read_table(scan, *scope) for scope in scopes]
    expect_end(scan, "the last table")
    return conditional_tables.network_from(variables, found, named=False)


def _read_factors(scan: Scanner, variables: list[Variable]) -> TableNetwork | BoltzmannMachine | MarkovNetwork:
    """The scopes of all factors, and then their tables, in which the last variable varies fastest."""
    if not variables:
        raise InvalidFile("a network must have at least one variable; got none. Was the file cut off?")
    scopes = []
    for _ in range(scan.whole("the number of factors", scan.remaining)):
        place, count = scan.place(), scan.whole("the number of variables of a factor", len(variables))
        if count > MOST_PARENTS:
            raise InvalidFile(f"{place}a factor must have at most {MOST_PARENTS} variables; got {count}.")
        scope = tuple(scan.whole("the index of a variable", len(variables) - 1) for _ in range(count))
        if len(set(scope)) < count:
            raise InvalidFile(f"{place}the variables of a factor must differ; got {listed(map(str, scope))}.")
        scopes.append(scope)
    factors = []
    for scope in scopes:
        place = scan.place()
        if (count := scan.whole("the size of a table", scan.remaining)) != 2 ** len(scope):
            raise InvalidFile(f"{place}the table of a factor must have {2 ** len(scope)} numbers; got {count}.")
        if 2 * count > scan.remaining + 1:  # before room is made for them
            raise InvalidFile(f"{place}a table of {count} numbers is cut off. Was the file cut off?")
        table = scan.numbers(count, "a number").reshape((2,) * len(scope))
        if not ((table >= 0) & (table < np.inf)).all() or not table.any():
            raise InvalidFile(f"{place}the numbers of a factor must be at least 0, and not all 0; got others.")
        factors.append((scope, table))
    expect_end(scan, "the last table")
    return network_of_factors(variables, factors)


def dumps_factors(network: MarkovNetwork) -> bytes:
    """The text of a product of factors; names are not part of the format."""
    scopes = (" ".join(map(str, (len(scope), *scope))) for scope, _ in network.factors)
    tables = (f"\n{table.size}\n {' '.join(map(repr, table.ravel().tolist()))}" for _, table in network.factors)
    header = ("MARKOV", str(network.size), " ".join("2" * network.size), str(len(network.factors)))
    return "\n".join(chain(header, scopes, tables)).encode() + b"\n"


def dumps(network: TableNetwork) -> bytes:
    """The text of a network; names are not part of the format."""
    units = network.units
    scopes = (" ".join(map(str, (len(u.parents) + 1, *u.parents, k))) for k, u in enumerate(units))
    header = ("BAYES", str(len(units)), " ".join("2" for _ in units), str(len(units)))
    rows = ("".join(f"\n {1 - on!r} {on!r}" for on in u.table.ravel().tolist()) for u in units)
    tables = (f"\n{2 * u.table.size}{text}" for u, text in zip(units, rows, strict=True))
    return "\n".join(chain(header, scopes, tables)).encode() + b"\n"


def loads_evidence(content: bytes) -> dict[int, str] | list[dict[int, str]]:
    """{variable: its state, "0" or "1"}; of a file with several samples, which begins with their number, a list.

    States are words, so that they mean the states of the file whichever of them is on.
    """
    scan = open_text(content)
    words = array("q")
    while not scan.is_done:
        words.append(scan.whole("the index of a variable, a state or a count", 2**31))
    if words and len(words) == 1 + 2 * words[0]:
        return _observed(words[1:])
    samples = _samples(words[1:])
    if not words or len(samples) != words[0]:
        raise InvalidFile(
            "evidence must be the number of observed variables, then each variable and its state (or, for several "
            f"samples, their number and such a list for each); got {len(words)} numbers. Was the file cut off?"
        )
    return samples[0] if len(samples) == 1 else samples


def open_text(content: bytes) -> Scanner:
    """The words of a text, without comments."""
    scan = Scanner(content, SKIPPED, WORD)
    if scan.is_done:
        raise InvalidFile("must be a file of the UAI competitions; got an empty file. Was it cut off?")
    return scan


def read_variables(scan: Scanner) -> list[Variable]:
    """Their number, and the number of states of each."""
    count = scan.whole("the number of variables", scan.remaining)
    conditional_tables.check_variable_count(count)
    variables = []
    for k in range(count):
        place = scan.place() if scan.word != b"2" else ""
        states = scan.whole("the number of states", 2**31)
        if states != 2:
            conditional_tables.check_binary(Variable(str(k), tuple(map(str, range(min(states, 100)))), place))
        variables.append(Variable(str(k), NUMBERED))
    return variables


def read_scope(
    scan: Scanner, count: int, variables: list[Variable], child: str | None = None
) -> tuple[str, tuple[str, ...]]:
    """Child and parents; the child is the last, unless it is known."""
    most = len(variables) - 1
    scope = [variables[scan.whole("the index of a variable", most)].name for _ in range(count)]
    if child is None and not scope:
        raise scan.refuse("preceded by a table of at least one variable")
    return (scope[-1], tuple(scope[:-1])) if child is None else (child, tuple(scope))


def read_table(scan: Scanner, child: str, parents: tuple[str, ...]) -> Conditional:
    """The size of a table and its numbers."""
    place = scan.place()
    expected = conditional_tables.table_size(len(parents), place, child)
    conditional_tables.check_total(scan.whole("the size of a table", scan.remaining), expected, place, child)
    if 2 * expected > scan.remaining + 1:  # before room is made for them
        raise InvalidFile(f"{place}the table of {child!r} must have {expected} probabilities. Was the file cut off?")
    values = scan.numbers(expected, "a probability")
    return Conditional(child, parents, values.reshape((2,) * (len(parents) + 1)), place)


def expect_end(scan: Scanner, last: str) -> None:
    if not scan.is_done:
        raise scan.refuse(f"the end of the file after {last}")


def _samples(words: Sequence[int]) -> list[dict[int, str]]:
    samples, start = [], 0
    while start < len(words):
        end = start + 1 + 2 * words[start]
        if end > len(words):
            return []
        samples.append(_observed(words[start + 1 : end]))
        start = end
    return samples


def _observed(words: Sequence[int]) -> dict[int, str]:
    observed = dict(zip(words[0::2], map(str, words[1::2]), strict=True))
    if len(observed) < len(words) // 2 or not {*observed.values()} <= {*NUMBERED}:
        raise InvalidFile(
            "every variable of the evidence must occur once, with state 0 or 1; got another state, or a variable twice."
        )
    return observed
