"""What `plefka reproduce` computes: the parts of the paper, in full or quick, and which rows are of a quick run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from plefka.paper import error_and_time, figure_10, radius, studies
from plefka.paper import tables_and_figures as tables
from plefka.paper.experiment_settings import PARTS, Experiment, Radii, Study, TruncatedRadii, spelled
from plefka.paper.store import StoredRows

NETWORKS_PER_BLOCK = 2000  # networks: two chunks, one for each of two cores
COUNTS = {"networks": "networks in each column", "starts": "starts", "epochs": "epochs"}  # settings that may be small


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    tables: int  # networks in each column
    studies: int  # networks beside the tables
    policies: int
    max_steps: int  # of a solve in the tables
    study_steps: int  # and beside them
    step_sizes: tuple[float, ...]  # of Adam, while bars are learned
    starts: int
    epochs: int
    series: int  # networks in each column of the paper whose radius of convergence is measured
    scaled_series: int  # and for each scale of weights


FULL = Size(
    10_000, 2000, 1000, max_steps=1000, study_steps=300,
    step_sizes=(0.1, 0.05, 0.2, 0.02, 0.4, 0.01), starts=5, epochs=200, series=400, scaled_series=80,
)  # fmt: skip
QUICK_SIZE = Size(
    500, 130, 130, max_steps=300, study_steps=100,
    step_sizes=(0.05,), starts=3, epochs=40, series=12, scaled_series=4,
)  # fmt: skip


def with_networks(size: Size, networks: int) -> Size:
    """Tables of so many networks, and nothing beside them larger than that."""
    others = ("studies", "policies", "series", "scaled_series")
    return replace(size, tables=networks, **{name: min(getattr(size, name), networks) for name in others})


def experiments(parts: Iterable[str], size: Size, seed: int) -> list[Experiment]:
    """The experiments that the parts of the paper need, each once and in its order."""
    columns_of = {
        "table1": (tables.TABLE1, size.tables, size.max_steps),
        "table2": (tables.TABLE2, size.tables, size.max_steps),
        "misprints": (studies.MISPRINT_COLUMNS, size.studies, size.study_steps),
        "variants": (studies.VARIANT_COLUMNS, size.studies, size.study_steps),
        "policies": (studies.POLICY_COLUMNS, size.policies, size.study_steps),
        "sequential": (studies.LARGE_SIGMOID, size.tables, size.study_steps),
    }
    everything: dict[str, Experiment] = {
        **{
            name: Study(name, columns, count, min(NETWORKS_PER_BLOCK, count), steps, seed)
            for name, (columns, count, steps) in columns_of.items()
        },
        "learning": figure_10.settings(size.step_sizes, size.starts, size.epochs, seed),
        "learning_beyond": figure_10.settings_beyond(size.starts, size.epochs, seed),
        "radius": Radii("radius", radius.GROUPS, size.series, size.scaled_series, radius.ORDER, seed),
        "truncated": TruncatedRadii(  # whose degrees are those of the paper's schemes, on the same networks
            "truncated", radius.GROUPS, -(-size.series // 2), -(-size.scaled_series // 4), radius.ORDER, seed
        ),
        "methods": error_and_time.trial(size.studies, seed),
    }
    wanted = {name for part in parts for name in PARTS[part]}
    return [experiment for name, experiment in everything.items() if name in wanted]


def quick_label(everything: Mapping[str, StoredRows]) -> str | None:
    """A paragraph about what is smaller than in the full run; None where nothing is."""
    full = {experiment.name: spelled(experiment) for experiment in experiments(PARTS, FULL, 0)}
    smaller = []
    for name, rows in everything.items():
        counts = [(rows.settings[key], words, full[name][key]) for key, words in COUNTS.items() if key in full[name]]
        found = [f"{count:,} {words} instead of {whole:,}" for count, words, whole in counts if count < whole]
        smaller += [f"{name} has {' and '.join(found)}"] if found else []
    if not smaller:
        return None
    return (
        f"This is a quick run, smaller than the full one: {'; '.join(smaller)}. Its standard errors are larger, its "
        "solves may end earlier, and a claim that holds in the full run may fail here by chance. For the full run, use "
        "plefka reproduce without --quick and --networks."
    )
