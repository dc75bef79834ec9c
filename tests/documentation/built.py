"""The documentation site: the one that `make site` has built, or else one that is built here, once."""

import os
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
VARIABLE = "PLEFKA_SITE"
TOOLS = ("mkdocs", "material", "mkdocstrings_handlers", "nbclient", "nbconvert", "ipykernel")
PATIENCE = 900  # seconds: the notebooks are run


def site(folder: Path) -> Path:
    """The site that the environment names, or one in the folder; skips where the tools to build it are missing."""
    if VARIABLE in os.environ:
        return ROOT / os.environ[VARIABLE]
    if missing := [name for name in TOOLS if find_spec(name) is None]:
        pytest.skip(f"the site is not built, and cannot be without {', '.join(missing)}: make site builds and tests it")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """The links of a page, what it loads, the places in it that links can lead to, and its words."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.words: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places |= {place for place in (given.get("id"), given.get("name")) if place}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loaded.append(given["src"] or "")
        if tag == "link" and given.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(given["href"] or "")

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


@cache
def read(path: Path) -> Page:
    return Page(path)


def is_elsewhere(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc) and not address.startswith("data:")


def leads_nowhere(path: Path, link: str) -> bool:
    """Whether a link of a page is to a file or to a place in a page that does not exist."""
    where = urlsplit(link)
    target = (path.parent / unquote(where.path)).resolve() if where.path else path
    if not target.is_file():
        return True
    place = unquote(where.fragment)
    return bool(place) and target.suffix == ".html" and place not in read(target).places
