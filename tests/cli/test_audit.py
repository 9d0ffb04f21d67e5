"""``sureline audit``: what it prints and writes, and how corrections are applied."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from wrong_labels import flipped_texts

pytest_plugins = ["cli_fixtures"]

TEXTS, LABELS, WRONG, TRUTH = flipped_texts(400, 2, own=0.6)
COLUMNS = ["row", "label", "suggested", "probability_wrong", "words"]
COUNT = 37  # suspects, of 40 wrong labels
PRINTED = """\
rows        400 of 2 classes
wrong       about 34 labels (8.5%)
suspects    37 with a probability of 50% or more
duplicates  none
conflicts   none

Suspects
  row  label    suggested  wrong  words
  295  class 0  class 1    95.5%  w2033, w2024, w2034, w2050, w2055, w2018
  330  class 0  class 1    95.5%  w2022, w2026, w2051, w2009, w2039, w2025
  and 35 more

Wrong labels by pair
  label    probably  wrong  share of label
  class 0  class 1    24.8           12.9%
  class 1  class 0     9.2            4.4%
"""


def write(name, texts, labels, **others):
    """A CSV file of labelled texts."""
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["text", "label", *others])
        out.writerows(zip(texts, labels, *others.values(), strict=True))


def read(name):
    with Path(name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def rows(folder):
    """A file of labelled rows, some of them wrong, with a further column."""
    write("rows.csv", TEXTS, LABELS, id=[f"0{k}" for k in range(400)])
    return "rows.csv"


def test_what_is_printed(run, rows):
    code, out, err = run("audit", rows, "--top", "2")
    assert (code, err) == (0, "")
    assert out == PRINTED
    assert WRONG[[294, 329]].all()
    assert run("audit", rows, "--top", "2", "--seed", "0", "--quiet")[1] == out
    assert run("audit", rows, "--top", "2", "--seed", "1")[1] != out


def test_the_table_of_suspects(run, rows):
    code, _, err = run("audit", rows, "-o", "suspects.csv", "--top", "0")
    assert (code, err) == (0, "")
    found = read("suspects.csv")
    assert list(found[0]) == COLUMNS
    numbers = [int(each["row"]) for each in found]
    assert WRONG[np.array(numbers) - 1].mean() > 0.9
    assert len(set(numbers)) == len(numbers) == COUNT
    chances = [float(each["probability_wrong"]) for each in found]
    assert chances == sorted(chances, reverse=True)
    assert min(chances) >= 0.5
    for each in found:
        assert each["label"] == LABELS[int(each["row"]) - 1]
        assert each["suggested"] == f"class {1 - int(each['label'][-1])}"
        words = each["words"].split(", ")
        assert 1 <= len(words) <= 6
        assert all(word in TEXTS[int(each["row"]) - 1] for word in words)
    assert run("audit", rows, "-o", "all.jsonl", "--threshold", "0")[0] == 0
    every = [json.loads(line) for line in Path("all.jsonl").read_text().splitlines()]
    assert sorted(each["row"] for each in every) == list(range(1, 401))
    assert list(every[0]) == COLUMNS
    assert run("audit", rows, "-o", "some.parquet", "--threshold", "0.9")[0] == 0
    assert pq.read_table("some.parquet").column_names == COLUMNS
    clean = ["--threshold", "1", "-o", "none.csv"]
    assert run("audit", rows, *clean)[0] == 0
    assert Path("none.csv").read_text() == ",".join(COLUMNS) + "\n"


def test_json_has_everything(run, rows):
    code, out, err = run("audit", rows, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["rows"] == 400
    assert found["suspects_found"] == len(found["suspects"]) == COUNT
    assert list(found["suspects"][0]) == COLUMNS
    assert found["share_wrong"] == pytest.approx(found["wrong"] / 400)
    assert {each["label"] for each in found["pairs"]} == {"class 0", "class 1"}
    assert found["duplicates"] == {"rows": 0, "groups": 0, "largest": 0}
    assert found["warnings"] == found["leaks"] == found["conflicts"] == []


def test_duplicates_conflicts_and_leaks(run, folder):
    texts, labels = list(TEXTS), list(LABELS)
    texts[9], texts[19], labels[9], labels[19] = texts[8], texts[8], labels[8], labels[8]
    texts[30], labels[30] = texts[29].upper() + "!", f"class {1 - int(labels[29][-1])}"
    write("train.csv", texts[:300], labels[:300])
    write("test.csv", [texts[0], *texts[301:]], [labels[0], *labels[301:]])
    code, out, err = run("audit", "train.csv", "test.csv", "--top", "1")
    assert code == 0
    assert err == (
        "sureline: 1 text occurs, the same or nearly the same, in test.csv and train.csv: a model "
        "that is trained on one and tested on the other shows too few errors; remove them from "
        "one\n"
    )
    assert "duplicates  5 rows in 2 groups of identical texts, the largest of 3\n" in out
    assert "conflicts   1 group of equal or similar texts with different labels\n" in out
    assert out.endswith(
        "Conflicting duplicates\n"
        f"  similar: {labels[29]} (row 30 of train.csv), {labels[30]} (row 31 of train.csv)\n"
        "\n"
        "In several files\n"
        f"  identical: {labels[0]} (row 1 of train.csv), {labels[0]} (row 1 of test.csv)\n"
    )
    found = json.loads(run("audit", "train.csv", "test.csv", "--json")[1])
    assert found["leaks"] == [
        {
            "rows": [1, 1],
            "labels": [labels[0]] * 2,
            "identical": True,
            "files": ["train.csv", "test.csv"],
        }
    ]
    assert list(found["suspects"][0]) == [*COLUMNS, "file"]


# -- corrections -------------------------------------------------------------------------------


def test_corrections_make_a_new_file(run, rows):
    before = Path(rows).read_bytes()
    assert run("audit", rows, "-o", "suspects.csv")[0] == 0
    code, out, err = run("audit", rows, "--apply", "suspects.csv", "-o", "corrected.csv")
    assert (code, err) == (0, "")
    assert out == f"rows       400\ncorrected  {COUNT}\noutput     corrected.csv (SIZE)\n"
    assert Path(rows).read_bytes() == before
    fixes = {int(each["row"]): each["suggested"] for each in read("suspects.csv")}
    old, new = read(rows), read("corrected.csv")
    assert len(new) == len(old)
    for number, (was, now) in enumerate(zip(old, new, strict=True), 1):
        assert now == {**was, "label": fixes.get(number, was["label"])}
    done = run("audit", rows, "--apply", "suspects.csv", "-o", "corrected.csv", "--json")[1]
    assert json.loads(done) == {"rows": 400, "corrected": COUNT, "output": "corrected.csv"}


@pytest.mark.parametrize("kind", [pa.int64(), pa.bool_(), pa.float64(), pa.string()])
def test_labels_keep_their_type(run, folder, kind):
    values = pa.array([label[-1] for label in LABELS]).cast(pa.int64()).cast(kind)
    pq.write_table(pa.table({"text": TEXTS, "label": values, "day": [3] * 400}), "rows.parquet")
    assert run("audit", "rows.parquet", "-o", "suspects.csv")[0] == 0
    fixes = read("suspects.csv")
    code, _, err = run("audit", "rows.parquet", "--apply", "suspects.csv", "-o", "new.parquet")
    assert (code, err) == (0, "")
    new = pq.read_table("new.parquet")
    assert new.schema.field("label").type in (kind, pa.large_string())
    assert new["day"].to_pylist() == [3] * 400
    changed = {int(each["row"]) for each in fixes}
    pairs = zip(values.to_pylist(), new["label"].to_pylist(), strict=True)
    assert {k for k, (was, now) in enumerate(pairs, 1) if was != now} == changed


def test_corrections_of_several_files_are_taken_by_file(run, folder):
    write("a.csv", TEXTS[:200], LABELS[:200])
    write("b.csv", TEXTS[200:], LABELS[200:])
    assert run("audit", "a.csv", "b.csv", "-o", "suspects.csv")[0] == 0
    found = read("suspects.csv")
    for name, first in (("a.csv", 0), ("b.csv", 200)):
        assert run("audit", name, "--apply", "suspects.csv", "-o", f"new-{name}")[0] == 0
        mine = {int(each["row"]): each for each in found if each["file"] == name}
        assert mine
        for number, row in enumerate(read(f"new-{name}"), 1):
            expected = mine[number]["suggested"] if number in mine else LABELS[first + number - 1]
            assert row["label"] == expected
    write("c.csv", TEXTS[:2], LABELS[:2])
    code, _, err = run("audit", "c.csv", "--apply", "suspects.csv", "-o", "new.csv")
    assert code == 2
    assert err == (
        "sureline: --apply suspects.csv has corrections of a.csv, b.csv, but none of c.csv\n"
    )


HEAD = "row,label,suggested\n"


@pytest.mark.parametrize(
    ("fixes", "message"),
    [
        ("row,label\n1,a\n", "--apply fixes.csv has no column 'suggested'; it needs row, label, "
         "suggested, as the page and -o write them"),
        ("", "--apply fixes.csv has no column 'row'; it needs row, label, suggested, as the page "
         "and -o write them"),
        (HEAD + "x,a,b\n", "fixes.csv, line 2: the row must be a number from 1, got 'x'"),
        (HEAD + "0,a,b\n", "fixes.csv, line 2: the row must be a number from 1, got '0'"),
        (HEAD + "1,ham,spam\n1,ham,spam\n", "fixes.csv, line 3: row 1 is corrected twice"),
        (HEAD + "2,spam,ham\n", "fixes.csv, line 2: row 2 of mail.csv has the label 'ham', not "
         "'spam'; give the file that was audited"),
        (HEAD + "9,ham,spam\n", "fixes.csv, line 2: there is no row 9 in mail.csv, which has 8; "
         "give the file that was audited"),
        (HEAD + "3\n", "fixes.csv, line 2 has fewer fields than the first line names"),
        (HEAD + "9" * 30 + ",a,b\n", f"fixes.csv, line 2: the row must be a number from 1, got "
         f"'{'9' * 30}'"),
        (HEAD + "1," + "a" * 200_000 + ",b\n", "--apply fixes.csv is not a CSV file in UTF-8"),
    ],
)  # fmt: skip
def test_wrong_corrections_are_refused_and_nothing_is_written(run, folder, fixes, message):
    Path("fixes.csv").write_text(fixes)
    base = ("audit", "mail.csv", "--text", "message", "--label", "kind", "-o", "new.csv")
    assert run(*base, "--apply", "fixes.csv") == (2, "", f"sureline: {message}\n")
    assert not Path("new.csv").exists()


def test_labels_with_any_signs_are_corrected(run, folder):
    labels = [f"a{label}\u2028\v\x85," if label == "class 0" else '"b"\n' for label in LABELS]
    write("rows.csv", TEXTS, labels)
    assert run("audit", "rows.csv", "-o", "suspects.csv")[0] == 0
    assert run("audit", "rows.csv", "--apply", "suspects.csv", "-o", "new.csv")[0] == 0
    fixes = {int(each["row"]): each["suggested"] for each in read("suspects.csv")}
    assert len(fixes) > 30
    for number, row in enumerate(read("new.csv"), 1):
        assert row["label"] == fixes.get(number, labels[number - 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--apply", "fixes.csv"], "--apply needs the file to write, such as -o corrected.csv"),
        (
            ["--apply", "fixes.csv", "-o", "new.csv", "--report", "page.html"],
            "--report and --apply cannot be given together; leave out one",
        ),
        (
            ["--apply", "fixes.csv", "-o", "new.csv", "--threshold", "0.9"],
            "--threshold and --apply cannot be given together; leave out one",
        ),
        (
            ["--apply", "fixes.csv", "-o", "new.csv", "--no-lowercase"],
            "--no-lowercase and --apply cannot be given together; leave out one",
        ),
        (["--apply", "none.csv", "-o", "new.csv"], "none.csv: No such file or directory"),
        (
            ["--apply", "mail.csv", "-o", "mail.csv"],
            "-o mail.csv is one of the inputs; give another file",
        ),
        (["-o", "mail.csv"], "-o mail.csv is one of the inputs; give another file"),
        (["--report", "mail.csv"], "--report mail.csv is one of the inputs; give another file"),
        (
            ["-o", "suspects.txt"],
            "the name -o suspects.txt has no known format; end it in .csv, .jsonl or .parquet",
        ),
        (["--ngrams", "none"], "with neither words nor characters a text has no features; choose "
         "one, such as --ngrams 1,2 or --chars 3,5"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_sentence(run, folder, options, message):
    found = run("audit", "mail.csv", "--text", "message", "--label", "kind", *options)
    assert found == (2, "", f"sureline: {message}\n")


def test_labels_that_look_wrong_as_a_whole_are_named(run, folder):
    labels = ["Class 0" if k == 7 else label for k, label in enumerate(LABELS)]
    write("rows.csv", TEXTS, labels)
    err = run("audit", "rows.csv")[2]
    assert err.startswith("sureline: labels that differ only in case or spaces")
    write("ids.csv", TEXTS[:60], range(60))
    err = run("audit", "ids.csv")[2]
    assert err.startswith("sureline: there are 60 different labels in 60 rows")


def test_rows_without_texts_are_refused(run, folder):
    Path("rows.svm").write_text("1 1:1\n-1 2:1\n")
    assert run("audit", "rows.svm") == (
        2,
        "",
        "sureline: rows.svm holds svmlight rows, but audit reads texts alone\n",
    )
    Path("one.csv").write_text("text,label\na,x\nb,x\n")
    assert run("audit", "one.csv") == (
        2,
        "",
        "sureline: audit needs texts of two classes; there is one only, 'x'\n",
    )


def test_the_page_is_written(run, rows):
    code, out, err = run("audit", rows, "--report", "page.html", "--top", "0")
    assert (code, err) == (0, "")
    assert "report      page.html (SIZE)\n" in out
    page = Path("page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert f"<title>rows.csv: {COUNT} suspects</title>" in page
    assert page.count('class="suspect"') == COUNT
