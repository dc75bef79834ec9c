"""A cache of compiled programs on disk, so that the next process need not compile them again.

The command uses it by default, the library after a call of `plefka.keep_compiled()`. JAX can limit the size of its
cache too, but then looks at every file whenever it adds one: 55 ms among 1,000 programs, 200 ms among 5,000. Here the
folder is trimmed when `keep_compiled` is called and when the process ends.
"""

import atexit
import os
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

from plefka.errors import InvalidInput

FOLDER, SIZE = "PLEFKA_CACHE_DIR", "PLEFKA_CACHE_SIZE"  # variables of the environment
MEGABYTES = 512.0
CACHE_SUFFIX = "-cache"  # of the files that JAX writes
# Where programs run briefly, compiling is what takes time. One piece of code takes a fifth less of it than several.
QUICK_TO_COMPILE = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
# The same for XLA_FLAGS, which XLA reads when JAX starts.
COMPILE_FAST = " ".join(f"--{name}={str(value).lower()}" for name, value in QUICK_TO_COMPILE.items())

_in_use: list[Path] = []  # the folder, once there is one


def folder_in_use() -> Path | None:
    """The folder in which this process stores programs, or None."""
    return _in_use[0] if _in_use else None


def keep_compiled(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Keep compiled programs on disk, so that the next process starts faster.

    From now on JAX stores the programs that it compiles, and loads those that were stored earlier. The programs that
    were not used for the longest time are deleted if all of them together exceed 512 MB, or as many megabytes as the
    environment variable PLEFKA_CACHE_SIZE says.

    **Arguments:**

    - `folder`: where programs are stored. By default, the folder in the environment variable PLEFKA_CACHE_DIR, or else
        the cache folder of the user. If PLEFKA_CACHE_DIR is empty, nothing is stored.

    Returns the folder, or None if the cache is switched off or the folder cannot be written.

    **Example:**

    >>> import plefka as pf
    >>> folder = pf.keep_compiled()  # doctest: +SKIP
    """
    place, limit = cache_folder() if folder is None else Path(folder).expanduser(), _limit()
    if place is None or not _is_writable(place):
        return None
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    jax.config.update("jax_compilation_cache_dir", str(place))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    _in_use[:] = [place]
    reset_cache()  # JAX decides with the first program it compiles whether there is a cache
    # The disk may be full, or another process may have removed a program: then it is compiled again.
    warnings.filterwarnings("ignore", message=".*persistent compilation cache.*")
    trim(place, limit)
    atexit.register(trim, place, limit)
    return place


def cache_folder() -> Path | None:
    """The default folder: PLEFKA_CACHE_DIR, or the cache folder of the user; None if the cache is switched off."""
    chosen = os.environ.get(FOLDER)
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
    from platformdirs import user_cache_path

    return user_cache_path("plefka", appauthor=False)


def trim(folder: Path, limit: float) -> None:
    """Remove the programs that were not used for the longest time, so that the others have `limit` bytes at most."""
    programs = []
    for path in folder.glob(f"*{CACHE_SUFFIX}"):
        with suppress(OSError):  # another process may have removed it
            about = path.stat()
            programs.append((max(about.st_atime, about.st_mtime), about.st_size, path))
    total = 0
    for _, size, path in sorted(programs, reverse=True):
        total += size
        if total > limit:
            with suppress(OSError):
                path.unlink()


def _limit() -> float:
    """In bytes."""
    text = os.environ.get(SIZE, str(MEGABYTES))
    with suppress(ValueError):
        if 0 <= float(text) < float("inf"):
            return float(text) * 1e6
    raise InvalidInput(f"{SIZE} must be a number of megabytes, 0 or more; got {text!r}.")


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
