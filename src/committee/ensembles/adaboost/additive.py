"""Boosting by regression: Gentle AdaBoost and LogitBoost [FriedmanHastieTibshirani2000].

Each round regresses what is left to learn on the features and adds that to f. For two classes one regression a round
gives f, half the log-odds; for more there is one for each class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from committee.base import seed_estimator
from committee.data import ValueTarget
from committee.data.rows import select_rows
from committee.ensembles.adaboost.algorithms import Answers, Rule, Step
from committee.ensembles.adaboost.learners import TreeRounds
from committee.ensembles.adaboost.members import BoostedMembers, BoostedTrees, Resampling
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.learners.tree_base import BaseTree
    from committee.typing import FloatArray

__all__ = ["ADDITIVE_RULES", "AdditiveRule", "AnyRegressions", "Ascent", "TreeRegressions"]

_MOST_STEP = 4.0
"""LogitBoost's rounds are shortened so that no regression says more than this. Its authors keep the responses within 2
to 4 instead, which comes to no end where a class is rarer than 1 in 5."""


# --- formulas ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AdditiveRule(Rule):
    """A rule whose members are regressions, `width` of them a round."""

    combine: ClassVar[Any] = "values"

    @property
    def width(self) -> int:
        """Regressions in a round."""
        return self.n_classes if self.n_classes > 2 else 1

    def size_step(self, values: FloatArray) -> float:
        """What the regressions of a round are multiplied by in f."""
        return self.learning_rate

    def judge(self, answers: Answers, weigh: Callable[[NDArray[Any]], float]) -> Step | None:
        """Not by votes: see `Ascent`."""
        raise NotImplementedError

    @abstractmethod
    def respond(self, signs: FloatArray, sums: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What a class's regression is to learn and with what weights, from +-1 for the class and f so far."""

    @abstractmethod
    def join(self, values: FloatArray) -> FloatArray:
        """What a round adds to f, from its regressions side by side."""

    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """f, one column a class."""
        if self.n_classes == 1:
            return np.zeros_like(sums)
        return np.hstack([-sums, sums]) if self.width == 1 else self.join(sums)

    def bound_error(self, errors: FloatArray, weights: FloatArray, losses: FloatArray) -> FloatArray | None:
        """The exponential loss is above the error, for two classes."""
        return losses if self.n_classes == 2 else None


class Gentle(AdditiveRule):
    """Gentle AdaBoost: f += E_w[y | x] by least squares, D *= exp(-y f); several classes one against the rest."""

    def respond(self, signs: FloatArray, sums: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Y itself, with weights w exp(-y f)."""
        exponents = -signs * sums
        own = weights * np.exp(exponents - exponents.max(axis=0))
        return signs, own / own.sum(axis=0)

    def join(self, values: FloatArray) -> FloatArray:
        """Each class for itself."""
        return values

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """Half the log-odds of each class, made to sum to one."""
        if self.n_classes == 1:
            return np.ones_like(decision)
        own = expit(2.0 * decision)
        return np.asarray(own / own.sum(axis=1, keepdims=True))

    @property
    def link(self) -> tuple[Literal["logit", "softmax", "other"], float]:
        """For several classes a link of its own."""
        return super().link if self.n_classes <= 2 else ("other", 1.0)


class Logit(AdditiveRule):
    """LogitBoost: Newton steps on the log-likelihood of the classes."""

    def respond(self, signs: FloatArray, sums: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Working responses (y - p) / (p (1 - p)) with weights w p (1 - p); y is 0 or 1, p kept 1/(2n) from both."""
        p = expit(2.0 * sums) if self.width == 1 else softmax(self.join(sums), axis=1)
        p = np.clip(p, self.least, 1.0 - self.least)
        own = weights * p * (1.0 - p)
        return ((signs > 0.0) - p) / (p * (1.0 - p)), own / own.sum(axis=0)

    def size_step(self, values: FloatArray) -> float:
        """Half for two classes, whose f is half the log-odds that the regression is about; shorter if it says much."""
        damped = _MOST_STEP / max(float(np.abs(values).max()), _MOST_STEP)
        return self.learning_rate * damped * (0.5 if self.width == 1 else 1.0)

    def join(self, values: FloatArray) -> FloatArray:
        """(K - 1)/K times the distance from the mean over classes."""
        n = self.n_classes
        return np.asarray((n - 1) / n * (values - values.mean(axis=1, keepdims=True)))

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """Softmax of f; for two classes f is half the log-odds."""
        if self.n_classes == 1:
            return np.ones_like(decision)
        return np.asarray(softmax(decision, axis=1))

    @property
    def link(self) -> tuple[Literal["logit", "softmax", "other"], float]:
        """Softmax of f as it is."""
        return ("logit", 2.0) if self.n_classes == 2 else ("softmax", 1.0)


ADDITIVE_RULES: dict[str, Any] = {"gentle": Gentle, "logit": Logit}


class Ascent:
    """f on the training rows, and what the next round is to learn.

    Parameters
    ----------
    rule : AdditiveRule
        The algorithm.
    labels : ndarray of shape (n_rows,)
        Numbers of the classes.
    weights : ndarray of shape (n_rows,) or None
        Of the rows.
    sums : ndarray of shape (n_rows, width) or None
        What earlier rounds sum up to.
    """

    def __init__(
        self, rule: AdditiveRule, labels: NDArray[Any], weights: FloatArray | None, sums: FloatArray | None
    ) -> None:
        start = np.ones(len(labels)) if weights is None else weights
        self._rule, self._labels = rule, labels.astype(np.intp)
        self._weights = (start / start.sum())[:, None]
        columns = [1] if rule.width == 1 else range(rule.n_classes)
        self._signs = np.stack([np.where(labels == k, 1.0, -1.0) for k in columns], axis=1)
        self._sums = np.zeros_like(self._signs) if sums is None else sums.copy()
        self._loss = self._measure_loss()

    def respond(self) -> tuple[FloatArray, FloatArray]:
        """Responses and their weights, a column for each regression of the round."""
        return self._rule.respond(self._signs, self._sums, self._weights)

    def add(self, values: FloatArray, weights: FloatArray) -> Step:
        """Take the regressions of a round in."""
        rule, step = self._rule, self._rule.size_step(values)
        answers = (values[:, 0] > 0.0).astype(np.intp) if rule.width == 1 else values.argmax(axis=1)
        error = float((weights.mean(axis=1) * (answers != self._labels)).sum()) if rule.n_classes > 1 else 0.0
        self._sums = self._sums + step * values
        before, self._loss = self._loss, self._measure_loss()
        return Step(error, step, self._loss / before, np.empty((0, 0)))

    @property
    def trace(self) -> FloatArray:
        """Weights of the rows in this round, the mean over the regressions."""
        return np.asarray(self.respond()[1].mean(axis=1))

    def _measure_loss(self) -> float:
        """Mean of exp(-y f), over the rows and, for several classes, over these against the rest."""
        sums = self._sums if self._rule.width == 1 else self._rule.join(self._sums)
        with np.errstate(over="ignore"):
            return float((self._weights * np.exp(-self._signs * sums)).sum() / self._rule.width)


# --- members -----------------------------------------------------------------------------------------------------


class Regressions(ABC):
    """Fits regressions of any response with any weights, and knows what they say of the training rows."""

    n_in_round: int

    @abstractmethod
    def fit_member(self, member: int, response: FloatArray, weights: FloatArray) -> FloatArray:
        """Fit a regression; its values on all training rows."""


class TreeRegressions(TreeRounds, Regressions):
    """Trees of this library, grown on shared bins.

    Parameters
    ----------
    estimator : BaseTree
        A tree for numbers.
    dataset : Dataset
        The table, whose bins are made once.
    seed : int
        The ensemble's.
    n_jobs : int or None
        Threads.
    kept : BoostedTrees or None
        Members of an earlier fit that are kept.
    resampling : Resampling or None
        Whether each member draws a sample by the weights.
    n_in_round : int
        Members in a round.
    """

    def __init__(
        self,
        estimator: BaseTree,
        dataset: Dataset,
        seed: int,
        *,
        n_jobs: int | None,
        kept: BoostedTrees | None,
        resampling: Resampling | None,
        n_in_round: int = 1,
    ) -> None:
        super().__init__(estimator, dataset, seed, kept)
        self._resampling, self._n_jobs, self.n_in_round = resampling, n_jobs, n_in_round
        self._table = dataset.X if isinstance(dataset.X, np.ndarray) else dataset.X.tocsr()

    def fit_member(self, member: int, response: FloatArray, weights: FloatArray) -> FloatArray:  # type: ignore[override]
        """Grow a tree; its values on all training rows."""
        if self._resampling is not None:
            weights = self._resampling.draw_counts(weights, member).astype(np.float64)
        target = ValueTarget(np.ascontiguousarray(response[:, None]), True)
        dataset = replace(self._dataset, target=target)
        tree = clone(self._estimator).fit_dataset(dataset, np.ascontiguousarray(weights), seed=self._seed, tree=member)
        self._trees.append(tree._trees)
        self._importances.append(tree._importances[None])
        values = BoostedTrees._predict(tree._trees, self._table, "sum", np.ones(1), range(1), self._n_jobs)
        return values[:, 0]

    def last_member(self) -> BoostedTrees:
        """The trees of the last round, as members of their own."""
        n = self.n_in_round
        return self._join(self._trees[-n:], self._importances[-n:])

    def weigh(self, table: NDArray[Any]) -> float:
        """Regressions are not judged by votes."""
        raise NotImplementedError

    def multiply(self, factors: FloatArray) -> None:
        """The weights are not kept here."""
        raise NotImplementedError

    @property
    def weights(self) -> FloatArray:
        """The weights are not kept here."""
        raise NotImplementedError


class AnyRegressions(Regressions):
    """Regressors of any kind: `fit` with sample_weight, or a sample of the rows drawn by the weights.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned for each member.
    X : array, CSR matrix or frame
        The table as members read it.
    weights : ndarray of shape (n_rows,) or None
        Rows of weight zero are never seen.
    classes : ndarray
        Of the ensemble; empty for numbers.
    seed : int
        The ensemble's.
    kept : BoostedMembers or None
        Members of an earlier fit that are kept.
    resampling : Resampling or None
        Whether each member draws a sample by the weights.
    n_in_round : int
        Members in a round.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        weights: FloatArray | None,
        classes: NDArray[Any],
        seed: int,
        *,
        kept: BoostedMembers | None,
        resampling: Resampling | None,
        n_in_round: int = 1,
    ) -> None:
        if resampling is None and not has_fit_parameter(estimator, "sample_weight"):
            raise ParameterError(
                f"{type(estimator).__name__} doesn't support sample_weight, so that it cannot be boosted by weights; "
                "use method='resample'."
            )
        self._present = None if weights is None or weights.all() else np.flatnonzero(weights)
        self._X, self._fitted_X = X, select_rows(X, self._present)
        self._estimator, self._classes, self._seed = estimator, classes, seed
        self._resampling, self.n_in_round = resampling, n_in_round
        self._estimators = [] if kept is None else list(kept.estimators)

    def fit_member(self, member: int, response: FloatArray, weights: FloatArray) -> FloatArray:
        """Fit a regressor; its values on all training rows."""
        own = seed_estimator(clone(self._estimator), self._seed, member)
        y = response if self._present is None else response[self._present]
        w = weights if self._present is None else weights[self._present]
        if self._resampling is None:
            own.fit(self._fitted_X, y, sample_weight=w)
        else:
            counts = self._resampling.draw_counts(w, member)
            rows = np.repeat(np.arange(len(counts)), counts)
            own.fit(select_rows(self._fitted_X, rows), y[rows])
        self._estimators.append(own)
        return np.asarray(own.predict(self._X), dtype=np.float64).reshape(-1)

    def drop_member(self) -> None:
        """Give up the member that was fitted last."""
        self._estimators.pop()

    def last_member(self) -> BoostedMembers:
        """The members of the last round, as members of their own."""
        return BoostedMembers(self._estimators[-self.n_in_round :], self._classes)

    def finalize(self) -> BoostedMembers:
        """The fitted members."""
        return BoostedMembers(self._estimators, self._classes)
