"""How each library takes a network, and answers: P of a state of every hidden unit, and ln P(evidence) where it can.

A file is read by the library's own reader; pomegranate has none and gets the tables. Of a noisy-or unit pyAgrum has a
compact node, and pgmpy and pomegranate need the table of all its parents.
"""

import gzip
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from benchmarks.peers.cases import OFF, ON, Diagnosis

STATES = [OFF, ON]


class Model(Protocol):
    """A network as a library has it."""

    def __init__(self, network: Diagnosis | str): ...

    def answer(self, evidence: dict[str, str], wanted: dict[str, str]) -> tuple[float | None, dict[str, float]]:
        """ln P(evidence), None where the library does not say, and how probable the wanted states of units are."""
        ...


class Plefka:
    """The default of `infer`."""

    def __init__(self, network: Diagnosis | str):
        import plefka as pf

        self.network = pf.load(network) if isinstance(network, str) else self._of(network)

    def _of(self, network: Diagnosis) -> Any:
        import scipy.sparse as sp

        import plefka as pf

        first, count = len(network.priors), len(network.priors) + len(network.leaks)
        children = np.repeat(np.arange(first, count), [len(parents) for parents in network.parents])
        with np.errstate(divide="ignore"):
            weights = -np.log1p(-np.concatenate(network.strengths))
        ends = (children, np.concatenate(network.parents).astype(int))
        W, h = sp.csr_array((weights, ends), shape=(count, count)), -np.log1p(-np.r_[network.priors, network.leaks])
        names = [*network.causes, *network.findings]
        return pf.BeliefNetwork(W, h, "noisy_or", names, states=[STATES] * count)

    def answer(self, evidence: dict[str, str], wanted: dict[str, str]) -> tuple[float | None, dict[str, float]]:
        import plefka as pf

        solution = pf.infer(self.network, evidence)
        words = dict(zip(self.network.names, self.network.states, strict=True))
        means = {unit: float(mean) for unit, mean in solution.marginals().items()}
        found = {unit: means[unit] if words[unit][1] == state else 1 - means[unit] for unit, state in wanted.items()}
        return solution.log_likelihood, found


class PyAgrum:
    """Lazy propagation."""

    def __init__(self, network: Diagnosis | str):
        gum = import_module("pyagrum")
        self.model = gum.loadBN(_unpacked(network)) if isinstance(network, str) else self._of(gum, network)
        self.engine = gum.LazyPropagation(self.model)

    def _of(self, gum: Any, network: Diagnosis) -> Any:
        model = gum.BayesNet()
        for name, prior in zip(network.causes, network.priors, strict=True):
            model.add(gum.LabelizedVariable(name, "", STATES))
            model.cpt(name).fillWith([1 - prior, prior])
        for name, leak, parents, strengths in _units(network):
            model.addNoisyORNet(gum.LabelizedVariable(name, "", STATES), leak)
            for parent, strength in zip(parents, strengths, strict=True):
                model.addWeightedArc(parent, name, strength)
        return model

    def answer(self, evidence: dict[str, str], wanted: dict[str, str]) -> tuple[float | None, dict[str, float]]:
        self.engine.setEvidence(evidence)
        self.engine.makeInference()
        found = {}
        for unit, state in wanted.items():
            posterior = self.engine.posterior(unit)
            found[unit] = posterior[self.model.variable(unit).index(state)]
        return float(np.log(self.engine.evidenceProbability())), found


class Pgmpy:
    """Variable elimination, one query for each unit: with all units in one it would multiply all factors."""

    def __init__(self, network: Diagnosis | str):
        inference = import_module("pgmpy.inference")
        if isinstance(network, str):
            self.model = import_module("pgmpy.readwrite").BIFReader(_unpacked(network)).get_model()
        else:
            self.model = self._of(network)
        self.engine = inference.VariableElimination(self.model)

    def _of(self, network: Diagnosis) -> Any:
        model = import_module("pgmpy.models").DiscreteBayesianNetwork()
        cpd = import_module("pgmpy.factors.discrete").TabularCPD
        model.add_nodes_from([*network.causes, *network.findings])
        for name, prior in zip(network.causes, network.priors, strict=True):
            model.add_cpds(cpd(name, 2, [[1 - prior], [prior]], state_names={name: STATES}))
        for name, leak, parents, strengths in _units(network):
            model.add_edges_from((parent, name) for parent in parents)
            off = _table(leak, strengths)
            words = dict.fromkeys((name, *parents), STATES)
            model.add_cpds(cpd(name, 2, np.stack([off, 1 - off]), parents, [2] * len(parents), state_names=words))
        return model

    def answer(self, evidence: dict[str, str], wanted: dict[str, str]) -> tuple[float | None, dict[str, float]]:
        found = {}
        for unit, state in wanted.items():
            factor = self.engine.query([unit], evidence, show_progress=False)
            found[unit] = float(factor.get_value(**{unit: state}))
        return None, found


class Pomegranate:
    """Loopy belief propagation, which is what it offers: exact on trees alone."""

    def __init__(self, network: Diagnosis | str):
        torch, distributions = import_module("torch"), import_module("pomegranate.distributions")
        self.torch = torch
        self.names, self.words, parents, tables = _of_file(network) if isinstance(network, str) else _listed(network)
        units = [
            (distributions.ConditionalCategorical if above else distributions.Categorical)(
                [np.stack([1 - table, table], axis=-1).tolist()]
            )
            for above, table in zip(parents, tables, strict=True)
        ]
        edges = [(units[parent], units[k]) for k, above in enumerate(parents) for parent in above]
        self.model = import_module("pomegranate.bayesian_network").BayesianNetwork(units, edges)

    def answer(self, evidence: dict[str, str], wanted: dict[str, str]) -> tuple[float | None, dict[str, float]]:
        torch, place = self.torch, {name: k for k, name in enumerate(self.names)}
        states, seen = torch.zeros((1, len(place)), dtype=torch.int64), torch.zeros((1, len(place)), dtype=torch.bool)
        for unit, word in evidence.items():
            states[0, place[unit]], seen[0, place[unit]] = self.words[place[unit]].index(word), True
        answer = self.model.predict_proba(torch.masked.MaskedTensor(states, mask=seen))
        found = {
            unit: float(answer[place[unit]][0, self.words[place[unit]].index(word)]) for unit, word in wanted.items()
        }
        return None, found


class Library(NamedTuple):
    """A library by the names of its package and of what it imports."""

    model: type[Model]
    package: str
    imports: tuple[str, ...]


LIBRARIES = {
    "plefka": Library(Plefka, "plefka", ("plefka.inference.infer", "plefka.files", "plefka.exact.exact_answer")),
    "pyAgrum": Library(PyAgrum, "pyagrum", ("pyagrum",)),
    "pgmpy": Library(Pgmpy, "pgmpy", ("pgmpy.models", "pgmpy.factors.discrete", "pgmpy.inference", "pgmpy.readwrite")),
    "pomegranate": Library(Pomegranate, "pomegranate", ("torch", "pomegranate.bayesian_network", "torch.masked")),
}


def versions() -> dict[str, str]:
    """Of every library that is installed."""
    import plefka

    found = {"plefka": plefka.__version__}
    for library in LIBRARIES.values():
        if library.package not in found:
            try:
                found[library.package] = version(library.package)
            except PackageNotFoundError:
                found[library.package] = "not installed"
    return found


def _units(network: Diagnosis) -> Iterator[tuple[str, float, list[str], list[float]]]:
    for name, leak, parents, strengths in zip(
        network.findings, network.leaks, network.parents, network.strengths, strict=True
    ):
        yield name, leak, [network.causes[parent] for parent in parents], strengths


def _table(leak: float, strengths: list[float]) -> np.ndarray:
    """P(off) at all states of the parents, the last of which varies fastest."""
    off = np.array([1 - leak])
    for strength in strengths:
        off = np.stack([off, off * (1 - strength)], axis=-1).ravel()
    return off


def _listed(network: Diagnosis) -> tuple[list[str], list[list[str]], list[list[int]], list[np.ndarray]]:
    """Names, words for states, parents and tables of P(on) of all units."""
    names = [*network.causes, *network.findings]
    tables = [np.array(prior) for prior in network.priors]
    for _, leak, parents, strengths in _units(network):
        tables.append(1 - _table(leak, strengths).reshape((2,) * len(parents)))
    return names, [STATES] * len(names), [[]] * len(network.priors) + network.parents, tables


def _of_file(path: str) -> tuple[list[str], list[list[str]], list[list[int]], list[np.ndarray]]:
    from plefka.files import load_tables

    units = load_tables(path).units
    return (
        [unit.name for unit in units],
        [list(unit.states) for unit in units],
        [list(unit.parents) for unit in units],
        [np.asarray(unit.table) for unit in units],
    )


def _unpacked(path: str) -> str:
    """Others read no packed files; the copy is made in the folder of temporary files before the clock starts."""
    if not path.endswith(".gz"):
        return path
    target = unpacked_path(path)
    if not target.exists():
        target.write_bytes(gzip.decompress(Path(path).read_bytes()))
    return str(target)


def unpacked_path(path: str) -> Path:
    """Where the copy of a packed file is."""
    import tempfile

    return Path(tempfile.gettempdir()) / f"peers-{Path(path).stem}"
