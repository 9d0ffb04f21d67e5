"""What the estimators on texts have in common: their options, as a tokenizer and its columns."""

from __future__ import annotations

from typing import Any

from sureline.declaration import declared, validate
from sureline.errors import InvalidParameter, show
from sureline.features.hashing import Hashing
from sureline.features.tokenizer import Tokenizer
from sureline.features.vocabulary import Vocabulary
from sureline.options import FeatureOptions, TextOptions

OPTIONS = tuple(declared(TextOptions))
FOR_VOCABULARIES = ("min_count", "max_features")


class TextEstimator(FeatureOptions):
    """What turns the options on texts into a tokenizer and columns, all of them checked."""

    def tokenizer(self) -> Tokenizer:
        """The tokenizer, all options checked."""
        owner = type(self).__name__
        if isinstance(self.stop_words, str):
            raise InvalidParameter(
                f"{owner}: stop_words must be a list of words, got the text "
                f"{show(self.stop_words)}; sureline ships no list of its own"
            )
        validate(self)
        known = declared(FeatureOptions)
        for name in FOR_VOCABULARIES:
            if self.features == "hash" and getattr(self, name) != known[name].default:
                raise InvalidParameter(
                    f"{owner}: {name} needs features='vocabulary'; with features='hash' the number "
                    "of columns is fixed, so leave it at its default"
                )
        return Tokenizer.from_options(self)

    def empty_columns(self, naming: bool) -> Any:
        """The columns before the first text; with hashing, whether they remember names."""
        if self.features == "hash":
            return Hashing(self.bits, naming)
        return Vocabulary(self.min_count, self.max_features or 0)
