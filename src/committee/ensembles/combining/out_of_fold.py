"""Out-of-fold: every row is answered for by members that were fitted without it [Wolpert1992].

Members and folds are fitted side by side. A row that several folds leave out gets the mean of its answers; a row
that none leaves out, as with folds in the order of time, has none (NaN). Bagged members of this library need no
folds at all: their out-of-bag answers come with the one fit on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed

from committee.base import CommitteeEstimator
from committee.data.rows import select_rows
from committee.ensembles.combining.member_predictions import Classes, predict_member, spread_out_of_bag
from committee.ensembles.combining.training_set import TrainingSet, can_share
from committee.ensembles.progress import show_progress
from committee.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from committee.typing import BoolArray, FloatArray

    Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]

__all__ = [
    "Candidate",
    "answer_out_of_fold",
    "average_answers",
    "can_judge_itself",
    "cut_folds",
    "find_covered",
    "fit_members",
    "plan_folds",
]

_N_FOLDS = 5


@dataclass
class Candidate:
    """A member on its way through the folds.

    Attributes
    ----------
    name : str
        Its name.
    member : estimator
        Not fitted; every fit is of a clone.
    method : str
        How it is asked.
    params : dict
        What its `fit` is given besides.
    whole : estimator or None
        Fitted on all rows.
    by_fold : list of estimators
        Fitted on all rows but those of a fold.
    answers : ndarray of shape (n_rows, width)
        Out-of-fold or out-of-bag; NaN where there is none.
    """

    name: str
    member: Any
    method: str = "predict"
    params: dict[str, Any] = field(default_factory=dict)
    whole: Any = None
    by_fold: list[Any] = field(default_factory=list)
    answers: Any = None


def plan_folds(
    cv: Any, X: Any, y: NDArray[Any], groups: Any, classify: bool, weights: FloatArray | None = None
) -> Folds:
    """Training and left-out rows of each fold, the same for all members.

    Parameters
    ----------
    cv : int, None, splitter or iterable of (train, test)
        As in scikit-learn; a number (None is five) makes stratified folds for classes, and keeps groups together
        where groups are given.
    X, y, groups
        What is to be split.
    classify : bool
        Whether y holds classes.
    weights : ndarray of shape (n_rows,), optional
        Rows of weight zero are absent: they are in no fold, unless the folds are given row by row.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1])
    >>> [test.tolist() for _, test in plan_folds(2, np.zeros((4, 1)), y, None, True)]
    [[0, 2], [1, 3]]
    """
    single = y.ndim == 1
    if groups is not None and (cv is None or isinstance(cv, int | np.integer)):
        grouped = StratifiedGroupKFold if classify and single else GroupKFold
        splitter = grouped(_N_FOLDS if cv is None else int(cv))
    else:
        splitter = check_cv(_N_FOLDS if cv is None else cv, y if single else None, classifier=classify and single)
    there = np.arange(len(y))
    if weights is not None and (cv is None or isinstance(cv, int | np.integer) or hasattr(cv, "split")):
        there = np.flatnonzero(weights)
    # Splitters only count rows, and a table of any kind has those.
    parts = splitter.split(np.zeros((len(there), 1)), y[there], None if groups is None else np.asarray(groups)[there])
    folds = [_read_fold(part, len(y)) for part in parts]
    if not folds:
        raise DataError("The folds of 'cv' are empty; at least one is needed.")
    return [(there[train], there[test]) for train, test in folds]


def cut_folds(folds: Folds, known: BoolArray) -> Folds:
    """The same folds over some of the rows, by their new numbers; those that lose a side are gone.

    Examples
    --------
    >>> ends = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
    >>> cut_folds(ends, np.array([False, True, True, True]))
    [(array([0]), array([1, 2])), (array([1, 2]), array([0]))]
    """
    numbers = np.cumsum(known) - 1
    cut = [tuple(numbers[rows[known[rows]]] for rows in fold) for fold in folds]
    left = [(train, test) for train, test in cut if len(train) and len(test)]
    if not left:
        raise DataError("No fold is left for a further layer: too few rows have out-of-fold answers.")
    return left


def _read_fold(part: Any, n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    train, test = (np.asarray(rows) for rows in part)
    train, test = (np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp) for rows in (train, test))
    if not len(train) or not len(test):
        raise DataError("A fold of 'cv' has no rows to learn from, or none to be answered for.")
    for rows in (train, test):
        if rows.min() < 0 or rows.max() >= n_rows:
            raise DataError(f"A fold of 'cv' names rows beyond the {n_rows} that there are.")
    learnt = np.zeros(n_rows, dtype=bool)
    learnt[train] = True
    if learnt[test].any():
        raise DataError("A fold of 'cv' has rows both to learn from and to be answered for; these would leak.")
    return train, test


def find_covered(candidates: list[Candidate]) -> BoolArray:
    """Rows for which every member has an answer."""
    return np.asarray(np.all([np.isfinite(one.answers).all(axis=1) for one in candidates], axis=0))


def can_judge_itself(member: Any) -> bool:
    """Whether a member is a bag or forest of this library that leaves rows out, so that out-of-bag answers exist.

    A forest that calibrates itself has used up its out-of-bag shares, and one that stops by them chose among them.
    """
    if not isinstance(member, CommitteeEstimator) or not hasattr(member, "oob_score"):
        return False
    calibrated = getattr(member, "calibration", None) is not None
    draws = bool(getattr(member, "bootstrap", False)) or getattr(member, "max_samples", None) is not None
    return draws and not calibrated and getattr(member, "oob_patience", None) is None


def check_bags(candidates: list[Candidate], groups: Any, owner: str) -> None:
    """Refuse out-of-bag answers of members that draw single rows where rows come in groups."""
    for one in candidates if groups is not None else []:
        if getattr(one.member, "bootstrap", False) not in (False, "group"):
            raise ParameterError(
                f"{owner} was given groups, and {one.name!r} ({type(one.member).__name__}) draws single rows, so that "
                "its out-of-bag answers would know the group; set bootstrap='group'."
            )


def fit_members(training: TrainingSet, candidates: list[Candidate], n_jobs: int | None, verbose: int) -> None:
    """Fit every candidate on all rows."""
    _run(training, [(one, None, None) for one in candidates], None, n_jobs, verbose)


def answer_out_of_fold(
    training: TrainingSet,
    candidates: list[Candidate],
    folds: Folds,
    classes: Classes,
    *,
    refit: bool = True,
    out_of_bag: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> None:
    """Fill in the out-of-fold answers of every candidate, and its fits: on all rows, or those of the folds.

    Parameters
    ----------
    training : TrainingSet
        What is learnt.
    candidates : list of Candidate
        Are filled in.
    folds : list of (train, test)
        From `plan_folds`.
    classes : list of ndarray or None
        As the members know them.
    refit : bool, default=True
        Whether to fit on all rows besides; otherwise the members of the folds are kept.
    out_of_bag : bool, default=False
        Whether members that leave rows out by themselves answer for these instead of being fitted in folds.
    n_jobs, verbose : int
        Fits at a time, and how much to tell.
    """
    jobs: list[tuple[Candidate, Any, Any]] = []
    for one in candidates:
        one.by_fold = []
        if out_of_bag and can_judge_itself(one.member):
            one.member = _ask_for_out_of_bag(one.member)
            jobs.append((one, None, None))
        else:
            jobs += [(one, train, test) for train, test in folds]
            jobs += [(one, None, None)] if refit else []
    heard: dict[int, list[tuple[Any, FloatArray]]] = {id(one): [] for one in candidates}

    def hear(one: Candidate, fitted: Any, test: Any, answer: FloatArray) -> None:
        heard[id(one)].append((test, answer))
        if not refit:
            one.by_fold.append(fitted)

    _run(training, jobs, hear, n_jobs, verbose, classes)
    for one in candidates:
        if heard[id(one)]:
            one.answers = average_answers(heard[id(one)], training.n_rows)
        else:
            one.answers = _read_out_of_bag(one, training.n_rows, classes)


def _ask_for_out_of_bag(member: Any) -> Any:
    member = clone(member)
    return member if member.oob_score else member.set_params(oob_score=True)


def _read_out_of_bag(one: Candidate, n_rows: int, classes: Classes) -> FloatArray:
    shares = spread_out_of_bag(one.whole, n_rows)
    if one.method != "predict" or classes is None:
        return shares
    ends = np.cumsum([len(c) for c in classes])
    parts = np.split(shares, ends[:-1], axis=1)
    known = np.isfinite(shares).all(axis=1, keepdims=True)
    return np.where(known, np.column_stack([part.argmax(axis=1) for part in parts]), np.nan)


def average_answers(heard: list[tuple[NDArray[np.intp], FloatArray]], n_rows: int) -> FloatArray:
    """Mean answer about each row from pairs of rows and answers; NaN where there is none."""
    sums, counts = np.zeros((n_rows, heard[0][1].shape[1])), np.zeros(n_rows)
    for rows, answer in heard:
        sums[rows] += answer
        counts[rows] += 1.0
    with np.errstate(invalid="ignore"):
        return sums / counts[:, None]


def _run(
    training: TrainingSet,
    jobs: list[tuple[Candidate, Any, Any]],
    hear: Callable[[Candidate, Any, Any, FloatArray], None] | None,
    n_jobs: int | None,
    verbose: int,
    classes: Classes = None,
) -> None:
    """Do the jobs: those of members that share bins on threads, since bins do not travel, the others as joblib does."""
    training.prepare([one.member for one, _, _ in jobs], n_jobs)
    done = 0
    with show_progress("Fitting members", len(jobs), verbose=verbose) as on_progress:
        for shared in (True, False):
            mine = [job for job in jobs if can_share(job[0].member) == shared]
            for (one, train, test), (fitted, answer) in zip(
                mine, _do(training, mine, classes, n_jobs, shared), strict=True
            ):
                if train is None:
                    one.whole = fitted
                elif hear is not None:
                    hear(one, fitted, test, answer)
                done += 1
                if on_progress is not None:
                    on_progress(done)


def _do(
    training: TrainingSet, jobs: list[tuple[Candidate, Any, Any]], classes: Classes, n_jobs: int | None, shared: bool
) -> Iterator[tuple[Any, FloatArray]]:
    if not jobs:
        return iter(())
    # The data set stays out of a job that is sent to another process.
    room = training if shared else TrainingSet(training.X, training.y, training.weights, training.groups)
    work = Parallel(n_jobs=n_jobs, prefer="threads" if shared else None, return_as="generator")
    told: Iterator[tuple[Any, FloatArray]] = work(
        delayed(_fit_and_ask)(room, clone(one.member), one.method, one.params, train, test, classes)
        for one, train, test in jobs
    )
    return told


def _fit_and_ask(
    training: TrainingSet, member: Any, method: str, params: dict[str, Any], train: Any, test: Any, classes: Classes
) -> tuple[Any, FloatArray | None]:
    fitted = training.teach(member, train, params)
    if test is None:
        return fitted, None
    return fitted, predict_member(fitted, select_rows(training.X, test), method, classes)
