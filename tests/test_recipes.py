"""A method, a free energy and a policy of one's own, as docs/recipes.md has them: wherever they say that they go."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidMethod, MethodDoesNotApply
from plefka.inference.composite_methods import Conditioned
from tests import zoo

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
OWN = ("between", "rejection", "normal_fields", "half_steps")
ESPRESSO = pf.example("espresso")
SOFT = {"slow_flow": 1, "thin_crema": pf.Likelihood(on=0.9, off=0.3), "limescale": pf.Likelihood(on=0.2, off=0.7)}
SIGMOID = zoo.layered((2, 3, 4), -1.5, 1.5, "sigmoid", 2)
SEEN = {5: 1, 6: 0, 7: 1, 8: 0, 0: pf.Likelihood(on=0.8, off=0.3)}
QUESTIONS = {"noisy-or": (ESPRESSO, SOFT), "sigmoid": (SIGMOID, SEEN)}


def recipe(name: str) -> str:
    """The class of the page that is registered under this name, with its imports; none of what is done with it."""
    block = next(b for b in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if f'@pf.register("{name}")' in b)
    return block[: re.search(r"\n\n\n(?!@|class )\S", block).start()]  # pyright: ignore


@pytest.fixture(autouse=True, scope="module")
def registered():
    namespace = {"pf": pf, "np": np, "jnp": jnp, "dataclass": dataclass}
    for name in OWN:
        exec(recipe(name), namespace)
    yield
    for name in OWN:
        pf.unregister(name)


def same(found: pf.Solution, expected: pf.Solution, tol: float = 1e-7) -> None:
    np.testing.assert_allclose(found.means, expected.means, atol=tol)
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, atol=tol)


# ---- a method that solves parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "share", "known"), [("noisy-or", 1.0, "bethe"), ("sigmoid", 0.0, "G1")])
@pytest.mark.parametrize("spelling", ["{}", "conditioned[{},k=2]"])
def test_the_ends_of_between_are_known_with_soft_evidence_and_inside_conditioned(kind, share, known, spelling):
    """But for units that nothing observed depends on: an estimate knows less of their parents than an exact answer."""
    network, evidence = QUESTIONS[kind]
    found, expected = (
        pf.infer(network, evidence, spelling.format(method)) for method in (f"between[share={share}]", known)
    )
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-7)
    np.testing.assert_allclose(found.means[:5], expected.means[:5], atol=1e-7)


def test_between_is_the_mean_of_both_in_a_batch_whose_rows_are_as_alone():
    rows = [SOFT, {"loud_hum": 1}, {"slow_flow": 1, "puddle_below": 0, "limescale": pf.Likelihood(on=0.5, off=0.1)}]
    found, low, high = (pf.infer(ESPRESSO, rows, method) for method in ("between", "G1", "bethe"))
    np.testing.assert_allclose(found.log_likelihood, (low.log_likelihood + high.log_likelihood) / 2, atol=1e-9)
    np.testing.assert_allclose(found.means[:, :7], (low.means + high.means)[:, :7] / 2, atol=1e-6)  # the causes
    alone = [pf.infer(ESPRESSO, row, "between") for row in rows]
    np.testing.assert_allclose(found.means, [each.means for each in alone], atol=1e-7)


def test_between_works_in_a_trace_and_its_derivative_is_that_of_differences():
    def log_likelihood(bias):
        network = pf.BeliefNetwork(SIGMOID.storage, bias, "sigmoid")
        return pf.infer(network, SEEN, "between[share=0.25]").log_likelihood

    with jax.enable_x64(True):
        bias = jnp.asarray(SIGMOID.bias)
        value, slope = jax.jit(jax.value_and_grad(log_likelihood))(bias)
        assert value == pytest.approx(log_likelihood(SIGMOID.bias), abs=1e-7)
        step = 1e-4 * np.eye(9)[0]
        difference = (log_likelihood(SIGMOID.bias + step) - log_likelihood(SIGMOID.bias - step)) / 2e-4
    assert slope[0] == pytest.approx(difference, abs=1e-4)


def test_what_says_nothing_of_its_accuracy_is_an_estimate():
    for method in ("between", "rejection"):
        found = pf.infer(ESPRESSO, SOFT, method)
        assert not found.is_exact
        assert found.log_likelihood_accuracy == pf.Accuracy.ESTIMATE
        assert pf.Accuracy.ESTIMATE in found.accuracy[:7]  # reduction alone knows some of the causes exactly


def test_what_says_that_it_is_exact_is_so():
    @dataclass(frozen=True)
    class Sums(pf.Method):
        def posterior(self, part, *, dtype):
            found = pf.parse_method("exact").posterior(part, dtype=dtype)
            return pf.Posterior.of(found.means, -found.free_energy, slope=found.slope, is_exact=True)

    @dataclass(frozen=True)
    class SumsOfAll(pf.Method):
        def answer(self, network, evidence, *, prune, dtype):
            found = pf.infer(network, evidence._replace(batched=True), "exact")
            return pf.Posterior.of(found.means, found.log_partition, is_exact=found.converged)

    for method in (Sums("sums"), SumsOfAll("sums_of_all")):
        found = pf.infer(SIGMOID, {5: 1, 6: 0, 7: 1, 8: 0}, method)
        assert found.is_exact
        same(found, pf.infer(SIGMOID, {5: 1, 6: 0, 7: 1, 8: 0}, "exact"))


# ---- a method that answers about whole networks ----------------------------------------------------------------------


def test_rejection_agrees_with_exact_in_a_batch_with_soft_evidence():
    rows = [{"slow_flow": 1}, SOFT, {"thin_crema": pf.Likelihood(on=3.0, off=0.5)}, {}]
    found, exact = (pf.infer(ESPRESSO, rows, method) for method in ("rejection[draws=100000,seed=3]", "exact"))
    assert found.converged.all()
    assert np.abs(found.means - exact.means).max() < 5 * found.residual.max()
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, atol=0.03)


def test_what_rejection_cannot_do_is_refused():
    stack, votes = pf.ensembles.layered((2, 3), -1, 1, 2, 0), zoo.layered((2, 3, 4), -1, 1, "sigmoid", 5)
    with pytest.raises(MethodDoesNotApply, match="rejection needs a single belief network"):
        pf.infer(stack, None, "rejection")
    with pytest.raises(MethodDoesNotApply, match=r"rejection answers about whole networks.*Use rejection alone"):
        pf.infer(ESPRESSO, {"slow_flow": 1}, "conditioned[rejection,k=2]")
    with pytest.raises(MethodDoesNotApply, match="rejection does not apply: it looks at numbers"):
        jax.jit(lambda row: pf.infer(votes, row, "rejection").means)(np.full(9, np.nan))


def test_an_answer_of_ones_own_takes_no_soft_evidence_unless_it_says_so():
    """Otherwise it would ignore it without a word."""

    @dataclass(frozen=True)
    class Prior(pf.Method):
        def answer(self, network, evidence, *, prune, dtype):
            return pf.Posterior.of(np.full(evidence.rows.shape, 0.5), np.zeros(len(evidence.rows)))

    assert pf.infer(SIGMOID, {5: 1}, Prior("prior")).converged
    with pytest.raises(MethodDoesNotApply, match="prior does not apply: it takes no soft evidence"):
        pf.infer(SIGMOID, SEEN, Prior("prior"))


def test_a_part_that_needs_a_slope_says_so():
    @dataclass(frozen=True)
    class WithoutSlope(pf.Method):
        def posterior(self, part, *, dtype):
            return pf.parse_method("bethe").posterior(part, dtype=dtype)._replace(slope=None)

    for method in (WithoutSlope("lost"), Conditioned("conditioned", WithoutSlope("lost"), 1)):
        with pytest.raises(MethodDoesNotApply, match="lost does not apply: its posterior has no `slope`"):
            pf.infer(ESPRESSO, {"slow_flow": 1}, method)
    assert pf.infer(SIGMOID, SEEN, WithoutSlope("lost")).converged


# ---- a free energy ---------------------------------------------------------------------------------------------------


def test_normal_fields_are_the_average_by_hand_and_stationary():
    found = pf.infer(SIGMOID, SEEN, "normal_fields[tol=1e-10]", prune=False)
    W = SIGMOID.storage.to_sparse().toarray()

    def by_hand(u):
        x, deviation = W @ u + SIGMOID.bias, np.sqrt(W**2 @ (u * (1 - u)))
        fields = x + deviation * np.sqrt(3) * np.array([[-1], [0], [1]])
        energy = np.array([1, 4, 1]) / 6 @ (u * np.logaddexp(0, -fields) + (1 - u) * np.logaddexp(0, fields)).sum(1)
        p = u[:5]
        tilt = u[0] * np.log(0.8) + (1 - u[0]) * np.log(0.3)
        return energy + np.sum(p * np.log(p) + (1 - p) * np.log1p(-p)) - tilt

    assert found.free_energy == pytest.approx(by_hand(found.means), abs=1e-9)
    steps = 1e-5 * np.eye(9)[:5]
    np.testing.assert_allclose([by_hand(found.means + d) - by_hand(found.means - d) for d in steps], 0, atol=1e-9)
    assert pf.free_energy(SIGMOID, SEEN, found.means, "normal_fields", prune=False) == pytest.approx(found.free_energy)


def test_normal_fields_are_exact_where_nothing_is_left_to_approximate():
    same(pf.infer(SIGMOID, SEEN, "conditioned[normal_fields,k=5]"), pf.infer(SIGMOID, SEEN, "exact"))
    independent = pf.BeliefNetwork(np.zeros((4, 4)), [0.3, -1.0, 2.0, 0.5])
    evidence = {3: 1, 0: pf.Likelihood(on=0.8, off=0.3)}
    same(pf.infer(independent, evidence, "normal_fields", prune=False), pf.infer(independent, evidence, "exact"))


def test_normal_fields_in_a_batch_with_a_policy_of_ones_own():
    rows = [SEEN, {5: 0, 8: 1}, {6: 1, 1: pf.Likelihood(on=0.1, off=0.6)}]
    found = pf.infer(SIGMOID, rows, "normal_fields[policy=half_steps]")
    same(found, pf.infer(SIGMOID, rows, "normal_fields"), tol=1e-6)
    alone = [pf.infer(SIGMOID, row, "normal_fields[policy=half_steps]") for row in rows]
    np.testing.assert_allclose(found.means, [each.means for each in alone], atol=1e-7)


def test_normal_fields_in_a_trace_have_derivatives_and_are_learned_by():
    def log_likelihood(bias):
        network = pf.BeliefNetwork(SIGMOID.storage, bias, "sigmoid")
        return pf.infer(network, SEEN, "normal_fields[policy=half_steps,tol=1e-10]").log_likelihood

    with jax.enable_x64(True):
        slope = jax.grad(log_likelihood)(jnp.asarray(SIGMOID.bias))[6]
    step = 1e-4 * np.eye(9)[6]
    difference = (log_likelihood(SIGMOID.bias + step) - log_likelihood(SIGMOID.bias - step)) / 2e-4
    assert slope == pytest.approx(difference, abs=1e-5)


def test_normal_fields_are_refused_where_there_are_none():
    machine = pf.BoltzmannMachine([[0, 1.0], [1.0, 0]], [0.1, 0.2])
    with pytest.raises(MethodDoesNotApply, match="normal_fields does not apply"):
        pf.infer(machine, None, "normal_fields")


# ---- a policy --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["G12{}", "conditioned[G12{},k=2]"])
def test_half_steps_end_at_the_same_solutions(method):
    for network, evidence in QUESTIONS.values():
        found = pf.infer(network, evidence, method.format("[policy=half_steps]"))
        same(found, pf.infer(network, evidence, method.format("")), tol=1e-6)


# ---- names -----------------------------------------------------------------------------------------------------------


def test_names_are_read_and_printed_like_all_others():
    for spelled in ("between", "between[share=0.9]", "rejection[draws=10,seed=4]", "normal_fields[tol=1e-10]"):
        assert str(pf.parse_method(spelled)) == spelled
        assert pf.parse_method(f"conditioned[{spelled},k=2]").inner == pf.parse_method(spelled)  # pyright: ignore
    assert str(pf.parse_method("G12[policy=half_steps]")) == "G12[policy=half_steps]"
    with pytest.raises(InvalidMethod, match="'shares=1' is not an option; options of between: share"):
        pf.parse_method("between[shares=1]")


class NotFrozen(pf.Method):
    def posterior(self, part, *, dtype):
        raise NotImplementedError


@dataclass(frozen=True)
class NoDefault(NotFrozen):
    share: float


@dataclass(frozen=True)
class OddOption(NotFrozen):
    share: list = None  # pyright: ignore


@dataclass(frozen=True)
class DoesNothing(pf.Method):
    pass


class Abstract(pf.Policy):
    pass


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (NotFrozen, r"NotFrozen cannot be registered as a method: it must be a frozen dataclass. Write @dataclass"),
        (NoDefault, r"NoDefault cannot be registered as a method: every option must have a default"),
        (OddOption, r"an option must be a float, int, str, .*; share is <class 'list'>"),
        (DoesNothing, r"DoesNothing cannot be registered as a method: it must define `posterior` or `answer`"),
        (Abstract, r"Abstract cannot be registered: what is abstract must be defined"),
        (len, r"what is registered must be a pf.Method, .* or a pf.FileFormat; got builtin_function"),
    ],
)
def test_what_cannot_be_registered_is_refused(thing, message):
    with pytest.raises(InvalidMethod, match=message):
        pf.register("mine")(thing)
    assert "mine" not in pf.METHODS


@pytest.mark.parametrize("name", ["", "1st", "a b", "a[b]", "a,b", None])
def test_a_name_must_be_one_that_can_be_read(name):
    with pytest.raises(InvalidMethod, match="a name must begin with a letter and have letters, digits, _ and - only"):
        pf.register(name)


@pytest.mark.parametrize("name", ["G12", "exact", "persistent", "G222"])
def test_names_of_the_library_are_refused(name):
    with pytest.raises(InvalidMethod, match=f"'{name}' is a name of the library"):
        pf.register(name)(type(pf.parse_method("between")))


def test_a_later_registration_replaces_ones_own():
    between, half_steps = type(pf.parse_method("between")), type("Other", (pf.Policy,), {"step": lambda *a: a[1:]})
    pf.register("twice")(between)
    pf.register("twice")(half_steps)
    assert "twice" not in pf.METHODS
    assert pf.parse_method("G12[policy=twice]").policy == "twice"  # pyright: ignore
    pf.unregister("twice")
    with pytest.raises(InvalidMethod, match="policy must be one of monotone, paper, sequential"):
        pf.parse_method("G12[policy=twice]")
    with pytest.raises(InvalidMethod, match=r"'twice' was not registered by pf.register; there are between"):
        pf.unregister("twice")


def test_the_command_knows_what_a_module_registers(tmp_path):
    (tmp_path / "my_methods.py").write_text(
        "import plefka as pf\nfrom dataclasses import dataclass\n" + recipe("between")
    )
    command = [sys.executable, "-m", "plefka", "infer", "example:espresso", "--evidence", "slow_flow=1", "--json"]
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    settings = {**os.environ, "PYTHONPATH": path, "PLEFKA_IMPORT": "my_methods"}
    done = subprocess.run([*command, "--method", "between"], capture_output=True, text=True, env=settings)
    assert done.returncode == 0, done.stderr
    found = pf.infer(ESPRESSO, {"slow_flow": 1}, "between")
    assert f'"log_likelihood": {found.log_likelihood:.8f}'[:-3] in done.stdout
    settings["PLEFKA_IMPORT"] = "no_such_module"
    done = subprocess.run([*command, "--method", "unknown"], capture_output=True, text=True, env=settings)
    assert done.returncode != 0
    assert "PLEFKA_IMPORT must name modules that can be imported" in done.stderr
