"""Compiled programs: one for each function and shapes, few of them kept, with as much optimisation as work is worth.

Everything that is computed outside a user's trace goes through a `Program`: NumPy arrays in, NumPy arrays out, in
float64 or float32 whatever the user's JAX settings are.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from plefka.runtime.exported_programs import exported
from plefka.runtime.precision import precision, to_numpy
from plefka.runtime.program_cache import QUICK_TO_COMPILE, folder_in_use

MOST_KEPT = 48  # programs in memory: what was not used for longest is forgotten, and compiled again where needed
BRIEF = 2**14  # numbers in a step up to which a program is not worth optimising

_kept: OrderedDict[tuple, Callable] = OrderedDict()
_lock = threading.Lock()  # of what is kept
_locks: dict[tuple, threading.Lock] = {}  # of programs that are being looked up or compiled


class Program:
    """A function of arrays, compiled for the shapes that it is called with.

    Keyword arguments but `work` and `dtype` are static: they must be hashable.
    """

    def __init__(self, function: Callable):
        self.function = function

    def __call__(self, *arguments: Any, work: int, dtype: str = "float64", **static: Any) -> Any:
        """`work`: how many numbers a step of the program works on."""
        leaves, structure = jax.tree.flatten(arguments)
        leaves = [_as_array(leaf, np.dtype(dtype)) for leaf in leaves]
        with precision(dtype):
            compiled = self._compiled(leaves, structure, work > BRIEF, dtype, static)
            return to_numpy(compiled(*leaves))

    def _compiled(self, leaves: list, structure: Any, optimised: bool, dtype: str, static: dict) -> Callable:
        """For leaves of these shapes, of arguments of this structure."""
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        key = (self.function, structure, shapes, optimised, dtype, tuple(sorted(static.items())))
        with _lock:
            own = _locks.setdefault(key, threading.Lock())
        try:
            with own:  # other programs are compiled meanwhile
                compiled = _kept.get(key) or self._compile(leaves, structure, optimised, static)
                _keep(key, compiled)
                return compiled
        finally:
            _locks.pop(key, None)

    def _compile(self, leaves: list, structure: Any, optimised: bool, static: dict) -> Callable:
        options = {} if optimised else QUICK_TO_COMPILE
        folder, arguments = folder_in_use(), jax.tree.unflatten(structure, leaves)
        if folder is not None and (kept := exported(folder, self.function, arguments, static)):
            flat = jax.jit(kept.call).lower(*leaves).compile(compiler_options=options)
            return lambda *leaves: jax.tree.unflatten(kept.structure, flat(*leaves))

        # A function of its own, with which all that JAX remembers of tracing it goes away.
        def of_leaves(*leaves: Any) -> Any:
            return self.function(*jax.tree.unflatten(structure, leaves), **static)

        return jax.jit(of_leaves).lower(*leaves).compile(options)


def _keep(key: tuple, compiled: Callable) -> None:
    """As the one that was used last."""
    with _lock:
        _kept[key] = compiled
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)


def _as_array(leaf: Any, dtype: np.dtype) -> Any:
    if type(leaf) is not np.ndarray:
        if isinstance(leaf, jax.Array):  # keys of random numbers
            return leaf
        leaf = np.asarray(leaf)
    # A view, as JAX remembers in which precision a user's trace has had an array, by the object.
    return leaf.astype(dtype, copy=False).view() if leaf.dtype.kind == "f" else leaf
