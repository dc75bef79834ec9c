"""Bridges to other libraries: the same marginals on both sides, tested with the real ones where they are installed."""

import sys

import numpy as np
import pytest
from table_zoo import joint_of, noisy_or

import plefka as pf
from plefka import bridges
from plefka.errors import InvalidFile, InvalidInput, MissingExtra

WHY = "{} is not installed (plefka[networks])"
NETWORKS = {
    "noisy-or": noisy_or(
        [[0, 0, 0, 0], [1, 0, 0, 0], [0.5, np.inf, 0, 0], [0.1, 2, 0, 0]],
        [0.1, 0.2, 0, 0.3],
        list("abcd"),
        [("no", "yes")] * 4,
    ),
    "sigmoid": pf.BeliefNetwork(np.tril(np.arange(16.0).reshape(4, 4) / 9, -1), [0, -1, 1, -3], names=list("wxyz")),
}


def library(name):
    return pytest.importorskip(name, reason=WHY.format(name))


def wide(bias=0.05):
    weights = np.zeros((31, 31))
    weights[30, :30] = np.linspace(0.1, 1, 30)
    return noisy_or(weights, [0.1] * 30 + [bias], [f"x{k}" for k in range(31)], [("no", "yes")] * 31)


def means(network):
    return pf.infer(network, None, "exact").means


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_pgmpy_there_and_back(network):
    library("pgmpy")
    model = bridges.to_pgmpy(network)
    assert model.check_model()
    again = bridges.from_pgmpy(model)
    order = [again.names.index(name) for name in network.names]
    assert np.abs(np.transpose(joint_of(again), order) - joint_of(network)).max() < 1e-12
    assert [again.states[k] for k in order] == list(network.states)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_pyagrum_there_and_back(network):
    gum = library("pyagrum")
    model = bridges.to_pyagrum(network)
    engine = gum.LazyPropagation(model)
    assert np.allclose([engine.posterior(name)[1] for name in network.names], means(network), atol=1e-12)
    again = bridges.from_pyagrum(model)
    assert np.abs(joint_of(again) - joint_of(network)).max() < 1e-12


@pytest.mark.parametrize("suffix", [".bif", ".xmlbif"])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_pyagrum_reads_what_we_write(network, suffix, tmp_path):
    gum = library("pyagrum")
    path = tmp_path / f"net{'.bifxml' if suffix == '.xmlbif' else suffix}"
    pf.save(network, tmp_path / f"net{suffix}")
    (tmp_path / f"net{suffix}").rename(path)
    engine = gum.LazyPropagation(gum.loadBN(str(path)))
    assert np.allclose([engine.posterior(name)[1] for name in network.names], means(network), atol=1e-6)


def test_pyagrum_reads_our_uai_files_of_chains(tmp_path):
    """Of units with one parent at most there is one order only. pyAgrum reads UAI in single precision."""
    gum = library("pyagrum")
    network = pf.BeliefNetwork(np.diag([1.0, -2, 3], -1), [0.3, -1, 1, 0])
    pf.save(network, tmp_path / "chain.uai")
    engine = gum.LazyPropagation(gum.loadBN(str(tmp_path / "chain.uai")))
    assert np.allclose([engine.posterior(k)[1] for k in range(4)], means(network), atol=1e-6)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_pyagrum_has_the_first_parent_of_a_uai_table_fastest(network, tmp_path):
    """And not the last one, as the format says: with the parents in reverse order its tables are ours."""
    gum = library("pyagrum")
    pf.save(network, tmp_path / "net.uai")
    read = gum.loadBN(str(tmp_path / "net.uai"))
    again = gum.BayesNet(read)
    for node in read.nodes():
        table = np.array(read.cpt(node).tolist(), float)  # an axis for each parent, the last one first, and the child
        again.cpt(node).fillWith(table.transpose(*range(table.ndim - 1)[::-1], table.ndim - 1).ravel().tolist())
    engine, theirs = gum.LazyPropagation(again), gum.LazyPropagation(read)
    assert np.allclose([engine.posterior(k)[1] for k in range(4)], means(network), atol=1e-6)
    assert not np.allclose([theirs.posterior(k)[1] for k in range(4)], means(network), atol=1e-4)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_pgmpy_reads_the_factors_of_our_uai_files(network, tmp_path):
    """A product of factors, MARKOV, it reads as the format says; what it does with BAYES is below."""
    readwrite, inference = library("pgmpy.readwrite"), library("pgmpy.inference")
    pf.save(network, tmp_path / "net.uai")
    text = (tmp_path / "net.uai").read_text().replace("BAYES", "MARKOV")
    engine = inference.VariableElimination(readwrite.UAIReader(string=text).get_model())
    found = [engine.query([f"var_{k}"], show_progress=False).values[1] for k in range(4)]
    assert np.allclose(found, means(network), atol=1e-12)


def test_pgmpy_has_the_child_of_a_uai_table_slowest(tmp_path):
    """It finds itself that the columns do not add up to one; and we find the same in its files."""
    readwrite = library("pgmpy.readwrite")
    network = NETWORKS["sigmoid"]
    pf.save(network, tmp_path / "net.uai")
    with pytest.raises(ValueError, match="not equal to 1"):
        readwrite.UAIReader(str(tmp_path / "net.uai")).get_model().check_model()
    (tmp_path / "theirs.uai").write_text(str(readwrite.UAIWriter(bridges.to_pgmpy(network))))
    with pytest.raises(InvalidFile, match="add up to one"):
        pf.load(tmp_path / "theirs.uai")


@pytest.mark.parametrize("reader", ["BIFReader", "XMLBIFReader"])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_pgmpy_reads_what_we_write(network, reader, tmp_path):
    readwrite = library("pgmpy.readwrite")
    path = tmp_path / ("net.bif" if reader == "BIFReader" else "net.xmlbif")
    pf.save(network, path)
    again = bridges.from_pgmpy(getattr(readwrite, reader)(str(path)).get_model())
    order = [again.names.index(name) for name in network.names]
    assert np.abs(np.transpose(joint_of(again), order) - joint_of(network)).max() < 1e-12


def test_a_compact_node_of_pyagrum_stays_compact():
    gum = library("pyagrum")
    network = wide()
    model = bridges.to_pyagrum(network)
    assert model.cpt("x30").memoryFootprint() < 1000
    again = bridges.from_pyagrum(model)
    assert (again.num_edges, again.activation.name) == (30, "noisy_or")
    assert np.allclose(again.bias, network.bias)
    assert np.allclose(again.weights.toarray()[30], network.weights[30])
    logit = gum.BayesNet()
    for k in range(20):
        logit.add(gum.LabelizedVariable(f"x{k}", "", ["no", "yes"]))
        logit.cpt(f"x{k}").fillWith([0.7, 0.3])
    logit.addLogit(gum.LabelizedVariable("y", "", ["no", "yes"]), -1.0)
    for k in range(20):
        logit.addWeightedArc(f"x{k}", "y", 0.1 * (k + 1))
    again = bridges.from_pyagrum(logit)
    assert (again.num_edges, again.activation.name) == (20, "sigmoid")
    assert np.allclose(np.sort(again.weights.data), 0.1 * np.arange(1, 21))


def test_networkx():
    library("networkx")
    graph = bridges.to_networkx(NETWORKS["noisy-or"])
    assert list(graph) == list("abcd")
    assert graph.nodes["a"] == {"bias": 0.1, "states": ("no", "yes")}
    assert graph.edges["b", "c"] == {"weight": np.inf}
    assert graph.number_of_edges() == 5
    with pytest.raises(InvalidInput, match="got a stack of 3"):
        bridges.to_networkx(pf.ensembles.layered((2, 3), 0.0, 1.0, 3, seed=0))


def test_wide_units_that_no_table_holds():
    library("pgmpy")
    with pytest.raises(InvalidFile, match="at most 16 parents"):
        bridges.to_pgmpy(wide())


@pytest.mark.parametrize(
    ("bridge", "package"), [("to_pgmpy", "pgmpy"), ("to_pyagrum", "pyagrum"), ("to_networkx", "networkx")]
)
def test_a_missing_library_names_the_extra(bridge, package, monkeypatch):
    for module in (package, "pgmpy.models", "pgmpy.factors.discrete"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"needs {package}, .*plefka\[networks\]"):
        getattr(bridges, bridge)(NETWORKS["sigmoid"])
