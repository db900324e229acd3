"""AutoGluon as a contender of the quality benchmark: `--models "AutoGluon presets=best_quality time_limit=600"`.

AutoGluon wants versions of other packages than this library is tested with, so it is installed in an environment of its
own, beside this library. Without Ray it fits folds one after the other, each on all cores that it is given.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

NAME = "AutoGluon"
#: Parameters of a fit that are not given as words.
DEFAULTS: dict[str, Any] = {"presets": "best_quality", "time_limit": 600, "verbosity": 0}
TARGET = "target"
#: Columns of AutoGluon's leaderboard that are kept.
KEPT = ["model", "score_val", "fit_time", "stack_level"]


class AutoGluonModel:
    """AutoGluon's TabularPredictor with the methods of an estimator; its files are in a temporary folder.

    Parameters
    ----------
    classify : bool
        Whether the target is a class; the metric is log-loss, otherwise the root mean squared error.
    threads : int
        Number of cores.
    params : dict
        Parameters of the fit, in place of `DEFAULTS`.
    """

    leaderboard_: list[dict[str, Any]]

    def __init__(self, classify: bool, threads: int, params: dict[str, Any]) -> None:
        # As with the other libraries, the time of the import is not part of the time of a fit.
        from autogluon.tabular import TabularPredictor

        self._kind = TabularPredictor
        self.classify, self.threads, self.params = classify, threads, {**DEFAULTS, **params}

    def fit(self, X: Any, y: Any) -> AutoGluonModel:
        """Fit on a table with categories."""
        self._folder = tempfile.TemporaryDirectory(prefix="autogluon")
        params = dict(self.params)
        self._predictor = self._kind(
            label=TARGET,
            problem_type=self._name_problem(y),
            eval_metric="log_loss" if self.classify else "root_mean_squared_error",
            path=self._folder.name,
            verbosity=params.pop("verbosity"),
        )
        self._predictor.fit(X.assign(**{TARGET: y}), num_cpus=self.threads, num_gpus=0, **params)
        return self

    def predict(self, X: Any) -> Any:
        """Values of a regression."""
        return self._predictor.predict(X).to_numpy()

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, in ascending order of the classes."""
        return self._predictor.predict_proba(X).sort_index(axis=1).to_numpy()

    def close(self) -> None:
        """Keep the leaderboard and remove the files."""
        self.leaderboard_ = self._predictor.leaderboard(silent=True)[KEPT].to_dict("records")
        self._folder.cleanup()

    def _name_problem(self, y: Any) -> str:
        if not self.classify:
            return "regression"
        return "binary" if len(np.unique(y)) == 2 else "multiclass"
