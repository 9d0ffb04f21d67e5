"""The parameters of the classifier and of its models, as `Param` objects of `pyspark.ml`.

The parameters of update rules come from the registry of rules, all other options of the library
from their declarations in `sureline.options`. Names are spelled as in Spark: ``initial_variance``
is ``initialVariance``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, get_origin

from pyspark.ml.param import Param, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasSeed,
    HasWeightCol,
)

from sureline.data.table import CATEGORY, NUMBER
from sureline.data.table import TEXT as TEXT_COLUMN
from sureline.declaration import Option, declared
from sureline.errors import InvalidParameter, show
from sureline.estimators.text.classifier import default_estimator
from sureline.estimators.validation import choose_rule
from sureline.model.merge.algebra import HOWS
from sureline.options import CovarianceOptions, OnlineOptions, TextOptions
from sureline.rules import rules
from sureline.spark.pyspark_internals import declare_param

C = TypeVar("C", bound=type)

INVALID = ("keep", "skip", "error")
SHUFFLES = ("none", "partition", "all")
DEFAULT_RULE = choose_rule(default_estimator()).name


def _or_word(word: str, convert: Any) -> Any:
    """A converter that lets one word through."""
    return lambda value: value if value == word else convert(value)


def camel(name: str) -> str:
    """A name as Spark spells it: ``initialVariance`` for ``initial_variance``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _of_rules() -> dict[str, Any]:
    """The parameters of all rules, by their names in Python."""
    made = dict[str, Any]()
    for rule in rules().values():
        for parameter in rule.parameters:
            doc = f"{parameter.meaning} In {parameter.allowed}; by default the rule's."
            converter = (
                _or_word("auto", TypeConverters.toFloat)
                if parameter.auto
                else TypeConverters.toFloat
            )
            made.setdefault(parameter.name, declare_param(camel(parameter.name), doc, converter))
        for name, words in rule.choices.items():
            doc = f"For the rule {rule.name}: {' or '.join(map(repr, words))}."
            made.setdefault(name, declare_param(camel(name), doc, TypeConverters.toString))
    return made


def _of_option(option: Option) -> Any:
    """A declared option as a parameter of Spark."""
    kind, words = option.kinds[0], option.meaning.replace("`", "")
    converter = CONVERTERS.get(get_origin(kind) or kind, TypeConverters.toString)
    if option.name == "competitors":
        converter = _or_word("all", TypeConverters.toInt)
    if not all(repr(choice) in words for choice in option.choices):
        words += f" It is {option.allowed}."
    if option.none:
        unset = "An empty list" if converter in LISTS else "'none'" if option.choices else "Not set"
        words += f" {unset}: {option.none}"
    return declare_param(
        camel(option.name), " ".join([words, *NOTES.get(option.name, ())]), converter
    )


LISTS = (TypeConverters.toListInt, TypeConverters.toListString)
CONVERTERS: dict[Any, Any] = {
    bool: TypeConverters.toBoolean,
    int: TypeConverters.toInt,
    float: TypeConverters.toFloat,
    tuple: TypeConverters.toListInt,
    Sequence: TypeConverters.toListString,
}
# What Spark adds to the meaning of an option.
NOTES = {
    "min_count": ["Counted in each partition."],
    "max_features": ["In each partition."],
    "memory_limit_gb": ["On the driver and in each worker."],
    "covariance": ["By default the rule's; not 'full'."],
    "calibration": ["By default 'online' for texts, 'none' for vectors."],
}
# Options of an online classifier that Spark's estimator has under another name, or that make no
# sense where every partition is learned by itself.
ELSEWHERE = {"max_iter": "rounds", "shuffle": "shuffle", "random_state": "seed"}
NOT_DISTRIBUTED = (
    "early_stopping",
    "validation_fraction",
    "n_iter_no_change",
    "n_jobs",
    "class_weight",
    "drift",
    "class_storage",
    "columns",
)

ONLINE: dict[str, Option] = {**declared(CovarianceOptions), **declared(OnlineOptions)}
# The parameters that name the columns of a table, and the kind of each.
COLUMNS = {"textCols": TEXT_COLUMN, "categoryCols": CATEGORY, "numberCols": NUMBER}
# By their names in the library: what the online classifier takes, and what reads texts.
RULE: dict[str, Any] = {
    **_of_rules(),
    **{
        name: _of_option(option)
        for name, option in ONLINE.items()
        if name not in (*ELSEWHERE, *NOT_DISTRIBUTED)
    },
}
TEXT: dict[str, Any] = {
    name: _of_option(option)
    for name, option in declared(TextOptions).items()
    if name not in NOT_DISTRIBUTED
}


def with_accessors(cls: C) -> C:
    """Give a class a ``setName`` and a ``getName`` for each parameter, if it has none."""
    for known in {**RULE, **TEXT}.values():
        setattr(cls, known.name, known)
    found = [each for name in dir(cls) if isinstance(each := getattr(cls, name), Param)]
    for param in found:
        title = param.name[0].upper() + param.name[1:]
        if not hasattr(cls, f"set{title}"):
            setattr(cls, f"set{title}", _setter(param.name, title))
        if not hasattr(cls, f"get{title}"):
            setattr(cls, f"get{title}", _getter(param.name, title))
    return cls


def _setter(name: str, title: str) -> Any:
    def setter(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    setter.__name__, setter.__doc__ = f"set{title}", f"Set the parameter `{name}`."
    return setter


def _getter(name: str, title: str) -> Any:
    def getter(self: Any) -> Any:
        return self.getOrDefault(name)

    getter.__name__, getter.__doc__ = f"get{title}", f"The value of the parameter `{name}`."
    return getter


@with_accessors
class Parameters(
    HasFeaturesCol,
    HasLabelCol,
    HasWeightCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasSeed,
):
    """The parameters of the classifier and of its models."""

    textCol = declare_param(  # noqa: N815
        "textCol",
        "The column of texts. If it is not set, examples are the vectors of featuresCol.",
        TypeConverters.toString,
    )
    textCols = declare_param(  # noqa: N815
        "textCols",
        "The columns of texts of a table of several columns, whose words are features of their "
        "column. Set these, categoryCols and numberCols instead of textCol.",
        TypeConverters.toListString,
    )
    categoryCols = declare_param(  # noqa: N815
        "categoryCols",
        "The columns of categories: strings, whole numbers or booleans, whose values are features.",
        TypeConverters.toListString,
    )
    numberCols = declare_param(  # noqa: N815
        "numberCols",
        "The columns of numbers, dates or times, which are standardized.",
        TypeConverters.toListString,
    )
    handleInvalid = declare_param(  # noqa: N815
        "handleInvalid",
        "What to do about missing texts, vectors, labels and weights. 'keep': fit leaves the rows "
        "out and reports how many, transform keeps them with null as prediction; 'skip': transform "
        "leaves them out, too; "
        "'error': both stop. Missing values of a table of several columns are learned and "
        "predicted like others.",
        TypeConverters.toString,
    )
    rule = declare_param(
        "rule",
        f"The update rule, as `sureline rules` lists them; by default {DEFAULT_RULE}, for texts "
        "with the settings that TextClassifier has.",
        TypeConverters.toString,
    )
    how = declare_param(
        "how",
        "How the models of the partitions are merged: 'product-prior', 'kl', 'product' or 'mean'; "
        "by default 'product-prior' where the rule keeps variances, otherwise 'mean'. Rounds after "
        "the first start from a model that has learned, and are merged by 'kl' instead of either "
        "product.",
        TypeConverters.toString,
    )
    rounds = declare_param(
        "rounds",
        "The number of passes over the data; each round starts from the merged model. The second "
        "recovers most of what merging loses.",
        TypeConverters.toInt,
    )
    classes = declare_param(
        "classes",
        "All labels; if it is not set, a first job collects them.",
        TypeConverters.toList,
    )
    shuffle = declare_param(
        "shuffle",
        "Whether rows are shuffled first: 'none', they keep their order; 'partition', "
        "within each partition; 'all', between partitions as well, which sends all data over the "
        "network. The order depends on the rows and the seed alone.",
        TypeConverters.toString,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            handleInvalid="keep", rounds=2, shuffle="none", rawPredictionCol="", seed=0
        )

    @property
    def reads_texts(self) -> bool:
        """Whether examples are texts or rows of several columns, not vectors."""
        return self.isSet("textCol") or bool(self.columns)

    @property
    def columns(self) -> dict[str, str]:
        """The kind of each column of a table by name; empty for texts and vectors."""
        return {
            name: kind
            for param, kind in COLUMNS.items()
            if self.isSet(param)
            for name in self.getOrDefault(param)
        }

    @property
    def input_column(self) -> str:
        """The column of texts or vectors; of a table, all names."""
        if self.columns:
            return ", ".join(self.columns)
        return str(self.getOrDefault("textCol" if self.reads_texts else "featuresCol"))

    def check(self) -> None:
        """Refuse parameters that contradict each other."""
        owner = type(self).__name__
        self._check_columns()
        if self.isSet("textCol") and self.isSet("featuresCol"):
            raise InvalidParameter(
                f"{owner}: textCol={self.getOrDefault('textCol')!r} and "
                f"featuresCol={self.getOrDefault('featuresCol')!r} are both set; examples are "
                "either texts or vectors, so set one of them"
            )
        if not self.reads_texts:
            given = [param.name for param in TEXT.values() if self.isSet(param.name)]
            if given:
                raise InvalidParameter(
                    f"{owner}: {given[0]} is an option for texts, but neither textCol nor textCols "
                    f"is set; set one, or leave {given[0]} out"
                )
        for name, allowed in {
            "handleInvalid": INVALID,
            "shuffle": SHUFFLES,
            **({"how": HOWS} if self.isSet("how") else {}),
        }.items():
            value = self.getOrDefault(name)
            if value not in allowed:
                raise InvalidParameter(
                    f"{owner}: {name} must be {' or '.join(map(repr, allowed))}, got {show(value)}"
                )
        if self.getOrDefault("rounds") < 1:
            raise InvalidParameter(
                f"{owner}: rounds must be a whole number of at least 1, got "
                f"{show(self.getOrDefault('rounds'))}"
            )

    def _check_columns(self) -> None:
        """Refuse columns with two kinds, or beside texts or vectors."""
        owner = type(self).__name__
        columns = self.columns
        names = [name for p in COLUMNS if self.isSet(p) for name in self.getOrDefault(p)]
        if len(names) > len(columns):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidParameter(
                f"{owner}: the column {twice!r} is named twice in textCols, categoryCols and "
                "numberCols; name each column once"
            )
        for other in ("textCol", "featuresCol"):
            if columns and self.isSet(other):
                given = next(p for p in COLUMNS if self.isSet(p) and self.getOrDefault(p))
                raise InvalidParameter(
                    f"{owner}: {other}={self.getOrDefault(other)!r} and "
                    f"{given}={self.getOrDefault(given)!r} are both set; name all columns in "
                    "textCols, categoryCols and numberCols"
                )

    def given(self, among: dict[str, Any]) -> dict[str, Any]:
        """The values that were set, by the library's names and as the library takes them."""
        return {
            name: _in_python(name, self.getOrDefault(param.name))
            for name, param in among.items()
            if self.isSet(param.name)
        }


def _in_python(name: str, value: Any) -> Any:
    """The value of a parameter as the library takes it; Spark has no None."""
    option = {**ONLINE, **declared(TextOptions)}.get(name)
    if option is None or not option.optional:
        return value
    if get_origin(option.kinds[0]) is tuple:
        return tuple(value) or None
    return None if value == "none" else value
