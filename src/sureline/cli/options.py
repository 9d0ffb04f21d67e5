"""The arguments and options that several commands share, alone and in groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from sureline.cli.groups import Declared, Given, any_of, flag
from sureline.cli.values import write_value
from sureline.data.formats import FORMATS
from sureline.data.read_options import EXPANSION_LIMIT, LABEL_TYPES, ROW_LIMIT_MB
from sureline.errors import InvalidParameter
from sureline.options import OnlineOptions, TextLearningOptions, TextOptions

# The headings of the help page.
INPUT = "Input"
OUTPUT = "Output"
LEARNING = "Learning"
MEMORY = "Memory"
FEATURES = "Features of texts"

TEXT_COLUMN = "The column of texts, by name or by number from 0."
LABEL_COLUMN = "The column of labels, by name or by number from 0."


def complete_rules(incomplete: str) -> list[tuple[str, str]]:
    """The names of rules, with their titles."""
    from sureline.rules import rules

    return [
        (name, rule.title) for name, rule in rules().items() if name.startswith(incomplete.lower())
    ]


FILES = typer.Argument(
    metavar="FILE",
    show_default=False,
    help="Files, quoted patterns, folders, or - for stdin: CSV, TSV, JSONL, Parquet, Arrow, "
    "svmlight, fastText or VW lines, plain or compressed by gz, bz2, zst, xz or zip.",
)
Files = Annotated[list[str], FILES]
Model = Annotated[
    str, typer.Argument(metavar="MODEL", show_default=False, help="A model that train wrote.")
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT)
]


@dataclass(frozen=True)
class FileOptions:
    """How files are read."""

    PANEL: ClassVar[str] = INPUT
    format: str | None = flag(
        "--format F",
        f"{any_of(FORMATS)}. Default: inferred from the file name, or from the first bytes.",
        complete=FORMATS,
        hidden=True,
    )
    header: bool | None = flag(
        "--header/--no-header",
        "Whether the first line of CSV or TSV names the columns. Default: detected.",
        hidden=True,
    )
    delimiter: str | None = flag(
        "--delimiter C",
        "The field delimiter of CSV or TSV. Default: a comma, or a tab.",
        hidden=True,
    )
    quotes: bool = flag(
        "--no-quotes", 'In CSV or TSV, read " as an ordinary character.', True, hidden=True
    )
    encoding: str = flag(
        "--encoding E", "The encoding of text files, such as latin-1.", "utf-8", hidden=True
    )
    skip_bad: bool = flag(
        "--skip-bad",
        "Leave out and count rows that cannot be read, instead of stopping there.",
        False,
        hidden=True,
    )
    row_limit_mb: float = flag(
        "--row-limit MB",
        "The largest row; a larger one cannot be read.",
        ROW_LIMIT_MB,
        hidden=True,
    )
    expansion_limit: float = flag(
        "--expansion-limit N",
        "How many times its size a Parquet file, or a compressed Arrow file, may expand.",
        EXPANSION_LIMIT,
        hidden=True,
    )

    def arguments(self, columns: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The options as `sureline.data.Reader` takes them; `columns` are those of training.

        They are the default. Where the training file had no header, its columns are numbers, and
        the files to read are taken to have no header either.
        """
        given = dataclasses.asdict(self)
        given.pop("many_labels", None)  # for commands that learn, not for the reader
        if isinstance(given.get("text"), list):
            given["text"] = self.one_text(given["text"])
        named = any(given.get(name) is not None for name in ("text", "label", "header"))
        if "label_separator" in given and given["label_separator"] is None:
            given["label_separator"] = (columns or {}).get("label_separator")
        for name in ("text", "label") if named else ("text", "label", "header"):
            if given.get(name) is None:
                given[name] = (columns or {}).get(name)
        return given

    def one_text(self, names: list[str]) -> str | None:
        """The only column of texts; the commands that take several have them as a table."""
        if len(names) > 1:
            raise InvalidParameter(
                f"--text was given {len(names)} times, but this command reads one column of texts; "
                "sureline train, compare and tune take several"
            )
        return names[0] if names else None

    @property
    def words(self) -> list[str]:
        """The changed ones as they are written on a command line."""
        made = list[str]()
        for field in dataclasses.fields(self):
            name, value = field.name.replace("_", "-"), getattr(self, field.name)
            if isinstance(value, bool) and value != field.default:
                made.append(f"--{name}" if value else f"--no-{name}")
            elif isinstance(value, list):
                made += [word for each in value for word in (f"--{name}", each)]
            elif value != field.default:
                made += [field.metadata["name"], write_value(value)]
        return made


@dataclass(frozen=True)
class LabelledRows(FileOptions):
    """Labelled rows."""

    text: list[str] | None = flag("--text COL", f'{TEXT_COLUMN} Default: "text".')
    label: str | None = flag("--label COL", f'{LABEL_COLUMN} Default: "label".')


@dataclass(frozen=True)
class LabelledInput(LabelledRows):
    """Labelled rows to learn from."""

    weight: str | None = flag(
        "--weight COL",
        "The column of weights: how much each row counts. Default: all the same.",
        hidden=True,
    )
    label_type: str = flag(
        "--label-type T",
        f"The type of labels: {any_of(LABEL_TYPES)}.",
        "auto",
        complete=LABEL_TYPES,
        hidden=True,
    )
    label_separator: str | None = flag(
        "--label-separator S",
        'What stands between the labels of a row that may have several, such as ";".',
        hidden=True,
    )
    many_labels: bool = flag(
        "--many-labels",
        "Learn more than 1,000 labels also if they look like ids or numbers.",
        False,
        hidden=True,
    )


@dataclass(frozen=True)
class TrainingInput(LabelledInput):
    """Labelled rows to learn from, which may have several columns."""

    text: list[str] | None = flag(
        "--text COL", f'{TEXT_COLUMN} Default: "text". May be repeated: --text A --text B.'
    )
    category: list[str] | None = flag(
        "--category COL", "A column of categories, such as senders; may be repeated."
    )
    number: list[str] | None = flag("--number COL", "A column of numbers; may be repeated.")

    @property
    def table(self) -> dict[str, str] | None:
        """The kinds of columns by name; None where texts alone are read, from one column."""
        kinds = {"text": self.text, "category": self.category, "number": self.number}
        pairs = [(name, kind) for kind, names in kinds.items() for name in names or ()]
        if not pairs or [kind for _, kind in pairs] == ["text"]:
            return None
        for number, (name, kind) in enumerate(pairs):
            for other, earlier in pairs[:number]:
                if other == name:
                    raise InvalidParameter(
                        f"the column {name!r} was given by --{earlier} and by --{kind}; a column "
                        "has one kind, so give it once"
                    )
        return dict(pairs)

    @property
    def texts(self) -> list[str]:
        """The columns of texts of a table; none where texts alone are read, from one column."""
        return list(self.text or ()) if self.table else []

    def arguments(self, columns: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The options as the reader takes them."""
        table = self.table
        alone = self if table is None else dataclasses.replace(self, text=None)
        given = super(TrainingInput, alone).arguments(columns)
        for name in ("category", "number"):
            del given[name]
        return given if table is None else {**given, "text": None, "columns": table}


@dataclass(frozen=True)
class ModelInput(FileOptions):
    """Rows for a model, which remembers the columns that it was trained on."""

    text: str | None = flag("--text COL", f"{TEXT_COLUMN} Default: as in training.")


@dataclass(frozen=True)
class LabelledModelInput(ModelInput):
    """Labelled rows to test a model on."""

    label: str | None = flag("--label COL", f"{LABEL_COLUMN} Default: as in training.")
    label_separator: str | None = flag(
        "--label-separator S",
        'What stands between the labels of a row that may have several, such as ";". Default: as '
        "in training.",
        hidden=True,
    )


@dataclass(frozen=True)
class ResultOptions:
    """How results and progress are shown."""

    PANEL: ClassVar[str] = OUTPUT
    quiet: bool = flag("--quiet -q", "Show no progress.", False)
    json: bool = flag("--json", "Print the result as JSON.", False)


TextFlags = Annotated[Given, Declared(TextOptions, FEATURES)]
LearningFlags = Annotated[Given, Declared(TextLearningOptions, LEARNING)]
MemoryFlags = Annotated[Given, Declared(OnlineOptions, MEMORY)]
