"""A report opened in a real browser: nothing is loaded, nothing runs, nothing goes wrong."""

import os
import shutil
import struct
import subprocess
import threading
import zlib
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sureline import TextClassifier
from sureline.evaluation import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH, HEIGHT = 1200, 3000


@pytest.fixture(scope="module")
def browser() -> str:
    """The path of a browser; where there is none, its tests are skipped with a sentence."""
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no chromium to open a report with: apt-get install chromium")


class Site:
    """A folder on a server of our own, which records the requests."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.requests = folder, list[str]()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append(self.path)
                file = site.folder / self.path.lstrip("/")
                content = file.read_bytes() if file.is_file() else b""
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> "Site":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def look(browser: str, url: str, folder: Path) -> tuple[str, list[str]]:
    """Open a page: what became of it, and what the browser said on its console.

    A picture and a print are left in the folder.
    """
    options = [
        *("--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--disable-dev-shm-usage", "--enable-logging=stderr", "--no-pdf-header-footer"),
        f"--window-size={WIDTH},{HEIGHT}",
        f"--user-data-dir={folder / 'browser'}",
        f"--screenshot={folder / 'page.png'}",
        f"--print-to-pdf={folder / 'page.pdf'}",
        "--dump-dom",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")  # which root cannot have
    done = subprocess.run([browser, *options, url], capture_output=True, check=True)
    said = done.stderr.decode(errors="replace").splitlines()
    return done.stdout.decode(), [line for line in said if ":CONSOLE" in line]


def colours(picture: bytes) -> tuple[int, int, int]:
    """The width and the height of a PNG, and how many different pixels rows begin to differ by."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    at, data = 8, b""
    while at < len(picture):
        (size,) = struct.unpack(">I", picture[at : at + 4])
        if picture[at + 4 : at + 8] == b"IDAT":
            data += picture[at + 8 : at + 8 + size]
        at += size + 12
    raw = zlib.decompress(data)
    length = len(raw) // height
    return width, height, len({raw[k * length : (k + 1) * length] for k in range(height)})


MEASURE = """<!doctype html><title>none</title>
<iframe id="frame" src="/page.html" width="WIDTH" height="800"></iframe><script>
frame.onload = () => {
  const page = frame.contentDocument, root = page.documentElement
  const tables = [...page.querySelectorAll('.wide')]
  const scrolling = tables.filter((each) => each.scrollWidth > each.clientWidth)
  document.title = [root.scrollWidth - root.clientWidth, scrolling.length].join(' ')
}
</script>"""


@pytest.mark.parametrize("width", [400, 500, 1200])
def test_tables_scroll_and_the_page_does_not(browser, width, tmp_path):
    (tmp_path / "web").mkdir()
    names = [f"a.class.of.a.long.name.{k}" for k in range(6)]
    texts = [f"word{k % 6} {'longword' * 9} other{k % 7}" for k in range(90)]
    model = TextClassifier(random_state=0).fit(texts, [names[k % 6] for k in range(90)])
    page = tmp_path / "web" / "page.html"
    write_report(model, texts, [names[k % 5] for k in range(90)], page)
    (tmp_path / "web" / "frame.html").write_text(MEASURE.replace("WIDTH", str(width)))
    with Site(tmp_path / "web") as site:
        shown, _ = look(browser, f"{site.root}/frame.html", tmp_path)
    beyond, scrolling = shown[shown.index("<title>") + 7 : shown.index("</title>")].split()
    assert int(beyond) == 0
    assert (int(scrolling) > 0) == (width < 1000)


def test_a_report_in_a_browser(browser, tmp_path):
    (tmp_path / "web").mkdir()
    with Site(tmp_path / "web") as site:
        loads = (
            f'<img src="{site.root}/image"><script src="{site.root}/script"></script>'
            f"<script>document.title='hacked'; console.log('ran')</script>"
            f'<link rel="stylesheet" href="{site.root}/style"><iframe src="{site.root}/frame">'
            f'</iframe><b style="background: url({site.root}/background)">b</b>'
        )
        texts = [f"{loads} spam {k} 🎉 مرحبا" for k in range(6)] + [f"lunch {k}" for k in range(6)]
        labels = [f"spam {loads}"] * 6 + ["ham"] * 6
        model = TextClassifier(random_state=0).fit(texts, labels)
        page = site.folder / "page.html"
        write_report(model, texts * 5, labels[::-1] * 5, page, name=f"a {loads} model")
        shown, said = look(browser, f"{site.root}/page.html", tmp_path)
        assert site.requests == ["/page.html"]
        assert said == []
        title = shown[shown.index("<title>") + 7 : shown.index("</title>")]
        assert unescape(title) == f"a {loads} model: 100.00% error"
        assert "<script" not in shown
        assert shown.count("<h2") == page.read_text("utf-8").count("<h2")
        width, height, different = colours((tmp_path / "page.png").read_bytes())
        assert (width, height) == (WIDTH, HEIGHT)
        assert different > 500  # lines of pixels that are not like any other
        assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")

        # The same, not escaped, shows that a page which does load and run things is detected.
        site.requests.clear()
        bad = f"<!doctype html><title>bad</title><p>{loads}</p>"
        (site.folder / "bad.html").write_text(bad)
        shown, said = look(browser, f"{site.root}/bad.html", tmp_path)
        assert {"/image", "/script", "/style", "/frame", "/background"} <= set(site.requests)
        assert "<title>hacked</title>" in shown
        assert any("ran" in line for line in said)
