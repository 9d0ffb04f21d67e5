"""How a command takes its options in groups, and how its help page shows few of them.

A command is a function of a few parameters. `with_options` lets Typer see, in place of each group
among them, the options of the group: the fields of a dataclass, made by `flag` and listed under
its ``PANEL``, or the declared options of an estimator (`Declared`). Hidden options are shown by
``--help-all`` only.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, wraps
from types import NoneType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from sureline.cli.help_pages import HELP_ALL
from sureline.cli.values import parse_value, read_words, write_value
from sureline.declaration import Option, declared
from sureline.errors import InvalidParameter
from sureline.options import OnlineOptions, TextLearningOptions, TextOptions

# By parameter of TextClassifier and of the estimator inside it, the flag that sets it.
FLAGS = {
    name: option.flag.name
    for options in (TextOptions, TextLearningOptions, OnlineOptions)
    for name, option in declared(options).items()
    if option.flag is not None
} | {"estimator": "--rule", "columns": "--text"}


def any_of(words: Sequence[str]) -> str:
    """The words as a list in a sentence."""
    return f"{', '.join(words[:-1])} or {words[-1]}"


def flag(
    usage: str,
    meaning: str,
    default: Any = None,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[str] = (),
    complete: Callable[..., Any] | Sequence[str] = (),
    hidden: bool = False,
) -> Any:
    """Declare an option as a field of a group.

    `usage` is its name, or names, and a placeholder for its value: ``"--output -o OUT"``. An option
    that is on by default is named by what switches it off. Another value than one of `choices` is
    refused; `complete` only offers words to the shell, or is a function that does.
    """
    names = [word for word in usage.split() if word.startswith("-")]
    info = typer.Option(
        *([f" /{names[0]}"] if default is True else names),
        metavar=usage.split()[-1] if len(names) < len(usage.split()) else None,
        help=meaning,
        show_default=default is not None and not isinstance(default, bool),
        min=low,
        max=high,
        autocompletion=_completion(choices or complete),
        hidden=hidden,
    )
    metadata = {"info": info, "name": names[0], "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


def _completion(offered: Callable[..., Any] | Sequence[str]) -> Callable[..., Any] | None:
    """What completes the words of a shell; None where there is nothing to offer."""
    if callable(offered):
        return offered
    if not offered:
        return None

    def complete(incomplete: str) -> list[str]:
        return [word for word in offered if word.startswith(incomplete)]

    return complete


NO_DEFAULT = ("stop_words", "drift")  # options whose help says what holds without them


@dataclass(frozen=True)
class Declared:
    """In the annotation of a command's parameter: it takes the declared options of this class."""

    options: type
    panel: str


@dataclass(frozen=True)
class Given:
    """The declared options of an estimator, as they were given on the command line.

    `written` has them as text, numbers and flags, `values` as the estimator takes them.
    """

    written: Mapping[str, Any]
    values: Mapping[str, Any]
    options: Mapping[str, Option]

    @classmethod
    def parse(cls, options: Mapping[str, Option], written: Mapping[str, Any]) -> Given:
        """Parse and check what was given; an error names the flag."""
        values = {name: _parse(options[name], value) for name, value in written.items()}
        return cls(written, values, options)

    @property
    def changed(self) -> dict[str, Any]:
        """The values that are not the default in Python."""
        return {
            name: value
            for name, value in self.values.items()
            if value != self.options[name].default
        }

    @property
    def words(self) -> list[str]:
        """The changed ones as they are written on a command line."""
        made = list[str]()
        for name, value in self.changed.items():
            made.append(FLAGS[name])
            if not isinstance(value, bool):
                made.append(str(self.written[name]))
        return made


def _parse(option: Option, written: Any) -> Any:
    """The value of an option as Typer gives it."""
    assert option.flag is not None  # noqa: S101, only these are options of a command
    subject, value = option.flag.name, written
    if option.name == "stop_words":
        value = None if written is None else read_words(written, subject)
    elif option.name == "drift" and written is None:  # not given, which is not "none"
        value = option.default
    elif isinstance(written, str):
        value = parse_value(written, option.kind, subject)
    if not option.fits(value):
        allowed = dataclasses.replace(option, kind=_without_none(option)).allowed
        if isinstance(written, str):
            allowed = allowed.replace("(1, 2) or 'auto'", "1,2, auto or none")
            allowed = allowed.replace("(1, 2)", "1,2 or none")
        raise InvalidParameter(f"{subject} must be {allowed}, got {write_value(value)}")
    return value


def _without_none(option: Option) -> Any:
    """The type of an option, less None, a word on the command line, and what it cannot write."""
    others = (NoneType.__name__, "RandomState")
    kinds = [kind for kind in option.kinds if getattr(kind, "__name__", "") not in others]
    return Union[tuple(kinds)]  # noqa: UP007, the types are only known here


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let Typer see the options of each group among the parameters of a command."""
    hints = get_type_hints(command, include_extras=True)
    parameters, groups = list[inspect.Parameter](), dict[str, tuple[list[str], Any]]()
    for parameter in inspect.signature(command).parameters.values():
        found = _expand(hints[parameter.name])
        if found is None:
            annotated = parameter.replace(
                annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY
            )
            parameters.append(annotated)
            continue
        expanded, build = found
        parameters += sorted(expanded, key=_is_hidden)
        groups[parameter.name] = [each.name for each in expanded], build
    if any(_is_hidden(each) for each in parameters):
        parameters.append(HELP_ALL)

    @wraps(command)
    def run(**given: Any) -> None:
        given.pop(HELP_ALL.name, None)
        for name, (members, build) in groups.items():
            given[name] = build({member: given.pop(member) for member in members})
        command(**given)

    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _expand(hint: Any) -> tuple[list[inspect.Parameter], Any] | None:
    """The options of a group and what makes the group of their values; None for no group."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _fields(hint), partial(_build, hint)
    if get_origin(hint) is Annotated and isinstance(get_args(hint)[1], Declared):
        group = get_args(hint)[1]
        options = declared(group.options)
        made = [_declared(each, group.panel) for each in options.values() if each.flag is not None]
        return made, lambda values: Given.parse(options, values)
    return None


@cache
def _fields(group: Any) -> list[inspect.Parameter]:
    """The fields of a group as parameters, its own before those that it inherits."""
    hints = get_type_hints(group)
    fields = {field.name: field for field in dataclasses.fields(group)}
    names = dict.fromkeys(name for cls in group.__mro__ for name in inspect.get_annotations(cls))
    made = list[inspect.Parameter]()
    for field in (fields[name] for name in names if name in fields):
        info = field.metadata["info"]
        info.rich_help_panel = group.PANEL
        made.append(_parameter(field.name, Annotated[hints[field.name], info], field.default))
    return made


def _build(group: Any, values: Mapping[str, Any]) -> Any:
    """The group of these values; a value that is no choice is refused."""
    for field in dataclasses.fields(group):
        choices, value = field.metadata["choices"], values[field.name]
        if choices and value is not None and value not in choices:
            raise InvalidParameter(
                f"{field.metadata['name']} must be {any_of(choices)}, got {value!r}"
            )
    return group(**values)


def _declared(option: Option, panel: str) -> inspect.Parameter:
    """A declared option as a parameter that Typer understands."""
    given = option.flag
    assert given is not None  # noqa: S101, see _expand
    default = option.default if given.default is None else given.default
    kind = option.kinds[0]
    if kind not in (bool, int):
        kind = str
        default = None if option.name in NO_DEFAULT else write_value(default)
    choices = [*option.choices, "none"] if option.optional else option.choices
    info = flag(
        f"{given.name} {given.metavar}",
        given.help or _help(option),
        default,
        complete=choices if option.choices else (),
        hidden=not given.common,
    ).metadata["info"]
    info.rich_help_panel = panel
    return _parameter(
        option.name, Annotated[kind if default is not None else kind | None, info], default
    )


def _help(option: Option) -> str:
    """What an option means, in plain text."""
    meaning = option.meaning.replace("``", "")
    written = option.kinds[0] is not int  # numbers cannot be written as none
    return f"{meaning} none: {option.none}" if option.none and written else meaning


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _is_hidden(parameter: inspect.Parameter) -> bool:
    return any(getattr(each, "hidden", False) for each in get_args(parameter.annotation)[1:])
