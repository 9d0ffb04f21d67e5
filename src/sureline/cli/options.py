"""The arguments and options that several commands share, alone and in groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureline.cli.groups import Declared, Given, complete_from
from sureline.data.formats import FORMATS
from sureline.data.read_options import LABEL_TYPES
from sureline.options import TextLearningOptions, TextOptions

if TYPE_CHECKING:
    from sureline.data import Reader

# As sureline.model has them; repeated so that help need not import it.
HOWS = ("kl", "mean", "product", "product-prior")

# The headings of the help page.
INPUT = "Input"
OUTPUT = "Output"
LEARNING = "Learning"
FEATURES = "Features of texts"


def complete_rules(incomplete: str) -> list[tuple[str, str]]:
    """The names of rules, with their titles."""
    from sureline.rules import rules

    return [
        (name, rule.title) for name, rule in rules().items() if name.startswith(incomplete.lower())
    ]


def any_of(words: Sequence[str]) -> str:
    """The words as a list in a sentence."""
    return f"{', '.join(words[:-1])} or {words[-1]}"


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="Files, quoted patterns, folders, or - for stdin: CSV, TSV, JSONL, Parquet, Arrow, "
        "svmlight, fastText or VW lines, plain or compressed by gz, bz2 or zst.",
    ),
]
Model = Annotated[
    str, typer.Argument(metavar="MODEL", show_default=False, help="A model that train wrote.")
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COL",
        show_default=False,
        help='The column of texts, by name or by number from 0. Default: "text".',
        rich_help_panel=INPUT,
    ),
]
KnownTextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COL",
        show_default=False,
        help="The column of texts, by name or by number from 0. Default: as in training.",
        rich_help_panel=INPUT,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COL",
        show_default=False,
        help='The column of labels, by name or by number from 0. Default: "label".',
        rich_help_panel=INPUT,
    ),
]
KnownLabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COL",
        show_default=False,
        help="The column of labels, by name or by number from 0. Default: as in training.",
        rich_help_panel=INPUT,
    ),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COL",
        show_default=False,
        help="The column of weights: how much each row counts. Default: all the same.",
        rich_help_panel=INPUT,
        hidden=True,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="F",
        show_default=False,
        help=f"{any_of(FORMATS)}. Default: inferred from the file name, or from the first bytes.",
        autocompletion=complete_from(FORMATS),
        rich_help_panel=INPUT,
        hidden=True,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        show_default=False,
        help="Whether the first line of CSV or TSV names the columns. Default: detected.",
        rich_help_panel=INPUT,
        hidden=True,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="C",
        show_default=False,
        help="The field delimiter of CSV or TSV. Default: a comma, or a tab.",
        rich_help_panel=INPUT,
        hidden=True,
    ),
]
Quotes = Annotated[
    bool,
    typer.Option(
        " /--no-quotes",
        show_default=False,
        help='In CSV or TSV, read " as an ordinary character.',
        rich_help_panel=INPUT,
        hidden=True,
    ),
]
LabelType = Annotated[
    str,
    typer.Option(
        "--label-type",
        metavar="T",
        help=f"The type of labels: {any_of(LABEL_TYPES)}.",
        autocompletion=complete_from(LABEL_TYPES),
        rich_help_panel=INPUT,
        hidden=True,
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="E",
        help="The encoding of text files, such as latin-1.",
        rich_help_panel=INPUT,
        hidden=True,
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad",
        help="Leave out and count rows that cannot be read, instead of stopping there.",
        rich_help_panel=INPUT,
        hidden=True,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress.", rich_help_panel=OUTPUT)
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        metavar="N",
        show_default=False,
        help="The number of processes. Default: one per core.",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT)
]


@dataclass(frozen=True)
class FileOptions:
    """How files are read."""

    format: Format = None
    header: Header = None
    delimiter: Delimiter = None
    quotes: Quotes = True
    encoding: Encoding = "utf-8"
    skip_bad: SkipBad = False

    def arguments(self) -> dict[str, Any]:
        """The options as `sureline.data.Reader` takes them."""
        return dataclasses.asdict(self)

    @property
    def words(self) -> list[str]:
        """The changed ones as they are written on a command line."""
        made = list[str]()
        for field in dataclasses.fields(self):
            name, value = field.name.replace("_", "-"), getattr(self, field.name)
            if isinstance(value, bool) and value != field.default:
                made.append(f"--{name}" if value else f"--no-{name}")
            elif value != field.default:
                made += [f"--{name}", str(value)]
        return made


@dataclass(frozen=True)
class LabelledInput(FileOptions):
    """Labelled rows to learn from."""

    text: TextColumn = None
    label: LabelColumn = None
    weight: WeightColumn = None
    label_type: LabelType = "auto"


@dataclass(frozen=True)
class ModelInput(FileOptions):
    """Rows for a model, which remembers the columns that it was trained on."""

    text: KnownTextColumn = None

    def reader(self, files: list[str], columns: dict[str, Any], **others: Any) -> Reader:
        """A reader that takes the columns of training, unless others were given.

        Where the training file had no header, its columns are numbers, and the files to read are
        taken to have no header either.
        """
        from sureline.data import Reader

        given = self.arguments()
        named = any(given.get(name) is not None for name in ("text", "label", "header"))
        for name in ("text", "label") if named else ("text", "label", "header"):
            if given.get(name) is None:
                given[name] = columns.get(name)
        return Reader(files, **{**given, **others})


@dataclass(frozen=True)
class LabelledModelInput(ModelInput):
    """Labelled rows to test a model on."""

    label: KnownLabelColumn = None


@dataclass(frozen=True)
class ResultOptions:
    """How results and progress are shown."""

    quiet: Quiet = False
    json: Json = False


TextFlags = Annotated[Given, Declared(TextOptions, FEATURES)]
LearningFlags = Annotated[Given, Declared(TextLearningOptions, LEARNING)]
