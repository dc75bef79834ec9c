"""Inference and learning in networks of binary units: `infer(network, evidence, method) -> Solution`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plefka import bridges as bridges
    from plefka import ensembles as ensembles
    from plefka import plots as plots
    from plefka import progress as progress
    from plefka.activations import Custom as Custom
    from plefka.activations import NoisyOr as NoisyOr
    from plefka.activations import Sigmoid as Sigmoid
    from plefka.activations import Table as Table
    from plefka.asking import Advice as Advice
    from plefka.asking import ask as ask
    from plefka.bounding.both import Bounds as Bounds
    from plefka.bounding.both import bounds as bounds
    from plefka.cache import keep_compiled as keep_compiled
    from plefka.evidence import Likelihood as Likelihood
    from plefka.examples import example as example
    from plefka.examples import example_names as example_names
    from plefka.expansion.series import Series as Series
    from plefka.expansion.series import series as series
    from plefka.explaining import Explanation as Explanation
    from plefka.explaining import explain as explain
    from plefka.formats import convert as convert
    from plefka.formats import load as load
    from plefka.formats import load_evidence as load_evidence
    from plefka.formats import load_tables as load_tables
    from plefka.formats import save as save
    from plefka.free_energies.evaluate import free_energy as free_energy
    from plefka.free_energies.functional import Functional as Functional
    from plefka.inference import infer as infer
    from plefka.learning.fitted import Fitted as Fitted
    from plefka.learning.fitted import Stopped as Stopped
    from plefka.learning.fitting import fit as fit
    from plefka.learning.scoring import Score as Score
    from plefka.learning.scoring import score as score
    from plefka.methods import METHODS as METHODS
    from plefka.methods import Method as Method
    from plefka.methods import parse_method as parse_method
    from plefka.methods import register as register
    from plefka.methods import unregister as unregister
    from plefka.networks.belief import BeliefNetwork as BeliefNetwork
    from plefka.networks.boltzmann import BoltzmannMachine as BoltzmannMachine
    from plefka.networks.units import Unit as Unit
    from plefka.posterior import Accuracy as Accuracy
    from plefka.posterior import Posterior as Posterior
    from plefka.recognition import recognised as recognised
    from plefka.rows.done import RowsDone as RowsDone
    from plefka.rows.infer_rows import infer_rows as infer_rows
    from plefka.sampling.verdict import Check as Check
    from plefka.solution import InferenceFailed as InferenceFailed
    from plefka.solution import Solution as Solution
    from plefka.solution import Status as Status
    from plefka.solvers.loop import Policy as Policy
    from plefka.sweeping import sweep as sweep

__version__ = "0.1.0"

# Each public name and the module it is loaded from on first use, so that `import plefka` is quick.
_HOME = {
    "Advice": "plefka.asking",
    "BeliefNetwork": "plefka.networks.belief",
    "BoltzmannMachine": "plefka.networks.boltzmann",
    "Check": "plefka.sampling.verdict",
    "Bounds": "plefka.bounding.both",
    "Custom": "plefka.activations",
    "Explanation": "plefka.explaining",
    "Fitted": "plefka.learning.fitted",
    "Functional": "plefka.free_energies.functional",
    "InferenceFailed": "plefka.solution",
    "Likelihood": "plefka.evidence",
    "METHODS": "plefka.methods",
    "Method": "plefka.methods",
    "NoisyOr": "plefka.activations",
    "Policy": "plefka.solvers.loop",
    "Posterior": "plefka.posterior",
    "RowsDone": "plefka.rows.done",
    "Score": "plefka.learning.scoring",
    "Series": "plefka.expansion.series",
    "Sigmoid": "plefka.activations",
    "Accuracy": "plefka.posterior",
    "Solution": "plefka.solution",
    "Status": "plefka.solution",
    "Stopped": "plefka.learning.fitted",
    "Table": "plefka.activations",
    "Unit": "plefka.networks.units",
    "ask": "plefka.asking",
    "bounds": "plefka.bounding.both",
    "convert": "plefka.formats",
    "example": "plefka.examples",
    "example_names": "plefka.examples",
    "explain": "plefka.explaining",
    "fit": "plefka.learning.fitting",
    "free_energy": "plefka.free_energies.evaluate",
    "infer": "plefka.inference",
    "infer_rows": "plefka.rows.infer_rows",
    "keep_compiled": "plefka.cache",
    "load": "plefka.formats",
    "load_evidence": "plefka.formats",
    "load_tables": "plefka.formats",
    "parse_method": "plefka.methods",
    "recognised": "plefka.recognition",
    "register": "plefka.methods",
    "save": "plefka.formats",
    "score": "plefka.learning.scoring",
    "series": "plefka.expansion.series",
    "sweep": "plefka.sweeping",
    "unregister": "plefka.methods",
}
_MODULES = ("bridges", "ensembles", "errors", "plots", "progress")

__all__ = [*_HOME, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str):
    if name in _MODULES:
        return import_module(f"plefka.{name}")
    if name not in _HOME:
        raise AttributeError(f"plefka has no {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
