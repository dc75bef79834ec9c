"""What the tests of the page share: a browser, and a service that answers about the espresso machine.

One of each serves all modules, as they take seconds to start. Every module has a page of its own.
"""

import pytest

from tests.explorer.browser_service import serving
from tests.paper.browser import browser


@pytest.fixture(scope="session")
def opened_browser(tmp_path_factory):
    with browser(str(tmp_path_factory.mktemp("chromium"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def chromium(opened_browser):
    opened_browser.begin_afresh()
    return opened_browser


@pytest.fixture(scope="session")
def service():
    with serving("example:espresso") as started:
        yield started
