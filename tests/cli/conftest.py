"""Running the command inside the tests: arguments in, exit code and both streams out."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from plefka.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=_refuse)


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process, without a compilation cache: other tests must not find JAX configured."""
    monkeypatch.setenv("PLEFKA_CACHE_DIR", "")
    monkeypatch.setenv("PLEFKA_PROGRESS", "0")  # on a busy machine a bar would stand on standard error

    def run(*arguments: object) -> Ran:
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run
