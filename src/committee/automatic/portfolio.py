"""The portfolio: the models that the AutoML estimators may fit, in the order of their expected benefit for the time.

A new one is a line in `PORTFOLIO`. Its out-of-fold predictions come from one of these sources:

``"oob"``
    One fit on samples of the rows gives out-of-bag predictions.
``"stages"``
    Boosting in the folds, with more rounds as long as that helps (`stages.py`); the mean of the folds' models is the
    member, and every stage is a member of its own.
``"folds"``
    One fit for each fold and one more on all rows: for models that are cheap to fit.
``"loo"``
    One fit gives the leave-one-out predictions, or those without each fold.
``"bags"``
    One fit for each fold, whose mean is the member: for models that gain by a mean, and are expensive to fit. They have
    the further folds of a fit as well.

The training set of a member is a view (`views.py`): the table, the table with the words of its texts, the table with
the logarithm of the target, or the table with sums and differences of its columns. Entries whose view a table does not
have are left out.

With folds that the user has given, or with unequal weights, ``"oob"`` and ``"loo"`` become ``"folds"``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.automatic.baseline_members import BaselineMember, LinearMember, NeighbourMember, PriorMember
from committee.automatic.bayes_member import BayesMember
from committee.automatic.kernel_member import FoldKernelMember, KernelMember
from committee.automatic.neural_member import NeuralMember
from committee.automatic.presets import PRESETS, Preset
from committee.automatic.stages import MIN_GAIN, BoostingSchedule
from committee.automatic.word_members import WordBayesMember, WordLinearMember, WordMember
from committee.base import seed_estimator
from committee.ensembles.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from committee.ensembles.boosting.settings import FEATURE_SHARE
from committee.ensembles.forest.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from committee.automatic.views import View
    from committee.data.folds import Folds
    from committee.ensembles.combining.member_predictions import Classes
    from committee.ensembles.combining.training_set import TrainingSet

__all__ = [
    "PORTFOLIO",
    "PRIOR",
    "FitContext",
    "PortfolioEntry",
    "choose_entries",
    "has_pairs",
    "list_stages",
    "plan_schedule",
]

_MAX_ROWS = {
    **dict.fromkeys(("neighbours", "kernel", "network", "long network", "large kernel"), 20_000),
    **dict.fromkeys(("boosting of pairs", "extra trees of pairs"), 20_000),
}
"""Rows above which a member is only fitted if it is named: neighbours take quadratic time, the kernel and a table with
pairs of columns much memory, a network much time."""
_MIN_PAIR_ROWS = 1000
"""Rows below which pairs of columns are only used if they are named, as with more than two classes."""
_MIN_KERNEL_ROWS = 1000
"""Rows up to which a kernel of more landmarks is only fitted if it is named, as with two classes or values."""
_MIN_SLOW_ROWS, _MIN_CLASS_ROWS = 3000, 300
"""Rows below which networks, symmetric boosting and that by code of logs are only fitted if they are named: on fewer
they did not help on new rows. Networks of more than two classes did."""
_DENSE_MEMBERS = ("linear", "kernel", "neighbours", "naive bayes", "network", "long network", "large kernel")
_MAX_DENSE_CELLS = 1e8
"""Members that need a dense table, and the cells of a sparse one above which they are only fitted if named."""
_WIDE, _WIDE_BINS = 100, 63
"""Number of columns from which boosting has fewer bins: split finding dominates its time, and a column among many needs
fewer thresholds (scores on image tables are equal or better)."""
_WIDE_SHARE = 1.0 / 6.0
"""Share of the features that a node of a forest of values draws on such a table, with a preset that says so."""
_MAX_NEWTON_COLUMNS, _MOST_LEVELS = 1000, 20
"""Columns up to which logistic regression of two classes leaves folds out of one fit, and those of a category."""
_ROUNDS = (30, 60, 120, 240, 480, 960)
"""The stages of boosting."""
_NEGLIGIBLE_LOSS = 1e-4
"""Fraction of the prior's out-of-fold loss below which further boosting is not worth its time."""
_MAX_TREES, _MAX_WORK = 5000, 7e9
"""Bounds of the time: trees of one fold's model, one per class and round, and trees times rows times features."""


@dataclass(frozen=True)
class PortfolioEntry:
    """One model of the portfolio.

    Attributes
    ----------
    name : str
        Its name in the leaderboard.
    kinds : tuple of type or None
        The class of the classifier and of the regressor; None if there is none.
    source : {"oob", "stages", "folds", "loo", "bags"}
        Where its out-of-fold predictions come from.
    params : dict
        Arguments of the constructor.
    by_code : bool
        Whether it uses the codes of categories as numbers, which is better for categories of few rows each or with an
        order.
    view : {"table", "words", "logs", "pairs"}
        Its training set.
    estimator : estimator or None
        One of another library, in place of a kind.
    """

    name: str
    kinds: tuple[type[Any] | None, type[Any] | None]
    source: Literal["oob", "stages", "folds", "loo", "bags"]
    params: dict[str, Any] = field(default_factory=dict)
    by_code: bool = False
    view: View = "table"
    estimator: Any = None


@dataclass(frozen=True)
class FitContext:
    """What all members of one fit have in common.

    Attributes
    ----------
    n_classes : int
        Number of classes; 0 for regression.
    categories : list of int
        Columns that hold codes of categories.
    n_columns : int
        Number of columns of the table, without tf-idf weights.
    grouped : bool
        Whether there are groups.
    own_folds : bool
        Whether all members are fitted in the folds, those with other out-of-fold predictions as well.
    n_jobs : int or None
        Threads of a single fit.
    seed : int
        Of all random numbers.
    deadline : float or None
        By the clock of `time.perf_counter`: fits are expected to end before it.
    preset : Preset
        How much is fitted.
    further_folds : list of (train, test)
        Of other orders of the rows, for members whose source is "bags".
    divide : callable or None
        The folds of an order of the rows, by its number; None if there is one only.
    """

    n_classes: int
    categories: list[int]
    n_columns: int
    grouped: bool
    own_folds: bool
    n_jobs: int | None
    seed: int
    deadline: float | None = None
    preset: Preset = PRESETS["balanced"]
    further_folds: Folds = field(default_factory=list)
    divide: Callable[[int], Folds] | None = None

    @property
    def classify(self) -> bool:
        """Whether classes are predicted."""
        return self.n_classes > 0

    @property
    def classes(self) -> Classes:
        """The classes as members are fitted with them: their indices."""
        return [np.arange(self.n_classes)] if self.classify else None

    def make_member(self, entry: PortfolioEntry, number: int) -> Any:
        """The estimator of an entry, not fitted, with its own seed."""
        kind = entry.kinds[0] if self.classify else entry.kinds[1]
        assert kind is not None
        if issubclass(kind, WordMember):
            return kind(classify=self.classify, categories=self.categories, n_columns=self.n_columns)
        preset = self.preset
        if issubclass(kind, LinearMember) and preset.linear_steps is not None:
            return kind(classify=self.classify, categories=self.categories, max_steps=preset.linear_steps)
        if kind is KernelMember and preset.n_landmarks is not None and self.n_classes == 2:
            return kind(classify=self.classify, categories=self.categories, n_landmarks=preset.n_landmarks)
        if issubclass(kind, NeuralMember):
            params = {**entry.params, **(_WIDE_LAYERS if entry.name == _LONG_NETWORK and self.n_classes > 2 else {})}
            return kind(classify=self.classify, categories=self.categories, seed=self.seed % (1 << 32), **params)
        if issubclass(kind, BaselineMember):
            return kind(classify=self.classify, categories=self.categories)
        categories = None if entry.by_code else self.categories or None
        params = dict(entry.params)
        if entry.source == "oob" and preset.n_trees is not None:
            params["n_estimators"] = preset.n_trees
        if entry.source == "oob" and not self.classify and self.n_columns >= (preset.n_wide or self.n_columns + 1):
            params["max_features"] = _WIDE_SHARE
        if entry.source == "stages":
            # With many trees per round, fewer rounds are affordable.
            params.setdefault("learning_rate", 0.05 if self.n_classes <= 2 else 0.1)
            if self.n_columns >= (preset.n_wide or _WIDE):
                params["max_bins"] = _WIDE_BINS
            params.update(preset.boosting)
            if entry.name == _SYMMETRIC and not self.classify:
                params.update(_SYMMETRIC_VALUES)
        member = kind(**params, n_jobs=self.n_jobs, categorical_features=categories)
        if self.grouped and entry.source == "oob":
            member.set_params(bootstrap="group")
        return seed_estimator(member, self.seed, number)

    def uses_folds(self, entry: PortfolioEntry) -> bool:
        """Whether the out-of-fold predictions of an entry come from folds."""
        without = entry.source == "oob" or (entry.source == "loo" and not self.grouped)
        # A Newton step takes the cube of the columns.
        n_encoded = self.n_columns + _MOST_LEVELS * len(self.categories)
        wide = entry.kinds[0] is LinearMember and self.n_classes == 2 and n_encoded > _MAX_NEWTON_COLUMNS
        return self.own_folds or wide or not without

    def count_fits(self, entry: PortfolioEntry, n_folds: int) -> int:
        """How often the estimator of an entry is fitted: in each fold and on all rows, or once."""
        return n_folds + (entry.source != "bags") if self.uses_folds(entry) else 1


#: Always fitted: the baseline, which also keeps probabilities of a forest away from zero.
PRIOR = PortfolioEntry("prior", (PriorMember, PriorMember), "folds")

_BOOSTING = (GradientBoostingClassifier, GradientBoostingRegressor)
_EXTRA = (ExtraTreesClassifier, ExtraTreesRegressor)
_FOREST = (RandomForestClassifier, RandomForestRegressor)
_FIXED_ROUNDS = {"early_stopping": False, "defaults": "tuned", "max_features": FEATURE_SHARE, "growth": "leaf"}
_SHALLOW = {**_FIXED_ROUNDS, "max_depth": 3}
_SMALL_TREES = {**_FIXED_ROUNDS, "max_leaf_nodes": 12}
_SYMMETRIC, _RANDOM, _CODE_LOGS = "symmetric boosting", "random boosting", "boosting by code of logs"
_LONG_NETWORK, _LARGE_KERNEL = "long network", "large kernel"
_SYMMETRIC_TREES = {**_FIXED_ROUNDS, "growth": "symmetric", "subsample": 1.0, "max_features": None, "reg_lambda": 3.0}
_SYMMETRIC_VALUES = {"max_features": FEATURE_SHARE, "min_samples_leaf": 1, "learning_rate": 0.1}
"""Of symmetric boosting of values: every leaf of a tree has the same splits, and few rows keep them apart."""
_NETWORK = (NeuralMember, NeuralMember)
_LONG = {"n_epochs": 48, "rate": 1e-2, "dropout": 0.1, "weight_decay": 0.3}
_WIDE_LAYERS = {"hidden": (256, 256), "dropout": 0.2}
"""Of a long network with more than two classes; others gain nothing by three times the work."""
_RANDOM_SPLITS = {**_FIXED_ROUNDS, "splitter": "random", "max_features": None}
_BAGGED = {"n_estimators": 150, "bootstrap": True}

PORTFOLIO = (
    PortfolioEntry("boosting", _BOOSTING, "stages", _FIXED_ROUNDS),
    PortfolioEntry("linear of words", (WordLinearMember, WordLinearMember), "folds", view="words"),
    PortfolioEntry("naive bayes of words", (WordBayesMember, None), "folds", view="words"),
    PortfolioEntry("extra trees", _EXTRA, "oob", _BAGGED, by_code=True),
    PortfolioEntry("linear", (LinearMember, LinearMember), "folds"),
    PortfolioEntry("kernel", (KernelMember, KernelMember), "loo"),
    PortfolioEntry("network", _NETWORK, "bags"),
    PortfolioEntry(_LONG_NETWORK, _NETWORK, "bags", _LONG),
    PortfolioEntry(_LARGE_KERNEL, (FoldKernelMember, None), "bags"),
    PortfolioEntry("boosting of pairs", _BOOSTING, "stages", _FIXED_ROUNDS, view="pairs"),
    PortfolioEntry("extra trees of pairs", _EXTRA, "oob", _BAGGED, by_code=True, view="pairs"),
    PortfolioEntry("shallow boosting", _BOOSTING, "stages", _SHALLOW),
    PortfolioEntry("shallow boosting of logs", (None, GradientBoostingRegressor), "stages", _SHALLOW, view="logs"),
    PortfolioEntry("forest", _FOREST, "oob", _BAGGED),
    PortfolioEntry("boosting by code", _BOOSTING, "stages", _SMALL_TREES, by_code=True),
    PortfolioEntry("neighbours", (NeighbourMember, NeighbourMember), "folds"),
    PortfolioEntry("naive bayes", (BayesMember, None), "loo"),
    PortfolioEntry(_CODE_LOGS, (None, GradientBoostingRegressor), "stages", _SMALL_TREES, by_code=True, view="logs"),
    PortfolioEntry(_RANDOM, _BOOSTING, "stages", _RANDOM_SPLITS),
    PortfolioEntry(_SYMMETRIC, _BOOSTING, "stages", _SYMMETRIC_TREES),
)


def has_pairs(names: Sequence[str] | None, context: FitContext) -> bool:
    """Whether a member may be fitted to pairs of columns: if the preset has them, or one is among the names."""
    if names is None:
        return context.preset.has_slow
    return any(entry.view == "pairs" for entry in PORTFOLIO if entry.name in names)


def list_stages(n_rows: int, n_features: int, n_classes: int) -> list[int]:
    """Numbers of rounds of the stages of boosting; fewer for large tables and many classes.

    Examples
    --------
    >>> list_stages(1000, 10, 2)
    [30, 60, 120, 240, 480, 960]
    >>> list_stages(1000, 10, 26)
    [30, 60, 120, 192]
    """
    n_trees = min(_MAX_TREES, int(_MAX_WORK / (n_rows * n_features)))
    most = max(_ROUNDS[0], n_trees // (n_classes if n_classes > 2 else 1))
    kept = [n_rounds for n_rounds in _ROUNDS if n_rounds < most]
    return [*kept, min(most, _ROUNDS[len(kept)])] if len(kept) < len(_ROUNDS) else kept


def plan_schedule(training: TrainingSet, context: FitContext, losses: Sequence[float]) -> BoostingSchedule:
    """The stages of boosting after members with these losses, the prior's first.

    If one of them has a negligible loss already, there is one stage only.
    """
    rounds = list_stages(training.n_rows, training.X.shape[1], context.n_classes)
    if context.preset.rounds is not None:
        most = rounds[-1]
        rounds = [n_rounds for n_rounds in context.preset.rounds if n_rounds <= most]
    min_gain = MIN_GAIN if context.preset.min_gain is None else context.preset.min_gain
    if not losses:
        return BoostingSchedule(rounds, context.deadline, min_gain=min_gain)
    best = min(losses)
    if best < _NEGLIGIBLE_LOSS * losses[0]:
        rounds = rounds[:1]
    return BoostingSchedule(rounds, context.deadline, best, min_gain=min_gain)


def choose_entries(
    names: Sequence[str] | None,
    n_members: int | None,
    n_rows: int,
    n_sparse: int = 0,
    *,
    n_classes: int = 2,
    views: Collection[str] = ("table",),
    preset: Preset = PRESETS["balanced"],
) -> list[PortfolioEntry]:
    """The entries to fit, in order.

    Parameters
    ----------
    names : sequence of str or None
        The parameter `portfolio`; None for all that suit the table.
    n_members : int or None
        The maximum number of entries.
    n_rows : int
        Rows of the table.
    n_sparse : int, default=0
        Cells of a sparse table, empty ones included.
    n_classes : int, default=2
        Number of classes; 0 for values.
    views : collection of str, default=("table",)
        The views that the table has.
    preset : Preset, default=PRESETS["balanced"]
        Which models are fitted if none are named.

    Examples
    --------
    >>> [entry.name for entry in choose_entries(["forest", "linear"], 1, 100)]
    ['forest']
    """
    possible = {e.name: e for e in PORTFOLIO if e.kinds[n_classes == 0] is not None and e.view in views}
    if preset.has_single_linear and n_classes <= 2:
        possible["linear"] = replace(possible["linear"], source="loo")
    if names is not None:
        refused = [name for name in names if name not in possible]
        if refused:
            raise ParameterError(f"The 'portfolio' parameter names {refused[0]!r}, {_REQUIREMENTS[refused[0]]}.")
        return [possible[name] for name in names][:n_members]
    chosen = [e for e in possible.values() if n_rows <= _MAX_ROWS.get(e.name, n_rows)]
    if preset.names is not None:
        chosen = [e for e in chosen if e.name in preset.names]
    chosen = [e for e in chosen if e.name not in preset.left_out]
    if not preset.has_slow:
        chosen = [e for e in chosen if e.source != "bags" and e.name not in (_RANDOM, _SYMMETRIC, _CODE_LOGS)]
    if n_rows < _MIN_PAIR_ROWS or n_classes > 2 or not preset.has_slow:
        chosen = [e for e in chosen if e.view != "pairs"]
    if n_classes <= 2 or n_rows <= _MIN_KERNEL_ROWS:
        chosen = [e for e in chosen if e.name != _LARGE_KERNEL]
    if n_rows < _MIN_SLOW_ROWS:
        has_networks = n_classes > 2 and n_rows >= _MIN_CLASS_ROWS
        slow = (_SYMMETRIC, _CODE_LOGS)
        chosen = [e for e in chosen if e.name not in slow and (e.source != "bags" or has_networks)]
    if "logs" in views and not preset.keeps_shallow:
        # One of the three boosted entries is fitted to logarithms instead, so that the time stays the same.
        chosen = [e for e in chosen if e.name != "shallow boosting"]
    if n_sparse > _MAX_DENSE_CELLS:
        chosen = [e for e in chosen if e.name not in _DENSE_MEMBERS]
    return chosen[:n_members]


_VIEW_REQUIREMENTS = {
    "table": "",
    "words": "which needs columns of text",
    "logs": "which needs a positive target with a long tail",
    "pairs": "which needs two to twelve columns of numbers",
}


def _describe_requirements(entry: PortfolioEntry) -> str:
    needs_classes = "which needs classes" if entry.kinds[1] is None else ""
    return " and ".join(need for need in (_VIEW_REQUIREMENTS[entry.view], needs_classes) if need)


_REQUIREMENTS = {entry.name: _describe_requirements(entry) for entry in PORTFOLIO}
