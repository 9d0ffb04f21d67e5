"""What requests and answers hold. The OpenAPI document is made from these."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

MOST_TEXTS = 10_000  # in one request

# A JSON number is exact up to 2^53.
SingleLabel = (
    Annotated[str, Meta(min_length=1, max_length=1_000)]
    | Annotated[int, Meta(ge=-(2**53), le=2**53)]
)
Label = SingleLabel | Annotated[list[SingleLabel], Meta(max_length=1_000)]
Text = Annotated[str, Meta(description="A text.")]
Row = Annotated[
    dict[str, str | int | float | bool | None],
    Meta(description="The columns of a row by name; null where a value is missing."),
]
Name = Annotated[str, Meta(max_length=200)]


class PredictRequest(Struct, forbid_unknown_fields=True):
    """Texts to classify, or rows for a model of several columns."""

    texts: Annotated[list[Text], Meta(max_length=MOST_TEXTS, min_length=1)] | None = None
    rows: Annotated[list[Row], Meta(max_length=MOST_TEXTS, min_length=1)] | None = None
    min_confidence: Annotated[
        float | None,
        Meta(description="Answer the label null where its probability is below this."),
    ] = None
    coverage: Annotated[
        float | None,
        Meta(description="Answer, too, a set of labels with the right one in this share of texts."),
    ] = None
    per_class: Annotated[
        bool, Meta(description="Whether the coverage holds for each class by itself.")
    ] = False
    probabilities: Annotated[
        bool, Meta(description="Whether to answer the probability of every label.")
    ] = False
    explain: Annotated[
        int, Meta(ge=0, le=100, description="So many features of each text to explain it by.")
    ] = 0

    @property
    def inputs(self) -> list[Any]:
        """The texts or the rows."""
        return self.texts if self.texts is not None else self.rows or []

    @property
    def has_wishes(self) -> bool:
        """Whether more is asked for than label and probability."""
        wishes = self.min_confidence, self.coverage
        return wishes != (None, None) or self.probabilities or self.explain > 0


class Reason(Struct):
    """A feature of a text, and what it adds to the score of the label."""

    feature: str
    share: float
    places: list[tuple[int, int]]


class Answer(Struct, omit_defaults=True):
    """What is predicted of a text."""

    id: Annotated[str, Meta(description="To give a label to this text later.")]
    label: Label | None
    probability: float | None
    margin: float
    novelty: float | None = None
    labels: list[SingleLabel] | None = None
    probabilities: dict[str, float] | None = None
    reasons: list[Reason] | None = None


class PredictResponse(Struct):
    """What is predicted of texts, in their order."""

    model: str
    version: str
    predictions: list[Answer]


class LearnExample(Struct, forbid_unknown_fields=True):
    """A text or a row with its label, or the id of a prediction with the label of its text."""

    label: Label
    text: str | None = None
    row: Row | None = None
    id: Annotated[str, Meta(max_length=64)] | None = None


class LearnRequest(Struct, forbid_unknown_fields=True):
    """Examples to learn, in this order."""

    examples: Annotated[list[LearnExample], Meta(max_length=MOST_TEXTS, min_length=1)]
    author: Annotated[
        Name | None, Meta(description="Who gives the labels; by default, the token's name.")
    ] = None


class LearnResponse(Struct):
    """The examples are durable and learned; their numbers in the journal."""

    model: str
    version: str
    first: int
    last: int
    replayed: Annotated[
        bool, Meta(description="Whether it is the answer to the same request, sent before.")
    ] = False


class RollbackRequest(Struct, forbid_unknown_fields=True):
    """Undo what was learned after a number or a time."""

    number: Annotated[int, Meta(ge=0, le=2**62)] | None = None
    until: Name | None = None


class ForgetRequest(Struct, forbid_unknown_fields=True):
    """Remove examples from journal and model."""

    numbers: Annotated[list[Annotated[int, Meta(ge=1, le=2**62)]], Meta(max_length=MOST_TEXTS)] = []
    author: Name | None = None


class ShadowRequest(Struct, forbid_unknown_fields=True):
    """Let another model of the folder learn beside this one."""

    candidate: Name


class Done(Struct):
    """What was done, and which model there is now."""

    model: str
    version: str
    examples: int


class Failure(Struct):
    """Why a request was refused, in a sentence."""

    error: str


class Progress(Struct):
    """How often a model was wrong on examples, just before it learned them."""

    examples: int
    mistakes: int
    recent_examples: int
    recent_mistakes: int


class Candidate(Struct):
    """The model in the shadow."""

    name: str
    since: int
    progress: Progress


class Unsure(Struct):
    """A recent text of which the model was not sure."""

    id: str
    label: Label | None
    probability: float
    text: str | None


class ModelStatus(Struct):
    """Everything about a model that a person watches."""

    name: str
    version: str
    classes: list[SingleLabel]
    columns: Annotated[
        dict[str, str] | None, Meta(description="Kinds by column, if rows are classified.")
    ]
    features: int
    learned: Annotated[int, Meta(description="Examples of the journal that count.")]
    waiting: int
    snapshot: Annotated[int, Meta(description="Examples after it are learned again at a start.")]
    progress: Progress
    curve: list[tuple[int, int, int]]
    alarms: list[dict[str, str | int | float]]
    unsure: list[Unsure]
    shadow: Candidate | None = None
    problem: str | None = None


class ModelList(Struct):
    """The models that are served."""

    models: list[str]


class Tensor(Struct):
    """A tensor of the Open Inference Protocol."""

    name: Name
    shape: Annotated[list[int], Meta(max_length=4)]
    datatype: Name
    data: list[str | float | int]
    parameters: dict[str, str | int | float | bool] | None = None


class InferRequest(Struct):
    """A request of the Open Inference Protocol: one tensor of texts."""

    inputs: Annotated[list[Tensor], Meta(max_length=8)]
    id: Name | None = None
    parameters: dict[str, str | int | float | bool] | None = None
    outputs: list[dict[str, msgspec.Raw]] | None = None


class InferResponse(Struct, omit_defaults=True):
    """An answer of the Open Inference Protocol: labels and their probabilities."""

    model_name: str
    model_version: str
    outputs: list[Tensor]
    id: str | None = None
