"""The program: the list of commands, and how one of them is run.

A command is a module or a package, and imports what it needs only when it runs.

Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 internal error, 2 the
user's input is wrong, 130 interrupted, 141 the reader of a pipe has gone.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Annotated, Any, TextIO

import typer

from sureline.errors import SurelineError

# Every command, in the order of the help page: the module of its function and the first sentence of
# its help, so that the list of commands can be printed without importing any.
COMMANDS = {
    "train": ("sureline.cli.train.command", "Learn to classify texts from files of labelled ones."),
    "predict": (
        "sureline.cli.predict.command",
        "Classify the rows of files: label, probability, margin and variance of each.",
    ),
    "evaluate": (
        "sureline.cli.evaluate.command",
        "Test a model on files of labelled rows: accuracy, F1, log loss, confusion matrix.",
    ),
    "audit": (
        "sureline.cli.audit.command",
        "Find labels that are probably wrong, and duplicates, in files of labelled texts.",
    ),
    "compare": (
        "sureline.cli.compare.command",
        "Compare all rules, and scikit-learn's classifiers, on your rows.",
    ),
    "tune": (
        "sureline.cli.tune.command",
        "Find the rule, the settings and the number of passes that suit your rows best.",
    ),
    "explain": (
        "sureline.cli.explain.command",
        "Show why a text gets its label: its words, their weights and how certain these are.",
    ),
    "inspect": (
        "sureline.cli.inspect.command",
        "Print everything in a model: rule, parameters, classes, counters, features, tensors.",
    ),
    "merge": (
        "sureline.cli.merge",
        "Merge models that were trained separately, on parts of the data or at different times.",
    ),
    "serve": (
        "sureline.cli.serve",
        "Answer and learn over HTTP; what was acknowledged is never lost.",
    ),
    "journal": (
        "sureline.cli.journal",
        "List or export what a served model has learned, or make the model as of any moment.",
    ),
    "rules": (
        "sureline.cli.rules",
        "List the update rules, or describe one: problem, symbols, parameters, paper.",
    ),
    "reproduce": (
        "sureline.cli.reproduce.command",
        "Reproduce a paper's tables and figures, next to the published numbers.",
    ),
    "demo": (
        "sureline.cli.demo.command",
        "Train, test and explain a spam filter on real text messages, in seconds.",
    ),
}
REPORT = (
    "this is a bug in sureline: run the command again with SURELINE_DEBUG=1 set, and report what "
    "it prints"
)


def build_app(imported: Collection[str] = COMMANDS) -> typer.Typer:
    """The program; commands whose modules are not imported are listed and cannot run."""
    from sureline.cli.help_pages import Command, Program

    app = typer.Typer(
        name="sureline",
        cls=Program,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=_options,
    )
    for name, (module, sentence) in COMMANDS.items():
        if name in imported:
            app.command(cls=Command)(getattr(import_module(module), name))
        else:
            app.command(name, help=sentence)(_listed)
    return app


def _listed() -> None:
    """A command that is not imported."""


def _show_version(wanted: bool) -> None:
    if wanted:
        import sureline

        typer.echo(f"sureline {sureline.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", callback=_show_version),
    ] = False,
) -> None:
    """Learn to classify text in one pass, and know how certain each prediction is.

    New here? Start with sureline demo: it takes a few seconds and needs no data.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code; without arguments, print the help.

    `arguments` is what follows the program's name; by default, what the shell gave.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.stdout, sys.stderr = map(_complete, (sys.stdout, sys.stderr))
    try:
        # Not `app()`, which would replace Python's hook for uncaught exceptions.
        # Only a command that is named is imported; all are, to complete what the user types.
        app = build_app(COMMANDS if "_SURELINE_COMPLETE" in os.environ else given)
        command = typer.main.get_command(app)
        code = command.main(given or ["--help"], prog_name="sureline", standalone_mode=False)
        print(end="", flush=True)  # a broken pipe must show here, not when Python exits
    except SurelineError as error:
        from sureline.cli.errors import name_options

        return _complain(name_options(str(error)), 2)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        return _nobody_reads_on()
    except OSError as error:
        return _complain(_reason(error), 2)
    except MemoryError:
        return _complain("there is not enough memory; use fewer features or a smaller --buffer", 2)
    except SystemExit as leaving:
        # Typer and rich both exit on a broken pipe.
        if isinstance(leaving.__context__, BrokenPipeError):
            return _nobody_reads_on()
        raise
    except Exception as error:
        # Typer's usage errors have no public parent that every version of Typer shares.
        if hasattr(error, "format_message"):
            return _complain(_with_hint(error), 2)
        if os.environ.get("SURELINE_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        what = f"internal error: {type(error).__name__}: {error}"
        return _complain(f"{what}; {REPORT}", 1)
    return code if isinstance(code, int) else 0


def _complete(stream: TextIO) -> TextIO:
    """The stream, which writes everything: signs that it cannot show become question marks.

    With PYTHONUNBUFFERED, Python hands its output to the system once and ignores how much was
    taken: a full disk or a slow pipe would lose the rest without an error.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="replace")
    if stream not in (sys.__stdout__, sys.__stderr__) or not isinstance(
        stream.buffer, io.RawIOBase
    ):
        return stream
    buffered = io.BufferedWriter(io.FileIO(stream.fileno(), "wb", closefd=False))
    return io.TextIOWrapper(buffered, stream.encoding, "replace", line_buffering=True)


def _with_hint(error: Any) -> str:
    """What is wrong with the usage, and where to read more."""
    message = str(error.format_message()).rstrip()
    command = getattr(getattr(error, "ctx", None), "command_path", None)
    return f"{message} (see {command} --help)" if command else message


def _reason(error: OSError) -> str:
    """What a file or a device refused."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _complain(sentence: str, code: int) -> int:
    """Say on one line of stderr what is wrong, and return the exit code."""
    from sureline.cli.controls import escape_controls

    with contextlib.suppress(BrokenPipeError):
        line = escape_controls(" ".join(sentence.split()))
        print("sureline:", line, file=sys.stderr, flush=True)
    return code


def _nobody_reads_on() -> int:
    """Return the code of a program that a broken pipe ended.

    What is still buffered goes nowhere, or Python would complain of it when it exits.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141
