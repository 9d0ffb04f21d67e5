"""The report on models of several labels per row: its numbers, mistakes, and hostile labels."""

import base64
import csv
import io
import re

import numpy as np
import pytest
from sklearn.metrics import f1_score, hamming_loss

from sureline import TextClassifier
from sureline.data import Batch
from sureline.data.label_sets import as_label_sets
from sureline.errors import DataError
from sureline.estimators.stream import predict_batch
from sureline.evaluation import write_report
from sureline.evaluation.label_sets import LabelSetEvaluator
from sureline.evaluation.report.label_sets import LabelSetCollector

LABELS = ("billing", "login", "refund")


def tickets(count, seed=0, wrong=0.1):
    """Texts whose words are those of their labels, of which some are wrong."""
    rng = np.random.RandomState(seed)
    texts, sets = [], []
    for _ in range(count):
        have = [label for label in LABELS if rng.rand() < 0.4]
        texts.append(" ".join([*have, *(f"w{k}" for k in rng.randint(0, 9, 4))]))
        sets.append({label for label in LABELS if (label in have) != (rng.rand() < wrong)})
    return texts, sets


def fitted():
    return TextClassifier(random_state=0).fit(*tickets(200))


def indicator(sets):
    return as_label_sets(list(sets)).indicator(np.array(LABELS))


def collected(model, texts, sets):
    evaluator, collector = LabelSetEvaluator(model.classes_), LabelSetCollector(model)
    for some in (slice(0, 60), slice(60, None)):
        batch = Batch(text=model.as_input(texts[some]), first_row=some.start)
        predicted = predict_batch(model, batch)
        chances = predicted.probabilities
        compared = evaluator.add(sets[some], model.model_.chosen(chances), chances)
        collector.add(batch, compared, predicted)
    return collector.data(evaluator.evaluation())


def test_the_page_has_the_measures(tmp_path):
    model, (texts, sets) = fitted(), tickets(150, seed=1)
    found = write_report(model, texts, sets, tmp_path / "page.html", name="tickets")
    truth, predicted = indicator(sets), indicator(model.predict(texts).tolist())
    assert found.micro_f1 == pytest.approx(f1_score(truth, predicted, average="micro"))
    page = (tmp_path / "page.html").read_text("utf-8")
    for value in (
        f"{f1_score(truth, predicted, average='macro'):.4f}",
        f"{hamming_loss(truth, predicted):.4f}",
        f"{(truth == predicted).all(axis=1).mean():.2%}",
        *(f"{each:.3f}" for each in model.model_.thresholds()),
    ):
        assert f">{value}<" in page
    lacking = (truth & ~predicted).sum(axis=0)
    extra = (~truth & predicted).sum(axis=0)
    rows = re.findall(
        r"(\d+)(?:</a>)?</td><td class=\"n\">(?:<a [^>]*>)?(\d+)(?:</a>)?</td></tr>", page
    )
    assert rows[:3] == [(str(a), str(b)) for a, b in zip(lacking, extra, strict=True)]
    for place in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{place}"' in page


def test_mistakes_are_all_there_and_the_surest_first():
    model, (texts, sets) = fitted(), tickets(150, seed=1)
    report = collected(model, texts, sets)
    truth, predicted = indicator(sets), indicator(model.predict(texts).tolist())
    chances = model.predict_proba(texts)
    wrong = np.flatnonzero((truth != predicted).any(axis=1))
    content = report.mistake_table.data_url().partition("base64,")[2]
    lines = list(csv.DictReader(io.StringIO(base64.b64decode(content).decode("utf-8"))))
    assert [int(line["row"]) - 1 for line in lines] == wrong.tolist()
    assert lines[0]["true"] == "; ".join(sorted(sets[wrong[0]]))
    assert sum(group.rows for group in report.mistakes) == (truth != predicted).sum()
    for group in report.mistakes:
        column = LABELS.index(group.true)
        missing = group.predicted == "missing"
        sure = [1 - each.probability if missing else each.probability for each in group.mistakes]
        assert sure == sorted(sure, reverse=True)
        for each in group.mistakes:
            row = each.number - 1
            assert each.probability == pytest.approx(chances[row, column])
            assert truth[row, column] == missing
            assert predicted[row, column] != missing
            assert "".join(word.text for word in each.words) == texts[row]
    assert report.calibration.counts.sum() == truth.size
    assert report.coverage[-1].wrong == wrong.size


def test_labels_that_are_unknown_or_hostile(tmp_path):
    bad = "</title><script>alert(1)</script>"
    texts, sets = tickets(60)
    model = TextClassifier(random_state=0).fit(texts, [each | {bad} for each in sets])
    path = tmp_path / "page.html"
    found = write_report(model, ["billing", bad], [{"new"}, {bad, "billing"}], path, name=bad)
    assert found.unknown == {"new": 1}
    page = path.read_text("utf-8")
    assert "<script" not in page
    assert "1 label is unknown to the model" in page


def test_of_many_labels_those_with_most_mistakes_come_first(tmp_path):
    texts, sets = tickets(120)
    rare = [{*each, f"rare{k % 40:02}"} for k, each in enumerate(sets)]
    model = TextClassifier(random_state=0, threshold=0.5).fit(texts, rare)
    found = write_report(model, texts, rare, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "The 20 labels with the most mistakes" in page
    assert f"All {len(found.labels)} labels" in page
    first = page[page.index("<tbody") : page.index("</tbody>")]
    lacking = [int(each) for each in re.findall(r">(\d+)</a></td><td", first)]
    assert len(re.findall("<tr>", first)) == 20
    assert max(lacking) == max(round((1 - each.recall) * each.support) for each in found.labels)


def test_wrong_labels_give_a_sentence(tmp_path):
    path, model = tmp_path / "page.html", fitted()
    with pytest.raises(DataError, match="give lists of labels"):
        write_report(model, ["a"], ["billing"], path)
    with pytest.raises(DataError, match="there are 1 rows but 2 labels"):
        write_report(model, ["a"], [["billing"], []], path)
    assert not path.exists()
