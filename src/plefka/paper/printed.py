"""What the paper prints, from paper.toml."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def paper() -> dict[str, Any]:
    """The whole file."""
    return tomllib.loads(files("plefka.paper").joinpath("paper.toml").read_text(encoding="utf-8"))


def printed_mean(table: str, ensemble: str, observed: str, scheme: str) -> float | None:
    """The printed mean of E, or None for a scheme that the paper does not have."""
    return paper()[table].get(ensemble, {}).get(observed, {}).get(scheme)


def printed_networks(table: str) -> int:
    """Over how many networks the paper's means are."""
    return paper()[table]["networks"]


def decimals(table: str) -> int:
    """To how many digits behind the point a table is printed."""
    return {"table1": 4, "table2": 3}[table]
