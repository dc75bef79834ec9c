"""What identifies a run of learning, so that only the run that wrote a checkpoint resumes from it."""

import hashlib
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.networks.activations import Activation
from plefka.runtime.programs import Program
from plefka.runtime.version import __version__

if TYPE_CHECKING:
    from plefka.learning.fitting import LearningRun
    from plefka.learning.gradient_step import TrainingState
    from plefka.learning.steps import Steps

OPTIMISER_STEPS = 3  # of the optimiser; enough to tell its step size and its momentum
FIELDS = 101  # at which two activations are compared


def fingerprint(run: "LearningRun", steps: "Steps", state: "TrainingState") -> dict:
    """A name and a value for every setting that the result depends on; `state` is the one before the first step."""
    held_out, rules = run.held_out, run.settings.rules
    return {
        "version": __version__,
        "network": repr(run.network),
        **steps.identity(),
        "method": str(run.method),
        "rows": digest(run.data.identity),
        "validation": None if held_out is None else digest(held_out.identity),
        "optimizer": str(jax.tree.structure(state.optimizer)),
        "optimizer's steps": step_sizes(run.optimizer, state, stacked=run.settings.stacked),
        "batch_size": int(run.batch_size),
        "seed": run.seed,
        "l1": run.settings.l1,
        "l2": run.settings.l2,
        "tol": run.settings.tol,
        "masks or frozen": digest(rules.moves),
        "shared": digest(rules.groups),
    }


def digest(tree: Any) -> str:
    """Equal only for equal arrays of the same shapes and types."""
    found = hashlib.sha256()
    for array in map(np.asarray, jax.tree.leaves(tree)):
        found.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def activation_text(activation: Activation) -> str:
    """Name, domain, and a digest of the values of ln f and ln(1 - f): a function of the user's has no other identity.

    The values are rounded, so that a run may go on where a logarithm differs in its last digits.
    """
    low, high = activation.domain
    first = max(low, min(-10.0, high - 20))
    x = np.linspace(first, min(high, max(10.0, first + 20)), FIELDS)
    values = np.ravel(_log_probabilities(activation, x, work=FIELDS))
    rounded = " ".join(f"{value:.6g}" for value in values)
    return f"{activation.name} on ({low:g}, {high:g}), {hashlib.sha256(rounded.encode()).hexdigest()[:16]}"


def step_sizes(optimizer: Any, state: "TrainingState", *, stacked: bool) -> str:
    """How far the optimiser moves on a constant gradient: its structure does not show its step size."""
    return " ".join(f"{size:.6g}" for size in _step_sizes(state, optimizer=optimizer, stacked=stacked, work=0))


def _sizes_of_steps(state: "TrainingState", *, optimizer: Any, stacked: bool) -> Any:
    free, optimizer_state = state
    gradient = jax.tree.map(lambda p: 0.01 * jnp.cos(jnp.arange(p.size, dtype=p.dtype)).reshape(p.shape), free)
    update = jax.vmap(optimizer.update) if stacked else optimizer.update
    found = []
    for _ in range(OPTIMISER_STEPS):
        updates, optimizer_state = update(gradient, optimizer_state, free)
        free = jax.tree.map(jnp.add, free, updates)
        found.append(sum(jnp.abs(u).sum() for u in jax.tree.leaves(updates)))
    return jnp.stack(found)


_step_sizes = Program(_sizes_of_steps)
_log_probabilities = Program(lambda activation, x: (activation.log_on(x), activation.log_off(x)))
