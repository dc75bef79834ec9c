"""Real networks, which do not come with the library: in the folder that PLEFKA_DATA names, or beside the repository."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

BESIDE = Path(__file__).parents[2] / "shared" / "data"


def read_json(name: str) -> Any:
    """The content of a file of the folder; without it, the test is skipped."""
    path = Path(os.environ.get("PLEFKA_DATA") or BESIDE) / name
    if not path.is_file():
        pytest.skip(f"there is no {path}: real networks do not come with the library; PLEFKA_DATA names their folder")
    return json.loads(path.read_text(encoding="utf-8"))
