"""Every option of the estimators, declared once: name, type, default, range and meaning.

An option is a field of one of the classes below, and everything else is derived from it: the
parameter of the Python class, its documentation and its check (`sureline.declaration`), the flag of
the command line (`sureline.cli.options`), the `Param` of Spark (`sureline.spark.params`) and the
entry in the model file. To add an option, add a field here and use its value where it takes effect.
The numbers that belong to one update rule are declared in the file of that rule.

This module imports the standard library alone, so that ``sureline train --help`` need not wait for
NumPy, and its classes have no ``__init__``: the estimators that inherit the fields get one. It lies
next to `sureline.errors`, below all other packages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sureline.declaration import Flag, option, validate

if TYPE_CHECKING:
    from numpy.random import RandomState
else:

    class RandomState:
        """Stands for NumPy's class in annotations."""


LONGEST = 16  # the most words or characters that make one feature
MEMORY_LIMIT_GB = 4.0  # the default of everything that makes or opens a model

# -- streams that change -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Drift:
    """What is done about change in a stream: in what words mean, or in what is wanted.

    ``drift="auto"`` is ``Drift()``. Alarms and forgetting work together or alone.

    Parameters
    ----------
    false_alarms : float or None, default=1e-4
        How often, per example, there may be an alarm while nothing changes; the true rate is
        lower. None: there are no alarms, and no other model is ever tried.
    memory : int, default=4
        How many models of earlier times are kept. After an alarm they are tried, too, so that a
        meaning that recurs is known at once. Each takes as much memory as the model.
    half_life : int or None, default=None
        After how many more examples what was learned from one counts half: weights and their
        variances return to where they began, counts of texts and classes to none. Rules need a
        diagonal covariance or none. None: nothing is forgotten.

    Examples
    --------
    >>> from sureline import Drift, TextClassifier
    >>> model = TextClassifier(drift=Drift(false_alarms=1e-5))
    """

    false_alarms: float | None = option(1e-4, "", low=0.0, high=1.0)
    memory: int = option(4, "", low=0, high=64)
    half_life: int | None = option(None, "", low=1)

    def __post_init__(self) -> None:
        validate(self)


DRIFT = (
    "What is done when the stream changes that `partial_fit` and `learn_one` learn, or `fit` "
    "with ``shuffle=False``. 'auto': an alarm is raised when the model is wrong more often than "
    "it was; a new model and those of earlier times then learn beside it, and the one that is "
    "right most often goes on. `changes_` lists what happened. A `Drift` has settings."
)
NO_DRIFT = "the model learns on as if nothing could change."
ClassStorage = Literal["auto", "dense", "sparse"]
CLASS_STORAGE = (
    "How the weights of many classes are kept. 'dense': every feature has a weight for every "
    "class. 'sparse': a feature has weights for the classes that it has met alone, so that memory "
    "grows with the pairs of feature and class in the data. 'auto': dense up to 256 classes, and "
    "sparse from then on where the rule, the covariance and the scheme allow it."
)

# -- texts -------------------------------------------------------------------------------------


@dataclass(init=False, kw_only=True, eq=False, repr=False)
class FeatureOptions:
    """How texts become features."""

    ngrams: tuple[int, int] | None = option(
        (1, 2),
        "The shortest and the longest sequence of consecutive words that makes a feature. Words "
        "are runs of letters, digits and underscores.",
        low=1,
        high=LONGEST,
        none="no words.",
        flag=Flag("--ngrams", "A,B"),
    )
    chars: tuple[int, int] | Literal["auto"] | None = option(
        "auto",
        "The shortest and the longest sequence of consecutive characters that makes a feature. "
        "'auto': from 1 to 3, and only in words with a letter of a script that is written without "
        "spaces between words, or in which words have endings that change: Chinese, Japanese, "
        "Korean, Thai, Lao, Khmer and Burmese. Other words have no characters.",
        low=1,
        high=LONGEST,
        none="no characters.",
        flag=Flag("--chars", "A,B"),
    )
    char_scope: Literal["words", "text"] = option(
        "words",
        "Where characters are taken from: 'words', each word with a space before and after it; or "
        "'text', the whole text, with white space as single spaces.",
        flag=Flag("--char-scope", "SCOPE"),
    )
    lowercase: bool = option(
        True,
        "Whether to convert texts to lower case first.",
        flag=Flag("--no-lowercase", help="Distinguish upper case from lower case."),
    )
    stop_words: Sequence[str] | None = option(
        None,
        "Words to leave out before consecutive words are joined.",
        none="leave out no words.",
        flag=Flag("--stop-words", "FILE", "A file of words to leave out, one per line."),
    )
    min_length: int = option(
        1, "The shortest words to keep, in characters; shorter ones are left out.", low=1, high=1000
    )
    counts: Literal["binary", "counts", "log"] = option(
        "binary",
        "The value of a feature in a text: 'binary', 1; 'counts', how often it occurs; 'log', 1 + "
        "the logarithm of that.",
        flag=Flag("--counts", "HOW"),
    )
    normalize: bool = option(
        True,
        "Whether to scale every row to length 1.",
        flag=Flag("--no-normalize", help="Do not scale every text to length 1."),
    )
    features: Literal["vocabulary", "hash"] = option(
        "vocabulary",
        "'vocabulary': a column for every feature, growing as texts arrive; 'hash': a fixed number "
        "of columns, ``2**bits``, in which features that collide share a weight.",
        flag=Flag("--features", "KIND"),
    )
    bits: int = option(
        22,
        "With 'hash' features: there are ``2**bits`` columns.",
        low=1,
        high=30,
        flag=Flag("--bits", "B", "With --features hash: 2^B columns."),
    )
    min_count: int = option(
        1,
        "With a vocabulary: how many texts must contain a feature before it gets a column.",
        low=1,
        flag=Flag("--min-count", "N"),
    )
    max_features: int | None = option(
        None,
        "With a vocabulary: the most features to keep. When there are as many, the least certain "
        "quarter is forgotten.",
        low=1,
        none="no limit.",
        flag=Flag("--max-features", "N"),
    )


@dataclass(init=False, kw_only=True, eq=False, repr=False)
class TextFeaturesOptions(FeatureOptions):
    """The options of `TextFeatures`."""

    weighting: Literal["idf", "nb"] | None = option(
        None,
        "How counts of texts weight the features: 'idf' scales each by 1 + log((1 + n)/(1 + n_j)), "
        "where n_j of n texts contain it, so that rare ones count more; 'nb' by how strongly it "
        "indicates one of two classes in naive Bayes.",
        none="all features count alike.",
        flag=Flag(
            "--weighting",
            "HOW",
            "How counts of the training rows weight the features: idf, nb (naive Bayes, for two "
            "classes) or none.",
        ),
    )
    dtype: Literal["float32", "float64"] = option("float32", "The type of the matrix's numbers.")


@dataclass(init=False, kw_only=True, eq=False, repr=False)
class TextOptions(FeatureOptions):
    """How `TextClassifier` reads texts."""

    columns: Mapping[str, str] | None = option(
        None,
        "The columns of a table and what they hold: 'text', 'category' or 'number' by name, such "
        "as ``{'subject': 'text', 'sender': 'category', 'amount': 'number'}``. X is then a "
        "DataFrame of pandas or Polars, an Arrow table or a list of dictionaries.",
        none="X holds texts; of a table, the kinds of columns are inferred from the first rows "
        "that are learned, and `columns_` has them.",
    )

    weighting: Literal["auto", "idf", "nb"] | None = option(
        "auto",
        "How counts of texts weight the features. 'nb': naive Bayes determines, for each class, "
        "how far a weight may go, and the estimator learns how far it goes; it must keep a "
        "variance for every weight. 'idf': rare features count more. 'auto': 'nb' where the "
        "estimator allows it, else 'idf'.",
        none="all features count alike.",
        flag=Flag(
            "--weighting",
            "HOW",
            "How counts of texts weight the features: idf, nb (naive Bayes), none, or auto, the "
            "best that the rule allows.",
        ),
    )


@dataclass(init=False, kw_only=True, eq=False, repr=False)
class TextLearningOptions:
    """How `TextClassifier` learns."""

    max_iter: Literal["auto"] | int = option(
        "auto",
        "How many passes `fit` makes over the texts. 'auto': as many as the texts call for, "
        "from 1 to 20: models of a part of the texts are trained first, and the number is chosen "
        "by what they say of texts that they have not learned. One pass where texts keep their "
        "order (``shuffle=False``), and with 100,000 texts or more.",
        low=1,
        flag=Flag(
            "--passes",
            "N",
            "How many passes to make over the rows. auto: as many as the texts call for, from "
            "1 to 20; one over streams that do not fit into --buffer, and with --no-shuffle.",
            common=True,
        ),
    )
    shuffle: bool = option(
        True,
        "Whether `fit` takes the texts in a new random order each pass, or in the order given. "
        "`partial_fit` never shuffles.",
        flag=Flag(
            "--no-shuffle",
            help="Learn the rows in the given order; do not shuffle them.",
            common=True,
        ),
    )
    random_state: int | RandomState | None = option(
        None,
        "The random seed, or a generator; a number makes every run the same.",
        low=0,
        high=2**32 - 1,
        none="another order each time.",
        flag=Flag(
            "--seed",
            "S",
            "The random seed of the order; the same seed gives the same model.",
            default=0,
            common=True,
        ),
    )
    n_jobs: int | None = option(
        None,
        "How many threads learn, -1 for one per core. Two share the work on every text and learn "
        "exactly what one would, in `partial_fit` too. More than two each learn a part of the "
        "texts into a copy of the model, and the copies are merged after every pass; a seed gives "
        "the same model for the same number of jobs. As many threads predict.",
        none="1, unless `joblib.parallel_config` says otherwise.",
        flag=Flag(
            "--jobs",
            "N",
            "Learn with N threads, -1 for one per core. Two share the work on texts and learn what "
            "one would; more, or on numbers, each learn a part of the rows and are merged after "
            "every pass. Default: 1.",
        ),
    )
    counts_first: bool = option(
        False,
        "Whether `fit` counts all texts before it learns the first, rather than as they come; it "
        "reads them once more for that.",
        flag=Flag(
            "--count-first",
            help="Count all texts before learning the first, rather than as they come; reads the "
            "files once more.",
        ),
    )
    threshold: Literal["f1", "micro-f1"] | float = option(
        "f1",
        "Where texts have several labels, how probable a label must be to be predicted: a number, "
        "or what would have given the best F1 by what the model predicted for each text before it "
        "learned it: 'f1', of each label; 'micro-f1', of all together. It may change at any time.",
        low=0.0,
        high=1.0,
        flag=Flag(
            "--threshold",
            "P",
            "Where rows have several labels, how probable a label must be to be predicted: a "
            "number, or what gives the best f1 of each label, or the best micro-f1.",
        ),
    )
    calibration: Literal["online"] | None = option(
        "online",
        "'online': probabilities are calibrated; how scores become probabilities is learned from "
        "what the model predicts for each text just before it learns it.",
        none="probabilities are those of the weights' distribution.",
    )
    drift: Literal["auto"] | Drift | None = option(
        "auto",
        DRIFT,
        none=NO_DRIFT,
        flag=Flag(
            "--drift",
            "HOW",
            "What is done when a stream changes, with --no-shuffle: auto, none, or settings such "
            "as false_alarms=1e-5,memory=2 or half_life=10000. auto: where the model is wrong more "
            "often than it was, a new model and those of earlier times learn beside it, and the "
            "one that is right most often goes on. Default: auto for texts, none for svmlight "
            "rows.",
        ),
    )
    class_storage: ClassStorage = option(
        "auto",
        CLASS_STORAGE,
        flag=Flag("--class-storage", "HOW"),
    )


# -- numbers -----------------------------------------------------------------------------------


@dataclass(init=False, kw_only=True, eq=False, repr=False)
class OnlineOptions:
    """The options of every online classifier."""

    competitors: int | Literal["all"] = option(
        1,
        "With how many of the strongest rival classes an example is compared; more than there are "
        "means all. Two classes ignore it.",
        low=1,
    )
    scheme: Literal["sequential", "parallel", "exact", "one-vs-rest"] = option(
        "sequential",
        "How the steps against several rivals are combined: one after the other, averaged, or "
        "'exact', the nearest model that satisfies them all. Or 'one-vs-rest': every class learns "
        "to separate itself from all others. Two classes ignore it.",
    )
    max_iter: int = option(5, "How many passes `fit` makes over the examples, at most.", low=1)
    shuffle: bool = option(
        True,
        "Whether `fit` takes the examples in a new random order each pass, or in the order given. "
        "`partial_fit` never shuffles.",
    )
    random_state: int | RandomState | None = option(
        None,
        "The random seed, or a generator; a number makes every run the same.",
        low=0,
        high=2**32 - 1,
        none="another order each time.",
    )
    fit_intercept: bool = option(
        True, "Whether to add a constant feature 1, with its own mean and variance."
    )
    early_stopping: bool = option(
        False,
        "Whether to hold examples back, stop when the accuracy on them no longer rises, and keep "
        "the best pass.",
    )
    validation_fraction: float = option(
        0.1, "The share of examples that early stopping holds back.", low=0.0, high=1.0
    )
    n_iter_no_change: int = option(
        2, "How many passes without a new best accuracy early stopping waits for.", low=1
    )
    n_jobs: int | None = option(
        None,
        "How many threads `fit` learns with, -1 for one per core. Each learns a part of the "
        "examples into a copy of the model, and the copies are merged after every pass; a seed "
        "gives the same model for the same number of jobs. As many threads predict. `partial_fit` "
        "uses one thread.",
        none="1, unless `joblib.parallel_config` says otherwise.",
    )
    calibration: Literal["online"] | None = option(
        None,
        "'online': probabilities are calibrated; how scores become probabilities is learned from "
        "what the model predicts for each example just before it learns it, in the first pass.",
        none="probabilities are those of the weights' distribution.",
    )
    drift: Literal["auto"] | Drift | None = option(None, DRIFT, none=NO_DRIFT)
    class_storage: ClassStorage = option("auto", CLASS_STORAGE)
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = option(
        None,
        "A factor on the weight of each class's examples, by label; 'balanced' gives every class "
        "the same total weight in `fit`. CW and NHERD read weights relative to the largest, the "
        "others as factors on the cost of missing an example.",
        none="all classes weigh the same.",
    )
    dtype: Literal["float32", "float64"] = option(
        "float32",
        "The type of the model's numbers; sums are always taken in float64, and a full covariance "
        "and its means are always kept in float64.",
    )
    memory_limit_gb: float = option(
        MEMORY_LIMIT_GB,
        "The most memory the model may take, in GB of 2^30 bytes; more is refused.",
        low=0.0,
        flag=Flag("--memory-limit", "GB"),
    )


Covariance = Literal["diagonal-kl", "diagonal-l2", "diagonal-exact", "full"]


@dataclass(init=False, kw_only=True, eq=False, repr=False)
class CovarianceOptions:
    """The option of the classifiers that keep a covariance."""

    covariance: Covariance = option(
        "diagonal-kl",
        "How the uncertainty is kept: one variance per feature, taken from the diagonal of the "
        "precision (kl) or of the covariance (l2) after each step, or optimal among diagonals "
        "(exact); or the full matrix, for dense inputs of up to a few thousand features.",
    )
    device: Literal["cpu", "cuda"] = option(
        "cpu",
        "Where a full covariance is kept while the model learns, and products with it are made: on "
        "the CPU, or with 'cuda' on a GPU, by CuPy or PyTorch. The model and its file are the same "
        "but for rounding; only learning needs the GPU.",
    )
