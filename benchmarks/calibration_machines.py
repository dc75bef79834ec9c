"""Boltzmann machines with known answers for the study of how far to rely on a check: glasses, grids, restricted, real.

The truth of small machines is a sum over all states from the definition, that of planar grids without fields one
determinant (Kac and Ward, MATH.md 18), and that of the real ones is published.
"""

import sys
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import plefka as pf
from benchmarks.calibration_cases import Case
from benchmarks.real_machines import DATA, real_machines

METHODS = ("exact", "G1", "G2", "bethe", "conditioned[bethe,k=3]", "mixture[2]", "smc", "loops")
GLASS = 12  # units
GLASSES = 10  # of each kind
SCALES, FIELDS = (0.5, 1.0, 2.0, 4.0), (0.0, 0.3)
GRIDS = (5, 8, 11)  # units along a side
GLASS_COUPLINGS, FERROMAGNETS = (0.5, 1.0, 2.0), (0.3, 0.44, 0.7)
TORUS = 5
LAYERS, RESTRICTED = (8, 6), (0.5, 2.0, 5.0)  # units, and standard deviations of the couplings
REAL = "machines of UAI 2014 and of neurons"


def cases() -> Iterator[Case]:
    """All of them; the real ones are left out with a word where they are not there."""
    for seed, (scale, field) in enumerate((scale, field) for scale in SCALES for field in FIELDS):
        stack = pf.ensembles.spin_glass(GLASS, GLASSES, seed, scale=scale, field=field)
        yield _enumerated("spin glasses, 12 units", stack)
    for side in GRIDS:
        for seed, coupling in enumerate(GLASS_COUPLINGS):
            yield _planar("planar glasses", pf.ensembles.ising_grid(side, side, coupling, seed=10 * side + seed), side)
        for coupling in FERROMAGNETS:
            yield _planar("ferromagnets", pf.ensembles.ising_grid(side, side, coupling), side)
    yield from _tori()
    for seed, size in enumerate(RESTRICTED):
        yield _enumerated("restricted machines", _restricted(size, seed))
    known_machines = list(real_machines())
    for known in known_machines:
        rows = np.full((1, known.machine.size), np.nan)
        yield Case(REAL, known.machine, rows, np.array([known.log_z]), known.means[None], METHODS)
    if not known_machines:
        print(f"there are no machines in {DATA}", file=sys.stderr)


def _tori() -> Iterator[Case]:
    """With strong couplings and weak fields; the truth is that of elimination, which the large grids test."""
    for seed in range(3):
        for coupling in GLASS_COUPLINGS:
            machine = pf.ensembles.ising_grid(TORUS, TORUS, coupling, 0.2, periodic=True, seed=seed)
            exact, rows = pf.infer(machine, None, "exact"), np.full((1, machine.size), np.nan)
            yield Case("tori", machine, rows, np.array([exact.log_partition]), exact.means[None], METHODS)


def _restricted(size: float, seed: int) -> pf.BoltzmannMachine:
    """Half of them with fields that leave every unit undecided, so that a state and its opposite are as probable."""
    rng = np.random.default_rng(seed)
    W = size * rng.normal(size=(GLASSES, *LAYERS))
    fields = [0.3 * size * rng.normal(size=(GLASSES, count)) for count in LAYERS]
    fields[0][::2], fields[1][::2] = 0.0, 0.0
    visible, hidden = fields[0] - W.sum(axis=2) / 2, fields[1] - W.sum(axis=1) / 2
    return pf.BoltzmannMachine.restricted(W, visible, hidden)


def _enumerated(group: str, stack: pf.BoltzmannMachine) -> Case:
    """A stack of small machines, by the weights of all states."""
    (off, on), count = stack.values, stack.stack or 1
    S = np.arange(2**stack.size)[:, None] >> np.arange(stack.size) & 1
    log_z, means = np.zeros(count), np.zeros((count, stack.size))
    for number in range(count):
        log_w = stack.take(number).log_joint(np.where(S == 1, on, off))
        log_z[number] = np.logaddexp.reduce(log_w)
        means[number] = np.exp(log_w - log_z[number]) @ S
    return Case(group, stack, np.full((count, stack.size), np.nan), log_z, means, METHODS)


def _planar(group: str, machine: pf.BoltzmannMachine, side: int) -> Case:
    truth, rows = kac_ward(machine, side), np.full((1, machine.size), np.nan)
    return Case(group, machine, rows, np.array([truth]), np.full(rows.shape, 0.5), METHODS)


def kac_ward(machine: pf.BoltzmannMachine, columns: int) -> float:
    """ln Z of a planar grid without fields, whose units are numbered along its rows."""
    child, parent, weight = machine.storage.edge_list()
    tail, head = np.concatenate([parent, child]), np.concatenate([child, parent])
    W = np.tile(weight[:, 0] / machine.temperature, 2)
    row, column = np.divmod(np.arange(machine.size), columns)
    places = column + 1j * row
    along = places[head] - places[tail]
    order, ends = np.argsort(tail, kind="stable"), np.bincount(tail, minlength=machine.size)
    first, count = np.cumsum(ends) - ends, ends[head]  # of the edges that begin where each edge ends
    e = np.repeat(np.arange(len(head)), count)
    f = order[np.repeat(first[head], count) + np.arange(len(e)) - np.repeat(np.cumsum(count) - count, count)]
    e, f = e[head[f] != tail[e]], f[head[f] != tail[e]]
    T = np.tanh(W[e]) * np.exp(0.5j * np.angle(along[f] / along[e]))
    factors = splu(sp.csc_array(sp.identity(len(head)) - sp.coo_array((T, (e, f)), shape=(len(head),) * 2)))
    log_det = np.log(np.abs(factors.U.diagonal())).sum() + np.log(np.abs(factors.L.diagonal())).sum()
    return float(machine.size * np.log(2) + np.log(np.cosh(W[: len(child)])).sum() + log_det / 2)
