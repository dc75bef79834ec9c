"""Estimators in scikit-learn's manner: a density model that transforms, and a classifier by Bayes' rule."""

from plefka.errors import MissingExtra

try:
    import sklearn as _  # noqa: F401
except ImportError as error:
    raise MissingExtra("scikit-learn", "learn", "plefka.sklearn") from error

from plefka.sklearn.classifier import BeliefNetworkClassifier
from plefka.sklearn.model import BeliefNetworkModel

__all__ = ["BeliefNetworkClassifier", "BeliefNetworkModel"]
