"""Voting: members of any kind are fitted on the same table; their votes, probabilities or values are averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from sklearn.preprocessing import LabelEncoder

from committee.base import ClassifierScoreMixin, RegressorScoreMixin, available_if
from committee.data.blocks import OpenedSource
from committee.data.opening import opens_table
from committee.data.passing import read_table
from committee.data.targets import encode_classes
from committee.ensembles.combining.member_predictions import decode_classes, split_by_output, sum_weighted
from committee.ensembles.combining.named_ensemble import Estimators, MemberSeeds
from committee.ensembles.combining.voting_base import BaseVoting, ClassVoteWeights, Prefit, ValueVoteWeights
from committee.exceptions import DataError, ParameterError
from committee.params import CrossValidation, MemberTextColumns, NJobs, Verbose

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.ensembles.combining.member_predictions import OutputClasses
    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import EstimatorLike, FloatArray

__all__ = ["VotingClassifier", "VotingRegressor"]


def _is_soft(ensemble: VotingClassifier) -> bool:
    if ensemble.voting == "hard":
        raise AttributeError(f"predict_proba is not available when voting={ensemble.voting!r}")
    return True


class VotingClassifier(ClassifierScoreMixin, BaseVoting):
    r"""Majority vote of members of any kind (hard), or the mean of their probabilities (soft).

    With weights :math:`w_m` (equal by default) the predicted class is

    .. math::

        \arg\max_k \sum_m w_m [h_m(x) = k] \quad\text{(hard)}, \qquad
        \arg\max_k \frac{\sum_m w_m p_m(k \mid x)}{\sum_m w_m} \quad\text{(soft)},

    the first class of equals. Several outputs are predicted one by one.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members, without dropped ones.
    named_estimators_ : Bunch
        The same by name.
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped, as given (ones if None); fitted ones have sum one.
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    le_ : LabelEncoder
        From classes to their indices; of a single output.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, if the members have them.

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

    Members without probabilities can be calibrated by Platt's sigmoid, and weights can be fitted:

    >>> soft = VotingClassifier(members, voting="soft", calibration="sigmoid", weights="learned")
    >>> soft.fit(X[:400], y[:400]).weights_.round(2).tolist()
    [0.0, 0.29, 0.71]
    """

    _task = "classify"

    voting: str
    flatten_transform: bool
    calibration: str | None
    classes_: NDArray[Any] | list[NDArray[Any]]
    _classes: OutputClasses

    def __init__(
        self,
        estimators: Estimators,
        *,
        voting: Annotated[
            Literal["hard", "soft"], "By majority of the members' classes, or by the mean of their probabilities."
        ] = "hard",
        weights: ClassVoteWeights = None,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        flatten_transform: Annotated[
            bool, "Whether `transform` of soft voting returns two axes, or three: (member, row, class)."
        ] = True,
        verbose: Verbose = False,
        prefit: Prefit = False,
        calibration: Annotated[
            Literal["sigmoid", "isotonic"] | None,
            "For soft voting: how the decision function of a member without probabilities is calibrated in ``cv`` "
            "folds, by Platt's sigmoid or by isotonic regression. None: such a member is an error.",
        ] = None,
        cv: CrossValidation = None,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    @opens_table
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        **fit_params: object,
    ) -> Self:
        """Fit the members, and their weights if these are to be learned.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of texts
            Passed to the members unchanged.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes. May be left out if the members are fitted already and the weights are known.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; every member must support them.
        groups : array-like of shape (n_samples,), optional
            Groups of rows, kept together in the folds of learned weights, and for members that sample groups.
        **fit_params
            Further arguments of the members' `fit`, if metadata routing is enabled and they request them.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_fit_params(fit_params)
        X = X if isinstance(X, OpenedSource) or (X is None and self.prefit) else read_table(X)
        without_target = self.prefit and y is None and not isinstance(self.weights, str)
        target = None if without_target else encode_classes(self._read_labels(X, y), type(self).__name__)
        if target is None or self.prefit:
            target = self._add_member_classes(target)
        self._fit_voting(X, target, None if without_target else sample_weight, groups, fit_params)
        return self

    def _predict_method(self) -> str:
        return "predict_proba" if self.voting == "soft" else "predict"

    def _list_active(self, strict: bool = True) -> list[tuple[str, Any]]:
        active = super()._list_active(strict)
        if isinstance(self.weights, str) and self.weights == "log_loss" and self.voting == "hard":
            raise ParameterError("Weights can be learned by log-loss for voting='soft' only; use 'least_squares'.")
        for name, member in active if self.voting == "soft" else []:
            if not hasattr(member, "predict_proba") and (self.calibration is None or self.prefit):
                raise ParameterError(
                    f"VotingClassifier with voting='soft' needs the method predict_proba of every member; {name!r} "
                    f"({type(member).__name__}) does not have it. Set calibration='sigmoid' or 'isotonic', or vote "
                    "'hard'."
                )
        return active

    def _add_probabilities(self, member: EstimatorLike, training: TrainingSet) -> EstimatorLike:
        if self.voting == "hard" or self.calibration is None or hasattr(member, "predict_proba"):
            return member
        from sklearn.calibration import CalibratedClassifierCV

        self._check_calibration(training)
        calibrated: EstimatorLike = CalibratedClassifierCV(member, method=self.calibration, cv=self.cv)
        return calibrated

    def _check_calibration(self, training: TrainingSet) -> None:
        """Refuse classes with fewer rows than folds, where the number of folds is known."""
        if self.cv is not None and not isinstance(self.cv, int | np.integer):
            return
        n_folds = 5 if self.cv is None else int(self.cv)
        for labels in np.atleast_2d(training.y.T):
            least = int(np.bincount(labels).min())
            if least < n_folds:
                raise DataError(
                    f"Requesting {n_folds}-fold cross-validation but provided less than {n_folds} examples for at "
                    f"least one class. The 'cv' parameter of {type(self).__name__} makes {n_folds} folds for the "
                    f"calibration, which need {n_folds} rows of each class; got {least} of one. Set it to a smaller "
                    "number."
                )

    def _to_columns(self, predictions: FloatArray, n_classes: list[int]) -> FloatArray:
        """Probabilities, or one-hot votes; classes of all outputs side by side."""
        if self.voting == "soft":
            return predictions
        return np.hstack([np.eye(n)[predictions[:, k].astype(np.intp)] for k, n in enumerate(n_classes)])

    @property
    def le_(self) -> LabelEncoder:
        """From classes to their indices, as in scikit-learn; of a single output."""
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
        return decode_classes(split_by_output(self._average(X), self._classes), self._classes)

    @available_if(_is_soft)
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
        probabilities = self._average(X)
        return probabilities if self.n_outputs_ == 1 else split_by_output(probabilities, self._classes)

    def transform(self, X: Any) -> NDArray[Any]:
        """Predictions of each member: indices of classes (hard) or probabilities (soft).

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
        predictions = self._predict_members(X)
        if self.voting == "hard":
            return np.hstack(predictions).astype(np.intp)
        return np.hstack(predictions) if self.flatten_transform else np.stack(predictions)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str
        """
        self._check_fitted()
        if self.voting == "soft" and not self.flatten_transform:
            raise DataError("get_feature_names_out is not supported when `voting='soft'` and `flatten_transform=False`")
        if self.voting == "hard":
            return self._name_columns([""] if self.n_outputs_ == 1 else [str(k) for k in range(self.n_outputs_)])
        return self._name_columns([str(k) for k in range(sum(len(c) for c in self._classes))])

    def _average(self, X: Any) -> FloatArray:
        """Fractions of the votes, or mean probabilities; classes of all outputs side by side."""
        predictions, n_classes = self._predict_members(X), [len(c) for c in self._classes]
        total = sum_weighted(self.weights_, (self._to_columns(predicted, n_classes) for predicted in predictions))
        # Divided last: sums of integer weights are exact, and ties stay ties.
        return np.asarray(total / self.weights_.sum())


class VotingRegressor(RegressorScoreMixin, BaseVoting):
    r"""The weighted mean of members of any kind, :math:`\sum_m w_m h_m(x) / \sum_m w_m`.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members, without dropped ones.
    named_estimators_ : Bunch
        The same by name.
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped, as given (ones if None); fitted ones have sum one.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, if the members have them.

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
        weights: ValueVoteWeights = None,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        verbose: Verbose = False,
        prefit: Prefit = False,
        cv: CrossValidation = None,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    @opens_table
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        **fit_params: object,
    ) -> Self:
        """Fit the members, and their weights if these are to be learned.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of texts
            Passed to the members unchanged.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; every member must support them.
        groups : array-like of shape (n_samples,), optional
            Groups of rows, kept together in the folds of learned weights, and for members that sample groups.
        **fit_params
            Further arguments of the members' `fit`, if metadata routing is enabled and they request them.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_fit_params(fit_params)
        X = X if isinstance(X, OpenedSource) else read_table(X)
        self._fit_voting(X, self._read_target(X, y), sample_weight, groups, fit_params)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Weighted mean of the members' predictions.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        predictions = self._predict_members(X)
        mean: FloatArray = sum_weighted(self.weights_, predictions) / self.weights_.sum()
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    def transform(self, X: Any) -> FloatArray:
        """Predictions of each member.

        Parameters
        ----------
        X : table
            Rows to transform.

        Returns
        -------
        ndarray of shape (n_samples, n_members), times outputs
        """
        return np.hstack(self._predict_members(X))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str
        """
        self._check_fitted()
        return self._name_columns([""] if self.n_outputs_ == 1 else [str(k) for k in range(self.n_outputs_)])
