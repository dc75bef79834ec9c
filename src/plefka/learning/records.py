"""A network with its records: Beta counts, exact expectation steps, intervals of its numbers, and further rows.

A number p that is worth c cases begins with p c times on and (1 - p) c times off. Rows lead to the maximum over all
numbers q of ln P(rows) + sum c (p ln q + (1 - p) ln(1 - q)): the mode of their log-odds and, where rows show all there
is to know of a number, the mean of its Beta distribution.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.special import betaincinv, expit, ndtri

from plefka.errors import InvalidFile, InvalidInput
from plefka.files import FORMATS, native_json
from plefka.inference.library import parse_method
from plefka.learning.family_counts import Cases, Coins, one_of_them_on
from plefka.learning.fitted import HISTORY_COLUMNS, Fitted, Stopped
from plefka.learning.patterns import Patterns, as_patterns
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import counts_in
from plefka.networks.edge_list import EdgeList
from plefka.progress import interruptible, progress
from plefka.runtime.extras import pandas
from plefka.tables.dataset import MISSING
from plefka.tables.disk import read, read_all, write

UNITS_AT_ONCE = 2**22  # rows times units
MOST_CASES, MOST_STATES = 2**20, 2**27  # of hidden units, of all rows; and these times units
CHANGE = 1e-6, 1e-9  # of p (1 - p), and of p, below which a number has settled
SAVED = ("worth", "on", "off", "counts", "weights", "coins", "starts")
LARGEST_BLOCK = 4000  # numbers whose errors depend on each other
UNSETTLED = "the numbers still change after {} epochs; pass more, as in fit(..., epochs=1000)"


@dataclass(frozen=True, eq=False)
class Records:
    """The coins of a network before any row, how many cases each is worth, and what rows have said since."""

    coins: Coins
    worth: np.ndarray  # (coins,); infinite of those that stay what they are
    seen: Cases  # the sum of all rows that leave nothing hidden above what they observe
    rows: np.ndarray  # (rows, units), all others: 0, 1 or MISSING
    weights: np.ndarray  # of these
    total: float  # rows of both kinds
    epochs: int
    field: Any = None  # of the coins, as it was found

    @classmethod
    def of(cls, network: Any, prior: Any, epochs: int) -> "Records":
        """Before the first row; or those of a file, to go on with."""
        if not isinstance(network, BeliefNetwork) or network.stack is not None:
            raise InvalidInput("prior is for a single belief network; learn machines and stacks without it.")
        if isinstance(prior, str | PathLike):
            if ".json" in Path(prior).suffixes:
                return replace(cls.load(Path(prior), network), epochs=epochs)
            form = FORMATS.get(Path(prior).suffix.lower(), FORMATS[".csv"])
            prior = form.loads(*read_all(form.files(Path(prior))), make=counts_in)
        elif isinstance(prior, tuple):
            prior = counts_in(None, *prior)
        coins, rows = Coins(network), np.zeros((0, network.size), np.int8)
        worth = np.where((coins.field == 0) | np.isinf(coins.field), np.inf, worth_of(coins, prior))
        return cls(coins, worth, coins.cases(rows).summed(np.zeros(0)), rows, np.zeros(0), 0.0, epochs)

    @classmethod
    def load(cls, path: Path, network: BeliefNetwork) -> "Records":
        """What `save` wrote, of a network with the same units."""
        try:
            given = json.loads(read(path))["records"]
            coins: Any = Coins(native_json.loads(json.dumps(given["network"]).encode()))  # pyright: ignore
            worth, on, off, counts, weights = arrays = [np.array(given[z], float) for z in SAVED[:5]]
            coin, starts = (np.array(given[z], int) for z in SAVED[5:])
            rows = np.array([["01".find(z) for z in row] for row in given["rows"]], np.int8)
            rows = rows.reshape(-1, len(coins.units))
            sizes, size = [*map(len, arrays), len(coin)], len(coins.field)
            if sizes != [size] * 3 + [len(starts) - 1, len(rows), starts[-1]] or any((z < 0).any() for z in arrays):
                raise ValueError(f"{sizes} numbers")
            sets = sp.csr_array((np.ones(len(coin)), coin, starts), shape=(len(counts), size))
            on, off, counts = (sp.csr_array(z[None]) for z in (on, off, counts))
            seen = Cases(on, off, sets, counts, np.ones(1, bool))
            found = cls(coins, worth, seen, rows, weights, float(given["total"]), 0)
        except InvalidFile as error:
            raise InvalidFile(f"{path}: {error}") from error
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise InvalidFile(f"{path}: must have the records that Fitted.save writes; got {error!r}.") from error
        if coins.network.names != network.names:
            raise InvalidInput(f"the network must have the units of {path}, whose records go on; it has others.")
        return found

    def save(self, network: BeliefNetwork, path: str | PathLike[str]) -> None:
        """The learned network as JSON, with these records beside it."""
        if ".json" not in Path(path).suffixes:
            raise InvalidFile(f"{path}: the name of a network with records must end with .json.")
        on, off, counts = (z.toarray()[0] for z in (self.seen.on, self.seen.off, self.seen.members))
        arrays = self.worth, on, off, counts, self.weights, self.seen.sets.indices, self.seen.sets.indptr
        lists = ([n if n < np.inf else "inf" for n in array.tolist()] for array in arrays)
        rows = ["".join("01?"[z] for z in row) for row in self.rows.tolist()]
        records = {**dict(zip(SAVED, lists, strict=True)), "rows": rows, "total": self.total}
        records["network"] = json.loads(native_json.dumps(self.coins.network))
        text = native_json.dumps(network).decode().removesuffix("\n}\n")
        write({Path(path): f'{text},\n  "records": {json.dumps(records)}\n}}\n'.encode()})

    def with_rows(self, rows: Any, weights: Any = None, id_columns: Any = None) -> "Records":
        """With what further rows say."""
        patterns = as_patterns(self.coins.network, rows, weights, id_columns=id_columns)
        values, seen = patterns.whole_values(), self.seen
        hidden = np.zeros(len(values), bool)
        for first in range(0, len(values), at_once := max(1, UNITS_AT_ONCE // patterns.size)):
            hidden[first : first + at_once] = self.hidden(values[first : first + at_once]).any(axis=1)
            told = first + np.flatnonzero(~hidden[first : first + at_once])
            cases = self.coins.cases(values[told])
            _refuse(patterns, weights, told[~cases.possible])
            seen = seen.joined(cases.summed(patterns.counts[told])).summed(np.ones(2))
        joined, which = np.unique(np.concatenate([self.rows, values[hidden]]), axis=0, return_inverse=True)
        weight = np.bincount(which.ravel(), np.append(self.weights, patterns.counts[hidden]), len(joined))
        found = replace(self, seen=seen, rows=joined, weights=weight, total=self.total + patterns.total, field=None)
        impossible = np.isneginf(found.posterior(self.coins.field)[1][2:])[which.ravel()[len(self.rows) :]]
        _refuse(patterns, weights, np.flatnonzero(hidden)[impossible])
        return found

    def hidden(self, values: np.ndarray) -> np.ndarray:
        """Which units are hidden above something that is known, (rows, units)."""
        known = values != MISSING
        above = EdgeList.of(self.coins.network.storage).with_ancestors(known.T).T if len(known) else known
        return above & ~known

    # ---- expectation steps -------------------------------------------------------------------------------------------

    @cached_property
    def completed(self) -> tuple[Cases, np.ndarray]:
        """What was known before, what was seen, and rows in all states of their hidden units; and the row of each."""
        hidden = self.hidden(self.rows)
        count = 2.0 ** hidden.sum(axis=1)
        if count.sum() > min(MOST_CASES, MOST_STATES / len(hidden.T)):
            raise InvalidInput(
                f"exact expectation steps sum over at most {MOST_CASES:,} states of hidden units; got rows with up to "
                f"{hidden.sum(axis=1).max()} units hidden above what they observe, {count.sum():,.0f} states in all. "
                "Observe more units, or leave prior out to learn by gradient steps."
            )
        row = np.repeat(np.arange(len(count)), count.astype(int))
        number = np.arange(len(row)) - np.searchsorted(row, row)
        states = (number[:, None] >> np.maximum(np.cumsum(hidden, axis=1) - 1, 0)[row]) & 1
        cases = self.coins.cases(np.where(hidden[row], states, self.rows[row]).astype(np.int8))
        worth, fields = np.where(np.isfinite(self.worth), self.worth, 0.0), self.coins.field
        on, off = (sp.csr_array((worth * z)[None]) for z in (-np.expm1(-fields), np.exp(-fields)))
        before = self.seen._replace(on=on, off=off, members=sp.csr_array(self.seen.members.shape))
        return before.joined(self.seen, cases), np.append([0, 1], row + 2)

    def posterior(self, fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weight of every case, and ln P of every row."""
        cases, row = self.completed
        logs, first = cases.log_joint(fields), np.flatnonzero(np.diff(row, prepend=-1))
        top = np.maximum.reduceat(logs, first)
        parts = np.exp(logs - np.where(np.isfinite(top), top, 0.0)[row])
        totals = np.add.reduceat(parts, first)
        with np.errstate(divide="ignore", invalid="ignore"):
            return parts * (np.append([1, 1], self.weights) / totals)[row], top + np.log(totals)

    def step(self, fields: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Where an expectation step leads; ln P(rows) and the prior at its start, by unit if none is hidden; the prior.

        Of a set of coins one of which was on, coin k was on with probability p_k / P(one of them is on).
        """
        cases, (weights, log_p), p = self.completed[0], self.posterior(fields), -np.expm1(-fields)
        on, off, members = (weights @ z for z in (cases.on, cases.off, cases.members))
        value = np.atleast_1d(np.append([1, 1], self.weights) @ log_p)
        with np.errstate(divide="ignore", invalid="ignore"):
            one_of = -np.expm1(-(cases.sets @ fields))
            share = one_of_them_on(members, one_of)
            if not len(self.rows):
                unit, of_set = self.coins.unit, self.coins.unit[cases.sets.indices[cases.sets.indptr[:-1]]]
                terms = zip((on, -off, members), (np.log(p), fields, np.log(one_of)), strict=True)
                value = np.concatenate([np.where(n == 0, 0.0, n * log) for n, log in terms])
                value = np.bincount(np.concatenate([unit, unit, of_set]), value, len(self.coins.units))
            acted, shared = (cases.sets.T @ np.stack([members, share], axis=1)).T
            on, off = on + p * shared, off + np.maximum(acted - p * shared, 0.0)
            best = np.where(np.isfinite(self.worth) & (on + off > 0), np.log1p(on / off), fields)
        return best, value, float(log_p[0])

    def fitted(self, verbose: bool | None = None) -> Fitted:
        """The numbers that these rows lead to."""
        fields, start, stopped, history = self.coins.field, time.monotonic(), Stopped.EPOCHS, []
        ahead, _, at_start = self.step(fields)
        unit = self.coins.unit * (not len(self.rows))
        try:
            with interruptible() as check:
                for epoch in progress(range(self.epochs), "expectation steps", verbose):
                    before, fields = fields, leap(self.step, unit, fields, ahead)
                    ahead, value, log_prior = self.step(fields)
                    per_row = (value.sum() - np.array([at_start, log_prior])) / self.total
                    history.append((epoch + 1, *per_row, np.nan, np.nan, 1.0, 1.0, time.monotonic() - start))
                    p, q = -np.expm1(-before), -np.expm1(-fields)
                    if np.all(abs(q - p) <= CHANGE[0] * p * (1 - p) + CHANGE[1]):
                        stopped = Stopped.SETTLED
                        break
                    check()
        except KeyboardInterrupt:
            stopped = Stopped.INTERRUPTED
        columns: Any = dict(zip(HISTORY_COLUMNS, np.reshape(history, (-1, len(HISTORY_COLUMNS))).T, strict=True))
        network, found = self.coins.network_with(fields), replace(self, field=fields)
        doubts = (UNSETTLED.format(self.epochs),) if stopped is Stopped.EPOCHS else ()
        return Fitted(network, columns, stopped, parse_method("exact"), None, False, doubts, Accuracy.EXACT, found)

    # ---- how sure the numbers are ------------------------------------------------------------------------------------

    def certainties(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Expected counts (2, coins), the variances of log-odds (Laplace), and which coins were counted directly.

        Of what is hidden, minus the second derivatives are those of completed cases in the mean, without the covariance
        of their slopes (Louis 1982).
        """
        (cases, row), weights, p = self.completed, self.posterior(self.field)[0], -np.expm1(-self.field)
        on, off, members = (weights @ z for z in (cases.on, cases.off, cases.members))
        with np.errstate(divide="ignore", invalid="ignore"):
            odds, acts = 1 / np.expm1(cases.sets @ self.field), cases.sets * p
            direct = p * (1 - p) * (on + off - cases.sets.T @ (members * odds))
            found = sp.diags_array(direct) + acts.T @ (acts * (members * odds * (1 + odds))[:, None])
            if len(self.rows):
                slopes = (cases.on * (1 - p) - cases.off * p + (cases.members * odds) @ acts)[2:]
                shares = weights[2:] / self.weights[row[2:] - 2]
                means = sp.csr_array((shares, (row[2:] - 2, np.arange(len(shares))))) @ slopes
                found += means.T @ (means * self.weights[:, None]) - slopes.T @ (slopes * weights[2:, None])
            found, moving = sp.csr_array(found), np.flatnonzero(np.isfinite(self.worth))
            variances = 1 / np.maximum(found.diagonal(), 0.0)
        _, label = connected_components(found[moving][:, moving], directed=False)
        order, sizes = moving[np.argsort(label, kind="stable")], np.bincount(label)
        for first, size in zip((np.cumsum(sizes) - sizes)[sizes > 1], sizes[sizes > 1], strict=True):
            block = order[first : first + size]
            part = found[block][:, block].toarray() if size <= LARGEST_BLOCK else np.zeros((1, 1))
            variances[block] = np.diag(np.linalg.inv(part + (1e-12 * part.max() + 1e-300) * np.eye(len(part))))
        counted = (cases.sets.sum(axis=0) == 0) & np.isclose(found.diagonal(), direct, rtol=1e-9, atol=0.0)
        return np.stack([on, off]), np.where(variances > 0, variances, np.inf), counted

    def intervals(self, level: float) -> Any:
        """A table of all numbers; see `Fitted.intervals`."""
        if not 0 < level < 1:
            raise InvalidInput(f"level must be a probability between 0 and 1, such as 0.95; got {level!r}.")
        coins, p, moves = self.coins, -np.expm1(-self.field), np.isfinite(self.worth)
        (on, off), variances, counted = self.certainties()
        on, off = on + (self.worth == 0) / 2, off + (self.worth == 0) / 2
        names, ends = np.array([*coins.network.names, None], object), []
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            count = np.where(counted, on + off, 1 / (variances * p * (1 - p)))
            log_odds = np.clip(np.log(np.expm1(self.field)), -700.0, 700.0)
            for z in (0.5 - level / 2, 0.5 + level / 2):
                end = np.where(counted, betaincinv(on, off, z), expit(log_odds + ndtri(z) * np.sqrt(variances)))
                ends.append(np.where(moves, end, p))
        roots = np.array([not len(z) for z in coins.parents])[coins.unit]
        kinds = [roots, coins.is_table[coins.unit], coins.parent >= 0], ["prior", "entry", "link"]
        return pandas().DataFrame({
            "number": np.select(*kinds, "leak"),
            "unit": names[coins.unit],
            "parent": names[coins.parent],
            "entry": np.where(coins.is_table[coins.unit], coins.place, -1),
            "probability": p, "low": ends[0], "high": ends[1], "count": np.where(moves, count, np.inf),
            "kind": np.select([~moves, counted], ["fixed", "Beta counts"], "Laplace"),
        })  # fmt: skip


def leap(step: Callable, unit: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Where steps lead from beyond the next two or, by unit, from the second where that is better (SQUAREM)."""
    third, value, _ = step(second)
    with np.errstate(invalid="ignore", divide="ignore"):
        r, v = second - first, third - 2 * second + first
        r, v = (np.where(np.isfinite(v), z, 0.0) for z in (r, v))
        length = np.maximum(np.sqrt(np.bincount(unit, r**2) / np.bincount(unit, v**2)), 1.0)[unit]
        ahead = first + 2 * length * r + length**2 * v
    beyond, better, _ = step(np.where((v != 0) & (ahead > 0), ahead, third))
    return np.where((better >= value)[unit], beyond, third)


def _refuse(patterns: Patterns, weights: Any, impossible: np.ndarray) -> None:
    if len(impossible):
        row = np.flatnonzero(np.isin(patterns.which, impossible))[0]
        row = row if weights is None else np.flatnonzero(np.asarray(weights))[row]
        raise InvalidInput(
            f"row {row} of rows has probability zero in the network, in which 0 stays 0 and 1 stays 1. Correct it, "
            "or begin with small probabilities instead of 0."
        )


def worth_of(coins: Coins, prior: Any) -> np.ndarray:
    """How many cases each number is worth: what is said of it, else of its unit, else of all."""
    given: dict = dict(prior) if isinstance(prior, Mapping) else {None: prior}
    wrong = [z for z in given.values() if not isinstance(z, int | float | np.number) or not z >= 0]
    if wrong:
        raise InvalidInput(f"prior must be how many cases numbers are worth, 0 or more; got {wrong[0]!r}.")
    worth, index = np.full(len(coins.field), float(given.pop(None, 0.0))), coins.network.index
    at: dict = {key: coin for coin, key in enumerate(zip(coins.unit.tolist(), coins.parent.tolist(), strict=True))}
    for key, cases in sorted(given.items(), key=lambda item: isinstance(item[0], tuple)):
        unit, *parent = key if isinstance(key, tuple) else (key,)
        family = slice(*coins.start[index(unit) : index(unit) + 2])
        coin = at.get((index(unit), *(-1 if z is None else index(z) for z in parent)), family)
        if parent and (coin is family or coins.is_table[index(unit)]):
            raise InvalidInput(f"prior must name units, or (unit, parent) of the links of noisy-or units; got {key!r}.")
        worth[coin] = cases
    return worth
