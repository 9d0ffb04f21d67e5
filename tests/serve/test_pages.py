"""The pages of the service in a real browser, with and without a token."""

import httpx
import pytest
from browser_pages import look
from cases import slow
from serve_runs import NEW

from sureline.serve.authentication import Tokens
from sureline.serve.calls import Settings

pytest_plugins = ["serve_fixtures", "browser_fixtures"]

LATER = ("--virtual-time-budget=4000",)
HOSTILE = "<img src=x onerror=alert(1)> <script>document.title='x'</script>"


def test_the_status_page_shows_the_models(browser, served, tmp_path):
    texts, labels = zip(*NEW[:200], strict=True)
    body = {"examples": [{"text": t, "label": y} for t, y in zip(texts, labels, strict=True)]}
    served.client.post("/v1/models/mail/learn", json=body)
    served.client.post("/v1/models/mail/predict", json={"texts": [f"{HOSTILE} ok prize call"]})
    status = served.client.get("/v1/models/mail").json()
    shown, console = look(browser, f"{served.url}/", tmp_path, *LATER)
    assert console == []
    assert "<h2>mail</h2>" in shown
    assert "<polyline" in shown
    assert "<dd>200</dd>" in shown
    assert "<title>sureline</title>" in shown
    if status["unsure"]:
        assert "&lt;img src=x onerror=alert(1)&gt;" in shown
    assert "<img" not in shown


def test_the_api_page_has_every_endpoint(browser, served, tmp_path):
    shown, console = look(browser, f"{served.url}/docs", tmp_path, *LATER)
    assert console == []
    for path in ("/v1/models/{name}/predict", "/v1/models/{name}/learn", "/metrics"):
        assert f"<code>{path}</code>" in shown


@pytest.mark.parametrize("page", ["", *slow("docs")])
def test_pages_ask_for_a_token(browser, serve, tmp_path, page):
    path = tmp_path / "tokens"
    path.write_text("read ann 0123456789abcdef")
    served = serve(Settings(Tokens.read(path)))
    shown, _ = look(browser, f"{served.url}/{page}", tmp_path, *LATER)
    assert "This service needs a token" in shown
    assert "mail" not in shown


@pytest.mark.parametrize("page", ["/", "/docs"])
def test_pages_load_nothing_from_elsewhere(served, page):
    made = httpx.get(f"{served.url}{page}")
    assert "default-src 'none'" in made.headers["content-security-policy"]
    assert made.headers["x-content-type-options"] == "nosniff"
    assert "http://" not in made.text
    assert "https://" not in made.text
