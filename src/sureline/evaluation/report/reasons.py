"""The sections of a report about reasons: telling features, sure mistakes, unknown words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sureline.evaluation.report.charts import interval, weight_bar
from sureline.evaluation.report.collect import Findings, Told
from sureline.evaluation.report.markup import Markup, clip, element, joined
from sureline.evaluation.report.parts import (
    NAME,
    build_table,
    head_section,
    show_label,
    write_signed,
)
from sureline.evaluation.report.texts import Word

CARDS = 12  # classes whose features are shown at once
LEVELS = (0.25, 0.5, 0.75)  # where a mark becomes stronger


def show_features(findings: Findings) -> Markup:
    """The features that speak most surely for each class."""
    if not any(found for _, found in findings.features):
        return Markup("")
    support = {each.label: each.support for each in findings.facts.classes}
    ranked = sorted(findings.features, key=lambda item: -support.get(item[0], 0))
    few = len(ranked) <= CARDS
    first = findings.features if few else ranked[:CARDS]
    widest = max(
        each.weight + (each.variance or 0.0) ** 0.5
        for _, found in findings.features
        for each in found
    )
    unsure = any(each.variance is not None for _, found in findings.features for each in found)
    order = " less its standard deviation" if unsure else ""
    whisker = " Whiskers reach one standard deviation to both sides." if unsure else ""
    parts = [
        head_section("features", "The most telling features"),
        element(
            "p",
            f"What speaks for each class, in the order of weight{order}.{whisker}",
            class_="note",
        ),
        element("div", [_card(*item, widest) for item in first], class_="cards"),
    ]
    if not few:
        rest = ranked[CARDS:]
        names = {label for label, _ in rest}
        others = [item for item in findings.features if item[0] in names]
        parts.append(
            element(
                "details",
                element("summary", f"The other {len(others):,} classes, by name"),
                element("div", [_card(*item, widest) for item in others], class_="cards"),
            )
        )
    return joined(parts)


def _card(label: Any, found: Sequence[Any], widest: float) -> Markup:
    rows = []
    for each in found:
        deviation = None if each.variance is None else each.variance**0.5
        spread = "" if deviation is None else f" ± {deviation:.2f}"
        rows.append(
            element(
                "tr",
                element("th", element("bdi", clip(each.feature, NAME)), scope="row"),
                element("td", weight_bar(each.weight, deviation, widest)),
                element("td", f"{write_signed(each.weight)}{spread}", class_="n"),
            )
        )
    empty = element("p", "No feature speaks for it.", class_="note")
    table = element("table", element("tbody", rows)) if rows else empty
    return element("div", element("h3", show_label(label)), table)


def show_mistakes(findings: Findings) -> Markup:
    """The mistakes that the model was surest of, with their words marked."""
    parts: list[Any] = [head_section("mistakes", "The mistakes it was surest of")]
    if not findings.mistakes:
        return joined(parts, element("p", "There are no mistakes."))
    parts.append(
        element(
            "p",
            "Look here for labels that are wrong in the data, and for words that mislead. "
            "Features are told by what they add to the lead of the answer over the true label. ",
            "Those that rows write with a value of their own are left out."
            if findings.valued
            else None,
            class_="note",
        )
    )
    if findings.texts:
        unsure = any(each.unsure for told in findings.mistakes for each in told.words)
        strange = any(each.strange for told in findings.mistakes for each in told.words)
        parts.append(
            element(
                "p",
                element("span", element("mark", "towards the answer", class_="t t3")),
                element("span", element("mark", "towards the true label", class_="a a3")),
                element("span", element("mark", "thin", class_="t q"), " not sure")
                if unsure
                else None,
                element("span", element("span", "dotted", class_="u"), " unknown to the model")
                if strange
                else None,
                class_="legend",
            )
        )
    items = [element("li", _mistake(told)) for told in findings.mistakes]
    return joined(parts, element("ol", items, class_="mistakes"))


def _mistake(told: Told) -> Markup:
    mistake = told.mistake
    sure = (
        f", score {write_signed(mistake.margin)}"
        if mistake.probability is None
        else f", {_chance(mistake.probability)} sure"
    )
    times = f", {mistake.times:,} times" if mistake.times > 1 else ""
    source = f" of {mistake.source}" if mistake.source else ""
    where = f"row {mistake.number:,}{source}{times}"
    pulls = [
        (
            ", " if k else "",
            element("bdi", clip(each.feature, NAME)),
            f" {write_signed(each.share)}",
            "" if each.deviation is None else f" ± {each.deviation:.2f}",
        )
        for k, each in enumerate(told.pulls)
    ]
    text = None
    if told.words:
        tail = element("span", "…", class_="gap") if told.cut else None
        text = element("p", [_word(word) for word in told.words], tail, dir="auto", class_="text")
    elif isinstance(mistake.row, str):
        text = element("p", "(an empty text)", class_="text soft")
    return joined(
        element(
            "p",
            "Answered ",
            element("strong", show_label(mistake.predicted)),
            f"{sure}; true is ",
            element("strong", show_label(mistake.true)),
            ". ",
            element("span", element("bdi", where), class_="where"),
            class_="verdict",
        ),
        text,
        element("p", "Strongest: ", pulls, class_="pulls") if pulls else None,
    )


def _chance(probability: float) -> str:
    """A probability that is never rounded to certainty."""
    if probability >= 0.9995:
        return "over 99.9%" if probability < 1.0 else "100%"
    return f"{probability:.1%}"


def _word(word: Word) -> Any:
    if word.gap:
        return element("span", " … ", class_="gap")
    if word.strength:
        kind = "t" if word.strength > 0 else "a"
        level = 1 + sum(abs(word.strength) >= limit for limit in LEVELS)
        doubt = " q" if word.unsure else ""
        return element("mark", word.text, class_=f"{kind} {kind}{level}{doubt}")
    if word.strange:
        return element("span", word.text, class_="u")
    return word.text


def show_strange_words(findings: Findings) -> Markup:
    """Words that the model never met, and what they do to the error."""
    found = findings.strange
    if found is None:
        return Markup("")
    share = found.strange / max(found.words, 1)
    parts: list[Any] = [head_section("unknown", "Unknown words")]
    parts.append(
        element(
            "p",
            f"Of {found.words:,} words, each counted once a text, the model had never met "
            f"{found.strange:,} ({share:.2%}).",
        )
    )
    if not found.strange:
        return joined(parts)
    rows = [
        element(
            "tr",
            element(
                "td",
                "none" if not high else f"to {high:.0%}" if not low else f"{low:.0%} to {high:.0%}",
            ),
            element("td", f"{count:,}", class_="n"),
            element("td", f"{wrong / count:.2%}", class_="n"),
            element("td", "{:.2%} to {:.2%}".format(*interval(wrong, count)), class_="n"),
        )
        for low, high, count, wrong in found.shares
        if count
    ]
    head = ("Unknown words", "Rows", "Error", "95% interval")
    words = [
        element(
            "li", element("bdi", clip(word, NAME)), element("span", f" {count:,}", class_="soft")
        )
        for word, count in found.frequent
    ]
    return joined(
        parts,
        build_table(
            head, (None, "n", "n", "n"), rows, "The error by the share of unknown words in a row"
        ),
        element("h3", "The most frequent, with the number of rows"),
        element("ul", words, class_="words"),
    )
