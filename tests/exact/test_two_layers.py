"""The exact solver of diagnosis networks, against the sum over all states and the published truth."""

import numpy as np
import pytest

from tests.data import names_in
from tests.exact.test_polytrees import enumerated
from tests.test_real_networks import diagnosis
from tests.two_layers import closing_order, exact_two_layer, peak, two_layer


@pytest.mark.parametrize("seed", range(20))
def test_tables_are_the_sum_over_all_states(seed):
    network, row = two_layer(seed, causes=6, findings=5)
    log_p, means = exact_two_layer(network, row)
    truth, true_means = enumerated(network, row)
    assert log_p == pytest.approx(truth, abs=1e-12)
    assert means == pytest.approx(true_means, abs=1e-12)


def test_a_chain_of_findings_keeps_two_open():
    chain = np.eye(12, 11) + np.eye(12, 11, -1) > 0
    shuffled = chain[np.random.default_rng(0).permutation(12)]
    assert peak(shuffled, closing_order(shuffled)) == 2


def test_tables_that_would_be_too_large_are_refused():
    network, row = two_layer(0, causes=6, findings=5)
    with pytest.raises(MemoryError):
        exact_two_layer(network, row, most=2)


def test_the_real_diagnoses_come_out_as_published():
    for name in names_in("promedas")[::6]:
        network, evidence, log_z, posterior = diagnosis(name)
        row = np.full(network.size, np.nan)
        row[[network.index(unit) for unit in evidence]] = list(evidence.values())
        log_p, means = exact_two_layer(network, row)
        assert log_p == pytest.approx(log_z, abs=1e-9)
        assert means[[network.index(unit) for unit in posterior]] == pytest.approx(list(posterior.values()), abs=1e-9)
