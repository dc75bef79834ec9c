"""GeNIe and SMILE (.xdsl): tables have the states of the child fastest; a noisy-or (`noisymax`) has no table.

Of a `noisymax`, the last state of the child is the one without causes. There is a column of probabilities for each
state of each parent, one of them without effect, and one for the leak; `strengths` have the strongest state first.
"""

from typing import Any

import numpy as np

from plefka.errors import InvalidFile
from plefka.files import conditional_tables, xmlbif
from plefka.files.conditional_tables import Conditional, IndependentCauses, Local, TableNetwork, Variable

CONTENTS = {"cpt": {"probabilities"}, "deterministic": {"resultingstates"}, "noisymax": {"parameters", "strengths"}}
UNREAD = {"extensions", "observationcost", "properties", "property", "cases"}


def loads(content: bytes) -> TableNetwork:
    """The network in a file of GeNIe."""
    reader = _XdslReader()
    xmlbif.parse(content, reader)
    return conditional_tables.network_from(list(reader.variables.values()), reader.conditionals)


class _XdslReader:
    def __init__(self):
        self.variables: dict[str, Variable] = {}
        self.conditionals: list[Local] = []
        self.name = self.place = ""
        self.states: list[str] = []
        self.fields: dict[str, str] = {}

    def start(self, tags: list[str], attributes: dict[str, str], place: str) -> None:
        *outer, tag = tags
        if UNREAD & {*tags}:
            return
        if outer == ["smile", "nodes"]:
            self.name, self.place, self.states, self.fields = attributes.get("id", ""), place, [], {}
            if tag not in CONTENTS:
                conditional_tables.refuse_kind(place, self.name, tag)
        elif tag == "state" and len(outer) == 3:
            self.states.append(attributes.get("id", ""))
        elif tags not in (["smile"], ["smile", "nodes"]) and (
            len(outer) != 3 or tag not in {"parents", *CONTENTS[outer[2]]} or tag in self.fields
        ):
            raise InvalidFile(f"{place}must be an element of GeNIe's networks that plefka knows, once; got {tag!r}.")

    def end(self, tags: list[str], text: str) -> None:
        if UNREAD & {*tags}:
            return
        tag = tags[-1]
        if len(tags) == 4 and tag != "state":
            self.fields[tag] = text
        elif len(tags) == 3:
            conditional_tables.add_variable(Variable(self.name, tuple(self.states), self.place), self.variables)
            parents = tuple(self.fields.get("parents", "").split())
            self.conditionals.append(self._noisy_or(parents) if tag == "noisymax" else self._table(parents))

    def _table(self, parents: tuple[str, ...]) -> Conditional:
        size = conditional_tables.table_size(len(parents), self.place, self.name)
        entries: Any = self.fields.get("resultingstates", "").split()
        if not entries:
            entries = xmlbif.read_numbers(self.fields.get("probabilities", ""), size, self.place, self.name)
        return conditional_tables.whole_table(self.variables[self.name], parents, entries)

    def _noisy_or(self, parents: tuple[str, ...]) -> IndependentCauses:
        given, size = self.fields.get("parameters", ""), 4 * len(parents) + 2
        columns = xmlbif.read_numbers(given, size, self.place, self.name).reshape(-1, 2)
        pairs = conditional_tables.probability_of_on(columns, False, self.place, self.name)[:-1].reshape(-1, 2)
        strengths = self.fields.get("strengths", "0 1 " * len(parents)).split()
        orders = list(zip(strengths[::2], strengths[1::2], strict=False))
        active = np.array([order == ("1", "0") for order in orders], int)
        is_known = len(strengths) == 2 * len(parents) and {*orders} <= {("0", "1"), ("1", "0")}
        if not is_known or (np.where(active, pairs.max(1), pairs[:, 1]) < 1).any():
            raise InvalidFile(
                f"{self.place}each parent of the noisy-or {self.name!r} must have a state without effect, the last of "
                "its strengths; got others. Correct it in GeNIe."
            )
        leak = float(columns[-1, 0] / columns[-1].sum())
        return IndependentCauses(self.name, parents, 0, tuple(active.tolist()), leak, pairs.min(1), self.place)
