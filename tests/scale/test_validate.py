"""`pf.validate` against plain sums and plain counts; columns of truth are never evidence."""

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.errors import InvalidInput, PlefkaWarning
from plefka.questions.calibration_bins import CalibrationBins

NETWORK = pf.example("espresso")
CAUSES = list(NETWORK.names[:7])
FINDINGS = list(NETWORK.names[7:])


def simulated(count: int, seed: int) -> pd.DataFrame:
    return pd.DataFrame(NETWORK.sample(seed, count), columns=list(NETWORK.names))


def posteriors(rows: pd.DataFrame) -> np.ndarray:
    return pf.infer(NETWORK, rows[FINDINGS], "exact").means[:, :7]


def test_simulated_cases_have_nominal_calibration():
    rows = simulated(4000, seed=3)
    found = pf.validate(NETWORK, rows, CAUSES, method="exact")
    assert (found.measures["exact"], found.measures["failed"]) == (4000, 0)
    for bins in (found.calibration, found.first_calibration):
        columns = bins.columns()
        inside = (columns["low"] <= columns["mean"]) & (columns["mean"] <= columns["high"])
        assert inside.mean() >= 0.8  # 95 % of them are expected
        assert bins.error < 0.02
    p, y = posteriors(rows), rows[CAUSES].to_numpy()
    z = (y - p).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < 4  # a prediction of the number that is true


def test_wrong_probabilities_are_not_calibrated():
    units = [unit._replace(bias=unit.bias * 4) if not unit.parents else unit for unit in NETWORK.units]
    wrong = pf.BeliefNetwork.of_units(units)
    assert pf.validate(wrong, simulated(1000, seed=3), CAUSES).calibration.error > 0.1


def test_measures_are_those_of_plain_counts():
    rows = simulated(300, seed=1)
    found = pf.validate(NETWORK, rows, CAUSES, method="exact")
    p, y = posteriors(rows), rows[CAUSES].to_numpy()
    np.testing.assert_allclose(found.measures["Brier score"], ((p - y) ** 2).sum(axis=1).mean())
    np.testing.assert_allclose(
        found.measures["log score"], np.where(y == 1, np.log(p), np.log1p(-p)).sum(axis=1).mean()
    )
    some = y.any(axis=1)
    best = np.where(y == 1, p, -1).max(axis=1, keepdims=True)
    rank = 1 + ((p > best + 1e-12) & (y == 0)).sum(axis=1)
    for k in (1, 2, 7):
        assert found.among(k) == pytest.approx((rank[some] <= k).mean())
    assert found.measures["mean reciprocal rank"] == pytest.approx((1 / rank[some]).mean())
    assert found.to_frame()["rank"].notna().sum() == some.sum() == found.measures["with a true cause"]


def test_columns_of_truth_are_no_evidence_and_other_labels_are_said():
    rows = simulated(50, seed=2)
    alone = pf.validate(NETWORK, rows[FINDINGS].assign(truth=[CAUSES[0]] * 50), "truth")
    with pytest.warns(PlefkaWarning, match="the rows also state limescale, .* therefore no evidence"):
        labelled = pf.validate(NETWORK, rows.assign(truth=[CAUSES[0]] * 50), "truth")
    pd.testing.assert_frame_equal(alone.cases, labelled.cases)
    with pytest.warns(PlefkaWarning, match="clogged_screen"):
        by_column = pf.validate(NETWORK, rows, "limescale")
    np.testing.assert_array_equal(by_column.cases["first_probability"], alone.cases["first_probability"])
    assert by_column.calibration.sums[0].sum() == 50  # nothing is known of the other causes


@pytest.mark.parametrize("form", ["column", "list", "series", "mappings", "file"])
def test_truth_and_rows_may_have_any_form(form, tmp_path):
    rows, truth = simulated(5, seed=4)[FINDINGS], ["limescale", "weak_pump; stale_beans", "", None, "stale_beans"]
    expected = ["limescale", "weak_pump; stale_beans", "", "", "stale_beans"]
    named = rows.assign(who=["a", "b", "c", "d", "e"], truth=truth)
    if form == "file":
        named.to_csv(tmp_path / "rows.csv", index=False)
    given = {
        "column": (named, "truth"), "list": (rows, [*truth[:1], ["weak_pump", "stale_beans"], *truth[2:]]),
        "series": (rows, pd.Series(truth)), "mappings": (named.to_dict("records"), "truth"),
        "file": (tmp_path / "rows.csv", "truth"),
    }  # fmt: skip
    found = pf.validate(NETWORK, *given[form], id_columns=None if form in ("list", "series") else "who")
    assert found.cases["truth"].tolist() == expected
    assert found.cases["case"].tolist() == ([0, 1, 2, 3, 4] if form in ("list", "series") else list("abcde"))
    assert found.notes == ("2 rows do not say what is true",)
    assert found.measures["with a true cause"] == 3


def test_a_case_may_say_that_no_cause_is_true():
    rows = simulated(300, seed=5)
    names = rows[CAUSES].apply(lambda row: "; ".join(row.index[row == 1]) or "no", axis=1)
    by_name = pf.validate(NETWORK, rows[FINDINGS], names)
    by_column = pf.validate(NETWORK, rows, CAUSES)
    assert by_name.measures == pytest.approx(by_column.measures)
    assert not by_name.notes
    assert by_name.measures["with a true cause"] == (names != "no").sum() < 300


def test_a_truth_that_is_not_in_the_network_is_missed_and_named():
    found = pf.validate(NETWORK, [{"slow_flow": 1}] * 3, ["Limescale", "test", "?"])  # not tested means missing
    assert found.notes[1].endswith("missed: Limescale, test. Did you mean 'limescale'?")
    assert found.notes[0].startswith("1 rows")


def test_equal_posteriors_count_as_in_a_random_order():
    twins = pf.BeliefNetwork.layered([[[1.0, 1.0, 1.0]]], [[0.1, 0.1, 0.1], [0.05]], "noisy_or", list("abcf"))
    found = pf.validate(twins, [{"f": 1}], ["c"])
    assert found.cases["rank"].item() == 2
    assert (found.among(1), found.among(2), found.among(3)) == pytest.approx((1 / 3, 2 / 3, 1))
    assert found.measures["mean reciprocal rank"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_what_is_rounded_to_one_is_ranked_by_its_logarithm():
    names = ["sure", "surer", *(f"{cause}{k}" for cause in "sx" for k in range(5))]
    units = [(name, [], "noisy_or", [], 1.0) for name in names[:2]]
    for k, cause in enumerate(names[:2]):
        units += [(f"{'sx'[k]}{j}", [cause], "noisy_or", [5.0], 1e-4 / (k + 1)) for j in range(5)]
    network = pf.BeliefNetwork.of_units(units)
    rows = [dict.fromkeys(names[2:], 1)]
    assert (pf.infer(network, rows[0]).means[:2] == 1).all()
    for truth, rank in (("sure", 2), ("surer", 1)):
        found = pf.validate(network, rows, [[truth]])
        assert found.cases["rank"].item() == rank
        assert np.isfinite(found.measures["log score"])
    off = np.log(1e-4) * 5 - np.log(np.expm1(1.0))  # ln P(off) / P(on) of the first, from its five findings
    assert found.measures["log score"] == pytest.approx(off, rel=1e-2)


def test_cases_that_fail_are_misses_and_are_named():
    network = pf.BeliefNetwork(
        [[0, 0, 0], [0, 0, 0], [2.0, 1.0, 0]], [0.1, 0.2, 0.0], "noisy_or", ["flu", "cold", "fever"]
    )
    rows = [{"fever": 1, "id": "p1", "truth": "flu"}, {"fever": 0, "id": "p2", "truth": "plague"}]
    found = pf.validate(network, rows, "truth", id_columns="id")
    assert found.among(2) == 0.5
    assert found.cases["rank"].tolist() == [2, np.inf]
    assert "plague" in found.notes[0]
    assert found.tables()["Worst cases"]["case"].tolist() == ["p2", "p1"]
    sure = pf.BeliefNetwork([[0, 0, 0], [np.inf, 0, 0], [np.inf, 0, 0]], [0.1, 0, 0], "noisy_or", ["flu", "f", "g"])
    failed = pf.validate(sure, [{"f": 1, "g": 0}, {"f": 1}], [["flu"], ["flu"]])
    assert failed.cases["accuracy"].tolist() == ["impossible", "exact"]
    assert (failed.measures["failed"], failed.measures["first"], failed.measures["mean reciprocal rank"]) == (
        1,
        0.5,
        0.5,
    )
    assert failed.measures["log score"] == 0
    assert failed.tables()["Worst cases"]["case"].tolist() == [0, 1]
    assert "impossible" in str(failed)


@pytest.mark.parametrize(
    ("rows", "truth", "message"),
    [
        ([{"slow_flow": 1}] * 2, ["limescale"], "one truth for each row; got 1|a truth for each row; got 1"),
        ([{"slow_flow": 1}], ["limescale", "limescale"], "one truth for each of the 1 rows; got more"),
        ([{"slow_flow": 1}], [""], "got no truth at all"),
        ([{"slow_flow": 1}], ["thin_crema"], "one of the units that are ranked; got 'thin_crema'"),
        ([{"slow_flow": 1}], "diagnosis", "must have 'diagnosis'"),
    ],
)
def test_what_is_refused(rows, truth, message):
    with pytest.raises(InvalidInput, match=message):
        pf.validate(NETWORK, rows, truth)
    with pytest.raises(InvalidInput, match="one BeliefNetwork"):
        pf.validate(pf.BoltzmannMachine([[0, 1.0], [1.0, 0]], [0, 0]), rows, truth)  # pyright: ignore


def test_units_that_are_named_are_ranked():
    rows = simulated(20, seed=5)
    with pytest.warns(PlefkaWarning, match="state thin_crema"):
        found = pf.validate(NETWORK, rows, "sour_taste", units=["thin_crema", "sour_taste"])
    expected = pf.infer(NETWORK, rows.drop(columns=["sour_taste", "thin_crema"]))
    best = expected.means[:, [NETWORK.index("thin_crema"), NETWORK.index("sour_taste")]].max(axis=1)
    np.testing.assert_allclose(found.cases["first_probability"], best)


def test_intervals_are_wilsons():
    bins = CalibrationBins.of(np.linspace(0, 1, 3), np.array([0.1, 0.2, 0.9]), np.array([0.0, 1.0, np.nan]))
    columns = bins.columns()
    assert columns["predictions"].tolist() == [2]
    assert (columns["low"][0], columns["high"][0]) == pytest.approx((0.0945, 0.9055), abs=1e-4)
    assert bins.error == pytest.approx(0.35)


def test_the_page_has_everything_and_names_are_escaped(tmp_path):
    names = ["<b>flu & cold</b>", "cold", "fever"]
    network = pf.BeliefNetwork([[0, 0, 0], [0, 0, 0], [2.0, 1.0, 0]], [0.1, 0.2, 0.01], "noisy_or", names)
    found = pf.validate(network, [{"fever": 1}, {"fever": 0}], [names[0], "cold"])
    found.page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<b>flu" not in page
    assert "<b>flu" not in found._repr_html_()
    assert page.count("<svg") == 2
    assert network.fingerprint in page
    for title in found.tables():
        assert title in page


@pytest.mark.parametrize("truth", [None, 3])
def test_truth_that_is_neither_a_column_nor_a_list_is_refused(truth):
    with pytest.raises(InvalidInput, match="truth must be a column"):
        pf.validate(pf.example("espresso"), [{"slow_flow": 1}], truth)
