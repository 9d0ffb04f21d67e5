"""The options on how texts become features, for all commands that learn."""

from __future__ import annotations

from typing import Annotated

import typer

from sureline.cli.options import complete_from

FEATURES = "Features of texts"

Ngrams = Annotated[
    str,
    typer.Option(
        "--ngrams",
        metavar="A,B",
        help="From how many neighbouring words to how many make a feature; or none.",
        rich_help_panel=FEATURES,
    ),
]
Chars = Annotated[
    str,
    typer.Option(
        "--chars",
        metavar="A,B",
        help="The same for neighbouring characters.",
        rich_help_panel=FEATURES,
    ),
]
CharScope = Annotated[
    str,
    typer.Option(
        "--char-scope",
        metavar="SCOPE",
        help="Look for characters within words, or anywhere in the text.",
        autocompletion=complete_from(("words", "text")),
        rich_help_panel=FEATURES,
    ),
]
Lowercase = Annotated[
    bool,
    typer.Option(
        " /--no-lowercase",
        show_default=False,
        help="Tell upper case from lower case.",
        rich_help_panel=FEATURES,
    ),
]
CountsOption = Annotated[
    str,
    typer.Option(
        "--counts",
        metavar="HOW",
        help="What a feature is worth: binary, counts or log.",
        autocompletion=complete_from(("binary", "counts", "log")),
        rich_help_panel=FEATURES,
    ),
]
Normalize = Annotated[
    bool,
    typer.Option(
        " /--no-normalize",
        show_default=False,
        help="Do not scale texts to the same length.",
        rich_help_panel=FEATURES,
    ),
]
Weighting = Annotated[
    str,
    typer.Option(
        "--weighting",
        metavar="HOW",
        help="How counts of texts weigh features: idf, nb (naive Bayes), none, or auto, the best "
        "that the rule allows.",
        autocompletion=complete_from(("auto", "idf", "nb", "none")),
        rich_help_panel=FEATURES,
    ),
]
WeightingForAll = Annotated[
    str,
    typer.Option(
        "--weighting",
        metavar="HOW",
        help="How counts of the rows to learn from weigh features: idf, nb (naive Bayes, for two "
        "classes), or none.",
        autocompletion=complete_from(("idf", "nb", "none")),
        rich_help_panel=FEATURES,
    ),
]
Kind = Annotated[
    str,
    typer.Option(
        "--features",
        metavar="KIND",
        help="A column for each feature (vocabulary), or a fixed number shared (hash).",
        autocompletion=complete_from(("vocabulary", "hash")),
        rich_help_panel=FEATURES,
    ),
]
Bits = Annotated[
    int,
    typer.Option(
        "--bits",
        metavar="B",
        help="With --features hash: there are 2^B columns.",
        rich_help_panel=FEATURES,
    ),
]
MinCount = Annotated[
    int,
    typer.Option(
        "--min-count",
        metavar="N",
        help="How many texts must have a feature before it counts.",
        rich_help_panel=FEATURES,
    ),
]
MaxFeatures = Annotated[
    int | None,
    typer.Option(
        "--max-features",
        metavar="N",
        show_default=False,
        help="The most features to keep; the least certain are forgotten.",
        rich_help_panel=FEATURES,
    ),
]
StopWords = Annotated[
    str | None,
    typer.Option(
        "--stop-words",
        metavar="FILE",
        show_default=False,
        help="A file of words to leave out, one a line.",
        rich_help_panel=FEATURES,
    ),
]
