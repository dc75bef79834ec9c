"""The site is built once for all of its tests."""

import pytest

from tests.documentation import built


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    return built.site(tmp_path_factory.mktemp("site"))
