"""Writes a page for every update rule, and a table of all rules, from the rules' own files.

`conf.py` calls `write_pages` before each build, so a new rule file has a page at once.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sureline
from sureline.estimators import classifier_for
from sureline.rules import COVARIANCES, BatchRule, Rule, batch_rules, rules

KINDS = {
    "diagonal-kl": "One variance per feature: the diagonal of the precision after the step.",
    "diagonal-l2": "One variance per feature: the diagonal of the covariance after the step.",
    "diagonal-exact": "One variance per feature: the optimum among diagonal covariances.",
    "full": "The full matrix, for dense inputs of up to a few thousand features.",
}
NONE = "None: Σ = I, so there are no variances and no probabilities."
OWN = (
    "None: the rule keeps other numbers for every feature. They are not variances, so there are no "
    "probabilities."
)
SCHEMES = {
    "sequential": "One step per rival, each from the result of the previous one.",
    "parallel": "All steps start from the same model and are averaged.",
    "exact": "One step for all rivals: the optimum under all their constraints at once.",
    "one-vs-rest": "No rivals: every class learns to separate itself from all others.",
}
STRONGEST = (
    "The rule compares an example with its strongest rival only, so `competitors` must be 1 "
    'and `scheme` must be `"sequential"`; or every class with all others, by '
    '`scheme="one-vs-rest"`.'
)
SLOTS = (
    "Two classes share one column. When a third arrives, each of the two gets its own, with half "
    "the score, negated for the first. Merged models become one model with the merged weights. "
    "This function makes a column with given weights."
)
WEIGHTS = {
    "cost": "It enters the step as `c`; the differences below show how. 0 leaves the example out.",
    "relative-cost": (
        "It enters the step as `c`, relative to the largest weight; the differences below show "
        "how. `fit` divides all weights by the largest if that is above 1; `partial_fit` accepts "
        "weights from 0 to 1. 0 leaves the example out."
    ),
    "share": (
        "It is a share from 0 to 1: the fraction of the step from the old Gaussian to the one that "
        "satisfies the constraint. `fit` divides all weights by the largest if that is above 1; "
        "`partial_fit` accepts weights from 0 to 1. 0 leaves the example out."
    ),
}
KIND_OF_WEIGHT = {
    "cost": "a cost",
    "relative-cost": "a cost, relative to the largest",
    "share": "a share, relative to the largest",
}
PROX = "After a gradient step to (μ̃, σ̃), the terms of volume and size are minimised exactly."
PRIMAL = (
    "The exact solver moves in the dual; this gives the interval of a dual point, the largest "
    "curvature of the dual, and the half width of a feature without examples."
)
INDEX = """\
# Update rules

A rule determines how an example changes the model. Each is one file in `src/sureline/rules`, and
each page here is generated from that file: the problem, the source of the step, the check that the
step is optimal, and every difference from the paper.

## Every combination

The table has all combinations of a rule, a covariance and a scheme. A cell lists the schemes
that exist: {legend}. The first three work with any number of competitors; **1** is `sequential`
with the strongest rival only. A combination that is not in the table does not exist; using it
raises an {{py:class}}`~sureline.InvalidParameter` that lists those that do. The scheme matters only
with more than two classes.

{table}

Rules with a mark under *none* keep no variance, so they have no `variance_`,
`decision_distribution` or `predict_proba`. Some of them keep other numbers for every
feature, which are not variances either: {own}.

## The weight of an example

The weight c of an example is the product of its `sample_weight` and its `class_weight`. Its effect
depends on the problem that the rule solves; see [Concepts](../concepts.md#example-weights).

{weights}

## Solved over all examples at once

A box of weights is not an online rule: it has no covariance and no scheme, but an interval for
every weight, solved over a whole sample. [A box of weights](../box.md) describes how to use it.

{boxes}

## More

[Concepts](../concepts.md#covariances) describes the covariances, and
[Many classes](../many-classes.md#schemes) the schemes.

```{{toctree}}
:hidden:

{pages}
```
"""
WEIGHT = re.compile(r"\bweight c\b|\bweight of an example\b")
LABELS = ("Problem", "Symbols", "Differs", "Cite")


def write_pages(folder: Path) -> list[Path]:
    """Write one page per rule and `index.md` into `folder`, and remove pages of former rules."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"index": index_page(rules())}
    pages |= {name: rule_page(rule) for name, rule in rules().items()}
    pages |= {name: batch_page(rule) for name, rule in batch_rules().items()}
    written = []
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        written.append(path)
    for path in set(folder.glob("*.md")) - set(written):
        path.unlink()
    return written


def index_page(known: dict[str, Rule]) -> str:
    """Which rules there are, who offers them, and every combination that exists."""
    rows = []
    for name, rule in known.items():
        marks = [mark(rule, covariance) for covariance in (*COVARIANCES, "identity")]
        rows.append([f"[`{name}`]({name}.md)", call(rule, linked=True), *marks])
    heads = ["Rule", "Offered by", *(f"`{column}`" for column in COVARIANCES), "none"]
    own = [f"[`{name}`]({name}.md)" for name, rule in known.items() if rule.kernel is not None]
    return INDEX.format(
        legend=", ".join(f"**{letter(scheme)}** `{scheme}`" for scheme in SCHEMES),
        table="\n".join(table(heads, rows, centred=len(heads) - 2)),
        own=", ".join(own),
        weights="\n".join(table(["Rule", "A weight is", "What it does"], weights(known))),
        boxes="\n".join(
            table(
                ["Rule", "Offered by"],
                [[f"[`{n}`]({n}.md)", call(r, linked=True)] for n, r in batch_rules().items()],
            )
        ),
        pages="\n".join(f"{name} <{name}>" for name in [*known, *batch_rules()]),
    )


def weights(known: dict[str, Rule]) -> list[list[str]]:
    """What a weight means for each rule: its kind, and the differences that mention it."""
    rows = []
    for name, rule in known.items():
        found = [text for text in rule.paragraphs("Differs") if WEIGHT.search(text)]
        words = " ".join(escaped(capitalised(text)) for text in found) or "–"
        rows.append([f"[`{name}`]({name}.md)", KIND_OF_WEIGHT[rule.weight], words])
    return rows


def letter(scheme: str) -> str:
    """How the table of combinations writes a scheme."""
    return scheme[0].upper()


def mark(rule: Rule, covariance: str) -> str:
    """The cell of a rule and a covariance in the table of combinations."""
    marks = [letter(scheme) for scheme in schemes(rule, covariance)]
    if not rule.several:
        marks = ["1" if each == "S" else each for each in marks]
    return "\N{NO-BREAK SPACE}".join(marks) or "–"


def schemes(rule: Rule, covariance: str) -> list[str]:
    """The schemes that `rule` has with `covariance`."""
    return [scheme for scheme, kept in rule.schemes.items() if covariance in kept]


def rule_page(rule: Rule) -> str:
    """The page of a rule, from its file."""
    lines = [f"# {escaped(rule.title)}", ""]
    lines += [f"Rule `{rule.name}`, in {code_path(rule.module)}.", ""]
    for text in unlabelled(rule):
        lines += [escaped(text), ""]
    for text in rule.paragraphs("Problem"):
        lines += ["## Problem", "", escaped(capitalised(text)), ""]
    for text in rule.paragraphs("Symbols"):
        lines += ["## Symbols", "", *symbols(text), ""]
    lines += ["## How to use it", "", *offered(rule), ""]
    rows = [
        [f"`{p.name}`", p.allowed.replace("inf", "∞"), shown(p.preset), escaped(p.meaning)]
        for p in rule.parameters
    ]
    rows += [choice(rule, name, words) for name, words in rule.choices.items()]
    if rows:
        lines += [*table(["Parameter", "Range", "Default", "Meaning"], rows), ""]
    if rule.kernel is not None or "identity" in rule.covariances:
        lines += ["**The covariance.** " + (OWN if rule.kernel is not None else NONE), ""]
    else:
        rows = [
            [f"`{name}`", escaped(KINDS.get(name, "")), ", ".join(schemes(rule, name))]
            for name in rule.covariances
        ]
        lines += [*table(["Covariance", "What is kept", "With the schemes"], rows), ""]
    lines += [*many_classes(rule), ""]
    lines += [f"**The weight of an example.** {WEIGHTS.get(rule.weight, WEIGHTS['cost'])}", ""]
    lines += [*sources("The step", rule, step_functions(rule)), ""]
    if rule.joint:
        solving = [*rule.inlined, *dict.fromkeys(rule.joint.values())]
        lines += [*sources("The step against several rivals at once", rule, solving), ""]
    if rule.kernel is not None:
        heading = "When a third class arrives, or models are merged"
        lines += [*sources(heading, rule, [rule.kernel.slots], SLOTS), ""]
    checks = [function for function in (rule.residual, rule.exact_residual) if function]
    if checks:
        lines += [*sources("The check that it is optimal", rule, checks), ""]
    lines += tail(rule)
    if not public(rule):
        reference = f".. autoclass:: sureline.estimators.{rule.estimator}"
        lines += ["## The class", "", "```{eval-rst}", reference, "   :no-index:", "```", ""]
    return "\n".join(lines)


def batch_page(rule: BatchRule) -> str:
    """The page of a box rule, from its file."""
    lines = [f"# {escaped(rule.title)}", ""]
    lines += [f"Rule `{rule.name}`, in {code_path(rule.module)}.", ""]
    for text in rule.paragraphs("Problem"):
        lines += ["## Problem", "", escaped(capitalised(text)), ""]
    for text in rule.paragraphs("Symbols"):
        lines += ["## Symbols", "", *symbols(text), ""]
    lines += ["## How to use it", "", *offered(rule), ""]
    rows = [
        [f"`{p.name}`", p.allowed.replace("inf", "∞"), shown(p.preset), escaped(p.meaning)]
        for p in rule.parameters
    ]
    lines += [*table(["Parameter", "Range", "Default", "Meaning"], rows), ""]
    inlined = [*rule.inlined, rule.prox]
    lines += [*sources("The step of the stochastic solver", rule, inlined, PROX), ""]
    exact = [rule.primal, rule.steepest, rule.start]
    lines += [*sources("The interval of a dual point", rule, exact, PRIMAL), ""]
    lines += [*sources("What an interval costs", rule, [rule.cost]), ""]
    checks = [rule.residual, rule.primal_residual]
    lines += [*sources("The checks that both are optimal", rule, checks), ""]
    return "\n".join([*lines, *tail(rule)])


def tail(rule: Rule | BatchRule) -> list[str]:
    """The differences from the paper and the paper."""
    lines = []
    differences = rule.paragraphs("Differs")
    if differences:
        lines += ["## Differences from the paper", ""]
        lines += [f"{k}. {escaped(capitalised(text))}" for k, text in enumerate(differences, 1)]
        lines += [""]
    citations = rule.paragraphs("Cite")
    if citations:
        lines += ["## Citation", "", *(f"- {escaped(text)}" for text in citations), ""]
    return lines


def unlabelled(rule: Rule) -> Iterator[str]:
    """The paragraphs of the file's head that carry no label, but for its first line."""
    for part in re.split(r"\n\s*\n", rule.text)[1:]:
        if not part.startswith(tuple(f"{label}: " for label in LABELS)):
            yield " ".join(part.split())


def symbols(text: str) -> list[str]:
    """The first sentence as a list, one symbol per item; the others as they are."""
    head, *rest = re.split(r"\.\s+(?=[A-Z])", text, maxsplit=1)
    items = [f"- {escaped(item)}" for item in head.rstrip(".").split("; ")]
    return [*items, "", *map(escaped, rest)]


def offered(rule: Rule | BatchRule) -> list[str]:
    """The call that gives the rule, and where its class is described."""
    home = "sureline" if public(rule) else "sureline.estimators"
    place = f"at {{py:class}}`~sureline.{rule.estimator}`" if public(rule) else "below"
    return [
        "```python",
        f"from {home} import {rule.estimator}",
        "",
        f"model = {call(rule)}",
        "```",
        "",
        f"All parameters of the class are listed {place}.",
    ]


def choice(rule: Rule, name: str, words: tuple[str, ...]) -> list[str]:
    """The row of a parameter that is a word; its description is in the class."""
    fields: Any = dataclasses.fields(classifier_for(rule.name))  # type: ignore[arg-type]
    (field,) = [field for field in fields if field.name == name]
    among = " or ".join(f"`{python(word)}`" for word in words)
    return [f"`{name}`", among, f"`{python(field.default)}`", escaped(field.metadata["meaning"])]


def many_classes(rule: Rule) -> list[str]:
    """Which schemes the rule has; the table of covariances shows with which of them."""
    if not rule.several:
        return [f"**Many classes.** {STRONGEST}"]
    text = "An example is compared with `competitors` rivals."
    rows = [[f"`{name}`", SCHEMES.get(name, "")] for name, kept in rule.schemes.items() if kept]
    return [f"**Many classes.** {text}", "", *table(["Scheme", "What it does"], rows)]


def public(rule: Rule | BatchRule) -> bool:
    """Whether the rule's class has its own page in the API reference."""
    return rule.estimator in sureline.__all__


def call(rule: Rule | BatchRule, *, linked: bool = False) -> str:
    """The class that offers `rule`, with the settings that choose it."""
    settings = ", ".join(f"{key}={python(value)}" for key, value in rule.settings.items())
    if not linked:
        return f"{rule.estimator}({settings})"
    name = f"{{py:class}}`~sureline.{rule.estimator}`" if public(rule) else f"`{rule.estimator}`"
    return f"{name} `{settings}`" if settings else name


def shown(value: float | str) -> str:
    """A default, of a number or of a word in its place."""
    return f"`{python(value)}`" if isinstance(value, str) else f"{value:g}"


def python(value: object) -> str:
    """A setting as one writes it."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def step_functions(rule: Rule) -> list[Callable[..., Any]]:
    """What the compiled loops run for every example."""
    if rule.kernel is not None:
        kernel = rule.kernel
        return [*kernel.inlined, kernel.score, kernel.update, kernel.weights]
    return [function for function in (rule.step, rule.exact) if function]


def sources(
    heading: str, rule: Rule | BatchRule, functions: list[Callable[..., Any]], words: str = ""
) -> list[str]:
    """The source of `functions`, and where it is another rule's, its file."""
    lines = [f"## {heading}", *(["", words] if words else [])]
    for function in functions:
        if function.__module__ != rule.module:
            lines += ["", f"From {code_path(function.__module__)}:"]
        lines += ["", "```python", *inspect.getsource(function).rstrip().splitlines(), "```"]
    return lines


def code_path(module: str) -> str:
    """Where a module's file lies in the repository."""
    return f"`src/{module.replace('.', '/')}.py`"


def table(heads: list[str], rows: list[list[str]], *, centred: int = 0) -> list[str]:
    """A Markdown table whose last `centred` columns are centred."""
    rules_below = ["---"] * (len(heads) - centred) + [":-:"] * centred
    return [f"| {' | '.join(cells)} |" for cells in (heads, rules_below, *rows)]


def capitalised(text: str) -> str:
    """A sentence with a capital at its head, unless it starts with a name or a formula."""
    word = re.match(r"(?!argmin)[a-z]+[ ,]", text)
    return text[:1].upper() + text[1:] if word else text


def escaped(text: str) -> str:
    """Plain words as Markdown; text in backticks stays code."""
    parts = text.split("`")
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"([\\*_\[\]<>|#$])", r"\\\1", parts[k])
    return "`".join(parts)
