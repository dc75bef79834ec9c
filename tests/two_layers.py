"""Two-layer noisy-or networks solved exactly, without any code of the library's, to test it and to measure accuracy.

Findings that are off multiply the odds of their causes. For those that are on, a table says with which probability each
open finding is still dark; causes are summed into it one after another, and a finding is closed, as being lit, when all
its causes are in. All terms are positive. The cost is 2^(findings open at once), so the order of closing is searched
for. Weights are not negative.
"""

from typing import NamedTuple

import numpy as np

import plefka as pf

MOST_ENTRIES = 2**18
BEAM = 300


class Diagnosis(NamedTuple):
    """ln P = constant + ln P(all findings on), with the prior of each cause and dark[i, j] = exp(-w_ij)."""

    constant: float
    prior: np.ndarray
    dark: np.ndarray
    leak: np.ndarray  # the chance that a finding stays dark without any cause
    causes: np.ndarray  # which units they are


def two_layer(seed: int, causes: int, findings: int) -> tuple[pf.BeliefNetwork, np.ndarray]:
    """A network with certain edges and findings without leak, and evidence that can happen, on some causes too."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(1.0, (findings, causes)) * (rng.random((findings, causes)) < 0.6)
    weights = np.where((weights > 0) & (rng.random(weights.shape) < 0.15), np.inf, weights)
    leak = rng.uniform(0.01, 0.2, findings) * (rng.random(findings) < 0.6)
    bias = rng.uniform(0.01, 0.5, causes)
    state = (rng.random(causes) < -np.expm1(-bias)) * 1.0
    state[rng.integers(causes)] = 1.0
    x = leak + np.where(state == 1, weights, 0.0).sum(1)
    row = np.concatenate([state, rng.random(findings) < -np.expm1(-x)])
    seen = np.concatenate([rng.random(causes) < 0.15, rng.random(findings) > 0.2])
    return pf.BeliefNetwork.layered([weights], [bias, leak], "noisy_or"), np.where(seen, row, np.nan)


def exact_two_layer(network: pf.BeliefNetwork, row: np.ndarray, most: int = MOST_ENTRIES) -> tuple[float, np.ndarray]:
    """ln P(evidence) and the probability of every unit to be on; hidden units are roots, or have no children."""
    weights, bias = network.storage.to_sparse().toarray(), np.asarray(network.bias)
    diagnosis = diagnosed(weights, bias, row)
    log_p, posterior = _solve(diagnosis, most)
    means = row.copy()
    means[diagnosis.causes] = posterior
    for unit in np.flatnonzero(np.isnan(means)):  # 1 - P(evidence and this unit off) / P(evidence)
        also = np.where(np.arange(row.size) == unit, 0.0, row)
        means[unit] = -np.expm1(_solve(diagnosed(weights, bias, also), most)[0] - log_p)
    return log_p, means


def _solve(diagnosis: Diagnosis, most: int) -> tuple[float, np.ndarray]:
    """ln P and the posterior of the causes."""
    order = closing_order(diagnosis.dark < 1)
    width = peak(diagnosis.dark < 1, order)
    if 2**width > most:
        raise MemoryError(f"2^{width} entries of a table are too many")
    log_p, posterior = _eliminate(diagnosis, order)
    return float(diagnosis.constant + log_p), posterior


def diagnosed(weights: np.ndarray, bias: np.ndarray, row: np.ndarray) -> Diagnosis:
    """What is left when all that is known has been put in."""
    roots = ~(weights != 0).any(1)
    on, off, hidden = row == 1, row == 0, np.isnan(row)
    causes = np.flatnonzero(roots & hidden)
    if (weights[:, hidden & ~roots] != 0).any():
        raise ValueError("a hidden unit with parents has children")
    x = bias + np.where(weights[:, on] > 0, weights[:, on], 0.0).sum(1)
    with np.errstate(divide="ignore"):
        log_prior = np.log(-np.expm1(-bias[causes])) - weights[np.ix_(off, causes)].sum(0)
    log_total = np.logaddexp(log_prior, -bias[causes])
    constant = log_total.sum() - x[off].sum()
    dark = np.exp(-weights[np.ix_(on, causes)])
    return Diagnosis(constant, np.exp(log_prior - log_total), dark, np.exp(-x[on]), causes)


def closing_order(touches: np.ndarray) -> list[int]:
    """The order of closing findings that keeps the fewest open at once, by a beam search over sets of closed ones."""
    near = _near(touches)
    beam = {0: (0, ())}
    for _ in range(len(near)):
        grown: dict[int, tuple[int, tuple[int, ...]]] = {}
        for closed, (worst, order) in beam.items():
            opened = _union(near, closed)
            for finding in (f for f in range(len(near)) if not closed >> f & 1):
                here = max(worst, ((opened | near[finding]) & ~closed).bit_count())
                key = closed | 1 << finding
                if key not in grown or here < grown[key][0]:
                    grown[key] = (here, (*order, finding))
        ranked = sorted(grown.items(), key=lambda item: (item[1][0], (_union(near, item[0]) & ~item[0]).bit_count()))
        beam = dict(ranked[:BEAM])
    return list(next(iter(beam.values()))[1])


def peak(touches: np.ndarray, order: list[int]) -> int:
    """How many findings are open at most."""
    near, closed, most = _near(touches), 0, 0
    for finding in order:
        most = max(most, (_union(near, closed | 1 << finding) & ~closed).bit_count())
        closed |= 1 << finding
    return most


def _near(touches: np.ndarray) -> list[int]:
    """For each finding the set, as bits, of those that share a cause with it."""
    shared = (touches.astype(int) @ touches.T.astype(int) > 0) | np.eye(len(touches), dtype=bool)
    return [sum(1 << int(f) for f in np.flatnonzero(line)) for line in shared]


def _union(near: list[int], findings: int) -> int:
    union = 0
    while findings:
        union |= near[(findings & -findings).bit_length() - 1]
        findings &= findings - 1
    return union


class Table(NamedTuple):
    """One axis of dark and lit for each open finding, and the logarithm of what was divided out."""

    open: tuple[int, ...]
    entries: np.ndarray
    log_scale: float = 0.0

    def axis(self, finding: int) -> int:
        return self.open.index(finding)


def _eliminate(diagnosis: Diagnosis, order: list[int]) -> tuple[float, np.ndarray]:
    """The table through all causes, then back with the chance that each of its entries still ends with all lit."""
    table, done, passed = Table((), np.ones(())), np.zeros(len(diagnosis.prior), bool), []
    for finding in order:
        causes = np.flatnonzero((diagnosis.dark[finding] < 1) & ~done).tolist()
        table = _opened(table, {finding, *np.flatnonzero((diagnosis.dark[:, causes] < 1).any(1)).tolist()}, diagnosis)
        for cause in causes:
            passed.append((cause, table))
            table = table._replace(entries=_mixed(table, cause, diagnosis))
        done[causes] = True
        passed.append((finding, None))
        table = _closed(table, finding)
    return float(np.log(table.entries) + table.log_scale), _way_back(diagnosis, passed)


def _opened(table: Table, wanted: set[int], diagnosis: Diagnosis) -> Table:
    entries, new = table.entries, sorted(wanted.difference(table.open))
    for finding in new:
        dark = diagnosis.leak[finding]
        entries = entries[..., None] * np.array([dark, 1 - dark])
    return table._replace(open=(*table.open, *new), entries=entries)


def _closed(table: Table, finding: int) -> Table:
    entries = table.entries.take(1, axis=table.axis(finding))
    total = entries.sum()
    left = tuple(other for other in table.open if other != finding)
    return Table(left, entries / total, table.log_scale + np.log(total))


def _mixed(table: Table, cause: int, diagnosis: Diagnosis) -> np.ndarray:
    prior = diagnosis.prior[cause]
    return (1 - prior) * table.entries + prior * _lit(table, cause, diagnosis)


def _lit(table: Table, cause: int, diagnosis: Diagnosis, *, backwards: bool = False) -> np.ndarray:
    """What becomes of the table when the cause is on; backwards, what becomes of the chances of the entries."""
    entries = table.entries
    for finding in np.flatnonzero(diagnosis.dark[:, cause] < 1).tolist():
        dark, axis = diagnosis.dark[finding, cause], table.axis(finding)
        step = np.array([[dark, 0.0], [1 - dark, 1.0]])
        entries = np.moveaxis(np.tensordot(step.T if backwards else step, entries, axes=(1, axis)), 0, axis)
    return entries


def _way_back(diagnosis: Diagnosis, passed: list) -> np.ndarray:
    posterior, chance = diagnosis.prior.copy(), Table((), np.ones(()))
    for unit, table in reversed(passed):
        if table is None:  # a finding was closed: it must have been lit
            lit = np.stack([np.zeros_like(chance.entries), chance.entries], axis=-1)
            chance = Table((*chance.open, unit), lit)
            continue
        chance = _like(chance, table, diagnosis)
        prior = diagnosis.prior[unit]
        on, off = _lit(chance, unit, diagnosis, backwards=True), chance.entries
        posterior[unit] = prior * np.vdot(on, table.entries)
        before = posterior[unit] + (1 - prior) * np.vdot(off, table.entries)
        posterior[unit] /= before
        chance = chance._replace(entries=(prior * on + (1 - prior) * off) / before)
    return posterior


def _like(chance: Table, table: Table, diagnosis: Diagnosis) -> Table:
    """The chances on the axes of a table, in their order; findings not open yet are summed over their leak."""
    for finding in set(chance.open).difference(table.open):
        dark = diagnosis.leak[finding]
        entries = np.tensordot(chance.entries, np.array([dark, 1 - dark]), axes=(chance.axis(finding), 0))
        chance = Table(tuple(other for other in chance.open if other != finding), entries)
    return Table(table.open, chance.entries.transpose([chance.axis(finding) for finding in table.open]))


def with_inhibitors(rng: np.random.Generator) -> tuple[pf.BeliefNetwork, np.ndarray]:
    """Six causes, some of which inhibit, and four findings, three of them on."""
    W = rng.exponential(1.0, (4, 6)) * rng.choice([-0.5, 0, 1], (4, 6))
    leak = -np.minimum(W, 0).sum(1) + rng.exponential(0.1, 4)
    network = pf.BeliefNetwork.layered([W], [rng.uniform(0.05, 0.5, 6), leak], "noisy_or")
    return network, np.append(np.full(6, np.nan), rng.permutation([1, 1, 1, 0]))
