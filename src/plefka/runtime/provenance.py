"""Where numbers come from: the code and the facts of a machine that they may depend on."""

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
# What no number depends on: folders and files of the package.
NOT_COMPUTING = {"bridges.py", "cli", "explorer", "files", "paper", "plots", "progress.py", "sklearn", "tables"}
PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "equinox", "optax")


@cache
def source(package: Path = PACKAGE, also: tuple[str, ...] = ()) -> str:
    """A digest of the code that computes numbers, and of these files: another one for every change of it."""
    files = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in NOT_COMPUTING]
    files += [package / name for name in also]
    texts = {path.relative_to(package).as_posix(): path.read_text(encoding="utf-8") for path in files}
    return hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:12]


def machine() -> dict[str, Any]:
    """What a number may depend on: nothing that says whose machine it is."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
