"""Docstrings of the public API: parameters, in the order of the signature."""

import inspect
import re

import pytest

import sureline
from sureline import data, estimators, evaluation

SECTION = re.compile(r"Parameters\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", re.DOTALL)


def public():
    """Every public class, method and function that takes arguments, by name."""
    for module in (sureline, data, estimators, evaluation):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                for method, function in inspect.getmembers(value, inspect.isfunction):
                    if not method.startswith("_"):
                        yield f"{name}.{method}", function
            if callable(value):
                yield name, value


def documented(doc):
    """The parameters that a docstring lists."""
    found = SECTION.search(inspect.cleandoc(doc))
    lines = found[1].splitlines() if found else []
    heads = [line.partition(" : ")[0] for line in lines if re.match(r"\S.* : ", line)]
    return [name.strip(" *") for head in heads for name in head.split(",")]


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_are_listed_in_the_order_of_the_signature(name):
    listed = documented(PUBLIC[name].__doc__ or "")
    if listed:
        taken = inspect.signature(PUBLIC[name]).parameters
        assert listed == [each for each in taken if each != "self" and each[0] != "_"]


def test_most_of_the_api_lists_its_parameters():
    listing = [name for name in PUBLIC if documented(PUBLIC[name].__doc__ or "")]
    assert {"TextClassifier", "AROWClassifier.fit", "load", "write_report"} <= set(listing)
