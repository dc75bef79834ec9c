"""What notebooks show of a fit."""

from typing import TYPE_CHECKING

import numpy as np

from plefka.tables.display import Content, page

if TYPE_CHECKING:
    from plefka.learning.fitted import Fitted


def fitted_html(fitted: "Fitted") -> str:
    """How learning ended, and some of its epochs."""
    about = [fitted.stopped.value, repr(fitted.network).strip("<>"), *(f"warning: {w}" for w in fitted.warnings)]
    shown = np.unique(np.linspace(0, fitted.epochs - 1, min(fitted.epochs, 10)).round().astype(int))
    names = ("epoch", "objective", "log_likelihood", "validation", "seconds")
    known = [name for name in names if name in fitted.history and np.isfinite(fitted.history[name]).any()]
    rows = [tuple(_epoch_text(name, fitted.history[name][k]) for name in known) for k in shown]
    header = [{"log_likelihood": "exact ln P"}.get(name, name) for name in known]
    return page(Content(f"Fitted by {fitted.method}: {fitted.epochs:,} epochs", about, header, rows, len(rows)))


def _epoch_text(name: str, value: np.ndarray) -> str:
    """One number; of a stack the best one."""
    best = float(np.fmax.reduce(np.atleast_1d(value)))
    return f"{best:.0f}" if name == "epoch" else f"{best:.1f}" if name == "seconds" else f"{best:.4f}"
