"""Stacking: what members say about rows they have not seen is the table that a further model learns from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from committee.ensembles.combining.member_predictions import predict_member
from committee.ensembles.combining.named_ensemble import Estimators, MemberSeeds
from committee.ensembles.combining.stacking_base import (
    BaseStacking,
    ClassMeta,
    Layers,
    Passthrough,
    Refit,
    StackCv,
    ValueMeta,
    final_has,
)
from committee.params import NJobs, Verbose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["StackingClassifier", "StackingRegressor"]


class StackingClassifier(ClassifierMixin, BaseStacking):  # type: ignore[misc]
    """Members of any kind, and a meta-model that learns from what they say about rows they have not seen [Wolpert1992].

    The members' answers for training rows come from folds (or from out-of-bag rows), so that no member has seen the
    rows it answers for. Trees and forests of this library share one set of bins over all folds.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members, without dropped ones; with ``refit=False`` each is the mean of its fold models.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The meta-model. It knows classes by their numbers.
    layers_ : list
        All layers, each with ``names``, ``members`` and ``methods``; the first one's members are ``estimators_``.
    stack_method_ : list of str
        How each member of the first layer is asked.
    n_meta_rows_ : int
        Rows that the meta-model has learnt from.
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where the members know them.

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

    Out-of-bag answers of the forest cost no folds:

    >>> stack = StackingClassifier(members, cv="oob").fit(X[:400], y[:400])
    >>> stack.score(X[400:], y[400:]) > 0.95
    True

    Two meta-models, and their mean:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from committee import DecisionTreeClassifier
    >>> layer = [("logit", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=2))]
    >>> stack = StackingClassifier(members, "mean", layers=[layer]).fit(X[:400], y[:400])
    >>> stack.transform(X[:2]).shape
    (2, 2)
    """

    _task = "classify"
    _usual = "logistic"

    stack_method: str
    classes_: Any

    def __init__(
        self,
        estimators: Estimators,
        final_estimator: ClassMeta = None,
        *,
        cv: StackCv = None,
        stack_method: Annotated[
            Literal["auto", "predict_proba", "decision_function", "predict"],
            "How members are asked; ``'auto'`` takes the first of the other three that a member has.",
        ] = "auto",
        n_jobs: NJobs = None,
        passthrough: Passthrough = False,
        verbose: Verbose = 0,
        refit: Refit = True,
        layers: Layers = None,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    @available_if(final_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any, **predict_params: Any) -> NDArray[Any]:
        """Class of each row, as the meta-model says.

        Parameters
        ----------
        X : table
            Rows to predict.
        **predict_params
            What the meta-model's `predict` is given besides.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        numbers = np.asarray(self._predict_final(X, predict_params)).astype(np.intp)
        if self.n_outputs_ == 1:
            return self.classes_.take(numbers)  # type: ignore[no-any-return]
        return np.stack([c.take(numbers[:, k]) for k, c in enumerate(self.classes_)], axis=1)

    @available_if(final_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Probabilities, as the meta-model says.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each of several outputs
            Columns in the order of ``classes_``.
        """
        table = self._climb(X)
        numbers = [np.arange(len(c)) for c in self._classes]
        shares = predict_member(self.final_estimator_, table, "predict_proba", numbers)
        parts = np.split(shares, np.cumsum([len(c) for c in self._classes])[:-1], axis=1)
        return parts[0] if self.n_outputs_ == 1 else parts

    @available_if(final_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Decisions of the meta-model.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        table = self._climb(X)
        return np.asarray(self.final_estimator_.decision_function(table))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class StackingRegressor(RegressorMixin, BaseStacking):  # type: ignore[misc]
    """Members of any kind, and a meta-model that learns from what they say about rows they have not seen.

    As :class:`StackingClassifier`, for numbers [Breiman1996c].

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
        How each member of the first layer is asked.
    n_meta_rows_ : int
        Rows that the meta-model has learnt from.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where the members know them.

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
    _usual = "ridge"

    def __init__(
        self,
        estimators: Estimators,
        final_estimator: ValueMeta = None,
        *,
        cv: StackCv = None,
        n_jobs: NJobs = None,
        passthrough: Passthrough = False,
        verbose: Verbose = 0,
        refit: Refit = True,
        layers: Layers = None,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    @available_if(final_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any, **predict_params: Any) -> Any:
        """Value of each row, as the meta-model says.

        Parameters
        ----------
        X : table
            Rows to predict.
        **predict_params
            What the meta-model's `predict` is given besides, such as ``return_std``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._predict_final(X, predict_params)
