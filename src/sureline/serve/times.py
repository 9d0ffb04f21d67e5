"""Times as the journal has them: sorted as text, they are sorted by time."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from sureline.errors import InvalidParameter


def now() -> str:
    """The time in UTC, as the journal writes it: sorted as text, it is sorted by time."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def read_time(text: str) -> str:
    """A time as a person writes it, as the journal does; without a zone, it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParameter(
            f"{text!r} is not a time; write it as 2026-03-01 or 2026-03-01T12:30:00Z"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def age_limit(days: float) -> str:
    """The time so many days ago."""
    moment = datetime.fromtimestamp(time.time() - days * 86_400.0, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
