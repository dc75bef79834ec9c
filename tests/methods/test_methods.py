"""Methods: one spelling everywhere, that reads back as what it was; and solutions that are a pleasure to print."""

import dataclasses
import itertools
import re
import subprocess
import sys

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidMethod
from plefka.inference.composite_methods import Conditioned
from plefka.inference.solution import ABOVE_ZERO
from plefka.mean_field.schemes import SCHEMES, MeanField

OPTIONS = {
    "tol": (1e-10, 0.5, 1e-300),
    "max_steps": (1, 100_000),
    "policy": ("paper", "sequential"),
    "restarts": (3,),
}
GIBBS_OPTIONS = ("sweeps", "burn", "chains", "temperatures", "runs", "seed")


def variants(name):
    """The method as it is, with each option alone, and with all of them together."""
    yield pf.METHODS[name]
    if name == "gibbs":
        yield from (dataclasses.replace(pf.METHODS[name], **{option: 77}) for option in GIBBS_OPTIONS)
        yield dataclasses.replace(pf.METHODS[name], **dict.fromkeys(GIBBS_OPTIONS, 99))
    if not isinstance(pf.METHODS[name], MeanField):
        return
    for option, values in OPTIONS.items():
        yield from (dataclasses.replace(pf.METHODS[name], **{option: value, "seed": 7}) for value in values)
    for values in itertools.product(*OPTIONS.values()):
        yield dataclasses.replace(pf.METHODS[name], **dict(zip(OPTIONS, values, strict=True)), seed=0)


@pytest.mark.parametrize("name", pf.METHODS)
def test_spelling_reads_back(name):
    for method in variants(name):
        assert pf.parse_method(str(method)) == method


@pytest.mark.parametrize("name", pf.METHODS)
def test_a_method_without_options_is_spelled_by_its_name(name):
    spelled = {"conditioned": "conditioned[G2,k=3]", "mixture": "mixture[5]"}  # what they are made of is always said
    assert str(pf.METHODS[name]) == spelled.get(name, name)
    assert pf.METHODS[name].name == name
    assert pf.parse_method(f"{name}[]") == pf.METHODS[name]


def test_options_are_spelled_in_one_order_and_only_where_they_matter():
    loose = " G22[ policy=paper , max_steps=3000, tol = 1e-10 ] "
    assert str(pf.parse_method(loose)) == "G22[tol=1e-10,policy=paper]"


@pytest.mark.parametrize("budget", ["2s", "1.23456789s", "1234567s", "1e-05s"])
def test_times_are_spelled_to_the_last_digit(budget):
    method = pf.parse_method(f"auto[budget={budget}]")
    assert str(method) == f"auto[budget={budget}]"
    assert pf.parse_method(str(method)) == method


def test_units_that_are_named_say_how_many_they_are():
    named = pf.parse_method("conditioned[G1,units=a+b]")
    assert named == pf.parse_method("conditioned[G1,k=2,units=a+b]") == pf.parse_method(str(named))
    assert str(pf.parse_method("conditioned[G1]")) == "conditioned[G1,k=3]"
    with pytest.raises(InvalidMethod, match=r"got k=5 and 2 in a\+b. Leave k out"):
        pf.parse_method("conditioned[G2,k=5,units=a+b]")


def test_odd_names_of_units_are_quoted():
    names = ["a+b", "c,d]", 'e"f', "g"]
    method = pf.parse_method('conditioned[G1[tol=0.1],units="a+b"+"c,d]"+"e""f"+g]')
    assert isinstance(method, Conditioned)
    assert method.names == names
    assert pf.parse_method(str(method)) == method
    network = pf.BeliefNetwork(np.eye(4, k=-1), np.zeros(4), names=names)
    exact, found = (
        pf.infer(network, {"g": 1}, name) for name in ("exact", 'conditioned[G1,units="a+b"+"c,d]"+"e""f"]')
    )
    assert found.log_likelihood == pytest.approx(exact.log_likelihood, abs=1e-12)


def test_methods_pass_through():
    method = pf.parse_method("G12[tol=1e-3]")
    assert pf.parse_method(method) is method


@pytest.mark.parametrize(("alias", "name"), [("G211", "G21"), ("G222", "G22")])
def test_long_names_of_the_same_scheme(alias, name):
    assert pf.parse_method(alias) == pf.METHODS[name]
    assert str(pf.parse_method(f"{alias}[tol=0.1]")) == f"{name}[tol=0.1]"


def test_all_schemes_of_the_paper_are_there():
    assert set(SCHEMES) >= {"G10", "G11", "G12", "G13", "G14", "G21", "G22", "G221", "G212", "SJJ"}


def test_methods_are_values():
    assert len({pf.parse_method(text) for text in ("G12", "G12[]", "G12[tol=1e-8]", "G22")}) == 2


@pytest.mark.parametrize(("name", "bound"), [("exact", True), ("SJJ", True), ("G12", False), ("G22", False)])
def test_bounds_say_so(name, bound):
    assert pf.METHODS[name].is_bound is bound


def test_public_verbs_stay_verbs_whatever_is_imported_first():
    """A package of the same name must not hide `pf.infer` and `pf.free_energy`."""
    imports = "import plefka.inference.infer, plefka.mean_field.evaluate"
    script = f"{imports}; assert callable(plefka.infer) and callable(plefka.free_energy)"
    subprocess.run([sys.executable, "-c", script], check=True)


# ---- printing --------------------------------------------------------------------------------------------------------


def weather(count=4):
    """One cause with many effects, the effects named by number."""
    weights = np.zeros((count, count))
    weights[1:, 0] = 2.0
    names = ("rain", *(f"wet {k}" for k in range(1, count)))
    return pf.BeliefNetwork(weights, np.full(count, -1.0), names=names)


def test_a_solution_prints_as_a_table():
    lines = str(pf.infer(weather(), {"wet 1": 1, "wet 2": 1}, "exact")).splitlines()
    assert lines[0].startswith("ln P(evidence) = -1.")
    assert lines[0].endswith(" by exact: about 20 of 100 cases look like this")
    assert lines[1:4] == ["summed over all states", "observed: wet 1=1, wet 2=1", ""]
    assert lines[4].split() == ["unit", "P(on", "|", "evidence)", "prior", "accuracy"]
    assert set(lines[5]) == {"-"}
    assert [line.split("  ")[0].strip() for line in lines[6:]] == ["rain", "wet 3"]
    assert len({len(line) for line in lines[4:]}) == 1


def test_a_solution_by_auto_prints_what_it_is_and_why():
    lines = str(pf.infer(weather(), {"wet 1": 1})).splitlines()
    assert lines[0].endswith("by auto (exact): about 39 of 100 cases look like this")
    assert lines[1:3] == ["auto chose exact: a sum over 2 states", "observed: wet 1=1"]
    lines = str(pf.infer(weather(), np.eye(4))).splitlines()
    assert lines[0].startswith("4 rows by auto (exact)")
    assert lines[1] == "auto chose exact: all units could be summed out one by one"
    lines = str(pf.infer(weather(), {"wet 1": 1}, "conditioned[G1,units=rain]")).splitlines()
    assert "units=rain] (exact)" in lines[0]  # nothing else is left to approximate
    assert "conditioned on rain" in lines


def test_the_most_probable_unit_comes_first():
    solution = pf.infer(weather(), {"wet 1": 0}, "exact")
    probabilities = [p for _, p in solution.ranking(None, units="all")]
    assert probabilities == sorted(probabilities, reverse=True)
    assert dict(solution.ranking(None, units="all")) == {k: p for k, p in solution.marginals().items() if k != "wet 1"}


def test_a_long_solution_prints_its_top():
    lines = str(pf.infer(weather(16), None, "exact")).splitlines()
    assert len(lines) == 3 + 2 + 16
    lines = str(pf.infer(weather(40), {"wet 1": 1}, "G12[tol=1e-3]")).splitlines()
    assert "by G12[tol=0.001] (an estimate, not a bound)" in lines[0]
    assert re.match(r"converged after \d+ steps, residual", lines[1])
    assert "... and 19 more units" in lines


def test_a_batch_prints_one_line_for_each_row():
    text = str(pf.infer(weather(), np.eye(4), "exact"))
    lines = text.splitlines()
    assert lines[0].startswith("4 rows by exact: 4 converged, mean ln P(evidence) = -")
    wanted = ["row", "ln", "P(evidence)", "accuracy", "estimates", "status", "steps", "residual"]
    assert lines[2].split() == wanted
    assert [line.split()[0] for line in lines[4:]] == ["0", "1", "2", "3"]
    assert all(" converged " in line for line in lines[4:])


def test_a_large_batch_prints_its_beginning():
    lines = str(pf.infer(weather(), np.zeros((1_030, 4)), "exact")).splitlines()
    assert len(lines) == 4 + 20 + 1
    assert lines[-1] == "... and 1,010 more rows"


def test_an_answer_above_zero_prints_a_warning():
    network = pf.example("espresso")
    single = pf.infer(network, {"slow_flow": 1, "low_pressure": 1, "sour_taste": 0}, "G13")
    assert single.warnings == [ABOVE_ZERO]
    assert str(single).splitlines()[2] == f"warning: {ABOVE_ZERO}"
    rows = np.full((3, network.size), np.nan)
    rows[1, [network.index(name) for name in ("slow_flow", "low_pressure", "sour_taste")]] = 1, 1, 0
    batch = pf.infer(network, rows, "G13")
    assert batch.warnings == [[], [ABOVE_ZERO], []]
    assert str(batch).splitlines()[1] == f"warning: {ABOVE_ZERO} (row 1)"
    assert "warning" not in str(pf.infer(network, rows, "exact"))


def test_repr_is_one_line():
    off = pf.infer(weather(), {"rain": 0}, "exact")
    assert repr(off) == f"<Solution by exact: log_likelihood {-np.log1p(np.exp(-1)):.6g}, converged>"
    assert repr(pf.infer(weather(), np.zeros((2, 4)), "exact")).startswith("<Solution by exact: 2 of 2 rows converged")


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (0.999, ": nearly every case looks like this"),
        (0.42, ": about 42 of 100 cases look like this"),
        (1 / 7_432, ": about 1 case in 7,400 looks like this"),
        (1e-20, ": fewer than 1 case in a million million looks like this"),
    ],
)
def test_how_often_a_case_looks_like_this(chance, words):
    coin = pf.BeliefNetwork([[0.0]], [-np.log1p(-chance)], "noisy_or", names=["coin"])
    assert str(pf.infer(coin, {"coin": 1}, "exact")).splitlines()[0].endswith(f"by exact{words}")


def test_what_is_no_frequency_is_not_shown_as_one():
    assert "case" not in str(pf.infer(weather(), None, "exact"))
    assert "case" not in str(pf.infer(weather(), {"wet 1": pf.Likelihood(0.9, 0.2)}, "exact"))
    assert "case" not in str(pf.infer(pf.BoltzmannMachine([[0, 1.0], [1.0, 0]], [0.1, 0.2]), {0: 1}, "exact"))
    bound = pf.infer(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1, "loud_hum": 1}, "G1")
    assert ": at least 1 case in " in str(bound)


def test_priors_that_are_tiny_are_powers_of_ten_and_causes_come_first_most_changed_first():
    bias, weights = np.array([1e-20, 0.7, 0.1, 1e-3, 0.5]), np.zeros((5, 5))
    weights[3, [0, 2]], weights[4, 1] = (3.0, 2.0), 0.1
    net = pf.BeliefNetwork(weights, bias, "noisy_or", names=["rare", "common", "flu", "fever", "cough"])
    rows = [line.split() for line in str(pf.infer(net, {"fever": 1}, "exact")).splitlines()[-4:]]
    assert [name for name, *_ in rows] == ["flu", "common", "rare", "cough"]
    assert rows[2][2] == "1.00e-20"
    assert rows[3][2:] == ["exact"]  # the prior of a unit with parents is not known without a computation
    assert "prior" not in str(pf.infer(net, None, "exact"))
