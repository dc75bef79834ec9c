"""The numerical core is tested with the shapes in its signatures executed."""

import ctypes
import gc
import resource
import sys

import pytest
from jaxtyping import install_import_hook

import tests.typecheck as typecheck  # the hook looks its checker up by name

CORE = (  # modules of formulas; those that take what users type check it in words of their own
    "averages", "mean_field.machine_orders", "mean_field.mixture_energy", "mean_field.orders", "mean_field.sjj",
    "mean_field.taylor", "mean_field.untruncated", "networks.activations", "networks.blocks", "networks.edges",
    "networks.fields", "networks.incidence", "solvers",
)  # fmt: skip

install_import_hook([f"plefka.{module}" for module in CORE], f"{typecheck.__name__}.checked")


def pytest_configure(config):
    """Compiled programs are shared by the workers and kept between runs, like pytest's own cache.

    Traces make many objects that stay: to look for cycles among them as often as Python does takes 7 % of all time.
    """
    import jax

    gc.set_threshold(50_000, 10, 10)
    jax.config.update("jax_compilation_cache_dir", str(config.rootpath / ".pytest_cache" / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


LARGEST = 2**30  # bytes that a worker may hold between two modules


@pytest.fixture(autouse=True, scope="module")
def small_process():
    """What is remembered of earlier modules is of little use to later ones, and would stay in memory."""
    yield
    if resident_memory() > LARGEST:
        forget_programs()


def forget_programs() -> None:
    """Drop compiled programs and traces, and give what they took back: the allocator keeps it otherwise."""
    import jax

    from plefka.runtime import programs

    programs._kept.clear()
    jax.clear_caches()
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def resident_memory() -> int:
    """Bytes that this process holds; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
