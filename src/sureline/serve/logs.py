"""Logs as lines of JSON, without texts."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

ACCESS = logging.getLogger("sureline.serve.access")


class Lines(logging.Formatter):
    """A record as one line of JSON: time, level, message and what else it has."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def begin_logs(access: bool) -> None:
    """Write warnings of the service and its server to stderr; with `access`, every request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name in ("sureline.serve", "uvicorn"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)
        logger.propagate = False
    ACCESS.setLevel(logging.INFO if access else logging.WARNING)
