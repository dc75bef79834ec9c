"""The numerical core is tested with the shapes in its signatures executed."""

import pytest
from jaxtyping import install_import_hook

import tests.typecheck as typecheck  # the hook looks its checker up by name

CORE = (
    "activations",
    "averages",
    "free_energies",
    "networks.blocks",
    "networks.edges",
    "networks.incidence",
    "networks.states",
    "solvers",
)

install_import_hook([f"plefka.{module}" for module in CORE], f"{typecheck.__name__}.checked")


def pytest_configure(config):
    """Compiled programs are shared by the workers and kept between runs, like pytest's own cache."""
    import jax

    jax.config.update("jax_compilation_cache_dir", str(config.rootpath / ".pytest_cache" / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


@pytest.fixture(autouse=True, scope="module")
def small_process():
    """What JAX remembers of one module is of no use to the next, and would stay in memory."""
    yield
    import jax

    jax.clear_caches()
