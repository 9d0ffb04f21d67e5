"""The command line: one module or package per command; each imports what it needs when run."""

from sureline.cli.program import app, main

__all__ = ["app", "main"]
