"""What boosted trees share: how the engine is told, the fitted state, scores and their way to answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from committee.base import resolve_jobs, resolve_seed
from committee.data.dataset import ClassTarget
from committee.data.intake import take_in
from committee.data.weights import count_as_rows
from committee.engines import get_engine
from committee.engines.tree_model import TreeModel
from committee.ensembles.boosting.rounds import KeptTrees, Rounds, Start
from committee.exceptions import DataError, ParameterError
from committee.learners.tree_estimator import TreeEstimator
from committee.learners.tree_params import TreeSettings, set_up_growth
from committee.learners.tree_view import normalize_importances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from committee.data import Dataset
    from committee.typing import FloatArray

__all__ = ["BaseBoosting", "count_present", "count_repeated", "set_up_boosting"]

_LINKS: dict[str, Literal["identity", "logit", "softmax", "log"]] = {
    **dict.fromkeys(("squared_error", "absolute_error", "huber", "quantile"), "identity"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "log"),
    "logistic": "logit",
    "softmax": "softmax",
}
"""What scores are of predictions, by the name of the loss."""


def set_up_boosting(estimator: Any, dataset: Dataset, seed: int, **told: Any) -> Any:
    """Fill the engine's BoostingParams.

    Parameters
    ----------
    estimator : BaseBoosting
        Its ``monotonic_cst``, ``interaction_cst`` and ``n_jobs`` are read.
    dataset : Dataset
        What constraints are checked against.
    seed : int
        Of all randomness.
    told : Any
        Fields of BoostingParams by name; None leaves the engine's default.

    Returns
    -------
    The engine's BoostingParams.
    """
    params = get_engine().BoostingParams()
    rules = TreeSettings(
        type(estimator).__name__,
        "squared_error",
        monotonic_cst=estimator.monotonic_cst,
        interaction_cst=estimator.interaction_cst,
    )
    growth = set_up_growth(rules, dataset, dataset.weights, seed)
    params.monotonic = growth.monotonic
    params.interaction_groups = growth.interaction_groups
    params.seed, params.n_jobs = seed, resolve_jobs(estimator.n_jobs)
    for name, value in told.items():
        if value is not None:
            setattr(params, name, value)
    if params.min_samples_leaf == 1:
        # Either side of a split has a row. The engine would judge by shares of hessians first, and light rows are less
        # than one by these.
        params.min_samples_leaf = 0
    return params


class BaseBoosting(TreeEstimator):
    """All that boosted trees share; a subclass adds the target's side, the signature and its `fit`.

    A subclass says which loss (`_choose_loss`) and what the engine is told (`_tell_engine`).
    """

    _many_outputs: ClassVar[bool]

    monotonic_cst: Any
    interaction_cst: Any
    random_state: Any
    warm_start: Any
    verbose: Any

    _loss: Any
    _baseline: FloatArray
    _slots: Any
    _gains: FloatArray
    _seed: int

    # Fitting.

    def _take_in(self, X: Any, y: Any, sample_weight: Any, class_weight: Any = None) -> Dataset:
        return take_in(
            self,
            X,
            y,
            sample_weight,
            task=self._task,
            class_weight=class_weight,
            categorical_features=self.categorical_features,
            unseen=self.unseen,
            multi_output=self._many_outputs,
        )

    def _resolve_seed(self) -> int:
        """The seed, which a warm start keeps so that the same rows are held out again."""
        return self._seed if self._keeps_trees() else resolve_seed(self.random_state)

    def _keeps_trees(self) -> bool:
        return bool(self.warm_start) and self.__sklearn_is_fitted__()

    def _open_rounds(self, dataset: Dataset, loss: Any, seed: int, start: Start | None = None) -> Rounds:
        """The engine's state for these data, with the trees of the last fit if they are to be kept."""
        kept = self._recall(dataset) if self._keeps_trees() else None
        start = replace(start or Start(), kept=kept)
        n_kept = 0 if kept is None else kept.trees.n_trees
        params = set_up_boosting(self, dataset, seed, **self._tell_engine(dataset))
        # Regularisation is measured in rows, so that weights have to be as well.
        weights = None if dataset.weights is None else count_as_rows(dataset.weights)
        bins = dataset.binned(self.max_bins, params.n_jobs)
        return Rounds(
            dataset, bins, read_numbers(dataset.target), weights, loss, params, start, self._open_dart(seed, n_kept)
        )

    def _open_dart(self, seed: int, n_kept: int) -> Any:
        """What drops trees; nothing does by default."""
        return None

    def _recall(self, dataset: Dataset) -> KeptTrees:
        """The trees of the last fit, if they go with these data."""
        schema, named = dataset.schema, self._target_attributes(dataset.target)
        same_target = all(_are_equal(value, self.__dict__.get(name)) for name, value in named.items())
        pairs = zip(schema.categories, self._schema.categories, strict=False)
        same_table = all(_are_equal(one, other) for one, other in pairs)
        if not same_target or not same_table or schema.n_features != self._schema.n_features:
            raise DataError(
                f"{type(self).__name__} was told to keep its trees (warm_start=True), but these data have other "
                "features, categories or classes than those that the trees were grown on."
            )
        return KeptTrees(self._trees, self._slots, self._baseline, self._gains)

    def _check_rounds(self, name: str, wanted: int, kept: int) -> None:
        if self._keeps_trees() and wanted < kept:
            raise ParameterError(
                f"{name}={wanted} must be larger or equal to {kept}, the rounds of the last fit, when warm_start==True"
            )

    def _finalize(self, rounds: Rounds, last: int | None, told: dict[str, Any]) -> None:
        """Take over the first ``last`` rounds (None: all) and what else the fit has to tell."""
        n_trees = None if last is None else last * rounds.trees_per_round
        trees, slots = rounds.finish(n_trees)
        fitted = {
            **self._target_attributes(rounds.dataset.target),
            "_trees": trees,
            "_slots": slots,
            "_baseline": rounds.baseline,
            "_loss": rounds.loss,
            "_gains": rounds.gains,
            **told,
        }
        self._set_fitted(fitted, rounds.dataset.schema)

    def _choose_loss(self, dataset: Dataset) -> Any:
        raise NotImplementedError

    def _tell_engine(self, dataset: Dataset) -> dict[str, Any]:
        raise NotImplementedError

    # Asking the fitted trees.

    def _raw_predict(self, X: Any) -> FloatArray:
        """Scores, of shape (n_rows, n_scores)."""
        trees = self._fitted_trees()
        return self._ask(X, trees.answer_boosted, self._slots if trees.width == 1 else None, self._baseline, None)

    def _predict_means(self, X: Any, two_classes: bool = False) -> FloatArray:
        """Predictions by the inverse link; for two classes the probabilities of both if these are asked."""
        trees, loss = self._fitted_trees(), self._loss
        if loss.is_custom or not self._is_trees_alone():
            means: FloatArray = loss.find_means(self._raw_predict(X))
            return np.concatenate((1.0 - means, means), axis=1) if two_classes else means
        slots = self._slots if trees.width == 1 else None
        return self._ask(X, trees.answer_boosted, slots, self._baseline, loss.made, two_classes)

    def _is_trees_alone(self) -> bool:
        """Whether scores are the baseline and the trees, and nothing else."""
        return True

    def _stage_scores(self, X: Any) -> Iterator[FloatArray]:
        """Scores after each round; those of the last one are, to the bit, what all trees are asked for."""
        trees, width = self._fitted_trees(), self._loss.n_scores
        step = self._count_trees_per_round()
        total: Any = 0.0
        for first in range(0, trees.n_trees, step):
            part = trees.select(first, first + step)
            slots = self._slots[first : first + step] if trees.width == 1 else None
            total = total + self._ask(X, part.predict, "sum", None, slots, width)
            yield total + self._baseline

    def _count_trees_per_round(self) -> int:
        return int(self._loss.n_scores) if self._trees.width == 1 else 1

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        trees, loss = self._fitted_trees(), self._loss
        return TreeModel(
            trees,
            self._schema,
            "sum",
            slots=self._slots if trees.width == 1 else None,
            n_columns=loss.n_scores,
            baseline=self._baseline,
            # Several quantiles are put in order besides.
            link="other" if loss.is_custom or loss.levels else _LINKS.get(loss.name, "other"),
        )

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the gain over all splits."""
        self._fitted_trees()
        return normalize_importances(self._gains)


def count_present(dataset: Dataset) -> int:
    """Rows of positive weight."""
    return dataset.n_rows if dataset.weights is None else int(np.count_nonzero(dataset.weights))


def count_repeated(dataset: Dataset) -> float:
    """Rows that the weights stand for."""
    return float(dataset.n_rows if dataset.weights is None else count_as_rows(dataset.weights).sum())


def read_numbers(target: Any) -> FloatArray:
    """The target as the engine of boosting reads it: classes as 0.0, 1.0, .., outputs one after another."""
    values = target.labels if isinstance(target, ClassTarget) else target.values
    return np.ascontiguousarray(values.T, dtype=np.float64).ravel()


def _are_equal(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
