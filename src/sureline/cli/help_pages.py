"""Help pages: which options a command shows, and how it shows them."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sureline.errors import InvalidParameter


def _without_types(parameters: list[Any]) -> list[Any]:
    """The parameters of a command; help shows no type of those that take a file or no value.

    Typer would show ``--quiet <bool>``, which invites ``--quiet true``.
    """
    for each in parameters:
        if each.param_type_name == "argument" or each.is_flag:
            each.display_type_rich = lambda ctx: None
    return parameters


class Program(TyperGroup):
    """The program itself."""

    def get_params(self, ctx: Any) -> Any:
        """The options of the program."""
        return _without_types(super().get_params(ctx))


class Command(TyperCommand):
    """A command whose ``--help`` leaves out the options that are hidden.

    The shell completes them, and ``--help-all`` shows them. An option is given once, unless it
    takes several values.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if self.help is not None:
            self.help = "\n\n".join(map(_unwrap, self.help.split("\n\n")))
        self.shows_all = all(each.name != "help_all" for each in self.params)
        self._hidden = [each for each in self.params if getattr(each, "hidden", False)]
        self._hide(False)

    def get_params(self, ctx: Any) -> Any:
        """The arguments and options of the command."""
        return _without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; refuse what is given twice, of which one would be ignored."""
        if not ctx.resilient_parsing:  # the shell completes what is half written
            *_, given = self.make_parser(ctx).parse_args(args=list(args))
            _check_once(given)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page."""
        self._hide(not self.shows_all)
        super().format_help(ctx, formatter)
        self._hide(False)

    def _hide(self, hidden: bool) -> None:
        each: Any
        for each in self._hidden:
            each.hidden = hidden


def _unwrap(paragraph: str) -> str:
    """A paragraph on one line, so that the terminal breaks it; examples stay as they are."""
    return paragraph if paragraph.startswith(" ") else " ".join(paragraph.split("\n"))


def _check_once(given: list[Any]) -> None:
    """Refuse options that are given several times, if they take one value."""
    for option, count in Counter(given).items():
        if count == 1 or option.is_flag or option.multiple:
            continue
        name, remedy = option.opts[0], "give it once"
        if name == "--text":
            remedy = "a model of several columns knows which they are, so leave it out"
        raise InvalidParameter(f"{name} was given more than once; {remedy}")


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted and isinstance(context.command, Command):
        context.command.shows_all = True
        typer.echo(context.get_help())
        raise typer.Exit


HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-all", help="Show all options and exit.", is_eager=True, callback=_show_all
        ),
    ],
)
