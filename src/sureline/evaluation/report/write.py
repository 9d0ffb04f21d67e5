"""The report on a model: one page of HTML with everything an evaluation can tell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from time import perf_counter
from typing import Any

from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from sureline.data import Batch, as_labels, as_text
from sureline.data.atomic_write import atomic_write
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import TextClassifier
from sureline.estimators.input_rows import validate_rows
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.prediction import has_variance
from sureline.estimators.stream import predict_batch
from sureline.evaluation.report.collect import Findings, Gathering
from sureline.evaluation.report.counts import Facts, Tally
from sureline.evaluation.report.page import Heading, render

ROWS = 4096  # answered at once


def write_report(
    model: TextClassifier | OnlineClassifier,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
) -> Facts:
    """Test a model on labelled rows and write a page of HTML about it.

    The page has the error with its interval, classes and confusions, how far probabilities can be
    trusted, the most telling features, and the mistakes that the model was surest of with their
    words marked. It is one file that loads nothing from elsewhere.

    Parameters
    ----------
    model : TextClassifier or one of the online classifiers
        The fitted model; it is not changed.
    X : list or column of str, or an array or sparse matrix of numbers
        The rows, of the kind that the model takes.
    y : array of shape (n_samples,)
        Their labels. Those that the model does not know count as errors.
    path : str or path
        The file to write; one that exists is replaced, once the new one is complete.
    name : str, default=None
        What the page calls the model; by default, its class.

    Returns
    -------
    Facts
        The figures: `error`, `log_loss`, `classes`, `confusion` and so on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sureline import TextClassifier
    >>> from sureline.evaluation.report.write import write_report
    >>> texts = ["win a prize", "lunch at noon", "a prize for you", "late for lunch"]
    >>> labels = ["spam", "ham", "spam", "ham"]
    >>> model = TextClassifier(random_state=0).fit(texts, labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.html"
    ...     facts = write_report(model, texts, labels, page)
    ...     facts.error, page.read_text("utf-8").startswith("<!doctype html>")
    (0.0, True)
    """
    if not isinstance(model, TextClassifier | OnlineClassifier):
        raise InvalidParameter(
            "write_report takes a TextClassifier or one of the online classifiers, got "
            f"{type(model).__name__}"
        )
    check_is_fitted(model)
    begun = perf_counter()
    rows, labels = _as_batch(model, X), as_labels(y).tolist()
    if len(rows) != len(labels):
        raise DataError(f"write_report: there are {len(rows):,} rows but {len(labels):,} labels")
    tally, gathering = Tally(model.classes_, has_variance(model)), Gathering(model)
    for start in range(0, len(rows), ROWS):
        batch = rows.slice(start, start + ROWS)
        answers = predict_batch(model, batch)
        gathering.add(batch, tally.add(labels[start : start + ROWS], answers), answers)
    facts = tally.facts(perf_counter() - begun)
    title = name or type(model).__name__
    save_page(path, title, [], gathering.findings(facts))
    return facts


def save_page(
    path: str | os.PathLike[str], model: str, inputs: Sequence[str], findings: Findings
) -> int:
    """Write the page about some findings, complete or not at all; return its size in bytes.

    Parameters
    ----------
    path : str or path
        The file to write.
    model : str
        What the page calls the model.
    inputs : sequence of str
        The files that were evaluated.
    findings : Findings
        What was found.
    """
    import sureline

    made = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    page = render(Heading(model, inputs, made, sureline.__version__), findings)
    content = page.encode("utf-8")
    with atomic_write(path) as file:
        file.write(content)
    return len(content)


def _as_batch(model: TextClassifier | OnlineClassifier, X: Any) -> Batch:
    """Rows given in Python as a batch."""
    if isinstance(model, TextClassifier):
        return Batch(text=as_text(X))
    return Batch(matrix=csr_array(validate_rows(model, X)))
