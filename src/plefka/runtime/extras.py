"""Optional packages, imported where they are used; the absence of one names the extra to install."""

from importlib import import_module
from typing import Any

from plefka.errors import MissingExtra


def pandas(purpose: str = "a table of data") -> Any:
    return imported("pandas", "data", purpose)


def pyarrow(module: str = "pyarrow") -> Any:
    """The package, or one of its modules."""
    return imported(module, "data", "a .parquet file")


def optax() -> Any:
    return imported("optax", "learn", "learning")


def openpyxl() -> Any:
    return imported("openpyxl", "networks", "an Excel file")


def arviz_base() -> Any:
    return imported("arviz_base", "sampling", "draws in the form of ArviZ")


def web_service() -> None:
    """The ASGI framework and the server."""
    for package in ("fastapi", "uvicorn"):
        imported(package, "explorer", "the service")


def distributed() -> Any:
    """Dask's scheduler and workers."""
    return imported("distributed", "cluster", "work on a cluster")


def imported(module: str, extra: str, purpose: str) -> Any:
    """A module of an optional package."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(module.partition(".")[0], extra, purpose) from error
