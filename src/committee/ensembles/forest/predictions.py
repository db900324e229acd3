"""Forests of class trees and of value trees: calibrated probabilities, quantiles, intervals and variances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data import ClassTarget, ValueTarget
from committee.data.intake import take_in_rows
from committee.data.weights import count_as_rows
from committee.ensembles.forest.base import BaseForest
from committee.ensembles.forest.calibration import ProbabilityCalibration
from committee.ensembles.forest.importance import OobImportanceMixin
from committee.ensembles.forest.intervals import estimate_variance, find_intervals
from committee.ensembles.forest.quantiles import LeafRecord, record_leaves
from committee.ensembles.prediction_sets import PredictionSetMixin
from committee.exceptions import DataError, NotFittedError, ParameterError
from committee.learners.tree_estimator import TreeClassifierMixin, TreeRegressorMixin
from committee.learners.tree_rows import apply_trees, predict_trees
from committee.value_checks import read_coverage, read_levels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.engines import Trees
    from committee.engines.formula import FormulaTerm, ModelFormula
    from committee.ensembles.forest_builder import ForestBuilder
    from committee.ensembles.out_of_bag import OutOfBag
    from committee.params import Calibration, KeepLeafSamples
    from committee.typing import FloatArray, IndexArray

__all__ = ["ClassForest", "ValueForest"]


class ClassForest(PredictionSetMixin, TreeClassifierMixin, OobImportanceMixin, BaseForest):
    """A forest of class trees; its probabilities may be calibrated on out-of-bag predictions."""

    calibration: Calibration
    _calibration: ProbabilityCalibration

    def _check_combinations(self) -> None:
        super()._check_combinations()
        if self.calibration is not None and not self.bootstrap:
            raise ParameterError(
                f"The 'calibration' parameter of {type(self).__name__} needs out-of-bag rows: set bootstrap=True."
            )

    def _needs_votes(self) -> bool:
        return self.calibration is not None or super()._needs_votes()

    def _list_wanted(self) -> list[str]:
        return super()._list_wanted() + (["_calibration"] if self.calibration is not None else [])

    def _extra_attributes(self, builder: ForestBuilder, trees: Trees, votes: OutOfBag | None) -> dict[str, Any]:
        target, weights = builder.dataset.target, builder.dataset.weights
        if self.calibration is None or votes is None or not isinstance(target, ClassTarget):
            return {}
        if target.n_outputs > 1:
            raise DataError("Probabilities of several outputs cannot be calibrated; set calibration=None.")
        calibration = ProbabilityCalibration(self.calibration, votes.average(), target.labels[:, 0], weights)
        return {"_calibration": calibration}

    def _raw_predict(self, X: Any) -> FloatArray:
        trees = self.fitted_trees()
        probabilities = predict_trees(trees, take_in_rows(self, X, self._schema), "mean", self.n_jobs)
        calibration: ProbabilityCalibration | None = self.__dict__.get("_calibration")
        return probabilities if calibration is None else calibration.calibrate(probabilities)

    def _find_host_part(self) -> str | None:
        return "calibrated probabilities" if "_calibration" in self.__dict__ else super()._find_host_part()

    def _finish_formula(self, row: FormulaTerm, raw: FormulaTerm) -> ModelFormula:
        calibration: ProbabilityCalibration | None = self.__dict__.get("_calibration")
        return super()._finish_formula(row, raw if calibration is None else calibration.to_term(raw))


class ValueForest(TreeRegressorMixin, OobImportanceMixin, BaseForest):
    """A forest of value trees, with quantiles, intervals and variances besides the mean."""

    keep_leaf_samples: KeepLeafSamples
    _leaf_record: LeafRecord
    _oob_errors: FloatArray

    def _list_wanted(self) -> list[str]:
        return super()._list_wanted() + (["_leaf_record"] if self.keep_leaf_samples else [])

    def _extra_attributes(self, builder: ForestBuilder, trees: Trees, votes: OutOfBag | None) -> dict[str, Any]:
        target, weights = builder.dataset.target, builder.dataset.weights
        fitted: dict[str, Any] = {}
        if not isinstance(target, ValueTarget) or target.n_outputs > 1:
            if self.keep_leaf_samples:
                raise DataError("Quantiles of several outputs are not defined; set keep_leaf_samples=False.")
            return fitted
        values = target.values[:, 0]
        if votes is not None:
            errors = np.abs(values - votes.average()[:, 0])
            fitted["_oob_errors"] = errors if weights is None else np.where(weights > 0.0, errors, np.nan)
        if self.keep_leaf_samples:
            leaves = apply_trees(trees, builder.host_rows, self.n_jobs)
            offsets = np.asarray(trees.node_offsets)
            fitted["_leaf_record"] = record_leaves(leaves, offsets, values, builder.draw_samples(), builder.weights)
        return fitted

    def predict_quantiles(self, X: Any, q: ArrayLike = 0.5) -> FloatArray:
        """Quantiles of the target given each row, from the training rows that share its leaves [Meinshausen2006].

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        q : float or array-like of shape (n_quantiles,), default=0.5
            Levels of the quantiles, in [0, 1]; any, from one fit.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_quantiles) where q is an array
        """
        leaves = apply_trees(self.fitted_trees(), take_in_rows(self, X, self._schema), self.n_jobs)
        record: LeafRecord | None = self.__dict__.get("_leaf_record")
        if record is None:
            raise NotFittedError(
                f"This {type(self).__name__} has no record of the training rows in its leaves. Fit it with "
                "keep_leaf_samples=True."
            )
        levels = read_levels(q)
        quantiles = record.find_quantiles(leaves, np.atleast_1d(levels))
        return quantiles[:, 0] if levels.ndim == 0 else quantiles

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Interval for the target of each row, by the Jackknife+ after bootstrap [Kim2020].

        A row of weight 3 counts as three rows. If the training rows and the new one are exchangeable, the interval
        holds the target with probability at least 2 * coverage - 1, whatever the distribution (strictly, for a number
        of trees that is itself drawn from a binomial distribution); in practice the coverage is close to ``coverage``.
        Needs ``oob_score`` at fit.

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
        predictions = self._predict_by_tree(X)
        if "_oob_errors" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} has no out-of-bag errors of a single output. Fit it with oob_score=True."
            )
        wanted = read_coverage(coverage)
        in_bag, repeats = self._draw_counts() > 0, self._count_repeats()
        return find_intervals(predictions, in_bag, self._oob_errors, wanted, repeats)

    def predict_variance(self, X: Any) -> FloatArray:
        """Variance of the prediction for each row over training sets, by the infinitesimal jackknife [Wager2014].

        It is the variance of the forest's prediction, not of the noise of the target around it. Use many trees: the
        Monte Carlo bias, which is subtracted, decreases with their number.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        predictions = self._predict_by_tree(X)
        samples = self._samples
        if not samples.replace or samples.draws_all or samples.strata is not None:
            raise NotFittedError("The variance needs trees on plain bootstrap samples. Fit with bootstrap=True.")
        counts, repeats = self._draw_counts().astype(np.float64), self._count_repeats()
        return estimate_variance(predictions, counts, samples.total_draws, repeats)

    def _count_repeats(self) -> FloatArray | None:
        """As how many rows each training row counts; None if every row counts once."""
        return None if self._samples.weights is None else count_as_rows(self._samples.weights)

    def _predict_by_tree(self, X: Any) -> FloatArray:
        """Prediction of each tree for each row, of shape (n_rows, n_trees)."""
        trees = self.fitted_trees()
        if self.n_outputs_ > 1:
            raise DataError("Intervals and variances are for a single output.")
        # Each tree has an output column of its own.
        columns = np.arange(trees.n_trees, dtype=np.uint32)
        rows = take_in_rows(self, X, self._schema)
        return predict_trees(trees, rows, "sum", self.n_jobs, slots=columns, out_width=trees.n_trees)

    def _draw_counts(self) -> IndexArray:
        """How often each training row is in the sample of each tree, of shape (n_training_rows, n_trees)."""
        return np.stack([self.draw_sample(tree) for tree in range(self._trees.n_trees)], axis=1)
