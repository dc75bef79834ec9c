"""The study of how far to rely on a check: what it counts, and the table of the documentation."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks import calibration, calibration_machines
from benchmarks.calibration import Judged
from benchmarks.calibration_cases import Case

import plefka as pf

RIGHT = Judged("kind", "one", "G1", 0.009, 0.009, 0.0, 0.0, True, 0.1)


@pytest.mark.parametrize(
    ("log_p", "mean", "is_right", "is_wrong"),
    [(0.009, 0.009, True, False), (0.05, 0.009, False, False), (0.11, 0.0, False, True), (0.0, 0.06, False, True)],
)
def test_an_answer_is_right_or_wrong_by_ln_p_and_by_its_worst_mean(log_p, mean, is_right, is_wrong):
    answer = replace(RIGHT, log_p=log_p, mean=mean)
    assert (answer.is_right, answer.is_wrong) == (is_right, is_wrong)
    assert replace(RIGHT, log_p=float("inf")).is_wrong


def test_counts_are_of_trusted_and_of_rejected_answers():
    wrong = replace(RIGHT, log_p=0.3, group="two")
    rejected = replace(RIGHT, trusted=False)
    found = [RIGHT, wrong, rejected, replace(wrong, trusted=False)]
    assert calibration.tally(found) == ((1, 2), (1, 2), (1, 2))
    half = "1 of 2: 50.0 % (9.5 to 90.5)"
    assert f"| all kind | {half} | {half} | {half} |" in calibration.markdown(found)


@pytest.mark.parametrize(("some", "of"), [(0, 10), (3, 10), (10, 10), (0, 722)])
def test_the_interval_of_a_share_is_where_the_normal_test_does_not_reject_it(some, of):
    """Wilson's: p lies as far from each end as 1.96 of that end's own standard errors."""
    for end in calibration.Share(some, of).interval:
        q = end / 100
        if 0 < q < 1:
            assert abs(some / of - q) == pytest.approx(1.96 * np.sqrt(q * (1 - q) / of))


def test_planar_machines_have_the_partition_function_of_elimination():
    machine = pf.ensembles.ising_grid(4, 5, 0.8, temperature=1.3, seed=0)
    exact = pf.infer(machine, None, "exact")
    assert calibration_machines.kac_ward(machine, 5) == pytest.approx(exact.log_partition, abs=1e-10)


def test_errors_are_those_of_the_answer_and_of_the_draws():
    stack = pf.ensembles.layered((2, 3, 4), -5, 5, 6, 0, "sigmoid")
    rows = np.tile([np.nan] * 5 + [1.0] * 4, (6, 1))
    exact, found = pf.infer(stack, rows, "exact"), pf.infer(stack, rows, "G1")
    answers = calibration.judged(Case("small", stack, rows, exact.log_likelihood, exact.means, ("G1",)), "G1")
    off = np.abs(found.log_likelihood - exact.log_likelihood)
    np.testing.assert_allclose([answer.log_p for answer in answers], off)
    assert all(answer.drawn_log_p < 0.1 for answer in answers)
    assert not any(answer.trusted and answer.is_wrong for answer in answers)


def test_the_page_has_the_table():
    text = calibration.PAGE.read_text()
    table = text[text.index(calibration.MARKS[0]) : text.index(calibration.MARKS[1])]
    assert calibration.COLUMNS[1] in table
    assert "| all belief networks |" in table
    assert "| all machines |" in table
