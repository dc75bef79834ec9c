"""Fits with a prior: counts of cases, expectation steps, intervals, and updates that equal one fit on all rows."""

import itertools
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import plefka as pf
from plefka.learning.records import Records
from tests.cli.conftest import Run, run  # noqa: F401

NUMBERS = (0.3, 0.2, 0.05, 0.7, 0.4, 0.1, 0.6)  # flu, cold, leak, flu -> fever, cold -> fever, leak, fever -> test


def clinic(numbers: Any = NUMBERS, dense: bool = False) -> pf.BeliefNetwork:
    with np.errstate(divide="ignore"):
        flu, cold, leak, by_flu, by_cold, test_leak, by_fever = -np.log1p(-np.asarray(numbers, float))
    weights = np.zeros((4, 4))
    weights[2, 0], weights[2, 1], weights[3, 2] = by_flu, by_cold, by_fever
    names = ["flu", "cold", "fever", "test"]
    network = pf.BeliefNetwork(weights, [flu, cold, leak, test_leak], "noisy_or", names)
    return network if dense else pf.BeliefNetwork.of_units(network.units)


def numbers_of(network: pf.BeliefNetwork) -> np.ndarray:
    h, W = np.asarray(network.bias), network.storage.to_sparse().toarray()
    return -np.expm1(-np.array([h[0], h[1], h[2], W[2, 0], W[2, 1], h[3], W[3, 2]]))


def log_posterior(numbers: np.ndarray, rows: np.ndarray, worth: float) -> float:
    """ln P(rows) by a sum over all states, written out, and the prior's part."""
    flu, cold, leak, by_flu, by_cold, test_leak, by_fever = numbers
    total = 0.0
    for row in rows:
        p_row = 0.0
        for a, b, c, d in itertools.product((0, 1), repeat=4):
            if any(seen == seen and seen != state for seen, state in zip(row, (a, b, c, d), strict=True)):
                continue
            fever = 1 - (1 - leak) * (1 - by_flu) ** a * (1 - by_cold) ** b
            test = 1 - (1 - test_leak) * (1 - by_fever) ** c
            parts = ((flu, a), (cold, b), (fever, c), (test, d))
            p_row += np.prod([p if state else 1 - p for p, state in parts])
        total += np.log(p_row)
    prior = np.array(NUMBERS)
    return total + worth * float(prior @ np.log(numbers / prior) + (1 - prior) @ np.log((1 - numbers) / (1 - prior)))


def drawn(count: int, hidden: float = 0.0, seed: int = 0) -> np.ndarray:
    rows = clinic().sample(seed=seed, count=count).astype(float)
    rows[np.random.default_rng(seed).random(rows.shape) < hidden] = np.nan
    return rows[~np.isnan(rows).all(axis=1)]


def test_numbers_that_rows_show_alone_are_means_of_their_beta_distributions():
    rows = drawn(200)
    fitted = pf.fit(clinic(), rows, prior=20)
    for unit in (0, 1):
        mean = (NUMBERS[unit] * 20 + rows[:, unit].sum()) / (20 + len(rows))
        np.testing.assert_allclose(numbers_of(fitted.network)[unit], mean, rtol=1e-12)
    frame = fitted.intervals(0.9)
    a, b = NUMBERS[0] * 20 + rows[:, 0].sum(), (1 - NUMBERS[0]) * 20 + (1 - rows[:, 0]).sum()
    np.testing.assert_allclose(frame.loc[0, ["low", "high"]].tolist(), stats.beta(a, b).ppf([0.05, 0.95]), rtol=1e-9)
    assert frame.kind.tolist() == ["Beta counts"] * 2 + ["Laplace"] * 5
    assert frame.loc[0, "count"] == 220
    assert frame.number.tolist() == ["prior", "prior", "leak", "link", "link", "leak", "link"]
    with pytest.raises(pf.errors.InvalidInput, match="level must be a probability"):
        fitted.intervals(95)
    assert frame.loc[3, ["unit", "parent"]].tolist() == ["fever", "flu"]


def test_entries_of_tables_are_counted():
    network = pf.BeliefNetwork.from_tables([[], [], [0, 1]], [0.3, 0.5, [[0.1, 0.4], [0.0, 1.0]]], ["a", "b", "c"])
    rows = np.array([[0, 1, 1], [0, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0], [1, 0, np.nan]])
    fitted = pf.fit(network, rows, prior={"c": 10, None: 2}, weights=[1, 1, 1, 3, 1, 1])
    kinds: list[Any] = [unit.kind for unit in fitted.network.units]
    np.testing.assert_allclose(kinds[2].probabilities, [[0.1 * 10 / 11, (0.4 * 10 + 2) / 13], [0.0, 1.0]], rtol=1e-12)
    assert kinds[0].probabilities == pytest.approx((0.3 * 2 + 4) / 10)
    assert fitted.intervals().kind.tolist() == ["Beta counts"] * 4 + ["fixed"] * 2
    assert fitted.history["log_likelihood"][-1] == pytest.approx(
        np.average(pf.infer(fitted.network, rows, "exact").log_likelihood, weights=[1, 1, 1, 3, 1, 1])
    )


@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_the_objective_rises_to_its_maximum(hidden):
    rows = drawn(60, hidden)
    fitted = pf.fit(clinic(), rows, prior=4, epochs=300)
    assert fitted.stopped is pf.Stopped.SETTLED
    assert not fitted.warnings
    assert np.all(np.diff(fitted.history["objective"]) > -1e-12)
    found = numbers_of(fitted.network)
    best = log_posterior(found, rows, 4)
    np.testing.assert_allclose(fitted.history["objective"][-1] * len(rows), best, rtol=1e-10)
    for k, factor in itertools.product(range(7), (0.999, 1.001)):  # no number alone can be better
        moved = found.copy()
        moved[k] *= factor
        assert log_posterior(moved, rows, 4) < best
    assert np.all(pf.infer(fitted.network, rows, "exact").log_likelihood <= 0)


@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_laplace_is_the_inverse_of_the_second_derivatives(hidden):
    rows = drawn(40, hidden)
    fitted = pf.fit(clinic(), rows, prior=6, epochs=1000)
    at = stats.logistic.ppf(numbers_of(fitted.network))
    step = 1e-3 * np.eye(7)

    def value(log_odds: np.ndarray) -> float:
        return log_posterior(stats.logistic.cdf(log_odds), rows, 6)

    H = [[value(at + a + b) - value(at + a - b) - value(at - a + b) + value(at - a - b) for a in step] for b in step]
    errors = np.sqrt(np.diag(np.linalg.inv(-np.array(H) / (4 * 1e-6))))
    frame = fitted.intervals()
    widths = (stats.logistic.ppf(frame.high) - stats.logistic.ppf(frame.low)) / (2 * stats.norm.ppf(0.975))
    laplace = (frame.kind == "Laplace").to_numpy()
    np.testing.assert_allclose(widths[laplace], errors[laplace], rtol=1e-3)
    assert laplace.sum() >= 5


@pytest.mark.parametrize("hidden", [0.0, 0.25])
def test_updates_are_one_fit_on_all_rows_in_any_order(hidden):
    rows = drawn(30, hidden)
    whole = pf.fit(clinic(), rows, prior=5)
    one_by_one = pf.fit(clinic(), rows[:1], prior=5)
    for row in rows[1:]:
        one_by_one = one_by_one.update(row[None])
    backwards = pf.fit(clinic(), rows[20:], prior=5).update(rows[:20][::-1])
    for other in (one_by_one, backwards):
        np.testing.assert_array_equal(numbers_of(other.network), numbers_of(whole.network))
        pd.testing.assert_frame_equal(other.intervals(), whole.intervals())


def test_weights_are_rows_that_come_again():
    rows, weights = drawn(10, 0.2), np.arange(10) % 3 + 0.5
    once = pf.fit(clinic(), rows, prior=5, weights=weights[: len(rows)])
    halves = pf.fit(clinic(), rows, prior=5, weights=weights[: len(rows)] / 2)
    halves = halves.update(rows, weights[: len(rows)] / 2)
    np.testing.assert_allclose(numbers_of(halves.network), numbers_of(once.network), rtol=1e-9)


@pytest.mark.parametrize(
    "network", [clinic(), clinic(dense=True), pf.example("espresso")], ids=["edges", "matrix", "15"]
)
def test_records_are_kept_in_the_file_of_the_network(network, tmp_path):
    rows = network.sample(seed=0, count=40).astype(float)
    rows[:20, 1] = np.nan
    fitted = pf.fit(network, rows, prior={None: 5, network.names[0]: np.inf})
    fitted.save(tmp_path / "model.json")
    loaded = pf.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.bias, fitted.network.bias)
    more = network.sample(seed=1, count=40)
    again = pf.fit(loaded, more, prior=tmp_path / "model.json")
    np.testing.assert_array_equal(again.network.bias, fitted.update(more).network.bias)
    assert type(again.network.storage) is type(network.storage)
    assert numbers_of(again.network)[0] == numbers_of(network)[0] if network.size == 4 else True


def test_files_without_records_or_with_others_are_refused(tmp_path):
    pf.save(clinic(), tmp_path / "plain.json")
    with pytest.raises(pf.errors.InvalidFile, match=r"must have the records that Fitted\.save writes"):
        pf.fit(clinic(), [[0, 0, 0, 0]], prior=tmp_path / "plain.json")
    pf.fit(clinic(), [[0, 0, 0, 0]], prior=1).save(tmp_path / "model.json")
    with pytest.raises(pf.errors.InvalidInput, match="must have the units of"):
        pf.fit(pf.example("espresso"), pf.example("espresso").sample(0, 3), prior=str(tmp_path / "model.json"))
    content = json.loads((tmp_path / "model.json").read_text())
    for key in content["records"]:
        for wrong in (None, [1], "x"):
            changed = content | {"records": content["records"] | {key: wrong}}
            (tmp_path / "wrong.json").write_text(json.dumps(changed))
            with pytest.raises(pf.errors.InvalidInput):
                pf.fit(clinic(), [[0, 0, 0, 0]], prior=tmp_path / "wrong.json")
    with pytest.raises(pf.errors.InvalidFile, match=r"must end with \.json"):
        pf.fit(clinic(), [[0, 0, 0, 0]], prior=1).save(tmp_path / "model.npz")
    with pytest.raises(pf.errors.InvalidInput, match="update needs the records"):
        pf.Fitted(clinic(), {}, pf.Stopped.EPOCHS, pf.parse_method("G12"), None).update([[0, 0, 0, 0]])


def test_zeros_and_ones_stay_and_rows_against_them_are_named():
    network = clinic((0.3, 0.2, 0.0, 1.0, 0.4, 0.1, 0.6))
    rows = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 1, 1, np.nan], [np.nan, 0, 1, 1]])
    fitted = pf.fit(network, rows, prior=3)
    found = numbers_of(fitted.network)
    assert (found[2], found[3]) == (0.0, 1.0)
    frame = fitted.intervals()
    assert frame.loc[2, ["probability", "low", "high"]].tolist() == [0, 0, 0]
    assert frame.loc[4, "kind"] == "Beta counts"  # the only cause that can be seen alone
    np.testing.assert_allclose(found[4], (0.4 * 3 + 0) / (3 + 1), rtol=1e-12)
    for bad in ([0, 0, 1, 0], [1, 0, 0, 0], [np.nan, 0, 0, np.nan], [0, 0, np.nan, 1]):
        if pf.infer(network, np.array([bad]), "exact", throw=False).log_likelihood[0] == -np.inf:
            with pytest.raises(pf.errors.InvalidInput, match="row 5 of rows has probability zero"):
                pf.fit(network, [*rows.tolist(), bad], prior=3)
    with pytest.raises(pf.errors.InvalidInput, match="row 2 of rows has probability zero"):
        pf.fit(network, [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]], prior=3, weights=[1, 0, 1])


def test_links_of_negative_weight_act_where_the_parent_is_off():
    network = pf.BeliefNetwork([[0, 0], [-1.2, 0]], [0.5, 1.3], "noisy_or", ["flu", "well"])
    rows = np.array([[1, 0], [1, 1], [1, 0], [0, 1], [0, 1], [0, 0], [0, 1]])
    fitted = pf.fit(network, rows, prior=1e-9, epochs=1000)
    by_rows = [fitted.network.log_joint(np.array([flu, 1.0])) for flu in (1, 0)] - np.log([3 / 7, 4 / 7])
    np.testing.assert_allclose(np.exp(by_rows), [1 / 3, 3 / 4], rtol=1e-6)


def test_units_of_which_nothing_is_known_keep_their_numbers():
    rows = [[1, np.nan, np.nan, np.nan], [0, np.nan, np.nan, np.nan]]
    fitted = pf.fit(clinic(), rows, prior=0)
    np.testing.assert_allclose(numbers_of(fitted.network), [0.5, *NUMBERS[1:]], rtol=1e-12)
    frame = fitted.intervals()
    np.testing.assert_allclose(frame.loc[0, ["low", "high"]].tolist(), stats.beta(1.5, 1.5).ppf([0.025, 0.975]))
    one = pf.fit(clinic(), [[1, 0, 1, 1]], prior=0)
    assert numbers_of(one.network)[0] == pytest.approx(1.0)
    assert np.isfinite(one.intervals()[["low", "high"]].to_numpy()).all()


def test_many_rows_are_a_few_sets():
    rows = drawn(100_000)
    fitted = pf.fit(clinic(), rows, prior=1)
    assert fitted._records.seen.sets.shape[0] == 4  # leak with flu, cold and both; leak with fever
    np.testing.assert_allclose(numbers_of(fitted.network), NUMBERS, atol=0.02)


def test_intervals_cover_at_their_level():
    """Numbers drawn from the prior, rows drawn from them: 90 % of the intervals contain the number."""
    rng, inside = np.random.default_rng(0), {"Beta counts": [], "Laplace": []}
    prior = np.array(NUMBERS)
    for seed in range(60):
        truth = rng.beta(prior * 12, (1 - prior) * 12)
        frame = pf.fit(clinic(), clinic(truth).sample(seed=seed, count=60), prior=12).intervals(0.9)
        for kind, low, high, number in zip(frame.kind, frame.low, frame.high, truth, strict=True):
            inside[kind].append(low <= number <= high)
    assert 0.8 < np.mean(inside["Beta counts"]) < 0.98  # 120 of them
    assert 0.85 < np.mean(inside["Laplace"]) < 0.96


def test_counts_come_from_the_spreadsheet(tmp_path):
    causes = pd.DataFrame({"cause": ["flu", "cold"], "prior": [0.1, 0.2], "count": [50, None]})
    findings = {"finding": ["fever", "fever", "cough"], "cause": ["flu", "cold", "cold"], "p": [0.8, 0.3, 0.6]}
    findings = pd.DataFrame({**findings, "leak": [0.02, None, 0.1], "cases": [7, 8, None], "leak_count": [30, None, 9]})
    network = pf.BeliefNetwork.diagnosis(causes, findings)
    causes.to_csv(tmp_path / "clinic.causes.csv", index=False)
    findings.to_csv(tmp_path / "clinic.findings.csv", index=False)
    with pd.ExcelWriter(tmp_path / "clinic.xlsx") as book:
        causes.to_excel(book, sheet_name="causes", index=False)
        findings.to_excel(book, sheet_name="findings", index=False)
    said = {("flu", None): 50, ("fever", "flu"): 7, ("fever", "cold"): 8, ("fever", None): 30, ("cough", None): 9}
    for prior in ((causes, findings), tmp_path / "clinic.csv", str(tmp_path / "clinic.xlsx"), said):
        worth = Records.of(network, prior, 1).worth
        np.testing.assert_array_equal(worth, [50, 0, 30, 7, 8, 9, 0])
    with pytest.raises(pf.errors.InvalidInput, match="a column 'count'"):
        pf.fit(network, [[0, 0, 0, 0]], prior=(causes[["cause"]], findings[["finding", "cause"]]))
    causes["count"] = ["many", 3]
    with pytest.raises(pf.errors.InvalidInput, match="count must be 0 cases or more; got 'many'"):
        pf.fit(network, [[0, 0, 0, 0]], prior=(causes, findings))


@pytest.mark.parametrize(
    ("network", "prior", "options", "message"),
    [
        (clinic(), -1, {}, "0 or more; got -1"),
        (clinic(), "10 cases", {}, "cannot be read"),
        (clinic(), {"fever": "many"}, {}, "got 'many'"),
        (clinic(), {("fever", "test"): 3}, {}, "must name units"),
        (clinic(), {"grippe": 3}, {}, "no unit 'grippe'"),
        (clinic(), 3, {"l2": 0.1}, "leave out method, penalties"),
        (clinic(), 3, {"method": "G12"}, "leave out method"),
        (clinic(), 3, {"epochs": 0}, "epochs must be"),
        (pf.BeliefNetwork(np.eye(4, k=-1), np.zeros(4), names=list("abcd")), 3, {}, "unit 'b' is none of these"),
        (pf.BoltzmannMachine(np.zeros((4, 4)), np.zeros(4)), 3, {}, "single belief network"),
    ],
)
def test_what_a_prior_cannot_be(network, prior, options, message):
    with pytest.raises(pf.errors.InvalidInput, match=message):
        pf.fit(network, [[0, 0, 0, 0]], prior=prior, **options)


def test_too_many_hidden_units_are_refused():
    network = pf.BeliefNetwork.layered([np.ones((2, 30))], [np.full(30, 0.1), np.ones(2)], "noisy_or")
    with pytest.raises(pf.errors.InvalidInput, match="up to 30 units hidden above what they observe"):
        pf.fit(network, [[1, 1]], prior=3)


def test_the_command_fits_and_goes_on(run: Run, tmp_path: Path):  # noqa: F811
    pf.save(clinic(), tmp_path / "clinic.json")
    rows = pd.DataFrame(drawn(40).astype(int), columns=["flu", "cold", "fever", "test"])
    rows[:25].to_csv(tmp_path / "first.csv", index=False)
    rows[25:].to_csv(tmp_path / "next.csv", index=False)
    model, later = tmp_path / "model.json", tmp_path / "later.json"
    out = run("fit", tmp_path / "clinic.json", "--rows", tmp_path / "first.csv", "--prior", 10, "-o", model)
    assert out.code == 0, out
    assert "the numbers no longer change" in out.out
    assert run("fit", model, "--rows", tmp_path / "next.csv", "--prior", model, "-o", later).code == 0
    whole = pf.fit(clinic(), rows, prior=10)
    np.testing.assert_array_equal(numbers_of(pf.load(later)), numbers_of(whole.network))
    assert run("infer", later, "-e", "fever=1").code == 0
    again = tmp_path / "again.json"  # the model is the network, too
    assert run("fit", "--rows", tmp_path / "next.csv", "--prior", model, "-o", again).code == 0
    assert again.read_bytes() == later.read_bytes()
    lost = run("fit", "--rows", tmp_path / "next.csv", "--prior", "lost.json", "-o", tmp_path / "x.json")
    assert lost.err.startswith("plefka: lost.json: cannot be read: No such file")


def test_an_interrupted_fit_returns_whole_steps(monkeypatch):
    step, taken = Records.step, []

    def interrupting(self, fields):
        taken.append(fields)
        if len(taken) == 4:  # in the first epoch, which is finished
            signal.raise_signal(signal.SIGINT)
        return step(self, fields)

    monkeypatch.setattr(Records, "step", interrupting)
    found = pf.fit(clinic(), pd.DataFrame({"fever": [1, 0, 1], "test": [1, 0, 0]}), prior=3)
    assert (found.stopped, found.epochs) == (pf.Stopped.INTERRUPTED, 1)
    assert len(taken) == 4


def test_the_command_says_that_a_file_has_no_records(run: Run, tmp_path: Path):  # noqa: F811
    pf.save(clinic(), tmp_path / "net.json")
    (tmp_path / "rows.csv").write_text("flu,cold,fever,test\n1,0,1,1\n0,0,0,0\n")
    for name, count in (("new.npz", 1), ("new.json", 0)):
        ran = run("fit", tmp_path / "net.json", "--rows", tmp_path / "rows.csv", "--prior", 3, "-o", tmp_path / name)
        assert (ran.code, ran.err.count("has no records")) == (0, count)
