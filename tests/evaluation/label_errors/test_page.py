"""The page of an audit: what is on it, and corrections that are chosen in a real browser."""

import csv
import io
import json
import re
from html import unescape

import pytest
from browser_pages import Site, look
from wrong_labels import flipped_texts

from sureline.errors import InvalidParameter
from sureline.evaluation import audit

pytest_plugins = ["browser_fixtures"]

LOADS = (
    '<img src="ROOT/image"><script src="ROOT/script"></script>'
    "<script>document.title='hacked'; console.log('ran')</script></script></style>"
    "<b style=\"background: url(ROOT/background)\" onclick='x'>b</b> \"quoted\", &amp; 'too'"
)
SUSPECT = re.compile(r'<li class="suspect" ([^>]*)>')


def frame(width, script):
    """A page that shows the audit in a frame and runs a script in it when it has loaded."""
    return f"""<!doctype html><title>none</title>
<iframe id="frame" src="/page.html" width="{width}" height="800"></iframe><script>
frame.onload = () => {{
  const page = frame.contentDocument, root = page.documentElement
  {script}
}}
</script>"""


def title_of(shown):
    return unescape(shown[shown.index("<title>") + 7 : shown.index("</title>")])


def write_page(folder, root="", **options):
    """A page on texts and labels that would load and run things, and its audit."""
    loads = LOADS.replace("ROOT", root)
    texts, labels, _, _ = flipped_texts(120, own=0.8)
    names = [f"{label} {loads}" if label == "class 1" else label for label in labels]
    texts = [f"{text} {loads} 🎉" for text in texts]
    texts[1] = texts[0]
    names[1] = "class 0" if names[0] != "class 0" else names[2]
    sources = [f"a {loads}" if k < 60 else "b" for k in range(120)]
    found = audit(texts, names, sources=sources if options.pop("several", True) else None)
    found.write_report(folder / "page.html", name=f"mail {loads}", **options)
    return found


def test_the_page_shows_what_was_found(tmp_path):
    texts, labels, _, _ = flipped_texts(300, 3, own=0.7)
    texts[10], labels[10] = texts[11], "class 0" if labels[11] != "class 0" else "class 1"
    found = audit(texts, labels)
    found.write_report(tmp_path / "page.html", name="mail.csv", threshold=0.6)
    page = (tmp_path / "page.html").read_text("utf-8")
    rows = found.ranked(0.6)
    assert f"<title>mail.csv: {rows.size} suspects</title>" in page
    shown = [dict(re.findall(r'data-(\w+)="([^"]*)"', each)) for each in SUSPECT.findall(page)]
    assert [int(each["row"]) for each in shown] == (rows + 1).tolist()
    assert [each["label"] for each in shown] == labels[rows].tolist()
    suggested = re.findall(r'class="new" list="labels" value="([^"]*)"', page)
    assert suggested == found.suggested[rows].tolist()
    pairs = {each["pair"] for each in shown}
    options = re.findall(r'<option value="(\d+)">(\S+ \d) → (\S+ \d) \((\d+)\)', page)
    assert {number for number, *_ in options} == pairs
    for number, given, other, count in options:
        members = [k for k, each in enumerate(shown) if each["pair"] == number]
        assert len(members) == int(count)
        assert {(shown[k]["label"], suggested[k]) for k in members} == {(given, other)}
    assert 'id="conflicts"' in page
    assert 'id="duplicates"' in page
    assert 'id="leaks"' not in page
    assert '<mark class="t' in page
    with pytest.raises(InvalidParameter, match="threshold"):
        found.write_report(tmp_path / "page.html", threshold=2)


def test_a_page_without_suspects(tmp_path):
    texts, labels, _, _ = flipped_texts(60, share=0.0, own=1.0)
    audit(texts, labels).write_report(tmp_path / "page.html", threshold=1.0)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<title>Labels: 0 suspects</title>" in page
    assert "No label is wrong with such a probability." in page


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_is_no_wider_than_the_screen(browser, width, tmp_path):
    (tmp_path / "web").mkdir()
    write_page(tmp_path / "web")
    script = "document.title = root.scrollWidth - root.clientWidth"
    (tmp_path / "web" / "frame.html").write_text(frame(width, script))
    with Site(tmp_path / "web") as site:
        shown, said = look(browser, f"{site.root}/frame.html", tmp_path)
    assert title_of(shown) == "0"
    assert said == []


def test_texts_and_labels_on_the_page_are_only_text(browser, tmp_path):
    (tmp_path / "web").mkdir()
    with Site(tmp_path / "web") as site:
        found = write_page(site.folder, site.root, threshold=0.0)
        page = (site.folder / "page.html").read_text("utf-8")
        shown, said = look(browser, f"{site.root}/page.html", tmp_path)
        assert site.requests == ["/page.html"]
    assert said == []
    loads = LOADS.replace("ROOT", site.root)
    assert title_of(shown) == f"mail {loads}: {found.labels.size} suspects"
    assert page.count("<script") == shown.count("<script") == 1  # ours
    assert shown.count('class="suspect"') == found.labels.size


CHOOSE = """
  let made = null
  frame.contentWindow.Blob = function (parts, {type}) { made = {table: parts.join(""), type} }
  frame.contentWindow.URL.createObjectURL = () => "#"
  const id = (name) => page.getElementById(name)
  const visible = () => [...page.querySelectorAll(".suspect")].filter((each) => !each.hidden)
  const change = (element) => element.dispatchEvent(new Event("change", {bubbles: true}))
  const all = visible().length, before = id("save").disabled
  id("pair").value = "0"; change(id("pair"))
  const some = visible().map((each) => each.dataset.row)
  id("tick").click()
  const counted = id("count").textContent
  id("pair").value = ""; change(id("pair"))
  const last = visible().at(-1), field = last.querySelector(".new")
  field.value = 'a "new", label'
  field.dispatchEvent(new Event("input", {bubbles: true}))
  const same = visible().at(-2), kept = same.querySelector(".new")
  kept.value = same.dataset.label
  kept.dispatchEvent(new Event("input", {bubbles: true}))
  id("save").click()
  document.title = JSON.stringify(
    {all, before, some, counted, last: last.dataset.row, ...made})
"""


@pytest.mark.parametrize("several", [False, True])
def test_corrections_are_chosen_and_downloaded(browser, several, tmp_path):
    (tmp_path / "web").mkdir()
    found = write_page(tmp_path / "web", several=several, threshold=0.2)
    (tmp_path / "web" / "frame.html").write_text(frame(1000, CHOOSE))
    with Site(tmp_path / "web") as site:
        shown, said = look(browser, f"{site.root}/frame.html", tmp_path)
    assert said == []
    done = json.loads(title_of(shown))
    rows = found.ranked(0.2).tolist()
    assert done["all"] == len(rows)
    assert done["before"] is True  # nothing to download yet
    assert done["type"] == "text/csv"
    first = found.labels[rows[0]], found.suggested[rows[0]]
    of_pair = [row for row in rows if (found.labels[row], found.suggested[row]) == first]
    assert done["some"] == [str(found.place(row).number) for row in of_pair]
    assert len(of_pair) < len(rows)
    assert done["counted"] == f"{len(of_pair)} corrections"
    table = list(csv.DictReader(io.StringIO(done["table"])))
    names = ["row", "label", "suggested"] + ["file"] * several
    assert list(table[0]) == names
    chosen = [row for row in rows if row in of_pair or row == rows[-1]]
    chosen = [row for row in chosen if row != rows[-2]]  # its label stays as it is
    expected = [
        (str(found.place(row).number), found.labels[row], found.suggested[row])
        for row in chosen[:-1]
    ]
    expected.append((done["last"], found.labels[rows[-1]], 'a "new", label'))
    assert [tuple(each[name] for name in names[:3]) for each in table] == expected
    if several:
        assert [each["file"] for each in table] == [found.place(row).source for row in chosen]
