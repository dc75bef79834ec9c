"""The paper's schemes: Plefka's expansion to order M of the energy's Taylor polynomial of degree C (51).

That is section 3.3.1 of the paper. docs/misprints.md has the second order, which is misprinted in (76) and (77).
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from plefka.networks.activations import Activation
from plefka.reduction.question import Question
from plefka.solvers.functional import Functional


class Taylor(Functional):
    """G_MC of (51), with the Taylor polynomial of degree C in the first order and of C2 in the second."""

    order: int = eqx.field(static=True)
    degree: int = eqx.field(static=True)
    second_degree: int | None = eqx.field(static=True, default=None)

    @property
    def needs_pairs(self) -> bool:
        return self.second_degree == 2

    def powers(self, activation: Activation) -> int:
        curved = self.needs_pairs and not activation.has_linear_log_odds
        return 4 if curved else max(self.degree, self.order, 1)

    def row_work(self, size: int, num_edges: int, num_pairs: int) -> int:
        return size + (num_pairs if self.needs_pairs else 0)

    def network_energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        W, h, r = question.model.weights, question.model.h, question.model.counted
        curved = self.needs_pairs and not question.model.activation.has_linear_log_odds
        v = u * (1 - u)  # variance of a binary unit
        cumulants = [u, v, v * (1 - 2 * u), v * (1 - 6 * v)][: max(self.degree, self.order, 1)]  # below (67)
        x, *kappa = W.power_sums(*cumulants)
        x = question.model.activation.off_poles(x + h)  # the mean field

        degree = max(self.degree, self.order, self.second_degree or 0)
        tower = question.model.activation.log_ratios(x, degree)
        density = sum(
            (u * tower[k][0] + (1 - u) * tower[k][1]) * moment  # (68), (69), (72)
            for k, moment in moments(kappa, self.degree).items()
        )
        E = -jnp.sum(r * density, axis=0)
        if self.order == 1:
            return E

        (on1, off1), k2 = tower[1], kappa[0]
        a = r * (on1 - off1)
        if self.second_degree == 1:
            return E - 0.5 * (v * a**2 * k2).sum(0)

        on2, off2 = tower[2]
        d, g = r * (on2 - off2), r * (u * on2 + (1 - u) * off2)
        second = W.taylor_pair_sum(v, a, d, 1 - 2 * u, g)
        if curved:
            k2_of_squares = W.power_sums(None, None, None, v**2)[3]
            second = second + 0.5 * (d**2 * v * (k2**2 - k2_of_squares)).sum(0)
        return E - 0.5 * second


def moments(kappa: list[Float[Array, "units rows"]], degree: int) -> dict[int, Float[Array, "units rows"] | float]:
    """{k: <X^k> / k!} from the cumulants kappa_2, kappa_3, ..., which add over the parents; <X> = 0.     (64)-(67)"""
    found: dict = {0: 1.0}
    if degree >= 2:
        found[2] = kappa[0] / 2
    if degree >= 3:
        found[3] = kappa[1] / 6
    if degree >= 4:
        found[4] = (kappa[2] + 3 * kappa[0] ** 2) / 24
    return found
