"""How a report looks: one HTML page that asks nothing of anybody, with or without scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from sureline.evaluation.report.charts import interval
from sureline.evaluation.report.classes import show_classes, show_confusions
from sureline.evaluation.report.collect import Findings
from sureline.evaluation.report.counts import Facts
from sureline.evaluation.report.markup import Markup, clip, element, joined
from sureline.evaluation.report.parts import (
    count_noun,
    head_section,
    show_label,
)
from sureline.evaluation.report.reasons import (
    show_features,
    show_mistakes,
    show_strange_words,
)
from sureline.evaluation.report.trust import show_curves, show_sureness

FILES = 6  # that are named
NAMED = 8  # unknown labels that are named


@dataclass(frozen=True)
class Heading:
    """What a report is about: the model, the data, when it was made and by what."""

    model: str
    inputs: Sequence[str]
    made: str
    version: str


def render(heading: Heading, findings: Findings) -> str:
    """The whole page, as a string.

    Parameters
    ----------
    heading : Heading
        What it is about.
    findings : Findings
        What was found.
    """
    style = files("sureline.evaluation.report").joinpath("report.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    sections = [
        ("figures", "Figures", _figures(heading, findings)),
        ("classes", "Classes", show_classes(findings.facts)),
        ("confusions", "Confusions", show_confusions(findings.facts)),
        ("sureness", "How sure", show_sureness(findings)),
        ("curves", "Curves", show_curves(findings)),
        ("features", "Features", show_features(findings)),
        ("mistakes", "Mistakes", show_mistakes(findings)),
        ("unknown", "Unknown words", show_strange_words(findings)),
    ]
    shown = [each for each in sections if each[2]]
    title = f"{heading.model}: {findings.facts.error:.2%} error"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=f"sureline {heading.version}"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    body = element(
        "body",
        _header(heading, findings.facts, shown),
        element(
            "main",
            [
                element("section", content, id=name, aria_labelledby=f"{name}-heading")
                for name, _, content in shown
            ],
        ),
        element(
            "footer",
            element(
                "p",
                f"Made by sureline {heading.version}, {heading.made}. ",
                "This page is complete in itself: it loads nothing and runs nothing.",
            ),
        ),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _header(heading: Heading, facts: Facts, shown: Sequence[tuple[str, str, Any]]) -> Markup:
    low, high = interval(facts.rows - facts.correct, facts.rows)
    wrong = facts.rows - facts.correct
    lead = [
        f"The model is wrong about {wrong:,} of {count_noun(facts.rows, 'row')}: ",
        element("strong", f"{facts.error:.2%}"),
        f" (95% interval {low:.2%} to {high:.2%}). Always answering “",
        show_label(facts.majority),
        f"” would be wrong about {1 - facts.majority_accuracy:.2%}.",
    ]
    return element(
        "header",
        element("p", "sureline evaluation", class_="brand"),
        element("h1", element("bdi", clip(heading.model, 120))),
        element("p", lead, class_="lead"),
        element(
            "nav",
            element(
                "ul",
                [element("li", element("a", title, href=f"#{name}")) for name, title, _ in shown],
            ),
            aria_label="Parts of this report",
        ),
    )


def _figures(heading: Heading, findings: Findings) -> Markup:
    facts, sure = findings.facts, findings.calibration
    low, high = interval(facts.rows - facts.correct, facts.rows)
    tiles = [
        _tile("Error", f"{facts.error:.2%}", f"95% interval {low:.2%} to {high:.2%}"),
        _tile("Accuracy", f"{facts.accuracy:.4f}", f"{facts.correct:,} of {facts.rows:,}"),
        _tile("F1, mean of classes", f"{facts.macro_f1:.4f}", f"{facts.micro_f1:.4f} of rows"),
    ]
    if facts.log_loss is not None and facts.brier is not None:
        tiles.append(_tile("Log loss", f"{facts.log_loss:.4f}", "nats a row; lower is better"))
        tiles.append(_tile("Brier score", f"{facts.brier:.4f}", "lower is better"))
    if sure is not None:
        tiles.append(
            _tile("Calibration error", f"{sure.expected_error:.4f}", "expected, in 10 bins")
        )
    rate = facts.rows / max(facts.seconds, 1e-9)
    labels = count_noun(sum(each.support > 0 for each in facts.classes), "label")
    tiles.append(_tile("Rows", f"{facts.rows:,}", f"with {labels}"))
    tiles.append(
        _tile(
            "Rate", f"{float(f'{rate:.2e}'):,.0f}", f"rows a second, {facts.seconds:.2f} s in all"
        )
    )
    names = [_file_name(name) for name in heading.inputs]
    data = {"Rows": f"{facts.rows:,} with {labels}"}
    if names:
        more = f" and {len(names) - FILES} more" if len(names) > FILES else ""
        data["Files"] = ", ".join(names[:FILES]) + more
    return joined(
        head_section("figures", "Figures"),
        element("dl", tiles, class_="tiles"),
        element(
            "div",
            element("div", element("h3", "Model"), _pairs(findings.model)),
            element("div", element("h3", "Data"), _pairs(data), _unknown_labels(facts.unknown)),
            class_="facts",
        ),
    )


def _file_name(name: str) -> str:
    return "standard input" if name == "-" else clip(name, 120)


def _tile(name: str, figure: str, note: str) -> Markup:
    return element(
        "div",
        element("dt", name),
        element("dd", figure, class_="figure"),
        element("dd", note, class_="small"),
    )


def _pairs(rows: dict[str, str]) -> Markup:
    return element(
        "dl",
        [
            (element("dt", name), element("dd", element("bdi", value)))
            for name, value in rows.items()
        ],
    )


def _unknown_labels(unknown: dict[str, int]) -> Markup | None:
    if not unknown:
        return None
    names = [
        (", " if k else "", show_label(label), f" ({count:,})")
        for k, (label, count) in enumerate(list(unknown.items())[:NAMED])
    ]
    more = f" and {len(unknown) - NAMED:,} more" if len(unknown) > NAMED else ""
    rows = sum(unknown.values())
    what = (
        f"{count_noun(rows, 'row')} {'has a label' if rows == 1 else 'have labels'} that the model "
    )
    return element(
        "p",
        element("strong", f"{what}does not know: "),
        names,
        f"{more}. They count as errors; log loss and Brier score leave them out.",
    )
