"""All laws, of sigmoid networks; and in other precision, and inside a trace."""

import jax
import numpy as np

import plefka as pf
from tests import zoo
from tests.laws import cases
from tests.laws.cases import OBSERVED
from tests.laws.laws import Laws, law


class TestSigmoid(Laws):
    activation = "sigmoid"

    @law(cases.any_method, slow=cases.is_of_a_family)
    def test_single_precision_is_near(self, method, solution):
        found = pf.infer(self.network, OBSERVED, method, dtype="float32")
        assert found.means.dtype == np.float32
        np.testing.assert_allclose(found.means, solution.means, atol=1e-3)
        np.testing.assert_allclose(found.log_likelihood, solution.log_likelihood, atol=1e-4)

    @law(cases.works_in_a_trace, slow=cases.is_like_another)
    def test_inside_jit_is_outside(self, method, solution):
        @jax.jit
        def inside(row):
            found = pf.infer(self.network, row, method)
            return found.means, found.log_likelihood, found.status

        with jax.enable_x64(True):
            means, log_likelihood, status = inside(cases.row_of(OBSERVED))
        assert int(status) == 1
        np.testing.assert_allclose(log_likelihood, solution.log_likelihood, atol=1e-9)
        np.testing.assert_allclose(means, solution.means, atol=1e-6)

    @law(cases.has_functional, slow=cases.is_like_another)
    def test_every_storage_has_the_same_free_energy(self, method):
        network = zoo.ZOO["sigmoid, layered"]
        row, u = zoo.some_evidence(network), np.random.default_rng(1).uniform(0.1, 0.9, network.size)
        forms = (network, zoo.as_dense(network), zoo.as_edges(network))
        energies = [pf.free_energy(form, row, u, method, prune=False) for form in forms]
        np.testing.assert_allclose(energies, energies[0], rtol=1e-12)
