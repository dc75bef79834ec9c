"""The code that rows of experiments depend on: most modules of this room only draw rows."""

from pathlib import Path

from plefka.runtime.provenance import PACKAGE, source

COMPUTING = (
    "as_printed",
    "compute",
    "learn_bars",
    "random_networks",
    "radii",
    "experiment_settings",
    "summary",
    "trial",
)


def code_digest(package: Path = PACKAGE) -> str:
    """Another one for every change of the code that computes rows."""
    return source(package, tuple(f"paper/{name}.py" for name in COMPUTING))
