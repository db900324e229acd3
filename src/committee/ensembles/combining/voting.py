"""Voting: members of any kind learn the same table, and their votes, probabilities or values are averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.metaestimators import available_if

from committee.data import ClassTarget
from committee.ensembles.combining.named_ensemble import Estimators, MemberSeeds
from committee.ensembles.combining.training_set import read_table
from committee.ensembles.combining.voting_base import BaseVoting, ClassWeights, Prefit, ValueWeights
from committee.exceptions import DataError, ParameterError
from committee.params import CrossValidation, NJobs, Verbose

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["VotingClassifier", "VotingRegressor"]


def _is_soft(vote: Any) -> bool:
    if vote.voting == "hard":
        raise AttributeError(f"predict_proba is not available when voting={vote.voting!r}")
    return True


class VotingClassifier(ClassifierMixin, BaseVoting):  # type: ignore[misc]
    r"""Members of any kind vote on the class, by hand or by probability.

    With weights :math:`w_m` (equal by default) the committee says

    .. math::

        \arg\max_k \sum_m w_m [h_m(x) = k] \quad\text{(hard)}, \qquad
        \arg\max_k \frac{\sum_m w_m p_m(k \mid x)}{\sum_m w_m} \quad\text{(soft)},

    the first class of equals. Several outputs are voted on one by one.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members, without dropped ones.
    named_estimators_ : Bunch
        The same by name.
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped, as given (ones if None); learnt ones have sum one.
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    le_ : LabelEncoder
        From classes to their numbers; of a single output.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where the members know them.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.svm import SVC
    >>> from committee import RandomForestClassifier, VotingClassifier
    >>> X, y = make_moons(500, noise=0.3, random_state=42)
    >>> members = [("lr", LogisticRegression()), ("rf", RandomForestClassifier(random_state=0)), ("svc", SVC())]
    >>> VotingClassifier(members).fit(X[:400], y[:400]).score(X[400:], y[400:])
    0.89

    A member without probabilities gets Platt's sigmoid when asked for, and weights can be learnt:

    >>> soft = VotingClassifier(members, voting="soft", calibration="sigmoid", weights="learned")
    >>> soft.fit(X[:400], y[:400]).weights_.round(2).tolist()
    [0.0, 0.28, 0.72]
    """

    _task = "classify"

    voting: str
    flatten_transform: bool
    calibration: str | None
    classes_: Any

    def __init__(
        self,
        estimators: Estimators,
        *,
        voting: Annotated[
            Literal["hard", "soft"], "By majority of the members' classes, or by the mean of their probabilities."
        ] = "hard",
        weights: ClassWeights = None,
        n_jobs: NJobs = None,
        flatten_transform: Annotated[
            bool, "Whether soft voting transforms to a table of two axes, or to one of (member, row, class)."
        ] = True,
        verbose: Verbose = False,
        prefit: Prefit = False,
        calibration: Annotated[
            Literal["sigmoid", "isotonic"] | None,
            "For soft voting: how a member without probabilities gets them, by Platt's sigmoid or a rising step "
            "function of its decisions in ``cv`` folds. None: such a member is an error.",
        ] = None,
        cv: CrossValidation = None,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any) -> Self:
        """Fit the members, and learn their weights if these are to be learnt.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of texts
            What the members can read; it reaches them as it is.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes. May be left out if the members are fitted already and the weights are known.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; every member must take them.
        groups : array-like of shape (n_samples,), optional
            Groups of rows that stay together in the folds of learnt weights, and for members that draw groups.
        **fit_params
            What the members' `fit` is given besides, if metadata routing is on and they ask for it.

        Returns
        -------
        self
        """
        self._validate_params()
        X = X if X is None and self.prefit else read_table(X)
        known = self.prefit and y is None and not isinstance(self.weights, str)
        target: Any = None if known else self._read_target(X, y)
        target = self._recall_classes(target) if self.prefit else target
        return self._train(X, target, None if known else sample_weight, groups, fit_params)

    def _method(self) -> str:
        return "predict_proba" if self.voting == "soft" else "predict"

    def _list_present(self, strict: bool = True) -> list[tuple[str, Any]]:
        present = super()._list_present(strict)
        if isinstance(self.weights, str) and self.weights == "log_loss" and self.voting == "hard":
            raise ParameterError("Weights can be learnt by log-loss for voting='soft' only; use 'least_squares'.")
        for name, member in present if self.voting == "soft" else []:
            if not hasattr(member, "predict_proba") and (self.calibration is None or self.prefit):
                raise ParameterError(
                    f"VotingClassifier with voting='soft' needs the method predict_proba of every member; {name!r} "
                    f"({type(member).__name__}) does not have it. Set calibration='sigmoid' or 'isotonic', or vote "
                    "'hard'."
                )
        return present

    def _prepare(self, member: Any) -> Any:
        if self.voting == "hard" or self.calibration is None or hasattr(member, "predict_proba"):
            return member
        from sklearn.calibration import CalibratedClassifierCV

        return CalibratedClassifierCV(member, method=self.calibration, cv=self.cv)

    def _spread_votes(self, answers: FloatArray, target: ClassTarget) -> FloatArray:
        if self.voting == "soft":
            return answers
        return np.hstack([np.eye(n)[answers[:, k].astype(np.intp)] for k, n in enumerate(target.n_classes)])

    @property
    def le_(self) -> LabelEncoder:
        """From classes to their numbers, as scikit-learn has it; of a single output."""
        self._check_fitted()
        return LabelEncoder().fit(self._classes[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: the one with most votes or the largest mean probability, the first of equals.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        shares = self._average(X)
        chosen = [c.take(part.argmax(axis=1)) for c, part in zip(self._classes, self._part(shares), strict=True)]
        return chosen[0] if self.n_outputs_ == 1 else np.stack(chosen, axis=1)

    @available_if(_is_soft)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Weighted mean of the members' probabilities; for soft voting.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each of several outputs
            Columns in the order of ``classes_``.
        """
        shares = self._average(X)
        return shares if self.n_outputs_ == 1 else self._part(shares)

    def transform(self, X: Any) -> NDArray[Any]:
        """What each member says: numbers of classes (hard) or probabilities (soft).

        Parameters
        ----------
        X : table
            Rows to transform.

        Returns
        -------
        ndarray
            Of shape (n_samples, n_members) for hard voting (times outputs), (n_samples, n_members * n_classes) for
            soft, and (n_members, n_samples, n_classes) for soft with ``flatten_transform=False``.
        """
        answers = self._ask_all(X)
        if self.voting == "hard":
            return np.hstack(answers).astype(np.intp)
        return np.hstack(answers) if self.flatten_transform else np.stack(answers)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Not used; there as everywhere.

        Returns
        -------
        ndarray of str
        """
        self._check_fitted()
        if self.voting == "soft" and not self.flatten_transform:
            raise DataError("get_feature_names_out is not supported when `voting='soft'` and `flatten_transform=False`")
        if self.voting == "hard":
            return self._name_outputs([""] if self.n_outputs_ == 1 else [str(k) for k in range(self.n_outputs_)])
        return self._name_outputs([str(k) for k in range(sum(len(c) for c in self._classes))])

    def _average(self, X: Any) -> FloatArray:
        """Shares of the votes, or mean probabilities, classes of all outputs side by side."""
        answers = self._ask_all(X)
        total: Any = 0.0
        for weight, said in zip(self.weights_, answers, strict=True):
            total = total + weight * self._spread_votes(said, self._known_target())
        # Divided last: sums of whole weights are exact, and equal votes stay equal.
        return np.asarray(total / self.weights_.sum())

    def _known_target(self) -> ClassTarget:
        return ClassTarget(np.zeros((0, self.n_outputs_), dtype=np.uint32), self._classes, self.n_outputs_ == 1)

    def _part(self, shares: FloatArray) -> list[FloatArray]:
        return np.split(shares, np.cumsum([len(c) for c in self._classes])[:-1], axis=1)


class VotingRegressor(RegressorMixin, BaseVoting):  # type: ignore[misc]
    r"""The weighted mean of members of any kind, :math:`\sum_m w_m h_m(x) / \sum_m w_m`.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members, without dropped ones.
    named_estimators_ : Bunch
        The same by name.
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped, as given (ones if None); learnt ones have sum one.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where the members know them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from committee import RandomForestRegressor, VotingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("ridge", RidgeCV()), ("forest", RandomForestRegressor(random_state=0))]
    >>> vote = VotingRegressor(members, weights="learned").fit(X[:300], y[:300])
    >>> vote.weights_.round(1), round(vote.score(X[300:], y[300:]), 2) > 0.45
    (array([0.8, 0.2]), True)
    """

    _task = "regress"

    def __init__(
        self,
        estimators: Estimators,
        *,
        weights: ValueWeights = None,
        n_jobs: NJobs = None,
        verbose: Verbose = False,
        prefit: Prefit = False,
        cv: CrossValidation = None,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any) -> Self:
        """Fit the members, and learn their weights if these are to be learnt.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of texts
            What the members can read; it reaches them as it is.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; every member must take them.
        groups : array-like of shape (n_samples,), optional
            Groups of rows that stay together in the folds of learnt weights, and for members that draw groups.
        **fit_params
            What the members' `fit` is given besides, if metadata routing is on and they ask for it.

        Returns
        -------
        self
        """
        self._validate_params()
        X = read_table(X)
        return self._train(X, self._read_target(X, y), sample_weight, groups, fit_params)

    def predict(self, X: Any) -> FloatArray:
        """Weighted mean of what the members say.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        answers, total = self._ask_all(X), np.zeros((1, self.n_outputs_))
        for weight, said in zip(self.weights_, answers, strict=True):
            total = total + weight * said
        mean: FloatArray = total / self.weights_.sum()
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    def transform(self, X: Any) -> FloatArray:
        """What each member says.

        Parameters
        ----------
        X : table
            Rows to transform.

        Returns
        -------
        ndarray of shape (n_samples, n_members), times outputs
        """
        return np.hstack(self._ask_all(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Not used; there as everywhere.

        Returns
        -------
        ndarray of str
        """
        self._check_fitted()
        return self._name_outputs([""] if self.n_outputs_ == 1 else [str(k) for k in range(self.n_outputs_)])
