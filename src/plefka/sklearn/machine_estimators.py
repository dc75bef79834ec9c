"""RestrictedBoltzmannMachine and BoltzmannMachineModel: the density of binary rows, by units with symmetric couplings.

Given a row, units that are left are summed over exactly where these sums are short, as they are where nothing is
missing, and by a method elsewhere. ln Z of the free machine is exact where that is quick, and else sampled.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from plefka.ensembles import machine_around
from plefka.exact.exact_method import Exact
from plefka.inference.library import parse_method
from plefka.learning import of_machines
from plefka.learning.annealed import LogPartitions, log_partitions
from plefka.learning.fitted import Fitted
from plefka.learning.patterns import as_patterns
from plefka.methods.for_learning import ForLearning
from plefka.methods.method import Method
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.sklearn.density import LearnedDensity
from plefka.sklearn.learner import Learner, frequencies

SCORE_WORK = 2**19  # states times units of a row that is summed over: a hundredth of a second
SCORE_SECONDS = 1.0  # seconds of an exact ln Z of the free machine
RUNS, TEMPERATURES = 100, 1000  # of the annealing that estimates it elsewhere
ROW_RUNS, ROW_TEMPERATURES = 25, 200  # of the annealing of a row that leaves many units
APPROXIMATE = "G2"  # for rows that leave many units, where the method of learning has no posterior


@dataclass(eq=False, repr=False)
class MachineModel(LearnedDensity):
    """The parameters of both estimators; see `RestrictedBoltzmannMachine`."""

    _parameter_constraints: ClassVar[dict] = {
        **Learner._parameter_constraints,
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
    }
    is_restricted: ClassVar[bool]
    n_hidden: int = 64
    method: str | Method | None = None

    # ---- learning ----------------------------------------------------------------------------------------------------

    def _start(self, X: np.ndarray, weights: np.ndarray, seed: int) -> BoltzmannMachine:
        """Independent columns with their frequencies in the weighted rows, and small random weights of hidden units."""
        on = frequencies(X, weights)
        return machine_around(self.n_hidden, on, seed, restricted=self.is_restricted, names=self._names())

    def _visible(self, network: BoltzmannMachine) -> slice:
        return slice(0, self.n_features_in_)

    def _rules(self, network: BoltzmannMachine, rows: np.ndarray, earlier: Fitted | None) -> tuple[Method, Any]:
        """Those of `fit`. Learning goes on by the method and with the kind of steps that it began with."""
        if self.method is not None:
            method = parse_method(self.method)
        else:
            patterns = as_patterns(network, rows)
            usual = of_machines.default(network, patterns, self.epochs, self.batch_size)
            method = usual if earlier is None else earlier.method
        if earlier is None:
            self._steps = of_machines.optimizers_of(method, is_complete=not np.isnan(rows).any())
        if self.optimizer is not None:
            return method, self.optimizer
        return method, self._steps() if self.learning_rate is None else self._steps(self.learning_rate)

    def _keep(self, fitted: Fitted, history: dict[str, np.ndarray]):
        vars(self).pop("_free", None)  # of an earlier network
        return super()._keep(fitted, history)

    # ---- the density -------------------------------------------------------------------------------------------------

    @cached_property
    def _free(self) -> LogPartitions:
        """ln Z of the machine of which nothing is observed, computed when it is first asked for."""
        nothing, seed = np.full((1, self.network_.size), np.nan), (self._first_seed,)
        seconds = np.inf if isinstance(self.fitted_.method, Exact) else SCORE_SECONDS
        return log_partitions(self.network_, nothing, seed, RUNS, TEMPERATURES, seconds=seconds)

    @property
    def machine_(self) -> BoltzmannMachine:
        """The machine that was learned."""
        check_is_fitted(self)
        return self.network_

    @property
    def log_partition_(self) -> float:
        """ln Z of the machine: exact where that is quick, else an estimate by annealed importance sampling."""
        check_is_fitted(self)
        return float(self._free.value[0])

    @property
    def log_partition_error_(self) -> float:
        """The standard error of `log_partition_`; 0 where that is exact."""
        check_is_fitted(self)
        return float(self._free.error[0])

    def _is_bound(self) -> bool:
        """Whether every sum is exact: no row leaves more states than the free machine has."""
        nothing = np.full((1, self.n_features_in_), np.nan)
        return isinstance(self.fitted_.method, Exact) or bool(self._is_short(nothing).all())

    def _log_likelihood(self, rows: np.ndarray) -> np.ndarray:
        """ln Z with each row clamped, exact where its sum is short and else annealed, less that of the free machine."""
        machine, evidence, short = self.network_, self._evidence(self.network_, rows), self._is_short(rows)
        found = np.zeros(len(rows))
        if short.any():
            found[short] = self._solved(machine, evidence[short], "exact").log_partition
        if not short.all():
            seed = self._first_seed, 1
            found[~short] = log_partitions(machine, evidence[~short], seed, ROW_RUNS, ROW_TEMPERATURES).value
        return found - self.log_partition_

    # ---- units given rows --------------------------------------------------------------------------------------------

    def _means(self, rows: np.ndarray) -> np.ndarray:
        machine, evidence, short = self.network_, self._evidence(self.network_, rows), self._is_short(rows)
        found, own = np.zeros(evidence.shape), self.fitted_.method
        for some, method in ((short, "exact"), (~short, APPROXIMATE if isinstance(own, ForLearning) else own)):
            if some.any():
                found[some] = self._solved(machine, evidence[some], method).means
        return found

    def _is_short(self, rows: np.ndarray) -> np.ndarray:
        """Of every row, whether the sum over the states of the units that it leaves is."""
        missing, hidden = np.isnan(rows).sum(axis=1), self._n_features_out
        bits = np.minimum(missing, hidden) if self.is_restricted else np.maximum(missing + hidden - 1, 0)
        return np.exp2(bits) * (missing + hidden) <= SCORE_WORK


class RestrictedBoltzmannMachine(MachineModel):
    """P(v, h) = exp(v'W h + b'v + c'h) / Z: binary rows v, and hidden units h that are coupled to them alone.

    Rows consist of 0 and 1, with nan for what is missing, when learning and afterwards.

    **Parameters:**

    - `n_hidden`: the number of hidden units.
    - `method`: what the averages of learning come from, as in `plefka.fit`: "exact", "persistent", "bethe", "G1" or
        "G2". None is exact where that is quick, and else persistent, which is Gibbs sampling with chains that go on
        from step to step.
    - `epochs`, `batch_size`: how often all rows are seen, and how many distinct ones in a step; None for 32.
    - `optimizer`, `learning_rate`: any optimiser of optax, or None for that of `plefka.fit`; it has steps of this size,
        or None for its own.
    - `l1`, `l2`: penalties on the weights.
    - `validation_fraction`, `patience`: the fraction of rows that is held out, and the epochs without improvement on
        them after which learning stops.
    - `n_starts`, `callback`, `checkpoint`: as of `BeliefNetworkModel`.
    - `binarize`: x > binarize becomes 1 and other values 0; None for rows that are binary already.
    - `random_state`: where the weights start from, the order of the rows, and what is drawn for `log_partition_`.
    - `verbose`: show a progress bar on standard error.

    `transform` and `score_samples` sum over hidden units exactly where nothing is missing. Of a row with missing values
    they sum over all states where these are few, and else take the method if it is G1, G2 or bethe, and G2 if not.

    **Attributes:** `machine_` (also `network_`), `log_partition_` and `log_partition_error_` (ln Z, computed when it is
    first needed, by annealed importance sampling where the exact sum takes more than a second), `fitted_` (what
    `plefka.fit` returned last), `history_` and `learning_curve_` (arrays and a DataFrame with an entry for each epoch),
    `n_iter_` (epochs so far), `score_is_bound_` (only where all sums are exact), `n_features_in_`, `feature_names_in_`.

    >>> from plefka.sklearn import RestrictedBoltzmannMachine
    >>> rows = [[1, 1, 0, 0], [0, 0, 1, 1]] * 10
    >>> model = RestrictedBoltzmannMachine(n_hidden=2, learning_rate=0.2, random_state=0).fit(rows)
    >>> model.impute([[1, float("nan"), 0, 0]])
    array([[1., 1., 0., 0.]])
    """

    is_restricted = True

    def inverse_transform(self, X: Any) -> Any:
        """P(on) of the visible units, given means or states u of the hidden ones: sigmoid(W u + b)."""
        u = self._hidden_means(X)
        W, b = self.network_.weights, self.network_.bias[self._visible(self.network_)]
        return self._as_rows(expit(u @ W.T + b), X)


@dataclass(eq=False, repr=False)
class BoltzmannMachineModel(MachineModel):
    """P(s) = exp(sum_{i<j} W_ij s_i s_j + b's) / Z, where s are the columns of binary rows, and perhaps hidden units.

    All pairs of units are coupled. Without hidden units it is the Ising model that has the means and the correlations
    of the rows, and has no `transform`.

    The parameters are those of `RestrictedBoltzmannMachine`, but for:

    - `n_hidden`: the number of hidden units, 0 or more.
    - `method`: also "pseudolikelihood", for rows in which nothing is missing. None is exact where
        that is quick, else G2 for such rows, of up to 2,048 columns, and persistent for others.
    - `batch_size`: None is all rows where nothing is missing or hidden, as their means and correlations are then all
        that learning needs, and else 32.

    The attributes are the same. `transform` is exact where few units are hidden.

    >>> from plefka.sklearn import BoltzmannMachineModel
    >>> rows = [[1, 1, 0, 0], [0, 0, 1, 1]] * 10
    >>> model = BoltzmannMachineModel(epochs=20, random_state=0).fit(rows)
    >>> model.machine_
    <BoltzmannMachine: 4 units of 0 and 1, 6 couplings>
    """

    _parameter_constraints: ClassVar[dict] = {
        **MachineModel._parameter_constraints,
        "n_hidden": [Interval(Integral, 0, None, closed="left")],
    }
    is_restricted: ClassVar[bool] = False
    n_hidden: int = 0

    def _check_hidden(self) -> None:
        if not self.n_hidden:
            raise AttributeError(
                "Without hidden units there is nothing to transform rows to. Add some, as in "
                "BoltzmannMachineModel(n_hidden=8)."
            )
