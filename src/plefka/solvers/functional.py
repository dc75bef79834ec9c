"""What a free energy is to a solver: a functional of the means with a price; one is minimised, and one evaluated."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plefka.networks.activations import Activation
from plefka.networks.storage import Storage
from plefka.reduction.question import Question
from plefka.runtime.plain_module import PlainModule


class Functional(PlainModule):
    """A free energy of the means, G = G_0 + energy, that is minimised. A subclass defines `network_energy`.

    G_0 and soft evidence are added for it, and all derivatives are taken by JAX, of which its arrays are: `u` is
    (units, rows), and the energy one number for each row. Of a question, `model.weights.power_sums(y, z, ...)` are
    sum_j w_ij y_j, sum_j w_ij^2 z_j, ... over the parents of each unit, `model.h` are the biases, `model.activation`
    has `log_on` and `log_off`, and `model.counted` says whose term is part of the energy.

    >>> import jax.numpy as jnp
    >>> import plefka as pf
    >>> @pf.register("mean_field_of_fields")
    ... class OfFields(pf.Functional):
    ...     def network_energy(self, question, u):  # G11 of the paper
    ...         model = question.model
    ...         (x,) = model.weights.power_sums(u)
    ...         f, x = model.activation, model.activation.off_poles(x + model.h)
    ...         return -jnp.sum(model.counted * (u * f.log_on(x) + (1 - u) * f.log_off(x)), axis=0)
    >>> net, evidence = pf.example("espresso"), {"slow_flow": 1}
    >>> own, G11 = (pf.infer(net, evidence, method) for method in ("mean_field_of_fields", "G11"))
    >>> abs(own.log_likelihood - G11.log_likelihood) < 1e-9
    True
    >>> pf.unregister("mean_field_of_fields")
    """

    needs_tables: ClassVar[bool] = False  # all parents of a unit come in together
    predicts_by_field: ClassVar[bool] = True  # barren units by f at the mean field, as the paper would; else by <f>

    def fitted(self, question: Question) -> "Functional":
        """The functional with whatever it must know of the numbers of a question before computing."""
        return self

    def suited(self, storage: Storage) -> Storage:
        """The weights in the form that the formulas need."""
        return storage

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how it was computed."""
        return ()

    @property
    def is_bound(self) -> bool:
        """Whether -G never exceeds ln P(evidence)."""
        return False

    def is_bound_of(self, activation: Activation, most_parents: int) -> bool:
        """Whether -G never exceeds ln P(evidence) once fitted to units with so many parents at most."""
        return self.is_bound

    def exact_rows(self, question: Question) -> Any:
        """(rows,): where the minimum of G is -ln P(evidence) and its means are exact. Nowhere that is known."""
        return False

    @property
    def needs_pairs(self) -> bool:
        """Whether all pairs of units that share a child come in."""
        return False

    def units_without_leak(self, question: Question, u: Any = None) -> Any:
        """The units without a leak that make the free energy infinite, at the means u, or anywhere; None: none."""
        return None

    def powers(self, activation: Activation) -> int:
        """The highest power of a weight in the formulas: how many arguments power_sums takes."""
        return 1

    def row_work(self, size: int, num_edges: int, num_pairs: int) -> int:
        """How many numbers are held at once for one row."""
        return size + num_edges

    @abstractmethod
    def network_energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """What the units of the network add to G at the means u, for every row."""

    def smooth_network_energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """What the units of the network add to G, in a form whose second derivatives by u are right as well."""
        return self.network_energy(question, u)

    def energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """G - G_0 at the means u, for every row."""
        return self.network_energy(question, u) + question.tilt_energy(u)

    def smooth_energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        """G - G_0 at the means u, in a form whose second derivatives by u are right as well."""
        return self.smooth_network_energy(question, u) + question.tilt_energy(u)

    def slope(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """Its first derivatives, by the means of the units that are free."""
        return jnp.where(question.free, jax.grad(lambda u: self.smooth_energy(question, u).sum())(u), 0.0)

    def hessian(self, question: Question, u: Float[Array, "units rows"]) -> Callable:
        """Products with the second derivatives of the energy at u: z -> H z, right for the units that are free."""
        return lambda z: jax.grad(lambda u: jnp.vdot(self.slope(question, u), z))(u)

    def added_to(
        self, first: "Functional", question: Question, u: Float[Array, "units rows"]
    ) -> tuple[Any, Any, Callable]:
        """What this free energy adds to another at u, its derivatives by u, and products with the other's Hessian."""

        def added(u):
            found = self.smooth_energy(question, u) - first.smooth_energy(question, u)
            return found.sum(), found

        slope, found = jax.grad(added, has_aux=True)(u)
        return found, slope, first.hessian(question, u)

    def chance(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """How probable each unit is when its parents have the means u: what barren units are predicted by."""
        f, x = question.model.activation, question.model.h + question.model.weights.field_of(u)
        return f.probability(f.clip(jnp.where(question.barren, x, 1.0)))  # no pole of f where it does not matter

    def pair_contributions(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """What each unit contributes to the second order, of functionals that have one."""
        raise NotImplementedError

    def bias_slope(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        """d ln P / dh = -dG/dh at fixed means."""

        def energy(h):
            return self.smooth_energy(question.with_model(h=h), u).sum()

        return -jax.grad(energy)(jnp.broadcast_to(question.model.h, u.shape))


class Objective(NamedTuple):
    """The free energy that is minimised, and the one that is evaluated at the minimum, where that is another one."""

    minimised: Functional
    evaluated: Functional | None = None

    @property
    def last(self) -> Functional:
        """The one whose value is the answer."""
        return self.evaluated or self.minimised

    def prepared(self, question: Question, *, pairs: bool = False) -> Question:
        """The question with all that the functionals look up."""
        storage = self.last.suited(question.storage).prepared(
            pairs=pairs or self.last.needs_pairs or self.minimised.needs_pairs,
            tables=self.last.needs_tables or self.minimised.needs_tables,
        )
        return question if storage is question.storage else question.with_model(weights=storage)

    def opened(self, question: Question) -> Question:
        """A prepared question inside a computation."""
        powers = [functional.powers(question.model.activation) for functional in (self.minimised, self.last)]
        return question.opened(max(powers), pairs=self.last.needs_pairs)


def negative_entropy(u: Float[Array, "..."]) -> Float[Array, "..."]:
    """u ln u + (1 - u) ln(1 - u), unit by unit; 0 ln 0 = 0."""
    inner = (u > 0) & (u < 1)
    safe = jnp.where(inner, u, 0.5)
    return jnp.where(inner, safe * jnp.log(safe) + (1 - safe) * jnp.log1p(-safe), 0.0)


def entropy_term(question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
    """G_0 of the units that are free."""
    return jnp.where(question.free, negative_entropy(u), 0.0).sum(0)
