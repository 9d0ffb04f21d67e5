"""The command line: one module or package per command; each imports what it needs when run."""

from sureline.cli.program import build_app, main

__all__ = ["build_app", "main"]
