"""Feature importance on out-of-bag rows, for forests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from committee.base import resolve_jobs
from committee.data.intake import take_in_rows
from committee.data.memory import check_room_for
from committee.data.targets import encode_classes, encode_values, read_target
from committee.data.weights import read_sample_weight
from committee.engines import get_engine
from committee.exceptions import DataError, NotFittedError
from committee.learners.tree_estimator import TreeEstimator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.data.sampling import SamplePlan
    from committee.typing import FloatArray, FloatMatrix, IndexArray

__all__ = ["OobImportanceMixin"]


class OobImportanceMixin(TreeEstimator):
    """The two importances that a forest computes on the rows that are out of bag for each tree."""

    _samples: SamplePlan
    _seed: int

    def oob_permutation_importance(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, n_repeats: int = 5
    ) -> Bunch:
        """Increase of each tree's out-of-bag loss when a feature is permuted among its out-of-bag rows.

        The loss is the misclassification rate, or the squared error; the mean is over the trees [Breiman2001].

        Parameters
        ----------
        X, y, sample_weight
            As they were passed to `fit`, with the rows in the same order: a tree's out-of-bag rows are known by their
            position.
        n_repeats : int, default=5
            Number of permutations of a feature in each tree.

        Returns
        -------
        Bunch
            ``importances`` of shape (n_features, n_repeats), ``importances_mean`` and ``importances_std``, as in
            scikit-learn's ``permutation_importance``.
        """
        self.fitted_trees()
        importances = self._measure_importance(X, y, sample_weight, _read_repeats(n_repeats))
        return Bunch(
            importances=importances,
            importances_mean=importances.mean(axis=1),
            importances_std=importances.std(axis=1),
        )

    def oob_impurity_importance(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> FloatArray:
        """Decrease of impurity by each feature, measured on out-of-bag rows (MDI-oob) [Li2019].

        ``feature_importances_`` favours features of many values, since they fit noise; here noise gains nothing. The
        numbers are not normalised and may be a little negative for features without any use.

        Parameters
        ----------
        X, y, sample_weight
            As they were passed to `fit`, with the rows in the same order: a tree's out-of-bag rows are known by their
            position.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        self.fitted_trees()
        return self._measure_importance(X, y, sample_weight, 0)[:, 0]

    def _measure_importance(self, X: Any, y: Any, sample_weight: ArrayLike | None, n_repeats: int) -> FloatArray:
        """Importances of shape (n_features, n_repeats); of shape (n_features, 1) by impurity if ``n_repeats`` is 0."""
        samples = self._samples
        if samples.draws_all:
            raise NotFittedError(
                "No row is out of bag, since every tree was grown on all of them. Fit with bootstrap=True."
            )
        engine = get_engine()
        rows = self._read_training_rows(X)
        labels, n_classes, values = self._encode_target(y)
        weights = None if sample_weight is None else read_sample_weight(sample_weight, samples.n_rows)
        plan = engine.ForestPlan()
        plan.sampling = samples.fill(engine.RowSampling())
        jobs = resolve_jobs(self.n_jobs)
        inputs = self._schema.inputs
        columns = None if inputs is None or n_repeats == 0 else inputs.owners.astype(np.uint32)
        found = engine.permute_features(
            self._trees, rows, labels, n_classes, values, weights, plan, self._seed, n_repeats, jobs, columns
        )
        return self._schema.sum_features(found, axis=0) if columns is None else found[: self._schema.n_inputs]

    def _read_training_rows(self, X: Any) -> FloatMatrix:
        rows = take_in_rows(self, X, self._schema)
        n_rows = self._samples.n_rows
        if rows.shape[0] != n_rows:
            raise DataError(
                f"{type(self).__name__} was fitted on {n_rows} rows, and which of them are out of bag is known by "
                f"their position; got {rows.shape[0]} rows. Pass the rows of the fit."
            )
        if isinstance(rows, np.ndarray):
            return rows
        check_room_for(rows.shape[0], rows.shape[1], rows.dtype.itemsize)
        dense: FloatMatrix = rows.toarray()
        return dense

    def _encode_target(self, y: Any) -> tuple[IndexArray | None, list[int], FloatArray | None]:
        """Labels, numbers of classes and values, as the engine takes them, with the classes of the fit."""
        name = type(self).__name__
        array = read_target(y, self._samples.n_rows, name, multi_output=True)
        classes = getattr(self, "classes_", None)
        if classes is None:
            return None, [], encode_values(array).values
        target = encode_classes(array, name)
        known = [classes] if self.n_outputs_ == 1 else classes
        if len(known) != target.n_outputs or not all(map(np.array_equal, known, target.classes)):
            raise DataError("y has other classes than the forest was fitted on. Pass the target of the fit.")
        return target.labels, target.n_classes, None


def _read_repeats(n_repeats: object) -> int:
    if not isinstance(n_repeats, int | np.integer) or isinstance(n_repeats, bool) or n_repeats < 1:
        raise DataError(f"n_repeats must be an int >= 1; got {n_repeats!r}.")
    return int(n_repeats)
