"""The HTML report: what it collects, what the page shows, and that it is safe to open."""

import base64
import csv
import io
import json
import os
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cases import several
from cli_runs import COLUMNS, MAIL
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score

from sureline import AROWClassifier, PAClassifier, TextClassifier, load
from sureline.data import Batch
from sureline.data.atomic_write import atomic_write
from sureline.errors import DataError, InvalidParameter
from sureline.estimators.file import save
from sureline.estimators.stream import predict_batch
from sureline.evaluation import METRICS, calibration
from sureline.evaluation.metrics import Evaluator
from sureline.evaluation.reliability import BinCounts
from sureline.evaluation.report.charts import (
    merge_blocks,
    reliability_chart,
    round_steps,
    weight_bar,
)
from sureline.evaluation.report.collect import ReportCollector, training_curve
from sureline.evaluation.report.features import (
    LeadContribution,
    UnknownWordCounter,
    lead_contributions,
    top_features,
)
from sureline.evaluation.report.heat_map import order_by_confusion
from sureline.evaluation.report.highlight import SHOWN, highlight_words
from sureline.evaluation.report.mistakes import (
    Mistake,
    MistakeGroups,
    MistakeTable,
    TopMistakes,
)
from sureline.evaluation.report.page import render_page, write_report
from sureline.evaluation.report.statistics import (
    MOST_BLOCKS,
    CoverageCounts,
    ErrorBlocks,
    at_usual_shares,
)
from sureline.evaluation.report.text import visible
from sureline.model.drift import Change, Moved

pytest_plugins = ["cli_fixtures"]

VOID = {"br", "link", "meta", "col", "input", "wbr"}
TAGS = """
html head title style body header main footer nav section h1 h2 h3 p a ul ol li dl dt dd div span
strong bdi mark code table caption thead tbody tfoot tr th td figure figcaption details summary
label svg desc path line rect circle text
"""
ALLOWED = VOID | set(TAGS.split())
NASTY = [
    "<script>document.title='hacked'</script> & <b>bold</b> \"quoted\" 'it'",
    "</p></li></style><img src=x onerror=alert(1)> free prize",
    "مرحبا بالعالم free \u202eesrever 🎉🎉 lunch \x00\x07 \x9f end",
    "]]> --> &lt;b&gt; &amp; now %s {0} $HOME `code`",
    "half \ud83d an emoji, lunch",
]


class Page(HTMLParser):
    """A page taken apart: its elements, its attributes, the text of each kind of element."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes = [], Counter(), []
        self.texts: dict[str, list[str]] = {}
        self.by_class: dict[str, list[str]] = {}
        self._running: list[tuple[str, str, list[str]]] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)
            self._running.append((tag, dict(attributes).get("class") or "", []))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        _, kinds, pieces = self._running.pop()
        text = "".join(pieces)
        self.texts.setdefault(tag, []).append(text)
        for kind in kinds.split():
            self.by_class.setdefault(kind, []).append(text)

    def handle_data(self, data):
        for _, _, pieces in self._running:
            pieces.append(data)

    def values(self, name):
        return [value for _, key, value in self.attributes if key == name]


def check_safe(source):
    """Nothing in a page runs, loads or leads anywhere, and those who cannot see it can use it."""
    page = Page(source)
    assert set(page.tags) <= ALLOWED
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "style"]
    table = "data:text/csv;charset=utf-8;base64,"
    links = [link for link in page.values("href") if not link.startswith(("#", table))]
    assert links == ["data:,"]
    assert len(page.values("download")) == sum(
        link.startswith(table) for link in page.values("href")
    )
    assert not page.values("src")
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    named = {each for value in page.values("aria-labelledby") for each in value.split()}
    assert named <= set(ids)
    assert {link[1:] for link in page.values("href") if link.startswith("#")} <= set(ids)
    assert page.tags["h1"] == page.tags["title"] - _titles(source) == 1
    images = re.findall(r"<svg[^>]*>", source)
    assert all('role="img"' in each or 'aria-hidden="true"' in each for each in images)
    assert page.values("lang") == ["en"]
    assert "default-src 'none'" in "".join(page.values("content"))
    return page


def _titles(source):
    """Titles inside drawings."""
    return sum(drawn.count("<title") for drawn in re.findall(r"<svg.*?</svg>", source, re.DOTALL))


def collect(model, batches, labels):
    """What a report collects from rows that come in batches."""
    evaluator, collector = Evaluator(model.classes_), ReportCollector(model)
    at = 0
    for batch in batches:
        found = predict_batch(model, batch)
        truth = evaluator.add(labels[at : at + len(batch)], found.label, found.probabilities)
        collector.add(batch, truth, found)
        at += len(batch)
    return collector.data(evaluator.evaluation(1.0))


def rendered(report, model="m.sureline", inputs=("rows.csv",)):
    """The page of a report."""
    return render_page(report, model, inputs, "today", "1.0")


def random_texts(rows, classes, seed=0):
    """Texts of which some words predict the class, and their labels, a tenth of them wrong."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, rows)
    written = np.where(rng.random(rows) < 0.1, rng.integers(0, classes, rows), labels)
    words = rng.integers(0, 60, (rows, 6))
    texts = [
        f"word{label}x about{label // 2} " + " ".join(f"w{k}" for k in line)
        for label, line in zip(written.tolist(), words.tolist(), strict=True)
    ]
    return texts, [f"class{label:03}" for label in labels.tolist()]


@pytest.fixture(scope="module")
def fitted():
    """A model of four classes, and rows to test it on."""
    texts, labels = random_texts(900, 4)
    model = TextClassifier(random_state=0).fit(texts[:500], labels[:500])
    return model, texts[500:], labels[500:]


# -- escaping ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def get_report(fitted):
    """Gives a report with every section; hypothesis would print it, were it the argument."""
    model, texts, labels = fitted
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels)
    return lambda: report


@settings(max_examples=several(25, 5))
@given(st.text(st.characters(codec=None), min_size=1, max_size=100))
def test_any_text_survives_in_text_and_attributes(get_report, text):
    def lines(shown):
        return shown.replace("\r\n", "\n").replace("\r", "\n")

    report = get_report()
    group = report.mistakes[0]
    mistake = replace(group.mistakes[0], predicted=text, source=text, times=1)
    group = group._replace(predicted=text, mistakes=[mistake])
    source = rendered(report._replace(mistakes=[group]), text)
    source.encode("utf-8")
    page = check_safe(source)
    shown = lines(visible(text))
    assert lines(page.by_class["where"][0]).endswith(f" of {shown}")
    assert lines(page.texts["title"][0]).startswith(shown)
    if len(text) > 60:
        assert shown in [lines(title) for title in page.values("title")]
    else:
        assert shown in [lines(label) for label in page.texts["strong"]]


# -- what is collected -------------------------------------------------------------------------


def test_the_size_of_batches_makes_no_difference(fitted):
    model, texts, labels = fitted
    whole = Batch(text=pa.array(texts, pa.large_string()), source="rows.csv")
    pages = []
    for size in (1, 37, 400):
        parts = [whole.slice(start, start + size) for start in range(0, len(texts), size)]
        pages.append(rendered(collect(model, parts, labels)))
    assert pages[0] == pages[1] == pages[2]


def test_bins_of_a_stream_are_those_of_calibration():
    rng = np.random.default_rng(1)
    chance = rng.dirichlet(np.ones(3), 500)
    classes, best = np.array(["a", "b", "c"]), chance.argmax(axis=1)
    truth = classes[np.where(rng.random(500) < 0.6, best, rng.integers(0, 3, 500))]
    expected = calibration(chance, truth, classes)
    bins = BinCounts(np.linspace(0.0, 1.0, 11))
    for part in (slice(0, 123), slice(123, 500)):
        rows = chance[part].max(axis=1)
        bins.add(rows, classes[best[part]] == truth[part])
    found = bins.calibration(expected.log_loss, expected.brier)
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.confidence, expected.confidence)
    np.testing.assert_allclose(found.accuracy, expected.accuracy)
    assert found.expected_error == pytest.approx(expected.expected_error)
    assert found.largest_error == pytest.approx(expected.largest_error)


@pytest.mark.parametrize("probabilities", [True, False])
def test_a_threshold_covers_the_rows_above_it(probabilities):
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0, 1, 400) ** 0.1 if probabilities else rng.normal(0, 5, 400)
    if probabilities:
        confidence[:30] = 1.0  # as good as certain
    right = rng.random(400) < 0.8
    coverage = CoverageCounts(probabilities)
    coverage.add(confidence[:150], right[:150])
    coverage.add(confidence[150:], right[150:])
    curve = coverage.points()
    assert (curve[-1].share, curve[-1].rows, curve[-1].wrong) == (1.0, 400, int((~right).sum()))
    for each in curve:
        chosen = confidence >= each.threshold - 1e-12
        assert (each.rows, each.wrong) == (int(chosen.sum()), int((~right[chosen]).sum()))
    shares = [each.share for each in at_usual_shares(curve)]
    assert shares == sorted(shares, reverse=True)
    assert at_usual_shares(curve)[0] == curve[-1]


@settings(max_examples=several(30, 6))
@given(st.lists(st.integers(0, 700), min_size=1, max_size=6), st.integers(0, 100))
def test_blocks_count_every_row_once(sizes, seed):
    rng = np.random.default_rng(seed)
    right = [rng.random(size) < 0.7 for size in sizes]
    errors = ErrorBlocks()
    for part in right:
        errors.add(part)
    blocks = errors.counts()
    every = np.concatenate(right)
    assert len(blocks) <= MOST_BLOCKS
    assert sum(rows for rows, _ in blocks) == every.size
    at = 0
    for rows, wrong in blocks:
        assert wrong == int((~every[at : at + rows]).sum())
        at += rows
    merged = merge_blocks(blocks) if blocks else []
    assert sum(rows for rows, _ in merged) == every.size
    assert sum(wrong for _, wrong in merged) == int((~every).sum())


@settings(max_examples=several(30, 6))
@given(
    st.lists(st.sampled_from([0.5, 0.6, 0.7, 1.0]), min_size=10, max_size=10),
    st.lists(st.integers(0, 9), max_size=60),
)
def test_the_most_confident_mistakes_are_kept_and_equal_ones_counted(chances, rows):
    kept = TopMistakes(most=5)
    for number, row in enumerate(rows):
        if kept.is_candidate(chances[row], 0.0):
            kept.add(Mistake(f"text {row}", "a", "b", chances[row], 0.0, "", number))
    found = kept.ranked()
    first = {row: number for number, row in reversed(list(enumerate(rows)))}
    ranked = sorted(first, key=lambda row: (-chances[row], first[row]))[:5]
    assert [each.row for each in found] == [f"text {row}" for row in ranked]
    assert [each.number for each in found] == [first[row] for row in ranked]
    counts = Counter(rows)
    # One that others replaced is never kept again: those are more confident, or came earlier.
    assert [each.times for each in found] == [counts[row] for row in ranked]


def test_mistakes_of_each_kind_are_those_with_the_highest_probability(fitted):
    model, texts, labels = fitted
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels)
    chance, guess = model.predict_proba(texts), model.predict(texts)
    columns = {label: k for k, label in enumerate(model.classes_.tolist())}
    pairs = Counter((labels[i], guess[i]) for i in range(len(texts)) if guess[i] != labels[i])
    assert [group.rows for group in report.mistakes] == sorted(pairs.values(), reverse=True)
    assert len(pairs) > 5
    for group in report.mistakes:
        assert pairs[group.true, group.predicted] == group.rows
        wrong = [i for i in range(len(texts)) if (labels[i], guess[i]) == group[:2]]
        expected = sorted((chance[i, columns[guess[i]]] for i in wrong), reverse=True)
        found = [mistake.probability for mistake in group.mistakes]
        assert found == pytest.approx(expected[: len(found)])
        assert len(found) == min(group.rows, max(3, 30 // len(pairs)))
        for mistake in group.mistakes:
            at = mistake.number - 1
            assert (texts[at], labels[at]) == (mistake.row, mistake.true)
            assert mistake.predicted == guess[at]


def test_of_very_many_kinds_of_mistakes_the_frequent_ones_are_kept(monkeypatch):
    monkeypatch.setattr("sureline.evaluation.report.mistakes.MOST_PAIRS", 20)
    groups = MistakeGroups(most=2)
    for number in range(200):
        for true in ("often", f"rare {number}"):
            groups.add(Mistake(f"{true} {number}", true, "other", number / 200, 0.0, "", number))
    assert len(groups._pairs) <= 20
    assert len(groups._counts) <= 20
    (found,) = groups.groups([("often", "other", 200), ("often", "often", 7)])
    assert found[:3] == ("often", "other", 200)
    assert [each.number for each in found.mistakes] == [199, 198]
    assert [each.true for each in groups.groups([("rare 199", "other", 1)])] == ["rare 199"]


def rows_of_table(page):
    """The rows of the CSV table that a page holds."""
    (url,) = (link for link in page.values("href") if link.startswith("data:text/csv"))
    text = base64.b64decode(url.partition("base64,")[2]).decode("utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def test_all_mistakes_are_in_the_table_of_the_page(fitted):
    model, texts, labels = fitted
    batch = Batch(text=pa.array(texts, pa.large_string()), source="=cmd.csv")
    page = check_safe(rendered(collect(model, [batch], labels)))
    rows, guess, chance = rows_of_table(page), model.predict(texts), model.predict_proba(texts)
    wrong = [i for i in range(len(texts)) if guess[i] != labels[i]]
    assert page.values("download") == ["mistakes.csv"]
    assert [int(row["row"]) - 1 for row in rows] == wrong
    for i, row in zip(wrong, rows, strict=True):
        assert (row["true"], row["predicted"], row["text"]) == (labels[i], guess[i], texts[i])
        assert float(row["probability"]) == pytest.approx(chance[i].max(), rel=1e-4)
        assert row["file"] == "'=cmd.csv"  # no formula
    assert any(f"All {len(wrong)} mistakes as CSV" in text for text in page.texts["a"])


def test_a_table_of_very_many_mistakes_says_what_is_left_out(monkeypatch, fitted):
    monkeypatch.setattr("sureline.evaluation.report.mistakes.TABLE_ROWS", 5)
    monkeypatch.setattr("sureline.evaluation.report.mistakes.TABLE_TEXTS", 90)
    monkeypatch.setattr("sureline.evaluation.report.mistakes.TABLE_TEXT", 40)
    monkeypatch.setattr("sureline.evaluation.report.contents.TABLE_TEXT", 40)
    model, texts, labels = fitted
    table = MistakeTable()
    for k in range(8):
        table.add(Mistake("word " * 20, "a", "b", 0.5, 1.0, "f.csv", k))
    assert (table.rows, table.without_text, table.left_out, table.longest) == (5, 2, 3, 100)
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels)
    page = check_safe(rendered(report._replace(mistake_table=table)))
    assert [len(row["text"]) for row in rows_of_table(page)] == [40, 40, 40, 0, 0]
    (said,) = (text for text in page.texts["p"] if "as CSV" in text)
    assert said == (
        "The first 5 mistakes as CSV; texts end after 40 characters; the last 2 have no text, for "
        "the size of this page; 3 more are left out, for the size of this page."
    )


# -- thresholds --------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
def test_the_table_of_thresholds_is_what_min_confidence_does(classes):
    texts, labels = random_texts(500, classes)
    model = TextClassifier(random_state=0).fit(texts[:100], labels[:100])
    texts, labels = texts[100:], np.array(labels[100:], object)
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels.tolist())
    assert len(report.thresholds) > 4
    for point in report.thresholds:
        found = model.predict(texts, min_confidence=point.threshold)
        kept = np.array([each is not None for each in found])
        assert (point.rows, point.wrong) == (kept.sum(), (found != labels)[kept].sum())
        if classes == 2:
            for k, label in enumerate(model.classes_):
                assert point.predicted[k] == (found == label).sum()
                assert point.right[k] == ((found == label) & (labels == label)).sum()
    page = check_safe(rendered(report))
    assert "At each min_confidence" in page.texts["h3"]
    heads = page.texts["th"][page.texts["th"].index("min_confidence") :]
    assert (heads.count("Recall") == 2) == (classes == 2)
    assert ("Precision against recall" in page.texts["h3"]) == (classes == 2)


@pytest.mark.parametrize("kind", [AROWClassifier, PAClassifier])
def test_precision_and_recall_are_those_of_scikit_learn(kind):
    texts, labels = random_texts(600, 2)
    model = TextClassifier(kind(), random_state=0).fit(texts[:100], labels[:100])
    texts, labels = texts[100:], [*labels[100:-3], *["unknown"] * 3]
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels)
    scores = model.decision_function(texts)
    if kind is AROWClassifier:
        scores = model.predict_proba(texts)[:, 1]
    signs = {model.classes_[0]: -1, model.classes_[1]: 1}
    assert [each.label for each in report.precision_recall] == list(signs)
    for each in report.precision_recall:
        truth = np.array(labels) == each.label
        expected = average_precision_score(truth, signs[each.label] * scores)
        assert each.average == pytest.approx(expected, abs=0.005)  # bins join near scores
        assert each.recall[-1] == 1.0
        assert each.precision[-1] == pytest.approx(truth.mean())
        assert np.all(np.diff(each.recall) >= 0)


@pytest.mark.parametrize("classes", [2, 4])
def test_top_features_are_those_of_the_model(classes, monkeypatch):
    texts, labels = random_texts(300, classes)
    model = TextClassifier(random_state=0).fit(texts, labels)
    for at_once in (64, 2**21):
        monkeypatch.setattr("sureline.evaluation.report.features.WEIGHTS_AT_ONCE", at_once)
        for label, found in zip(model.classes_, top_features(model, 7), strict=True):
            every = model.top_features(label, model.n_features_)
            assert found == [each for each in every if each.weight > 0][:7]


def test_contributions_add_up_to_the_lead_of_the_prediction(fitted):
    model, texts, _ = fitted
    explained = model.explain(texts[0], top=1000)
    scores = {label: each.score - each.constant for label, each in explained.classes.items()}
    other = next(label for label in scores if label != explained.label)
    contributions = lead_contributions(model, texts[0], explained.label, other)
    assert sum(each.share for each in contributions) == pytest.approx(
        scores[explained.label] - scores[other]
    )
    assert [abs(each.share) for each in contributions] == sorted(
        (abs(each.share) for each in contributions), reverse=True
    )
    alone = lead_contributions(model, texts[0], explained.label, "never seen")
    assert sum(each.share for each in alone) == pytest.approx(scores[explained.label])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [AROWClassifier, PAClassifier])
def test_contributions_of_numbers_add_up_as_well(classes, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    y = np.arange(90) % classes
    X[np.arange(90), y] += 2
    model = kind(random_state=0).fit(X, y)
    row = csr_array([[1.0, 0.0, -2.0, 0.0, 0.0, 0.5]])
    score, constant = model.decision_function(row)[0], model.intercept_
    contributions = lead_contributions(model, row, 1, 0)
    lead = score - constant[0] if classes == 2 else score[1] - score[0] - constant[1] + constant[0]
    assert sum(each.share for each in contributions) == pytest.approx(lead, abs=1e-5)
    assert {each.feature for each in contributions} == {"0", "2", "5"}
    assert all((each.deviation is None) == (kind is PAClassifier) for each in contributions)


# -- words -------------------------------------------------------------------------------------


def test_long_texts_are_cut_around_the_words_that_matter():
    filler = "lorem ipsum dolor sit amet " * 80
    text = f"{filler}PRIZE {filler}lunch {filler}"
    places = [(text.index(word), text.index(word) + 5) for word in ("PRIZE", "lunch")]
    contributions = [
        LeadContribution("prize", 2.0, 0.1, (places[0],)),
        LeadContribution("lunch", -1.0, 3.0, (places[1],)),
    ]
    words = highlight_words(text, contributions)
    marked = {word.text: (word.strength, word.uncertain) for word in words if word.strength}
    assert marked == {"PRIZE": (1.0, False), "lunch": (-0.5, True)}
    assert sum(len(word.text) for word in words) < 2 * SHOWN
    assert sum(word.gap for word in words) >= 2
    at = 0
    for word in words:  # what is left is part of the text, in the same order
        at = text.index(word.text, at) + len(word.text)


@settings(max_examples=several(40, 8))
@given(st.text(max_size=300))
def test_short_texts_are_not_cut(text):
    spans = [match.span() for match in re.finditer(r"\w+", text)]
    contributions = [
        LeadContribution(text[slice(*span)].lower(), 1.0, None, (span,)) for span in spans[::2]
    ]
    assert "".join(word.text for word in highlight_words(text, contributions)) == text


def test_a_text_without_words_or_end_is_cut_too():
    for text in ("#" * 5000, "x" * 5000):
        words = highlight_words(text, [])
        assert 0 < sum(len(word.text) for word in words) <= 2 * SHOWN
        assert words[-1].gap


def test_unknown_words_are_counted():
    model = TextClassifier(random_state=0).fit(["a b", "c d"], ["x", "y"])
    counter = UnknownWordCounter(model)
    rows = Batch(text=pa.array(["a b new", "new other c", "d", "NEW"], pa.large_string()))
    counter.add(rows, np.array([True, False, True, False]))
    found = counter.result(2)
    assert (found.words, found.unknown) == (8, 4)
    assert found.frequent == [("new", 3), ("other", 1)]
    assert [(count, wrong) for _, _, count, wrong in found.shares if count] == [
        (1, 0),  # none
        (1, 0),  # a third
        (2, 2),  # two thirds, and all
    ]
    assert counter.unknown_in("c New thing") == {"new", "thing"}
    assert not UnknownWordCounter.supports(
        TextClassifier(features="hash").fit(["a", "b"], ["x", "y"])
    )


def test_rare_unknown_words_are_dropped(monkeypatch):
    monkeypatch.setattr("sureline.evaluation.report.features.MOST_WORDS", 20)
    model = TextClassifier(random_state=0).fit(["a b", "c d"], ["x", "y"])
    counter = UnknownWordCounter(model)
    for k in range(40):
        rows = Batch(text=pa.array([f"often rare{k}"], pa.large_string()))
        counter.add(rows, np.array([True]))
    assert counter.result(1).frequent == [("often", 40)]
    assert len(counter._counts) <= 20


# -- the page ----------------------------------------------------------------------------------


def test_the_page_shows_the_metrics(fitted):
    model, texts, labels = fitted
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels)
    page = check_safe(rendered(report))
    evaluation = report.evaluation
    assert page.by_class["figure"][: len(METRICS) + 1] == [
        *(format(evaluation.metrics[each.name], each.format) for each in METRICS),
        f"{report.calibration.expected_error:.4f}",
    ]
    assert page.texts["h2"] == [
        *("Metrics", "Classes", "Confusion matrix", "Calibration and coverage", "Curves"),
        *("Top features", "Mistakes", "Unknown words", "Novelty"),
    ]
    squares = page.by_class["right"]
    counts = {(true, guess): count for true, guess, count in evaluation.confusion}
    assert squares == [f"{counts[label, label]:,}" for label in model.classes_.tolist()]
    mistakes = [each for group in report.mistakes for each in group.mistakes]
    assert len(page.by_class["verdict"]) == len(mistakes)
    for mistake, text in zip(mistakes, page.by_class["text"], strict=True):
        assert text == mistake.row


def test_numbers_of_the_matrix_lead_to_their_mistakes(fitted):
    model, texts, labels = fitted
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels)
    source = rendered(report)
    page = check_safe(source)
    matrix = source[source.index('<table class="square">') : source.index("Calibration and")]
    found = re.findall(r'<td class="c\d"><a href="#(.*?)">(\d+)</a></td>', matrix)
    assert len(found) == len(report.mistakes)
    for place, count in found:
        head = re.search(rf'<h3 id="{place}".*?</h3>', source)
        assert head is not None
        shown = re.sub("<.*?>", "", head[0])
        group = report.mistakes[int(place.rpartition("-")[2]) - 1]
        assert shown.startswith(f"True {group.true}, predicted {group.predicted} {count} row")
    counts = {each.label: (each.support, each.predicted) for each in report.evaluation.classes}
    heads = page.texts["th"][page.texts["th"].index("true ↓ predicted →") + 1 :][: 2 * len(counts)]
    assert heads[: len(counts)] == [f"{label} {each[1]:,}" for label, each in counts.items()]
    assert heads[len(counts) :] == [f"{label} {each[0]:,}" for label, each in counts.items()]
    cards = {f"{label} {each[0]:,}" for label, each in counts.items()}
    assert cards <= set(page.texts["h3"])


def test_classes_can_be_sorted_and_have_a_macro_row(fitted):
    model, texts, labels = fitted
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels)
    source = rendered(report)
    page = check_safe(source)
    bodies = dict(re.findall(r'<tbody class="by-(\w+)">(.*?)</tbody>', source, re.DOTALL))
    assert list(bodies) == page.texts["label"] == ["name", "F1", "rows"]
    classes = report.evaluation.classes
    for order, key in (
        ("name", lambda each: each.label),
        ("F1", lambda each: each.f1),
        ("rows", lambda each: -each.support),
    ):
        names = re.findall(r'<th scope="row"><bdi>(.*?)</bdi>', bodies[order])
        assert names == [each.label for each in sorted(classes, key=key)]
    (foot,) = page.texts["tfoot"]
    assert foot.strip().startswith("Macro average")
    assert f"{report.evaluation.macro_f1:.4f}" in foot
    for input_ in ("order-name", "order-F1", "order-rows"):
        assert input_ in page.values("id")
        assert input_ in page.values("for")


def test_whiskers_that_cross_zero_are_not_clipped_there():
    bar, zero, whisker = weight_bar(1.0, 3.0, -4.0, 8.0)
    low, high = (
        float(number) for number in re.findall(r"M([\d.]+) 7H([\d.]+)", whisker[1]["d"])[0]
    )
    at_zero, unit = float(zero.attributes["x1"]), 119 / 12
    assert float(bar.attributes["x"]) == at_zero
    assert float(bar.attributes["width"]) == pytest.approx(unit, abs=0.1)
    assert low == pytest.approx(at_zero - 2 * unit, abs=0.1)
    assert high == pytest.approx(at_zero + 4 * unit, abs=0.1)


def test_whiskers_of_the_reliability_diagram_are_whole():
    bins = BinCounts(np.linspace(0.0, 1.0, 11))
    bins.add(np.array([0.55, 0.56, 0.95] * 2), np.array([False, True, True] * 2))
    chart = reliability_chart(bins.calibration())
    whiskers = [each.attributes for each in chart.shapes if each.attributes["class"] == "whisker"]
    base = max(float(each.attributes["y1"]) for each in chart.shapes if each.tag == "line" and
               each.attributes["class"] == "grid")  # fmt: skip
    assert len(whiskers) == 2
    for each, found in zip(bins.calibration().bins, whiskers, strict=True):
        low, high = float(found["y1"]), float(found["y2"])
        assert high < low < base  # within the axes, and none at their end
        size = low - high
        assert size == pytest.approx((base - 12) * (each.interval[1] - each.interval[0]), rel=0.02)
    assert not any("calibrated" in each.text for each in chart.shapes)  # it is in the legend


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "An unknown word moves no score, and makes it less certain; each of the other words"),
        ({"normalize": False}, "An unknown word moves no score, and makes it less certain."),
        ({"min_count": 2}, "Unknown words are left out: a text is judged by its other words alone"),
    ],
)
def test_the_page_says_what_unknown_words_imply(options, says):
    texts, labels = random_texts(400, 3)
    model = TextClassifier(random_state=0, **options).fit(texts, labels)
    new = [f"{text} unseen{k} unseen{k + 1} unseen{k + 2}" for k, text in enumerate(texts[:200])]
    rows = Batch(text=pa.array([*new, *texts[200:]], pa.large_string()))
    guessed = model.predict(rows.text).tolist()
    for wrong, verdict in (
        (range(100), "are wrong more often than the others: 50.00% against 0.00%"),
        (range(200, 300), "are wrong less often than the others: 0.00% against 50.00%"),
        (range(150, 250), "are wrong about as often as the others: 25.00% against 25.00%"),
    ):
        truth = [f"not {each}" if k in wrong else each for k, each in enumerate(guessed)]
        page = check_safe(rendered(collect(model, [rows], truth)))
        (said,) = (text for text in page.texts["p"] if text.startswith(says))
        assert f"Rows with more than 20% unknown words {verdict}" in said


def test_nothing_from_outside_is_markup():
    labels = [f'<i title="{k}">{k}</i>' for k in range(2)] * 5
    texts = [f"{NASTY[k % 5]} w{k % 2}" for k in range(10)]
    model = TextClassifier(random_state=0).fit(texts, labels)
    wrong = ["<script>unknown</script>"] * 10
    batch = Batch(text=pa.array(map(visible, texts), pa.large_string()), source="<b>.csv")
    source = rendered(collect(model, [batch], wrong), "<script>m</script>", ["a & b <c>.csv"])
    page = check_safe(source)
    assert page.texts["h1"] == ["<script>m</script>"]
    assert any("<script>unknown</script>" in text for text in page.texts["bdi"])
    shown = page.by_class["text"]
    assert any(NASTY[0] in text for text in shown)
    assert any("🎉🎉 lunch ␀␇" in text for text in shown)
    assert "a & b <c>.csv" in page.texts["bdi"]
    source.encode("utf-8")


@pytest.mark.parametrize("classes", [2, 20, 200])
def test_few_and_many_classes(classes):
    texts, labels = random_texts(3 * classes + 60, classes)
    # Probabilities of so many classes take long where nothing is compiled.
    learner = PAClassifier() if classes == 200 else AROWClassifier()
    model = TextClassifier(learner, random_state=0).fit(texts, labels)
    rng = np.random.default_rng(0)
    guessed = rng.permutation(labels).tolist()  # so that there are many confusions
    source = rendered(collect(model, [Batch(text=pa.array(texts, pa.large_string()))], guessed))
    page = check_safe(source)
    heads = [text.split()[0] for text in page.texts["th"] if text.startswith("class")]
    assert set(heads) == set(labels)
    assert ("square" in page.by_class) == (classes == 2)
    assert ("heat" in page.by_class) == (classes > 2)
    assert len(source) < 4_000 * classes + 120_000
    if classes == 200:
        assert f"All {len(set(labels))} classes" in page.texts["summary"]


def test_labels_that_are_confused_are_neighbours():
    counts = np.full((40, 40), 0) + np.diag(np.full(40, 50))
    pairs = [(k, k + 20) for k in range(20)]
    for a, b in pairs:
        counts[a, b] = counts[b, a] = 30
    order = order_by_confusion(counts)
    assert sorted(order) == list(range(40))
    assert all(abs(order.index(a) - order.index(b)) == 1 for a, b in pairs)


def test_names_of_classes_were_broken_within_words_on_narrow_screens():
    labels = ["rec.sport.hockey", "a_<b>_c"]
    model = TextClassifier(random_state=0).fit(["ice", "puck", "x", "y"], labels * 2)
    report = collect(model, [Batch(text=pa.array(["x"], pa.large_string()))], labels[:1])
    source = rendered(report)
    check_safe(source)
    assert "<bdi>rec.<wbr>sport.<wbr>hockey</bdi>" in source
    assert "<bdi>a_<wbr>&lt;b&gt;_<wbr>c</bdi>" in source


def test_one_class_one_row_and_no_mistake():
    model = TextClassifier().partial_fit(["a b", "c"], ["only", "only"])
    report = collect(model, [Batch(text=pa.array(["a"], pa.large_string()))], ["only"])
    page = check_safe(rendered(report))
    assert "There are no mistakes." in page.texts["p"]
    assert page.values("download") == []
    assert page.by_class["lead"][0].startswith("The model is wrong on 0 of 1 row: 0.00%")
    report = collect(model, [Batch(text=pa.array([""], pa.large_string()))], ["other"])
    page = check_safe(rendered(report))
    assert page.by_class["text"] == ["(empty text)"]


def test_rules_without_variances_have_a_page_without_probabilities():
    texts, labels = random_texts(200, 3)
    model = TextClassifier(PAClassifier(), random_state=0).fit(texts, labels)
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels[::-1])
    assert report.calibration is None
    page = check_safe(rendered(report))
    assert "Log loss" not in page.texts["dt"]
    assert not any("±" in text for text in page.texts["td"])
    assert any("Score from" in text for text in page.texts["th"])


@pytest.mark.parametrize(
    "options",
    [{"features": "hash", "bits": 10}, {"ngrams": None, "chars": (2, 3)}, {"ngrams": (2, 2)}],
)
def test_other_ways_to_read_texts(options):
    texts, labels = random_texts(200, 3)
    model = TextClassifier(random_state=0, **options).fit(texts, labels)
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels[::-1])
    page = check_safe(rendered(report))
    assert report.unknown_words is None
    assert "Unknown words" not in page.texts["h2"]
    assert len(page.by_class["text"]) == sum(len(each.mistakes) for each in report.mistakes) > 15


def test_the_training_error_is_drawn_where_it_is_known(fitted):
    model, texts, labels = fitted
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels)
    curve = [(1, 1), (2, 1), (8, 4), (64, 20), (512, 60), (1024, 70)]
    for passes, marked in ((1, False), (2, True)):
        page = check_safe(rendered(report._replace(training=curve, passes=passes)))
        assert "Training error" in page.texts["h3"]
        assert ("end of the first pass" in page.texts["text"]) is marked
        assert any("6.84% of 1,024 training examples" in text for text in page.texts["desc"])
    for short in ([(1, 1)], [(3, 0)]):
        check_safe(rendered(report._replace(training=short)))


def test_changes_in_the_stream_are_marked_and_listed(fitted):
    model, texts, labels = fitted
    report = collect(model, [Batch(text=pa.array(texts, pa.large_string()))], labels)
    curve = [(8, 4), (64, 20), (512, 60), (1024, 70)]
    moved = Moved("<b>free</b>", "ham", "spam"), Moved("win", "spam", "ham")
    changes = [Change(300, 500, "new", 12345.6, moved), Change(700, 900, "same", 1e12)]
    page = check_safe(rendered(report._replace(training=curve, changes=changes)))
    assert len(page.by_class["change"]) == 2
    assert any("The stream changed after 300, 700." in text for text in page.texts["desc"])
    assert "Changes in the stream" in page.texts["h3"]
    cells = page.texts["td"]
    assert {"a new one", "the same", "12,346", "a billion"} <= set(cells)
    assert any("<b>free</b>: ham → spam; win: spam → ham" in text for text in cells)
    assert "Changes in the stream" not in rendered(report)


def test_an_invalid_stored_curve_is_left_out():
    good = [[1, 1], [4, 2], [9, 2]]
    assert training_curve({"curve": good}) == [(1, 1), (4, 2), (9, 2)]
    for bad in (
        *(None, 3, "x", [[1]], [[1, 2]], [[4, 2], [3, 2]], [[1, True]], [[2, 1], [4, 0]]),
        *([[2, 1], [4, 4]], [[0, 0]], [{"a": 1}]),
    ):
        assert training_curve({"curve": bad}) == []
    assert training_curve({}) == []


@settings(max_examples=several(60, 12))
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 10))
def test_steps_of_an_axis_are_round_and_few(low, size, most):
    steps = round_steps(low, low + size, most)
    assert len(steps) <= most + 1
    slack = 1e-6 * size + 4 * np.spacing(abs(low) + size)  # as near as floats get
    assert all(low - slack <= step <= low + size + slack for step in steps)


# -- in Python ---------------------------------------------------------------------------------


def test_a_report_from_python(fitted, tmp_path):
    model, texts, labels = fitted
    result = write_report(model, texts, labels, tmp_path / "page.html", name="four classes")
    assert result.error == pytest.approx(1 - model.score(texts, labels))
    page = check_safe((tmp_path / "page.html").read_text("utf-8"))
    assert page.texts["h1"] == ["four classes"]
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_report_on_numbers_from_python(sparse, tmp_path):
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    y = np.arange(200) % 3
    X = rng.normal(size=(200, 5))
    X[np.arange(200), y] += 1
    model = AROWClassifier(random_state=0).fit(X, y)
    before = model.coef_.copy()
    result = write_report(model, csr_matrix(X) if sparse else X, y, tmp_path / "page.html")
    assert result.accuracy == pytest.approx(model.score(X, y))
    np.testing.assert_array_equal(model.coef_, before)
    page = check_safe((tmp_path / "page.html").read_text("utf-8"))
    assert "text" not in page.by_class  # only numbers
    assert any(
        text.startswith("Largest contributions: ") for text in page.by_class["contributions"]
    )


def test_errors_name_what_is_wrong(fitted, tmp_path):
    model, texts, labels = fitted
    path = tmp_path / "page.html"
    with pytest.raises(DataError, match="there are 400 rows but 399 labels"):
        write_report(model, texts, labels[1:], path)
    with pytest.raises(DataError, match="there are no rows to evaluate"):
        write_report(model, [], [], path)
    with pytest.raises(InvalidParameter, match="got str"):
        write_report("model", texts, labels, path)
    with pytest.raises(InvalidParameter, match=r"there is no folder .*nowhere; create it first"):
        write_report(model, texts, labels, tmp_path / "nowhere" / "page.html")
    with pytest.raises(InvalidParameter, match="is a folder; give the name of a file"):
        write_report(model, texts, labels, tmp_path)
    with pytest.raises(NotFittedError):
        write_report(TextClassifier(), texts, labels, path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_can_be_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        with atomic_write(pipe) as file:
            file.write(b"a page")
        assert read.result() == b"a page"


# -- at the command line -----------------------------------------------------------------------


def test_the_output_is_the_same_with_and_without_a_report(model, run):
    plain = run("evaluate", model, "mail.csv")
    code, out, err = run("evaluate", model, "mail.csv", "--report", "page.html")
    lines = [line for line in out.splitlines(True) if not line.startswith("report ")]
    assert (code, "".join(lines), err) == plain
    page = check_safe(Path("page.html").read_text("utf-8"))
    assert page.texts["h1"] == ["mail.sureline"]
    assert "mail.csv" in page.texts["bdi"]
    expected = json.loads(run("evaluate", model, "mail.csv", "--json")[1])
    code, out, err = run("evaluate", model, "mail.csv", "--json", "--report", "page.html")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found.pop("report") == "page.html"
    assert {**found, "seconds": 0} == {**expected, "seconds": 0}


def test_mistakes_of_a_file_are_shown_with_their_place_and_words(model, run):
    Path("odd.csv").write_text("message,kind\nfree money <b>now</b> zzz,ham\nlunch?,eggs\n")
    assert run("evaluate", model, "mail.csv", "odd.csv", "--report", "page.html")[0] == 0
    page = check_safe(Path("page.html").read_text("utf-8"))
    assert "free money <b>now</b> zzz" in page.by_class["text"]
    assert "row 1 of odd.csv" in page.by_class["where"]
    assert "zzz" in page.by_class["u"]
    assert {"free", "now"} <= set(page.texts["mark"])
    assert any("1 row has a label that the model does not know: " in p for p in page.texts["p"])


def test_a_model_of_numbers_has_a_page(folder, run):
    Path("rows.svm").write_text("1 3:1 5:2\n0 4:1\n1 3:0.5 9:1\n0 4:1 9:1\n" * 4)
    assert run("train", "rows.svm", "-o", "rows.sureline", "-q", "--seed", "1")[0] == 0
    Path("test.svm").write_text("0 3:1 5:2\n1 4:1 77:2\n")
    assert run("evaluate", "rows.sureline", "test.svm", "--report", "page.html")[0] == 0
    page = check_safe(Path("page.html").read_text("utf-8"))
    assert sorted(page.by_class["where"]) == ["row 1 of test.svm", "row 2 of test.svm"]
    assert any("3 +" in text for text in page.by_class["contributions"])
    assert list(Path().glob(".sureline-*")) == []


def test_the_training_error_comes_from_the_notes_of_the_model(model, run):
    loaded = load(model)
    columns = {"columns": {"text": "message", "label": "kind"}}
    save(loaded, "noted.sureline", {**columns, "curve": [[1, 1], [4, 2], [8, 4]]})
    assert run("evaluate", "noted.sureline", "mail.csv", "--report", "page.html")[0] == 0
    page = check_safe(Path("page.html").read_text("utf-8"))
    assert "Training error" in page.texts["h3"]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("nowhere/page.html", "--report nowhere/page.html: there is no folder "),
        (".", "--report . is a folder; give the name of a file"),
        ("mail.csv", "--report mail.csv is one of the inputs; give another file"),
        ("mail.sureline", "--report mail.sureline is one of the inputs; give another file"),
    ],
)
def test_where_no_report_can_be_written(path, sentence, model, run):
    before = {each: each.read_bytes() for each in Path().iterdir()}
    code, out, err = run("evaluate", model, "mail.csv", "--report", path)
    assert (code, out) == (2, "")
    assert err.startswith(f"sureline: {sentence}")
    assert {each: each.read_bytes() for each in Path().iterdir()} == before


def test_a_failed_evaluation_leaves_the_old_report(model, run):
    Path("page.html").write_text("old")
    Path("bad.csv").write_text(MAIL + "a\n")
    assert run("evaluate", model, "bad.csv", "--report", "page.html")[0] == 2
    assert Path("page.html").read_text() == "old"
    Path("empty.csv").write_text("message,kind\n")
    code, out, err = run("evaluate", model, "empty.csv", "--report", "page.html", *COLUMNS)
    assert (code, out) == (2, "")
    assert "no rows in empty.csv" in err
    assert Path("page.html").read_text() == "old"
    assert list(Path().glob(".sureline-*")) == []


def test_novelty_has_a_table_of_its_own(model, run):
    Path("odd.csv").write_text("message,kind\nqzx vwj kfq,ham\nplk mnb vcx,spam\n")
    assert run("evaluate", model, "mail.csv", "odd.csv", "--report", "page.html")[0] == 0
    page = check_safe(Path("page.html").read_text("utf-8"))
    assert "Novelty" in page.texts["h2"]
    assert "Right labels by novelty" in page.texts["caption"]
    cells = page.texts["td"]
    assert "99% to 100%" in cells
    assert cells[cells.index("99% to 100%") + 1] == "2"
    plain = run("train", "mail.csv", *COLUMNS, "-o", "m", "-q", "--set", "calibration=none")
    assert plain[0] == 0
    assert run("evaluate", "m", "mail.csv", "--report", "page.html")[0] == 0
    assert "Novelty" not in check_safe(Path("page.html").read_text("utf-8")).texts["h2"]
