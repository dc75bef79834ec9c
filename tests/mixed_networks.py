"""Small networks whose units are of different kinds, and their joint tables by brute force."""

from itertools import product

import numpy as np

import plefka as pf

CAUCHY = pf.Custom(lambda x: 0.9 / (1 + x**2) + 0.05, name="cauchy")
FUNCTIONS = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "noisy_or": lambda x: -np.expm1(-x),
    "cauchy": lambda x: 0.9 / (1 + x**2) + 0.05,
}


def random_unit(name: str | None, parents: list, rng: np.random.Generator, *, certain: bool = False) -> pf.Unit:
    """Of a random kind; `certain`: with zeros and ones in tables, and edges of probability one."""
    kind = rng.choice(["table", "sigmoid", "noisy_or", "custom"])
    if kind == "table":
        p = rng.uniform(0.02, 0.98, (2,) * len(parents))
        p = np.where(rng.random(p.shape) < 0.3, np.round(p), p) if certain else p
        return pf.Unit(name, parents, pf.Table(p))
    if kind == "noisy_or":
        weights = rng.uniform(0.1, 2, len(parents))
        weights = np.where(rng.random(weights.shape) < 0.2, np.inf, weights) if certain else weights
        return pf.Unit(name, parents, kind, weights.tolist(), rng.uniform(0.05, 1))
    chosen = CAUCHY if kind == "custom" else "sigmoid"
    return pf.Unit(name, parents, chosen, rng.normal(size=len(parents)).tolist(), rng.normal())


def random_units(seed: int, size: int, *, most: int = 3, polytree: bool = False, certain: bool = False) -> list:
    """Units in a random order, each with parents among those drawn before; on a polytree from parts that are apart."""
    rng = np.random.default_rng(seed)
    part, edges = np.arange(size), {}
    for unit in range(size):
        count, chosen = rng.integers(0, most + 1), []
        for parent in rng.permutation(unit):
            if len(chosen) < count and (not polytree or part[parent] != part[unit]):
                chosen.append(int(parent))
                part[part == part[parent]] = part[unit]
        edges[unit] = chosen
    label = rng.permutation(size)
    names = [f"unit {label[k]}" for k in range(size)]
    units = [random_unit(names[k], [names[p] for p in edges[k]], rng, certain=certain) for k in range(size)]
    return [units[k] for k in np.argsort(label)]


def chance(unit: pf.Unit, parents: list[int]) -> float:
    """P(on | parents), as it is written."""
    if isinstance(unit.kind, pf.Table):
        return float(unit.kind.probabilities[tuple(parents)])
    on = [weight for weight, state in zip(unit.weights, parents, strict=True) if state]
    return float(FUNCTIONS[str(getattr(unit.kind, "name", unit.kind))](unit.bias + sum(on)))


def joint(units: list) -> tuple[np.ndarray, np.ndarray]:
    """All states, and their probabilities."""
    place = {unit.name: k for k, unit in enumerate(units)}
    states = np.array(list(product((0, 1), repeat=len(units))))
    P = np.ones(len(states))
    for row, S in enumerate(states):
        for k, unit in enumerate(units):
            p = chance(unit, [S[place[parent]] for parent in unit.parents])
            P[row] *= p if S[k] else 1 - p
    return states, P


def posterior(units: list, evidence: dict) -> tuple[float, np.ndarray]:
    """ln P(evidence) and the means of all units."""
    states, P = joint(units)
    for name, seen in evidence.items():
        on = states[:, [unit.name for unit in units].index(name)] == 1
        off_and_on = (seen.off, seen.on) if isinstance(seen, pf.Likelihood) else (1 - seen, seen)
        P = P * np.where(on, off_and_on[1], off_and_on[0])
    return np.log(P.sum()), P @ states / P.sum()


def some_evidence(units: list, seed: int, *, soft: bool = True) -> dict:
    """One or two units observed, and soft evidence of another."""
    rng = np.random.default_rng(seed)
    names = [units[k].name for k in rng.permutation(len(units))]
    evidence: dict = {name: int(rng.integers(2)) for name in names[: rng.integers(1, 3)]}
    return {**evidence, names[-1]: pf.Likelihood(0.9, 0.4)} if soft else evidence
