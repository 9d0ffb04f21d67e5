"""What people serve at home: a FastAPI application around scikit-learn, or around River.

``python rivals.py sklearn|river PORT`` trains on the embedded messages and listens.
"""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from sureline.data import sms_spam

TRAINED = 4_000


class Texts(BaseModel):
    """A request."""

    texts: list[str]


def with_sklearn() -> Any:
    """A function from texts to labels and probabilities, by scikit-learn."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, labels = sms_spam()
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10.0))
    model.fit(texts[:TRAINED], labels[:TRAINED])
    classes = model.classes_

    def answer(asked: list[str]) -> list[dict[str, Any]]:
        chances = model.predict_proba(asked)
        best = chances.argmax(axis=1)
        return [
            {"label": str(classes[k]), "probability": float(row[k])}
            for k, row in zip(best, chances, strict=True)
        ]

    return answer


def with_river() -> Any:
    """The same by River."""
    from river import feature_extraction, linear_model

    texts, labels = sms_spam()
    model = feature_extraction.BagOfWords(ngram_range=(1, 2)) | linear_model.LogisticRegression()
    for text, label in zip(texts[:TRAINED], labels[:TRAINED], strict=True):
        model.learn_one(text, label == "spam")

    def answer(asked: list[str]) -> list[dict[str, Any]]:
        made = []
        for text in asked:
            chance = model.predict_proba_one(text).get(True, 0.5)
            spam = chance > 0.5
            made.append(
                {"label": "spam" if spam else "ham", "probability": max(chance, 1.0 - chance)}
            )
        return made

    return answer


def main(which: str, port: int) -> None:
    """Train and listen."""
    answer = {"sklearn": with_sklearn, "river": with_river}[which]()
    app = FastAPI()

    @app.post("/predict")
    async def predict(request: Texts) -> dict[str, Any]:
        return {"predictions": answer(request.texts)}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
