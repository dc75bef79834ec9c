"""Joint answers: the probability of every state of some hidden units together, given the evidence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput, listed
from plefka.inference.further_rows import answered_rows, relevant_part
from plefka.inference.infer import DEFAULT_METHOD, infer
from plefka.inference.library import parse_method
from plefka.inference.pair_posteriors import named_units
from plefka.inference.solution import InferenceFailed
from plefka.methods.method import Method
from plefka.methods.posterior import Accuracy, Status, normalised
from plefka.networks.evidence import Evidence, as_evidence, as_rows
from plefka.networks.fields import bits
from plefka.networks.hierarchy import with_implied
from plefka.networks.intervention import intervened
from plefka.networks.network import Network
from plefka.questions.changed_evidence import how_computed, weakest
from plefka.runtime import extras
from plefka.sampling.chain_draws import over_chains
from plefka.sampling.sampling_methods import Gibbs
from plefka.tables.display import PRINTED_ROWS, Content, ShownAnswer, bar, page

MOST_UNITS = 12


@dataclass(frozen=True, eq=False, repr=False)
class Joint(ShownAnswer):
    """The result of `joint`: the probability of every state of some units together. `print` shows it as a table.

    - `units`: the names of the units.
    - `table`: P(state | evidence), with an axis of length 2 (off, on) for each unit: `table[1, 0]` is the probability
        that the first unit is on and the second one is off. Of a batch of evidence there is one more axis in front.
    - `states`: the words for off and on of each unit.
    - `accuracy`: whether all of its numbers are exact, or estimates.
    - `standard_error`: of each number, where they are averages of draws; otherwise None.
    - `method`, `notes`: how the probabilities were computed.

    `probability` has that of any state of some or all of the units.

    >>> import plefka as pf
    >>> both = pf.joint(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, ["limescale", "stale_beans"])
    >>> round(both.probability({"limescale": 1, "stale_beans": 0}), 3)
    0.196
    """

    units: tuple[str, ...]
    table: np.ndarray
    states: tuple[tuple[str, str], ...]
    accuracy: Accuracy
    standard_error: np.ndarray | None
    method: str
    notes: tuple[str, ...]
    network: Network

    @property
    def is_batch(self) -> bool:
        """Whether there is more than a single row of evidence."""
        return self.table.ndim > len(self.units)

    def probability(self, state: Mapping[str | int, Any]) -> Any:
        """P(state | evidence) of some or all of the units, from {unit: 0, 1 or a word for its state}.

        The other units of the table are summed over. Of a batch, an array with one number for each row.

        >>> import plefka as pf
        >>> both = pf.joint(pf.example("espresso"), {"slow_flow": 1}, ["limescale", "stale_beans"])
        >>> alone = pf.infer(pf.example("espresso"), {"slow_flow": 1})["limescale"]
        >>> abs(both.probability({"limescale": 1}) - alone) < 1e-12
        True
        """
        if not isinstance(state, Mapping):
            raise InvalidInput(f"state must be a dictionary {{unit: 0 or 1}} of units of this table; got {state!r}.")
        row = as_rows(self.network, dict(state))[0][0]
        places = {self.network.index(name): axis for axis, name in enumerate(self.units)}
        other = next((self.network.names[k] for k in np.flatnonzero(~np.isnan(row)) if k not in places), None)
        if other is not None:
            raise InvalidInput(f"state must be of units of this table, {listed(self.units)}; got {other!r}.")
        chosen = [slice(None) if np.isnan(row[unit]) else int(row[unit]) for unit in places]
        found = self.table[(..., *chosen)]
        found = found.reshape(len(self.table) if self.is_batch else 1, -1).sum(axis=1)
        return found if self.is_batch else float(found[0])

    def rows(self) -> Iterator[tuple[tuple[int, ...], list[str], float, float]]:
        """Every state, its words, its probability and its standard error or nan, most probable first; of one row."""
        if self.is_batch:
            raise InvalidInput("a list of states is of one row of evidence; got a batch. Take joint.table[row].")
        error = np.full(self.table.shape, np.nan) if self.standard_error is None else self.standard_error
        for k in np.argsort(-self.table, axis=None, kind="stable"):
            state = tuple(map(int, np.unravel_index(k, self.table.shape)))
            words = [pair[on] for pair, on in zip(self.states, state, strict=True)]
            yield state, words, float(self.table[state]), float(error[state])

    def to_frame(self) -> Any:
        """A DataFrame with a row for each state, most probable first: a column for each unit, and its probability."""
        found = [(*words, p, str(self.accuracy)) for _, words, p, _ in self.rows()]
        return extras.pandas().DataFrame(found, columns=[*self.units, "probability", "accuracy"])

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and words: `states` has {unit: 0 or 1} with its probability, likeliest first."""
        states = [
            {"state": dict(zip(self.units, state, strict=True)), "probability": p,
             "standard_error": None if np.isnan(error) else error}
            for state, _, p, error in self.rows()
        ]  # fmt: skip
        about = {"method": self.method, "accuracy": str(self.accuracy), "notes": list(self.notes)}
        return {"units": list(self.units), "words": [list(pair) for pair in self.states], "states": states, **about}

    def __repr__(self) -> str:
        of = f"{len(self.table):,} rows" if self.is_batch else f"{self.table.size:,} states"
        return f"<Joint of {listed(self.units)} by {self.method}: {of}, {self.accuracy}>"

    def _repr_html_(self) -> str:
        content = self._content()
        bars = [(*row, bar(float(row[len(self.units)]))) for row in content.rows]
        return page(content._replace(header=(*content.header, ""), rows=bars))

    def _content(self) -> Content:
        if self.is_batch:
            return Content(repr(self), (), (), (), 0)
        rows = [
            (*words, f"{p:.6f}", *(() if self.standard_error is None else (f"{error:.1e}",)))
            for _, words, p, error in islice(self.rows(), PRINTED_ROWS)
        ]
        errors = () if self.standard_error is None else ("standard error",)
        sentences = [how_computed(self.method, [self.accuracy]), *self.notes]
        header = (*self.units, "P(state | evidence)", *errors)
        return Content(f"P({', '.join(self.units)} | evidence)", sentences, header, rows, self.table.size, "states")


def joint(
    network: Network,
    evidence: Any,
    units: str | int | Sequence[str | int],
    method: str | Method | None = None,
    *,
    do: Any = None,
) -> Joint:
    """The probability of every state of up to 12 hidden units together, given the evidence.

    Every state of the units is a row of one batch, in which they are observed beside the evidence. Its probability
    follows from ln P of these rows, so that it is exact where they are. With `gibbs` the states of its chains are
    counted instead.

    **Arguments:**

    - `network`: a BeliefNetwork or a BoltzmannMachine.
    - `evidence`: as for `infer`; of a batch, the table has an axis for the rows in front.
    - `units`: hidden units, by name or by index. The state of an observed unit is known, so that it is refused.
    - `method`, `do`: the method for all states, and units that are set from outside, as for `infer`.

    **Example:**

    >>> import plefka as pf
    >>> both = pf.joint(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, ["limescale", "stale_beans"])
    >>> print(both)
    P(limescale, stale_beans | evidence)
    computed by auto; all numbers are exact
    ...
    """
    places = _checked(network, units)
    network, given = intervened(network, as_evidence(network, evidence, takes_group=True), do)
    seen = ~np.isnan(with_implied(network, given.rows)[:, places])
    if seen.any():
        row, unit = np.argwhere(seen)[0]
        where = f" in row {row}" if given.batched else ""
        raise InvalidEvidence(
            f"joint takes hidden units; {network.names[places[unit]]!r} is observed{where}. Leave it out of the units, "
            "or out of the evidence."
        )
    chosen = parse_method(method or DEFAULT_METHOD)
    names = tuple(map(network.names.__getitem__, places))
    words = tuple(network.given_states[unit] if network.given_states else ("off", "on") for unit in places)
    answer = _of_draws if isinstance(chosen, Gibbs) else _of_rows
    table, error, accuracy, notes = answer(network, given, places, chosen)
    shape = (*([len(table)] if given.batched else []), *(2,) * len(places))
    error = None if error is None else error.reshape(shape)
    return Joint(names, table.reshape(shape), words, accuracy, error, str(chosen), tuple(notes), network)


def _checked(network: Network, units: Any) -> np.ndarray:
    if not isinstance(network, Network) or network.stack is not None:
        kind = "a stack" if isinstance(network, Network) else type(network).__name__
        raise InvalidInput(f"joint takes one BeliefNetwork or BoltzmannMachine; got {kind}. Ask of one at a time.")
    places = named_units(network, units)
    if len(places) > MOST_UNITS:
        raise InvalidInput(
            f"joint takes at most {MOST_UNITS} units, which have {2**MOST_UNITS:,} states; got {len(places)} units, "
            f"whose table would have 2^{len(places)} = {2.0 ** len(places):,.0f} entries. Ask about fewer units, or "
            "draw states with network.sample(seed, count, evidence)."
        )
    return places


Tables: TypeAlias = tuple[np.ndarray, np.ndarray | None, Accuracy, Iterable[str]]  # (rows, states), errors, what it is


def _of_rows(network: Network, given: Evidence, places: np.ndarray, method: Method) -> Tables:
    """From ln P of rows that observe the units too."""
    part, evidence, units = relevant_part(network, given, method, places)
    count, num_rows, notes = 2 ** len(places), len(given.rows), {}
    states = bits(np.arange(count), np.arange(len(places))[::-1]).T  # the first unit changes most slowly
    (log_p, codes), errors = np.zeros((2, num_rows * count)), np.full(num_rows * count, np.nan)
    asked = evidence._replace(wanted=np.zeros(part.size, bool))  # nobody asks for means
    source, states = np.arange(num_rows).repeat(count), np.tile(states, (num_rows, 1)).astype(float)
    for some, found in answered_rows(part, asked, method, source, np.searchsorted(units, places), states):
        usable = found.converged | (found.status == Status.IMPOSSIBLE)
        if not given.batched and not usable.all():
            raise InferenceFailed(found.row(int(np.argmin(usable))))
        log_p[some] = np.where(usable, found.log_partition, np.nan)
        codes[some] = found.codes.log_partition
        errors[some] = np.nan if found.standard_error is None else found.standard_error
        notes |= dict.fromkeys(found.notes)
    log_p, errors = log_p.reshape(num_rows, count), errors.reshape(num_rows, count)
    impossible = np.isneginf(log_p).all(axis=1, keepdims=True)
    if not given.batched and impossible.all():
        infer(network, given, method)  # which says why no state is possible
    table = np.where(impossible, np.nan, normalised(log_p, axis=1))
    return table, _error_of_shares(table, errors), weakest(codes), notes


def _error_of_shares(p: np.ndarray, s: np.ndarray) -> np.ndarray | None:
    """That of p = w / sum(w) where ln w has the standard error s: dp_a = p_a (d ln w_a - sum_b p_b d ln w_b)."""
    if np.isnan(s).all():
        return None
    s = np.nan_to_num(s)  # of states that are impossible, or exact
    return p * np.sqrt((1 - 2 * p) * s**2 + ((p * s) ** 2).sum(axis=1, keepdims=True))


def _of_draws(network: Network, given: Evidence, places: np.ndarray, method: Method) -> Tables:
    """How often the chains of gibbs were in each state."""
    count, found, notes = 2 ** len(places), [], {}
    for row in range(len(given.rows)):
        solution = infer(network, given.take([row])._replace(batched=False), method, throw=not given.batched)
        numbers = solution.draws().states[:, :, places] @ (1 << np.arange(len(places))[::-1])  # (chains, draws)
        shares = np.stack([np.bincount(chain, minlength=count) / len(chain) for chain in numbers])
        found.append(np.where(solution.converged, over_chains(shares), np.nan))
        notes |= dict.fromkeys(solution.notes)
    tables, errors = np.moveaxis(np.array(found), 1, 0)
    return tables, errors, Accuracy.ESTIMATE, notes
