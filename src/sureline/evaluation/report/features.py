"""What a report reads from a fitted model: its description, features, and unknown words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sureline.data import Batch
from sureline.estimators import TextClassifier
from sureline.estimators.input_rows import as_rows, validate_rows, with_unknown
from sureline.estimators.stream import count_features
from sureline.estimators.validation import settings_of
from sureline.features.table_tokenizer import TableTokenizer
from sureline.features.tokenizer import TokenizedTexts
from sureline.features.vocabulary import Vocabulary
from sureline.model.explanation import Contribution, FeatureWeight, explain_row, lower_bound

WEIGHTS_AT_ONCE = 2**21  # weights that are ranked together
MOST_SHARES = 20_000  # shares of one text that are compared, over all classes
FEWEST_SHARES = 60  # but at least this many per class
MOST_WORDS = 200_000  # unknown words that are counted; beyond it, the rarer half is dropped
SPACE = 32
SHARES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)  # of a text's words; bins that hold their upper edge


def describe_model(model: Any) -> dict[str, str]:
    """A description of a model: by name, in words."""
    rule, values = settings_of(getattr(model, "estimator_", model))
    settings = [f"{name} = {value}" for name, value in values.items()]
    seen, passes = getattr(model, "n_seen_", None), int(model.n_iter_)
    described = {
        "Input": "texts" if isinstance(model, TextClassifier) else "numbers",
        "Rule": f"{rule.name}: {', '.join(settings)}" if settings else rule.name,
        "Classes": f"{model.classes_.size:,}",
        "Features": f"{count_features(model):,}",
    }
    if seen is None:
        described["Trained in"] = f"{passes:,} passes"
    else:
        several = f" in {passes} passes" if passes > 1 else ""
        described["Trained on"] = f"{seen:,} examples{several}"
    if seen:
        again = f" over {passes} passes, of which only the first saw new examples;"
        described["Training error"] = (
            f"{model.n_mistakes_ / seen:.2%}{again if passes > 1 else ','} each example predicted "
            "just before it was learned"
        )
    return described


def as_batch(model: Any, X: Any) -> Batch:
    """Rows given in Python, of the kind that the model takes, as a batch."""
    if isinstance(model, TextClassifier):
        return Batch(text=model.as_input(X))
    return Batch(matrix=csr_array(validate_rows(model, X)))


def top_features(model: Any, n: int) -> list[list[FeatureWeight]]:
    """The features with the most certain positive weights, of each class in ``classes_``.

    As the model's `top_features`, but for all classes in one walk over the weights.
    """
    features = count_features(model)
    classes = model.classes_.size
    best = [np.zeros((0, 4)) for _ in range(classes)]  # bound, -feature, weight, variance
    least = np.full(classes, -np.inf)
    step = max(1, WEIGHTS_AT_ONCE // classes)
    for start in range(0, features, step):
        means, variances = model.model_.weights(np.arange(start, min(start + step, features)))
        bound = means if variances is None else lower_bound(means, np.sqrt(variances))
        rows, columns = np.nonzero((means > 0.0) & (bound > least))
        for k in np.unique(columns).tolist():
            chosen = rows[columns == k]
            variance = means[chosen, k] if variances is None else variances[chosen, k]
            new = [bound[chosen, k], -(chosen + start), means[chosen, k], variance]
            ranked = np.concatenate([best[k], np.column_stack(new)])
            best[k] = ranked[np.lexsort((-ranked[:, 1], -ranked[:, 0]))][:n]
            if len(best[k]) == n:
                least[k] = best[k][-1, 0]

    def named(_: float, feature: float, weight: float, variance: float) -> FeatureWeight:
        known = variance if model.has_variance else None
        return FeatureWeight(model.model_.name(int(-feature)), weight, known)

    return [[named(*each) for each in ranked.tolist()] for ranked in best]


@dataclass(frozen=True)
class LeadContribution:
    """What a feature of a row adds to the lead of the predicted class over the true one.

    `deviation` is the standard deviation of `share`, None for rules without variances. `places`
    are the spans of the text in which the feature occurs.
    """

    feature: str
    share: float
    deviation: float | None
    places: tuple[tuple[int, int], ...] = ()

    @property
    def uncertain(self) -> bool:
        """Whether its sign is uncertain."""
        return self.deviation is not None and self.deviation > abs(self.share)


class ShownRow(str):
    """A row of several columns as it is shown, a line for each, with the `row` as a dictionary."""

    row: dict[str, Any]

    def __new__(cls, shown: str, row: dict[str, Any]) -> ShownRow:
        """Keep the row beside what is shown of it."""
        made = super().__new__(cls, shown)
        made.row = row
        return made


def lead_contributions(model: Any, row: Any, predicted: Any, true: Any) -> list[LeadContribution]:
    """What each feature of a row adds to the lead of one class over another, the largest first.

    The row is a text, or a sparse matrix of one row. Where the model does not know the true class,
    shares are those of the predicted class's score.
    """
    most = max(FEWEST_SHARES, MOST_SHARES // model.classes_.size)
    if isinstance(model, TextClassifier):
        reasons = model.explain(row.row if isinstance(row, ShownRow) else row, top=most).classes
    else:
        rows = as_rows(row.astype(model.dtype))
        names = [str(feature) for feature in rows.indices.tolist()]
        reasons = explain_row(*with_unknown(model.model_, rows), names, most).classes
    towards = {each.feature: each for each in reasons[predicted].features}
    away = {}
    if true in reasons and len(reasons) > 2:  # of two classes, each has the whole score
        away = {each.feature: each for each in reasons[true].features}
    found = [_difference(each, away.pop(name, None)) for name, each in towards.items()]
    found += [_difference(None, each) for each in away.values()]
    return sorted(found, key=lambda each: -abs(each.share))


def _difference(towards: Contribution | None, away: Contribution | None) -> LeadContribution:
    """A feature's share of one class's score less that of another's; one not listed is near 0."""
    either = [each for each in (towards, away) if each is not None]
    share = (towards.share if towards else 0.0) - (away.share if away else 0.0)
    deviation = None
    if either[0].variance is not None:
        deviation = sqrt(sum((each.variance or 0.0) * each.value**2 for each in either))
    return LeadContribution(either[0].feature, share, deviation, either[0].places)


@dataclass(frozen=True)
class UnknownWords:
    """How many words of the texts are unknown to the model.

    `words` and `unknown` count each word once per text. `frequent` lists unknown words with the
    number of texts they are in. `shares` groups the rows by their share of unknown words: lower
    and upper limit, rows, mistakes. Unknown words are `ignored` where the model leaves them out;
    otherwise they take part, and if rows are `scaled` to length 1, the others then count less.
    """

    words: int
    unknown: int
    frequent: list[tuple[str, int]]
    shares: list[tuple[float, float, int, int]]
    ignored: bool
    scaled: bool


class UnknownWordCounter:
    """Counts the words that a model does not know, in memory that does not grow with the rows."""

    def __init__(self, model: TextClassifier) -> None:
        self._known = model.model_
        self._words = self._unknown = 0
        self._counts = Counter[str]()
        self._rows = np.zeros((2, len(SHARES)), np.int64)

    @staticmethod
    def supports(model: Any) -> bool:
        """Whether each single word has a column of its own, so that unknown ones are detected."""
        if not isinstance(model, TextClassifier):
            return False
        known = model.model_
        words = known.tokenizer.ngrams
        if isinstance(known.tokenizer, TableTokenizer):
            return False
        return isinstance(known.columns, Vocabulary) and words is not None and words[0] == 1

    def add(self, batch: Batch, right: NDArray[np.bool_]) -> None:
        """Count the words of some more texts, and whether each was predicted correctly."""
        for part, found in self._known.tokenizer.chunks(batch.text):
            single, unknown = self._look_up(found)
            owners = np.repeat(np.arange(len(found)), np.diff(found.indptr))
            words = np.bincount(owners[single], minlength=len(found))
            new = np.bincount(owners[unknown], minlength=len(found))
            self._words += int(words.sum())
            self._unknown += int(new.sum())
            bins = np.searchsorted(SHARES, new / np.maximum(words, 1), side="left")
            self._rows[0] += np.bincount(bins, minlength=len(SHARES))
            self._rows[1] += np.bincount(bins[~right[part]], minlength=len(SHARES))
            _, first, counts = np.unique(found.keys[unknown], return_index=True, return_counts=True)
            for at, count in zip(unknown[first], counts.tolist(), strict=True):
                self._counts[_name(found, at)] += count
            if len(self._counts) > MOST_WORDS:
                self._counts = Counter(dict(self._counts.most_common(MOST_WORDS // 2)))

    def _look_up(self, found: TokenizedTexts) -> tuple[NDArray[Any], NDArray[Any]]:
        """The indices of single words among all features found, and of the unknown ones."""
        columns = self._known.columns
        size = int(found.indptr[-1])
        missing = columns.features
        rows = columns.look_up(found, False, "float32", missing)
        starts, lengths = found.starts[:size], found.lengths[:size].astype(np.int64)
        end = int((starts + np.abs(lengths)).max(initial=0))
        spaces = np.concatenate([[0], np.cumsum(found.low[:end] == SPACE)])
        single = np.flatnonzero(
            (lengths > 0) & (spaces[starts] == spaces[starts + np.maximum(lengths, 0)])
        )
        return single, single[rows.indices[single] == missing]

    def unknown_in(self, text: str) -> set[str]:
        """The words of one text that the model does not know."""
        found = self._known.tokenizer.read(pa.array([text], pa.large_string()))
        return {_name(found, at) for at in self._look_up(found)[1]}

    def result(self, most: int) -> UnknownWords:
        """The counts so far, with at most so many of the most frequent words."""
        frequent = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))[:most]
        limits = zip((0.0, *SHARES[:-1]), SHARES, self._rows.T.tolist(), strict=True)
        shares = [(low, high, rows, wrong) for low, high, (rows, wrong) in limits]
        known = self._known
        taking = known.columns.unknown < 0, known.normalize
        return UnknownWords(self._words, self._unknown, frequent, shares, *taking)


def _name(found: TokenizedTexts, at: int) -> str:
    """The word at an index of the features found."""
    start, length = int(found.starts[at]), int(found.lengths[at])
    return bytes(found.low[start : start + length]).decode("utf-8", "replace")
