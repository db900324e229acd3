"""The public surface: what there is, and that each part of it is explained and its examples run."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import sys
from pathlib import Path

import pytest
from extensions.reference import list_names
from sklearn.base import BaseEstimator

import committee

# A name that comes or goes is a decision: it is made here, and told in the CHANGELOG.
SURFACE = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "ArcingClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "BernoulliNB",
    "BinnedFile",
    "BoosTexterClassifier",
    "CommitteeClassifier",
    "CommitteeRegressor",
    "DecisionStumpClassifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "DistributionalBoostingRegressor",
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "ExplainableBoostingClassifier",
    "ExplainableBoostingRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "GradientBoostingSurvivalAnalysis",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "OrdinalGradientBoostingClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "RandomTreesEmbedding",
    "SingleFeatureNB",
    "StackingClassifier",
    "StackingRegressor",
    "SuperLearnerClassifier",
    "SuperLearnerRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "bin_table",
    "certify",
    "cluster",
    "estimate_bias_variance",
    "estimate_bootstrap_error",
    "estimate_fit",
    "export_graphviz",
    "export_text",
    "forget",
    "load",
    "make_survival_target",
    "measure_bag_variance",
    "measure_diversity",
    "measure_jury",
    "memory_limit",
    "model_card",
    "plot_tree",
    "predict_partitions",
    "save",
    "show_versions",
    "verify",
]
ESTIMATORS = [name for name in SURFACE if inspect.isclass(getattr(committee, name)) and name != "BinnedFile"]
FUNCTIONS = [name for name in SURFACE if inspect.isfunction(getattr(committee, name))]
# Data have no docstring of their own, and the examples of a class of scikit-learn are not ours.
EXPLAINED = {
    public.path: public.value
    for public in list_names()
    if callable(public.value) and public.home.partition(".")[0] == "committee"
}
MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(committee.__path__, "committee.")
    if found.name not in {"committee._core", "committee.__main__"}
)


def list_sections(text: str) -> set[str]:
    return set(re.findall(r"^([A-Z]\w+)\n-+$", inspect.cleandoc(text), flags=re.M))


def test_the_surface_is_pinned_and_sorted() -> None:
    assert committee.__all__ == SURFACE
    assert sorted(committee.__all__) == SURFACE
    assert set(SURFACE) <= set(dir(committee))


def test_type_checkers_see_what_is_loaded() -> None:
    tree = ast.parse(Path(committee.__file__).read_text(encoding="utf-8"))
    shown = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("committee.")
        for alias in node.names
    }
    assert set(shown) == set(SURFACE) - {"__version__"}
    for name, module in shown.items():
        assert getattr(importlib.import_module(str(module)), name) is getattr(committee, name)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'RandomForrest'"):
        committee.RandomForrest  # noqa: B018


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_are_explained(name: str) -> None:
    cls = getattr(committee, name)
    assert issubclass(cls, BaseEstimator)
    text = cls.__doc__
    assert {"Parameters", "Attributes", "Examples"} <= list_sections(text)
    unexplained = [
        param for param in inspect.signature(cls).parameters if not re.search(rf"^\s*{param} : ", text, re.M)
    ]
    assert not unexplained


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_explained(name: str) -> None:
    assert {"Parameters", "Returns", "Examples"} <= list_sections(getattr(committee, name).__doc__)


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module: str) -> None:
    loaded = importlib.import_module(module)
    if module == "committee.io.c_code.python_module" and (
        sys.platform == "win32" or shutil.which(os.environ.get("CC") or "cc") is None
    ):
        pytest.skip("there is no C compiler cc")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for found in doctest.DocTestFinder().find(loaded):
        if found.examples:  # a runner prepares a debugger for each docstring, which takes longer than most examples
            runner.run(found)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    assert runner.failures == 0


@pytest.mark.parametrize("path", EXPLAINED)
def test_public_names_have_examples_that_run(path: str) -> None:
    text = inspect.cleandoc(EXPLAINED[path].__doc__ or "")  # not getdoc, which would take that of a base class
    assert "Examples" in list_sections(text)
    examples = doctest.DocTestParser().get_examples(text)
    assert any(not example.options.get(doctest.SKIP, False) for example in examples)


def test_names_that_need_no_example_are_known() -> None:
    others = {public.path for public in list_names()} - set(EXPLAINED)
    assert others == {
        "committee.datasets.BUNDLED",
        "committee.datasets.STORED",
        "committee.exceptions.NotFittedError",
    }


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [t for m in MODULES for t in finder.find(importlib.import_module(m)) if t.examples]
    assert len(found) >= len(ESTIMATORS) + len(FUNCTIONS)
