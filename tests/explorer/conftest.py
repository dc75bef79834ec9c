"""What the tests of the page share: a browser, and a service that answers about the espresso machine."""

import pytest

from tests.explorer.browser_service import serving
from tests.paper.browser import browser


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser(str(tmp_path_factory.mktemp("chromium"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def service():
    with serving("example:espresso") as started:
        yield started
