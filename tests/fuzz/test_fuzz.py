"""The oracle, the enumeration, and what the fuzz finds when something is broken on purpose."""

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import plefka as pf
from plefka.exact.state_sum import StateSum
from plefka.reduction import recovery, reduce, summing
from tests import oracle
from tests.fuzz.drawing import KINDS, Draw, drawn, kind_of
from tests.fuzz.enumeration import Enumeration
from tests.fuzz.page import Sweep, section
from tests.fuzz.running import Fuzz, differs, replayed
from tests.oracle import BeliefNumbers, MachineNumbers, UnitNumbers, known_of

SEEDS = {kind_of(seed): seed for seed in range(200)}


@pytest.fixture(params=KINDS)
def draw(request) -> Draw:
    return drawn(SEEDS[request.param])


def smallest(draw: Draw) -> int:
    """The row with the fewest states."""
    return int(np.argmin((draw.known > 0).sum(axis=(1, 2))))


def test_noisy_or_by_hand():
    """A finding that is on while its only cause is nearly excluded by 119 others (MATH 14)."""
    w = float(-np.log1p(-0.999))
    units = (UnitNumbers((), "noisy_or", (), float(-np.log1p(-0.1))), *[UnitNumbers((0,), "noisy_or", (w,), 0.0)] * 120)
    truth = oracle.answer(BeliefNumbers(units), known_of([np.nan, 1, *[0] * 119]))
    with mp.workdps(40):
        assert abs(truth.log_p - (mpmath.log(mpf(0.1)) + mpmath.log(mpf(0.999)) - 119 * mpf(w))) < 1e-12
    assert truth.means[0] == 1
    assert math.isclose(float(truth.log_p), -824.33, abs_tol=0.01)


@pytest.mark.parametrize(("values", "z"), [((0, 1), lambda h: 1 + math.exp(h)), ((-1, 1), lambda h: 2 * math.cosh(h))])
def test_one_unit_of_a_machine_by_hand(values, z):
    machine = MachineNumbers(np.zeros((1, 1)), np.array([0.7]), 2.0, values, 0.25)
    assert math.isclose(float(oracle.answer(machine, known_of([np.nan])).log_p), math.log(z(0.35)) + 0.25)


def test_soft_evidence_by_hand():
    coin = BeliefNumbers((UnitNumbers((), "table", table=np.array(0.25)),))
    truth = oracle.answer(coin, known_of([np.nan], {0: (1e-300, 3e300)}))
    assert math.isclose(float(truth.log_p), math.log(0.75) + 300 * math.log(10))
    assert 1 - truth.means[0] < mpf("1e-599")


def test_impossible_evidence_is_seen():
    numbers = BeliefNumbers((UnitNumbers((), "noisy_or", (), 0.0),))
    assert not oracle.answer(numbers, known_of([1.0])).is_possible


def test_enumeration_equals_the_oracle(draw):
    row = smallest(draw)
    numbers, known = draw.of_row(row), draw.known[row]
    truth = oracle.answer(numbers, known)
    found = Enumeration.of(numbers).answer(known)
    assert truth.is_possible == (found.log_p > -np.inf)
    if truth.is_possible:
        assert np.allclose(found.means, np.array(truth.means, float), rtol=0, atol=1e-12)
        assert math.isclose(found.log_p, float(truth.log_p), rel_tol=1e-12, abs_tol=1e-12)


def test_a_network_has_the_numbers_it_was_made_from(draw):
    row = smallest(draw)
    known = draw.known[row]
    one, other = (Enumeration.of(z).answer(known) for z in (draw.of_row(row), oracle.numbers_of(draw.row_network(row))))
    assert not differs(one, other)


def test_a_seed_is_a_draw(draw):
    again = drawn(SEEDS[draw.kind])
    assert np.array_equal(again.known, draw.known)
    assert str(again.numbers[0]) == str(draw.numbers[0])


def test_table_of_a_free_unit_beside_that_of_an_observed_child(monkeypatch):
    """Units in any order: the child comes before its parents, one of which is the parent of the other."""
    monkeypatch.setattr(StateSum, "enumerates", False)
    net = pf.BeliefNetwork([[0, 0.5, -1.0], [0, 0, 2.0], [0, 0, 0]], [0.1, -0.4, 0.3])
    truth = oracle.answer(oracle.numbers_of(net), known_of([1, np.nan, np.nan]))
    found = pf.infer(net, {0: 1}, "exact")
    assert math.isclose(found.log_likelihood, float(truth.log_p), abs_tol=1e-12)
    assert np.allclose(found.means, np.array(truth.means, float), rtol=0, atol=1e-12)


# Old faults, put back.


def cut_slope(monkeypatch):
    """A limit on d ln P / dh on the way back, and no field that is left to the sums."""
    recovered = summing.recovered

    def cut(given, left, slope):
        return recovered(given, left, np.clip(slope, -1e100, 1e100))

    monkeypatch.setattr(summing, "FAINT", 0.0)
    monkeypatch.setattr(reduce, "recovered", cut)


def cancelling_form(monkeypatch):
    """-ln(1 - a + a exp(-w)) by one form for a < 1/2, and by another that cancels above."""

    def explained(xp, w, log_p, log_not_p):
        log_a, log_not_a = xp.where(w > 0, log_p, log_not_p), xp.where(w > 0, log_not_p, log_p)
        a, w, none = xp.exp(log_a), abs(w), (w == 0) | (log_p == -xp.inf)
        rare = a < 0.5
        small = xp.log1p(xp.where(rare, a, 0.0) * xp.expm1(-w))
        large = xp.logaddexp(xp.where(rare, 0.0, log_not_a), xp.where(rare, 0.0, log_a) - w)
        return xp.where(none, 0.0, -xp.where(none | rare, small, large))

    monkeypatch.setattr(summing, "explained", explained)


def flag_by_name(monkeypatch):
    """Everything that `findings` answers is called exact."""
    of_chunk = recovery.accuracy_of_rows

    monkeypatch.setattr(recovery, "accuracy_of_rows", lambda count, **said: of_chunk(count, is_exact=True))


def corrupted_recovery(monkeypatch):
    """The mean of a unit that was summed out, without what its child says of it."""
    monkeypatch.setattr(summing, "_answer", lambda xp, w, log_p, log_q: 0.0 * (xp.sign(w) + xp.exp(log_p)))


FAULTS = {  # the kind and the method by which it is found, and a seed with which that is soon
    cut_slope: ("diagnosis", "exact", 1),
    cancelling_form: ("diagnosis", "exact", 216),
    flag_by_name: ("noisy-or, layered", "findings", 2),
    corrupted_recovery: ("noisy-or, sparse", "exact", 2),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_fuzz_finds_a_fault(fault: Callable, monkeypatch, capsys):
    """Within a few draws, and each failure replays; without the fault the same case is good."""
    kind, method, seed = FAULTS[fault]
    fuzz = Fuzz(seed, kinds=(kind,), methods=(method,), quiet=True)
    with monkeypatch.context() as patched:
        fault(patched)
        while not fuzz.failures and fuzz.next < 500:
            fuzz.one(fuzz.draw_seed(fuzz.next))
            fuzz.next += 1
        assert fuzz.failures
        case, _ = fuzz.failures[0]
        assert not replayed(case).is_good
    assert replayed(case).is_good
    assert kind in capsys.readouterr().out


def test_counts_go_on_from_a_file(tmp_path):
    """A run in two parts has the counts of one; its table has them all."""
    kinds, out = ("tables",), tmp_path / "counts.json"
    whole = Fuzz(3, kinds=kinds, quiet=True)
    whole.run(math.inf, cases=1000)
    Fuzz(3, out, kinds, quiet=True).run(math.inf, cases=300)
    rest = Fuzz(3, out, kinds, quiet=True)
    rest.run(math.inf, cases=1000)
    assert rest.counts == whole.counts
    assert f"{whole.cases:,} cases" in section(Sweep([out]), (Sweep([out]), Sweep([out])))


def test_versions_are_compared_on_equal_draws(tmp_path):
    files = [tmp_path / "earlier.json", tmp_path / "now.json"]
    for draws, file in zip((1, 2), files, strict=True):
        Fuzz(3, file, ("tables",), quiet=True).run(math.inf, draws=draws)
    with pytest.raises(SystemExit, match=r"needs two runs of the same draws; got \[\(3, 1\)\] and \[\(3, 2\)\]"):
        section(Sweep(files[1:]), (Sweep(files[:1]), Sweep(files[1:])))


@pytest.mark.parametrize("row", [3, 4])
def test_units_with_inhibitors_that_are_part_of_other_rows_alone_do_no_harm(row):
    """G2 in a batch was no number: such a unit had a negative field, of which a small leak takes a huge exponential."""
    assert replayed(f"2083679832/G2[max_steps=200]+batches/{row}").is_good
