"""What a series says of itself, in words and in a table."""

from typing import TYPE_CHECKING

import numpy as np

from plefka.tables.display import Content, page

if TYPE_CHECKING:
    from plefka.expansion.series import Series

SERIES_COLUMNS = ("order", "coefficient", "digits", "G up to this order", "error")
ENDS = "The hidden units do not interact: the series ends after the first order and is exact."
TOO_SHORT = "The radius of convergence is estimated from order 12 on; compute the series to a higher order."


def verdict_of(series: "Series") -> str:
    """Whether it converges at gamma = 1, and how that is known."""
    if series.radius == np.inf:
        return ENDS
    if np.isnan(series.radius):
        return TOO_SHORT
    return f"{_outcome(series)} {_ground(series)}"


def _outcome(series: "Series") -> str:
    if series.converges is None:
        return "It is not decided whether the series converges at gamma = 1."
    if series.converges:
        return f"The series converges at gamma = 1: its radius of convergence is {series.radius:.3g}."
    return (
        f"The series diverges at gamma = 1: its radius of convergence is {series.radius:.3g}. Partial sums "
        "come close to G(u, 1) at first and then leave it; series.pade() resums them."
    )


def _ground(series: "Series") -> str:
    estimates = f"{series.radius_by_ratios:.3g} from ratios of coefficients and {series.radius_by_poles:.3g} from Padé"
    if not series.is_established:
        return f"The radius is only estimated, as {estimates} poles."
    if series.singularity is None:
        return (
            f"Circles around 0 show that the nearest singularity is at this distance, to a hundredth. Estimates from "
            f"the coefficients alone are {estimates} poles."
        )
    at = series.singularity
    return (
        f"The nearest singularities, at gamma = {at.real:.4g} ± {at.imag:.4g}i, were solved for, and no other one was "
        f"found closer to 0. Estimates from the coefficients alone are {estimates} poles."
    )


def rows_of(series: "Series") -> list[tuple[str, ...]]:
    """A row for each order."""
    numbers = zip(series.coefficients, series.digits, series.partial_sums, series.partial_sums - series.exact)
    return [
        (str(n), f"{c:+.6e}", f"{digits:.0f}", f"{total:.8g}", f"{error:+.1e}")
        for n, (c, digits, total, error) in enumerate(numbers)
    ]


def series_html(series: "Series") -> str:
    """The verdict, and every order."""
    rows = rows_of(series)
    return page(Content(repr(series).strip("<>"), [series.verdict], SERIES_COLUMNS, rows, len(rows), "orders"))
