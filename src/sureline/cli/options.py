"""The options that several commands share, with their help and their completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sureline.data import Reader

# As sureline.data has them; written down so that help and completion need not import it.
FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", "svmlight", "fasttext", "vw")
LABEL_TYPES = ("auto", "text", "int", "float", "bool")
HOWS = ("kl", "mean", "product", "product-prior")

READING = "Reading"
OUTPUT = "Output"


def complete_from(words: tuple[str, ...]) -> Any:
    """A completion that offers these words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def complete_rules(incomplete: str) -> list[tuple[str, str]]:
    """The names of rules, with their titles."""
    from sureline.rules import rules

    return [
        (name, rule.title) for name, rule in rules().items() if name.startswith(incomplete.lower())
    ]


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="Files, quoted patterns, folders, or - for stdin: CSV, TSV, JSONL, Parquet, Arrow, "
        "svmlight, fastText or VW lines, plain or gz, bz2 or zst.",
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
        help='Column of the texts, by name or by number from 0. Default: "text".',
        rich_help_panel=READING,
    ),
]
KnownTextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COL",
        show_default=False,
        help="Column of the texts, by name or by number from 0. Default: as in training.",
        rich_help_panel=READING,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COL",
        show_default=False,
        help='Column of the labels, by name or by number from 0. Default: "label".',
        rich_help_panel=READING,
    ),
]
KnownLabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COL",
        show_default=False,
        help="Column of the labels, by name or by number from 0. Default: as in training.",
        rich_help_panel=READING,
    ),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COL",
        show_default=False,
        help="Column that says how much each row counts. Default: all the same.",
        rich_help_panel=READING,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="F",
        show_default=False,
        help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}. Default: told by the file's name, or "
        "its first bytes.",
        autocompletion=complete_from(FORMATS),
        rich_help_panel=READING,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        show_default=False,
        help="Whether the first line of CSV or TSV names the columns. Default: found out.",
        rich_help_panel=READING,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="C",
        show_default=False,
        help="What stands between the fields of CSV or TSV, if not a comma or a tab.",
        rich_help_panel=READING,
    ),
]
Quotes = Annotated[
    bool,
    typer.Option(
        " /--no-quotes",
        show_default=False,
        help='In CSV or TSV, a " is a letter like any other.',
        rich_help_panel=READING,
    ),
]
LabelType = Annotated[
    str,
    typer.Option(
        "--label-type",
        metavar="T",
        help=f"{', '.join(LABEL_TYPES[:-1])} or {LABEL_TYPES[-1]}: what labels are.",
        autocompletion=complete_from(LABEL_TYPES),
        rich_help_panel=READING,
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="E",
        help="The encoding of text files, such as latin-1.",
        rich_help_panel=READING,
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad",
        help="Leave out rows that cannot be read and count them, instead of stopping there.",
        rich_help_panel=READING,
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
        help="How many processes work. Default: one a core.",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT)
]


def known_reader(
    files: list[str],
    memory: dict[str, Any],
    *,
    text: str | None,
    label: str | None = None,
    header: bool | None,
    **others: Any,
) -> Reader:
    """A reader that takes the columns which a model remembers, unless others are asked for.

    Where the training file had no header, columns are known by their number, and the file to read
    is taken to have none either.
    """
    from sureline.data import Reader

    if header is None and text is None and label is None:
        header = memory.get("header")
    return Reader(
        files,
        text=memory.get("text") if text is None else text,
        label=memory.get("label") if label is None else label,
        header=header,
        **others,
    )
