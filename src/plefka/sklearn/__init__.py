"""Estimators in scikit-learn's manner: density models that transform, and a classifier by Bayes' rule."""

from importlib.util import find_spec

from plefka.errors import MissingExtra

if find_spec("sklearn") is None:
    raise MissingExtra("scikit-learn", "learn", "plefka.sklearn")

from plefka.sklearn.belief_estimators import BeliefNetworkClassifier, BeliefNetworkModel
from plefka.sklearn.density_model import DensityModel
from plefka.sklearn.imputer import BinaryImputer
from plefka.sklearn.machine_estimators import BoltzmannMachineModel, RestrictedBoltzmannMachine

__all__ = [
    "BeliefNetworkClassifier",
    "BeliefNetworkModel",
    "BinaryImputer",
    "BoltzmannMachineModel",
    "DensityModel",
    "RestrictedBoltzmannMachine",
]
