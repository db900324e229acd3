"""Bags of fitted estimators of any kind: the sample of each member, fitting the members, their mean prediction."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from committee.base import seed_estimator
from committee.data import ClassTarget
from committee.data.rows import count_rows, select_rows
from committee.engines import get_engine
from committee.engines.cluster import choose_hosts
from committee.engines.formula import Arithmetic, ConstantTerm, vote_largest
from committee.ensembles.member_errors import explain_single_class
from committee.ensembles.member_formulas import align_probabilities
from committee.ensembles.member_routing import select_entries
from committee.ensembles.out_of_bag import SCORE_EVERY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from committee.data import ValueTarget
    from committee.data.sampling import SamplePlan
    from committee.engines import RowSampling
    from committee.engines.formula import FormulaTerm, ModelFormula
    from committee.ensembles.out_of_bag import OutOfBag
    from committee.typing import FloatArray, IndexArray

__all__ = ["AnyMembers", "EstimatorBagBuilder", "MemberSamples", "SharedBag", "fit_shared_member"]


@dataclass(frozen=True)
class MemberSamples:
    """Rows and features of each member, drawn from (seed, member) whenever they are needed.

    Attributes
    ----------
    plan : SamplePlan
        How rows are drawn.
    seed : int
        The ensemble's.
    n_features : int
        Features of the table.
    n_drawn : int
        Features that are drawn for a member; 0: it gets all of them.
    replace_features : bool
        Whether a feature may be drawn again; a member gets it once all the same.
    """

    plan: SamplePlan
    seed: int
    n_features: int
    n_drawn: int = 0
    replace_features: bool = False

    def to_engine(self) -> RowSampling:
        """The same in the engine's form."""
        sampling: RowSampling = self.plan.fill(get_engine().RowSampling())
        sampling.n_features, sampling.replace_features = self.n_drawn, self.replace_features
        return sampling

    def draw_rows(self, members: Iterable[int]) -> list[IndexArray]:
        """How often each row is in the sample of each member."""
        sampling = self.to_engine()
        return [get_engine().draw_rows(sampling, self.seed, member, self.plan.n_rows) for member in members]

    def draw_features(self, members: Iterable[int]) -> list[NDArray[np.intp]]:
        """Features of each member, ascending."""
        if self.n_drawn == 0:
            return [np.arange(self.n_features) for _ in members]
        sampling = self.to_engine()
        drawn = (get_engine().draw_member_features(sampling, self.seed, m, self.n_features) for m in members)
        return [np.asarray(features, dtype=np.intp) for features in drawn]


class AnyMembers:
    """The fitted members of a bag.

    Parameters
    ----------
    samples : MemberSamples
        Rows and features of each member.
    n_classes : list of int or None
        Number of classes of each output; None for regression.
    """

    def __init__(self, samples: MemberSamples, n_classes: list[int] | None) -> None:
        self.samples = samples
        self.n_classes = n_classes
        self.estimators: list[Any] = []

    def __len__(self) -> int:
        return len(self.estimators)

    def average(self, X: Any, n_jobs: int | None, method: str, params: Mapping[str, object]) -> FloatArray:
        """Mean prediction of the members: class probabilities side by side, values, or decision functions."""
        features = self.list_features(range(len(self)))
        predictions = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(predict_bag_member)(member, X, own, self.n_classes, method, params)
            for member, own in zip(self.estimators, features, strict=True)
        )
        # In the order of the members, so that the sum is the same for any number of jobs.
        total = next(predictions)
        for prediction in predictions:
            total = total + prediction
        return np.asarray(total / len(self))

    def average_term(self, owner: object, members: list[ModelFormula]) -> FormulaTerm:
        """`average` of probabilities or values, as a term of a formula."""
        if self.n_classes is None:
            terms: list[FormulaTerm] = [member.value for member in members]
        else:
            classes = [np.arange(n) for n in self.n_classes]
            terms = [
                align_probabilities(owner, member, classes)
                if member.probabilities is not None
                else vote_largest(member.value, self.n_classes)
                for member in members
            ]
        total = terms[0]
        for term in terms[1:]:
            total = Arithmetic("+", total, term)
        return Arithmetic("/", total, ConstantTerm(np.array([float(len(members))])))

    def predict_each(self, X: Any) -> list[FloatArray]:
        """Predictions of each member: class probabilities side by side, or values."""
        features = self.list_features(range(len(self)))
        pairs = zip(self.estimators, features, strict=True)
        return [predict_bag_member(member, X, own, self.n_classes) for member, own in pairs]

    def list_features(self, members: range) -> list[NDArray[np.intp] | None]:
        """Features of each member; None where it has all of them, so that nothing is copied."""
        if self.samples.n_drawn == 0:
            return [None] * len(members)
        return list(self.samples.draw_features(members))


class EstimatorBagBuilder:
    """A bag of any estimators under construction: each is fitted on its own sample, several at a time.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned for each member.
    X : array, CSR matrix or frame
        The table that members are fitted on.
    target : ClassTarget or ValueTarget
        Members of a classifier learn the numbers of the classes.
    samples : MemberSamples
        Rows and features of each member.
    weights : ndarray or None
        Weights of the rows, unless rows are drawn in proportion to them.
    takes_weights : bool
        Whether `fit` has sample_weight: a sample is then a vector of counts rather than a copy of rows.
    fit_params : dict
        Other arguments of `fit`.
    n_jobs : int or None
        As in joblib.
    kept : list
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
        fit_params: Mapping[str, object],
        n_jobs: int | None,
        kept: list[Any],
    ) -> None:
        n_classes: list[int] | None = None
        y: NDArray[np.intp] | FloatArray
        if isinstance(target, ClassTarget):
            y, n_classes = target.labels.astype(np.intp), target.n_classes
        else:
            y = target.values
        self._estimator, self._X = estimator, X
        self._y: NDArray[Any] = y[:, 0] if y.shape[1] == 1 else y
        self._weights, self._takes_weights = weights, takes_weights
        self._fit_params, self._n_jobs = fit_params, n_jobs
        self._members = AnyMembers(samples, n_classes)
        self._members.estimators = list(kept)
        self._n_voted = 0

    def __len__(self) -> int:
        return len(self._members)

    def grow_to(self, n_members: int, on_progress: Callable[[int], None] | None) -> None:
        """Fit members until there are ``n_members``."""
        members, seed = self._members, self._members.samples.seed
        missing = range(len(members), n_members)
        hosts = choose_hosts(f"A bag of {len(missing)} members", len(missing), self._count_work(len(missing)))
        if hosts is not None:
            first = len(members)
            shared = SharedBag(
                self._estimator,
                self._X,
                self._y,
                members.samples,
                self._weights,
                self._fit_params,
                takes_weights=self._takes_weights,
            )
            show = None if on_progress is None else lambda done: on_progress(first + done)
            members.estimators += hosts.map(fit_shared_member, missing, shared, show)
            return
        # Samples are drawn when joblib takes the next task, never all at once.
        fitted = Parallel(n_jobs=self._n_jobs, return_as="generator")(
            delayed(fit_bag_member)(
                seed_estimator(clone(self._estimator), seed, member),
                self._X,
                self._y,
                members.samples.draw_rows([member])[0],
                members.list_features(range(member, member + 1))[0],
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

    def _count_work(self, n_members: int) -> float:
        shape = getattr(self._X, "shape", (len(self._y), 1))
        return float(np.prod(shape)) * n_members

    def add_votes(self, votes: OutOfBag, last: int) -> None:
        """Add the votes of the new members on their out-of-bag rows, and score them every few members.

        Members that were fitted after the score converged are dropped.

        Parameters
        ----------
        votes : OutOfBag
            Where the votes are summed and scored.
        last : int
            The number of members of the whole bag, after which the score is computed in any case.
        """
        members = self._members
        while self._n_voted < len(members) and not votes.converged:
            until = min(self._n_voted + SCORE_EVERY - self._n_voted % SCORE_EVERY, len(members))
            numbers = range(self._n_voted, until)
            out_of_bag = [np.flatnonzero(counts == 0) for counts in members.samples.draw_rows(numbers)]
            predictions = Parallel(n_jobs=self._n_jobs)(
                delayed(predict_bag_member)(members.estimators[k], select_rows(self._X, rows), own, members.n_classes)
                for k, rows, own in zip(numbers, out_of_bag, members.list_features(numbers), strict=True)
                if len(rows)
            )
            for rows, prediction in zip((rows for rows in out_of_bag if len(rows)), predictions, strict=True):
                votes.sums[rows] += prediction
                votes.n_votes[rows] += 1
            self._n_voted = until
            if until % SCORE_EVERY == 0 or until == last:
                votes.score_votes(until)
        del members.estimators[self._n_voted :]

    def truncate(self, n_members: int) -> EstimatorBagBuilder:
        """The same with the first members only."""
        first = copy(self)
        first._members = AnyMembers(self._members.samples, self._members.n_classes)
        first._members.estimators = self._members.estimators[:n_members]
        return first

    def build_members(self) -> AnyMembers:
        """The fitted members."""
        return self._members


@dataclass(frozen=True)
class SharedBag:
    """What all members of a bag share when they are fitted on the workers of a cluster; see `EstimatorBagBuilder`."""

    estimator: Any
    X: Any
    y: NDArray[Any]
    samples: MemberSamples
    weights: FloatArray | None
    fit_params: Mapping[str, object]
    takes_weights: bool


def fit_shared_member(member: int, bag: SharedBag) -> Any:
    """Fit one member of a bag, which depends on the seed and its number only."""
    features = None if bag.samples.n_drawn == 0 else bag.samples.draw_features([member])[0]
    return fit_bag_member(
        seed_estimator(clone(bag.estimator), bag.samples.seed, member),
        bag.X,
        bag.y,
        bag.samples.draw_rows([member])[0],
        features,
        bag.weights,
        bag.fit_params,
        takes_weights=bag.takes_weights,
    )


def fit_bag_member(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    counts: IndexArray,
    features: NDArray[np.intp] | None,
    weights: FloatArray | None,
    fit_params: Mapping[str, object],
    *,
    takes_weights: bool,
) -> Any:
    """Fit one member on its sample: counts as weights where it takes them, repeated rows otherwise."""
    with explain_single_class(estimator, y, counts):
        return _fit_sample(estimator, X, y, counts, features, weights, fit_params, takes_weights=takes_weights)


def _fit_sample(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    counts: IndexArray,
    features: NDArray[np.intp] | None,
    weights: FloatArray | None,
    fit_params: Mapping[str, object],
    *,
    takes_weights: bool,
) -> Any:
    # An estimator of another library may return nothing from `fit`.
    if weights is None and (counts == 1).all():
        estimator.fit(select_rows(X, None, features), y, **fit_params)
        return estimator
    if takes_weights:
        own = counts.astype(np.float64) if weights is None else counts * weights
        estimator.fit(select_rows(X, None, features), y, sample_weight=own, **fit_params)
        return estimator
    rows = np.repeat(np.arange(len(counts)), counts)
    sampled = select_entries(fit_params, rows, len(counts))
    estimator.fit(select_rows(X, rows, features), y[rows], **sampled)
    return estimator


def predict_bag_member(
    member: Any,
    X: Any,
    features: NDArray[np.intp] | None,
    n_classes: list[int] | None,
    method: str = "",
    params: Mapping[str, object] | None = None,
) -> FloatArray:
    """Prediction of one member: class probabilities (or votes) of all outputs, values, or its decision function."""
    table, params = select_rows(X, None, features), params or {}
    if method == "decision_function":
        return np.asarray(member.decision_function(table, **params), dtype=np.float64)
    if n_classes is None:
        return np.asarray(member.predict(table, **params), dtype=np.float64).reshape(count_rows(table), -1)
    if hasattr(member, "predict_proba"):
        outputs = _list_outputs(member.predict_proba(table, **params), n_classes)
        known = member.classes_ if isinstance(member.classes_, list) else [member.classes_] * len(outputs)
        return np.hstack([_add_missing_classes(p, c, n) for p, c, n in zip(outputs, known, n_classes, strict=True)])
    votes = np.asarray(member.predict(table, **params)).reshape(count_rows(table), -1).astype(np.intp)
    return np.hstack([np.eye(n)[votes[:, k]] for k, n in enumerate(n_classes)])


def _list_outputs(probabilities: Any, n_classes: list[int]) -> list[NDArray[Any]]:
    if isinstance(probabilities, list):
        return probabilities
    if len(n_classes) > 1:
        # Some estimators give for each of several labels the probability that it applies.
        return [np.stack([1.0 - positive, positive], axis=1) for positive in np.asarray(probabilities).T]
    return [np.asarray(probabilities)]


def _add_missing_classes(probabilities: FloatArray, known: NDArray[np.intp], n_classes: int) -> FloatArray:
    """Probabilities in the columns of all classes; zero for classes that were not in the member's sample."""
    if probabilities.shape[1] == n_classes:
        return probabilities.astype(np.float64, copy=False)
    spread = np.zeros((len(probabilities), n_classes))
    spread[:, np.asarray(known, dtype=np.intp)] = probabilities
    return spread
