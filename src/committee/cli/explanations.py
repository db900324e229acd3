"""SHAP values of rows: exact for trees of this library, sampled for any other model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from committee.data.rows import count_rows, select_rows
from committee.exceptions import ParameterTypeError
from committee.typing import FloatArray

__all__ = ["Explainer", "RowExplanations", "TargetExplainer"]

# Permutations of the features, each used in both directions; also the number of background rows.
_N_ORDERS = 16
# Maximum number of rows in one call of predict.
_BATCH_ROWS = 1 << 15


@dataclass(frozen=True)
class RowExplanations:
    """SHAP values of rows.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_features)
        In the unit of the raw prediction: a value, the probability of the predicted class, or its log-odds for
        boosting.
    base : ndarray of shape (n_rows,)
        The base values.
    names : list of str
        Names of the features.
    """

    values: FloatArray
    base: FloatArray
    names: list[str]

    def make_top_columns(self, most: int) -> dict[str, pa.Array]:
        """Columns of the features with the largest absolute SHAP values of each row.

        Parameters
        ----------
        most : int
            Number of features.

        Returns
        -------
        dict of str to pyarrow.Array
            ``base_value``, then ``reason_1`` (a feature name), ``effect_1`` (its SHAP value) and so on.
        """
        columns = {"base_value": pa.array(self.base)}
        order = np.argsort(-np.abs(self.values), axis=1, kind="stable")[:, :most]
        names = np.array(self.names, dtype=object)
        for rank in range(order.shape[1]):
            column = order[:, rank]
            columns[f"reason_{rank + 1}"] = pa.array(names[column].tolist())
            columns[f"effect_{rank + 1}"] = pa.array(self.values[np.arange(len(column)), column])
        return columns

    def make_columns(self) -> dict[str, pa.Array]:
        """Columns of all features: ``base_value``, then ``effect_`` and the name of each feature."""
        columns = {"base_value": pa.array(self.base)}
        return columns | {f"effect_{name}": pa.array(self.values[:, k]) for k, name in enumerate(self.names)}


class Explainer:
    """Computes SHAP values of a model.

    Parameters
    ----------
    model : estimator
        Fitted.
    background : table
        Rows to sample the background from, for models that do not consist of trees of this library.
    seed : int
        Seed of the sampling.
    """

    def __init__(self, model: Any, background: pa.Table | FloatArray, seed: int = 0) -> None:
        from committee.engines.tree_model import present_trees

        self.model = model
        try:
            present_trees(model)
            self.is_exact = True
        except ParameterTypeError:
            self.is_exact = False
            rng = np.random.default_rng(seed)
            n_rows, n_features = count_rows(background), int(model.n_features_in_)
            chosen = rng.choice(n_rows, _N_ORDERS, replace=n_rows < _N_ORDERS)
            self._background = select_rows(background, chosen)
            self._orders = np.stack([rng.permutation(n_features) for _ in range(_N_ORDERS)])

    def explain(self, X: Any, predicted: NDArray[Any]) -> RowExplanations:
        """Compute the SHAP values of rows.

        Parameters
        ----------
        X : table
            Rows in the form that the model accepts.
        predicted : ndarray of shape (n_rows,)
            Predictions of the model.

        Returns
        -------
        RowExplanations
            Of the value, or of the predicted class.
        """
        classes = getattr(self.model, "classes_", None)
        chosen = None
        if classes is not None:
            order = np.argsort(classes, kind="stable")  # levels need not be sorted
            chosen = order[np.searchsorted(classes, predicted, sorter=order)]
        if self.is_exact:
            # Ordered levels have one score, whatever the predicted level.
            return self._explain_trees(X, None if hasattr(self.model, "thresholds_") else chosen)
        fitted = getattr(self.model, "feature_names_in_", None)
        names = [str(name) for name in (range(int(self.model.n_features_in_)) if fitted is None else fitted)]
        step = max(1, _BATCH_ROWS // (2 * _N_ORDERS * (len(names) + 1)))
        parts = []
        for start in range(0, count_rows(X), step):
            here = np.arange(start, min(start + step, count_rows(X)))
            parts.append(self._sample(select_rows(X, here), None if chosen is None else chosen[here], len(names)))
        return RowExplanations(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), names)

    def _explain_trees(self, X: Any, chosen: NDArray[np.intp] | None) -> RowExplanations:
        from committee.inspection import shap_values

        found = shap_values(self.model, X)
        values, base = found.values, found.base_values
        if values.ndim == 3:
            output = np.zeros(len(values), dtype=np.intp) if chosen is None else chosen
            each = np.arange(len(values))
            values, base = values[each, :, output], base[each, output]
        elif chosen is not None:
            # Two classes have one score, that of the second class; the score of the first is its negative.
            sign = np.where(chosen == 1, 1.0, -1.0)
            values, base = values * sign[:, None], base * sign
        return RowExplanations(values, base, found.feature_names)

    def _sample(self, X: Any, chosen: NDArray[np.intp] | None, n_features: int) -> tuple[FloatArray, FloatArray]:
        """SHAP values by sampled permutations of the features [Strumbelj2014], each used in both directions.

        Along a permutation, features change one after the other from the value in a background row to the row's own;
        the change of the prediction is their contribution. The contributions of a row sum to its prediction minus the
        base value.
        """
        n_rows, d = count_rows(X), n_features
        orders = np.concatenate([self._orders, self._orders[:, ::-1]])
        background = np.tile(np.arange(_N_ORDERS), 2)
        # At step k of a permutation, its first k features have the row's own values.
        position = np.argsort(orders, axis=1)
        known = position[:, None, :] < np.arange(d + 1)[None, :, None]
        own = np.arange(n_rows)[:, None, None, None]
        other = n_rows + background[None, :, None, None]
        picked = np.where(known[None], own, other).reshape(-1, d)
        outputs = self._predict(_mix_rows(X, self._background, picked)).reshape(n_rows, len(orders), d + 1, -1)
        predictions = outputs[..., 0] if chosen is None else outputs[np.arange(n_rows), :, :, chosen]
        gains = np.diff(predictions, axis=2)
        values = np.take_along_axis(gains, np.broadcast_to(position, gains.shape), axis=2).mean(axis=1)
        return values, predictions[:, :, 0].mean(axis=1)

    def _predict(self, X: Any) -> FloatArray:
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(X))
        if hasattr(self.model, "classes_"):
            return np.asarray(self.model.predict(X)[:, None] == self.model.classes_, dtype=np.float64)
        return np.asarray(self.model.predict(X), dtype=np.float64).reshape(count_rows(X), -1)


class TargetExplainer:
    """Computes SHAP values for each target of a model; of one target those of the model.

    Parameters
    ----------
    model : estimator
        Fitted.
    background : table
        As for `Explainer`.
    targets : sequence of str
        Names of the targets; empty for a model of one.
    """

    def __init__(self, model: Any, background: pa.Table | FloatArray, targets: Sequence[str] = ()) -> None:
        from committee.inspection.one_target import OneTarget

        views = [OneTarget(model, k) for k in range(len(targets))] if targets else [model]
        self._targets = targets
        self._explainers = [Explainer(view, background) for view in views]

    def make_columns(self, X: Any, predicted: NDArray[Any], most: int | None = None) -> dict[str, pa.Array]:
        """Columns of SHAP values, with the names of several targets at the ends of theirs.

        Parameters
        ----------
        X : table
            Rows in the form that the model accepts.
        predicted : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Predictions of the model.
        most : int or None
            Number of features with the largest values to name in each row; None for a column of each feature.

        Returns
        -------
        dict of str to pyarrow.Array
        """
        columns: dict[str, pa.Array] = {}
        for k, explainer in enumerate(self._explainers):
            own, ending = predicted, ""
            if self._targets:
                own = predicted[:, k].astype(getattr(explainer.model, "classes_", predicted).dtype)
                ending = f"_{self._targets[k]}"
            found = explainer.explain(X, own)
            made = found.make_columns() if most is None else found.make_top_columns(most)
            columns |= {f"{column}{ending}": values for column, values in made.items()}
        return columns


def _mix_rows(X: Any, background: pa.Table | FloatArray, picked: NDArray[np.intp]) -> pa.Table | FloatArray:
    """A table whose cells come from X or the background, by row number in both together."""
    if isinstance(X, pa.Table):
        # The units of dates that were text may differ.
        both = pa.concat_tables([X, background], promote_options="permissive").combine_chunks()
        return pa.table({name: both.column(k).take(picked[:, k]) for k, name in enumerate(both.column_names)})
    both = np.concatenate([X, background])
    return both[picked, np.arange(picked.shape[1])]
