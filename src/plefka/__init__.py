"""Inference and learning in networks of binary units: `infer(network, evidence, method) -> Solution`."""

from importlib import import_module
from typing import TYPE_CHECKING

from plefka.runtime.late_binding import CONTRADICTION, INFER, SAMPLE_BELIEFS, SAMPLE_MACHINE, supply
from plefka.runtime.version import __version__ as __version__

if TYPE_CHECKING:
    from plefka import bridges as bridges
    from plefka import ensembles as ensembles
    from plefka import plots as plots
    from plefka import progress as progress
    from plefka.expansion.series import Series as Series
    from plefka.expansion.series import series as series
    from plefka.files import FileFormat as FileFormat
    from plefka.files import convert as convert
    from plefka.files import load as load
    from plefka.files import load_evidence as load_evidence
    from plefka.files import load_tables as load_tables
    from plefka.files import save as save
    from plefka.files.recognition import recognised as recognised
    from plefka.inference.check_verdict import Check as Check
    from plefka.inference.infer import infer as infer
    from plefka.inference.library import METHODS as METHODS
    from plefka.inference.library import parse_method as parse_method
    from plefka.inference.library import register as register
    from plefka.inference.library import unregister as unregister
    from plefka.inference.solution import InferenceFailed as InferenceFailed
    from plefka.inference.solution import Solution as Solution
    from plefka.learning.fitted import Fitted as Fitted
    from plefka.learning.fitted import Stopped as Stopped
    from plefka.learning.fitting import fit as fit
    from plefka.learning.process_group import join_processes as join_processes
    from plefka.learning.scoring import Score as Score
    from plefka.learning.scoring import score as score
    from plefka.mean_field.evaluate import free_energy as free_energy
    from plefka.mean_field.free_energies import Functional as Functional
    from plefka.methods.method import Method as Method
    from plefka.methods.posterior import Accuracy as Accuracy
    from plefka.methods.posterior import Posterior as Posterior
    from plefka.methods.posterior import Status as Status
    from plefka.networks.activations import Custom as Custom
    from plefka.networks.activations import NoisyOr as NoisyOr
    from plefka.networks.activations import Sigmoid as Sigmoid
    from plefka.networks.activations import Table as Table
    from plefka.networks.belief import BeliefNetwork as BeliefNetwork
    from plefka.networks.boltzmann import BoltzmannMachine as BoltzmannMachine
    from plefka.networks.evidence import Likelihood as Likelihood
    from plefka.networks.examples import example as example
    from plefka.networks.examples import example_names as example_names
    from plefka.networks.markov import MarkovNetwork as MarkovNetwork
    from plefka.networks.units import Unit as Unit
    from plefka.questions.advice import Advice as Advice
    from plefka.questions.ask import ask as ask
    from plefka.questions.bounds import Bounds as Bounds
    from plefka.questions.bounds import bounds as bounds
    from plefka.questions.case_report import report as report
    from plefka.questions.counterfactuals import Counterfactuals as Counterfactuals
    from plefka.questions.counterfactuals import counterfactuals as counterfactuals
    from plefka.questions.diff import diff as diff
    from plefka.questions.explain import Explanation as Explanation
    from plefka.questions.explain import explain as explain
    from plefka.questions.joint import Joint as Joint
    from plefka.questions.joint import joint as joint
    from plefka.questions.lint import lint as lint
    from plefka.questions.most_probable import most_probable as most_probable
    from plefka.questions.most_probable_states import MostProbable as MostProbable
    from plefka.questions.sensitivity import sensitivity as sensitivity
    from plefka.questions.sensitivity_answer import Sensitivity as Sensitivity
    from plefka.runtime.program_cache import keep_compiled as keep_compiled
    from plefka.scale.infer_rows import infer_rows as infer_rows
    from plefka.scale.rows_done import RowsDone as RowsDone
    from plefka.scale.sweep import sweep as sweep
    from plefka.scale.validate import Validation as Validation
    from plefka.scale.validate import validate as validate
    from plefka.solvers.policies import Policy as Policy


# Each public name and the module it is loaded from on first use, so that `import plefka` is quick.
_HOME = {
    "Advice": "plefka.questions.advice",
    "BeliefNetwork": "plefka.networks.belief",
    "BoltzmannMachine": "plefka.networks.boltzmann",
    "Check": "plefka.inference.check_verdict",
    "Bounds": "plefka.questions.bounds",
    "Counterfactuals": "plefka.questions.counterfactuals",
    "Custom": "plefka.networks.activations",
    "Explanation": "plefka.questions.explain",
    "FileFormat": "plefka.files",
    "Fitted": "plefka.learning.fitted",
    "Functional": "plefka.mean_field.free_energies",
    "InferenceFailed": "plefka.inference.solution",
    "Joint": "plefka.questions.joint",
    "Likelihood": "plefka.networks.evidence",
    "METHODS": "plefka.inference.library",
    "MarkovNetwork": "plefka.networks.markov",
    "Method": "plefka.methods.method",
    "MostProbable": "plefka.questions.most_probable_states",
    "NoisyOr": "plefka.networks.activations",
    "Policy": "plefka.solvers.policies",
    "Posterior": "plefka.methods.posterior",
    "RowsDone": "plefka.scale.rows_done",
    "Score": "plefka.learning.scoring",
    "Sensitivity": "plefka.questions.sensitivity_answer",
    "Series": "plefka.expansion.series",
    "Sigmoid": "plefka.networks.activations",
    "Accuracy": "plefka.methods.posterior",
    "Solution": "plefka.inference.solution",
    "Status": "plefka.methods.posterior",
    "Stopped": "plefka.learning.fitted",
    "Table": "plefka.networks.activations",
    "Unit": "plefka.networks.units",
    "Validation": "plefka.scale.validate",
    "ask": "plefka.questions.ask",
    "bounds": "plefka.questions.bounds",
    "convert": "plefka.files",
    "counterfactuals": "plefka.questions.counterfactuals",
    "diff": "plefka.questions.diff",
    "example": "plefka.networks.examples",
    "example_names": "plefka.networks.examples",
    "explain": "plefka.questions.explain",
    "fit": "plefka.learning.fitting",
    "free_energy": "plefka.mean_field.evaluate",
    "infer": "plefka.inference.infer",
    "infer_rows": "plefka.scale.infer_rows",
    "joint": "plefka.questions.joint",
    "join_processes": "plefka.learning.process_group",
    "keep_compiled": "plefka.runtime.program_cache",
    "lint": "plefka.questions.lint",
    "load": "plefka.files",
    "load_evidence": "plefka.files",
    "load_tables": "plefka.files",
    "most_probable": "plefka.questions.most_probable",
    "parse_method": "plefka.inference.library",
    "recognised": "plefka.files.recognition",
    "register": "plefka.inference.library",
    "save": "plefka.files",
    "score": "plefka.learning.scoring",
    "report": "plefka.questions.case_report",
    "sensitivity": "plefka.questions.sensitivity",
    "series": "plefka.expansion.series",
    "sweep": "plefka.scale.sweep",
    "unregister": "plefka.inference.library",
    "validate": "plefka.scale.validate",
}
_MODULES = ("bridges", "ensembles", "errors", "plots", "progress")

for _purpose, _module, _function in (
    (SAMPLE_BELIEFS, "plefka.sampling.samples", "sample_beliefs"),
    (SAMPLE_MACHINE, "plefka.sampling.samples", "sample_machine"),
    (CONTRADICTION, "plefka.inference.contradictions", "sentence"),
    (INFER, "plefka.inference.infer", "infer"),
):
    supply(_purpose, _module, _function)

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
