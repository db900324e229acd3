"""Base of every estimator made of trees: reading the data, the fitted arena, and predictions from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import MultiOutputMixin

from committee.base import (
    ClassifierScoreMixin,
    CommitteeEstimator,
    RegressorScoreMixin,
    not_fitted_error,
)
from committee.data.class_weights import combine_weights
from committee.data.device_tables import copy_to_host, find_device_table, is_on_device, put_beside
from committee.data.intake import take_in, take_in_rows
from committee.data.targets import count_target
from committee.engines.formula import ModelFormula, TableRow, TreeTerm, find_largest
from committee.engines.tree_model import TreeModel
from committee.exceptions import DataError, DataTypeError, warn_caller
from committee.learners.log_probabilities import LogProbabilitiesMixin
from committee.learners.prepared_predictor import PredictorMixin
from committee.learners.tree_rows import predict_trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from committee.data import ClassTarget, Dataset, Schema, ValueTarget
    from committee.engines import Trees
    from committee.engines.formula import FormulaTerm
    from committee.params import CategoricalFeatures, MaxBins, NJobs, TextColumns, Unseen
    from committee.typing import FloatArray, Task

__all__ = ["TreeClassifierMixin", "TreeEstimator", "TreeRegressorMixin", "add_columns", "split_outputs"]


class TreeEstimator(PredictorMixin, CommitteeEstimator):
    """An estimator whose fitted state is an arena of trees and the schema of the table that they were grown on.

    A subclass sets what it predicts (`_task`) and how the trees are combined (`_combine`). Ensembles use the public
    methods only: `task`, `validate_params`, `take_in`, `weigh_rows`, `fit_dataset`, `fitted_trees`, `to_tree_model`.
    """

    _task: ClassVar[Task]
    _combine: ClassVar[Literal["mean", "sum"]]

    max_bins: MaxBins
    categorical_features: CategoricalFeatures
    unseen: Unseen
    text_columns: TextColumns = "auto"  # pickles of earlier versions lack it
    n_jobs: NJobs

    _trees: Trees
    _schema: Schema
    n_outputs_: int
    n_features_in_: int

    @property
    def task(self) -> Task:
        """Whether classes or values are predicted: ``"classify"`` or ``"regress"``."""
        return self._task

    # Fitting.

    def take_in(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, class_weight: Any = None) -> Dataset:
        """Read and check a table and its target as `fit` does.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        class_weight : dict, list of dict, str or None
            Weights of the classes, which become part of the weights of the rows.

        Returns
        -------
        Dataset
            What `fit_dataset` takes.
        """
        return take_in(
            self,
            X,
            y,
            sample_weight,
            task=self._task,
            class_weight=class_weight,
            categorical_features=self.categorical_features,
            unseen=self.unseen,
            text_columns=self.text_columns,
        )

    def _choose_class_weight(self) -> Any:
        """The class weights that become part of the weights of the rows."""
        return getattr(self, "class_weight", None)

    def weigh_rows(self, target: ClassTarget | ValueTarget, weights: FloatArray | None) -> FloatArray | None:
        """Row weights times class weights, as `fit_dataset` takes them.

        Parameters
        ----------
        target : ClassTarget or ValueTarget
            The target of the data set.
        weights : ndarray of shape (n_rows,) or None
            Weights of the rows alone.

        Returns
        -------
        ndarray of shape (n_rows,), or None where all are equal
        """
        class_weight = self._choose_class_weight()
        if class_weight is None:
            return weights
        return combine_weights(weights, class_weight, target, count_target(target), type(self).__name__)

    def _set_fitted(self, fitted: dict[str, object], schema: Schema, optional: Iterable[str] = ()) -> None:
        """Replace the fitted attributes, those that describe the columns among them."""
        self._replace_fitted(add_columns(fitted, schema), ("feature_names_in_", *optional))

    # Predictions.

    def __sklearn_is_fitted__(self) -> bool:
        return "_trees" in self.__dict__

    def fitted_trees(self) -> Trees:
        """The arena with the fitted trees.

        Returns
        -------
        Trees

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        """
        trees: Trees | None = self.__dict__.get("_trees")
        if trees is None:
            raise not_fitted_error(self)
        return trees

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        return TreeModel(self.fitted_trees(), self._schema, self._combine)

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row, by default of its own table; exports are written from it."""
        trees, row = self.fitted_trees(), TableRow(self._schema.n_features) if row is None else row
        return self._finish_formula(row, TreeTerm(row, trees, self._combine))

    def _finish_formula(self, row: FormulaTerm, raw: FormulaTerm) -> ModelFormula:
        """Predictions from what `_raw_predict` gives."""
        if self._task != "classify":
            return ModelFormula(row, self._schema, raw)
        known = self.classes_
        classes = tuple(known) if self.n_outputs_ > 1 else (known,)
        label = find_largest(raw, [len(own) for own in classes])
        return ModelFormula(row, self._schema, label, classes, raw)

    def _raw_predict(self, X: Any) -> FloatArray:
        """Class probabilities side by side, or the value of each output."""
        trees = self.fitted_trees()
        return predict_trees(trees, take_in_rows(self, X, self._schema), self._combine, self.n_jobs)

    def _to_host(self, values: Any) -> Any:
        return copy_to_host(values)

    def _predict_on_device(self, X: Any) -> Any:
        """The raw prediction of rows that are on a GPU; it stays there."""
        from committee.engines.gpu.serving import predict_device_rows

        table, name = find_device_table(X), type(self).__name__
        assert table is not None
        self.fitted_trees()
        if (what := self._find_host_part()) is not None:
            raise DataTypeError(
                f"{name} predicts rows on a GPU from numbers and trees alone; this model has {what}. Copy X to the "
                "host first."
            )
        if table.names is not None and self._schema.feature_names not in (None, table.names):
            raise DataError(f"The columns of X must be those that {name} was fitted on, in their order.")
        return predict_device_rows(self, table)

    def _find_host_part(self) -> str | None:
        """What of the fitted model a GPU does not compute."""
        return None if all(levels is None for levels in self._schema.categories) else "categories, dates or text"

    def category_names(self, feature: int) -> list[Any]:
        """Categories of a feature in the order of their codes; empty for a numeric feature."""
        self.fitted_trees()
        categories = self._schema.categories[feature]
        return [] if categories is None else list(categories)


def add_columns(fitted: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Fitted attributes by name, and those that describe the columns."""
    fitted = {**fitted, "n_features_in_": schema.n_inputs, "_schema": schema}
    if schema.input_names is not None:
        fitted["feature_names_in_"] = np.asarray(schema.input_names, dtype=object)
    return fitted


def split_outputs(probabilities: FloatArray, n_classes: Sequence[int] | NDArray[np.intp]) -> list[FloatArray]:
    """The probabilities of several outputs, which lie side by side, one array for each output.

    Examples
    --------
    >>> [output.shape for output in split_outputs(np.zeros((4, 5)), [2, 3])]
    [(4, 2), (4, 3)]
    """
    return np.split(probabilities, np.cumsum(n_classes)[:-1], axis=1)


def _argmax_rows(probabilities: FloatArray) -> NDArray[np.intp]:
    """Column of the largest value in each row, the first of equals."""
    if probabilities.shape[1] == 2:  # one comparison is ten times faster than argmax over rows of two
        return (probabilities[:, 1] > probabilities[:, 0]).astype(np.intp)
    largest: NDArray[np.intp] = probabilities.argmax(axis=1).astype(np.intp, copy=False)
    return largest


class TreeClassifierMixin(ClassifierScoreMixin, LogProbabilitiesMixin, MultiOutputMixin, TreeEstimator):  # type: ignore[misc]
    """Estimators whose leaves hold class weights: normalised, they are probabilities."""

    _task = "classify"
    _combine = "mean"

    classes_: Any
    n_classes_: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: the one with the largest probability, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        on_device = is_on_device(X)
        probabilities = self._predict_on_device(X) if on_device else self._raw_predict(X)
        classes = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        outputs = [probabilities] if self.n_outputs_ == 1 else split_outputs(probabilities, self.n_classes_)
        chosen: list[NDArray[Any]] = [
            (put_beside(own) if on_device else own).take(_argmax_rows(output))
            for own, output in zip(classes, outputs, strict=True)
        ]
        return chosen[0] if self.n_outputs_ == 1 else np.stack(chosen, axis=1)

    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Probability of each class: its share of the weight in the leaf of each row, averaged over the trees.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each of several outputs
            Columns in the order of ``classes_``.
        """
        probabilities = self._predict_on_device(X) if is_on_device(X) else self._raw_predict(X)
        return probabilities if self.n_outputs_ == 1 else split_outputs(probabilities, self.n_classes_)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class TreeRegressorMixin(RegressorScoreMixin, MultiOutputMixin, TreeEstimator):  # type: ignore[misc]
    """Estimators whose leaves hold values."""

    criterion: str

    _task = "regress"
    _combine = "mean"

    def _store_params(self, arguments: dict[str, object]) -> None:
        super()._store_params(arguments)
        criterion = arguments.get("criterion")
        if isinstance(criterion, str) and criterion == "friedman_mse":
            self.criterion = "squared_error"
            warn_caller(
                'Value `"friedman_mse"` for `criterion` is deprecated: it means the same as `"squared_error"`, since '
                "both choose the same splits. Write squared_error.",
                FutureWarning,
            )

    def predict(self, X: Any) -> FloatArray:
        """Value of each row: the value of its leaf, averaged over the trees.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = self._predict_on_device(X) if is_on_device(X) else self._raw_predict(X)
        return values[:, 0] if self.n_outputs_ == 1 else values
