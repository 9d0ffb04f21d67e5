"""Figures for papers: what is drawn, that names appear as they are, and where they are saved."""

import builtins

import numpy as np
import pytest

from sureline import TextClassifier
from sureline.errors import DataError, InvalidParameter, SurelineError
from sureline.evaluation import calibration, confusion_counts, learning_curve, progressive
from sureline.evaluation.plots import (
    compare_figure,
    confusion_figure,
    errors_scatter,
    learning_curve_figure,
    reliability_figure,
)

matplotlib = pytest.importorskip(
    "matplotlib", reason="figures need matplotlib: pip install 'sureline[plots]'"
)

NASTY = "_a $x^2$ \\frac 5$ 🎉\n\x00"
SHOWN = "\u200b_a $x^2$ \\frac 5$ 🎉 ␀"
TEXTS = [f"{'free prize' if k % 3 else 'lunch noon'} w{k % 7}" for k in range(60)]
LABELS = ["spam" if k % 3 else "ham" for k in range(60)]
ROWS = [
    {"task": task, "learner": name, "error": error, "deviation": spread, "seconds": seconds,
     "baseline": name == "svm"}
    for task in ("mail", NASTY)
    for name, error, spread, seconds in (
        ("pa", 0.04, 0.01, 0.02), ("arow", 0.02, 0.005, 0.03), ("svm", 0.03, None, 1.5),
    )
]  # fmt: skip


def chances():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(2), 300)
    truth = np.where(rng.random(300) < rows[:, 1], "b", "a")
    return calibration(rows, truth, ["a", "b"])


def figures():
    """A figure of each kind, by name."""
    pairs = confusion_counts([*LABELS, NASTY], [*LABELS[1:], "ham", "ham"])
    return {
        "reliability": lambda path=None: reliability_figure(chances(), path),
        "learning": lambda path=None: learning_curve_figure(
            {"a": ([1, 10, 100], [0.5, 0.3, 0.1]), NASTY: ([1, 100], [0.4, 0.2])}, path
        ),
        "confusion": lambda path=None: confusion_figure(pairs, path),
        "compare": lambda path=None: compare_figure(ROWS, path),
        "scatter": lambda path=None: errors_scatter(
            [0.1, 0.2], [0.05, 0.25], path, labels=("SVM", NASTY), names=[NASTY, "b"],
            groups=["x", NASTY],
        ),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:Glyph")  # the font has no emoji
@pytest.mark.parametrize("name", list(figures()))
def test_axes_have_names_and_legends_hide_nothing(name):
    figure = figures()[name]()
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.get_ylabel() or axes.get_yticklabels()
        legend = axes.get_legend()
        if legend is not None:
            drawn = legend.get_window_extent().padded(-2)
            assert not drawn.overlaps(axes.get_window_extent())
    assert any(axes.get_xlabel() for axes in figure.axes)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("scatter", "png"), ("scatter", "pdf"), *((name, "svg") for name in figures())],
)
def test_figures_are_saved_whole_and_always_the_same(name, kind, tmp_path, monkeypatch):
    draw = figures()[name]
    first, second = tmp_path / f"one.{kind}", tmp_path / f"two.{kind.upper()}"
    draw(first)
    monkeypatch.setitem(matplotlib.rcParams, "axes.facecolor", "red")  # somebody's own settings
    draw(second)
    assert first.read_bytes() == second.read_bytes()
    begin = {"png": b"\x89PNG", "pdf": b"%PDF-", "svg": b"<?xml"}[kind]
    assert first.read_bytes().startswith(begin)
    assert {each.name for each in tmp_path.iterdir()} == {first.name, second.name}
    assert matplotlib.rcParams["axes.facecolor"] == "red"


def test_a_figure_of_reliability_has_every_bin():
    found = chances()
    figure = reliability_figure(found)
    upper, lower = figure.axes
    filled = found.counts > 0
    points = upper.containers[0].lines[0]
    np.testing.assert_allclose(points.get_xdata(), found.confidence[filled])
    np.testing.assert_allclose(points.get_ydata(), found.accuracy[filled])
    assert [bar.get_height() for bar in lower.patches] == found.counts[filled].tolist()
    labels = [text.get_text() for text in upper.get_legend().get_texts()]
    assert labels[-1] == f"model (calibration error {found.expected_error:.3f})"


def test_learning_curves_of_every_kind():
    run = progressive(TextClassifier(), TEXTS, LABELS)
    held_out = learning_curve(
        TextClassifier(random_state=0), TEXTS[:40], LABELS[:40], TEXTS[40:], LABELS[40:], points=4
    )
    by_hand = ([1, 60], [0.5, 0.25])
    curve = run.curve(5)
    given = {"progressive": curve, "held out": held_out, "by hand": by_hand}
    (axes,) = learning_curve_figure(given).axes
    lines = [np.array(line.get_data()) for line in axes.lines]
    expected = [
        (curve.examples, curve.error),
        (held_out.examples, held_out.error),
        by_hand,
    ]
    for line, (at, error) in zip(lines, expected, strict=True):
        np.testing.assert_allclose(line, [at, 100 * np.asarray(error)])
    looks = {(line.get_marker(), line.get_linestyle()) for line in axes.lines}
    assert len(looks) == 3  # distinct without colour
    assert (axes.get_xscale(), axes.get_ylabel()) == ("log", "error (%)")
    (axes,) = learning_curve_figure({"held out": held_out}, by="pass").axes
    np.testing.assert_allclose(axes.lines[0].get_xdata(), held_out.passes)
    assert axes.get_xlabel() == "passes"


def test_names_are_shown_as_they_are():
    axes = confusion_figure(confusion_counts([NASTY, "b"], ["b", "b"])).axes[0]
    ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    assert [text.get_text() for text in ticks] == [SHOWN, "b"] * 2
    assert not any(text.get_parse_math() for text in ticks)
    (axes,) = learning_curve_figure({NASTY: ([1, 2], [0, 1]), "b": ([1, 2], [1, 0])}).axes
    texts = axes.get_legend().get_texts()
    assert [text.get_text() for text in texts] == [SHOWN, "b"]
    assert not any(text.get_parse_math() for text in texts)


@pytest.mark.parametrize(("labels", "named", "counted"), [(5, 5, 5), (40, 40, 0), (90, None, 0)])
def test_confusions_of_few_and_many_labels(labels, named, counted):
    names = [f"c{k:02}" for k in range(labels)]
    axes = confusion_figure(confusion_counts(names, names)).axes[0]
    assert len(axes.texts) == counted
    ticks = [text.get_text() for text in axes.get_yticklabels()]
    assert (ticks == names) is (named is not None)


def test_a_comparison_has_the_lowest_error_on_top():
    figure = compare_figure(ROWS)
    errors, seconds = figure.axes[:2]
    assert [text.get_text() for text in errors.get_yticklabels()] == ["arow", "svm", "pa"]
    top, bottom = errors.get_ylim()
    assert top > bottom  # drawn from above
    places = [each.lines[0].get_xydata()[0].tolist() for each in errors.containers]
    assert places == [[2.0, 0.0], [3.0, 1.0], [4.0, 2.0]]
    markers = [each.lines[0].get_marker() for each in errors.containers]
    assert markers == ["o", "s", "o"]  # a baseline differs without colour
    assert [line.get_xdata()[0] for line in seconds.lines] == [0.03, 1.5, 0.02]
    assert figure.axes[2].get_title(loc="left") == SHOWN
    alone = compare_figure([{"learner": "a", "error": 0.1}])
    assert len(alone.axes) == 1


def test_a_scatter_counts_who_is_better():
    (axes,) = errors_scatter([0.1, 0.2, 0.3], [0.05, 0.25, 0.1], labels=("SVM", "AROW")).axes
    assert axes.get_title() == "lower: AROW 2, SVM 1"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("error of SVM (%)", "error of AROW (%)")
    assert axes.get_xlim() == axes.get_ylim()


@pytest.mark.parametrize(
    ("draw", "error", "sentence"),
    [
        (lambda: compare_figure([]), DataError, "no rows to draw"),
        (lambda: compare_figure([{"error": 1}]), DataError, r"'learner' and 'error', got \['err"),
        (lambda: learning_curve_figure({}), DataError, "no curves to draw"),
        (lambda: learning_curve_figure({"a": 3}), DataError, "'a' is no pair of lists"),
        (lambda: learning_curve_figure({"a": ([1], [1, 2])}), DataError, "no pair of lists"),
        (lambda: learning_curve_figure({}, by="day"), InvalidParameter, "got 'day'"),
        (lambda: errors_scatter([1], [1, 2]), DataError, r"the shapes \(1,\) and \(2,\)"),
        (lambda: errors_scatter([1], [1], names=["a", "b"]), DataError, "1 tasks but 2 names"),
        (
            lambda: errors_scatter([1], [1], "plot.xls"),
            InvalidParameter,
            "not end in .png",
        ),
    ],
)
def test_errors_name_what_cannot_be_drawn(draw, error, sentence):
    with pytest.raises(error, match=sentence):
        draw()


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def refuse(name, *others, **more):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(SurelineError, match=r"pip install 'sureline\[plots\]'"):
        compare_figure(ROWS)
