"""fit(network, rows, method) -> Fitted: raise the method's estimate of ln P(rows), epoch after epoch."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from plefka.errors import InvalidInput, MethodDoesNotApply, MissingExtra
from plefka.learning import checkpoint as files
from plefka.learning import likelihood
from plefka.learning.fingerprint import fingerprint
from plefka.learning.fitted import COLUMNS, Fitted, Stopped
from plefka.learning.parameters import parametrisation
from plefka.learning.patterns import Patterns, as_patterns, batches
from plefka.learning.step import Outcome, Plan, State, evaluate, step
from plefka.methods import MeanField, Method, parse_method
from plefka.networks.belief import BeliefNetwork
from plefka.precision import precision, to_numpy
from plefka.progress import progress, uninterrupted
from plefka.seeds import as_seed
from plefka.solvers.monotone import Monotone

STEP_SIZE = 0.05
AFFORDABLE = 2**25  # multiply-adds for the exact log-likelihood after an epoch
MOST_STEPS = 6  # evaluations for each batch, as slow as its slowest row: the next epoch goes on from where they end
ENOUGH_STEPS = 300  # for validation rows, which start from nothing
POLICY = Monotone(depth=2)  # from a start as good as the last epoch's, a longer memory costs more than it saves
MOST_STARTS = 2**25  # numbers that are kept to start the next epoch from
STORED = np.float32


def fit(
    network: BeliefNetwork,
    rows: Any,
    method: str | Method = "G12",
    *,
    weights: Any = None,
    optimizer: Any = None,
    epochs: int = 100,
    batch_size: int = 256,
    seed: int | None = None,
    validation: Any = None,
    patience: int = 20,
    callback: Callable[[dict], Any] | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    l1: float = 0.0,
    l2: float = 0.0,
    masks: Any = None,
    frozen: Any = None,
    shared: Any = None,
    tol: float = 1e-4,
    verbose: bool = True,
) -> Fitted:
    """Learn the weights and biases of a network, or of every network of a stack, from binary rows.

    **Arguments:**

    - `network`: where to start from. Equal hidden units stay equal for ever, so let its weights be random; see
        `pf.ensembles.to_learn`.
    - `rows`: (N, visible) or (N, units) with nan for what is missing or hidden, or a DataFrame with units for columns.
        Equal rows are merged and counted.
    - `method`: any scheme that has a free energy.
    - `weights`: what each row counts for.
    - `optimizer`: any of optax; Adam with steps of 0.05 unless given.
    - `batch_size`: distinct rows for each step; `seed` shuffles them, and is needed where there is more than one batch.
    - `validation`: rows to stop by, when `patience` epochs in a row have brought no improvement on them.
    - `callback`: called after every epoch with its entry of the history; learning stops where it returns True.
    - `checkpoint`: a file that is written at the start, every `checkpoint_every` seconds and at the end, and gone on
        from if it is there: the result is the very same as that of a run without interruption. `epochs` counts those of
        the checkpoint too.
    - `l1`, `l2`: penalties on the weights: l1 sum |w| + l2 sum w^2 / 2, against ln P per row.
    - `masks`: arrays like the weights, 0 where there is no edge. `frozen`: "weights", "bias" or a pair of arrays like
        `network.parameters`, true where a parameter keeps its value. `shared`: such a pair of whole numbers; parameters
        with the same number from 1 on move as one.
    - `tol`: how far the means are solved in every step, in 6 evaluations at most; they start from those of the epoch
        before.
    - `verbose`: show a progress bar on standard error once a second has passed.
    """
    _check_numbers(epochs, batch_size, patience, l1, l2, tol, checkpoint_every)
    run = Run.of(network, rows, weights, parse_method(method), optimizer, batch_size, seed, tol, l1, l2,
                  (masks, frozen, shared), validation)  # fmt: skip
    with precision("float64"):
        return _Loop(
            run, epochs, patience, callback, checkpoint and Path(checkpoint), checkpoint_every, verbose
        ).learn()


def _check_numbers(epochs, batch_size, patience, l1, l2, tol, checkpoint_every) -> None:
    for name, value in (("epochs", epochs), ("batch_size", batch_size), ("patience", patience)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise InvalidInput(f"{name} must be a whole number of 1 or more; got {value!r}.")
    numbers = (("l1", l1, 0), ("l2", l2, 0), ("tol", tol, 1e-12), ("checkpoint_every", checkpoint_every, 0))
    for name, value, least in numbers:
        if not least <= value < np.inf:
            raise InvalidInput(f"{name} must be a number of {least} or more; got {value!r}.")


@lru_cache
def adam(step_size: float = STEP_SIZE) -> Any:
    """Adam: the gradient's size changes a thousandfold between a start near zero and the end, and between schemes.

    One and the same for a step size, as a program is compiled for each optimiser.
    """
    try:
        import optax
    except ImportError as error:
        raise MissingExtra("optax", "learn", "learning") from error
    return optax.adam(step_size)


class Run(NamedTuple):
    """What is learned from what, before the first step."""

    network: BeliefNetwork
    plan: Plan
    patterns: Patterns
    held_out: Patterns | None
    method: MeanField
    optimizer: Any
    batch_size: int
    seed: int | None

    @classmethod
    def of(cls, network, rows, weights, method, optimizer, batch_size, seed, tol, l1, l2, rules, validation):
        if not isinstance(network, BeliefNetwork):
            raise InvalidInput(f"network must be a BeliefNetwork; got {type(network).__name__}.")
        if not isinstance(method, MeanField):
            raise MethodDoesNotApply(f"{method} has no free energy to learn by. Use G12 instead.")
        method.check(network)
        seed = None if seed is None else as_seed(seed)
        patterns = as_patterns(network, rows, weights)
        held_out = None if validation is None else as_patterns(network, validation, what="validation")
        if len(patterns) > batch_size and seed is None:
            raise InvalidInput(
                f"{len(patterns):,} distinct rows in batches of {batch_size} are shuffled by a seed; add one, as in "
                "fit(..., seed=0), or raise batch_size."
            )
        return cls(network, _plan(network, method, rules, l1, l2, tol), patterns, held_out, method,
                   _optimizer(optimizer), batch_size, seed)  # fmt: skip


def _optimizer(given: Any) -> Any:
    if given is None:
        return adam()
    if not all(callable(getattr(given, name, None)) for name in ("init", "update")):
        raise InvalidInput(
            f"optimizer must have the functions init and update, as those of optax do; got {given!r}. "
            "Pass optax.adam(0.05), say."
        )
    return given


def _plan(network, method, rules, l1, l2, tol) -> Plan:
    from plefka.mean_field import POLICIES

    policy = POLICY if method.policy == "monotone" else POLICIES[method.policy]
    stacked = network.stack is not None
    storage = network.storage.take(0) if stacked else network.storage
    storage = storage.with_pairs() if method.functional.needs_pairs else storage
    return Plan(
        storage, network.activation, parametrisation(network, *rules), float(l1), float(l2), float(tol),
        method.functional, policy, min(method.max_steps, MOST_STEPS), stacked,
    )  # fmt: skip


def careful(plan: Plan) -> Plan:
    """The same, but every row is solved to the end from wherever it starts."""
    return replace(plan, policy=Monotone(), max_steps=ENOUGH_STEPS)


class _Loop:
    """The epochs: their state, their history, and when to end."""

    def __init__(self, run: Run, epochs, patience, callback, path, every, verbose):
        self.run, self.epochs, self.patience, self.callback = run, epochs, patience, callback
        self.path, self.every, self.verbose = path, every, verbose
        self.lead = () if run.network.stack is None else (run.network.stack,)
        free = run.plan.rules.free(run.network.parameters)
        init = jax.vmap(run.optimizer.init) if self.lead else run.optimizer.init
        self.state = State(free, to_numpy(init(free)))
        self.starts = _Starts(run.patterns, self.lead)
        self.head = run.patterns.head(run.network.layers)
        self.best = (np.full(self.lead, -np.inf), free, np.zeros(self.lead, int))  # value, parameters, epochs since
        self.history: dict[str, list] = {name: [] for name in COLUMNS}
        network, patterns = run.network, run.patterns
        self.exact = likelihood.applies(network, patterns) and likelihood.work(network, patterns) <= AFFORDABLE
        self.written = self.start = time.monotonic()

    def learn(self) -> Fitted:
        self._open_checkpoint()
        stopped = self._reason_to_stop()
        done = len(self.history["epoch"])
        try:
            epochs = range(done, self.epochs)
            for epoch in progress(epochs, self._label) if self.verbose else epochs:
                if stopped is not None:
                    break
                self._epoch(epoch)
                stopped = self._reason_to_stop()
                self._save(force=False)
        except KeyboardInterrupt:
            stopped = Stopped.INTERRUPTED
        self._save(force=True)
        return self._fitted(stopped or Stopped.EPOCHS)

    def _epoch(self, epoch: int) -> None:
        """All batches once. The state changes at the end, so that an interruption leaves whole epochs."""
        run, state = self.run, self.state
        pieces = batches(run.patterns, run.batch_size, run.seed, epoch)
        share = run.patterns.total / len(pieces)
        outcomes, solutions = [], []
        for index, counts in pieces:
            rows = run.patterns.rows(index)
            theta = self.starts.read(index, self.head)
            state, outcome = step(
                state, run.plan, run.network.parameters, rows, counts, share, theta, optimizer=run.optimizer
            )
            outcomes.append(outcome._replace(theta=None))
            solutions.append((index, counts, np.asarray(outcome.theta, STORED)))
        state = to_numpy(state)
        entry = self._entry(epoch, outcomes, state)
        with uninterrupted():
            self.state = state
            for index, counts, theta in solutions:
                self.starts.write(index[counts > 0], theta[..., : np.count_nonzero(counts > 0), :])
            for name, value in entry.items():
                self.history[name].append(value)
            self._watch(entry["validation"])
        if self.callback is not None and self.callback(dict(entry)):
            self.asked = True

    asked = False

    def _entry(self, epoch: int, outcomes: list[Outcome], state: State) -> dict:
        run = self.run
        total, counted, converged = (sum(np.asarray(o[k]) for o in outcomes) for k in range(3))
        seconds = time.monotonic() - self.start + self.before
        with np.errstate(divide="ignore", invalid="ignore"):
            objective = total / counted
        unknown = np.full(self.lead, np.nan)
        entry = {"epoch": epoch + 1, "objective": objective, "log_likelihood": unknown, "validation": unknown}
        entry |= {"converged": converged / run.patterns.total, "seconds": seconds}
        if self.exact:
            rows = np.asarray(likelihood.exact(self._network(state.free), run.patterns))
            entry["log_likelihood"] = rows @ run.patterns.counts / run.patterns.total
        if run.held_out is not None:
            entry["validation"] = self._validation(state)
        return entry

    def _validation(self, state: State) -> Any:
        """The method's estimate on the validation rows, batch by batch."""
        run, held_out = self.run, self.run.held_out
        assert held_out is not None
        found = []
        for index, counts in batches(held_out, run.batch_size, 0, 0):
            rows = held_out.rows(index)
            theta = np.zeros((*self.lead, len(index), held_out.head(run.network.layers)))
            found.append(evaluate(state.free, careful(run.plan), run.network.parameters, rows, counts, theta))
        total, counted = (sum(np.asarray(o[k]) for o in found) for k in range(2))
        return np.where(counted > 0, total / np.maximum(counted, 1e-300), -np.inf)

    def _watch(self, validation: Any) -> None:
        """Remember the parameters that were best on the validation rows, network by network."""
        if self.run.held_out is None:
            return
        value, free, since = self.best
        better = validation > value

        def choose(new, old):
            return np.where(better.reshape(better.shape + (1,) * (np.ndim(new) - better.ndim)), new, old)

        self.best = (np.where(better, validation, value), jax.tree.map(choose, self.state.free, free),
                     np.where(better, 0, since + 1))  # fmt: skip

    def _reason_to_stop(self) -> Stopped | None:
        if not self.history["epoch"]:
            return None
        if not np.any(np.isfinite(self.history["objective"][-1])) or not _all_finite(self.state.free):
            return Stopped.NOT_FINITE
        if self.asked:
            return Stopped.CALLBACK
        if self.run.held_out is not None and np.all(self.best[2] >= self.patience):
            return Stopped.VALIDATION
        return None

    def _network(self, free: Any) -> BeliefNetwork:
        parameters = self.run.plan.rules.parameters
        fixed = self.run.network.parameters
        found = (jax.vmap(parameters) if self.lead else parameters)(free, fixed)
        return self.run.network.with_parameters(to_numpy(found))

    def _fitted(self, stopped: Stopped) -> Fitted:
        best = self.run.held_out is not None and self.history["epoch"]
        network = self._network(self.best[1] if best else self.state.free)
        history = {name: np.array(column, int if name == "epoch" else float) for name, column in self.history.items()}
        return Fitted(network, history, stopped, self.run.method, self.state.optimizer)

    def _label(self) -> str:
        if not self.history["objective"]:
            return f"learning by {self.run.method}"
        return f"learning by {self.run.method}, {np.max(self.history['objective'][-1]):.4f} per row"

    before = 0.0  # seconds of earlier sittings

    def _everything(self) -> tuple:
        return self.state, self.starts.theta, self.best

    def _open_checkpoint(self) -> None:
        """Go on from the file, or write it a first time: what could fail after hours of learning fails before."""
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
        self.state, self.starts.theta, self.best = found
        self.before = float(self.history["seconds"][-1]) if done else 0.0

    def _save(self, *, force: bool) -> None:
        now = time.monotonic()
        if self.path is not None and (force or now - self.written >= self.every):
            files.save(self.path, self.fingerprint, self._everything(), self.history)
            self.written = time.monotonic()


def _all_finite(tree: Any) -> bool:
    return all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(tree))


class _Starts:
    """The solutions of the last epoch, for the units that are hidden in every row."""

    def __init__(self, patterns: Patterns, lead: tuple[int, ...]):
        self.latent, self.lead = patterns.latent, lead
        shape = (*lead, len(patterns), len(self.latent))
        self.theta = np.zeros(shape if np.prod(shape) <= MOST_STARTS else (*lead, 0, len(self.latent)), STORED)

    def read(self, index: np.ndarray, head: int) -> np.ndarray:
        theta = np.zeros((*self.lead, len(index), head))
        if self.theta.shape[-2]:
            theta[..., self.latent] = self.theta[..., index, :]
        return theta

    def write(self, index: np.ndarray, theta: np.ndarray) -> None:
        if self.theta.shape[-2]:
            found = theta[..., self.latent]
            self.theta[..., index, :] = np.where(np.isfinite(found), found, 0.0)
