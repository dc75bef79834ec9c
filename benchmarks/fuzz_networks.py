"""Random networks with random evidence, for `fuzz_infer`: many of one shape in a stack, and others by themselves."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import plefka as pf

LARGEST = 1e3  # of weights and biases
STEPS = "max_steps=200"  # what has not converged by then is out of steps, which is a status too
METHODS = {  # of a stack: how often each is taken
    "exact": 2, "conditioned[G12,k=1]": 1, "auto": 2, "findings": 1, "mixture[2,seed=0]": 1,
    **{f"{name}[{STEPS}]": 1 for name in ("G11", "G13", "G14", "G21", "G221", "G212")},
    **{f"{name}[{STEPS}]": 2 for name in ("G12", "G22", "SJJ", "G1", "G2", "bethe")},
    f"G12[{STEPS},policy=paper]": 1, f"G12[{STEPS},restarts=2,seed=0]": 1,
}  # fmt: skip
ALONE = (*METHODS, "G3", "G4", "gibbs[sweeps=50,burn=20,temperatures=10,runs=4,seed=0]")
PROBIT_LIKE = "custom"  # averages are sums over states, so that its layers are small
ACTIVATIONS = ("sigmoid", "sigmoid", "noisy_or", "noisy_or", PROBIT_LIKE)


class Case(NamedTuple):
    """What is asked of a stack of networks, or of one, by a method."""

    network: pf.BeliefNetwork
    evidence: Any
    method: str
    kind: str
    num_networks: int


def activation(name: str) -> Any:
    from jax.scipy.special import log_ndtr

    return pf.Custom(log_on=log_ndtr, log_off=lambda x: log_ndtr(-x), name="probit") if name == PROBIT_LIKE else name


def numbers(rng: np.random.Generator, shape: tuple[int, ...], positive: bool, lead: int = 0) -> np.ndarray:
    """Of all sizes up to LARGEST, another one for each network; some are zero, and some networks have equal ones."""
    networks = shape[:lead]
    scale = 10 ** rng.uniform(-3, np.log10(LARGEST), networks).reshape(networks + (1,) * (len(shape) - lead))
    found = rng.uniform(-1, 1, shape) * scale
    found[rng.random(shape) < rng.choice([0, 0, 0.3])] = 0.0
    if rng.random() < 0.1:
        found = np.sign(found) * scale
    return np.abs(found) if positive else found


def cases(seed: int, count: int, alone: int) -> Iterator[Case]:
    """`alone` networks by themselves, and all others of a block in one stack."""
    rng = np.random.default_rng(seed)
    yield stacked(rng, count - alone)
    for _ in range(alone):
        yield by_itself(rng)


def stacked(rng: np.random.Generator, count: int) -> Case:
    name = str(rng.choice(ACTIVATIONS))
    positive = name == "noisy_or"
    layers = [
        int(n) for n in rng.choice([1, 2, 3, 4] if name == PROBIT_LIKE else [1, 2, 3, 4, 6, 8], rng.integers(2, 4))
    ]
    method = str(rng.choice(list(METHODS), p=np.array([*METHODS.values()]) / sum(METHODS.values())))
    if rng.random() < 0.7:
        weights = [numbers(rng, (count, b, a), positive, 1) for a, b in pairwise(layers)]
        bias = [numbers(rng, (count, n), positive, 1) for n in layers]
        network, kind = pf.BeliefNetwork.layered(weights, bias, activation(name)), "layered"
    else:
        size = min(sum(layers), 12)
        dense = np.tril(numbers(rng, (count, size, size), positive, 1), -1)
        order = rng.permutation(size)
        network, kind = pf.BeliefNetwork(dense[:, order][:, :, order], numbers(rng, (count, size), positive, 1),
                                         activation(name)), "dense"  # fmt: skip
    return Case(network, states(rng, count, network.size), method, f"{kind} {name}", count)


def by_itself(rng: np.random.Generator) -> Case:
    """Sparse networks, units of different kinds, tables with zeros and ones, soft evidence."""
    method = str(rng.choice(ALONE))
    kind = str(rng.choice(["sparse", "units", "tables", "soft"]))
    if kind == "sparse":
        network = _sparse(rng)
    elif kind == "tables":
        network = _of_units(rng, ["table"])
    else:
        network = _of_units(rng, ["table", "sigmoid", "noisy_or"])
    evidence = states(rng, 1, network.size)[0]
    if kind == "soft":
        hidden = np.flatnonzero(np.isnan(evidence))[:3].tolist()
        soft = {unit: pf.Likelihood(*(10 ** rng.uniform(-6, 3, 2))) for unit in hidden}
        evidence = {int(unit): int(evidence[unit]) for unit in np.flatnonzero(~np.isnan(evidence))} | soft
    return Case(network, evidence, method, kind, 1)


def states(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Evidence: nothing, a little, much or all is observed, the same units in all rows or others in each."""
    share = rng.choice([0.0, 0.2, 0.5, 0.9, 1.0])
    seen = rng.random((count, size)) < share
    if rng.random() < 0.7:
        seen = np.broadcast_to(seen[:1], seen.shape)
    return np.where(seen, rng.integers(0, 2, (count, size)), np.nan).astype(float)


def _sparse(rng: np.random.Generator) -> pf.BeliefNetwork:
    size, name = int(rng.integers(5, 60)), str(rng.choice(["sigmoid", "noisy_or"]))
    dense = np.tril(numbers(rng, (size, size), name == "noisy_or"), -1)
    dense[rng.random((size, size)) > 3 / size] = 0.0
    return pf.BeliefNetwork(sp.csr_array(dense), numbers(rng, (size,), name == "noisy_or"), name)


def _of_units(rng: np.random.Generator, kinds: list[str]) -> pf.BeliefNetwork:
    units = []
    for unit in range(int(rng.integers(1, 9))):
        parents = rng.permutation(unit)[: rng.integers(0, 4)].tolist()
        kind = str(rng.choice(kinds))
        if kind == "table":
            p = rng.random((2,) * len(parents))
            p = np.where(rng.random(p.shape) < 0.2, np.round(p), p)
            units.append(pf.Unit(None, parents, pf.Table(p)))
        else:
            values = numbers(rng, (len(parents) + 1,), kind == "noisy_or").tolist()
            units.append(pf.Unit(None, parents, kind, values[1:], values[0]))
    return pf.BeliefNetwork.of_units(units)
