"""The epochs of learning: all batches once, what came of it, and whether to go on."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.learning import checkpoint as files
from plefka.learning import likelihood
from plefka.learning.fingerprint import fingerprint
from plefka.learning.fitted import COLUMNS, Fitted, Stopped
from plefka.learning.patterns import Patterns, batches
from plefka.learning.step import Outcome, Plan, State, evaluate, step
from plefka.networks.belief import BeliefNetwork
from plefka.precision import is_key, precision, to_numpy
from plefka.progress import interruptible, progress, uninterrupted
from plefka.solvers.monotone import Monotone

if TYPE_CHECKING:
    from plefka.learning.fitting import Run

MOST_WORK = 2**25  # multiply-adds for the exact log-likelihood after an epoch
VALIDATION_STEPS = 300  # at most; validation rows have no means of an earlier epoch to start from
MOST_STARTS = 2**25  # numbers that are kept for the next epoch to start from
STORED = np.float32


def careful(plan: Plan) -> Plan:
    """The same, but every row is solved until it converges, from whatever start."""
    return replace(plan, policy=Monotone(), max_steps=VALIDATION_STEPS)


class Loop:
    """The epochs: their state, their history, and when to end."""

    stopped_by_callback = False
    earlier_seconds = 0.0  # of the runs that the checkpoint comes from

    @precision("float64")
    def __init__(self, run: "Run", epochs, patience, callback, path, save_every, verbose):
        self.run, self.epochs, self.patience, self.callback = run, epochs, patience, callback
        self.path, self.save_every, self.verbose = path, save_every, verbose
        self.stack = () if run.network.stack is None else (run.network.stack,)
        free = run.plan.rules.free(run.network.parameters)
        init = jax.vmap(run.optimizer.init) if self.stack else run.optimizer.init
        self.state = self.sound = State(free, to_numpy(init(free)))  # sound: the last that was usable
        self.alive = np.ones(self.stack, bool)
        self.starts = _Starts(run.patterns, self.stack)
        self.num_searched = run.patterns.num_searched(run.network.layers)
        self.best = (np.full(self.stack, -np.inf), free, np.zeros(self.stack, int))  # value, parameters, epochs since
        self.history: dict[str, list] = {name: [] for name in COLUMNS}
        network, patterns = run.network, run.patterns
        self.exact = likelihood.applies(network, patterns) and likelihood.work(network, patterns) <= MOST_WORK
        self.last_save = self.start = time.monotonic()

    def learn(self) -> Fitted:
        self._open_checkpoint()
        stopped = self._reason_to_stop()
        epochs = range(len(self.history["epoch"]), self.epochs)
        try:
            with interruptible() as check:
                for epoch in progress(epochs, self._label, self.verbose):
                    if stopped is not None:
                        break
                    entry = self._epoch(epoch, check)
                    if self.callback is not None:  # outside of `precision`, with the user's own settings of JAX
                        self.stopped_by_callback = bool(self.callback(entry))
                    stopped = self._reason_to_stop()
                    self._save(force=False)
                    check()
        except KeyboardInterrupt:
            stopped = Stopped.INTERRUPTED
        self._save(force=True)
        return self._fitted(stopped or Stopped.EPOCHS)

    # ---- an epoch ----------------------------------------------------------------------------------------------------

    @precision("float64")
    def _epoch(self, epoch: int, check: Callable[[], None]) -> dict:
        """All batches once. The state changes at the end, so that an interruption leaves whole epochs."""
        state, outcomes, solutions = self._batches(epoch, check)
        training = self._training(outcomes)
        state, sound, alive = self._usable(state, training["objective"])
        entry = {"epoch": epoch + 1, **training, **self._evaluation(state, check)}
        entry["seconds"] = time.monotonic() - self.start + self.earlier_seconds
        with uninterrupted():
            self.state, self.sound, self.alive = state, sound, alive
            for index, theta in solutions:
                self.starts.write(index, theta)
            for name, value in entry.items():
                self.history[name].append(value)
            self._remember_best(entry["validation"])
        return entry

    def _batches(self, epoch: int, check: Callable[[], None]) -> tuple[State, list[Outcome], list]:
        """The state after a step for every batch, the outcomes of these steps, and the solutions of their rows."""
        run, state = self.run, self.state
        pieces = batches(run.patterns, run.batch_size, run.seed, epoch)
        rows_per_batch = run.patterns.total / len(pieces)
        outcomes, solutions = [], []
        for index, counts in pieces:
            rows = run.patterns.rows(index)
            theta = self.starts.read(index, self.num_searched)
            state, outcome = step(
                state, run.plan, run.network.parameters, rows, counts, rows_per_batch, theta, optimizer=run.optimizer
            )
            real = np.count_nonzero(counts > 0)  # rows that only fill up the batch come last
            solutions.append((index[:real], np.asarray(outcome.theta, STORED)[..., :real, :]))
            outcomes.append(outcome._replace(theta=None))
            check()
        return to_numpy(state), outcomes, solutions

    def _training(self, outcomes: list[Outcome]) -> dict:
        """The entries of the history that all batches of an epoch give together."""
        total, counted, converged = (sum(np.asarray(o[k]) for o in outcomes) for k in range(3))
        rows = self.run.patterns.total
        with np.errstate(divide="ignore", invalid="ignore"):
            objective = total / counted
        return {"objective": objective, "solved": counted / rows, "converged": converged / rows}

    def _usable(self, state: State, objective: Any) -> tuple[State, State, Any]:
        """Network by network: the new state, or for good the last one that was usable."""
        usable, finite = np.isfinite(objective), _finite(state.free, self.stack)
        alive = self.alive & usable & finite
        stay = _choose(usable | ~self.alive, self.state, self.sound)
        return _choose(alive, state, stay), _choose(alive, self.state, self.sound), alive

    def _evaluation(self, state: State, check: Callable[[], None]) -> dict:
        """The exact log-likelihood and the validation objective at the end of an epoch."""
        run, unknown = self.run, np.full(self.stack, np.nan)
        found = {"log_likelihood": unknown, "validation": unknown}
        if self.exact:
            rows = np.asarray(likelihood.exact(self._network(state.free), run.patterns))
            found["log_likelihood"] = rows @ run.patterns.counts / run.patterns.total
        if run.held_out is not None:
            found["validation"] = self._validation(state, run.held_out, check)
        return found

    def _validation(self, state: State, held_out: Patterns, check: Callable[[], None]) -> Any:
        """The method's estimate on the validation rows. One that fails must not make the others' mean look better:
        it counts as the worst of them, or as coin tosses where that is less.
        """
        run, found = self.run, []
        for index, counts in batches(held_out, run.batch_size, 0, 0):
            rows = held_out.rows(index)
            theta = np.zeros((*self.stack, len(index), held_out.num_searched(run.network.layers)))
            found.append(evaluate(state.free, careful(run.plan), run.network.parameters, rows, counts, theta))
            check()
        total, counted = (sum(np.asarray(o[k]) for o in found) for k in range(2))
        lowest = np.minimum(np.min([o.lowest for o in found], axis=0), -len(held_out.units) * np.log(2))
        failed = np.maximum(held_out.total - counted, 0.0)
        return np.where(counted > 0, (total + np.where(counted > 0, lowest, 0.0) * failed) / held_out.total, -np.inf)

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
        if self.run.held_out is not None and np.all(self.best[2] >= self.patience):
            return Stopped.VALIDATION
        return None

    def _network(self, free: Any) -> BeliefNetwork:
        parameters = self.run.plan.rules.parameters
        fixed = self.run.network.parameters
        found = (jax.vmap(parameters) if self.stack else parameters)(free, fixed)
        return self.run.network.with_parameters(to_numpy(found))

    @precision("float64")
    def _fitted(self, stopped: Stopped) -> Fitted:
        best = self.run.held_out is not None and self.history["epoch"]
        network = self._network(self.best[1] if best else self.state.free)
        history = {name: np.array(column, int if name == "epoch" else float) for name, column in self.history.items()}
        return Fitted(network, history, stopped, self.run.method, self.state.optimizer, np.array(self.alive))

    def _label(self) -> str:
        if not self.history["objective"]:
            return f"learning by {self.run.method}"
        best = np.fmax.reduce(np.atleast_1d(self.history["objective"][-1]))
        return f"learning by {self.run.method}, {best:.4f} per row"

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def _everything(self) -> tuple:
        return self.state, self.sound, self.alive, self.starts.theta, self.best

    @precision("float64")
    def _open_checkpoint(self) -> None:
        """Resume from the file, or write it a first time: what could fail after hours of learning fails at once."""
        if self.path is None:
            return
        files.check_place(self.path)
        self.fingerprint = fingerprint(self.run, self.state)
        if self.path.exists():
            self._resume(self.path)
        else:
            self._save(force=True)

    def _resume(self, path: Path) -> None:
        found, self.history = files.load(path, self.fingerprint, self._everything(), COLUMNS)
        done = len(self.history["epoch"])
        if done > self.epochs:
            raise InvalidInput(
                f"epochs counts those of the checkpoint too, and must be {done} or more to go on from {str(path)!r}; "
                f"got {self.epochs}."
            )
        self.state, self.sound, self.alive, self.starts.theta, self.best = found
        self.earlier_seconds = float(self.history["seconds"][-1]) if done else 0.0

    def _save(self, *, force: bool) -> None:
        now = time.monotonic()
        if self.path is not None and (force or now - self.last_save >= self.save_every):
            files.save(self.path, self.fingerprint, self._everything(), self.history)
            self.last_save = time.monotonic()


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
