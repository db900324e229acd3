"""The reference: a page for each public name, made from ``__all__`` of the package and of its public packages."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import committee

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx

# Title, where its names are defined, the chapter that explains them.
GROUPS = (
    ("AutoML", "committee.automatic", "/combining"),
    ("Trees and weak learners", "committee.learners", "/methods/trees"),
    ("Bagging", "committee.ensembles.bagging", "/methods/bagging"),
    ("Forests", "committee.ensembles.forest", "/methods/forests"),
    ("AdaBoost and arcing", "committee.ensembles.adaboost", "/methods/adaboost"),
    ("Boosting of text", "committee.ensembles.boostexter", "/text"),
    ("Gradient boosting", "committee.ensembles.boosting", "/methods/gradient_boosting"),
    ("Additive models", "committee.ensembles.additive", "/howto/glass_box"),
    ("Combining models", "committee.ensembles.combining", "/methods/stacking"),
    ("Inspection", "committee.inspection", "/methods/understanding"),
    ("Plots", "committee.plots", "/gallery/index"),
    ("Model files", "committee.io", "/model_files"),
    ("Large tables", "committee.data", "/big_data"),
    ("Clusters", "committee.engines", "/cluster"),
    ("Predictions of partitions", "committee.ensembles.partition_predictions", "/cluster"),
    ("Scores of known predictions", "committee.scoring", None),
    ("Searches over parameters", "committee.search", "/howto/tuning"),
    ("Bundled tables", "committee.datasets", None),
    ("Errors", "committee.exceptions", None),
)
CHAPTERS = {
    "BernoulliNB": "/methods/naive_bayes",
    "SingleFeatureNB": "/methods/naive_bayes",
    "VotingClassifier": "/methods/voting",
    "VotingRegressor": "/methods/voting",
    "measure_jury": "/methods/voting",
    "JuryCurve": "/methods/voting",
    "measure_diversity": "/methods/voting",
    "Diversity": "/methods/voting",
    "estimate_bias_variance": "/methods/bias_variance",
    "measure_bag_variance": "/methods/bias_variance",
    "BiasVariance": "/methods/bias_variance",
    "BagVariance": "/methods/bias_variance",
    "estimate_bootstrap_error": "/methods/bagging",
    "BootstrapError": "/methods/bagging",
    "vc_bound": "/methods/adaboost",
    "edge_bound": "/methods/adaboost",
    "measure_margins": "/methods/adaboost",
    "suspect_labels": "/methods/adaboost",
    "weigh_rows": "/methods/adaboost",
}
_NOT_DOCUMENTED = {"__version__"}


@dataclass(frozen=True)
class PublicName:
    """A public name: where users import it from, what it is, where it is defined."""

    package: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.package}.{self.name}"

    @property
    def value(self) -> object:
        return getattr(import_module(self.package), self.name)

    @property
    def home(self) -> str:
        return str(getattr(self.value, "__module__", self.package))


def list_packages() -> list[str]:
    """The packages whose ``__all__`` is public; that of the whole comes first, as the shortest path to a name."""
    return ["committee", *sorted(f"committee.{name}" for name in committee._PACKAGES), "committee.exceptions"]


def list_names() -> list[PublicName]:
    """Each public name once, with the shortest path to it."""
    found: dict[int, PublicName] = {}
    for package in list_packages():
        for name in import_module(package).__all__:
            public = PublicName(package, name)
            if name not in _NOT_DOCUMENTED:
                found.setdefault(id(public.value), public)
    return list(found.values())


def group_names(names: list[PublicName]) -> dict[str, list[PublicName]]:
    """The names under the titles of the reference; those of a package that has no title under its own name."""
    groups: dict[str, list[PublicName]] = {title: [] for title, *_ in GROUPS}
    for public in names:
        homes = (public.home, public.package)
        fitting = [title for home in homes for title, prefix, _ in GROUPS if f"{home}.".startswith(f"{prefix}.")]
        groups.setdefault(fitting[0] if fitting else public.package, []).append(public)
    return {title: sorted(found, key=lambda public: public.name.lower()) for title, found in groups.items() if found}


def list_members(cls: type) -> list[str]:
    """Public methods and properties that are defined in this library."""
    members: dict[str, None] = {}
    for owner in cls.__mro__:
        if owner.__module__.partition(".")[0] != "committee":
            continue
        for name, value in vars(owner).items():
            described = inspect.getdoc(getattr(cls, name, None)) if not name.startswith("_") else None
            if described and (callable(value) or hasattr(value, "__get__")):
                members.setdefault(name)
    return sorted(members)


def find_related(public: PublicName, group: list[PublicName]) -> list[PublicName]:
    """The other names of a family that begin alike, such as the regressor of a classifier."""
    stem = re.sub(r"(Classifier|Regressor|Display|NB|_bound|_importance|_values)$", "", public.name)
    start = re.match(r"[A-Z][a-z]+|[a-z]+", stem)
    alike = [other for other in group if start and other.name.startswith(start[0]) and other.name != public.name]
    same = [other for other in group if other.name != public.name and other.name.endswith(public.name[-6:])]
    return list(dict.fromkeys([*alike, *same]))[:6]


def write_page(public: PublicName, title: str, group: list[PublicName]) -> str:
    """The source of the page of a name."""
    value = public.value
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    if isinstance(value, type) and issubclass(value, BaseException):
        kind = "exception"
    lines = [public.name, "=" * len(public.name), "", f".. currentmodule:: {public.package}", ""]
    lines.append(f".. auto{kind}:: {public.name}")
    if inspect.isclass(value) and public.home.startswith("committee"):
        lines.append(f"   :members: {', '.join(list_members(value))}" if list_members(value) else "")
    chapter = CHAPTERS.get(public.name) or next((place for known, _, place in GROUPS if known == title), None)
    links = [f":py:obj:`~{other.path}`" for other in find_related(public, group)]
    links += [f"the chapter :doc:`{chapter}`"] if chapter else []
    if links:
        lines += ["", ".. seealso:: " + ", ".join(links)]
    return "\n".join(lines) + "\n"


def write_index(groups: dict[str, list[PublicName]]) -> str:
    """The source of the list of all names."""
    lines = ["Reference", "=========", "", "All public names. Each has a page with an example.", ""]
    for title, group in groups.items():
        lines += [title, "-" * len(title), "", ".. autosummary::", ""]
        lines += [f"   ~{public.path}" for public in group]
        lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {public.path}" for public in group), ""]
    return "\n".join(lines) + "\n"


def write_reference(folder: Path) -> None:
    """Write the pages that have changed, and remove those of names that are gone."""
    groups = group_names(list_names())
    pages = {"index": write_index(groups)}
    for title, group in groups.items():
        pages |= {public.path: write_page(public, title, group) for public in group}
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _cite_papers(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Keys of papers in docstrings become links to the list of references."""
    cited = re.compile(r"\[((?:[A-Z][A-Za-z]+\d{4}[a-z]?(?:, )?)+)\]_?")
    for at, line in enumerate(lines):
        lines[at] = cited.sub(lambda found: f":cite:p:`{found[1].replace(' ', '')}`", line)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _cite_papers, priority=100)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
