"""What a forest says beyond its mean: calibrated probabilities, quantiles, intervals, the variance of a prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data import ClassTarget, ValueTarget
from committee.ensembles.forest.base import BaseForest
from committee.ensembles.forest.calibration import ShareCalibration
from committee.ensembles.forest.intervals import estimate_variance, find_intervals
from committee.ensembles.forest.quantiles import LeafRecord, record_leaves
from committee.exceptions import DataError, NotFittedError, ParameterError
from committee.learners.tree_estimator import TreeClassifierMixin, TreeRegressorMixin

if TYPE_CHECKING:
    from committee.ensembles.forest_growth import TreeGrowth
    from committee.ensembles.out_of_bag import OutOfBag
    from committee.params import Calibration, KeepLeafSamples
    from committee.typing import FloatArray

__all__ = ["ClassForest", "ValueForest"]


class ClassForest(TreeClassifierMixin, BaseForest):
    """A forest of class trees, whose shares may be calibrated on what is out of bag."""

    calibration: Calibration
    _calibration: ShareCalibration

    def _check_together(self) -> None:
        super()._check_together()
        if self.calibration is not None and not self.bootstrap:
            raise ParameterError(
                f"The 'calibration' parameter of {type(self).__name__} needs out-of-bag rows: set bootstrap=True."
            )

    def _wants_votes(self) -> bool:
        return self.calibration is not None or super()._wants_votes()

    def _derive(self, growth: TreeGrowth, trees: Any, votes: OutOfBag | None) -> dict[str, Any]:
        target = growth.dataset.target
        if self.calibration is None or votes is None or not isinstance(target, ClassTarget):
            return {}
        if target.n_outputs > 1:
            raise DataError("Probabilities of several outputs cannot be calibrated; set calibration=None.")
        weights = growth.dataset.weights
        return {
            "_calibration": ShareCalibration(self.calibration, votes.average(), target.labels[:, 0], weights),
        }

    def _raw_predict(self, X: Any) -> FloatArray:
        shares = super()._raw_predict(X)
        calibration: ShareCalibration | None = self.__dict__.get("_calibration")
        return shares if calibration is None else calibration.calibrate(shares)


class ValueForest(TreeRegressorMixin, BaseForest):
    """A forest of value trees, which also tells quantiles, intervals and variances."""

    keep_leaf_samples: KeepLeafSamples
    _leaf_record: LeafRecord
    _oob_errors: FloatArray

    def _derive(self, growth: TreeGrowth, trees: Any, votes: OutOfBag | None) -> dict[str, Any]:
        target = growth.dataset.target
        told: dict[str, Any] = {}
        if not isinstance(target, ValueTarget) or target.n_outputs > 1:
            if self.keep_leaf_samples:
                raise DataError("Quantiles of several outputs are not defined; set keep_leaf_samples=False.")
            return told
        values = target.values[:, 0]
        if votes is not None:
            errors = np.abs(values - votes.average()[:, 0])
            weights = growth.dataset.weights
            told["_oob_errors"] = errors if weights is None else np.where(weights > 0.0, errors, np.nan)
        if self.keep_leaf_samples:
            leaves = growth.apply(trees)
            told["_leaf_record"] = record_leaves(leaves, trees.node_offsets, values, growth.draw_sample, growth.weights)
        return told

    def predict_quantiles(self, X: Any, q: Any = 0.5) -> FloatArray:
        """Quantiles of the target given each row, from the training rows that share its leaves [Meinshausen2006].

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        q : float or array-like of shape (n_quantiles,), default=0.5
            Shares in [0, 1]; any, from one fit.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_quantiles) where q is an array
        """
        leaves = self.apply(X)
        record: LeafRecord | None = self.__dict__.get("_leaf_record")
        if record is None:
            raise NotFittedError(
                f"This {type(self).__name__} has not kept what is in its leaves. Fit it with keep_leaf_samples=True."
            )
        shares = np.asarray(q, dtype=np.float64)
        if shares.ndim > 1 or not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise DataError(f"q must be a number in [0, 1] or a list of them; got {q!r}.")
        quantiles = record.find_quantiles(leaves, np.atleast_1d(shares))
        return quantiles[:, 0] if shares.ndim == 0 else quantiles

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Interval for the target of each row, by the Jackknife+ after bootstrap [Kim2020].

        If the training rows and the new one are exchangeable, the interval holds the target with probability at
        least 2 * coverage - 1, whatever the distribution (strictly, for a number of trees that is itself drawn from
        a binomial distribution); in practice the share is close to ``coverage``. Needs ``oob_score`` at fit.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            In (0, 1).

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends; infinite where there are too few training rows for such a coverage.
        """
        answers = self._answer_by_tree(X)
        if "_oob_errors" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} knows no out-of-bag errors of a single output. Fit it with oob_score=True."
            )
        if not 0.0 < coverage < 1.0:
            raise DataError(f"coverage must be in (0, 1); got {coverage!r}.")
        return find_intervals(answers, self._draw_counts() > 0, self._oob_errors, float(coverage))

    def predict_variance(self, X: Any) -> FloatArray:
        """Variance of the prediction for each row over training sets, by the infinitesimal jackknife [Wager2014].

        It is about the forest's prediction, not about the noise of the target around it. Use many trees: the Monte
        Carlo bias, which is taken off, falls with their number.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        answers = self._answer_by_tree(X)
        samples = self._samples
        if not samples.replace or samples.draws_all or samples.strata is not None:
            raise NotFittedError("The variance needs trees on plain bootstrap samples. Fit with bootstrap=True.")
        return estimate_variance(answers, self._draw_counts().astype(np.float64), samples.total_draws)

    def _answer_by_tree(self, X: Any) -> FloatArray:
        """What each tree says of each row, of shape (n_rows, n_trees)."""
        if self.n_outputs_ > 1 if self.__sklearn_is_fitted__() else False:
            raise DataError("Intervals and variances are for a single output.")
        trees = self._fitted_trees()
        # One slot a tree: the sum over a slot is the answer of its tree.
        slots = np.arange(trees.n_trees, dtype=np.uint32)
        return self._ask(X, trees.predict, "sum", None, slots, trees.n_trees)

    def _draw_counts(self) -> Any:
        return np.stack([self.draw_sample(tree) for tree in range(self._trees.n_trees)], axis=1)
