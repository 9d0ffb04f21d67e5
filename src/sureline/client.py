"""A client of `sureline serve`, with retries that never learn anything twice."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from sureline.errors import SurelineError

AGAIN = frozenset({429, 502, 503, 504})  # answers after which a request is sent again
LONGEST_PAUSE = 10.0  # seconds


class ServiceError(SurelineError):
    """A request that the service refused, or could not answer.

    Attributes
    ----------
    status : int or None
        The status of the answer; None if there was none.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """A client of one model of a service.

    Parameters
    ----------
    url : str
        Where the service is, such as ``"http://127.0.0.1:8080"``.
    model : str, default=None
        The name of the model. None: the only one that is served.
    token : str, default=None
        The token to send.
    retries : int, default=5
        How often to send a request again that was not answered, or was answered by 429 or 503.
    timeout : float, default=60.0
        Seconds to wait for an answer.
    transport : httpx.BaseTransport, default=None
        How requests are sent; None is over the network.

    Examples
    --------
    >>> from sureline.client import Client
    >>> client = Client("http://127.0.0.1:8080", model="mail")
    >>> client.close()
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        token: str | None = None,
        retries: int = 5,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=timeout, transport=transport
        )
        self._model, self._retries = model, retries

    # -- predicting and learning -----------------------------------------------------------------

    def predict(
        self, texts: Sequence[str | Mapping[str, Any]], **wishes: Any
    ) -> list[dict[str, Any]]:
        """Classify texts.

        Parameters
        ----------
        texts : list of str or of dict
            The texts, or the rows for a model of several columns.
        **wishes
            What else to ask for: ``min_confidence``, ``coverage``, ``per_class``,
            ``probabilities``, ``explain``.

        Returns
        -------
        list of dict
            For each text ``id``, ``label``, ``probability`` and what was asked for.
        """
        kind = "texts" if all(isinstance(each, str) for each in texts) else "rows"
        made = self._send("POST", "predict", {kind: list(texts), **wishes})
        found: list[dict[str, Any]] = made["predictions"]
        return found

    def learn(
        self,
        texts: Sequence[str | Mapping[str, Any]],
        labels: Sequence[Any],
        author: str | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Learn texts with their labels; they are durable when this returns.

        Parameters
        ----------
        texts : list of str or of dict
            The texts, or the rows for a model of several columns.
        labels : list of str or int
            Their labels; new ones may appear at any time. With several labels per text, lists.
        author : str, default=None
            Who gives the labels.
        key : str, default=None
            An Idempotency-Key. None: a new one, so that retries learn nothing twice.

        Returns
        -------
        dict
            ``version``, and ``first`` and ``last``, the numbers of the examples in the journal.
        """
        pairs = zip(texts, labels, strict=True)
        examples = [
            {"text" if isinstance(text, str) else "row": text, "label": label}
            for text, label in pairs
        ]
        return self._learn(examples, author, key)

    def label(
        self,
        ids: Iterable[str],
        labels: Iterable[Any],
        author: str | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Learn labels of texts that were predicted before.

        Parameters
        ----------
        ids : list of str
            The ids of the predictions.
        labels : list of str or int
            The labels.
        author : str, default=None
            Who gives the labels.
        key : str, default=None
            An Idempotency-Key. None: a new one.

        Returns
        -------
        dict
            As from `learn`.
        """
        pairs = zip(ids, labels, strict=True)
        return self._learn([{"id": each, "label": label} for each, label in pairs], author, key)

    def _learn(
        self, examples: list[dict[str, Any]], author: str | None, key: str | None
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"examples": examples}
        if author is not None:
            body["author"] = author
        headers = {"idempotency-key": key or uuid.uuid4().hex}
        return self._send("POST", "learn", body, headers)

    # -- the model -------------------------------------------------------------------------------

    def models(self) -> list[str]:
        """The names of the models that are served."""
        names: list[str] = self._request("GET", "/v1/models")["models"]
        return names

    def status(self) -> dict[str, Any]:
        """Everything about the model that a person watches."""
        return self._send("GET", "")

    def rollback(self, number: int | None = None, until: str | None = None) -> dict[str, Any]:
        """Undo what was learned after a number of the journal, or after a time.

        Parameters
        ----------
        number : int, default=None
            The last example to keep.
        until : str, default=None
            The time of the last example to keep, such as ``"2026-03-01T12:00:00Z"``.
        """
        wanted = {"number": number, "until": until}
        body = {name: value for name, value in wanted.items() if value is not None}
        return self._send("POST", "rollback", body)

    def forget(self, numbers: Sequence[int] = (), author: str | None = None) -> dict[str, Any]:
        """Remove examples, or all of an author, from the journal and from the model.

        Parameters
        ----------
        numbers : list of int, default=()
            The numbers of the examples.
        author : str, default=None
            Whose examples.
        """
        return self._send(
            "POST", "forget", {"author": author} if author else {"numbers": list(numbers)}
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------

    def _name(self) -> str:
        """The name of the model."""
        if self._model is None:
            names = self.models()
            if len(names) != 1:
                raise ServiceError(
                    f"there are several models; name one: Client(..., model={names[0]!r}), of "
                    f"{', '.join(names)}"
                )
            self._model = names[0]
        return self._model

    def _send(
        self, method: str, action: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        path = f"/v1/models/{self._name()}" + (f"/{action}" if action else "")
        return self._request(method, path, body, headers)

    def _request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """The answer to a request, which is sent again where that may help."""
        for attempt in range(self._retries + 1):
            pause = min(0.1 * 2.0**attempt, LONGEST_PAUSE)
            try:
                response = self._http.request(method, path, json=body, headers=headers)
            except httpx.TransportError as problem:
                if attempt == self._retries:
                    raise ServiceError(
                        f"{self._http.base_url} does not answer: {problem}"
                    ) from None
            else:
                if response.is_success:
                    made: dict[str, Any] = response.json()
                    return made
                if response.status_code not in AGAIN or attempt == self._retries:
                    raise ServiceError(_sentence(response), response.status_code)
                after = response.headers.get("retry-after", "")
                pause = max(pause, min(float(after), LONGEST_PAUSE)) if after.isdigit() else pause
            time.sleep(pause)
        raise AssertionError("a loop that ended by itself")


def _sentence(response: httpx.Response) -> str:
    """Why a request was refused."""
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"the service answered {response.status_code}"
