"""MARKOV files: directed ones are belief networks, pairs without zeros are machines, all others Markov networks."""

import numpy as np
import pytest
from tests.networks.test_markov import drawn, weights

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput, PlefkaWarning


def text(size, factors, kind="MARKOV"):
    lines = [kind, str(size), " ".join("2" * size), str(len(factors))]
    lines += [" ".join(map(str, (len(units), *units))) for units, _ in factors]
    lines += [f"{np.size(table)} {' '.join(map(repr, np.ravel(table).tolist()))}" for _, table in factors]
    return "\n".join(lines)


def written(folder, *content):
    path = folder / "net.uai"
    path.write_text(text(*content))
    return path


def test_factors_of_any_kind_are_read_as_they_are(tmp_path):
    kinds = set()
    for seed in range(60):
        size, factors, _ = drawn(seed)
        _, weight = weights(size, factors)
        network = pf.load(written(tmp_path, size, [(units, np.asarray(table, float)) for units, table in factors]))
        kinds.add(type(network).__name__)
        if weight.any():
            assert pf.infer(network).log_partition == pytest.approx(np.log(weight.sum()), abs=1e-9)
    assert kinds >= {"MarkovNetwork", "BoltzmannMachine"}


def test_pairs_without_zeros_are_a_machine(tmp_path):
    factors = [
        ((0,), [1.5, 0.25]),
        ((0, 1), [[1, 2.5], [3, 0.5]]),
        ((2, 1), [[0.1, 7], [2, 1]]),
        ((0, 1), [[1, 2], [3, 4]]),
    ]
    states, weight = weights(3, factors)
    machine = pf.load(written(tmp_path, 3, factors))
    assert isinstance(machine, pf.BoltzmannMachine)
    np.testing.assert_allclose(machine.log_joint(states), np.log(weight), atol=1e-12)
    assert pf.most_probable(machine).log_joint[0] == pytest.approx(np.log(weight.max()))


CHAIN = [
    ((0,), [0.9, 0.1]),
    ((0, 1), [[0.95, 0.05], [0.38, 0.62]]),  # a leak and a link
    ((2,), [0.8, 0.2]),
    ((1, 2, 3), [[[1, 0], [0.3, 0.7]], [[0, 1], [0, 1]]]),  # an OR
]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)], ids=str)
def test_directed_factors_are_a_noisy_or_network_wherever_the_child_is(order, tmp_path):
    (last, table), axes = CHAIN[-1], list(order)
    factors = [*CHAIN[:-1], (tuple(last[axis] for axis in axes), np.transpose(table, axes))]
    network = pf.load(written(tmp_path, 4, factors[::-1]))
    assert network.activation.name == "noisy_or"
    _, weight = weights(4, factors, {3: 1})
    assert pf.infer(network, {3: 1}).log_likelihood == pytest.approx(np.log(weight.sum()))
    assert {form.kind for form in pf.recognised(pf.load_tables(tmp_path / "net.uai"))} == {"noisy-or"}


@pytest.mark.parametrize(
    "factors",
    [
        [((0, 1), [[0.5, 0.5], [0.2, 0.8]]), ((1, 0), [[0.9, 0.1], [0, 1]])],  # in a circle
        [((0,), [0.5, 0.5]), ((0,), [0.9, 0.1]), ((1,), [1, 0])],  # two for one variable
        [((0,), [1, 0]), ((0, 1), [[0.5, 0.4], [0.2, 0.8]])],  # rows that do not add up to one
    ],
)
def test_what_is_not_directed_stays_a_product(factors, tmp_path):
    path = written(tmp_path, 2, factors)
    assert isinstance(pf.load(path), pf.MarkovNetwork)
    _, weight = weights(2, factors)
    assert pf.infer(pf.load(path)).log_partition == pytest.approx(np.log(weight.sum()))
    with pytest.raises(InvalidFile, match=r"a factor P\(child \| parents\) alone"):
        pf.load_tables(path)


def test_a_markov_network_is_saved_as_uai_alone(tmp_path):
    network = pf.MarkovNetwork(3, [((2, 0), [[0, 1 / 3], [1e-300, 2]]), ((1,), [0, 1])])
    pf.save(network, tmp_path / "again.uai")
    again = pf.load(tmp_path / "again.uai")
    assert isinstance(again, pf.MarkovNetwork)
    for (units, table), (others, same) in zip(network.factors, again.factors, strict=True):
        assert units == others
        np.testing.assert_array_equal(table, same)
    pf.convert(tmp_path / "again.uai", tmp_path / "converted.uai.gz")
    assert pf.infer(pf.load(tmp_path / "converted.uai.gz")).log_partition == pf.infer(network).log_partition
    for suffix in (".json", ".npz", ".bif"):
        with pytest.raises(InvalidInput, match="a MarkovNetwork can be saved as"):
            pf.save(network, tmp_path / f"again{suffix}")


PAIR = "MARKOV\n2\n2 2\n1\n2 0 1\n4 1 0 0 1\n"
BAD = {
    "too many variables": (text(17, [(tuple(range(17)), np.ones(1))]), "at most 16 variables; got 17"),
    "a variable twice": (PAIR.replace("2 0 1", "2 1 1"), "must differ; got 1, 1"),
    "a variable beyond": (PAIR.replace("2 0 1", "2 0 2"), "the index of a variable"),
    "another size": (PAIR.replace("4 1", "2 1"), "must have 4 numbers; got 2"),
    "cut off": (PAIR[:-6], "cut off"),
    "negative": (PAIR.replace("0 0 1", "0 -1 1"), "at least 0"),
    "only zeros": (PAIR.replace("1 0 0 1", "0 0 0 0"), "not all 0"),
    "too long": (PAIR + "1", "the end of the file"),
    "three states": (PAIR.replace("\n2 2\n", "\n2 3\n"), "two states"),
    "no variable": ("MARKOV\n0\n0\n", "at least one variable"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_bad_products_say_what_is_wrong(content, message, tmp_path):
    (tmp_path / "net.uai").write_text(content)
    with pytest.raises(InvalidFile, match=message):
        pf.load(tmp_path / "net.uai")


FORMATS = {
    ".uai": "BAYES\n1\n2\n1\n1 0\n2 {off} {on}\n",
    ".erg": "1\n2\n0\n2 {off} {on}\n",
    ".bif": "network a {{ }} variable a {{ type discrete [ 2 ] {{ no, yes }}; }} "
    "probability ( a ) {{ table {off}, {on}; }}",
    ".xmlbif": "<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>"
    "<DEFINITION><FOR>a</FOR><TABLE>{off} {on}</TABLE></DEFINITION></NETWORK></BIF>",
}


@pytest.mark.parametrize("suffix", FORMATS)
def test_rows_that_nearly_add_up_to_one_are_normalised_in_every_format(suffix, tmp_path):
    path = tmp_path / f"net{suffix}"
    path.write_text(FORMATS[suffix].format(off=0.333330, on=0.666664))
    with pytest.warns(PlefkaWarning, match="did not add up to one, by up to 6e-06, and were divided by their sum"):
        network = pf.load(path)
    assert pf.infer(network).means[0] == pytest.approx(0.666664 / 0.999994, abs=1e-12)
    path.write_text(FORMATS[suffix].format(off=0.333330, on=0.666650))
    with pytest.raises(InvalidFile, match="must add up to one"):
        pf.load(path)
