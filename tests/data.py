"""Real networks, which do not come with the library: in the folder that PLEFKA_DATA names, or beside the repository."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

BESIDE = Path(__file__).parents[2] / "shared" / "data"
MISSING = "there is no {}: real networks do not come with the library; PLEFKA_DATA names their folder"


def read_json(name: str) -> Any:
    """The content of a file of the folder; without it, the test is skipped."""
    return json.loads(read_text(name))


def read_text(name: str) -> str:
    """The same as text, unpacked."""
    path = path_of(name)
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return str(file.read())


def path_of(name: str) -> Path:
    """Where a file of the folder is; without it, the test is skipped."""
    path = _folder() / name
    if not path.is_file():
        pytest.skip(MISSING.format(path))
    return path


def names_in(kind: str) -> list[str]:
    """All files of one kind, without their ending; without the folder, the test is skipped."""
    path = _folder() / kind
    if not path.is_dir():
        pytest.skip(MISSING.format(path))
    return sorted(file.stem for file in path.glob("*.json"))


def _folder() -> Path:
    return Path(os.environ.get("PLEFKA_DATA") or BESIDE)
