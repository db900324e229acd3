"""Why a row is predicted as it is: Shapley values, exactly for trees of ours, by sampling for any other model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from committee.data.rows import count_rows, select_rows
from committee.exceptions import ParameterTypeError

__all__ = ["Explainer", "Reasons"]

# Orders of the features that a model is asked about, each also from back to front, and rows that stand for "unknown".
_N_ORDERS = 16
# Rows that a model is asked about at a time.
_MOST_ASKED = 1 << 15


@dataclass(frozen=True)
class Reasons:
    """What each feature adds to what is predicted for a row.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_features)
        In the unit of the raw prediction: of a value, of the probability of the class that is predicted, or of its
        log-odds for boosting.
    base : ndarray of shape (n_rows,)
        What is predicted when no feature is known.
    names : list of str
        Of the features.
    """

    values: NDArray[np.float64]
    base: NDArray[np.float64]
    names: list[str]

    def name_strongest(self, most: int) -> dict[str, pa.Array]:
        """Columns of the features that move each row most, the strongest first.

        Parameters
        ----------
        most : int
            How many.

        Returns
        -------
        dict of str to pyarrow.Array
            ``base_value``, then ``reason_1`` (a name), ``effect_1`` (what it adds) and so on.
        """
        columns = {"base_value": pa.array(self.base)}
        order = np.argsort(-np.abs(self.values), axis=1, kind="stable")[:, :most]
        names = np.array(self.names, dtype=object)
        for rank in range(order.shape[1]):
            column = order[:, rank]
            columns[f"reason_{rank + 1}"] = pa.array(names[column].tolist())
            columns[f"effect_{rank + 1}"] = pa.array(self.values[np.arange(len(column)), column])
        return columns

    def name_all(self) -> dict[str, pa.Array]:
        """Columns of all features: ``base_value``, then ``effect_`` and the name."""
        columns = {"base_value": pa.array(self.base)}
        return columns | {f"effect_{name}": pa.array(self.values[:, k]) for k, name in enumerate(self.names)}


class Explainer:
    """Finds the reasons of a model.

    Parameters
    ----------
    model : estimator
        Fitted.
    behind : table
        Rows of which some stand for "unknown" where the model is not made of trees of ours.
    seed : int
        Of the sampling.
    """

    def __init__(self, model: Any, behind: Any, seed: int = 0) -> None:
        from committee.engines.tree_model import present_trees

        self.model = model
        try:
            present_trees(model)
            self.is_exact = True
        except ParameterTypeError:
            self.is_exact = False
            rng = np.random.default_rng(seed)
            n_rows, n_features = count_rows(behind), int(model.n_features_in_)
            chosen = rng.choice(n_rows, _N_ORDERS, replace=n_rows < _N_ORDERS)
            self._behind = select_rows(behind, chosen)
            self._orders = np.stack([rng.permutation(n_features) for _ in range(_N_ORDERS)])

    def explain(self, rows: Any, predicted: NDArray[Any]) -> Reasons:
        """Why rows are predicted as they are.

        Parameters
        ----------
        rows : table
            As the model takes them.
        predicted : ndarray of shape (n_rows,)
            What it says about them.

        Returns
        -------
        Reasons
            Of the value, or of the class that is predicted.
        """
        classes = getattr(self.model, "classes_", None)
        chosen = None if classes is None else np.searchsorted(classes, predicted)
        if self.is_exact:
            return self._explain_trees(rows, chosen)
        fitted = getattr(self.model, "feature_names_in_", None)
        names = [str(name) for name in (range(int(self.model.n_features_in_)) if fitted is None else fitted)]
        step = max(1, _MOST_ASKED // (2 * _N_ORDERS * (len(names) + 1)))
        parts = []
        for start in range(0, count_rows(rows), step):
            here = np.arange(start, min(start + step, count_rows(rows)))
            parts.append(self._sample(select_rows(rows, here), None if chosen is None else chosen[here], len(names)))
        return Reasons(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), names)

    def _explain_trees(self, rows: Any, chosen: NDArray[np.intp] | None) -> Reasons:
        from committee.inspection import shap_values

        found = shap_values(self.model, rows)
        values, base = found.values, found.base_values
        if values.ndim == 3:
            output = np.zeros(len(values), dtype=np.intp) if chosen is None else chosen
            each = np.arange(len(values))
            values, base = values[each, :, output], base[each, output]
        elif chosen is not None:
            # One score for two classes: it speaks for the second, and against the first.
            sign = np.where(chosen == 1, 1.0, -1.0)
            values, base = values * sign[:, None], base * sign
        return Reasons(values, base, found.feature_names)

    def _sample(self, rows: Any, chosen: NDArray[np.intp] | None, n_features: int) -> tuple[Any, Any]:
        """Shapley values by orders of the features [Strumbelj2014], each used forwards and backwards.

        In each order features turn, one after the other, from an unknown row's value to the row's own; what the
        prediction changes by then is their share. The shares of a row add up to its prediction less the base.
        """
        n_rows, d = count_rows(rows), n_features
        orders = np.concatenate([self._orders, self._orders[:, ::-1]])
        behind = np.tile(np.arange(_N_ORDERS), 2)
        # Step k of an order: the features at its first k places are known.
        place = np.argsort(orders, axis=1)
        known = place[:, None, :] < np.arange(d + 1)[None, :, None]
        own = np.arange(n_rows)[:, None, None, None]
        other = n_rows + behind[None, :, None, None]
        picked = np.where(known[None], own, other).reshape(-1, d)
        said = self._ask(_mix(rows, self._behind, picked)).reshape(n_rows, len(orders), d + 1, -1)
        answers = said[..., 0] if chosen is None else said[np.arange(n_rows), :, :, chosen]
        gains = np.diff(answers, axis=2)
        values = np.take_along_axis(gains, np.broadcast_to(place, gains.shape), axis=2).mean(axis=1)
        return values, answers[:, :, 0].mean(axis=1)

    def _ask(self, rows: Any) -> NDArray[np.float64]:
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(rows))
        if hasattr(self.model, "classes_"):
            return np.asarray(self.model.predict(rows)[:, None] == self.model.classes_, dtype=np.float64)
        return np.asarray(self.model.predict(rows), dtype=np.float64).reshape(count_rows(rows), -1)


def _mix(rows: Any, behind: Any, picked: NDArray[np.intp]) -> Any:
    """A table whose cells come from the rows and those behind them, each by the number of its row."""
    if isinstance(rows, pa.Table):
        both = pa.concat_tables([rows, behind]).combine_chunks()
        return pa.table({name: both.column(k).take(picked[:, k]) for k, name in enumerate(both.column_names)})
    both = np.concatenate([rows, behind])
    return both[picked, np.arange(picked.shape[1])]
