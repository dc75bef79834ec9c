"""The pages of the site: every public name, links that lead somewhere, notebooks that ran, nothing from elsewhere."""

import inspect
import json
import re
from pathlib import Path

import pytest

import plefka
from tests.documentation.built import ROOT, Page, is_elsewhere, leads_nowhere, read

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
FUNCTIONS = [name for name in plefka.__all__ if inspect.isfunction(getattr(plefka, name))]


def api(site: Path) -> list[Page]:
    return [read(path) for path in sorted((site / "api").glob("*.html"))]


def shown(page: Page, name: str) -> str:
    """What the page says of a function: from its heading on, without white space."""
    words = "".join(page.words)
    start = re.search(rf"plefka\.{name}\b", words)
    assert start
    return re.sub(r"\s", "", words[start.end() :])


@pytest.mark.parametrize("name", plefka.__all__)
def test_every_public_name_is_in_the_api_reference(site, name):
    assert any(f"plefka.{name}" in page.places for page in api(site))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_reference_shows_the_signature_and_the_docstring(site, name):
    (page,) = (page for page in api(site) if f"plefka.{name}" in page.places)
    function = getattr(plefka, name)
    text = shown(page, name)
    head = text[: text.index(")->")]
    parameters = re.findall(r"[(,]\*{0,2}(\w+)(?=[:,=)]|$)", re.sub(r"\[[^\]]*\]", "", head))
    assert [each for each in parameters if each in inspect.signature(function).parameters] == list(
        inspect.signature(function).parameters
    )
    first = (inspect.getdoc(function) or "").partition("\n")[0]
    assert re.sub(r"[\s`]", "", first) in text


def test_a_long_signature_has_a_line_for_each_parameter(site):
    (page,) = (page for page in api(site) if "plefka.infer" in page.places)
    signature = re.search(r"infer\(\n(.*?)\n\) -> Solution", "".join(page.words), re.DOTALL)
    assert signature
    names = [line.strip().partition(":")[0].rstrip(",") for line in signature[1].splitlines()]
    assert [name for name in names if name != "*"] == list(inspect.signature(plefka.infer).parameters)


def test_figures_lead_to_their_files_and_those_of_the_gallery_to_pages(site):
    figures = [link for path in site.glob("*.html") for link in read(path).links if "figures/" in link]
    assert "figures/methods-1.svg" in figures
    gallery = read(site / "gallery.html")
    assert len([address for address in gallery.loaded if address.startswith("figures/")]) > 10
    assert not [link for link in gallery.links if "figures/" in link]


def test_every_link_leads_somewhere(site):
    broken = [
        (path.relative_to(site).as_posix(), link)
        for path in sorted(site.rglob("*.html"))
        if path.name != "404.html"
        for link in [*read(path).links, *read(path).loaded]
        if not is_elsewhere(link) and not link.startswith("data:") and leads_nowhere(path, link)
    ]
    assert broken == []


def test_links_that_lead_nowhere_are_found(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<a href="#here" id="here">1</a><a href="#there">2</a><img src="missing.png">')
    found = [link for link in (*Page(page).links, *Page(page).loaded) if leads_nowhere(page, link)]
    assert found == ["#there", "missing.png"]


def test_nothing_is_loaded_from_elsewhere(site):
    for path in site.rglob("*.html"):
        assert [address for address in read(path).loaded if is_elsewhere(address)] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_run_and_can_be_downloaded(site, notebook):
    source = json.loads(notebook.read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") for cell in source["cells"]), "notebooks are kept without output"
    page = read(site / "notebooks" / f"{notebook.stem}.html")
    assert [picture for picture in page.loaded if picture.startswith(notebook.stem)]
    assert f"download/{notebook.name}" in page.links
    assert json.loads((site / "notebooks" / "download" / notebook.name).read_text()) == source


def test_every_page_is_in_the_search(site):
    found = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    pages = {entry["location"].partition("#")[0] for entry in json.loads(found)["docs"]}
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"404.html"}
    assert pages == built
