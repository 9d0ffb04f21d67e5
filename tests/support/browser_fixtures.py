"""A browser for the tests that open pages."""

import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browser() -> str:
    """The path of a browser; where there is none, its tests are skipped with a sentence."""
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no chromium to open a report with: apt-get install chromium")
