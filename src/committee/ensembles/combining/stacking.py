"""Stacking: a meta-model is fitted to the members' predictions for rows that they were not fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from committee.base import ClassifierScoreMixin, RegressorScoreMixin, available_if
from committee.ensembles.combining.member_predictions import predict_member, split_by_output
from committee.ensembles.combining.named_ensemble import Estimators, MemberSeeds, PredictionTransformerMixin
from committee.ensembles.combining.stacking_base import (
    BaseStacking,
    ClassMetaModel,
    Passthrough,
    StackingCv,
    StackingLayers,
    StackingRefit,
    ValueMetaModel,
    final_has,
)
from committee.params import MemberTextColumns, NJobs, Verbose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.ensembles.combining.member_predictions import OutputClasses
    from committee.typing import FloatArray

__all__ = ["StackingClassifier", "StackingRegressor"]


class StackingClassifier(ClassifierScoreMixin, PredictionTransformerMixin, BaseStacking):
    """Members of any kind, and a meta-model that is fitted to their out-of-fold predictions [Wolpert1992].

    The members' predictions for training rows come from folds (or are out-of-bag), so that no member was fitted on
    the rows that it predicts. Trees and forests of this library share one set of bins over all folds.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members, without dropped ones; with ``refit=False`` each is the mean of its fold models.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The meta-model. Its classes are the indices of the classes.
    layers_ : list
        All layers, each with ``names``, ``members`` and ``methods``; the first one's members are ``estimators_``.
    stack_method_ : list of str
        The method that each member of the first layer predicts by.
    n_meta_rows_ : int
        Number of rows that the meta-model was fitted on.
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, if the members have them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from committee import RandomForestClassifier, StackingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = [("nb", GaussianNB()), ("forest", RandomForestClassifier(random_state=0))]
    >>> stack = StackingClassifier(members).fit(X[:400], y[:400])
    >>> stack.score(X[400:], y[400:]) > 0.95
    True

    Out-of-bag predictions of the forest need no folds:

    >>> stack = StackingClassifier(members, cv="oob").fit(X[:400], y[:400])
    >>> stack.score(X[400:], y[400:]) > 0.95
    True

    The mean of two meta-models:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from committee import DecisionTreeClassifier
    >>> layer = [("logit", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=2))]
    >>> stack = StackingClassifier(members, "mean", layers=[layer]).fit(X[:400], y[:400])
    >>> stack.transform(X[:2]).shape
    (2, 2)
    """

    _task = "classify"
    _default_final = "logistic"

    stack_method: str
    classes_: NDArray[Any] | list[NDArray[Any]]
    _classes: OutputClasses

    def __init__(
        self,
        estimators: Estimators,
        final_estimator: ClassMetaModel = None,
        *,
        cv: StackingCv = None,
        stack_method: Annotated[
            Literal["auto", "predict_proba", "decision_function", "predict"],
            "The method that members predict by; ``'auto'`` takes the first of the other three that a member has.",
        ] = "auto",
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        passthrough: Passthrough = False,
        verbose: Verbose = 0,
        refit: StackingRefit = True,
        layers: StackingLayers = None,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    @available_if(final_has("predict"))
    def predict(self, X: Any, **predict_params: object) -> NDArray[Any]:
        """Class of each row, as the meta-model predicts it.

        Parameters
        ----------
        X : table
            Rows to predict.
        **predict_params
            Further arguments of the meta-model's `predict`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        indices = np.asarray(self._predict_final(X, predict_params)).astype(np.intp)
        if self.n_outputs_ == 1:
            return self._classes[0].take(indices)
        return np.stack([c.take(indices[:, k]) for k, c in enumerate(self._classes)], axis=1)

    @available_if(final_has("predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Probabilities of the classes, as the meta-model predicts them.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each of several outputs
            Columns in the order of ``classes_``.
        """
        table = self._meta_table(X)
        indices = [np.arange(len(c)) for c in self._classes]
        probabilities = predict_member(self.final_estimator_, table, "predict_proba", indices)
        outputs = split_by_output(probabilities, self._classes)
        return outputs[0] if self.n_outputs_ == 1 else outputs

    @available_if(final_has("decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Decision function of the meta-model.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        table = self._meta_table(X)
        return np.asarray(self.final_estimator_.decision_function(table))


class StackingRegressor(RegressorScoreMixin, BaseStacking):
    """Members of any kind, and a meta-model that is fitted to their out-of-fold predictions.

    As :class:`StackingClassifier`, for regression [Breiman1996c].

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members, without dropped ones; with ``refit=False`` each is the mean of its fold models.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The meta-model.
    layers_ : list
        All layers, each with ``names``, ``members`` and ``methods``; the first one's members are ``estimators_``.
    stack_method_ : list of str
        The method that each member of the first layer predicts by.
    n_meta_rows_ : int
        Number of rows that the meta-model was fitted on.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, if the members have them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn.model_selection import TimeSeriesSplit
    >>> from committee import RandomForestRegressor, StackingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("ridge", RidgeCV()), ("forest", RandomForestRegressor(random_state=0))]
    >>> stack = StackingRegressor(members, "nonnegative", cv=TimeSeriesSplit(5)).fit(X, y)
    >>> stack.n_meta_rows_, len(X)
    (365, 442)
    """

    _task = "regress"
    _default_final = "ridge"

    def __init__(
        self,
        estimators: Estimators,
        final_estimator: ValueMetaModel = None,
        *,
        cv: StackingCv = None,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        passthrough: Passthrough = False,
        verbose: Verbose = 0,
        refit: StackingRefit = True,
        layers: StackingLayers = None,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    @available_if(final_has("predict"))
    def predict(self, X: Any, **predict_params: object) -> Any:
        """Value of each row, as the meta-model predicts it.

        Parameters
        ----------
        X : table
            Rows to predict.
        **predict_params
            Further arguments of the meta-model's `predict`, such as ``return_std``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._predict_final(X, predict_params)
