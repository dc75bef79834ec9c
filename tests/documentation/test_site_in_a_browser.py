"""The site in a real browser, opened as files: on a desktop and on a phone, light and dark, with its search."""

import time

import pytest

from tests.paper.audits import CONTRAST
from tests.paper.browser import PROGRAM, browser

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
SIZES = {"desktop": (1280, 900), "phone": (360, 740)}
PAGES = ("index", "gallery", "choosing", "faq", "recipes", "glossary", "notebooks/diagnosis", "notebooks/methods")
PAGES += ("api/index", "api/inference", "api/networks")
PATIENCE = 600.0  # seconds for a search: only against a test that hangs
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
TOO_WIDE = """
[...document.querySelectorAll('.md-content *')]
  .filter(element => !element.closest('pre, .md-typeset__scrollwrap, .highlight, .md-clipboard'))
  .filter(element => element.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(element => [element.tagName, element.textContent.slice(0, 40)])
"""
FIGURES = "[...document.querySelectorAll('.md-content img[src*=figures]')]"
COLUMN = "document.querySelector('.md-content__inner').clientWidth"
WIDTHS = f"[{COLUMN}, ...{FIGURES}.map(image => [image.clientWidth, image.naturalWidth])]"
PAPERS = f"[...new Set({FIGURES}.map(image => getComputedStyle(image).backgroundColor))]"
OPEN_SEARCH = "document.querySelector('label[for=__search]').click()"
IN_SEARCH = "document.querySelector('[data-md-component=search-query]').focus()"
IS_READY = "document.querySelector('.md-search-result__meta').innerText.startsWith('Type')"
FOUND = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.getAttribute('href'))"
SECTIONS = (
    "Start",
    "Diagnose",
    "Compare methods",
    "Learn from data",
    "Scale out",
    "Extend",
    "Understand",
    "API reference",
)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory, site):
    with browser(str(tmp_path_factory.mktemp("chromium"))) as opened:
        yield opened


def address(site, page: str) -> str:
    return (site / f"{page}.html").resolve().as_uri()


def wait_for(chromium, script: str) -> object:
    """The value of a script once it is one."""
    deadline = time.monotonic() + PATIENCE
    while not (value := chromium.run(script)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return value


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_and_readable(chromium, site, page, size, scheme):
    chromium.open(address(site, page), *SIZES[size], scheme)
    assert chromium.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert chromium.run(TOO_WIDE) == []
    assert chromium.run("[...document.images].filter(image => !image.complete || !image.naturalWidth).length") == 0
    contrast = chromium.run(CONTRAST)
    assert contrast["seen"] > 20
    assert contrast["found"] == []
    brightness = sum(int(part) for part in chromium.run(BACKGROUND).strip("rgba()").split(",")[:3])
    assert (brightness > 600) == (scheme == "light")
    assert chromium.complaints() == []


def found_by_search(chromium, site, query: str, size: str) -> list[str]:
    """Where the results lead, best first."""
    chromium.open(address(site, "api/index"), *SIZES[size], "light")
    chromium.run(OPEN_SEARCH if size == "phone" else IN_SEARCH)
    chromium.run(IN_SEARCH)
    assert wait_for(chromium, IS_READY)
    chromium.call("Input.insertText", text=query)
    chromium.call("Input.dispatchKeyEvent", type="keyUp", key=query[-1])  # what the search listens to
    links = wait_for(chromium, FOUND)
    assert isinstance(links, list)
    return links


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("query", "page"),
    [("keep_compiled", "api/errors.html"), ("leak", "choosing.html"), ("own activation", "recipes.html")],
)
def test_the_search_finds_pages(chromium, site, query, page, size):
    links = found_by_search(chromium, site, query, size)
    wanted = [link for link in links if page in link]
    assert wanted, links
    chromium.open(wanted[0], *SIZES[size], "light")
    assert query.split()[-1] in chromium.run("document.body.innerText")


@pytest.mark.parametrize("word", ["leak", "barren unit", "explaining away", "residual", "effective sample size"])
def test_the_glossary_comes_first_in_the_search_for_a_word(chromium, site, word):
    assert "glossary.html" in found_by_search(chromium, site, word, "desktop")[0]


@pytest.mark.parametrize("page", ["index", "choosing", "first-hour", "series", "sensitivity"])
def test_figures_are_as_wide_as_they_were_drawn_or_as_the_page(chromium, site, page):
    chromium.open(address(site, page), *SIZES["desktop"], "dark")
    column, *figures = chromium.run(WIDTHS)
    assert figures
    assert all(shown >= 0.97 * min(drawn, column) for shown, drawn in figures)
    assert chromium.run(PAPERS) == ["rgb(255, 255, 255)"]


def test_sections_are_tabs_on_a_desktop_and_a_drawer_on_a_phone(chromium, site):
    tabs = "[...document.querySelectorAll('.md-tabs__link')].filter(a => a.offsetParent).map(a => a.innerText.trim())"
    chromium.open(address(site, "index"), *SIZES["desktop"], "light")
    assert chromium.run(tabs) == list(SECTIONS)
    chromium.open(address(site, "index"), *SIZES["phone"], "light")
    assert chromium.run(tabs) == []
    chromium.run("document.querySelector('label[for=__drawer]').click()")
    drawer = "document.querySelector('.md-nav--primary').innerText"
    assert all(section in str(wait_for(chromium, drawer)) for section in SECTIONS)


def test_the_colours_follow_the_system(chromium, site):
    """Who changes the system's colours finds the site changed, as long as no colours were chosen on it."""
    seen = []
    for scheme in ("light", "dark", "light"):
        chromium.open(address(site, "index"), *SIZES["desktop"], scheme)
        seen.append(chromium.run(BACKGROUND))
    assert seen[0] == seen[2] != seen[1]
