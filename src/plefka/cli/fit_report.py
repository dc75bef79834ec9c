"""What `plefka fit` says when it has learned."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from plefka.cli import output

if TYPE_CHECKING:
    from plefka.learning.fitted import Fitted


def fit_content(fitted: "Fitted", rows: int, distinct: int | None, data: Path, out: Path) -> dict[str, Any]:
    import numpy as np

    history = fitted.history
    held_out = np.isfinite(history["validation"]).any()
    kept = int(np.nanargmax(history["validation"])) if held_out else -1  # the network is that of this epoch
    return {
        "data": str(data),
        "network": str(out),
        "layers": list(fitted.network.layers or ()),
        "activation": getattr(fitted.network.activation, "name", None),
        "kind": "belief network" if fitted.network.is_normalised else "Boltzmann machine",
        "units": fitted.network.size,
        "method": str(fitted.method),
        "is_bound": fitted.accuracy in ("exact", "lower bound"),
        "accuracy": str(fitted.accuracy),
        "kind_of_objective": fitted.kind_of_objective,
        "rows": rows,
        "distinct_rows": distinct,
        "epochs": fitted.epochs,
        "kept_epoch": int(history["epoch"][kept]),
        "objective": float(history["objective"][kept]),
        "log_likelihood": float(history["log_likelihood"][kept]),
        "validation": float(history["validation"][kept]),
        "stopped": fitted.stopped.name.lower(),
        "message": fitted.stopped.value,
        "warnings": fitted.warnings,
        "history": {name: column.tolist() for name, column in history.items()},
    }


def print_fit(content: dict[str, Any], pictures: list[Path | None]) -> None:
    is_machine = content["kind"] == "Boltzmann machine"
    exact, validation = content["log_likelihood"], content["validation"]
    kept = f", that of epoch {content['kept_epoch']} kept" if content["kept_epoch"] != content["epochs"] else ""
    distinct = "streamed" if content["distinct_rows"] is None else f"{content['distinct_rows']:,} of them distinct"
    rows = [
        ("rows", f"{content['rows']:,}, {distinct}"),
        ("epochs", f"{content['epochs']:,}{kept}"),
        (
            f"{_objective(content)} by {content['method']}",
            f"{content['objective']:.4f} ({content['kind_of_objective']})",
        ),
        ("exact ln P per row", f"{exact:.4f}" if exact == exact else "not computed: too many states"),
        *([("on validation rows", f"{validation:.4f}")] if validation == validation else []),
        ("stopped", content["message"].split(";")[0]),
        ("written", ", ".join(map(str, [content["network"], *filter(None, pictures)]))),
    ]
    shape = " x ".join(map(str, content["layers"] or [content["units"]]))
    title = f"Boltzmann machine of {shape} units" if is_machine else f"{shape} {content['activation']} units"
    output.print_table(("network", title), rows)


def _objective(content: dict[str, Any]) -> str:
    """What the history calls its objective."""
    return "ln P of units given all others, per row," if content["method"] == "pseudolikelihood" else "ln P per row"
