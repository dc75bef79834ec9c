"""One network of every kind that a file must hold, and how to compare and take apart what was saved."""

import io
import json
import zipfile

import jax
import numpy as np
import scipy.sparse as sp

import plefka as pf
from plefka.files import FORMATS, NATIVE, native_json, native_npz
from plefka.networks.edges import Edges

SUFFIXES = list(NATIVE)
AWKWARD = [-0.0, 5e-324, -2.2e-308, 1e300, 0.1 + 0.2, -1 / 3]
PROBIT = pf.Custom(jax.scipy.stats.norm.cdf, name="probit")


def lower(n, value=0.5):
    return np.tril(np.full((n, n), value), -1)


def edge_stack(names=None, activation="sigmoid"):
    storage = Edges.from_lists(
        np.abs([AWKWARD, AWKWARD[::-1]]), np.repeat([1, 2, 3], [1, 2, 3]), np.array([0, 0, 1, 0, 1, 2]), 4
    )
    return pf.BeliefNetwork(storage, np.arange(8.0).reshape(2, 4), activation, names)


def awkward_matrix():
    W = np.zeros((4, 4))
    W[np.tril_indices(4, -1)] = AWKWARD
    return W


NAMES = ["flu", "größe", "雨 rain", 'a "quoted" \\ name']
ZOO = {
    "dense": pf.BeliefNetwork(awkward_matrix(), [1, -0.0, 3e-310, 4]),
    "dense, upwards": pf.BeliefNetwork(awkward_matrix().T, np.arange(4), names=NAMES),
    "dense, certain": pf.BeliefNetwork(lower(3, np.inf), np.ones(3), "noisy_or"),
    "dense stack": pf.BeliefNetwork(np.stack([awkward_matrix(), lower(4)]), np.arange(8).reshape(2, 4), names=NAMES),
    "one unit": pf.BeliefNetwork(np.zeros((1, 1)), [0.5]),
    "sparse": pf.BeliefNetwork(sp.csr_array(awkward_matrix()), np.arange(4)),
    "sparse, named": pf.BeliefNetwork(sp.csr_array(awkward_matrix()), [1, -0.0, 3e-310, 4], names=NAMES),
    "sparse, certain": pf.BeliefNetwork(sp.csr_array(lower(3, np.inf)), np.ones(3), "noisy_or", ["a", "b", "c"]),
    "sparse, a cycle in the order only": pf.BeliefNetwork(
        sp.csr_array(([1.0, 2.0], ([0, 1], [2, 0])), shape=(3, 3)), np.zeros(3)
    ),
    "no edges": pf.BeliefNetwork(sp.csr_array((20, 20)), np.arange(20)),
    "sparse with a zero": pf.BeliefNetwork(sp.csr_array(lower(3)), np.ones(3)).with_parameters(
        (np.array([0.0, -0.0, 1]), np.ones(3))
    ),
    "sparse stack": edge_stack(),
    "sparse stack, named": edge_stack(NAMES, "noisy_or"),
    "no edges stack": pf.BeliefNetwork(
        Edges.from_lists(np.zeros((3, 0)), np.zeros(0, int), np.zeros(0, int), 2), np.ones(2)
    ),
    "layered": pf.BeliefNetwork.layered([[[1, -0.0], [2, 5e-324], [3, 1e300]], [[1, 2, 3]]], [[1, 2], [3, 4, 5], [6]]),
    "layered, named": pf.BeliefNetwork.layered([[[np.inf, 2]], [[1]]], [[1, 2], [3], [4]], "noisy_or", NAMES),
    "one layer": pf.BeliefNetwork.layered([], [[1, 2, 3]]),
    "an empty layer": pf.BeliefNetwork.layered([np.zeros((0, 2)), np.zeros((1, 0))], [[1, 2], [], [3]]),
    "layered stack": pf.ensembles.layered((2, 3, 4), -1.0, 1.0, 3, seed=0),
    "layered stack of one": pf.ensembles.layered((2, 3), 0.0, 1.0, 1, seed=1, activation="noisy_or"),
    "custom": pf.BeliefNetwork(lower(3), np.zeros(3), PROBIT),
    "custom without a name": pf.BeliefNetwork(
        sp.csr_array(lower(3)), np.zeros(3), pf.Custom(PROBIT.probability, name="")
    ),
}


def assert_same(first, second):
    """The same kind of network, the same words, and the same bits."""
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def roundtrip(network, suffix, activation=None):
    form = FORMATS[suffix]
    return form.loads(form.dumps(network), activation)


def custom_of(network):
    return network.activation if isinstance(network.activation, pf.Custom) else None


def npz_of(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def arrays_of(name):
    with np.load(io.BytesIO(native_npz.dumps(ZOO[name]))) as archive:
        return dict(archive)


def with_raw(name, entry, raw, compression=zipfile.ZIP_STORED):
    """The archive of a network with the bytes of one entry replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(native_npz.dumps(ZOO[name]))) as old, zipfile.ZipFile(out, "w", compression) as new:
        for info in old.namelist():
            new.writestr(info, raw if info == f"{entry}.npy" else old.read(info))
    return out.getvalue()


GOOD = {name: json.loads(native_json.dumps(network)) for name, network in ZOO.items()}
