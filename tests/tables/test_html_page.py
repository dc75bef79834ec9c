"""A page of HTML: nothing that is given is markup, and it needs nothing else."""

import re

from plefka.tables.display import Markup
from plefka.tables.html_page import Figure, Panel, ReportTable, Section, Text, html_page

HOSTILE = '<script>alert(\'ü "&")</script>'


def test_every_text_is_escaped_except_markup():
    svg = '<svg width="1pt" height="1pt"><g id="a" fill="#0b6e8a"/><use href="#a"/></svg>'
    parts = [
        Text(HOSTILE),
        ReportTable(HOSTILE, ("unit", HOSTILE), [(HOSTILE, "0.5"), ("b", Markup("<b>bold</b>"))]),
        Figure("ranking", [Panel(svg, HOSTILE)], HOSTILE),
    ]
    page = html_page(HOSTILE, [HOSTILE], [Section(HOSTILE, parts)], [HOSTILE])
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 14
    assert "<b>bold</b>" in page
    assert not re.findall(r'(?:src|href)="(?!data:,|#)', page)
    assert 'id="ranking-0-a" fill="var(--first)"' in page
    assert 'href="#ranking-0-a"' in page
    assert "<svg role=" in page
    assert "1pt" not in page
