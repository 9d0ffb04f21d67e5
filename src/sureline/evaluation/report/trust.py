"""The sections of a report about how far answers can be trusted: how sure, and along the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sureline.evaluation.report.charts import (
    along_chart,
    coverage_chart,
    interval,
    reliability_chart,
    training_chart,
)
from sureline.evaluation.report.collect import Findings
from sureline.evaluation.report.confidence import listed
from sureline.evaluation.report.counts import Facts
from sureline.evaluation.report.markup import Markup, element, joined
from sureline.evaluation.report.parts import (
    build_table,
    head_section,
)

FEWEST = 40  # rows along which an error is drawn


def show_sureness(findings: Findings) -> Markup:
    """How often answers are right, by how sure the model is of them."""
    facts, sure = findings.facts, findings.calibration
    parts: list[Any] = [head_section("sureness", "How sure, how right")]
    pair = []
    if sure is not None:
        mean = float(np.nansum(sure.confidence * sure.counts) / sure.counts.sum())
        parts.append(element("p", _reading(mean, facts)))
        rows = [
            element(
                "tr",
                element("td", f"{sure.edges[k]:.0%} to {sure.edges[k + 1]:.0%}"),
                element("td", f"{sure.counts[k]:,}", class_="n"),
                element("td", f"{sure.confidence[k]:.1%}", class_="n"),
                element("td", f"{sure.accuracy[k]:.1%}", class_="n"),
            )
            for k in np.flatnonzero(sure.counts).tolist()
        ]
        head = ("Probability", "Answers", "Mean", "Right")
        pair.append(
            element(
                "figure",
                element("h3", "Reliability"),
                reliability_chart(sure),
                element(
                    "figcaption",
                    "Dots on the dashed line are as often right as they are sure; below it the "
                    "model is too sure. Whiskers are 95% intervals.",
                ),
                element(
                    "details",
                    element("summary", "The numbers"),
                    build_table(head, (None, "n", "n", "n"), rows, None),
                ),
            )
        )
    else:
        parts.append(
            element(
                "p",
                "The rule of this model keeps no variances and so has no probabilities. Answers "
                "are ranked by their score.",
            )
        )
    pair.append(_coverage(findings))
    return joined(parts, element("div", pair, class_="pair"))


def _reading(mean: float, facts: Facts) -> str:
    """What the difference between confidence and accuracy means."""
    low, high = interval(facts.correct, facts.rows)
    said = f"The model gives its answers {mean:.1%} on average and is right in {facts.accuracy:.1%}"
    if mean > high + 0.005:
        return f"{said}: it is too sure of itself."
    if mean < low - 0.005:
        return f"{said}: it is more often right than it says."
    return f"{said}: on the whole, it knows how sure it can be."


def _coverage(findings: Findings) -> Markup:
    likely = findings.calibration is not None
    rows = []
    for each in listed(findings.coverage):
        # Rounded down, so that who uses it answers no fewer rows.
        limit = (
            f"{np.floor(1e4 * each.threshold) / 1e4:.4f}" if np.isfinite(each.threshold) else "–"
        )
        rows.append(
            element(
                "tr",
                element("td", f"{each.share:.1%}", class_="n"),
                element("td", limit, class_="n"),
                element("td", f"{each.rows:,}", class_="n"),
                element("td", f"{each.wrong:,}", class_="n"),
                element("td", f"{each.error:.2%}", class_="n"),
            )
        )
    limit = "Probability from" if likely else "Score from"
    use = (
        [
            "A probability from the table can be given to ",
            element("code", "sureline predict --min-confidence"),
            ", which then leaves labels that are less sure empty.",
        ]
        if likely
        else None
    )
    return element(
        "figure",
        element("h3", "Answering only when sure"),
        coverage_chart(findings.coverage, findings.facts.error),
        element(
            "figcaption",
            "How large the error is when only the surest rows are answered. ",
            use,
        ),
        element(
            "details",
            element("summary", "The numbers"),
            build_table(
                ("Answered", limit, "Rows", "Mistakes", "Error"),
                ("n", "n", "n", "n", "n"),
                rows,
                None,
            ),
        ),
    )


def show_curves(findings: Findings) -> Markup:
    """The error while learning, where it is known, and along the evaluated rows."""
    facts = findings.facts
    pair = []
    if findings.training:
        later = (
            " After the first pass the examples have been met before, so that the error there is "
            "no estimate for new ones."
            if findings.passes > 1
            else ""
        )
        pair.append(
            element(
                "figure",
                element("h3", "While learning"),
                training_chart(findings.training, findings.passes),
                element(
                    "figcaption",
                    "Each training example was answered just before it was learned. The line is "
                    "the error of all so far, rings that of the examples since the point before."
                    f"{later}",
                ),
            )
        )
    if facts.rows >= FEWEST:
        pair.append(
            element(
                "figure",
                element("h3", "Along the evaluated rows"),
                along_chart(findings.along, facts.error),
                element(
                    "figcaption",
                    "The model does not learn here. Steps that leave the band (where 95 of 100 "
                    "would lie by chance) tell of rows that come sorted, or of a change in the "
                    "data. The dashed line is the error of all rows.",
                ),
            )
        )
    if not pair:
        return Markup("")
    return joined(head_section("curves", "Curves"), element("div", pair, class_="pair"))
