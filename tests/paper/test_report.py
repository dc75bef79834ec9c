"""The report from rows that nobody computed: all its parts, no JAX, and the same file again."""

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from plefka.paper import beside_printed, plan, render, report, store
from plefka.paper.beside_printed import paper
from plefka.paper.experiment_settings import spelled
from plefka.paper.summary import Key, Summary, percent, signed
from plefka.tables.html_page import ReportTable, Section, Text
from tests.paper import made_up

WITHOUT_JAX = """
import sys
sys.modules["jax"] = sys.modules["equinox"] = None
from plefka.cli import main
sys.exit(main(["reproduce", "--redraw", "--out", sys.argv[1]]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made_up")
    made_up.write(folder)
    return folder


def test_a_report_is_drawn_without_jax(folder):
    done = subprocess.run([sys.executable, "-c", WITHOUT_JAX, str(folder)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "The report is in" in done.stdout
    assert (folder / "report.html").stat().st_size < 2_000_000
    assert "Figure 10" in (folder / "report.md").read_text()


@pytest.fixture(scope="module")
def drawn(folder):
    """The page and the Markdown."""
    return [path.read_text() for path in render.write(store.read(folder), folder)]


def test_the_same_rows_give_the_same_report(folder, drawn):
    assert drawn == [path.read_text() for path in render.write(store.read(folder), folder)]


def test_the_page_needs_nothing_else(drawn):
    page = drawn[0]
    assert "<script" not in page
    assert "@import" not in page
    links = re.findall(r'(?:src|href)="([^"#][^"]*)"', page)
    assert set(links) == {"data:,"}
    kinds = ("Histogram", "Exact", "Radius")
    assert page.count('role="img"') == sum(page.count(f'aria-label="{kind}') for kind in kinds)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_page_is_well_formed(drawn):
    class Checker(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "link", "br"):
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    checker = Checker()
    checker.feed(drawn[0])
    assert checker.open == []


def test_every_picture_of_the_markdown_is_there(folder, drawn):
    pictures = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", drawn[1])
    assert len(pictures) > 20
    assert all((folder / path).exists() and alternative for alternative, path in pictures)


def test_each_part_can_stand_alone(tmp_path):
    for part in ("table1", "table2", "learning", "misprints", "policies", "radius"):
        made_up.write(tmp_path / part, (part,))
        assert render.write(store.read(tmp_path / part), tmp_path / part)


def test_surprises_are_explained(folder):
    everything = store.read(folder)
    for table in ("table1", "table2"):
        for part in beside_printed.tables(everything[table], everything):
            for row in part.rows:
                errors = re.search(r"\(([0-9.]+) SE\)", row[-2])
                assert bool(row[-1]) == (errors is None or float(errors[1]) > 3)


def cell(networks: int, standard_errors: float) -> beside_printed.Cell:
    """G11 on [-5, 5], so many of our standard errors off what was printed."""
    printed, error = -0.044, 0.01
    ours = Summary(printed + standard_errors * error, error, 0.1, networks, 1.0, 0.0, 0.0, 10.0)
    return beside_printed.Cell("table1", Key("sigmoid [-5, 5]", "off", "G11"), ours, printed)


@pytest.mark.parametrize(("networks", "differs"), [(10_000, False), (500, True), (1_000_000, False)])
def test_the_printed_mean_has_the_error_of_the_papers_own_networks(networks, differs):
    """4.1 of our standard errors: of few networks they are large beside the paper's, of as many both count alike."""
    assert paper()["table1"]["networks"] == 10_000
    words = beside_printed.explain(cell(networks, 4.1), {})
    assert ("The difference is within these two" not in words) == differs


def test_a_quick_report_says_so_first(folder, drawn):
    label = plan.quick_label(store.read(folder))
    assert label is not None
    assert label.startswith("This is a quick run")
    for words in ("table1 has 40 networks in each column instead of 10,000", "12 epochs instead of 200"):
        assert words in label
    page, text = drawn
    assert "<title>The paper again: a quick run</title>" in page
    assert text.startswith(f"# The paper again: a quick run\n\n{label}\n")


def test_the_full_run_has_no_such_label(folder):
    everything = store.read(folder)
    full = {experiment.name: experiment for experiment in plan.experiments(["all"], plan.FULL, 0)}
    rows = {name: replace(rows, settings=spelled(full[name])) for name, rows in everything.items()}
    assert plan.quick_label(rows) is None


def test_nothing_in_a_report_is_markup():
    section = Section("<b>&", [Text("a < b"), ReportTable("|", ("x", "y"), [("<i>", "|")])])
    page = render.html_page("<t>", [], [section], [])
    assert "<b>" not in page
    assert "<i>" not in page
    assert "\\|" in report.markdown_page("t", [], [section], [])


def test_without_rows_the_command_to_run_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"there are no rows to draw\. Run plefka reproduce"):
        render.write(store.read(tmp_path), tmp_path)


def test_numbers_are_spelled_honestly():
    assert signed(-0.00004, 4) == "0.0000"
    assert signed(-0.5, 1) == "\N{MINUS SIGN}0.5"
    assert [percent(share) for share in (0, 0.0004, 0.5, 0.9996, 1)] == ["0 %", "0.04 %", "50.0 %", "99.96 %", "100 %"]
