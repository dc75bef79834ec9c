"""Netica (.dne, .dnet): `probs` have the states of the child fastest; an equation NoisyOrDist stands for a noisy-or."""

import re
from typing import Any

import numpy as np

from plefka.errors import InvalidFile, listed
from plefka.files import conditional_tables
from plefka.files.braces import BETWEEN, TOKEN, read_block
from plefka.files.conditional_tables import IndependentCauses, Local, TableNetwork, Variable, is_first_on
from plefka.files.scanner import NUMBER, QUOTED_CHARACTERS, Scanner

READ_WORDS = {"kind", "discrete", "states", "parents", "functable", "equation"}
FOR_NETICA = {"chance", "numstates", "levels", "inputs", "numcases", "belief", "evidence", "visual", "statetitles"}
FOR_NETICA |= {"whenchanged", "delays", "user", "measure", "evcost", "persistance"}


def loads(content: bytes) -> TableNetwork:
    """The network in a file of Netica; what stands beside its nodes is for Netica's window."""
    scan = Scanner(content, BETWEEN, TOKEN)
    variables: dict[str, Variable] = {}
    nodes: list[tuple[Variable, dict[str, Any]]] = []
    scan.expect(b"bnet")
    scan.name("the name of the network")
    scan.expect(b"{")
    while scan.word != b"}":
        place, key = scan.place(), scan.name("'node', an attribute or '}'")
        if key != "node":
            scan.skip(b";" if scan.word == b"=" else b"}")
        else:
            name = scan.name("the name of a node")
            fields = read_block(scan, name, READ_WORDS, FOR_NETICA)
            kind = (*fields.get("kind", ("NATURE",)), *fields.get("discrete", ("TRUE",)))
            if kind[:1] != ("CONSTANT",):  # a note
                if kind != ("NATURE", "TRUE"):
                    conditional_tables.refuse_kind(place, name, "continuous" if kind[:1] == ("NATURE",) else kind[0])
                conditional_tables.add_variable(Variable(name, fields.get("states", ()), place), variables)
                nodes.append((variables[name], fields))
    scan.skip(b"}")
    if not scan.is_done:
        raise scan.refuse("the end of the file")
    tables = [_conditional(node, fields, variables) for node, fields in nodes]
    return conditional_tables.network_from(list(variables.values()), tables)


def _conditional(node: Variable, fields: dict[str, Any], variables: dict[str, Variable]) -> Local:
    parents = fields.get("parents", ())
    if not fields.keys() & {"probs", "functable"}:
        return _noisy_or(node, parents, "".join(fields.get("equation", ())), variables)
    numbered = {f"#{k}": state for k, state in enumerate(node.states)}
    entries = fields.get("probs") or [numbered.get(word, word) for word in fields.get("functable", ())]
    return conditional_tables.whole_table(node, parents, entries)


def _noisy_or(node: Variable, parents: tuple[str, ...], equation: str, variables: dict[str, Variable]) -> Local:
    """From `P (C | A, B) = NoisyOrDist (C, leak, A, probability, B == state, probability)`."""
    head, _, tail = equation.partition("NoisyOrDist")
    words = [word.strip("(); \r\n\t") for word in tail.split(",")]
    events = [[part.strip() for part in re.split("==?", word)] for word in words[::2]]
    given = {event[0]: word for event, word in zip(events, words[1::2], strict=False) if NUMBER.match(word.encode())}
    is_known = given.keys() == {node.name, *parents} and 2 * len(given) == len(words) and events[0][0] == node.name
    if not is_known or head.rstrip()[-1:] not in ("", "=") or not all(0 <= float(word) <= 1 for word in given.values()):
        raise InvalidFile(
            f"{node.place}{node.name!r} must have probs, a functable, or an equation NoisyOrDist of it, a leak and all "
            f"its parents with probabilities; got {equation[:QUOTED_CHARACTERS]!r}. Let Netica make a table of it."
        )
    states = {event[0]: _state(event, variables, node.place) for event in events}
    active, failures = tuple(states[parent] for parent in parents), [1 - float(given[parent]) for parent in parents]
    effect, leak = states[node.name], float(given[node.name])
    return IndependentCauses(node.name, parents, effect, active, leak, np.array(failures), node.place)


def _state(event: list[str], variables: dict[str, Variable], place: str) -> int:
    """The state of `name == state`, or the one that is on in `name`."""
    conditional_tables.find_variable(event[0], variables, place, "a name in an equation")
    states = variables[event[0]].states
    if len(event) == 2 and event[1] in states:
        return states.index(event[1])
    if len(event) > 1 or is_first_on(states) == is_first_on(states[::-1]):
        raise InvalidFile(f"{place}an equation must name a state of {event[0]!r}, {listed(states)}; got {event[1:]}.")
    return int(is_first_on(states[::-1]))
