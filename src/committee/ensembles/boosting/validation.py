"""Validation sets: rows that no tree is grown from, split off the training rows or given by the user."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.blocks import BlockTable
from committee.data.class_weights import combine_weights
from committee.data.dataset import ClassTarget, ValueTarget
from committee.data.device_tables import copy_to_host
from committee.data.intake import take_in_rows
from committee.data.targets import encode_classes, encode_values, read_target
from committee.ensembles.boosting.objective import require_target
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from committee.base import CommitteeEstimator
    from committee.data import Dataset
    from committee.ensembles.boosting.booster import Booster
    from committee.typing import BoolArray, FloatArray, FloatMatrix, SparseMatrix

__all__ = [
    "ValidationSet",
    "draw_test_rows",
    "read_eval_sets",
    "read_validation_set",
    "split_folds",
    "split_validation",
]


class ValidationSet:
    """Rows that no tree is grown from, with their scores by the trees so far.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Encoded by the schema of the training rows.
    target : ClassTarget or ValueTarget
        With the classes of the training rows.
    weights : ndarray of shape (n_rows,) or None
        Row weights, for averages.
    offset : ndarray of shape (n_rows, n_scores) or None
        What their scores start from, besides the baseline.
    """

    def __init__(
        self,
        X: FloatMatrix | SparseMatrix,
        target: ClassTarget | ValueTarget,
        weights: FloatArray | None,
        offset: FloatArray | None = None,
    ) -> None:
        self.X, self.target, self.weights, self.offset = X, target, weights, offset
        self._scores: FloatArray | None = None
        self._n_added = 0

    @classmethod
    def of(cls, dataset: Dataset, offset: FloatArray | None) -> ValidationSet:
        """All rows of a data set."""
        # Every round scores these rows, so that a table in blocks is read once.
        X = dataset.X.collect() if isinstance(dataset.X, BlockTable) else copy_to_host(dataset.X)
        return cls(X, require_target(dataset), dataset.weights, offset)

    def update_scores(self, booster: Booster) -> FloatArray:
        """Add the newest trees to the scores, which have the shape (n_rows, n_scores)."""
        if self._scores is None or booster.rescales_trees:
            self._scores = booster.score_rows(self.X, self.offset)
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # scores beyond all bounds are refused when the fit ends
                self._scores = self._scores + booster.sum_newest(self.X, self._n_added)
        self._n_added = booster.state.n_trees
        return self._scores


def read_validation_set(
    estimator: CommitteeEstimator, dataset: Dataset, X: Any, y: Any, sample_weight: ArrayLike | None
) -> ValidationSet:
    """Check and encode a validation set that the user gives.

    Parameters
    ----------
    estimator : estimator instance
        Whose ``class_weight`` goes into the weights.
    dataset : Dataset
        The training rows, whose columns and classes these rows must have.
    X, y, sample_weight
        As ``fit`` takes them.
    """
    rows = take_in_rows(estimator, X, dataset.schema)
    name, target = type(estimator).__name__, require_target(dataset)
    found: ClassTarget | ValueTarget
    array = read_target(y, rows.shape[0], name, multi_output=target.n_outputs > 1 or isinstance(target, ValueTarget))
    if isinstance(target, ClassTarget):
        found = _match_classes(encode_classes(array, name), target)
    else:
        found = encode_values(array)
        if found.n_outputs != target.n_outputs:
            raise DataError(
                f"The validation rows have {found.n_outputs} outputs, the training rows {target.n_outputs}."
            )
    class_weight = getattr(estimator, "class_weight", None)
    weights = None
    if sample_weight is not None or class_weight is not None:
        weights = combine_weights(sample_weight, class_weight, found, rows.shape[0], name)
    return ValidationSet(rows, found, weights)


def read_eval_sets(
    estimator: CommitteeEstimator,
    dataset: Dataset,
    predict_start: Callable[[Any], FloatArray | None],
    eval_set: Sequence[tuple[Any, Any]] | None,
    eval_sample_weight: Sequence[ArrayLike | None] | None,
    eval_names: Sequence[str] | None,
) -> dict[str, ValidationSet]:
    """The evaluation sets that the user gives, by name.

    Parameters
    ----------
    estimator, dataset
        As for `read_validation_set`.
    predict_start : callable
        What the scores of rows start from, besides the baseline.
    eval_set, eval_sample_weight, eval_names
        As `fit` takes them.
    """
    if eval_set is None:
        if eval_sample_weight is not None or eval_names is not None:
            raise DataError("eval_sample_weight and eval_names go with eval_set, which is None.")
        return {}
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    weights = [None] * len(pairs) if eval_sample_weight is None else list(eval_sample_weight)
    names = [f"validation_{k}" for k in range(len(pairs))] if eval_names is None else [str(n) for n in eval_names]
    if not len(pairs) == len(weights) == len(names) or len(set(names)) < len(names):
        raise DataError("eval_set, eval_sample_weight and eval_names must be of one length, and names unique.")
    tables = {}
    for name, (X, y), weight in zip(names, pairs, weights, strict=True):
        tables[name] = read_validation_set(estimator, dataset, X, y, weight)
        tables[name].offset = predict_start(X)
    return tables


def _match_classes(found: ClassTarget, known: ClassTarget) -> ClassTarget:
    """The same labels, numbered as in the training rows."""
    if found.n_outputs != known.n_outputs:
        raise DataError(f"The validation rows have {found.n_outputs} targets, the training rows {known.n_outputs}.")
    columns = []
    for labels, own, classes in zip(found.labels.T, found.classes, known.classes, strict=True):
        index = {label: k for k, label in enumerate(classes.tolist())}
        unknown = [label for label in own.tolist() if label not in index]
        if unknown:
            raise DataError(f"The validation rows have the class {unknown[0]!r}, which the training rows do not have.")
        columns.append(np.array([index[label] for label in own.tolist()], dtype=np.uint32)[labels])
    return ClassTarget(np.stack(columns, axis=1), known.classes, known.one_dimensional)


def split_validation(
    dataset: Dataset, size: float, seed: int, offset: FloatArray | None = None
) -> tuple[Dataset, ValidationSet, BoolArray]:
    """Split the rows into training rows and a validation set; the mask marks the rows of the latter.

    The split is that of scikit-learn's `train_test_split`, stratified, where it leaves rows of every class on both
    sides. At least one row of each class and all rows of weight zero stay in the training rows.

    Parameters
    ----------
    dataset : Dataset
        All rows.
    size : float or int
        A fraction, or a number of rows.
    seed : int
        Seed of the fit.
    offset : ndarray of shape (n_rows, n_scores), optional
        What the scores of all rows start from.

    Examples
    --------
    >>> from committee.base import CommitteeEstimator
    >>> from committee.data.intake import take_in
    >>> data = take_in(CommitteeEstimator(), np.arange(20.0)[:, None], [0, 1] * 10, task="classify")
    >>> training, validation, _ = split_validation(data, 0.2, 0)
    >>> training.n_rows, validation.target.labels.sum()
    (16, np.uint64(2))
    """
    present = np.arange(dataset.n_rows) if dataset.weights is None else np.flatnonzero(dataset.weights > 0.0)
    target = dataset.target
    labels = target.labels[present, 0] if isinstance(target, ClassTarget) else np.zeros(len(present), np.uint32)
    out = np.zeros(dataset.n_rows, dtype=bool)
    out[_draw_stratified(present, labels, size, seed)] = True
    if not out.any():
        raise DataError(
            f"There are too few rows ({len(present)}) to hold any out for early stopping; set 'early_stopping' to "
            "False."
        )
    training, validation = dataset.take_rows(np.flatnonzero(~out)), dataset.take_rows(np.flatnonzero(out))
    return training, ValidationSet.of(validation, None if offset is None else offset[out]), out


def _draw_stratified(present: NDArray[np.intp], labels: NDArray[np.uint32], size: float, seed: int) -> NDArray[np.intp]:
    """Rows to hold out: those that scikit-learn draws, if it can stratify; else a number of each class."""
    counts, n_rows = np.bincount(labels), len(present)
    classes = np.flatnonzero(counts)
    n_out = int(size) if isinstance(size, int | np.integer) else ceil(float(size) * n_rows)
    if len(classes) <= min(n_out, n_rows - n_out) and counts[classes].min() > 1:
        # The number that scikit-learn's histogram boosting draws: the same random_state holds the same rows out.
        own = int(np.random.RandomState(seed % 2**32).randint(2**32 - 1, dtype="u8"))
        drawn = draw_test_rows(labels, n_out, own)
        if (np.bincount(labels[drawn], minlength=len(counts))[classes] < counts[classes]).all():
            found: NDArray[np.intp] = present[drawn]
            return found
    rng, carry, rows = np.random.default_rng([seed, 1]), 0.0, []
    for label in classes:
        wanted = n_out / n_rows * counts[label] + carry
        n_drawn = min(round(wanted), counts[label] - 1)
        carry = min(wanted - n_drawn, 0.5)
        rows.append(rng.permutation(present[labels == label])[:n_drawn])
    return np.concatenate(rows)


def draw_test_rows(labels: NDArray[np.uint32], n_out: int, seed: int) -> NDArray[np.intp]:
    """The test rows of scikit-learn's `train_test_split`, in another order, an order of magnitude faster.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Classes to stratify by, as numbers from 0 on. If there is only one, nothing is stratified.
    n_out : int
        Number of rows to draw.
    seed : int
        The `random_state` of that function.

    Examples
    --------
    >>> draw_test_rows(np.array([0, 1, 1, 0, 1, 1], dtype=np.uint32), 3, 0)
    array([0, 2, 5])
    """
    rng, counts = np.random.RandomState(seed), np.bincount(labels)
    classes = np.flatnonzero(counts)
    if len(classes) == 1:
        return np.asarray(rng.permutation(len(labels))[:n_out], dtype=np.intp)
    # Numbers of 16 bits are sorted by counting.
    narrow = labels.astype(np.uint16) if len(counts) <= 1 << 16 else labels
    members = np.split(np.argsort(narrow, kind="stable"), np.cumsum(counts[classes])[:-1])
    n_kept = _apportion(counts[classes], len(labels) - n_out, rng)
    n_drawn = _apportion(counts[classes] - n_kept, n_out, rng)
    orders = [rng.permutation(len(own)) for own in members]
    parts = zip(members, orders, n_kept, n_drawn, strict=True)
    drawn: NDArray[np.intp] = np.concatenate([own[order[first : first + n]] for own, order, first, n in parts])
    return drawn


def _apportion(counts: NDArray[np.intp], total: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """A total, shared out in proportion to the counts; what is left goes to the largest remainders, equals by lot."""
    quotas = counts / counts.sum() * total
    shares = np.floor(quotas)
    remainders, left = quotas - shares, int(total - shares.sum())
    for remainder in np.unique(remainders)[::-1]:
        if left <= 0:
            break
        equals = np.flatnonzero(remainders == remainder)
        winners = rng.choice(equals, size=min(left, len(equals)), replace=False)
        shares[winners] += 1.0
        left -= len(winners)
    whole: NDArray[np.intp] = shares.astype(np.intp)
    return whole


def split_folds(
    dataset: Dataset, n_folds: int, seed: int, offset: FloatArray | None
) -> Iterator[tuple[Dataset, ValidationSet, FloatArray | None]]:
    """Training rows, validation set, and what the scores of the former start from, for each fold.

    Folds are stratified. The row of a class of a single row and all rows of weight zero are in no validation set.

    Parameters
    ----------
    dataset : Dataset
        All rows.
    n_folds : int
        Number of folds, at least two.
    seed : int
        Seed of the split.
    offset : ndarray of shape (n_rows, n_scores) or None
        What the scores of all rows start from.
    """
    n_rows, target = dataset.n_rows, dataset.target
    order = np.random.default_rng([seed, 4]).permutation(n_rows)
    if isinstance(target, ClassTarget):
        labels = target.labels[:, 0]
        order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(n_rows, dtype=np.intp)
    fold[order] = np.arange(n_rows) % n_folds
    if isinstance(target, ClassTarget):
        fold[np.bincount(labels, minlength=len(target.classes[0]))[labels] == 1] = -1
    if dataset.weights is not None:
        fold[dataset.weights == 0.0] = -1
    for k in range(n_folds):
        out = fold == k
        if not out.any() or out.all():
            continue
        training, validation = dataset.take_rows(np.flatnonzero(~out)), dataset.take_rows(np.flatnonzero(out))
        own = ValidationSet.of(validation, None if offset is None else offset[out])
        yield training, own, None if offset is None else offset[~out]
