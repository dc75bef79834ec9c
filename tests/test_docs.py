"""The documentation names everything that is public, every equation of the paper, and only code that exists."""

import pkgutil
import re
from pathlib import Path

import pytest

import plefka

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
EQUATIONS = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
NUM_EQUATIONS = 77
OWN_MODULES = sorted(set(re.findall(r"`(plefka(?:\.\w+)+)", TEXT)))


@pytest.mark.parametrize("name", plefka.__all__)
def test_every_public_name_is_in_the_documentation(name):
    assert re.search(rf"\b(pf|plefka)\.{name}\b", TEXT)


@pytest.mark.parametrize("name", plefka.METHODS)
def test_every_method_is_in_the_documentation(name):
    assert re.search(rf"`{name}[`\[]", TEXT)


def test_every_equation_of_the_paper_has_a_row():
    rows = re.findall(r"^\| *\((\d+)\)(?: to \((\d+)\))?", EQUATIONS, flags=re.MULTILINE)
    numbers = [k for first, last in rows for k in range(int(first), int(last or first) + 1)]
    assert numbers == list(range(1, NUM_EQUATIONS + 1))


@pytest.mark.parametrize("name", OWN_MODULES)
def test_every_piece_of_code_that_is_named_exists(name):
    assert pkgutil.resolve_name(name) is not None


def test_the_design_page_names_every_module():
    design, package = (ROOT / "docs" / "design.md").read_text(encoding="utf-8"), ROOT / "src" / "plefka"
    modules = [path for room in package.iterdir() if room.is_dir() for path in room.glob("[!_]*.py")]
    assert modules
    assert [f"{path.parent.name}/{path.stem}" for path in modules if f"`{path.stem}`" not in design] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("name", plefka.__all__)
def test_every_public_name_has_a_place_in_the_api_reference(name):
    reference = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    assert len(re.findall(rf"^::: plefka\.{name}$", reference, flags=re.MULTILINE)) == 1


def test_every_page_is_in_the_navigation():
    pages = re.findall(r"- ([\w/-]+\.(?:md|ipynb))$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    docs = ROOT / "docs"
    written = [path for pattern in ("*.md", "*.ipynb") for path in docs.rglob(pattern)]
    assert sorted(pages) == sorted(path.relative_to(docs).as_posix() for path in written)


def test_what_was_measured_is_not_called_unmeasured():
    """Every method of the tables in choosing.md was."""
    assert "`mixture[5]` |" in (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    assert "not been measured" not in (ROOT / "docs" / "beyond.md").read_text(encoding="utf-8")
