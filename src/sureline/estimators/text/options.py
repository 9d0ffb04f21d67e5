"""How texts become features: the parameters that TextFeatures and TextClassifier share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Literal

from sureline.errors import InvalidParameter
from sureline.estimators.documentation import described
from sureline.estimators.validation import check_whole
from sureline.features.tokenizer import Scheme
from sureline.features.vocabulary import Hashing, Vocabulary


@dataclass(kw_only=True, eq=False, repr=False)
class TextOptions:
    """What to look for in a text and which column to give it."""

    ngrams: tuple[int, int] | None = described(
        (1, 2),
        "The shortest and the longest runs of neighbouring words that make a feature; None for no "
        "words. Words are runs of letters, digits and underscores.",
    )
    chars: tuple[int, int] | None = described(
        None, "The shortest and the longest runs of characters that make a feature; None for none."
    )
    char_scope: Literal["words", "text"] = described(
        "words",
        "Where runs of characters are looked for: in each word with a space before and behind it, "
        "or anywhere in the text, with white space as single spaces.",
    )
    lowercase: bool = described(True, "Whether to lower-case texts first.")
    stop_words: Sequence[str] | None = described(
        None, "Words to leave out before neighbours are joined."
    )
    min_length: int = described(1, "The least number of characters of a word; others are left out.")
    counts: Literal["binary", "counts", "log"] = described(
        "binary",
        "The value of a feature: 1, how often the text has it, or 1 + the logarithm of that.",
    )
    weighting: Literal["auto", "idf", "nb"] | None = described(
        None,
        "How texts that were counted weigh features: 'idf' scales each by 1 + log((1 + n)/(1 + "
        "n_j)), n_j of n texts having it, so that rare ones count more; 'nb' tells by naive Bayes "
        "which speak for a class.",
    )
    normalize: bool = described(True, "Whether to scale every row to length 1.")
    features: Literal["vocabulary", "hash"] = described(
        "vocabulary",
        "A column for every feature, growing as texts arrive; or a fixed number of columns, "
        "``2**bits``, in which features that fall together share a weight.",
    )
    bits: int = described(22, 'For ``features="hash"``: how many bits make the column.')
    min_count: int = described(
        1,
        'For ``features="vocabulary"``: how many texts must have had a feature before it gets a '
        "column.",
    )
    max_features: int | None = described(
        None,
        'For ``features="vocabulary"``: the most features to keep. Whenever there are as many, the '
        "least certain quarter is forgotten.",
    )

    def _options(self) -> tuple[Any, ...]:
        """The values of all these parameters."""
        return VALUES(self)

    def _scheme(self) -> Scheme:
        """What to look for, all parameters checked."""
        owner = type(self).__name__
        check_whole(self.min_count, "min_count", owner)
        if self.max_features is not None:
            check_whole(self.max_features, "max_features", owner, " or None")
        given = {"min_count": self.min_count != 1, "max_features": self.max_features is not None}
        scheme = Scheme.of(self)
        for name, changed in given.items():
            if changed and self.features == "hash":
                raise InvalidParameter(
                    f'{owner}: {name} goes with features="vocabulary"; with features="hash" the '
                    "number of columns is fixed, so leave it at its default"
                )
        return scheme

    def _columns(self, naming: bool) -> Any:
        """The columns before any text has come."""
        if self.features == "hash":
            return Hashing(self.bits, naming)
        return Vocabulary(self.min_count, self.max_features or 0)


OPTIONS = tuple(field.name for field in fields(TextOptions))
VALUES: Callable[[Any], tuple[Any, ...]] = attrgetter(*OPTIONS)
