"""How the documentation is built; `make docs` runs it."""

import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import sureline

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "sureline"
project_copyright = "2026, the sureline authors"
author = "The sureline authors"
version = release = installed("sureline")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "py:obj"

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"sureline {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sphinx = False


# Methods that only some objects have look, on the class, as if all had them: ask the objects.
METHODS = (
    "fit",
    "partial_fit",
    "learn_one",
    "forget_class",
    "predict",
    "predict_one",
    "predict_ranking",
    "predict_proba",
    "predict_proba_one",
    "decision_function",
    "decision_distribution",
    "worst_margin",
    "pac_bayes_bound",
    "explain",
    "top_features",
    "transform",
    "get_feature_names_out",
    "save",
    "merge",
)
# Settings under which a class has all its methods.
SETTINGS = {"BoxClassifier": {"solver": "comid"}}
autosummary_context = {
    "methods_by_class": {
        name: [
            method
            for method in METHODS
            if hasattr(getattr(sureline, name)(**SETTINGS.get(name, {})), method)
        ]
        for name in sureline.__all__
        if name.endswith(("Classifier", "Features"))
    }
}


# numpydoc shows a property's own sentence in place of the one that the class's documentation has
# for it, except among "Other Parameters": so the attributes pass through under that name.
def hide_attributes(_app: Any, kind: str, _name: str, _obj: Any, _options: Any, lines: Any) -> None:
    """Before numpydoc reads a class's documentation."""
    if kind == "class" and "Attributes" in lines:
        at = lines.index("Attributes")
        lines[at : at + 2] = ["Other Parameters", "----------------"]


def show_attributes(_app: Any, kind: str, _name: str, _obj: Any, _options: Any, lines: Any) -> None:
    """After numpydoc has written it."""
    if kind == "class":
        lines[:] = [line.replace(":Other Parameters:", ":Attributes:") for line in lines]


def write_rule_pages(_app: Any) -> None:
    """Write the pages of the rules before the sources are read."""
    from rule_pages import write_pages

    write_pages(HERE / "rules")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", write_rule_pages)
    app.connect("autodoc-process-docstring", hide_attributes, priority=400)
    app.connect("autodoc-process-docstring", show_attributes, priority=600)
