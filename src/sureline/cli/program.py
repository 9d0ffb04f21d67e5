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
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from sureline.cli.groups import Command
from sureline.errors import SurelineError

# Every command, in the order of the help page, and the module of its function.
COMMANDS = {
    "train": "sureline.cli.train.command",
    "predict": "sureline.cli.predict.command",
    "evaluate": "sureline.cli.evaluate.command",
    "compare": "sureline.cli.compare.command",
    "tune": "sureline.cli.tune.command",
    "explain": "sureline.cli.explain.command",
    "inspect": "sureline.cli.inspect.command",
    "merge": "sureline.cli.merge",
    "rules": "sureline.cli.rules",
    "reproduce": "sureline.cli.reproduce.command",
    "demo": "sureline.cli.demo.command",
}
REPORT = (
    "this is a bug in sureline: run the command again with SURELINE_DEBUG=1 set, and report what "
    "it prints"
)


def build_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The program with these commands, whose modules are imported."""
    app = typer.Typer(
        name="sureline",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=_options,
    )
    for name in names:
        app.command(cls=Command)(getattr(import_module(COMMANDS[name]), name))
    return app


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
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter gets a question mark instead of a crash.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        # Not `app()`, which would replace Python's hook for uncaught exceptions.
        # A command that is named is the only one to be imported.
        app = build_app(given[:1] if given and given[0] in COMMANDS else COMMANDS)
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
    with contextlib.suppress(BrokenPipeError):
        print("sureline:", " ".join(sentence.split()), file=sys.stderr, flush=True)
    return code


def _nobody_reads_on() -> int:
    """Return the code of a program that a broken pipe ended.

    What is still buffered goes nowhere, or Python would complain of it when it exits.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141
