"""Pictures: from what was computed to a figure. Nothing here computes a posterior.

Every function returns the Axes that it drew on; `ax=` names axes of your own, of a light or a dark style, and without
it there is a new figure. `save` writes what was drawn.

>>> import plefka as pf
>>> ax = pf.plots.ranking(pf.infer(pf.example("espresso"), {"slow_flow": 1}), top=5)
>>> len(ax.patches)
5
"""

from importlib.util import find_spec

from plefka.errors import MissingExtra

if find_spec("matplotlib") is None:
    raise MissingExtra("matplotlib", "plots", "drawing")

from plefka.plots.answers import calibration, ranking, series, tornado
from plefka.plots.learning_curves import features, history
from plefka.plots.method_comparison import compare
from plefka.plots.network_graph import network
from plefka.plots.style import save

__all__ = ["calibration", "compare", "features", "history", "network", "ranking", "save", "series", "tornado"]


def __dir__() -> list[str]:
    return __all__
