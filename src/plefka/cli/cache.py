"""Compiled code, kept between two runs of the command in the user's cache folder.

Only the command does this; importing the library never touches JAX's configuration.
"""

import os
import sys
import tempfile
import warnings
from pathlib import Path

VARIABLE = "PLEFKA_CACHE_DIR"
# For XLA_FLAGS, which XLA reads when JAX starts: where programs are many and run briefly, compiling is what takes time.
COMPILE_FAST = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"


def cache_folder() -> Path | None:
    """Where compiled code is kept: PLEFKA_CACHE_DIR, or the system's place for it; None where switched off."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
    return _PLACES.get(sys.platform, _on_linux)()


def _on_linux() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plefka"


def _on_macos() -> Path:
    return Path.home() / "Library" / "Caches" / "plefka"


def _on_windows() -> Path:
    return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "plefka" / "cache"


_PLACES = {"darwin": _on_macos, "win32": _on_windows}


def keep_compiled() -> None:
    """Let JAX keep what it compiles, all of it; without a folder that can be written, everything works as before."""
    folder = cache_folder()
    if folder is None or not _is_writable(folder):
        return
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    warnings.filterwarnings("ignore", message=".*persistent compilation cache.*")  # such as a disk that is full


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
