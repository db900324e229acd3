"""The trainer of stumps for a data set: in this process, or over the blocks of a table on a cluster."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from committee.base import resolve_jobs
from committee.data.binning import load_block_bins
from committee.data.dataset import ClassTarget, is_in_blocks
from committee.engines.block_stumps import BlockStumps, StumpBlockMaker
from committee.engines.choice import bin_for_gpu, refuse_members, start_stumps
from committee.engines.cluster import choose_hosts
from committee.learners.training_arrays import make_training_arrays
from committee.learners.tree_params import name_criterion

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.engines import StumpTrainer
    from committee.learners.tree_base import BaseTree
    from committee.typing import FloatArray

__all__ = ["make_stump_trainer"]

_READINGS = 10
"""A fit of stumps reads about as many values as this many passes over the table: later rounds read few rows."""


def make_stump_trainer(
    estimator: BaseTree,
    dataset: Dataset,
    weights: FloatArray | None,
    n_jobs: int | None,
    n_counted: float,
    engine: Literal["cpu", "gpu", "auto"] = "cpu",
) -> StumpTrainer | BlockStumps:
    """Boosting of stumps over the rows of a data set; both trainers give the same stumps.

    Parameters
    ----------
    estimator : BaseTree
        A stump.
    dataset : Dataset
        The training rows.
    weights : ndarray of shape (n_rows,) or None
        Weights of the first round.
    n_jobs : int or None
        Number of threads.
    n_counted : float
        Rows that all weights stand for.
    engine : {"cpu", "gpu", "auto"}
        Where.
    """
    jobs, settings = resolve_jobs(n_jobs), estimator.tree_settings()
    criterion, target, X = name_criterion(settings.criterion), dataset.target, dataset.X
    assert isinstance(target, ClassTarget)
    if is_in_blocks(X) and not hasattr(X, "make_bins") and not settings.exact:
        work = float(X.shape[0]) * X.shape[1] * _READINGS
        hosts = choose_hosts("AdaBoost with stumps, by rows,", X.n_blocks, work)
        if hosts is not None:
            refuse_members(engine, "AdaBoostClassifier", "tables in blocks on a cluster")
            mapper = dataset.learn_block_bins(estimator.max_bins, jobs)
            maker = StumpBlockMaker(partial(load_block_bins, X, mapper), jobs)
            labels, n_classes, offsets = target.labels[:, 0], target.n_classes[0], X.offsets.tolist()
            key = f"stumps {uuid4().hex}"
            return BlockStumps(
                hosts, key, maker, mapper, offsets, labels, n_classes, weights, criterion, jobs, n_counted
            )
    bins = None if settings.exact else bin_for_gpu(engine, dataset, estimator.max_bins, jobs)
    arrays = make_training_arrays(dataset, estimator.max_bins, exact=settings.exact, n_jobs=jobs, bins=bins)
    assert arrays.labels is not None
    counted = 0.0 if weights is None else n_counted
    return start_stumps(
        engine, arrays.bins, arrays.presort, arrays.labels[:, 0], arrays.n_classes[0], weights, criterion, jobs, counted
    )
