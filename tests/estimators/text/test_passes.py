"""How many passes ``max_iter="auto"`` makes, and that nothing but the number differs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sureline import AROWClassifier, PAClassifier, TextClassifier, load
from sureline.data import sms_spam
from sureline.estimators.text import passes
from sureline.estimators.text.passes import CANDIDATES, loss_of
from sureline.model.outcomes import weight_size
from sureline.model.text import TextModel

TEXTS, LABELS = sms_spam()
SOME, THEIRS = list(TEXTS[:300]), np.array(LABELS[:300])


def fitted(texts: Any = SOME, labels: Any = THEIRS, **parameters: Any) -> TextClassifier:
    return TextClassifier(**{"random_state": 0, **parameters}).fit(texts, labels)


def weights(model: TextClassifier) -> tuple[Any, ...]:
    state = model.model_.state
    return (
        *(each.tobytes() for each in (state.table, state.class_counts, state.noise_sums)),
        state.counts.tolist(),
    )


def test_the_number_is_chosen_and_the_model_is_that_of_the_number():
    auto = fitted()
    assert auto.max_iter == "auto"
    assert auto.n_iter_ in CANDIDATES
    assert weights(auto) == weights(fitted(max_iter=auto.n_iter_))
    assert weights(auto) == weights(fitted())


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_jobs": 2},
        {"counts_first": True},
        {"weighting": "idf"},
        {"weighting": None, "calibration": None},
        {"estimator": PAClassifier()},
        {"estimator": AROWClassifier(covariance="diagonal-l2")},
        {"features": "hash", "bits": 12},
        {"random_state": 3},
    ],
    ids=str,
)
def test_every_kind_of_model_can_choose(parameters):
    auto = fitted(**parameters)
    assert weights(auto) == weights(fitted(max_iter=auto.n_iter_, **parameters))


def test_two_threads_choose_what_one_does():
    one, two = fitted(), fitted(n_jobs=2)
    assert one.n_iter_ == two.n_iter_
    assert weights(one) == weights(two)
    assert one.predict_proba(SOME).tobytes() == two.predict_proba(SOME).tobytes()


def test_labels_that_cannot_be_trusted_get_fewer_passes_than_those_that_can():
    rng = np.random.default_rng(0)
    short = [" ".join(text.split()[:3]) for text in SOME]
    assert fitted(short, rng.permutation(THEIRS)).n_iter_ < fitted().n_iter_


def test_texts_in_their_own_order_are_read_once():
    assert fitted(shuffle=False).n_iter_ == 1
    assert weights(fitted(shuffle=False)) == weights(fitted(shuffle=False, max_iter=1))


def test_many_texts_are_read_once(monkeypatch):
    def refuse(*_: Any) -> None:
        raise AssertionError("no decision is needed")

    monkeypatch.setattr("sureline.estimators.text.classifier.MANY", 300)
    monkeypatch.setattr("sureline.estimators.text.classifier.choose_passes", refuse)
    assert fitted().n_iter_ == 1


def test_more_texts_than_take_part_get_fewer_passes(monkeypatch):
    chosen = fitted().n_iter_
    assert chosen > 2
    monkeypatch.setattr(passes, "MOST", 75)  # a quarter: half as many passes
    assert fitted().n_iter_ <= max(CANDIDATES) / 2


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_handful_of_texts_is_enough(count):
    texts, labels = ["free prize", "at noon", "free money", "lunch"][:count], [1, 0, 1, 0][:count]
    assert fitted(texts, labels).predict(["free"]).tolist() == [1]


def test_texts_of_weight_0_take_no_part():
    weight = np.ones(len(SOME))
    weight[100:] = 0.0
    model = TextClassifier(random_state=0).fit(SOME, THEIRS, sample_weight=weight)
    other = np.array([*THEIRS[:100], *np.roll(THEIRS[100:], 1)])
    again = TextClassifier(random_state=0).fit(SOME, other, sample_weight=weight)
    assert weights(model) == weights(again)


def test_a_random_generator_goes_on_as_after_the_passes_alone():
    one, other = np.random.RandomState(5), np.random.RandomState(5)
    model = fitted(random_state=one)
    fitted(random_state=other, max_iter=model.n_iter_)
    assert one.randint(2**31) == other.randint(2**31)


def test_the_parameter_and_the_number_survive_a_file(tmp_path: Path):
    model = fitted()
    model.save(tmp_path / "m.sureline")
    again = load(tmp_path / "m.sureline")
    assert (again.max_iter, again.n_iter_) == ("auto", model.n_iter_)


def test_the_loss_does_not_depend_on_the_scale_of_scores():
    rng = np.random.default_rng(1)
    scores, truth = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    scores[np.arange(50), truth] += 1.0
    ones = np.ones(50)
    assert loss_of(scores, truth, ones) == pytest.approx(loss_of(3 * scores, truth, ones), rel=1e-3)
    better = scores.copy()
    better[np.arange(50), truth] += 1.0
    assert loss_of(better, truth, ones) < loss_of(scores, truth, ones)


def test_two_classes_have_the_loss_of_one_score():
    scores = np.array([[0.5], [-0.5], [0.2]])
    truth, ones = np.array([1, 0, 0]), np.ones(3)
    both = np.column_stack([-scores[:, 0], scores[:, 0]])
    assert loss_of(both, truth, ones) == pytest.approx(2.0 * loss_of(scores, truth, ones))


def test_the_size_of_weights_changed_with_the_capacity_for_features():
    model = fitted(max_iter=2).model_
    states = [model.state.resized(model.n_features + more) for more in range(0, 3000, 61)]
    assert len({weight_size(model.learner, state) for state in states}) == 1


def test_texts_were_scored_with_columns_that_had_been_forgotten(monkeypatch):
    """Weights were read out of bounds where the next pass began by pruning the vocabulary."""
    texts, labels = sms_spam()
    beyond, scores = list[int](), TextModel.scores

    def checked(self: TextModel, rows: Any) -> Any:
        last = rows.indices[: rows.indptr[-1]].max(initial=-1)
        beyond.append(int(last) - self.columns.unknown)
        return scores(self, rows)

    monkeypatch.setattr(TextModel, "scores", checked)
    TextClassifier(random_state=0, max_features=9, max_iter="auto").fit(texts[:60], labels[:60])
    assert len(beyond) >= len(CANDIDATES)
    assert max(beyond) == 0
