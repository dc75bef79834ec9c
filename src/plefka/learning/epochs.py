"""The epochs of learning: all batches once, what came of it, and whether to go on."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.learning import likelihood
from plefka.learning.checkpoint import Checkpoint
from plefka.learning.fingerprint import fingerprint
from plefka.learning.fitted import COLUMNS, Fitted, Stopped
from plefka.learning.patterns import Patterns, batches
from plefka.learning.step import Batch, Outcome, TrainingState, parameters_of, step
from plefka.learning.validation import validation
from plefka.networks.belief import BeliefNetwork
from plefka.precision import is_key, precision, to_numpy
from plefka.progress import interruptible, progress, uninterrupted

if TYPE_CHECKING:
    from plefka.learning.fitting import Run

MOST_WORK = 2**25  # multiply-adds for the exact log-likelihood after an epoch
MOST_STARTS = 2**25  # numbers that are kept for the next epoch to start from
STORED = np.float32
STEP_COST = 10_000  # what a step costs by itself, in numbers that it works on
OPTIMISED_AFTER = 2**11  # steps, from which on it pays to optimise their program, whatever is still to come


class Loop:
    """The epochs: their state, their history, and when to end."""

    stopped_by_callback = False
    earlier_seconds = 0.0  # of the runs that the checkpoint comes from

    @precision("float64")
    def __init__(self, run: "Run", callback: Callable | None, checkpoint: Checkpoint, verbose: bool | None):
        self.run, self.callback, self.checkpoint, self.verbose = run, callback, checkpoint, verbose
        self.stack = () if run.network.stack is None else (run.network.stack,)
        free = run.settings.rules.free(run.network.parameters)
        init = jax.vmap(run.optimizer.init) if self.stack else run.optimizer.init
        self.state = self.last_usable = TrainingState(free, to_numpy(init(free)))
        self.alive = np.ones(self.stack, bool)
        self.starts = _Starts(run.patterns, self.stack)
        self.num_searched = run.patterns.num_searched(run.network.layers)
        self.best = (np.full(self.stack, -np.inf), free, np.zeros(self.stack, int))  # value, parameters, epochs since
        self.history: dict[str, list] = {name: [] for name in COLUMNS}
        self.exact = likelihood.applies(run.network, run.patterns)
        self.exact = self.exact and likelihood.work(run.network, run.patterns) <= MOST_WORK
        self.start = time.monotonic()

    def learn(self) -> Fitted:
        self._resume()
        stopped = self._reason_to_stop()
        epochs = range(len(self.history["epoch"]), self.run.epochs)
        try:
            with interruptible() as check:
                for epoch in progress(epochs, self._label, self.verbose):
                    if stopped is not None:
                        break
                    entry = self._epoch(epoch, check)
                    if self.callback is not None:  # outside of `precision`, with the user's own settings of JAX
                        self.stopped_by_callback = bool(self.callback(entry))
                    stopped = self._reason_to_stop()
                    self.checkpoint.save(self._everything(), self.history, force=False)
                    check()
        except KeyboardInterrupt:
            stopped = Stopped.INTERRUPTED
        self.checkpoint.save(self._everything(), self.history)
        return self._fitted(stopped or Stopped.EPOCHS)

    # ---- an epoch ----------------------------------------------------------------------------------------------------

    @precision("float64")
    def _epoch(self, epoch: int, check: Callable[[], None]) -> dict:
        """All batches once. The state changes at the end, so that an interruption leaves whole epochs."""
        state, outcomes, solutions = self._batches(epoch, check)
        training = self._training(outcomes)
        state, last_usable, alive = self._usable(state, training["objective"])
        entry = {"epoch": epoch + 1, **training, **self._evaluation(state, check)}
        entry["seconds"] = time.monotonic() - self.start + self.earlier_seconds
        with uninterrupted():
            self.state, self.last_usable, self.alive = state, last_usable, alive
            for index, theta in solutions:
                self.starts.write(index, theta)
            for name, value in entry.items():
                self.history[name].append(value)
            self._remember_best(entry["validation"])
        return entry

    def _batches(self, epoch: int, check: Callable[[], None]) -> tuple[TrainingState, list[Outcome], list]:
        """The state after a step for every batch, the outcomes of these steps, and the solutions of their rows."""
        run, state = self.run, self.state
        pieces = batches(run.patterns, run.batch_size, run.seed, epoch)
        average = run.patterns.total / len(pieces)
        numbers = run.network.num_edges * len(pieces[0][0]) * (run.network.stack or 1) + STEP_COST
        work = (epoch + 1) * len(pieces) * numbers // OPTIMISED_AFTER
        outcomes, solutions = [], []
        for index, counts in pieces:
            batch = Batch(run.patterns.rows(index), counts, average, self.starts.read(index, self.num_searched))
            state, outcome = step(
                state, run.settings, run.network.parameters, batch, optimizer=run.optimizer, work=work
            )
            real = np.count_nonzero(counts > 0)  # rows that only fill up the batch come last
            solutions.append((index[:real], outcome.theta.astype(STORED)[..., :real, :]))
            outcomes.append(outcome._replace(theta=None))
            check()
        return state, outcomes, solutions

    def _training(self, outcomes: list[Outcome]) -> dict:
        """The entries of the history that all batches of an epoch give together."""
        total, counted, converged = (sum(outcome[k] for outcome in outcomes) for k in range(3))
        rows = self.run.patterns.total
        with np.errstate(divide="ignore", invalid="ignore"):
            objective = total / counted
        return {"objective": objective, "solved": counted / rows, "converged": converged / rows}

    def _usable(self, state: TrainingState, objective: Any) -> tuple[TrainingState, TrainingState, Any]:
        """Network by network: the new state, or for good the last one that was usable."""
        usable, finite = np.isfinite(objective), _finite(state.free, self.stack)
        alive = self.alive & usable & finite
        stay = _choose(usable | ~self.alive, self.state, self.last_usable)
        return _choose(alive, state, stay), _choose(alive, self.state, self.last_usable), alive

    def _evaluation(self, state: TrainingState, check: Callable[[], None]) -> dict:
        """The exact log-likelihood and the validation objective at the end of an epoch."""
        run, unknown = self.run, np.full(self.stack, np.nan)
        found = {"log_likelihood": unknown, "validation": unknown}
        if self.exact or run.held_out is not None:
            network = self._network(state.free)
            if self.exact:
                rows = likelihood.exact(network, run.patterns)
                found["log_likelihood"] = rows @ run.patterns.counts / run.patterns.total
            if run.held_out is not None:
                found["validation"] = validation(network, run.method, run.settings.tol, run.held_out)
                check()
        return found

    # ---- stopping ----------------------------------------------------------------------------------------------------

    def _remember_best(self, validation: Any) -> None:
        """Remember the parameters that were best on the validation rows, network by network."""
        if self.run.held_out is None:
            return
        value, free, since = self.best
        better = np.asarray(validation > value)
        self.best = (np.where(better, validation, value), _choose(better, self.state.free, free),
                     np.where(better, 0, since + 1))  # fmt: skip

    def _reason_to_stop(self) -> Stopped | None:
        if not self.history["epoch"]:
            return None
        if not np.any(self.alive):
            return Stopped.NOT_FINITE
        if self.stopped_by_callback:
            return Stopped.CALLBACK
        if self.run.held_out is not None and np.all(self.best[2] >= self.run.patience):
            return Stopped.VALIDATION
        return None

    def _network(self, free: Any) -> BeliefNetwork:
        run, stacked = self.run, bool(self.stack)
        start, rules = run.network.parameters, run.settings.rules
        return run.network.with_parameters(parameters_of(free, rules, start, stacked=stacked, work=run.network.size))

    def _fitted(self, stopped: Stopped) -> Fitted:
        best = self.run.held_out is not None and self.history["epoch"]
        network = self._network(self.best[1] if best else self.state.free)
        history = {name: np.array(column, int if name == "epoch" else float) for name, column in self.history.items()}
        return Fitted(network, history, stopped, self.run.method, self.state.optimizer, ~np.array(self.alive))

    def _label(self) -> str:
        if not self.history["objective"]:
            return f"learning by {self.run.method}"
        best = np.fmax.reduce(np.atleast_1d(self.history["objective"][-1]))
        return f"learning by {self.run.method}, {best:.4f} per row"

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def _everything(self) -> tuple:
        return self.state, self.last_usable, self.alive, self.starts.theta, self.best

    @precision("float64")
    def _resume(self) -> None:
        """Go on from where the checkpoint is, if there is one."""
        resumed = self.checkpoint.open(lambda: fingerprint(self.run, self.state), self._everything(), COLUMNS)
        if resumed is None:
            return
        (self.state, self.last_usable, self.alive, self.starts.theta, self.best), self.history = resumed
        done = len(self.history["epoch"])
        if done > self.run.epochs:
            raise InvalidInput(
                f"epochs includes those of the checkpoint {str(self.checkpoint.path)!r}, so it must be at least {done} "
                f"to resume training; got {self.run.epochs}."
            )
        self.earlier_seconds = float(self.history["seconds"][-1]) if done else 0.0


def _choose(mask: Any, new: Any, old: Any) -> Any:
    """Network by network the new tree where the mask is true, else the old one."""
    if np.ndim(mask) == 0:
        return new if mask else old

    def choose(new, old):
        wide = mask.reshape(mask.shape + (1,) * (np.ndim(new) - mask.ndim))
        return (jnp.where if is_key(new) else np.where)(wide, new, old)

    return jax.tree.map(choose, new, old)


def _finite(tree: Any, stack: tuple[int, ...]) -> Any:
    """Whether all numbers are finite, network by network."""
    leaves = [np.isfinite(leaf).reshape(*stack, -1).all(axis=-1) for leaf in jax.tree.leaves(tree)]
    return np.all(leaves, axis=0)


class _Starts:
    """The solutions of the last epoch, for the units that are hidden in every row."""

    def __init__(self, patterns: Patterns, stack: tuple[int, ...]):
        self.latent, self.stack = patterns.latent, stack
        shape = (*stack, len(patterns), len(self.latent))
        self.theta = np.zeros(shape if np.prod(shape) <= MOST_STARTS else (*stack, 0, len(self.latent)), STORED)

    def read(self, index: np.ndarray, width: int) -> np.ndarray:
        theta = np.zeros((*self.stack, len(index), width))
        if self.theta.shape[-2]:
            theta[..., self.latent] = self.theta[..., index, :]
        return theta

    def write(self, index: np.ndarray, theta: np.ndarray) -> None:
        if self.theta.shape[-2]:
            found = theta[..., self.latent]
            self.theta[..., index, :] = np.where(np.isfinite(found), found, 0.0)
