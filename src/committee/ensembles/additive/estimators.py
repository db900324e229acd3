"""Explainable boosting: additive models of features and pairs [LouCaruana2012, LouCaruana2013, Nori2019]."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee.base import ClassifierScoreMixin, RegressorScoreMixin
from committee.data.dataset import ValueTarget
from committee.engines.formula import ModelFormula, RowFunction, TableRow, present_scores
from committee.ensembles.additive.base import BaseExplainableBoosting, count_classes
from committee.ensembles.additive.params import (
    AdditiveLearningRate,
    AdditivePatience,
    AdditiveTol,
    AdditiveValueLoss,
    CycleCount,
    FineBins,
    HeldOutShare,
    InteractionBins,
    OuterBags,
    PairChoice,
    SmoothCycles,
    StepLeaves,
    StopsEarly,
)
from committee.foreign_names import answer_arguments
from committee.learners.log_probabilities import LogProbabilitiesMixin
from committee.losses import LossFunction
from committee.params import (
    CategoricalFeatures,
    ClassWeight,
    L2Regularization,
    MinSamplesLeafCount,
    MonotonicCst,
    NJobs,
    RandomState,
    TextColumns,
    Unseen,
    Verbose,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray, Task

__all__ = ["ExplainableBoostingClassifier", "ExplainableBoostingRegressor"]


class ExplainableBoostingClassifier(ClassifierScoreMixin, LogProbabilitiesMixin, BaseExplainableBoosting):
    """A classifier that can be read: a sum of tables of single features and of pairs, fitted by boosting.

    The score of a row is f(x) = b + Σ_j f_j(x_j) + Σ_jk f_jk(x_j, x_k): the log-odds of the second of two classes,
    or one score for each of more, from which a softmax makes probabilities. A shape table f_j has a value for each
    bin of a number, each level of a category, and one for missing values. What the model has learnt is in these
    tables and nowhere else (`shape`), and a prediction is their sum (`explain`).

    Tables grow in cycles [LouCaruana2012]: each feature in turn makes a small step, a tree with few leaves on its bins
    that follows the gradient of the loss, so that no feature takes what another explains as well. Pairs are ranked by
    what the best two cuts of each would gain after the features alone (FAST, [LouCaruana2013]), and then fitted in
    the same way on coarser cells. After a trial of a few cycles those pairs stay without which the loss of the rows
    held out would be larger by more than its standard error over bags; in the end they are left out again
    unless together they lower this loss. All of this is done in several outer bags [Nori2019], each of which
    stops by the loss of rows that it holds out; tables are means over bags. Within a cycle gradients follow the steps
    to second order; each cycle begins with exact ones. Sums are integers, so that the number of threads does not
    matter. Finally means over the training rows are moved from pairs to features and from features to the intercept,
    which changes no prediction.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    n_classes_ : int
        Their number.
    shapes_ : list of TermShape
        The shape table of each term.
    term_names_ : list of str
        The names of the terms, pairs joined by ``x``.
    term_importances_ : ndarray of shape (n_terms,)
        Mean absolute contribution of each term.
    feature_importances_ : ndarray of shape (n_features,)
        The same by feature, as a fraction of the sum.
    intercept_ : float or ndarray of shape (n_classes,)
        What every score begins with.
    n_iter_ : int
        The most cycles of a bag.
    bag_cycles_ : ndarray of shape (1 or 2, n_bags)
        Cycles over features, and over pairs, of each bag.
    validation_loss_ : ndarray
        Loss of the rows held out after each cycle, a mean over bags; features first, then pairs.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    HistGradientBoostingClassifier : Trees of all features together.
    plots.ShapeDisplay : Draws shape tables.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import ExplainableBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = ExplainableBoostingClassifier(outer_bags=4, interactions=2, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    >>> model.shape("mean radius").values.shape[0]
    1
    >>> parts = model.explain(X)
    >>> bool(abs(parts.sum(axis=1) + model.intercept_ - model.decision_function(X)).max() < 1e-9)
    True
    """

    _task: ClassVar[Task] = "classify"

    classes_: NDArray[Any]
    n_classes_: int

    def __init__(
        self,
        *,
        learning_rate: AdditiveLearningRate = 0.1,
        max_iter: CycleCount = 20_000,
        smooth_iter: SmoothCycles = 40,
        max_leaf_nodes: StepLeaves = 3,
        min_samples_leaf: MinSamplesLeafCount = 8,
        l2_regularization: L2Regularization = 1.0,
        outer_bags: OuterBags = 8,
        interactions: PairChoice = 1.0,
        max_bins: FineBins = 1024,
        max_interaction_bins: InteractionBins = 64,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        early_stopping: StopsEarly = True,
        validation_fraction: HeldOutShare = 0.15,
        n_iter_no_change: AdditivePatience = 50,
        tol: AdditiveTol = 1e-4,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        class_weight: ClassWeight = None,
        n_jobs: NJobs = None,
    ) -> None:
        self._store_params(locals())

    def _make_loss(self, dataset: Dataset) -> LossFunction:
        n_classes = count_classes(dataset)
        return LossFunction("logistic") if n_classes == 2 else LossFunction("softmax", nan, n_classes)

    def decision_function(self, X: Any) -> FloatArray:
        """Scores: the log-odds of the second class, or one score for each of several classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._raw_predict(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @answer_arguments
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        self.fitted_trees()
        return self._predict_means(X, two_classes=self.n_classes_ == 2)

    @answer_arguments
    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: the most probable one, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self._raw_predict(X)
        best = (scores[:, 0] > 0.0).astype(np.intp) if self.n_classes_ == 2 else scores.argmax(axis=1)
        return np.asarray(self.classes_.take(best))

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row, by default of its own table; exports are written from it."""
        self.fitted_trees()
        row = TableRow(self._schema.n_features) if row is None else row
        scores = self._score_term(row)
        is_single = self._loss.n_scores == 1 and self.n_classes_ == 2
        means = RowFunction("sigmoid" if is_single else "softmax", scores)
        return present_scores(row, self._schema, self.classes_, scores, means)


class ExplainableBoostingRegressor(RegressorScoreMixin, BaseExplainableBoosting):
    """A regressor that can be read: a sum of tables of single features and of pairs, fitted by boosting.

    As `ExplainableBoostingClassifier`, for squared error, and for the deviances of Poisson and gamma, whose
    predictions are the exponential of the score: tables then hold logarithms of factors.

    Attributes
    ----------
    shapes_ : list of TermShape
        The shape table of each term.
    term_names_ : list of str
        The names of the terms, pairs joined by ``x``.
    term_importances_ : ndarray of shape (n_terms,)
        Mean absolute contribution of each term.
    feature_importances_ : ndarray of shape (n_features,)
        The same by feature, as a fraction of the sum.
    intercept_ : float
        What every score begins with.
    n_iter_ : int
        The most cycles of a bag.
    bag_cycles_ : ndarray of shape (1 or 2, n_bags)
        Cycles over features, and over pairs, of each bag.
    validation_loss_ : ndarray
        Loss of the rows held out after each cycle, a mean over bags; features first, then pairs.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    HistGradientBoostingRegressor : Trees of all features together.
    plots.ShapeDisplay : Draws shape tables.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import ExplainableBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = ExplainableBoostingRegressor(outer_bags=4, interactions=0, random_state=0).fit(X, y)
    >>> model.term_names_[:3]
    ['age', 'sex', 'bmi']
    >>> flat = model.edit("sex", 0.0)
    >>> bool((flat.explain(X)[:, 1] == 0.0).all())
    True
    """

    _task: ClassVar[Task] = "regress"

    def __init__(
        self,
        loss: AdditiveValueLoss = "squared_error",
        *,
        learning_rate: AdditiveLearningRate = 0.15,
        max_iter: CycleCount = 20_000,
        smooth_iter: SmoothCycles = 40,
        max_leaf_nodes: StepLeaves = 2,
        min_samples_leaf: MinSamplesLeafCount = 8,
        l2_regularization: L2Regularization = 1.0,
        outer_bags: OuterBags = 8,
        interactions: PairChoice = 1.0,
        max_bins: FineBins = 1024,
        max_interaction_bins: InteractionBins = 64,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        early_stopping: StopsEarly = True,
        validation_fraction: HeldOutShare = 0.15,
        n_iter_no_change: AdditivePatience = 50,
        tol: AdditiveTol = 1e-4,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        n_jobs: NJobs = None,
    ) -> None:
        self._store_params(locals())

    def _make_loss(self, dataset: Dataset) -> LossFunction:
        target = dataset.target
        assert isinstance(target, ValueTarget)
        loss = LossFunction(self.loss)
        loss.check_target(target.values)
        return loss

    @answer_arguments
    def predict(self, X: Any) -> FloatArray:
        """Value of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._predict_means(X)[:, 0]

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row, by default of its own table; exports are written from it."""
        self.fitted_trees()
        row = TableRow(self._schema.n_features) if row is None else row
        scores = self._score_term(row)
        return ModelFormula(
            row, self._schema, RowFunction("exp", scores) if self._loss.traits.link == "log" else scores
        )
