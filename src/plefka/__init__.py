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
    from plefka.questions.case_interview import Interview as Interview
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


# The public names of each module, which is loaded when one of them is first used, so that `import plefka` is quick.
_NAMES = {
    "expansion.series": ("Series", "series"),
    "files": ("FileFormat", "convert", "load", "load_evidence", "load_tables", "save"),
    "files.recognition": ("recognised",),
    "inference.check_verdict": ("Check",),
    "inference.infer": ("infer",),
    "inference.library": ("METHODS", "parse_method", "register", "unregister"),
    "inference.solution": ("InferenceFailed", "Solution"),
    "learning.fitted": ("Fitted", "Stopped"),
    "learning.fitting": ("fit",),
    "learning.process_group": ("join_processes",),
    "learning.scoring": ("Score", "score"),
    "mean_field.evaluate": ("free_energy",),
    "mean_field.free_energies": ("Functional",),
    "methods.method": ("Method",),
    "methods.posterior": ("Accuracy", "Posterior", "Status"),
    "networks.activations": ("Custom", "NoisyOr", "Sigmoid", "Table"),
    "networks.belief": ("BeliefNetwork",),
    "networks.boltzmann": ("BoltzmannMachine",),
    "networks.evidence": ("Likelihood",),
    "networks.examples": ("example", "example_names"),
    "networks.markov": ("MarkovNetwork",),
    "networks.units": ("Unit",),
    "questions.advice": ("Advice",),
    "questions.ask": ("ask",),
    "questions.bounds": ("Bounds", "bounds"),
    "questions.case_interview": ("Interview",),
    "questions.case_report": ("report",),
    "questions.counterfactuals": ("Counterfactuals", "counterfactuals"),
    "questions.diff": ("diff",),
    "questions.explain": ("Explanation", "explain"),
    "questions.joint": ("Joint", "joint"),
    "questions.lint": ("lint",),
    "questions.most_probable": ("most_probable",),
    "questions.most_probable_states": ("MostProbable",),
    "questions.sensitivity": ("sensitivity",),
    "questions.sensitivity_answer": ("Sensitivity",),
    "runtime.program_cache": ("keep_compiled",),
    "scale.infer_rows": ("infer_rows",),
    "scale.rows_done": ("RowsDone",),
    "scale.sweep": ("sweep",),
    "scale.validate": ("Validation", "validate"),
    "solvers.policies": ("Policy",),
}
_HOME = {name: f"plefka.{module}" for module, names in _NAMES.items() for name in names}
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
