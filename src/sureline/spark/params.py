"""The parameters of the classifier and of its models, as `pyspark.ml` knows parameters.

What an update rule takes comes from the registry of rules, so that a new rule brings its parameters
along. Names are the library's, in Spark's manner: ``initial_variance`` is ``initialVariance``.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasSeed,
    HasWeightCol,
)

from sureline.errors import InvalidParameter
from sureline.model.merge.states import HOWS
from sureline.rules import rules
from sureline.rules.registry import COVARIANCES

C = TypeVar("C", bound=type)

INVALID = ("keep", "skip", "error")
SHUFFLES = ("none", "partition", "all")


def as_competitors(value: Any) -> Any:
    """A whole number or the word ``all``.

    Parameters
    ----------
    value : int or str
        What was given.
    """
    return value if value == "all" else TypeConverters.toInt(value)


def as_number_or_auto(value: Any) -> Any:
    """A number or the word ``auto``.

    Parameters
    ----------
    value : float or str
        What was given.
    """
    return value if value == "auto" else TypeConverters.toFloat(value)


def camel(name: str) -> str:
    """A name in Spark's manner.

    Parameters
    ----------
    name : str
        A name in Python's manner.

    Examples
    --------
    >>> from sureline.spark.params import camel
    >>> camel("initial_variance")
    'initialVariance'
    """
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _param(name: str, doc: str, converter: Any) -> Any:
    """A parameter of a class."""
    return Param(Params._dummy(), name, doc, typeConverter=converter)


def _offered() -> dict[str, Any]:
    """The parameters of all rules, by their names in Python's manner."""
    made = dict[str, Any]()
    for rule in rules().values():
        for parameter in rule.parameters:
            doc = f"{parameter.meaning} In {parameter.allowed}; by default the rule's."
            converter = as_number_or_auto if parameter.auto else TypeConverters.toFloat
            made.setdefault(parameter.name, _param(camel(parameter.name), doc, converter))
        for name, words in rule.choices.items():
            doc = f"For the rule {rule.name}: {' or '.join(map(repr, words))}."
            made.setdefault(name, _param(camel(name), doc, TypeConverters.toString))
    return made


# By their names in the library: what the online classifier takes, and what reads texts.
RULE: dict[str, Any] = {
    **_offered(),
    "covariance": _param(
        "covariance",
        "How the uncertainty is kept: "
        + ", ".join(repr(each) for each in COVARIANCES if each != "full")
        + "; by default the rule's.",
        TypeConverters.toString,
    ),
    "competitors": _param(
        "competitors",
        "With how many of the strongest rival classes an example is compared, or 'all'.",
        as_competitors,
    ),
    "scheme": _param(
        "scheme",
        "How the steps against rivals are joined: 'sequential', 'parallel', 'exact' or "
        "'one-vs-rest'.",
        TypeConverters.toString,
    ),
    "calibration": _param(
        "calibration",
        "'online': probabilities are made honest while learning; 'none': they are those of the "
        "weights' distribution. By default 'online' for texts, 'none' for vectors.",
        TypeConverters.toString,
    ),
    "fit_intercept": _param(
        "fitIntercept", "Whether to add a constant feature 1.", TypeConverters.toBoolean
    ),
    "dtype": _param(
        "dtype",
        "The kind of number the model is kept in: 'float32' or 'float64'.",
        TypeConverters.toString,
    ),
    "memory_limit_gb": _param(
        "memoryLimitGb",
        "The most memory a model may take, in GB of 2^30 bytes, on the driver and in each worker.",
        TypeConverters.toFloat,
    ),
}
TEXT: dict[str, Any] = {
    "ngrams": _param(
        "ngrams",
        "The shortest and the longest runs of neighbouring words that make a feature; an empty "
        "list for no words.",
        TypeConverters.toListInt,
    ),
    "chars": _param(
        "chars",
        "The shortest and the longest runs of characters that make a feature; an empty list for "
        "none.",
        TypeConverters.toListInt,
    ),
    "char_scope": _param(
        "charScope",
        "Where runs of characters are looked for: in 'words' or in the whole 'text'.",
        TypeConverters.toString,
    ),
    "lowercase": _param(
        "lowercase", "Whether to lower-case texts first.", TypeConverters.toBoolean
    ),
    "stop_words": _param(
        "stopWords", "Words to leave out before neighbours are joined.", TypeConverters.toListString
    ),
    "min_length": _param(
        "minLength", "The least number of characters of a word.", TypeConverters.toInt
    ),
    "counts": _param(
        "counts", "The value of a feature: 'binary', 'counts' or 'log'.", TypeConverters.toString
    ),
    "weighting": _param(
        "weighting",
        "How counts of texts weigh features: 'idf', 'nb' (naive Bayes), 'none', or 'auto', the "
        "best that the rule allows.",
        TypeConverters.toString,
    ),
    "normalize": _param(
        "normalize", "Whether to scale every row to length 1.", TypeConverters.toBoolean
    ),
    "features": _param(
        "features",
        "'vocabulary', a column for every feature, or 'hash', 2^bits columns that features share.",
        TypeConverters.toString,
    ),
    "bits": _param(
        "bits", "For features='hash': how many bits make the column.", TypeConverters.toInt
    ),
    "min_count": _param(
        "minCount",
        "For features='vocabulary': how many texts of a partition must have had a feature before "
        "it gets a column.",
        TypeConverters.toInt,
    ),
    "max_features": _param(
        "maxFeatures",
        "For features='vocabulary': the most features to keep in a partition.",
        TypeConverters.toInt,
    ),
}


def with_doors(cls: C) -> C:
    """Give a class a ``setName`` and a ``getName`` for each of its parameters.

    Parameters
    ----------
    cls : type
        A class of parameters; methods that it has already are left alone.
    """
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


@with_doors
class Parameters(
    HasFeaturesCol,
    HasLabelCol,
    HasWeightCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasSeed,
):
    """What the classifier and its models can be told."""

    textCol = _param(  # noqa: N815
        "textCol",
        "The column of texts. If it is not set, examples are the vectors of featuresCol.",
        TypeConverters.toString,
    )
    handleInvalid = _param(  # noqa: N815
        "handleInvalid",
        "What to do about missing values. 'keep': fit leaves the rows out and tells how many, "
        "transform keeps them with null as prediction; 'skip': transform leaves them out, too; "
        "'error': both stop.",
        TypeConverters.toString,
    )
    rule = _param(
        "rule",
        "The update rule, as `sureline rules` lists them; by default AROW, for texts each class "
        "against the rest.",
        TypeConverters.toString,
    )
    how = _param(
        "how",
        "How the models of the partitions are merged: 'product-prior', 'kl', 'product' or 'mean'; "
        "by default 'product-prior' where the rule keeps variances, otherwise 'mean'. Rounds after "
        "the first go over examples that have been counted, and merge by 'kl' instead of either "
        "product.",
        TypeConverters.toString,
    )
    rounds = _param(
        "rounds",
        "How many times to go over the data; each round starts from the merged model. The second "
        "repairs most of what merging loses.",
        TypeConverters.toInt,
    )
    classes = _param(
        "classes",
        "All labels there are; if it is not set, a first job looks for them.",
        TypeConverters.toList,
    )
    shuffle = _param(
        "shuffle",
        "Whether rows are mixed first: 'none', they are learned as they come; 'partition', within "
        "each partition; 'all', between partitions as well, which sends all data over the network. "
        "The order comes from the rows and the seed alone.",
        TypeConverters.toString,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            handleInvalid="keep", rounds=2, shuffle="none", rawPredictionCol="", seed=0
        )

    @property
    def reads_texts(self) -> bool:
        """Whether examples are texts, not vectors."""
        return self.isSet("textCol")

    @property
    def input_column(self) -> str:
        """The column of texts or vectors."""
        return str(self.getOrDefault("textCol" if self.reads_texts else "featuresCol"))

    def check(self) -> None:
        """Refuse parameters that contradict each other."""
        owner = type(self).__name__
        if self.reads_texts and self.isSet("featuresCol"):
            raise InvalidParameter(
                f"{owner}: textCol={self.getOrDefault('textCol')!r} and "
                f"featuresCol={self.getOrDefault('featuresCol')!r} are both set; examples are "
                "either texts or vectors, so set one of them"
            )
        if not self.reads_texts:
            given = [param.name for param in TEXT.values() if self.isSet(param.name)]
            if given:
                raise InvalidParameter(
                    f"{owner}: {given[0]} tells how texts are read, but no textCol is set; set "
                    "textCol, or leave it out"
                )
        for name, allowed in {
            "handleInvalid": INVALID,
            "shuffle": SHUFFLES,
            **({"how": HOWS} if self.isSet("how") else {}),
        }.items():
            value = self.getOrDefault(name)
            if value not in allowed:
                raise InvalidParameter(
                    f"{owner}: {name} must be {' or '.join(map(repr, allowed))}, got {value!r}"
                )
        if self.getOrDefault("rounds") < 1:
            raise InvalidParameter(
                f"{owner}: rounds must be a whole number of at least 1, got "
                f"{self.getOrDefault('rounds')!r}"
            )

    def given(self, among: dict[str, Any]) -> dict[str, Any]:
        """The values that were set, by the library's names."""
        return {
            name: self.getOrDefault(param.name)
            for name, param in among.items()
            if self.isSet(param.name)
        }
