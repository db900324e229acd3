"""The options of a fit; without scikit-learn, which takes a second to import."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """The options of a fit.

    Parameters
    ----------
    estimator : str
        A name that :func:`committee.cli.catalog.find_class` accepts.
    settings : mapping of str to object
        Parameters set by the user.
    folds : int
        Number of cross-validation folds.
    seed : int
        Seed of the folds and of the estimator.
    jobs : int or None
        Number of threads.
    metric : str or None
        The metric that selects the tree depth and is listed first; None for the default of the task.
    seconds : float or None
        Time budget of the AutoML estimator; other estimators have none.
    """

    estimator: str
    settings: Mapping[str, Any]
    folds: int
    seed: int
    jobs: int | None
    metric: str | None = None
    seconds: float | None = None
