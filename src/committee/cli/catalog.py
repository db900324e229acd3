"""The estimators by their names in the command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import committee
from committee.cli.errors import USAGE, CommandError, suggest

if TYPE_CHECKING:
    from committee.cli.tasks import TaskKind

__all__ = ["find_class", "list_estimators"]

# Ensembles of named members, which cannot be given on a command line.
_NEED_MEMBERS = frozenset({"ensemble-selection", "stacking", "super-learner", "voting"})
_SHORT_NAMES = {"tree": "decision-tree", "stump": "decision-stump"}
_ENDINGS: dict[TaskKind, tuple[str, ...]] = {
    "classification": ("Classifier", "NB"),
    "regression": ("Regressor",),
}
# The classes of further tasks: by the name of their family, and by their own.
_TASK_CLASSES: dict[str, dict[TaskKind, str]] = {
    "gradient-boosting": {
        "rank": "GradientBoostingRanker",
        "survival": "GradientBoostingSurvivalAnalysis",
        "ordinal": "OrdinalGradientBoostingClassifier",
        "distribution": "DistributionalBoostingRegressor",
    },
    "random-forest": {"survival": "RandomSurvivalForest"},
    "gradient-boosting-ranker": {"rank": "GradientBoostingRanker"},
    "gradient-boosting-survival-analysis": {"survival": "GradientBoostingSurvivalAnalysis"},
    "random-survival-forest": {"survival": "RandomSurvivalForest"},
    "ordinal-gradient-boosting": {"ordinal": "OrdinalGradientBoostingClassifier"},
    "distributional-boosting": {"distribution": "DistributionalBoostingRegressor"},
}


def list_estimators() -> dict[str, dict[TaskKind, str]]:
    """The class of each estimator for each task, by its name in the command.

    Names are derived from those of the exported classes, without importing them.

    Returns
    -------
    dict of str to dict
        For instance ``"random-forest"`` to ``{"classification": "RandomForestClassifier", …}``.
    """
    found: dict[str, dict[TaskKind, str]] = {}
    for exported in committee.__all__:
        for task, endings in _ENDINGS.items():
            if exported.endswith(endings):
                name = _write_name(exported)
                if name not in _NEED_MEMBERS:
                    found.setdefault(name, {})[task] = exported
    for name, classes in _TASK_CLASSES.items():
        found[name] = found.get(name, {}) | classes
    return found


def find_class(name: str, task: TaskKind) -> str:
    """The class that an ``--estimator`` names.

    Parameters
    ----------
    name : str
        As in :func:`list_estimators`, or the name of a class; case, hyphens and underscores are ignored.
    task : str
        The kind of prediction.

    Returns
    -------
    str
        Name of a class of this library.
    """
    known = list_estimators()
    short = {_simplify(alias): full for alias, full in _SHORT_NAMES.items()}
    spelt = short | {_simplify(full): full for full in known}
    owners = [(full, exported) for full, classes in known.items() for exported in classes.values()]
    spelt |= {_simplify(exported): full for full, exported in owners if _write_name(exported) == full}
    full = spelt.get(_simplify(name))
    if full is None and _simplify(name).removesuffix("classifier").removesuffix("regressor") in map(
        _simplify, _NEED_MEMBERS
    ):
        raise CommandError(
            f"The --estimator '{name}' is an ensemble of named members, which the command cannot take.",
            f"Use it from Python, or one of: {', '.join(sorted(known))}.",
            USAGE,
        )
    if full is None:
        raise CommandError(
            f"The --estimator '{name}' is not known.", suggest(name, sorted(known), most=len(known)), USAGE
        )
    if task not in known[full]:
        able = ", ".join(sorted(other for other, classes in known.items() if task in classes))
        said = f"The --estimator '{name}' is for --task {' or '.join(known[full])}, not for {task}."
        if task in _ENDINGS and set(known[full]) <= set(_ENDINGS):
            kind, other = ("classes", "numeric") if task == "regression" else ("numbers", "a class")
            said = f"The --estimator '{name}' predicts {kind} only, and the target is {other}."
        raise CommandError(said, f"Choose one of: {able}; or another --task.", USAGE)
    return known[full][task]


def _write_name(exported: str) -> str:
    """``ExtraTreesClassifier`` as ``extra-trees``, ``BernoulliNB`` as ``bernoulli-nb``."""
    stem = exported.removesuffix("Classifier").removesuffix("Regressor")
    # These two names are one word in common use.
    stem = stem.replace("AdaBoost", "Adaboost").replace("BoosTexter", "Boostexter")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", stem).lower()


def _simplify(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()
