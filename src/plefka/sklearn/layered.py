"""What the estimators of belief networks share: hidden layers above the columns, and how these are learned."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from plefka.ensembles import around, named
from plefka.inference.solution import Solution
from plefka.learning.fitted import Fitted
from plefka.learning.fitting import learning_method
from plefka.learning.optimizers import adam
from plefka.methods.method import Method
from plefka.networks.activations import Activation, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.sklearn.learner import Learner, frequencies


@dataclass(eq=False, repr=False)
class LayeredLearner(Learner):
    """The parameters of both estimators; see `BeliefNetworkModel`."""

    _parameter_constraints: ClassVar[dict] = {
        **Learner._parameter_constraints,
        "layers": ["array-like"],
        "activation": [str, Activation, callable],
    }
    layers: Any = (1, 8)
    activation: str | Activation | Callable = "sigmoid"
    method: str | Method | None = None

    def _hidden_layers(self) -> tuple[int, ...]:
        layers = tuple(self.layers)
        if not layers or any(not isinstance(units, Integral) or units < 1 for units in layers):
            raise ValueError(f"layers must be the sizes of one hidden layer or more, top first; got {self.layers!r}.")
        return tuple(map(int, layers))

    def _start(self, X: np.ndarray, weights: np.ndarray, seed: int) -> BeliefNetwork:
        """Random weights, and biases with which the visible units have their frequencies in the weighted rows."""
        network = around(self._hidden_layers(), frequencies(X, weights), seed, as_activation(self.activation))
        names = self._names()
        return network if names is None else named(network, names)

    def _visible(self, network: BeliefNetwork) -> slice:
        return network.visible

    def _method(self) -> Method:
        return learning_method(self.method, self.activation)

    def _rules(self, network: BeliefNetwork, rows: np.ndarray, earlier: Fitted | None) -> tuple[Method, Any]:
        return self._method(), adam(self.learning_rate) if self.optimizer is None else self.optimizer

    def _infer(self, network: BeliefNetwork, X: np.ndarray) -> Solution:
        return self._solved(network, self._evidence(network, X), self._method())
