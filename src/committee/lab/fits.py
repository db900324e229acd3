"""Fits of the lab: an ensemble, and what it predicts after each of its rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.lab.models import specify_members, specify_model
from committee.lab.samples import draw_sample_set

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from committee.lab.samples import SampleSet
    from committee.lab.state import LabState
    from committee.typing import FloatArray

__all__ = ["BagFit", "BoostFit", "CombinedFit", "RoundsFit", "fit_rounds"]


class RoundsFit(ABC):
    """An ensemble that was fitted to the training points of a state.

    Predictions are probabilities of shape (n_rows, n_classes), or values of shape (n_rows,).

    Parameters
    ----------
    state : LabState
        What to fit.
    sample : SampleSet
        Its points.
    """

    #: What the size of a point means.
    weights_mean = ""

    def __init__(self, state: LabState, sample: SampleSet) -> None:
        self.state, self.sample = state, sample
        self.is_classifier = state.task == "classification"
        self.model: Any = self._fit()
        self.n_rounds = self._count_rounds()

    def _fit(self) -> Any:
        return specify_model(self.state).build().fit(self.sample.X, self.sample.y)

    @abstractmethod
    def _count_rounds(self) -> int:
        """Rounds that the fit has; boosting may end early."""

    @abstractmethod
    def predict_rounds(self, X: FloatArray, first: int, last: int) -> FloatArray:
        """Predictions after rounds first to last, both counted from 1 and included, on the first axis."""

    def predict_round(self, X: FloatArray, number: int) -> FloatArray:
        """Predictions after one round; the last is the model as it is."""
        if number < self.n_rounds:
            return np.asarray(self.predict_rounds(X, number, number)[0])
        return self._predict_last(X)

    def _predict_last(self, X: FloatArray) -> FloatArray:
        if not self.is_classifier:
            return np.asarray(self.model.predict(X), dtype=np.float64)
        return self.spread_classes(np.asarray(self.model.predict_proba(X)), self.model.classes_)

    @abstractmethod
    def predict_member(self, X: FloatArray, number: int) -> FloatArray:
        """Predictions of the member of a round alone."""

    def predict_each_member(self, X: FloatArray) -> FloatArray:
        """Predictions of the member of every round, on the first axis."""
        return np.stack([self.predict_member(X, number + 1) for number in range(self.n_rounds)])

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each training point for the member of each round, relative to the mean."""
        return np.ones((self.n_rounds, len(self.sample.X)))

    def member_names(self) -> list[str]:
        """Names of the members, where they have some."""
        return []

    def spread_classes(self, output: FloatArray, classes: Sequence[int]) -> FloatArray:
        """Probabilities with a column for each class of the sample, also for one that has no training point."""
        n_classes = len(self.sample.class_names)
        if output.shape[-1] == n_classes:
            return output
        spread = np.zeros((*output.shape[:-1], n_classes))
        spread[..., list(classes)] = output
        return spread


class BoostFit(RoundsFit):
    """AdaBoost and gradient boosting."""

    @property
    def weights_mean(self) -> str:  # type: ignore[override] # it depends on the state
        """What the size of a point means."""
        return "weight in this round" if self.state.method == "adaboost" else "gradient of the loss before this round"

    def _count_rounds(self) -> int:
        if self.state.method == "adaboost":
            return len(self.model.estimators_)
        return int(self.model.n_estimators_)

    def _stage(self, X: FloatArray, first: int, last: int) -> Iterator[FloatArray]:
        staged = self.model.staged_predict_proba(X) if self.is_classifier else self.model.staged_predict(X)
        return islice(staged, first - 1, last)

    def predict_rounds(self, X: FloatArray, first: int, last: int) -> FloatArray:
        """Predictions after rounds first to last."""
        output = np.stack([np.array(one) for one in self._stage(X, first, last)])
        return self.spread_classes(output, self.model.classes_) if self.is_classifier else output

    def decide_rounds(self, X: FloatArray) -> FloatArray:
        """Scores of the classes after every round of AdaBoost, which are quicker than probabilities."""
        scores: FloatArray = np.stack([np.array(one) for one in self.model.staged_decision_function(X)])
        scores = np.stack([-scores, scores], axis=-1) if scores.ndim == 2 else scores
        if scores.shape[-1] == len(self.sample.class_names):
            return scores
        spread = np.full((*scores.shape[:-1], len(self.sample.class_names)), -np.inf)
        spread[..., list(self.model.classes_)] = scores
        return spread

    def predict_member(self, X: FloatArray, number: int) -> FloatArray:
        """The member of AdaBoost; for gradient boosting the step of the round, at full length."""
        if self.state.method == "adaboost":
            return self._predict_voter(self.model.estimators_[number - 1], X)
        return np.asarray(self._measure_steps(X, number, number)[0])

    def predict_each_member(self, X: FloatArray) -> FloatArray:
        """Members of AdaBoost, or all steps of gradient boosting."""
        if self.state.method == "adaboost":
            return super().predict_each_member(X)
        return self._measure_steps(X, 1, self.n_rounds)

    def _predict_voter(self, member: Any, X: FloatArray) -> FloatArray:
        if not self.is_classifier:
            return np.asarray(member.predict(X), dtype=np.float64)
        if self.state.algorithm in ("gentle", "logit"):
            values = np.asarray(member.predict(X), dtype=np.float64)
            scores = np.column_stack([-values, values]) if values.ndim == 1 or values.shape[1] == 1 else values
            return self.spread_classes(_mark_largest(scores), self.model.classes_)
        proba = np.asarray(member.predict_proba(X))
        # A member votes by numbers of classes or by the classes themselves; both have one column for each.
        return self.spread_classes(_mark_largest(proba), self.model.classes_)

    def _measure_steps(self, X: FloatArray, first: int, last: int) -> FloatArray:
        stage = self.model.staged_decision_function if self.is_classifier else self.model.staged_predict
        after = np.stack([np.array(one) for one in islice(stage(X), max(0, first - 2), last)])
        if first == 1:
            # Before the first round the predictions are constant; a classifier's first step is taken from its mean.
            start = np.mean(after[0], axis=0) if self.is_classifier else np.mean(np.asarray(self.sample.y, np.float64))
            after = np.concatenate([np.broadcast_to(start, after[:1].shape), after])
        steps = np.diff(after, axis=0)
        if not self.is_classifier:
            return np.asarray(after[:-1] + steps / self.state.rate)
        scores = np.stack([-steps, steps], axis=-1) if steps.ndim == 2 else steps
        return self.spread_classes(np.stack([_mark_largest(one) for one in scores]), self.model.classes_)

    @cached_property
    def weights(self) -> FloatArray:
        """AdaBoost's weights; the size of the residuals before each round for gradient boosting."""
        if self.state.method == "adaboost":
            weights = np.asarray(self.model.sample_weights_trace_, dtype=np.float64)
            return np.asarray(weights / weights.mean(axis=1, keepdims=True))
        X, y = self.sample.X, self.sample.y
        after = self.predict_rounds(X, 1, self.n_rounds)
        if self.is_classifier:
            own = after[:, np.arange(len(y)), np.asarray(y, dtype=np.intp)]
            share = np.mean(np.asarray(y)[:, None] == np.asarray(y), axis=1)
            residuals = 1.0 - np.vstack([share, own[:-1]])
        else:
            values = np.asarray(y, dtype=np.float64)
            residuals = np.abs(values - np.vstack([np.full(len(y), values.mean()), after[:-1]]))
        return np.asarray(residuals / np.maximum(residuals.mean(axis=1, keepdims=True), 1e-12))


class BagFit(RoundsFit):
    """Bagging, forests and extra-trees: the mean of the first members."""

    weights_mean = "copies in this member's sample"

    def _count_rounds(self) -> int:
        return len(self.model.estimators_)

    def predict_members(self, X: FloatArray) -> FloatArray:
        """Predictions of each member, (n_members, n_rows, ...)."""
        output: FloatArray = np.stack(self.model.predict_members(X))
        if self.is_classifier:
            return self.spread_classes(output, self.model.classes_)
        return output.reshape(len(output), len(X))

    def predict_round(self, X: FloatArray, number: int) -> FloatArray:
        """Mean of the first members."""
        return np.asarray(self.predict_members(X)[:number].mean(axis=0))

    def predict_rounds(self, X: FloatArray, first: int, last: int) -> FloatArray:
        """Mean of the members up to each round."""
        return self.average_members(self.predict_members(X)[:last])[first - 1 :]

    def average_members(self, members: FloatArray) -> FloatArray:
        """Mean of the first members, for each number of them."""
        sums = np.cumsum(members, axis=0)
        sums /= np.arange(1, len(sums) + 1).reshape(-1, *([1] * (sums.ndim - 1)))
        return sums

    def predict_each_member(self, X: FloatArray) -> FloatArray:
        """All members."""
        members = self.predict_members(X)
        return np.stack([_mark_largest(one) for one in members]) if self.is_classifier else members

    def predict_member(self, X: FloatArray, number: int) -> FloatArray:
        """The member of a round."""
        member = self.model.estimators_[number - 1]
        if not self.is_classifier:
            return np.asarray(member.predict(X), dtype=np.float64)
        return self.spread_classes(_mark_largest(np.asarray(member.predict_proba(X))), self.model.classes_)

    @cached_property
    def weights(self) -> FloatArray:
        """How often each training point is in the sample of each member."""
        n = len(self.sample.X)
        return np.stack([np.bincount(rows, minlength=n) for rows in self.model.estimators_samples_]).astype(np.float64)


class CombinedFit(RoundsFit):
    """Voting and stacking: a round is one member more."""

    weights_mean = "the same for all points"

    def _fit(self) -> Any:
        n_members = min(self.state.rounds, len(specify_members(self.state)))
        made = [specify_model(self.state, count + 1).build() for count in range(n_members)]
        return [model.fit(self.sample.X, self.sample.y) for model in made]

    def _count_rounds(self) -> int:
        return len(self.model)

    def predict_rounds(self, X: FloatArray, first: int, last: int) -> FloatArray:
        """Predictions of the ensemble of the first members."""
        return np.stack([self._predict(model, X) for model in self.model[first - 1 : last]])

    def _predict_last(self, X: FloatArray) -> FloatArray:
        return self._predict(self.model[-1], X)

    def _predict(self, model: Any, X: FloatArray) -> FloatArray:
        if not self.is_classifier:
            return np.asarray(model.predict(X), dtype=np.float64)
        return self.spread_classes(np.asarray(model.predict_proba(X)), model.classes_)

    def predict_member(self, X: FloatArray, number: int) -> FloatArray:
        """The member that joined in a round."""
        member = self.model[-1].estimators_[number - 1]
        if not self.is_classifier:
            return np.asarray(member.predict(X), dtype=np.float64)
        return self.spread_classes(_mark_largest(np.asarray(member.predict_proba(X))), self.model[-1].classes_)

    def member_names(self) -> list[str]:
        """Names of the members."""
        return [name for name, _ in specify_members(self.state)][: self.n_rounds]


def _mark_largest(scores: FloatArray) -> FloatArray:
    marked = np.zeros_like(scores, dtype=np.float64)
    marked[np.arange(len(scores)), scores.argmax(axis=1)] = 1.0
    return marked


def fit_rounds(state: LabState) -> RoundsFit:
    """Fit the ensemble of a state to its points.

    Parameters
    ----------
    state : LabState
        Any of its rounds.

    Returns
    -------
    RoundsFit
    """
    kinds: dict[str, type[RoundsFit]] = {"adaboost": BoostFit, "boosting": BoostFit}
    kinds |= {"voting": CombinedFit, "stacking": CombinedFit}
    return kinds.get(state.method, BagFit)(state, draw_sample_set(state))
