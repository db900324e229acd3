"""Out-of-fold predictions: each row is predicted by members that were fitted without it [Wolpert1992].

Members and folds are fitted in parallel. A row that several folds leave out gets the mean of its predictions; a row
that none leaves out, as with folds ordered by time, has none (NaN). Bags and forests of this library need no folds:
their out-of-bag predictions come with the one fit on all rows.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from committee.base import CommitteeEstimator
from committee.data.rows import select_rows
from committee.data.spilling import carry_limit
from committee.engines.cluster import choose_hosts
from committee.ensembles.combining.fold_average import FoldAverage
from committee.ensembles.combining.member_predictions import (
    Classes,
    predict_member,
    read_oob_predictions,
    split_by_output,
)
from committee.ensembles.combining.training_set import TrainingSet, can_fit_dataset
from committee.ensembles.progress import show_progress
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from committee.data.folds import Folds
    from committee.engines.hosts.recovering import RecoveringHosts
    from committee.typing import BoolArray, EstimatorLike, FloatArray

__all__ = [
    "BaggedEnsemble",
    "MemberFit",
    "average_fold_predictions",
    "check_oob_groups",
    "find_predicted_rows",
    "fit_members",
    "fit_shared_job",
    "has_oob_predictions",
    "predict_out_of_fold",
]


_LINE_WIDTH = 70
"""Characters of a line about a fit."""


@dataclass
class MemberFit:
    """A member with its fits and its out-of-fold predictions.

    Attributes
    ----------
    name : str
        Its name.
    estimator : estimator
        Not fitted; every fit is one of a clone.
    method : str
        The method that it predicts by.
    params : dict
        Further arguments of its `fit`.
    fitted : estimator or None
        Fitted on all rows.
    fold_models : list of estimators
        Each fitted on all rows but those of one fold.
    predictions : ndarray of shape (n_rows, width)
        Out-of-fold or out-of-bag; NaN for rows without one.
    seconds : float
        How long the last of its fits took.
    """

    name: str
    estimator: Any
    method: str = "predict"
    params: dict[str, object] = field(default_factory=dict)
    fitted: Any = None
    fold_models: list[Any] = field(default_factory=list)
    predictions: Any = None
    seconds: float = 0.0

    def to_estimator(self, classes: Classes) -> EstimatorLike:
        """The estimator that predicts for this member: the fit on all rows, or else the mean of the fold models."""
        model: EstimatorLike = FoldAverage(self.fold_models, classes) if self.fitted is None else self.fitted
        return model


@dataclass(frozen=True)
class _FitJob:
    """One fit: of a member, on the training rows of a fold; on all rows if there is no fold."""

    member: MemberFit
    train: NDArray[np.intp] | None = None
    test: NDArray[np.intp] | None = None


# Out-of-bag predictions in place of folds.


class BaggedEnsemble(Protocol):
    """A fitted bag or forest of this library."""

    @property
    def estimators_samples_(self) -> Sequence[NDArray[np.intp]]:
        """Rows of the sample of each member."""

    def predict_members(self, X: Any) -> list[FloatArray]:
        """Predictions of each member."""


def has_oob_predictions(member: object) -> TypeGuard[BaggedEnsemble]:
    """Whether a member is a bag or forest of this library that leaves rows out, so that it has out-of-bag predictions.

    A forest that calibrates itself has fitted its calibration to them, and one that stops early by the out-of-bag
    score has been chosen by them.
    """
    if not isinstance(member, CommitteeEstimator) or not hasattr(member, "oob_score"):
        return False
    calibrated = getattr(member, "calibration", None) is not None
    draws = bool(getattr(member, "bootstrap", False)) or getattr(member, "max_samples", None) is not None
    return draws and not calibrated and getattr(member, "oob_patience", None) is None


def check_oob_groups(members: list[MemberFit], groups: ArrayLike | None, owner: str) -> None:
    """Refuse out-of-bag predictions of members that sample single rows where rows come in groups."""
    for one in members if groups is not None else []:
        if getattr(one.estimator, "bootstrap", False) not in (False, "group"):
            raise ParameterError(
                f"{owner} was given groups, and {one.name!r} ({type(one.estimator).__name__}) draws single rows, so "
                "that its out-of-bag predictions would leak the group; set bootstrap='group'."
            )


def _request_oob(member: Any) -> Any:
    member = clone(member)
    return member if member.oob_score else member.set_params(oob_score=True)


def _extract_oob_predictions(one: MemberFit, n_rows: int, classes: Classes) -> FloatArray:
    predictions = read_oob_predictions(one.fitted, n_rows)
    if one.method != "predict" or classes is None:
        return predictions
    known = np.isfinite(predictions).all(axis=1, keepdims=True)
    labels = [output.argmax(axis=1) for output in split_by_output(predictions, classes)]
    return np.where(known, np.column_stack(labels), np.nan)


# Fits.


def fit_members(
    training: TrainingSet, members: list[MemberFit], n_jobs: int | None, verbose: int, owner: object = None
) -> None:
    """Fit every member on all rows; with ``verbose``, write a line for each, as scikit-learn's voting does.

    Parameters
    ----------
    training : TrainingSet
        The table and its target.
    members : list of MemberFit
        Their fits are filled in.
    n_jobs, verbose : int
        Number of fits in parallel, and verbosity.
    owner : estimator, optional
        The ensemble whose callbacks are called.
    """
    n_written = 0
    for job, fitted, _ in _run_jobs(training, [_FitJob(one) for one in members], None, n_jobs, 0, owner):
        job.member.fitted = fitted
        # Members of this library come first, since they share the data set; the lines are in the order of the members.
        while verbose and n_written < len(members) and members[n_written].fitted is not None:
            one, n_written = members[n_written], n_written + 1
            sys.stdout.write(_describe_fit(one, n_written, len(members)))
            sys.stdout.flush()


def _describe_fit(one: MemberFit, number: int, total: int) -> str:
    """A line about a fit, in scikit-learn's form."""
    seconds = f" {one.seconds:5.1f}s" if one.seconds <= 60.0 else f"{one.seconds / 60.0:4.1f}min"
    end = f" ({number} of {total}) Processing {one.name}, total={seconds}"
    return f"[Voting] {'.' * (_LINE_WIDTH - len('[Voting] ') - len(end))}{end}\n"


def predict_out_of_fold(
    training: TrainingSet,
    members: list[MemberFit],
    folds: Folds,
    classes: Classes,
    *,
    refit: bool = True,
    out_of_bag: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
    owner: object = None,
) -> None:
    """Fit every member in the folds and on all rows, and store its out-of-fold predictions.

    Parameters
    ----------
    training : TrainingSet
        The table and its target.
    members : list of MemberFit
        Their fits and predictions are filled in.
    folds : list of (train, test)
        From `plan_folds`.
    classes : list of ndarray or None
        As the members were fitted with them.
    refit : bool, default=True
        Whether to fit on all rows as well; otherwise the models of the folds are kept.
    out_of_bag : bool, default=False
        Whether bags and forests are fitted once, on all rows, for their out-of-bag predictions, instead of in folds.
    n_jobs, verbose : int
        Number of fits in parallel, and verbosity.
    owner : estimator, optional
        The ensemble whose callbacks are called.
    """
    jobs: list[_FitJob] = []
    for one in members:
        one.fold_models = []
        if out_of_bag and has_oob_predictions(one.estimator):
            one.estimator = _request_oob(one.estimator)
            jobs.append(_FitJob(one))
        else:
            jobs += [_FitJob(one, train, test) for train, test in folds]
            jobs += [_FitJob(one)] if refit else []
    by_fold: dict[int, list[tuple[NDArray[np.intp], FloatArray]]] = {id(one): [] for one in members}
    for job, fitted, predicted in _run_jobs(training, jobs, classes, n_jobs, verbose, owner):
        if job.test is None or predicted is None:
            job.member.fitted = fitted
            continue
        by_fold[id(job.member)].append((job.test, predicted))
        if not refit:
            job.member.fold_models.append(fitted)
    for one in members:
        if by_fold[id(one)]:
            one.predictions = average_fold_predictions(by_fold[id(one)], training.n_rows)
        else:
            one.predictions = _extract_oob_predictions(one, training.n_rows, classes)


def find_predicted_rows(members: list[MemberFit]) -> BoolArray:
    """Rows for which every member has a prediction."""
    return np.asarray(np.all([np.isfinite(one.predictions).all(axis=1) for one in members], axis=0))


def average_fold_predictions(by_fold: list[tuple[NDArray[np.intp], FloatArray]], n_rows: int) -> FloatArray:
    """Mean prediction for each row, from pairs of rows and their predictions; NaN for rows without one."""
    sums, counts = np.zeros((n_rows, by_fold[0][1].shape[1])), np.zeros(n_rows)
    for rows, predicted in by_fold:
        sums[rows] += predicted
        counts[rows] += 1.0
    with np.errstate(invalid="ignore"):
        return sums / counts[:, None]


def _run_jobs(
    training: TrainingSet, jobs: list[_FitJob], classes: Classes, n_jobs: int | None, verbose: int, owner: object
) -> Iterator[tuple[_FitJob, Any, FloatArray | None]]:
    """The jobs, each with the fitted model and its predictions for the test rows.

    Members that share the data set are fitted on threads, since its bins are not sent to other processes; the others
    as joblib is set up.
    """
    shape = getattr(training.X, "shape", (training.n_rows, 1))
    hosts = choose_hosts(f"An ensemble of {len(jobs)} fits", len(jobs), float(np.prod(shape)) * len(jobs))
    if hosts is not None:
        yield from _run_on_hosts(hosts, training, jobs, classes, verbose, owner)
        return
    training.bin_table([job.member.estimator for job in jobs], n_jobs)
    done = 0
    with show_progress("Fitting members", len(jobs), verbose=verbose, estimator=owner) as on_progress:
        for shared in (True, False):
            some = [job for job in jobs if can_fit_dataset(job.member.estimator) == shared]
            if not some:
                continue
            # The data set stays out of a job that is sent to another process.
            own = training if shared else TrainingSet(training.X, training.y, training.weights, training.groups)
            fit = carry_limit(_fit_and_predict)
            calls = (
                (own, clone(job.member.estimator), job.member.method, job.member.params, job.train, job.test, classes)
                for job in some
            )
            results: Iterator[Any]
            if effective_n_jobs(n_jobs) == 1:  # starting a pool takes as long as the fit of a small model
                results = starmap(fit, calls)
            else:
                parallel = Parallel(n_jobs=n_jobs, prefer="threads" if shared else None, return_as="generator")
                results = parallel(delayed(fit)(*call) for call in calls)
            for job, (fitted, predicted, seconds) in zip(some, results, strict=True):
                job.member.seconds = seconds
                yield job, fitted, predicted
                done += 1
                if on_progress is not None:
                    on_progress(done)


def _run_on_hosts(
    hosts: RecoveringHosts,
    training: TrainingSet,
    jobs: list[_FitJob],
    classes: Classes,
    verbose: int,
    owner: object,
) -> Iterator[tuple[_FitJob, Any, FloatArray | None]]:
    """The same on the workers of a cluster, each of which is sent the table once and bins it by itself."""
    # Without the bins, which are made again faster than they are sent.
    shared = TrainingSet(training.X, training.y, training.weights, training.groups), classes
    items = [(clone(j.member.estimator), j.member.method, j.member.params, j.train, j.test) for j in jobs]
    with show_progress("Fitting members", len(jobs), verbose=verbose, estimator=owner) as on_progress:
        results = hosts.map(fit_shared_job, items, shared, on_progress)
    for job, (fitted, predicted, seconds) in zip(jobs, results, strict=True):
        job.member.seconds = seconds
        yield job, fitted, predicted


def fit_shared_job(
    item: tuple[EstimatorLike, str, dict[str, object], NDArray[np.intp] | None, NDArray[np.intp] | None],
    shared: tuple[TrainingSet, Classes],
) -> tuple[EstimatorLike, FloatArray | None, float]:
    """One fit on a worker of a cluster."""
    (member, method, params, train, test), (training, classes) = item, shared
    training.bin_table([member], None)
    return _fit_and_predict(training, member, method, params, train, test, classes)


def _fit_and_predict(
    training: TrainingSet,
    member: EstimatorLike,
    method: str,
    params: dict[str, object],
    train: NDArray[np.intp] | None,
    test: NDArray[np.intp] | None,
    classes: Classes,
) -> tuple[EstimatorLike, FloatArray | None, float]:
    started = time.perf_counter()
    fitted = training.fit_member(member, train, params)
    seconds = time.perf_counter() - started
    if test is None:
        return fitted, None, seconds
    return fitted, predict_member(fitted, select_rows(training.X, test), method, classes), seconds
