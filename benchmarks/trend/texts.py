"""Raw text, with the messages that come with sureline."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import sureline
from sureline import TextClassifier
from sureline.data import sms_spam


class Texts:
    """Whole runs and single texts."""

    params = ("vocabulary", "hash")
    param_names = ("features",)

    def setup(self, features: Any) -> None:
        """Read the messages, and compile."""
        self.texts, self.labels = sms_spam()
        self.model = TextClassifier(features=features, shuffle=False).fit(self.texts, self.labels)
        self.model.predict_one(self.texts[0])
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "model.sureline"

    def teardown(self, features: Any) -> None:
        """Leave nothing."""
        self.folder.cleanup()

    def time_fit(self, features: Any) -> None:
        """Learn all messages."""
        TextClassifier(features=features, shuffle=False).fit(self.texts, self.labels)

    def peakmem_fit(self, features: Any) -> None:
        """Memory of the same."""
        TextClassifier(features=features, shuffle=False).fit(self.texts, self.labels)

    def time_predict(self, features: Any) -> None:
        """Classify all messages."""
        self.model.predict(self.texts)

    def time_learn_one(self, features: Any) -> None:
        """Learn 500 messages, one per call."""
        for text, label in zip(self.texts[:500], self.labels[:500], strict=True):
            self.model.learn_one(text, label)

    def time_predict_one(self, features: Any) -> None:
        """Classify 500 messages, one per call."""
        for text in self.texts[:500]:
            self.model.predict_one(text)

    def time_save_and_load(self, features: Any) -> None:
        """Write the model's file, and read it."""
        self.model.save(self.file)
        sureline.load(self.file)
