"""The pages of the service, with their scripts and styles: files as they are, without a build."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response

FOLDER = Path(__file__).parent
KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def page(name: str) -> Response:
    """A page."""
    return Response((FOLDER / name).read_bytes(), 200, HEADERS, "text/html; charset=utf-8")


def asset(name: str) -> Response | None:
    """A script or a style, by its name; None if there is none."""
    for path in FOLDER.iterdir():  # so that a name from outside is never a path
        if path.name == name and path.suffix in KINDS:
            return Response(path.read_bytes(), 200, HEADERS, KINDS[path.suffix])
    return None
