"""What boosted trees share: the rounds, the fitted state, scores and their way to answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.base import resolve_jobs, resolve_seed
from committee.data.dataset import ClassTarget
from committee.engines import get_engine
from committee.engines.tree_model import TreeModel
from committee.learners.answers import TreeAnswers
from committee.learners.growth import TreeSettings, set_up_growth
from committee.learners.tree_view import normalize_importances
from committee.losses import LossFunction

if TYPE_CHECKING:
    from typing import Self

    from committee.data import Dataset
    from committee.typing import FloatArray

__all__ = ["BaseBoosting", "set_up_boosting"]

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
    settings = TreeSettings.of(estimator, criterion="squared_error")
    rules = set_up_growth(settings, dataset, dataset.weights, seed)
    params.monotonic = rules.monotonic
    params.interaction_groups = rules.interaction_groups
    params.seed, params.n_jobs = seed, resolve_jobs(estimator.n_jobs)
    for name, value in told.items():
        if value is not None:
            setattr(params, name, value)
    return params


class BaseBoosting(TreeAnswers):
    """All that boosted trees share; a subclass adds the target's side and the signature.

    A subclass says how many rounds there are (`_count_rounds`), which loss (`_choose_loss`) and what the engine is
    told (`_tell_engine`).
    """

    random_state: Any

    _loss: LossFunction
    _baseline: FloatArray
    _slots: Any
    _gains: FloatArray
    n_iter_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Boost: add, round after round, a tree that follows the loss's gradient.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
            Classes or values to learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.

        Returns
        -------
        self
        """
        self._validate_params()
        dataset = self._take_in(X, y, sample_weight, getattr(self, "class_weight", None))
        loss = self._choose_loss(dataset)
        state = self._start(dataset, loss)
        baseline = np.asarray(state.find_baseline())
        state.add_constant(baseline)
        for _ in range(self._count_rounds()):
            state.draw_rows()
            state.compute_gradients()
            state.grow_trees()
        fitted = {
            **self._name_target(dataset.target),
            "_trees": state.finish(),
            "_slots": state.slots,
            "_baseline": baseline,
            "_loss": loss,
            "_gains": state.gains,
            "n_iter_": self._count_rounds(),
        }
        self._settle(fitted, dataset.schema)
        return self

    def _start(self, dataset: Dataset, loss: LossFunction) -> Any:
        """The engine's state of this fit."""
        params = set_up_boosting(self, dataset, resolve_seed(self.random_state), **self._tell_engine())
        bins = dataset.binned(self.max_bins, params.n_jobs)
        target = read_numbers(dataset.target)
        return get_engine().Boosting(bins, target, dataset.weights, loss.name, loss.parameter, loss.n_scores, params)

    def _count_rounds(self) -> int:
        raise NotImplementedError

    def _choose_loss(self, dataset: Dataset) -> LossFunction:
        raise NotImplementedError

    def _tell_engine(self) -> dict[str, Any]:
        raise NotImplementedError

    # Asking the fitted trees.

    def _raw_predict(self, X: Any) -> FloatArray:
        """Scores, of shape (n_rows, n_scores)."""
        trees, width = self._fitted_trees(), self._loss.n_scores
        sums = self._ask(X, trees.predict, "sum", None, self._slots, width)
        return sums + self._baseline

    def _present_trees(self) -> TreeModel:
        """The fitted trees, for questions about features."""
        return TreeModel(
            self._fitted_trees(),
            self._schema,
            "sum",
            slots=self._slots,
            n_columns=self._loss.n_scores,
            baseline=self._baseline,
            link=_LINKS.get(self._loss.name, "other"),
        )

    def _predict_means(self, X: Any) -> FloatArray:
        return self._loss.find_means(self._raw_predict(X))

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the gain over all splits."""
        self._fitted_trees()
        return normalize_importances(self._gains[None, :])


def read_numbers(target: Any) -> FloatArray:
    """The target as the engine of boosting reads it: classes as 0.0, 1.0, .., outputs one after another."""
    values = target.labels if isinstance(target, ClassTarget) else target.values
    return np.ascontiguousarray(values.T, dtype=np.float64).ravel()
