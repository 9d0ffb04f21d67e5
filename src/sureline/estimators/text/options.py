"""What the estimators on texts have in common: their options, as a tokenizer and its columns."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from sureline.declaration import declared, validate
from sureline.errors import InvalidParameter
from sureline.features.tokenizer import Scheme
from sureline.features.vocabulary import Hashing, Vocabulary
from sureline.options import FeatureOptions, TextOptions

OPTIONS = tuple(declared(TextOptions))
VALUES: Callable[[Any], tuple[Any, ...]] = attrgetter(*OPTIONS)
FOR_VOCABULARIES = ("min_count", "max_features")


class TextEstimator(FeatureOptions):
    """What turns the options on texts into a tokenizer and columns, all of them checked."""

    def _options(self) -> tuple[Any, ...]:
        """The values of the options on texts."""
        return VALUES(self)

    def _scheme(self) -> Scheme:
        """What to look for in a text."""
        owner = type(self).__name__
        if isinstance(self.stop_words, str):
            raise InvalidParameter(
                f"{owner}: stop_words must be a list of words, got the text {self.stop_words!r}; "
                "sureline ships no list of its own"
            )
        validate(self)
        known = declared(FeatureOptions)
        for name in FOR_VOCABULARIES:
            if self.features == "hash" and getattr(self, name) != known[name].default:
                raise InvalidParameter(
                    f'{owner}: {name} goes with features="vocabulary"; with features="hash" the '
                    "number of columns is fixed, so leave it at its default"
                )
        return Scheme.of(self)

    def _columns(self, naming: bool) -> Any:
        """The columns before any text has come."""
        if self.features == "hash":
            return Hashing(self.bits, naming)
        return Vocabulary(self.min_count, self.max_features or 0)
