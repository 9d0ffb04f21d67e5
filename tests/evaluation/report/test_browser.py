"""A report opened in a real browser: nothing is loaded, nothing runs, nothing goes wrong."""

import struct
import zlib
from html import unescape

import pytest
from browser_pages import HEIGHT, WIDTH, Site, look
from cases import slow

from sureline import TextClassifier
from sureline.evaluation import write_report

pytest_plugins = ["browser_fixtures"]


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


@pytest.mark.parametrize(
    ("width", "sets"),
    [(400, False), pytest.param(500, False, marks=pytest.mark.slow), (1200, False), (400, True)],
)
def test_tables_scroll_and_the_page_does_not(browser, width, sets, tmp_path):
    (tmp_path / "web").mkdir()
    names = [f"a.class.of.a.long.name.{k}" for k in range(6)]
    if sets:
        names = [{name, "a.label.that.others.have.too"} for name in names]
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


@pytest.mark.parametrize("sets", [False, *slow(True)])
def test_a_report_in_a_browser(browser, sets, tmp_path):
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
        labels = [{label} for label in labels] if sets else labels
        model = TextClassifier(random_state=0).fit(texts, labels)
        page = site.folder / "page.html"
        write_report(model, texts * 5, labels[::-1] * 5, page, name=f"a {loads} model")
        shown, said = look(browser, f"{site.root}/page.html", tmp_path)
        assert site.requests == ["/page.html"]
        assert said == []
        title = shown[shown.index("<title>") + 7 : shown.index("</title>")]
        result = "0.0000 micro F1" if sets else "100.00% error"
        assert unescape(title) == f"a {loads} model: {result}"
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
