"""Members of a bag that are fitted estimators of any kind: what each one sees, fitting it, asking it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from committee.base import seed_estimator
from committee.data import ClassTarget
from committee.data.rows import count_rows, select_rows
from committee.engines import get_engine
from committee.ensembles.out_of_bag import LOOK_EVERY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from committee.data import ValueTarget
    from committee.data.sampling import SamplePlan
    from committee.ensembles.out_of_bag import OutOfBag
    from committee.typing import FloatArray, IndexArray

__all__ = ["AnyBag", "AnyMembers", "MemberSamples"]


@dataclass(frozen=True)
class MemberSamples:
    """Rows and features of each member, drawn from (seed, member) whenever they are asked for.

    Attributes
    ----------
    plan : SamplePlan
        How rows are drawn.
    seed : int
        The ensemble's.
    n_features : int
        Features of the table.
    n_drawn : int
        Features that a member draws; 0: it sees all of them.
    replace_features : bool
        Whether a feature may be drawn again; a member sees it once all the same.
    """

    plan: SamplePlan
    seed: int
    n_features: int
    n_drawn: int = 0
    replace_features: bool = False

    def describe(self) -> Any:
        """The same in the engine's words."""
        sampling = self.plan.fill(get_engine().RowSampling())
        sampling.n_features, sampling.replace_features = self.n_drawn, self.replace_features
        return sampling

    def draw_rows(self, members: Iterable[int]) -> list[IndexArray]:
        """How often each row is in the sample of each member."""
        sampling = self.describe()
        return [get_engine().draw_rows(sampling, self.seed, member, self.plan.n_rows) for member in members]

    def draw_features(self, members: Iterable[int]) -> list[NDArray[np.intp]]:
        """Features of each member, ascending."""
        if self.n_drawn == 0:
            return [np.arange(self.n_features) for _ in members]
        sampling = self.describe()
        drawn = (get_engine().draw_member_features(sampling, self.seed, m, self.n_features) for m in members)
        return [np.asarray(features, dtype=np.intp) for features in drawn]


class AnyMembers:
    """The fitted members of a bag, as they are.

    Parameters
    ----------
    samples : MemberSamples
        What each one saw.
    n_classes : list of int or None
        Classes of each output that they tell apart; None for numbers.
    """

    def __init__(self, samples: MemberSamples, n_classes: list[int] | None) -> None:
        self.samples = samples
        self.n_classes = n_classes
        self.estimators: list[Any] = []

    def __len__(self) -> int:
        return len(self.estimators)

    def average(self, X: Any, n_jobs: int | None, ask: str, params: Mapping[str, Any]) -> FloatArray:
        """The mean of what the members say: class shares side by side, values, or decisions."""
        features = self._list_features(range(len(self)))
        answers = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(predict_bag_member)(member, X, own, self.n_classes, ask, params)
            for member, own in zip(self.estimators, features, strict=True)
        )
        # In the order of the members, so that the sum is the same for any number of jobs.
        total = next(answers)
        for answer in answers:
            total = total + answer
        return np.asarray(total / len(self))

    def predict_each(self, X: Any) -> list[FloatArray]:
        """Predictions of each member: class probabilities side by side, or values."""
        features = self._list_features(range(len(self)))
        pairs = zip(self.estimators, features, strict=True)
        return [predict_bag_member(member, X, own, self.n_classes) for member, own in pairs]

    def _list_features(self, members: range) -> list[NDArray[np.intp] | None]:
        """Features of each member; None where it sees all, so that nothing is copied."""
        if self.samples.n_drawn == 0:
            return [None] * len(members)
        return list(self.samples.draw_features(members))


class AnyBag:
    """Members on their way: each is fitted on its own sample, several at a time.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned for each member.
    X : array, CSR matrix or frame
        The table as members read it.
    target : ClassTarget or ValueTarget
        Members of a classifier learn the numbers of the classes.
    samples : MemberSamples
        What each one sees.
    weights : ndarray or None
        Weights of the rows that are not in the chances already.
    takes_weights : bool
        Whether `fit` has sample_weight: a sample is then a vector of counts rather than a copy of rows.
    fit_params : dict
        What else `fit` gets.
    n_jobs : int or None
        As in joblib.
    members : list, optional
        Members of an earlier fit that are kept.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        target: ClassTarget | ValueTarget,
        samples: MemberSamples,
        *,
        weights: FloatArray | None,
        takes_weights: bool,
        fit_params: Mapping[str, Any],
        n_jobs: int | None,
        kept: list[Any],
    ) -> None:
        is_class = isinstance(target, ClassTarget)
        numbers: Any = target.labels.astype(np.intp) if is_class else target.values  # type: ignore[union-attr]
        self._estimator, self._X = estimator, X
        self._y = numbers[:, 0] if numbers.shape[1] == 1 else numbers
        self._weights, self._takes_weights = weights, takes_weights
        self._fit_params, self._n_jobs = fit_params, n_jobs
        self._members = AnyMembers(samples, target.n_classes if is_class else None)  # type: ignore[union-attr]
        self._members.estimators = list(kept)
        self._n_voted = 0

    def __len__(self) -> int:
        return len(self._members)

    def grow_to(self, n_members: int, on_progress: Callable[[int], None] | None) -> None:
        """Fit the members that are missing."""
        members, seed = self._members, self._members.samples.seed
        missing = range(len(members), n_members)
        # Samples are drawn as joblib asks for the next piece of work, never all at once.
        fitted = Parallel(n_jobs=self._n_jobs, return_as="generator")(
            delayed(fit_member)(
                seed_estimator(clone(self._estimator), seed, member),
                self._X,
                self._y,
                members.samples.draw_rows([member])[0],
                members._list_features(range(member, member + 1))[0],
                self._weights,
                self._fit_params,
                takes_weights=self._takes_weights,
            )
            for member in missing
        )
        for estimator in fitted:
            members.estimators.append(estimator)
            if on_progress is not None:
                on_progress(len(members))

    def vote(self, votes: OutOfBag, last: int) -> None:
        """Let members that have not voted do so on rows that they did not see; those after a settled score go."""
        members = self._members
        while self._n_voted < len(members) and not votes.settled:
            until = min(self._n_voted + LOOK_EVERY - self._n_voted % LOOK_EVERY, len(members))
            numbers = range(self._n_voted, until)
            unseen = [np.flatnonzero(counts == 0) for counts in members.samples.draw_rows(numbers)]
            answers = Parallel(n_jobs=self._n_jobs)(
                delayed(predict_bag_member)(members.estimators[k], select_rows(self._X, rows), own, members.n_classes)
                for k, rows, own in zip(numbers, unseen, members._list_features(numbers), strict=True)
                if len(rows)
            )
            for rows, answer in zip((rows for rows in unseen if len(rows)), answers, strict=True):
                votes.sums[rows] += answer
                votes.n_votes[rows] += 1
            self._n_voted = until
            if until % LOOK_EVERY == 0 or until == last:
                votes.look(until)
        del members.estimators[self._n_voted :]

    def finalize(self) -> AnyMembers:
        """The fitted members."""
        return self._members


def fit_member(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    counts: IndexArray,
    features: NDArray[np.intp] | None,
    weights: FloatArray | None,
    fit_params: Mapping[str, Any],
    *,
    takes_weights: bool,
) -> Any:
    """Fit one member on its sample: counts as weights where it takes them, repeated rows otherwise."""
    if weights is None and (counts == 1).all():
        return estimator.fit(select_rows(X, None, features), y, **fit_params)
    if takes_weights:
        own = counts.astype(np.float64) if weights is None else counts * weights
        return estimator.fit(select_rows(X, None, features), y, sample_weight=own, **fit_params)
    rows = np.repeat(np.arange(len(counts)), counts)
    sampled = {
        name: select_rows(value, rows) if _is_by_row(value, len(counts)) else value
        for name, value in fit_params.items()
    }
    return estimator.fit(select_rows(X, rows, features), y[rows], **sampled)


def _is_by_row(value: Any, n_rows: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict)) and count_rows(value) == n_rows


def predict_bag_member(
    member: Any,
    X: Any,
    features: NDArray[np.intp] | None,
    n_classes: list[int] | None,
    ask: str = "",
    params: Mapping[str, Any] | None = None,
) -> FloatArray:
    """What one member says: its class shares (or vote) over all outputs, its values, or its decisions."""
    table, params = select_rows(X, None, features), params or {}
    if ask == "decision_function":
        return np.asarray(member.decision_function(table, **params), dtype=np.float64)
    if n_classes is None:
        return np.asarray(member.predict(table, **params), dtype=np.float64).reshape(count_rows(table), -1)
    if hasattr(member, "predict_proba"):
        parts = _part_shares(member.predict_proba(table, **params), n_classes)
        known = member.classes_ if isinstance(member.classes_, list) else [member.classes_] * len(parts)
        return np.hstack([_spread(p, c, n) for p, c, n in zip(parts, known, n_classes, strict=True)])
    votes = np.asarray(member.predict(table, **params)).reshape(count_rows(table), -1).astype(np.intp)
    return np.hstack([np.eye(n)[votes[:, k]] for k, n in enumerate(n_classes)])


def _part_shares(found: Any, n_classes: list[int]) -> list[NDArray[Any]]:
    if isinstance(found, list):
        return found
    if len(n_classes) > 1:
        # Some estimators give for each of several labels the probability that it applies.
        return [np.stack([1.0 - share, share], axis=1) for share in np.asarray(found).T]
    return [np.asarray(found)]


def _spread(shares: NDArray[Any], known: NDArray[Any], n_classes: int) -> FloatArray:
    """Shares of the classes that a member has met, in the columns of all classes."""
    if shares.shape[1] == n_classes:
        return shares.astype(np.float64, copy=False)
    spread = np.zeros((len(shares), n_classes))
    spread[:, np.asarray(known, dtype=np.intp)] = shares
    return spread
