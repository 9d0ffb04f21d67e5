"""Who is compared, in which runs, and the work of one run: learn a task's texts, then be judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from experiments.cells import Cell, Record, Settings
from experiments.defaults.texts import (
    CHOOSING,
    FOLDS,
    TASKS,
    WORD,
    Labels,
    flip,
    hold_out,
    open_texts,
)
from experiments.protocol import Marks, pack
from experiments.tasks import MissingData

from sureline import (
    AROWClassifier,
    CWClassifier,
    NHERDClassifier,
    SCWClassifier,
    TextClassifier,
    TextFeatures,
)
from sureline.evaluation import calibration

NOISE = (0, 10, 20, 30)  # per cent of the training labels
NOISE_TO_CHOOSE = (0, 10, 20)
NOISE_ELSEWHERE = (0, 20)  # on large and on further tasks
ORDERS, PASSES, BINS = 4, 5, 15
C_OF_SVM = (0.1, 0.3, 1.0, 3.0, 10.0)
RS: tuple[Any, ...] = (0.1, 0.3, 1.0, 3.0, "auto")


# -- the candidates ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """What the default of TextClassifier might be."""

    title: str
    estimator: Callable[[], Any]
    weighting: Any
    counts_first: bool = False

    def make(self, passes: int = 1, order: int | None = None, **others: Any) -> TextClassifier:
        """The classifier; `order` is the seed of its random orders."""
        return TextClassifier(
            estimator=self.estimator(),
            weighting=self.weighting,
            counts_first=self.counts_first,
            max_iter=passes,
            random_state=order,
            **others,
        )


ALL: Any = "one-vs-rest"
CANDIDATES: dict[str, Candidate] = {
    f"arow-{weighting or 'none'}-{r}": Candidate(
        f"AROW, {weighting or 'no weighting'}, r = {r:g}"
        if r != "auto"
        else f"AROW, {weighting or 'no weighting'}, r auto",
        partial(AROWClassifier, scheme=ALL, r=r),
        weighting,
    )
    for weighting in (None, "idf", "nb")
    for r in RS
}
CANDIDATES |= {
    "rival-nb-1.0": Candidate("AROW against the strongest rival, nb, r = 1", AROWClassifier, "nb"),
    "rival-nb-auto": Candidate(
        "AROW against the strongest rival, nb, r auto", partial(AROWClassifier, r="auto"), "nb"
    ),
    "cw-nb": Candidate("CW, nb", partial(CWClassifier, scheme=ALL), "nb"),
    "scw1-nb": Candidate("SCW-I, nb", partial(SCWClassifier, scheme=ALL, variant=1), "nb"),
    "scw2-nb": Candidate("SCW-II, nb", partial(SCWClassifier, scheme=ALL, variant=2), "nb"),
    "nherd-nb": Candidate("NHERD, nb", partial(NHERDClassifier, scheme=ALL), "nb"),
}
FIRST = "-counted-first"  # after the name of a candidate


def candidate(name: str) -> Candidate:
    """A candidate by name; a variant of it that counts all texts first has a longer name."""
    one = CANDIDATES[name.removesuffix(FIRST)]
    if not name.endswith(FIRST):
        return one
    return Candidate(f"{one.title}, counted first", one.estimator, one.weighting, True)


def find_default() -> str:
    """The candidate that TextClassifier is where nothing is said."""

    def facts(model: TextClassifier) -> tuple[Any, ...]:
        online = model.chosen_estimator()
        weighting = model.resolved_weighting(online)
        values = {name: getattr(online, name) for name in online.__dataclass_fields__}
        return type(online), values, weighting, model.counts_first

    present = facts(TextClassifier())
    found = [name for name, one in CANDIDATES.items() if facts(one.make()) == present]
    if not found:
        raise SystemExit(
            "the default of TextClassifier is none of the candidates: add it to CANDIDATES in "
            "experiments/defaults/contest.py"
        )
    return found[0]


# -- what they are compared with ---------------------------------------------------------------


@dataclass(frozen=True)
class Baseline:
    """A learner of others, judged on the test split; a batch one has no passes and no orders.

    `judge` takes the task, the folder of data sets, the training labels, passes and order.
    """

    title: str
    judge: Callable[[str, str | None, Labels, int, int], Marks]
    batch: bool = True
    noise: tuple[int, ...] = NOISE  # on main tasks
    noise_if_large: tuple[int, ...] = NOISE
    further: bool = False  # whether it is run on further tasks


@lru_cache(maxsize=2)
def _rows(name: str, folder: str | None, weighed: bool) -> tuple[Any, Any]:
    """The features that TextClassifier has: tf-idf with logarithms of counts, or plain counts.

    Wrong labels change none of them, so that they serve all levels of noise.
    """
    train, test = open_texts(name, folder)
    given: dict[str, Any] = {"counts": "counts", "normalize": False}
    if weighed:
        given = {"counts": "log", "weighting": "idf"}
    features = TextFeatures(ngrams=TASKS[name].ngrams, dtype="float64", **given).fit(train.text)
    return features.transform(train.text), features.transform(test.text)


def _judge_batch(
    name: str,
    folder: str | None,
    labels: Labels,
    passes: int,
    order: int,
    make: Callable[[], Any],
    weighed: bool = True,
) -> Marks:
    """A learner of scikit-learn."""
    X, asked = _rows(name, folder, weighed)
    return np.asarray(make().fit(X, labels).predict(asked) == open_texts(name, folder)[1].label)


@lru_cache(maxsize=2)
def _lines(name: str, folder: str | None, once: bool) -> tuple[list[str], list[str]]:
    """Texts as Vowpal Wabbit reads them: their words; or words and pairs, each once."""
    pairs = once and TASKS[name].ngrams[1] > 1

    def write(text: str) -> str:
        words = WORD.findall(text.lower())
        if pairs:
            words += [f"{first}_{second}" for first, second in pairwise(words)]
        return " ".join(dict.fromkeys(words) if once else words)

    train, test = open_texts(name, folder)
    known, asked = ([write(each) for each in some.text.to_pylist()] for some in (train, test))
    return known, asked


def _judge_vw(
    name: str, folder: str | None, labels: Labels, passes: int, order: int, once: bool
) -> Marks:
    """Vowpal Wabbit with logistic loss, one against all for many classes."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        raise MissingData("Vowpal Wabbit is not there: pip install vowpalwabbit") from None
    classes, codes = np.unique(labels, return_inverse=True)
    two = classes.size == 2
    known = np.where(codes, 1, -1) if two else codes + 1
    options = "" if two else f"--oaa {classes.size} "
    if not once and TASKS[name].ngrams[1] > 1:
        options += "--ngram 2 "
    learner = Workspace(f"{options}--loss_function logistic -b 22 --quiet")
    lines, asked = _lines(name, folder, once)
    rng = np.random.RandomState(order)
    for _ in range(passes):
        for k in rng.permutation(len(lines)):
            learner.learn(f"{known[k]} |w {lines[k]}")
    measured = np.array([learner.predict(f"|w {line}") for line in asked])
    learner.finish()
    answers = open_texts(name, folder)[1].label
    return np.asarray(classes[(measured > 0).astype(int) if two else measured - 1] == answers)


def _svm(C: float) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C, random_state=0)


def _maxent() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    # All classes at once would take minutes and gigabytes for a million features and 20 classes.
    return OneVsRestClassifier(LogisticRegression(solver="liblinear", random_state=0))


def _naive_bayes(complement: bool) -> Any:
    from sklearn.naive_bayes import ComplementNB, MultinomialNB

    return ComplementNB() if complement else MultinomialNB()


SVM = "svm-1.0"
VW = ("vw", "vw-once")
BASELINES: dict[str, Baseline] = {
    f"svm-{C}": Baseline(
        f"LinearSVC, C = {C:g}",
        partial(_judge_batch, make=partial(_svm, C)),
        noise_if_large=NOISE if C == 1.0 else (0,),
        further=C == 1.0,
    )
    for C in C_OF_SVM
}
BASELINES |= {
    "maxent": Baseline(
        "LogisticRegression",
        partial(_judge_batch, make=_maxent),
        noise=(0, 20),
        noise_if_large=(0,),
    ),
    "multinomial-nb": Baseline(
        "MultinomialNB",
        partial(_judge_batch, make=partial(_naive_bayes, False), weighed=False),
        further=True,
    ),
    "complement-nb": Baseline(
        "ComplementNB", partial(_judge_batch, make=partial(_naive_bayes, True)), further=True
    ),
    "vw": Baseline(
        "Vowpal Wabbit, --ngram 2",
        partial(_judge_vw, once=False),
        batch=False,
        noise_if_large=(0, 20),
        further=True,
    ),
    "vw-once": Baseline(
        "Vowpal Wabbit, words and pairs once",
        partial(_judge_vw, once=True),
        batch=False,
        noise_if_large=(0, 20),
        further=True,
    ),
}


def title(name: str) -> str:
    """A learner as the tables call it."""
    return BASELINES[name].title if name in BASELINES else candidate(name).title


# -- the runs ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One run of a learner: on the test split, or on a part that was held out to `choose` by."""

    part: str  # choose, test or reliability
    noise: int = 0
    passes: int = 1
    order: int = 0

    def __str__(self) -> str:
        return f"{self.part} noise {self.noise} passes {self.passes} order {self.order}"

    @classmethod
    def read(cls, text: str) -> Run:
        """The run that a stage of a cell is about."""
        part, _, noise, _, passes, _, order = text.split(" ")
        return cls(part, int(noise), int(passes), int(order))


def plan_choice(
    candidates: Iterable[str], tasks: Sequence[str], orders: int, noise: Sequence[int]
) -> list[Cell]:
    """What the choice is made from: one pass, on tasks to choose by."""
    return [
        Cell(task, name, str(Run("choose", level, 1, order)))
        for task in tasks
        if task in CHOOSING
        for name in candidates
        for order in range(orders)
        for level in noise
    ]


def plan_tests(
    candidates: Iterable[str], short: Sequence[str], tasks: Sequence[str], orders: int
) -> list[Cell]:
    """The test splits, the longest first.

    Candidates on the `short` list are run in all ways. The others make one pass, on large and
    further tasks in one order only; on main tasks they make five once, without noise.
    """
    cells = list[Cell]()
    for task in sorted(tasks, key=lambda name: TASKS[name].kind != "large"):
        main = TASKS[task].kind == "main"
        few = NOISE if main else NOISE_ELSEWHERE
        every = NOISE if TASKS[task].kind != "further" else NOISE_ELSEWHERE
        runs = dict.fromkeys(
            (name, Run("test", level, 1, order))
            for name in candidates
            for order in range(orders if main else 1)
            for level in few
        )
        if main:
            runs |= dict.fromkeys((name, Run("test", 0, PASSES, 0)) for name in candidates)
        for name in short:
            for order in range(orders):
                runs |= dict.fromkeys((name, Run("test", level, 1, order)) for level in every)
                again = ((name, Run("test", level, PASSES, order)) for level in NOISE_ELSEWHERE)
                runs |= dict.fromkeys(again)
        cells += [Cell(task, name, str(run)) for name, run in runs]
    return cells


def plan_baselines(baselines: Iterable[str], tasks: Sequence[str], orders: int) -> Iterator[Cell]:
    """The test splits for those that we are compared with."""
    for task in sorted(tasks, key=lambda name: TASKS[name].kind != "large"):
        kind = TASKS[task].kind
        for name in baselines:
            one = BASELINES[name]
            if kind == "further" and not one.further:
                continue
            noise = {"main": one.noise, "large": one.noise_if_large, "further": NOISE_ELSEWHERE}
            for level in noise[kind]:
                for order in range(1 if one.batch or kind != "main" else orders):
                    for passes in (1,) if one.batch else (1, PASSES):
                        yield Cell(task, name, str(Run("test", level, passes, order)))


def plan_reliability(name: str, tasks: Sequence[str], orders: int) -> list[Cell]:
    """How honest the probabilities of a candidate are."""
    return [
        Cell(task, name, str(Run("reliability", order=order)))
        for task in tasks
        for order in range(orders)
    ]


def work(cell: Cell, settings: Settings) -> Record:
    """What the results file holds of a run: the error in %, and which test rows were right.

    The settings are ``data`` and ``seed``; another seed gives other random orders.
    """
    folder = str(settings["data"]) if settings.get("data") else None
    run = Run.read(cell.stage)
    order = run.order + FOLDS * int(settings.get("seed", 0))
    train, test = open_texts(cell.task, folder)
    labels = flip(cell.task, train.label, run.noise)
    if cell.learner in BASELINES:
        judge = BASELINES[cell.learner].judge
        return _record(judge(cell.task, folder, labels, run.passes, order), run)
    one, ngrams = candidate(cell.learner), TASKS[cell.task].ngrams
    if run.part == "reliability":
        found = {}
        for way in ("online", None):
            model = one.make(run.passes, order, ngrams=ngrams, calibration=way)
            chance = model.fit(train.text, labels).predict_proba(test.text)
            measured = calibration(chance, test.label, model.classes_, bins=BINS)
            found[way or "none"] = {
                "error": measured.expected_error,
                "log loss": measured.log_loss,
                "counts": measured.counts.tolist(),
                "accuracy": [None if np.isnan(x) else float(x) for x in measured.accuracy],
                "confidence": [None if np.isnan(x) else float(x) for x in measured.confidence],
            }
        return found
    if run.part == "choose":
        kept, held = hold_out(train, run.order)
        # Those that judge are right about their labels, whatever the others are.
        labels, train, test = labels[kept], train.take(kept), train.take(held)
    model = one.make(run.passes, order, ngrams=ngrams).fit(train.text, labels)
    return _record(model.predict(test.text) == test.label, run)


def _record(right: Marks, run: Run) -> Record:
    """The error, and the marks of a first order, on which significance tests are based."""
    record: Record = {"error": 100.0 * float(1.0 - right.mean())}
    if run.part == "test" and run.order == 0:
        record["right"] = pack(right)
    return record
