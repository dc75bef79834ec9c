"""Inference and learning in networks of binary units: `infer(network, evidence, method) -> Solution`."""

import os
from importlib import import_module

from plefka.runtime.late_binding import CONTRADICTION, INFER, SAMPLE_BELIEFS, SAMPLE_MACHINE, supply
from plefka.runtime.version import __version__ as __version__

# A module is loaded when one of its names is first used, so that `import plefka` is quick.
with open(os.path.join(__path__[0], "__init__.pyi"), encoding="utf-8") as _stub:
    _HOME = {name: module for _, module, _, name, *_ in (line.split() for line in _stub if line.startswith("from "))}

for _purpose, _module, _function in (
    (SAMPLE_BELIEFS, "plefka.sampling.samples", "sample_beliefs"),
    (SAMPLE_MACHINE, "plefka.sampling.samples", "sample_machine"),
    (CONTRADICTION, "plefka.inference.contradictions", "sentence"),
    (INFER, "plefka.inference.infer", "infer"),
):
    supply(_purpose, _module, _function)

__all__ = [name for name in _HOME if name != "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"plefka has no {name!r}")
    if _HOME[name] == "plefka":
        return import_module(f"plefka.{name}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
