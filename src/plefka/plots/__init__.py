"""Pictures: from what was computed to a figure. Nothing here computes a posterior."""

from importlib.util import find_spec

from plefka.errors import MissingExtra

if find_spec("matplotlib") is None:
    raise MissingExtra("matplotlib", "plots", "drawing")

from plefka.plots.learning import features, history, image_shape
from plefka.plots.networks import network
from plefka.plots.style import check_name, save

__all__ = ["check_name", "features", "history", "image_shape", "network", "save"]


def __dir__() -> list[str]:
    return __all__
