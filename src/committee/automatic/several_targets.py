"""Committees of several targets: one for each, fitted as if its target were alone.

Weights of the members, their rounds of boosting and the power of mean probabilities belong to one target; members that
suit one need not suit another.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import MultiOutputMixin, clone

from committee.data.class_weights import list_rules
from committee.data.rows import count_rows
from committee.data.targets import read_target
from committee.exceptions import DataError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags


__all__ = ["GivenTable", "SeveralTargetsMixin"]

#: Fitted attributes of a committee of one target, or of a table with names, that a later fit may lack.
_SINGLE = ("weights_", "power_", "score_trace_", "skipped_members_", "latency_us_", "_oof_errors", "feature_names_in_")


@dataclass(frozen=True)
class GivenTable:
    """What `fit` of a committee was given, with the seed and the time at which it should end."""

    X: Any
    y: Any
    sample_weight: ArrayLike | None
    groups: ArrayLike | None
    seed: int
    deadline: float | None


class SeveralTargetsMixin(MultiOutputMixin):  # type: ignore[misc]
    """A committee that fits a copy of itself to each of several targets."""

    _outputs: list[Any]
    """A committee for each target, instead of members, if there are several targets."""
    n_outputs_: int

    def _fit_outputs(self: Any, given: GivenTable) -> None:
        """Fit a committee to each column of y; an equal share of the time that is left is the budget of the next."""
        labels = read_target(given.y, count_rows(given.X), type(self).__name__, multi_output=True)
        n_outputs = labels.shape[1]
        outputs = [clone(self).set_params(random_state=given.seed) for _ in range(n_outputs)]
        if hasattr(self, "class_weight"):
            rules = list_rules(self.class_weight, n_outputs, type(self).__name__)
            for output, rule in zip(outputs, rules, strict=True):
                output.class_weight = rule
        for k, output in enumerate(outputs):
            now = time.perf_counter()
            deadline = None if given.deadline is None else now + (given.deadline - now) / (n_outputs - k)
            with _name_target(k):
                output._fit_output(replace(given, y=labels[:, k], deadline=deadline))
        self._replace_fitted(_join_attributes(outputs), _SINGLE)

    def _has_several(self) -> bool:
        return "_outputs" in self.__dict__

    def _stack_predictions(self, X: Any) -> NDArray[Any]:
        """Predictions of each target, side by side."""
        return np.stack([output.predict(X) for output in self._outputs], axis=1)

    def _check_single(self, what: str) -> None:
        """Refuse what only a committee of one target can do."""
        if self._has_several():
            raise ParameterTypeError(
                f"{type(self).__name__}.{what} is for one target, and this model has {len(self._outputs)}; ask the "
                "committees of single targets in estimators_."
            )

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = True
        return tags


@contextmanager
def _name_target(output: int) -> Iterator[None]:
    """A fit whose complaints about the data name the target."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{error} (Target {output}.)") from None


def _join_attributes(outputs: list[Any]) -> dict[str, Any]:
    """Fitted attributes of a committee of several targets, from those of its committees."""
    first = outputs[0]
    fitted: dict[str, Any] = {
        "_outputs": outputs,
        "estimators_": outputs,
        "n_outputs_": len(outputs),
        "_schema": first._schema,
        "n_features_in_": first.n_features_in_,
        "_texts": first._texts,
        "score_estimate_": np.array([own.score_estimate_ for own in outputs]),
        "score_error_": np.array([own.score_error_ for own in outputs]),
        "leaderboard_": [{"target": k, **row} for k, own in enumerate(outputs) for row in own.leaderboard_],
    }
    if hasattr(first, "feature_names_in_"):
        fitted["feature_names_in_"] = first.feature_names_in_
    if hasattr(first, "classes_"):
        fitted["classes_"] = [own.classes_ for own in outputs]
        fitted["oof_decision_function_"] = [own.oof_decision_function_ for own in outputs]
    else:
        fitted["oof_prediction_"] = np.stack([own.oof_prediction_ for own in outputs], axis=1)
    return fitted
