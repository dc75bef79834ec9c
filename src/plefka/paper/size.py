"""Whether rows are those of the full run, or of a quick one that is to be read with care."""

from collections.abc import Mapping
from typing import Any

from plefka.paper import plan
from plefka.paper.experiment_settings import PARTS, spelled
from plefka.paper.store import StoredRows

COUNTS = {"networks": "networks in each column", "starts": "starts", "epochs": "epochs"}  # settings that may be small


def quick_label(everything: Mapping[str, StoredRows]) -> str | None:
    """A paragraph about what is smaller than in the full run; None where nothing is."""
    full = {experiment.name: spelled(experiment) for experiment in plan.experiments(PARTS, plan.FULL, 0)}
    smaller = [words for name, rows in everything.items() if (words := _smaller(name, rows.settings, full[name]))]
    if not smaller:
        return None
    return (
        f"This is a quick run, smaller than the full one: {'; '.join(smaller)}. Its standard errors are larger, its "
        "solves may end earlier, and a claim that holds in the full run may fail here by chance. For the full run, use "
        "plefka reproduce without --quick and --networks."
    )


def _smaller(name: str, settings: Mapping[str, Any], full: Mapping[str, Any]) -> str:
    """'table1 has 500 networks in each column instead of 10,000', or nothing."""
    found = [
        f"{settings[key]:,} {words} instead of {full[key]:,}"
        for key, words in COUNTS.items()
        if key in full and settings[key] < full[key]
    ]
    return f"{name} has {' and '.join(found)}" if found else ""
