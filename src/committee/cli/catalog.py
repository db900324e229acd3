"""The estimators by the names that the command knows them by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import committee
from committee.cli.errors import USAGE, CommandError, suggest

if TYPE_CHECKING:
    from committee.cli.problem import Task

__all__ = ["find_class", "list_estimators"]

# Committees of members that somebody has to name, which a command line cannot.
_NEED_MEMBERS = frozenset({"ensemble-selection", "stacking", "super-learner", "voting"})
_SHORT_NAMES = {"tree": "decision-tree", "stump": "decision-stump"}
_ENDINGS: dict[Task, tuple[str, ...]] = {
    "classification": ("Classifier", "NB"),
    "regression": ("Regressor",),
}


def list_estimators() -> dict[str, dict[Task, str]]:
    """The class of each estimator for each task, by its name in the command.

    Nothing is imported: the names follow from those of the exported classes.

    Returns
    -------
    dict of str to dict
        For instance ``"random-forest"`` to ``{"classification": "RandomForestClassifier", …}``.
    """
    found: dict[str, dict[Task, str]] = {}
    for exported in committee.__all__:
        for task, endings in _ENDINGS.items():
            if exported.endswith(endings):
                name = _write_name(exported)
                if name not in _NEED_MEMBERS:
                    found.setdefault(name, {})[task] = exported
    return found


def find_class(name: str, task: Task) -> str:
    """The class that an ``--estimator`` means.

    Parameters
    ----------
    name : str
        As in :func:`list_estimators`, or the name of a class; small letters and hyphens do not matter.
    task : "classification" or "regression"
        What is to be predicted.

    Returns
    -------
    str
        Name of a class of this library.
    """
    known = list_estimators()
    short = {_simplify(alias): full for alias, full in _SHORT_NAMES.items()}
    spelt = short | {_simplify(full): full for full in known}
    spelt |= {_simplify(exported): full for full, classes in known.items() for exported in classes.values()}
    full = spelt.get(_simplify(name))
    if full is None and _simplify(name).removesuffix("classifier").removesuffix("regressor") in map(
        _simplify, _NEED_MEMBERS
    ):
        raise CommandError(
            f"The --estimator '{name}' is a committee of members that have to be named, which the command cannot.",
            f"Use it from Python, or one of: {', '.join(sorted(known))}.",
            USAGE,
        )
    if full is None:
        raise CommandError(
            f"The --estimator '{name}' is not known.", suggest(name, sorted(known), most=len(known)), USAGE
        )
    if task not in known[full]:
        able = ", ".join(sorted(other for other, classes in known.items() if task in classes))
        kind, other = ("classes", "a quantity") if task == "regression" else ("quantities", "a class")
        raise CommandError(
            f"The --estimator '{name}' predicts {kind} only, and the target is {other}.",
            f"Choose one of: {able}; or another --task.",
            USAGE,
        )
    return known[full][task]


def _write_name(exported: str) -> str:
    """``ExtraTreesClassifier`` as ``extra-trees``, ``BernoulliNB`` as ``bernoulli-nb``."""
    stem = exported.removesuffix("Classifier").removesuffix("Regressor")
    # The two boosters whose names run on are one word to everybody.
    stem = stem.replace("AdaBoost", "Adaboost").replace("BoosTexter", "Boostexter")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", stem).lower()


def _simplify(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()
