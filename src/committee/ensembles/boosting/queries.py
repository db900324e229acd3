"""Queries of a ranking: how they are read, held out as a whole, and scored while a model is trained."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.dataset import ValueTarget
from committee.ensembles.boosting.scorer import BoostingScorer
from committee.ensembles.boosting.validation import ValidationSet
from committee.exceptions import DataError, ParameterError
from committee.scoring import mean_average_precision, mean_ndcg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.data.dataset import ClassTarget
    from committee.ensembles.boosting.booster import Booster
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.typing import BoolArray, FloatArray, IndexArray

__all__ = [
    "QueryScorer",
    "add_queries",
    "count_queries",
    "hold_out_queries",
    "number_queries",
    "read_queries",
    "split_query_folds",
]

_FEW_QUERIES = 5
"""With fewer queries than this, rows of each are held out, and drawn for a round, in place of whole ones."""
_MOST_RELEVANCE = 31.0
"""Gains are 2^y - 1."""


# --- reading -----------------------------------------------------------------------------------------------------


def read_queries(qid: Any, n_rows: int, name: str) -> NDArray[np.intp]:
    """The number of each row's query; the rows of a query need not be adjacent.

    Parameters
    ----------
    qid : array-like of shape (n_rows,) or None
        Numbers or text; None: all rows are of one query.
    n_rows : int
        Rows of the table.
    name : str
        Of the estimator, for error messages.
    """
    if qid is None:
        return np.zeros(n_rows, dtype=np.intp)
    given = np.asarray(qid)
    given = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
    if given.shape != (n_rows,):
        hint = " Sizes of queries, as LightGBM takes them, become numbers by np.repeat(np.arange(len(sizes)), sizes)."
        raise DataError(
            f"'qid' of {name} must give the query of each of the {n_rows} rows; got an array of shape {given.shape}."
            + (hint if given.ndim == 1 else "")
        )
    unknown = given != given
    if np.any(unknown) or (given.dtype == object and any(value is None for value in given.tolist())):
        raise DataError(f"'qid' of {name} has missing values; every row belongs to a query.")
    if given.dtype == object:
        given = given.astype(str)
    return np.asarray(np.unique(given, return_inverse=True)[1], dtype=np.intp).reshape(-1)


def add_queries(target: ClassTarget | ValueTarget | None, queries: NDArray[np.intp], name: str) -> ValueTarget:
    """The target with the queries as its second column, after a check of the relevances."""
    assert isinstance(target, ValueTarget)
    relevance = target.values[:, 0]
    if (relevance < 0.0).any() or (relevance > _MOST_RELEVANCE).any():
        worst = float(relevance.min() if (relevance < 0.0).any() else relevance.max())
        raise DataError(
            f"y of {name} must be relevances from 0 to {_MOST_RELEVANCE:.0f}, whose gains are 2^y - 1; got {worst:g}. "
            "Number the levels of relevance from 0 on."
        )
    return replace(target, values=np.stack([relevance, queries.astype(np.float64)], axis=1))


def count_queries(dataset: Dataset) -> int:
    """Number of queries with a row of positive weight."""
    return len(np.unique(_get_queries(dataset)[_find_present(dataset)]))


def number_queries(dataset: Dataset) -> IndexArray | None:
    """The number of each row's query, from 0 on, for draws of whole queries.

    None with fewer than five queries: rows are drawn by themselves then, as `hold_out_queries` holds them out.
    """
    if count_queries(dataset) < _FEW_QUERIES:
        return None
    return np.unique(_get_queries(dataset), return_inverse=True)[1].astype(np.uint32)


# --- splits ------------------------------------------------------------------------------------------------------


def hold_out_queries(dataset: Dataset, size: float, seed: int) -> tuple[Dataset, ValidationSet, BoolArray]:
    """Split whole queries off as a validation set; the mask marks their rows.

    With fewer than five queries rows are held out instead. Rows of weight zero stay in the training rows.

    Parameters
    ----------
    dataset : Dataset
        All rows; the second column of the target is the query.
    size : float or int
        A fraction, or a number of queries.
    seed : int
        Seed of the fit.
    """
    units, present = _list_units(dataset), _find_present(dataset)
    there = np.unique(units[present])
    n_out = int(size) if isinstance(size, int | np.integer) else ceil(float(size) * len(there))
    drawn = np.random.default_rng([seed, 1]).permutation(there)[: min(n_out, len(there) - 1)]
    out = np.isin(units, drawn) & present
    if not out.any():
        raise DataError("There are too few rows to hold any out for early stopping; set 'early_stopping' to False.")
    training, validation = dataset.take_rows(np.flatnonzero(~out)), dataset.take_rows(np.flatnonzero(out))
    return training, ValidationSet.of(validation, None), out


def split_query_folds(dataset: Dataset, n_folds: int, seed: int) -> Iterator[tuple[Dataset, ValidationSet, None]]:
    """Training rows and validation set of each fold, by whole queries as in `hold_out_queries`."""
    units, present = _list_units(dataset), _find_present(dataset)
    there = np.random.default_rng([seed, 4]).permutation(np.unique(units[present]))
    for k in range(n_folds):
        out = np.isin(units, there[k::n_folds]) & present
        if not out.any() or out.all():
            continue
        training, validation = dataset.take_rows(np.flatnonzero(~out)), dataset.take_rows(np.flatnonzero(out))
        yield training, ValidationSet.of(validation, None), None


def _get_queries(dataset: Dataset) -> NDArray[np.intp]:
    assert isinstance(dataset.target, ValueTarget)
    return dataset.target.values[:, 1].astype(np.intp)


def _list_units(dataset: Dataset) -> NDArray[np.intp]:
    """What is held out together: the query of each row, or the row itself."""
    return _get_queries(dataset) if count_queries(dataset) >= _FEW_QUERIES else np.arange(dataset.n_rows)


def _find_present(dataset: Dataset) -> BoolArray:
    return np.ones(dataset.n_rows, dtype=bool) if dataset.weights is None else dataset.weights > 0.0


# --- scores ------------------------------------------------------------------------------------------------------


class QueryScorer(BoostingScorer):
    """How good the order of the rows of queries is; always of all rows.

    Parameters
    ----------
    scoring : str or callable
        ``"ndcg"`` or ``"map"``, with ``"@k"`` for the first k places; ``"loss"`` for minus the loss; or a function of
        relevances, scores and the keyword ``qid``.
    loss : BoostingLoss
        Of the fit.
    parameter : str
        Name of the parameter that ``scoring`` comes from, for error messages.
    """

    def __init__(self, scoring: str | Callable[..., float], loss: BoostingLoss, parameter: str = "scoring") -> None:
        super().__init__("loss", loss, parameter)
        self._measure = None if scoring == "loss" else _find_measure(scoring, parameter)
        self.is_loss = self._measure is None

    @property
    def sees_all_rows(self) -> bool:
        """A sample would take queries apart."""
        return True

    def score_training(self, booster: Booster) -> float:
        """Score of all training rows."""
        if self._measure is None:
            return super().score_training(booster)
        return self.score(booster.objective.target, np.asarray(booster.state.scores), booster.dataset.weights)

    def score(self, target: ClassTarget | ValueTarget, scores: FloatArray, weights: FloatArray | None) -> float:
        """Score of rows whose scores, of shape (n_rows, 1), are known."""
        if self._measure is None or not isinstance(target, ValueTarget):
            return super().score(target, scores, weights)
        options = {} if weights is None else {"sample_weight": weights}
        return float(self._measure(target.values[:, 0], scores[:, 0], qid=target.values[:, 1], **options))


def _find_measure(scoring: str | Callable[..., float], parameter: str) -> Callable[..., float]:
    if not isinstance(scoring, str):
        return scoring
    name, at, places = scoring.partition("@")
    measures: dict[str, Callable[..., float]] = {"ndcg": mean_ndcg, "map": mean_average_precision}
    if name not in measures or (at and not (places.isdecimal() and int(places) > 0)):
        raise ParameterError(
            f"{parameter!r} of a ranking must be 'ndcg', 'map', one of these for the first k places such as 'ndcg@10', "
            f"'loss', or a function of relevances and scores with the keyword 'qid'; got {scoring!r}."
        )
    measure, k = measures[name], int(places) if at else None

    def measure_first(*args: Any, **options: Any) -> float:
        return measure(*args, k=k, **options)

    return measure_first
