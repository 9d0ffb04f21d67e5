"""Who may do what: bearer tokens with roles."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from sureline.errors import InvalidParameter

Role = Literal["read", "learn", "admin"]
ROLES: tuple[Role, ...] = ("read", "learn", "admin")  # each may do what those before it may
SHORTEST = 16  # characters of a token


class Caller(NamedTuple):
    """Who sends a request."""

    name: str | None
    role: Role


EVERYONE = Caller(None, "admin")


@dataclass(frozen=True)
class Tokens:
    """The tokens of a file; none means that everyone may do everything."""

    callers: tuple[tuple[bytes, Caller], ...] = ()

    @classmethod
    def read(cls, path: Path) -> Tokens:
        """The tokens of a file: lines of role, name and token; lines with # are comments."""
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise InvalidParameter(f"--token-file {path} cannot be read: {problem}") from None
        callers: list[tuple[bytes, Caller]] = []
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            parts = line.split()
            if len(parts) != 3 or parts[0] not in ROLES:
                raise InvalidParameter(
                    f"--token-file {path}, line {number}: a line is a role ({', '.join(ROLES)}), a "
                    "name and a token, with spaces between them"
                )
            role, name, token = parts
            if len(token) < SHORTEST:
                raise InvalidParameter(
                    f"--token-file {path}, line {number}: a token has at least {SHORTEST} "
                    "characters; python -c 'import secrets; print(secrets.token_urlsafe())' "
                    "prints a good one"
                )
            callers.append((_digest(token), Caller(name, role)))  # type: ignore[arg-type]
        if not callers:
            raise InvalidParameter(f"--token-file {path} has no tokens")
        return cls(tuple(callers))

    def caller(self, header: str | None) -> Caller | None:
        """Who sends an Authorization header; None if nobody that is known.

        All tokens are compared, each in constant time.
        """
        if not self.callers:
            return EVERYONE
        scheme, _, token = (header or "").partition(" ")
        given = _digest(token.strip() if scheme.lower() == "bearer" else "")
        found = None
        for known, caller in self.callers:
            if hmac.compare_digest(known, given):
                found = caller
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def allows(caller: Caller, role: Role) -> bool:
    """Whether a caller may do what needs a role."""
    return ROLES.index(caller.role) >= ROLES.index(role)
