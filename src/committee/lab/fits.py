"""Fits of the lab: an ensemble, and what it predicts after each of its rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from committee.lab.models import specify_members, specify_model
from committee.lab.samples import draw_sample_set

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from committee.lab.samples import SampleSet
    from committee.lab.state import LabState
    from committee.typing import FloatArray

__all__ = [
    "BagFit",
    "BoostFit",
    "CombinedFit",
    "RoundsFit",
    "average_members",
    "fit_rounds",
    "mark_largest",
    "pick_classes",
]


_CURVE_POINTS = 241


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

    @cached_property
    def curve_x(self) -> FloatArray:
        """Where the curve of a fit to values is drawn."""
        left, right, *_ = self.sample.box
        return np.linspace(left, right, 0 if self.is_classifier else _CURVE_POINTS)

    @cached_property
    def _after(self) -> FloatArray:
        points = [self.sample.X, self.sample.X_test]
        points += [] if self.is_classifier else [self.curve_x[:, None]]
        return self.predict_rounds(np.concatenate(points), 1, self.n_rounds)

    @property
    def after_rounds(self) -> FloatArray:
        """Predictions after every round for the training points and then the test points."""
        return self._after[:, : len(self.sample.X) + len(self.sample.X_test)]

    @property
    def curve_after(self) -> FloatArray:
        """Predictions after every round at `curve_x`."""
        return self._after[:, len(self.sample.X) + len(self.sample.X_test) :]

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
            return len(self.model.estimator_weights_)
        return int(self.model.n_estimators_)

    def _stage(self, X: FloatArray, first: int, last: int) -> Iterator[FloatArray]:
        staged = self.model.staged_predict_proba(X) if self.is_classifier else self.model.staged_predict(X)
        return islice(staged, first - 1, last)

    def predict_rounds(self, X: FloatArray, first: int, last: int) -> FloatArray:
        """Predictions after rounds first to last."""
        if self.state.method == "adaboost" and not self.is_classifier:
            stage = self._stage_means if self.state.algorithm == "rt" else self._stage_medians
            return stage(X)[first - 1 : last]
        output = np.stack([np.array(one) for one in self._stage(X, first, last)])
        return self.spread_classes(output, self.model.classes_) if self.is_classifier else output

    def _stage_means(self, X: FloatArray) -> FloatArray:
        """Weighted mean of the first members, for each number of them; sums are taken once for all rounds."""
        weights = self.model.estimator_weights_
        weights = weights if weights[0] > 0.0 else np.ones_like(weights)  # the first may be no better than chance
        sums = np.cumsum(self.predict_each_member(X) * weights[:, None], axis=0)
        return np.asarray(sums / np.cumsum(weights)[:, None])

    def _stage_medians(self, X: FloatArray) -> FloatArray:
        """Weighted median of the first members, for each number of them.

        All members are steps with the same few places, so that neighbours on the line mostly have the same predictions.
        """
        order = np.argsort(X[:, 0])
        along = self.predict_each_member(X)[:, order]
        is_new = np.concatenate([[True], (along[:, 1:] != along[:, :-1]).any(axis=0)])
        staged = np.empty_like(along)
        staged[:, order] = self.model._stage_medians(along[:, is_new].T)[:, np.cumsum(is_new) - 1]
        return staged

    def _score_rounds(self, X: FloatArray) -> FloatArray:
        # f itself, not its mean over the members: the difference of two rounds is what a member adds.
        return np.stack(list(self.model._staged_scores(X)))

    def decide_rounds(self, X: FloatArray) -> FloatArray:
        """Scores of the classes after every round of AdaBoost, which are quicker than probabilities."""
        scores = self._score_rounds(X)
        if scores.shape[-1] == len(self.sample.class_names):
            return scores
        spread = np.full((*scores.shape[:-1], len(self.sample.class_names)), -np.inf)
        spread[..., list(self.model.classes_)] = scores
        return spread

    def predict_member(self, X: FloatArray, number: int) -> FloatArray:
        """The member of AdaBoost; for gradient boosting the step of the round, at full length."""
        if self.state.method == "adaboost":
            # A round of gentle and logit boosting has a regression for each of several classes.
            n_in_round = len(self.model.estimators_) // self.n_rounds
            return self._predict_voter(self.model.estimators_[n_in_round * (number - 1) : n_in_round * number], X)
        return np.asarray(self._measure_steps(X, number, number)[0])

    def predict_each_member(self, X: FloatArray) -> FloatArray:
        """Members of AdaBoost, or all steps of gradient boosting."""
        if self.state.method == "boosting":
            return self._measure_steps(X, 1, self.n_rounds)
        if not self.is_classifier:
            return np.asarray(self.model._predict_members(X).T)
        # A member votes for the class that it adds most to; its weight is negative where its vote is turned round.
        added = np.diff(self._score_rounds(X), axis=0, prepend=0.0)
        added *= np.sign(self.model.estimator_weights_)[:, None, None]
        return self.spread_classes(mark_largest(added), self.model.classes_)

    def _predict_voter(self, members: Sequence[Any], X: FloatArray) -> FloatArray:
        if not self.is_classifier:
            return np.asarray(members[0].predict(X), dtype=np.float64)
        if self.state.algorithm in ("gentle", "logit"):
            values = np.column_stack([np.asarray(member.predict(X), dtype=np.float64) for member in members])
            scores = np.hstack([-values, values]) if len(members) == 1 else values
            return self.spread_classes(mark_largest(scores), self.model.classes_)
        proba = np.asarray(members[0].predict_proba(X))
        # A member votes by numbers of classes or by the classes themselves; both have one column for each.
        return self.spread_classes(mark_largest(proba), self.model.classes_)

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
        return self.spread_classes(mark_largest(scores), self.model.classes_)

    @cached_property
    def weights(self) -> FloatArray:
        """AdaBoost's weights; the size of the residuals before each round for gradient boosting."""
        if self.state.method == "adaboost":
            weights = np.asarray(self.model.sample_weights_trace_, dtype=np.float64)
            return np.asarray(weights / weights.mean(axis=1, keepdims=True))
        y = self.sample.y
        after = self.after_rounds[:, : len(y)]
        if self.is_classifier:
            own = after[:, np.arange(len(y)), np.asarray(y, dtype=np.intp)]
            labels = np.asarray(y, dtype=np.intp)
            share = np.bincount(labels)[labels] / len(labels)
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
        """Mean of the first members; all of them are the model as it is."""
        if number == self.n_rounds:
            return self._predict_last(X)
        return np.asarray(self.predict_members(X)[:number].mean(axis=0))

    def predict_rounds(self, X: FloatArray, first: int, last: int) -> FloatArray:
        """Mean of the members up to each round."""
        return average_members(self.predict_members(X)[:last])[first - 1 :]

    @property
    def curve_after(self) -> FloatArray:
        """Means at `curve_x`; those of the points come from the members, which the out-of-bag curve needs too."""
        return self.predict_rounds(self.curve_x[:, None], 1, self.n_rounds)

    def predict_each_member(self, X: FloatArray) -> FloatArray:
        """All members."""
        members = self.predict_members(X)
        return mark_largest(members) if self.is_classifier else members

    def predict_member(self, X: FloatArray, number: int) -> FloatArray:
        """The member of a round."""
        member = self.model.estimators_[number - 1]
        if not self.is_classifier:
            return np.asarray(member.predict(X), dtype=np.float64)
        return self.spread_classes(mark_largest(np.asarray(member.predict_proba(X))), self.model.classes_)

    @cached_property
    def weights(self) -> FloatArray:
        """How often each training point is in the sample of each member."""
        n = len(self.sample.X)
        return np.stack([np.bincount(rows, minlength=n) for rows in self.model.estimators_samples_]).astype(np.float64)


class CombinedFit(RoundsFit):
    """Voting and stacking: a round is one member more.

    Each member is fitted once. Voting of fewer members is the mean of fewer predictions; stacking of fewer members is
    a meta-model that is fitted to fewer columns of the same out-of-fold predictions.
    """

    weights_mean = "the same for all points"

    def _fit(self) -> Any:
        n_members = min(self.state.rounds, len(specify_members(self.state)))
        model: Any = specify_model(self.state, n_members).build()
        if self.state.method == "voting":
            return model.fit(self.sample.X, self.sample.y)
        meta, _ = model._fit_stack(self.sample.X, self.sample.y, None, None, {})
        width = meta.X.shape[1] // n_members
        fewer = [clone(model.final_estimator_).fit(meta.X[:, : width * k], meta.y) for k in range(1, n_members)]
        self._meta_models = [*fewer, model.final_estimator_]
        return model

    def _count_rounds(self) -> int:
        return len(self.model.estimators_)

    def _predict_one(self, member: Any, X: FloatArray) -> FloatArray:
        return np.asarray(member.predict_proba(X) if self.is_classifier else member.predict(X), dtype=np.float64)

    def predict_rounds(self, X: FloatArray, first: int, last: int) -> FloatArray:
        """Predictions of the ensembles of the first members."""
        members = np.stack([self._predict_one(one, X) for one in self.model.estimators_[:last]])
        if self.state.method == "voting":
            output = average_members(members)[first - 1 :]
        else:
            # Of two classes the meta-model gets the probability of the second alone.
            columns = members[..., 1:] if self.is_classifier and members.shape[2] == 2 else members
            table = np.moveaxis(columns, 0, 1).reshape(len(X), -1)
            width = table.shape[1] // last
            output = np.stack(
                [self._predict_one(self._meta_models[k - 1], table[:, : width * k]) for k in range(first, last + 1)]
            )
        return self.spread_classes(output, self.model.classes_) if self.is_classifier else output

    def predict_member(self, X: FloatArray, number: int) -> FloatArray:
        """The member that joined in a round."""
        output = self._predict_one(self.model.estimators_[number - 1], X)
        return self.spread_classes(mark_largest(output), self.model.classes_) if self.is_classifier else output

    def member_names(self) -> list[str]:
        """Names of the members."""
        return [name for name, _ in specify_members(self.state)][: self.n_rounds]


def average_members(members: FloatArray) -> FloatArray:
    """Mean of the first members, for each number of them."""
    sums = np.cumsum(members, axis=0)
    sums /= np.arange(1, len(sums) + 1).reshape(-1, *([1] * (sums.ndim - 1)))
    return sums


def pick_classes(scores: FloatArray) -> NDArray[np.intp]:
    """Number of the class with the largest score, the first of equals; for two classes quicker than argmax."""
    if scores.shape[-1] == 2:
        return (scores[..., 1] > scores[..., 0]).astype(np.intp)
    winners: NDArray[np.intp] = scores.argmax(axis=-1)
    return winners


def mark_largest(scores: FloatArray) -> FloatArray:
    """One for the class with the largest score, the first of equals, and zero for the others."""
    return np.eye(scores.shape[-1])[pick_classes(scores)]


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
