"""Predictions outside the event loop: requests that wait at the same time are answered together.

A batch runs in a thread. While it does, requests gather, and are the next batch: alone, a request
waits for nobody; under load, the costs of a batch are shared.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from sureline.errors import DataError, InvalidParameter
from sureline.model.predictions import Predictions
from sureline.serve.entries import Asked, AskedTogether, new_key, stored_label
from sureline.serve.hosted import Hosted
from sureline.serve.messages import Answer, PredictRequest, Reason
from sureline.serve.recovery import as_learned, check_input, columns_of, stored_input
from sureline.serve.requests import Busy

TOGETHER = 256  # texts of a batch of several requests, at most
WAITING = 4_096  # requests that may wait
UNUSUAL = 0.99  # the novelty of a text that is counted as unusual
UNSURE = 0.75  # texts with a probability below it are shown as unsure
EXPLAINED = 100  # texts of one request
SHOWN = 20  # unsure texts that are kept


class Waiting(NamedTuple):
    """A request that waits."""

    request: PredictRequest
    done: asyncio.Future[tuple[str, list[Answer]]]


class Predictor:
    """Answers requests for predictions of one model."""

    def __init__(self, hosted: Hosted, pool: ThreadPoolExecutor) -> None:
        self.hosted = hosted
        self.unsure: deque[Asked] = deque(maxlen=SHOWN)
        self.abstained = self.unusual = self.answered = 0
        self._pool = pool
        self._waiting: deque[Waiting] = deque()
        self._running = 0

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    async def predict(self, request: PredictRequest) -> tuple[str, list[Answer]]:
        """The version of the model, and what it predicts of each text."""
        self._check(request)
        if len(self._waiting) >= WAITING:
            raise Busy
        loop = asyncio.get_running_loop()
        waiting = Waiting(request, loop.create_future())
        self._waiting.append(waiting)
        if not self._running:
            self._begin(loop)
        return await waiting.done

    def _check(self, request: PredictRequest) -> None:
        """Refuse what the model cannot answer."""
        model = self.hosted.model
        if (request.texts is None) == (request.rows is None):
            raise DataError("send texts, or rows to a model of several columns")
        for each in request.inputs[:1] if request.rows is None else request.rows:
            check_input(each, model)
        least, coverage = request.min_confidence, request.coverage
        if least is not None and not 0.0 <= least <= 1.0:
            raise InvalidParameter("min_confidence is a probability, from 0 to 1")
        if least is not None and not model.has_variance:
            raise InvalidParameter("min_confidence needs probabilities, and the model gives none")
        if coverage is not None and not 0.0 < coverage < 1.0:
            raise InvalidParameter("coverage is a share between 0 and 1")
        if coverage is not None and not model.model_.is_calibrated:
            raise InvalidParameter("coverage needs a model with calibration='online'")
        if request.explain and len(request.inputs) > EXPLAINED:
            raise InvalidParameter(f"explain is for {EXPLAINED} texts at most in one request")
        if request.explain and model.model_.learner.compact:
            raise InvalidParameter("explain needs the names of features; a compact file has none")

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer the next requests in a thread."""
        some: list[Waiting] = []
        count = 0
        while self._waiting and (not some or count < TOGETHER):
            waiting = self._waiting.popleft()
            if not waiting.done.done():  # its client is still there
                some.append(waiting)
                count += len(waiting.request.inputs)
        if some:
            self._running += 1
            self._pool.submit(self._answer, some, loop)

    def _answer(self, some: list[Waiting], loop: asyncio.AbstractEventLoop) -> None:
        """Answer requests, in a thread."""
        answers: list[Any] | Exception
        try:
            answers = answer(self, [each.request for each in some])
        except Exception as problem:
            answers = problem
        loop.call_soon_threadsafe(self._finish, some, answers, loop)

    def _finish(
        self,
        some: list[Waiting],
        answers: list[tuple[str, list[Answer]]] | Exception,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Hand answers to those who wait, and begin the next batch."""
        self._running -= 1
        if self._waiting:
            self._begin(loop)
        for k, waiting in enumerate(some):
            if waiting.done.done():
                continue
            if isinstance(answers, Exception):
                waiting.done.set_exception(answers)
            else:
                waiting.done.set_result(answers[k])


def answer(predictor: Predictor, requests: list[PredictRequest]) -> list[tuple[str, list[Answer]]]:
    """The answers to some requests, by one walk over all their texts."""
    hosted = predictor.hosted
    version, model = hosted.version, hosted.model
    inputs = [each for request in requests for each in request.inputs]
    classes, found = model.predictions(as_learned(inputs, model))
    texts = inputs if columns_of(model) is None else [stored_input(each) for each in inputs]
    labels, margins = found.label.tolist(), found.margin.tolist()
    chances = _listed(found.probability, len(texts))
    if model.model_.learner.multilabel:
        stored, labels = [stored_label(each) for each in labels], [list(each) for each in labels]
    else:
        stored = labels
    asked = AskedTogether(new_key(), texts, stored, chances, version)
    ids = asked.ids
    novelties = _listed(found.novelty, len(texts))
    answers: list[tuple[str, list[Answer]]] = []
    first = 0
    for request in requests:
        every = range(first, first + len(request.inputs))
        first = every.stop
        made = [Answer(ids[k], labels[k], chances[k], margins[k], novelties[k]) for k in every]
        if request.has_wishes:
            _add_details(predictor, request, made, every, classes.tolist(), found)
        answers.append((version, made))
    hosted.remember(asked)
    predictor.answered += len(texts)
    if found.probability is not None:
        for k in np.flatnonzero(found.probability < UNSURE)[-SHOWN:].tolist():
            predictor.unsure.append(Asked(ids[k], texts[k], stored[k], chances[k], version))
    if found.novelty is not None:
        predictor.unusual += int(np.count_nonzero(found.novelty > UNUSUAL))
    return answers


def _listed(values: Any, count: int) -> list[float | None]:
    return [None] * count if values is None else values.tolist()


def _add_details(
    predictor: Predictor,
    request: PredictRequest,
    made: list[Answer],
    every: range,
    classes: list[Any],
    found: Predictions,
) -> None:
    """Add to the answers what the request asks for."""
    model, chances = predictor.hosted.model, found.probabilities
    if request.probabilities and chances is not None:
        names = [str(each) for each in classes]
        for k, each in zip(every, made, strict=True):
            each.probabilities = dict(zip(names, chances[k].tolist(), strict=True))
    if request.coverage is not None and chances is not None:
        some = chances[every.start : every.stop]
        sets = model.model_.label_sets(some, request.coverage, request.per_class)
        for each, labels in zip(made, sets, strict=True):
            each.labels = list(labels)
    if request.explain:
        for given, each in zip(request.inputs, made, strict=True):
            explanation = model.explain(as_learned([given], model)[0], request.explain)
            reasons = explanation.classes[explanation.label].features
            each.reasons = [
                Reason(reason.feature, reason.share, list(reason.places)) for reason in reasons
            ]
    if request.min_confidence is not None:
        for each in made:
            if each.probability is not None and each.probability < request.min_confidence:
                each.label = None
                predictor.abstained += 1
