"""Compiled programs on disk: where they are, how much room they take, and who shares them."""

import os
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

import plefka as pf
from plefka.runtime.program_cache import cache_folder, trim

PROGRAMS = """
import sys
import jax, jax.numpy as jnp
import plefka as pf
jax.jit(jnp.sin)(1.0)  # before there is a cache
print(pf.keep_compiled())
for k in range(int(sys.argv[1])):
    jax.jit(lambda x: jnp.sin(x) + k)(1.0)
"""


def programs(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of writing."""
    found = {path.name: path.stat() for path in folder.glob("*-cache")}
    return {name: (about.st_size, about.st_mtime_ns) for name, about in found.items()}


def compile_some(folder: Path, count: int, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS, str(count)],
        env={**os.environ, "PLEFKA_CACHE_DIR": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_processes_share_what_they_compile_and_keep_to_the_size(tmp_path):
    assert compile_some(tmp_path, 3) == str(tmp_path)
    first = programs(tmp_path)
    assert len(first) >= 3
    compile_some(tmp_path, 5)
    second = programs(tmp_path)
    assert len(second) == len(first) + 2
    assert second.items() >= first.items()
    size = sum(size for size, _ in second.values())
    compile_some(tmp_path, 15, PLEFKA_CACHE_SIZE=str(1.5e-6 * size))
    assert 0.5 * size < sum(size for size, _ in programs(tmp_path).values()) <= 1.5 * size
    compile_some(tmp_path, 0, PLEFKA_CACHE_SIZE="0")
    assert not programs(tmp_path)


def test_what_was_used_last_stays(tmp_path):
    """And what is no program of JAX's is left alone."""
    for age, name in enumerate(("new-cache", "read-cache", "old-cache", "mine")):
        (tmp_path / name).write_bytes(b"x" * 100)
        os.utime(tmp_path / name, (1e9 - age, 1e9 - 100 * age))  # read and written
    os.utime(tmp_path / "read-cache", (1e9 + 1, 1e9 - 1000))
    trim(tmp_path, 250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "new-cache", "read-cache"]


def test_variables_choose_the_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("PLEFKA_CACHE_DIR", raising=False)
    assert cache_folder() == platformdirs.user_cache_path("plefka", appauthor=False)
    monkeypatch.setenv("PLEFKA_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.setenv("PLEFKA_CACHE_DIR", "")
    assert pf.keep_compiled() is None


@pytest.mark.parametrize("size", ["much", "-1", "nan", "inf"])
def test_a_size_that_is_none_is_refused(monkeypatch, tmp_path, size):
    monkeypatch.setenv("PLEFKA_CACHE_SIZE", size)
    with pytest.raises(pf.errors.InvalidInput, match=f"PLEFKA_CACHE_SIZE must be a number of megabytes.*got '{size}'"):
        pf.keep_compiled(tmp_path)
