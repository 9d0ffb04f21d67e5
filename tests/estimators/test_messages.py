"""What messages say of values: in Python's words, whatever NumPy calls them."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import ParameterGrid

import sureline
from sureline import (
    AROWClassifier,
    BoxClassifier,
    CWClassifier,
    DataError,
    PAClassifier,
    TextClassifier,
    TextFeatures,
)
from sureline.declaration import declared
from sureline.errors import show
from sureline.evaluation import hold_out, k_fold

X, Y = np.eye(4), np.array([0, 1, 0, 1])
TEXTS = ["free prize", "see you", "free money", "at noon"]
WRONG = [np.int64(-7), np.float32(-0.5), np.float64("nan"), np.str_("none such"), np.bool_(True)]
NAN = float("nan")


def message(attempt):
    """What an attempt raises, or nothing."""
    try:
        attempt()
    except ValueError as problem:
        return str(problem)
    return ""


def test_values_are_shown_as_python_writes_them():
    assert show(np.int64(0)) == "0"
    assert show(np.float32(0.1)) == "0.1"
    assert show(np.str_("a'b")) == '"a\'b"'
    assert show(np.bool_(False)) == "False"
    assert show({np.int64(1): (np.float64(2.0),)}) == "{1: (2.0,)}"
    assert show([np.int8(3), "x", None]) == "[3, 'x', None]"


@pytest.mark.parametrize("owner", [TextClassifier, TextFeatures, AROWClassifier, CWClassifier])
def test_no_message_about_a_parameter_has_a_numpy_name(owner):
    rows = TEXTS if owner in (TextClassifier, TextFeatures) else X
    names = [*declared(owner), *(["r"] if owner is AROWClassifier else [])]
    for case in ParameterGrid({"name": names, "value": WRONG}):
        if case["name"] == "random_state":  # scikit-learn's message
            continue
        made = owner(**{case["name"]: case["value"]})
        assert "np." not in message(lambda made=made: made.fit(rows, Y))


def test_no_message_about_labels_or_numbers_has_a_numpy_name():
    model = TextClassifier().fit(TEXTS, Y)
    unknown = np.int64(5)
    attempts = [
        lambda: model.top_features(unknown),
        lambda: model.forget_class(unknown),
        lambda: model.explain("a", top=np.int64(0)),
        lambda: model.predict_one("a", min_confidence=np.float64(2.0)),
        lambda: BoxClassifier().fit(X, Y, sample_weight=[1, 0, 1, 0]),
        lambda: BoxClassifier().fit(X, [0.5, 1.0, 0.5, 1.0]),
        lambda: AROWClassifier().fit(X, np.zeros(4, np.int64)),
        lambda: AROWClassifier(class_weight=[np.int64(0)]).fit(X, Y),
        lambda: AROWClassifier(n_jobs=np.int64(0)).fit(X, Y),
        lambda: PAClassifier(variant=np.int64(3)).fit(X, Y),
        lambda: TextClassifier().fit(TEXTS, ["a", np.int64(1), "a", "b"]),
        lambda: AROWClassifier().fit(X, [{np.int64(0)}, 1, 0, 1]),
        lambda: hold_out(AROWClassifier(), X, Y, test_size=np.float64(3.0)),
        lambda: k_fold(AROWClassifier(), X, Y, folds=np.int64(0)),
        lambda: sureline.merge(
            [AROWClassifier(r=np.float64(r)).fit(X, Y) for r in (1.0, 2.0)], how="kl"
        ),
    ]
    for attempt in attempts:
        said = message(attempt)
        assert said
        assert "np." not in said


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", "a", NAN],
        ["a", "b", "a", None],
        [0, 1, 0, None],
        [0.0, 1.0, 0.0, NAN],
        np.array([0.0, 1.0, 0.0, NAN]),
        np.array(["a", "b", "a", None], object),
        pl.Series([0.0, 1.0, 0.0, NAN]),
        pa.array([0.0, 1.0, 0.0, NAN]),
    ],
    ids=str,
)
@pytest.mark.parametrize("model", [TextClassifier(), AROWClassifier(), BoxClassifier()])
def test_a_missing_label_is_one_whether_none_or_nan(model, labels):
    """NaN among strings became the class 'nan'; None gave "'<' not supported"."""
    rows = TEXTS if isinstance(model, TextClassifier) else X
    for method in ("fit", "partial_fit"):
        if hasattr(model, method):
            with pytest.raises(DataError, match=r"row 3: the label is missing .*leave such rows"):
                getattr(model, method)(rows, labels)
