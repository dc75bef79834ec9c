"""What is asked of every row, and the table of answers of a block."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.infer import infer
from plefka.inference.ranking import Units, check_top, chosen_units, most_probable
from plefka.inference.solution import Solution
from plefka.inference.solution_tables import ACCURACY, ESTIMATES, LOG_LIKELIHOOD, ROW, STATUS, estimated_units
from plefka.inference.solution_words import accuracies, status_word
from plefka.methods.method import Method
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.networks.fingerprint import digest
from plefka.networks.hierarchy import without_implied
from plefka.networks.index_arrays import mask_of, places_of
from plefka.reduction.relevant import has_parts, narrowed, part_of
from plefka.runtime import extras
from plefka.runtime.version import __version__
from plefka.scale.evidence_rows import CommonEvidence, EvidenceBlock
from plefka.tables.columns import VISIT

MOST_COLUMNS = 20_000


@dataclass(frozen=True, eq=False)
class RowQuestion:
    """What is asked of every row."""

    network: BeliefNetwork
    method: Method
    common: CommonEvidence
    units: np.ndarray  # whose probabilities are wanted
    top: int | None
    id_columns: list[str]
    has_parts: bool
    kept: Any  # units that the method names

    @classmethod
    def of(
        cls, network: BeliefNetwork, method: Method, common: CommonEvidence, units: Units, top: int | None,
        id_columns: list[str],
    ):  # fmt: skip
        check_top(top)
        method.check(network)
        chosen = chosen_units(network, units)
        if top is None and len(chosen) > MOST_COLUMNS:
            raise InvalidInput(
                f"a table has at most {MOST_COLUMNS:,} columns of units; got {len(chosen):,}. Pass top=10 for the most "
                "probable ones, or units='causes' or a list of names."
            )
        asked = cls(network, method, common, chosen, top, id_columns, has_parts(network), method.units_to_keep(network))
        columns = [ROW, STATUS, LOG_LIKELIHOOD, ACCURACY, ESTIMATES, *network.identity]
        names = Counter([*columns, *id_columns, *asked._unit_names()])
        twice = next((name for name, count in names.items() if count > 1), None)
        if twice is not None:
            raise InvalidInput(f"two columns would be called {twice!r}. Rename it, or pass top=10 instead.")
        return asked

    def settings(self, size: int) -> dict[str, Any]:
        """All that the answers depend on besides the rows, as text."""
        evidence = self.common.evidence
        common = [evidence.rows, evidence.tilt, evidence.offset]
        common += (
            [] if evidence.exclusive is None else [np.append(evidence.exclusive.units, evidence.exclusive.or_none)]
        )
        return {
            "version": __version__,
            **self.network.identity,
            "method": str(self.method),
            "evidence": digest(common),
            "units": digest(self.units),
            "top": self.top,
            "id": self.id_columns,
            "block": size,
        }

    def answered(self, block: EvidenceBlock, first: int, solved: tuple[Solution, np.ndarray] | None = None) -> Any:
        """The table of a block; `solved`: what `solution` has found of it, if that is known."""
        solution, units = solved or self.solution(block, first)
        count = block.num_rows
        columns: dict[str, Any] = {ROW: np.arange(first, first + count)}
        columns |= {name: _column(block.ids[name]) for name in self.id_columns}
        if VISIT not in self.id_columns and max(block.ids.get(VISIT, ()), default=1) > 1:
            columns[VISIT] = block.ids[VISIT]
        columns[STATUS] = [status_word(status) for status in solution.status]
        columns[LOG_LIKELIHOOD] = solution.log_likelihood
        wanted = np.searchsorted(units, self.units)
        texts = {ACCURACY: accuracies(solution), ESTIMATES: estimated_units(solution, wanted)}
        texts |= {name: [text] * count for name, text in self.network.identity.items() if text is not None}
        columns |= {name: extras.pyarrow().array(some).dictionary_encode() for name, some in texts.items()}
        if self.top:
            columns |= self._top_columns(solution, wanted)
        else:
            columns |= zip(self._unit_names(), np.ascontiguousarray(solution.means[:, wanted].T), strict=True)
        return extras.pyarrow().table(columns)

    def solution(self, block: EvidenceBlock, first: int) -> tuple[Solution, np.ndarray]:
        """Of the part of the network that the block is about, and the units of this part."""
        network, units, wanted = self.network, np.arange(self.network.size), None
        if self.has_parts and len(self.units) < network.size:
            asked = mask_of(self.units, network.size)
            informed = asked | self.kept
            informed[block.observed] = informed[self.common.units] = True
            network, units = part_of(network, informed)
            wanted = EdgeList.of(self.network.storage).graph.with_ancestors(asked)[units]
        place = places_of(units, self.network.size)
        rows = np.full((block.num_rows, len(units)), np.nan)
        there = place[block.units] >= 0
        rows[:, place[block.units[there]]] = block.values()[:, there]
        common = self.common._replace(network=network, evidence=narrowed(self.common.evidence, units))
        given = without_implied(network, common.added(Evidence(rows, batched=True, wanted=wanted), first, "rows"))
        return infer(network, given, self.method, throw=False), units

    def _unit_names(self) -> list[str]:
        return [] if self.top else [self.network.names[unit] for unit in self.units]

    def _top_columns(self, solution: Solution, wanted: np.ndarray) -> Iterator[tuple[str, Any]]:
        """The most probable hidden units of every row, and their probabilities; empty where there are fewer."""
        top = self.top or 0
        names, means = [[None] * len(solution.means) for _ in range(top)], np.full((top, len(solution.means)), np.nan)
        for row, (mean, observed) in enumerate(zip(solution.means, solution.observed, strict=True)):
            for k, unit in enumerate(most_probable(mean, wanted[~observed[wanted]], top)):
                names[k][row], means[k, row] = solution.names[unit], mean[unit]
        for k in range(top):
            yield f"unit_{k + 1}", extras.pyarrow().array(names[k], "string")
            yield f"probability_{k + 1}", means[k]


def _column(ids: list[Any]) -> Any:
    """The names of some rows; as text where they are of different kinds."""
    pyarrow = extras.pyarrow()
    try:
        return pyarrow.array(ids)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        return pyarrow.array([None if value is None else str(value) for value in ids])
