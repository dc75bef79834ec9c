"""The epochs of learning: all batches once, what came of it, and whether to go on."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput, ProcessLost
from plefka.learning.annealed import RowsScore
from plefka.learning.checkpoint import Checkpoint, fingerprint
from plefka.learning.fitted import HISTORY_COLUMNS, Fitted, Stopped
from plefka.learning.gradient_step import TrainingState
from plefka.learning.honest_score import HonestScore, Verdict
from plefka.learning.patterns import Patterns
from plefka.learning.steps import BatchNumber, LearningRun, Steps
from plefka.progress import interruptible, progress, uninterrupted
from plefka.runtime.precision import is_key, precision, to_numpy


class PartialEpoch(NamedTuple):
    """An epoch on its way."""

    batches: Any  # how many are done
    state: TrainingState  # after them
    sums: Any  # over them: log-likelihood, counts of the rows that were solved, and of those that converged


class Loop:
    """The epochs: their state, their history, and when to end."""

    stopped_by_callback = False
    earlier_seconds = 0.0  # of the runs that the checkpoint comes from

    @precision("float64")
    def __init__(
        self, run: LearningRun, steps: Steps, callback: Callable | None, checkpoint: Checkpoint, verbose: bool | None
    ):
        self.run, self.steps, self.callback, self.checkpoint = run, steps, callback, checkpoint
        self.verbose = verbose if run.devices.is_first else False
        self.stack = steps.stack
        free = run.settings.rules.free(run.network.parameters)
        init = jax.vmap(run.optimizer.init) if self.stack else run.optimizer.init
        self.state = self.last_usable = TrainingState(free, to_numpy(init(free)))
        self.begun = self._beginning()
        steps.recall(getattr(run.optimizer, "memory", None))
        self.alive = np.ones(self.stack, bool)
        self.best = (np.full(self.stack, -np.inf), free, np.zeros(self.stack, int))  # value, parameters, epochs since
        self.held_score = None if run.held_out is None else HonestScore(steps, run.held_out)
        self.history: dict[str, list] = {name: [] for name in HISTORY_COLUMNS}
        self.start = time.monotonic()

    def learn(self) -> Fitted:
        """All epochs that are left."""
        with closing(self.checkpoint):
            self._resume()
            stopped = self._reason_to_stop()
            epochs = range(len(self.history["epoch"]), self.run.epochs)
            try:
                with interruptible() as check:
                    for epoch in progress(epochs, self._label, self.verbose):
                        if stopped is not None:
                            break
                        self._check_requests_to_stop(self._epoch(epoch, check), check)
                        stopped = self._reason_to_stop()
                        self._save(force=False)
            except KeyboardInterrupt:
                stopped = Stopped.INTERRUPTED
            except ProcessLost as error:
                raise ProcessLost(f"{error} {self._rescued()}") from error
            self._save()
            return self._fitted(stopped or Stopped.EPOCHS)

    def _check_requests_to_stop(self, entry: dict, check: Callable[[], None]) -> None:
        """What the callback and Ctrl-C say, here or in another process."""
        stop = interrupted = False
        try:
            if self.callback is not None:  # outside of `precision`, with the user's own settings of JAX
                stop = bool(self.callback(entry))
            check()
        except KeyboardInterrupt:
            interrupted = True
        requests = self.run.devices.gathered(np.array([stop, interrupted]))
        self.stopped_by_callback = bool(requests[:, 0].any())
        if requests[:, 1].any():
            raise KeyboardInterrupt

    # ---- an epoch ----------------------------------------------------------------------------------------------------

    @precision("float64")
    def _epoch(self, epoch: int, check: Callable[[], None]) -> dict:
        """All batches once. The state changes at the end, so that an interruption returns whole epochs."""
        self._batches(epoch, check)
        (total, counted, converged), rows = self.begun.sums, self.run.data.total
        with np.errstate(divide="ignore", invalid="ignore"):
            during = total / counted
        state, last_usable, alive = self._usable(self.begun.state, during)
        network = self.steps.network(state.free)
        held, validation = self.held_score, RowsScore(*np.full((2, *self.stack), np.nan))
        if held is not None and held.is_due(epoch + 1):
            validation = held.of(network)
        entry = {
            "epoch": epoch + 1,
            "objective": self.steps.objective(network, during, epoch),
            "solved": counted / rows,
            "converged": converged / rows,
            "log_likelihood": self.steps.exact(network),
            "validation": validation.value,
            "validation_error": validation.error,
        }
        entry["seconds"] = time.monotonic() - self.start + self.earlier_seconds
        with uninterrupted():
            self.state, self.last_usable, self.alive = state, last_usable, alive
            self.begun = self._beginning()
            for name, value in entry.items():
                self.history[name].append(value)
            self._remember_best(entry["validation"])
        return entry

    def _beginning(self) -> PartialEpoch:
        return PartialEpoch(np.array(0), self.state, np.zeros((3, *self.stack)))

    def _batches(self, epoch: int, check: Callable[[], None]) -> None:
        run, devices = self.run, self.run.devices
        done = int(self.begun.batches)
        for number, piece in enumerate(run.data.pieces(run.batch_size, run.seed, epoch, done, devices.count), done):
            stop = devices.several and _is_interrupted(check)
            with devices.watching():
                state, outcome = self.steps.take(self.begun.state, piece, BatchNumber(epoch, number), stop=stop)
            self.begun = PartialEpoch(self.begun.batches + 1, state, self.begun.sums + np.stack(outcome[:3]))
            self._save(force=False)
            if np.any(outcome.stop):
                raise KeyboardInterrupt
            if not devices.several:  # which stop after the same batch
                check()

    def _usable(self, state: TrainingState, objective: Any) -> tuple[TrainingState, TrainingState, Any]:
        """Network by network: the new state, or for good the last one that was usable."""
        usable = np.isfinite(objective)
        alive = self.alive & usable & _finite(state.free, self.stack)
        stay = _choose(usable | ~self.alive, self.state, self.last_usable)
        return _choose(alive, state, stay), _choose(alive, self.state, self.last_usable), alive

    # ---- stopping ----------------------------------------------------------------------------------------------------

    def _remember_best(self, validation: Any) -> None:
        """The network of the best epoch; one that was not scored is none."""
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
        if self.steps.settled:
            return Stopped.SETTLED
        held, done = self.held_score, len(self.history["epoch"])
        if held is not None and held.is_due(done) and np.all(self.best[2] >= max(self.run.patience, held.every)):
            return Stopped.VALIDATION
        return None

    @precision("float64")
    def _fitted(self, stopped: Stopped) -> Fitted:
        last = network = self.steps.network(self.state.free)
        if self.held_score is not None and self.history["epoch"]:
            if not self.held_score.is_due(len(self.history["epoch"])):  # for the result, but not for the checkpoint
                found = self.held_score.of(last)
                self.history["validation"][-1], self.history["validation_error"][-1] = found
                self._remember_best(found.value)
            network = self.steps.network(self.best[1])
        history = {name: np.array(column, int if name == "epoch" else float) for name, column in self.history.items()}
        verdict = self._verdict(last, history)
        return Fitted(
            network,
            history,
            stopped,
            self.run.method,
            self.state.optimizer,
            ~np.array(self.alive) | verdict.diverged,
            verdict.sentences,
            self.steps.accuracy,
            _memory=self.steps.keeper.memory,
        )

    def _verdict(self, network: Any, history: dict) -> Verdict:
        """What ln P of the rows says of the objective, where it costs little beside learning."""
        data, nothing = self.run.data, Verdict((), np.zeros(self.stack, bool))
        if not isinstance(data, Patterns) or not len(history["epoch"]):
            return nothing
        score = HonestScore(self.steps, data)
        return score.verdict(network, history["objective"][-1]) if score.is_cheap(len(history["epoch"])) else nothing

    def _label(self) -> str:
        if not self.history["objective"]:
            return f"learning by {self.run.method}"
        best = np.fmax.reduce(np.atleast_1d(self.history["objective"][-1]))
        held = np.max(self.best[0])
        score = f", ln P of held rows {held:.4f}" if np.isfinite(held) else ""
        return f"learning by {self.run.method}, objective {best:.4f} per row{score}"

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def _everything(self) -> tuple:
        return self.state, self.last_usable, self.alive, self.steps.keeper.memory, self.best, self.begun

    def _save(self, *, force: bool = True) -> None:
        self.checkpoint.save(self._everything(), self.history, force=force)

    @precision("float64")
    def _resume(self) -> None:
        """Go on from where the checkpoint is, if there is one."""
        run, path = self.run, self.checkpoint.path
        if run.devices.several:
            found = fingerprint(run, self.steps, self.state)
            run.devices.check_same(
                {**found, "epochs": run.epochs, "patience": run.patience, "checkpoint": path is None}
            )
        resumed = self.checkpoint.open(
            lambda: fingerprint(run, self.steps, self.state), self._everything(), HISTORY_COLUMNS
        )
        if resumed is None:
            return
        (self.state, self.last_usable, self.alive, self.steps.keeper.memory, self.best, begun), self.history = resumed
        self.begun = PartialEpoch(*begun)
        done = len(self.history["epoch"])
        if done > run.epochs:
            raise InvalidInput(
                f"epochs includes those of the checkpoint {str(path)!r}, so it must be at least {done} to resume "
                f"training; got {run.epochs}."
            )
        self.earlier_seconds = float(self.history["seconds"][-1]) if done else 0.0

    def _rescued(self) -> str:
        """What is left when another process was lost; what this process has is as good as ever."""
        if self.checkpoint.path is None:
            return "Nothing was saved; pass a checkpoint (--checkpoint) to be able to resume."
        self._save()
        return (
            f"The checkpoint {str(self.checkpoint.path)!r} has {len(self.history['epoch'])} epochs; start all "
            "processes again with the same arguments to resume from it."
        )


def _is_interrupted(check: Callable[[], None]) -> bool:
    try:
        check()
    except KeyboardInterrupt:
        return True
    return False


def _choose(mask: Any, new: Any, old: Any) -> Any:
    """Network by network the new tree where the mask is true, else the old one."""
    if np.ndim(mask) == 0:
        return new if mask else old

    def pick(new, old):
        wide = mask.reshape(mask.shape + (1,) * (np.ndim(new) - mask.ndim))
        return (jnp.where if is_key(new) else np.where)(wide, new, old)

    return jax.tree.map(pick, new, old)


def _finite(tree: Any, stack: tuple[int, ...]) -> Any:
    leaves = [np.isfinite(leaf).reshape(*stack, -1).all(axis=-1) for leaf in jax.tree.leaves(tree)]
    return np.all(leaves, axis=0)
