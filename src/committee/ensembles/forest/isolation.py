"""Isolation forests [Liu2008]: rows that random splits separate from the others early are anomalies."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import ceil, log2
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csc_matrix
from sklearn.base import OutlierMixin

from committee.base import resolve_jobs, resolve_seed
from committee.data.blocks import BlockTable
from committee.data.intake import take_in_rows
from committee.data.opening import opens_table
from committee.engines import get_engine
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    ModelFormula,
    PositiveElse,
    RowFunction,
    TableRow,
    TreeTerm,
)
from committee.ensembles.fit_callbacks import has_fit_callbacks, should_stop
from committee.ensembles.forest.isolation_samples import IsolationSamples, plan_isolation
from committee.ensembles.member_access import MemberAccessMixin
from committee.ensembles.progress import show_progress
from committee.ensembles.tree_sequence import TreeSequence, find_views, keep_views
from committee.exceptions import DataError, ParameterError, warn_caller
from committee.learners.tree import ExtraTreeRegressor
from committee.learners.tree_estimator import TreeEstimator
from committee.learners.tree_rows import predict_trees
from committee.losses import apply_exp2
from committee.params import (
    CategoricalFeatures,
    Contamination,
    IsolationRows,
    NJobs,
    RandomState,
    RowBootstrap,
    TextColumns,
    TreeCount,
    TreeFeatures,
    Unseen,
    Verbose,
    WarmStart,
)

if TYPE_CHECKING:
    from typing import Self
    from weakref import WeakValueDictionary

    from numpy.typing import ArrayLike, NDArray

    from committee.data import Dataset, Schema
    from committee.engines import RowSampling, Trees
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.progress import ProgressCallback
    from committee.learners.tree_base import BaseTree
    from committee.typing import FloatArray, FloatMatrix, SparseMatrix

__all__ = ["IsolationForest"]

_CHUNK = 20
"""Trees between two looks whether a callback wants to stop; the trees do not depend on it."""


class IsolationForest(OutlierMixin, MemberAccessMixin, TreeEstimator):  # type: ignore[misc]
    """An isolation forest: finds anomalies as rows that few random splits separate from all others.

    Each tree splits a small sample of the rows by random features at random thresholds, until every row is alone or a
    depth of ceil(log2(max_samples)) is reached [Liu2008]. With h(x) the depth of the leaf of x in a tree, plus the
    average path length c(n) of the n rows that share the leaf, the score of x is::

        score_samples(x) = -2 ** (-mean of h(x) over the trees / c(max_samples))
        c(n) = 2 (ln(n - 1) + 0.5772...) - 2 (n - 1) / n,  c(2) = 1,  c(1) = 0

    Scores near -1 are anomalies; a table whose rows are all alike has -0.5. Thresholds are drawn between the smallest
    and the largest value in a node. A split by a category sends each category to a random side. Missing values go to a
    random side, as one category more where the feature is a category. The values are used as they are, not in bins: a
    sample is small, and to bin all rows would take longer than to grow the trees.

    Attributes
    ----------
    estimators_ : sequence of ExtraTreeRegressor
        The trees, built when they are accessed; ``predict`` of a tree is the path length h(x).
    estimators_samples_ : list of ndarray
        Rows in the sample of each tree, drawn again at each access.
    estimators_features_ : list of ndarray
        Features of each tree.
    estimator_ : ExtraTreeRegressor
        A tree with the parameters that all members have, not fitted.
    max_samples_ : int
        Rows in the sample of a tree.
    offset_ : float
        What `decision_function` subtracts from the scores: -0.5, or the score below which the share ``contamination``
        of the training rows lies.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.

    Examples
    --------
    >>> from committee import IsolationForest
    >>> X = [[-1.1], [0.3], [0.5], [0.4], [0.2], [100.0]]
    >>> forest = IsolationForest(random_state=0).fit(X)
    >>> forest.predict([[0.1], [0.0], [90.0]])
    array([ 1,  1, -1])
    """

    _task = "none"
    _combine = "mean"
    bins_columns = False

    _seed: int
    _draws: IsolationSamples
    max_samples_: int
    offset_: float

    def __init__(
        self,
        *,
        n_estimators: TreeCount = 100,
        max_samples: IsolationRows = "auto",
        contamination: Contamination = "auto",
        max_features: TreeFeatures = 1.0,
        bootstrap: RowBootstrap = False,
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        warm_start: WarmStart = False,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
    ) -> None:
        self._store_params(locals())

    # Fitting.

    @opens_table
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. Whole multiples of the smallest one count as rows that occur so often; with others, the
            chance of a row to be drawn is proportional to its weight. A row of weight zero counts as absent.

        Returns
        -------
        self
        """
        self._validate_params()
        dataset = self.take_in(X, None, sample_weight)
        samples = plan_isolation(
            type(self).__name__, dataset, self.max_samples, self.max_features, bootstrap=bool(self.bootstrap)
        )
        kept = self._keep_trees(dataset.schema, samples)
        seed = resolve_seed(self.random_state) if kept is None else self._seed
        trees = self._grow_trees(dataset, samples, seed, kept)
        fitted = {"_trees": trees, "_seed": seed, "_draws": samples, "max_samples_": samples.n_draws}
        if self.contamination == "auto":
            offset = -0.5  # the score of a table without anomalies [Liu2008]
        else:
            scores = _score_paths(trees, dataset.X, samples.n_draws, self.n_jobs)
            offset = _find_quantile(scores, float(self.contamination), samples.weights)
        self._set_fitted({**fitted, "offset_": offset}, dataset.schema)
        keep_views(self, kept, trees)
        return self

    def _grow_trees(self, dataset: Dataset, samples: IsolationSamples, seed: int, kept: Trees | None) -> Trees:
        """The trees that are kept, and those that are missing."""
        engine, X = get_engine(), dataset.X
        plan = engine.IsolationPlan()
        plan.sampling, plan.max_depth = samples.to_engine(), _limit_depth(samples.n_draws)
        chunks = [] if kept is None else [kept]
        done, last = 0 if kept is None else kept.n_trees, int(self.n_estimators)
        if isinstance(X, BlockTable):
            X = _take_sampled_rows(X, plan.sampling, seed, range(done, last))
        step = _CHUNK if has_fit_callbacks(self) else last  # a callback may stop the fit
        with show_progress("Growing trees", last, verbose=int(self.verbose), estimator=self, done=done) as on_progress:
            while done < last and not should_stop(on_progress):
                plan.first_tree, plan.n_trees = done, min(step, last - done)
                progress = None if on_progress is None else partial(_report_trees, on_progress, done)
                rest = (dataset.n_levels, plan, seed, resolve_jobs(self.n_jobs), progress)
                if isinstance(X, np.ndarray):
                    chunks.append(engine.grow_isolation_forest(X, *rest))
                else:
                    chunks.append(engine.grow_isolation_forest_csc(X.data, X.indices, X.indptr, X.shape, *rest))
                done += plan.n_trees
                if on_progress is not None:
                    on_progress(done)
        return chunks[0] if len(chunks) == 1 else engine.concatenate_trees(chunks)

    def _keep_trees(self, schema: Schema, samples: IsolationSamples) -> Trees | None:
        """The trees of the last fit, with ``warm_start``; refuses data that do not match them."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        n_trees = self._trees.n_trees
        if n_trees > self.n_estimators:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={n_trees} when "
                "warm_start==True"
            )
        pairs = zip(schema.categories, self._schema.categories, strict=False)
        same = all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
        if not same or schema.n_features != self._schema.n_features or samples.n_draws != self.max_samples_:
            raise DataError(
                f"{type(self).__name__} keeps the trees of the last fit (warm_start=True), but these data have other "
                "features or categories, or give samples of another size, than those that the trees were grown on."
            )
        if n_trees == self.n_estimators:
            warn_caller("Warm-start fitting without increasing n_estimators does not fit new trees.", UserWarning)
        return self._trees

    # Scores.

    def score_samples(self, X: Any) -> FloatArray:
        """Score of each row, the opposite of the anomaly score of the paper: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            In [-1, 0).
        """
        trees = self.fitted_trees()
        return _score_paths(trees, take_in_rows(self, X, self._schema), self.max_samples_, self.n_jobs)

    def decision_function(self, X: Any) -> FloatArray:
        """Score of each row minus ``offset_``: negative for anomalies.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Whether each row is an anomaly.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 for an anomaly, 1 otherwise.
        """
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted forest computes for a row: its score and whether it is an anomaly (-1) or not (1)."""
        trees, row = self.fitted_trees(), TableRow(self._schema.n_features) if row is None else row
        scale = get_engine().average_path_length(self.max_samples_)
        score: FormulaTerm = ConstantTerm(np.array([-0.5]))
        if scale > 0.0:
            minus = ConstantTerm(np.array([-1.0]))
            lengths = Arithmetic("*", minus, TreeTerm(row, trees, "mean"))
            power = RowFunction("exp2", Arithmetic("/", lengths, ConstantTerm(np.array([scale]))))
            score = Arithmetic("*", minus, power)
        below = Arithmetic("-", ConstantTerm(np.array([self.offset_])), score)
        value = PositiveElse(below, ConstantTerm(np.array([-1.0])), ConstantTerm(np.ones(1)))
        return ModelFormula(row, self._schema, value, decision=score)

    # Members.

    @property
    def estimator_(self) -> ExtraTreeRegressor:
        """A tree with the parameters that all members have; not fitted."""
        self.fitted_trees()
        return ExtraTreeRegressor(
            max_features=1,
            max_depth=_limit_depth(self.max_samples_),
            categorical_features=self.categorical_features,
            unseen=self.unseen,
            text_columns=self.text_columns,
            n_jobs=self.n_jobs,
        )

    @property
    def estimators_(self) -> IsolationMembers:
        """The members as fitted trees, built when they are accessed; they share the memory of the forest."""
        trees = self.fitted_trees()
        views = find_views(self, trees)
        return IsolationMembers(self.estimator_, trees, self._schema, self._draws, self._seed, views)

    @property
    def _max_samples(self) -> int:
        # Private in scikit-learn as well, and yet read by programs that compute with the samples of the trees.
        self.fitted_trees()
        return self.max_samples_

    @property
    def estimators_samples_(self) -> list[NDArray[np.int32]]:
        """Rows in the sample of each tree, ascending, as often as they occur; drawn again at each access."""
        return [self._draws.draw_rows(self._seed, tree) for tree in range(self.fitted_trees().n_trees)]

    @property
    def estimators_features_(self) -> list[NDArray[np.intp]]:
        """Features of each tree, ascending; drawn again at each access."""
        return [self._draws.draw_features(self._seed, tree) for tree in range(self.fitted_trees().n_trees)]


class IsolationMembers(TreeSequence):
    """The trees of an isolation forest; each has its own features only, without names.

    Parameters
    ----------
    estimator, trees, schema, views
        As in `TreeSequence`.
    samples : IsolationSamples
        Rows and features of each tree.
    seed : int
        The seed of the forest.
    """

    def __init__(
        self,
        estimator: BaseTree,
        trees: Trees,
        schema: Schema,
        samples: IsolationSamples,
        seed: int,
        views: WeakValueDictionary[int, BaseTree],
    ) -> None:
        super().__init__(estimator, trees, np.zeros((1, schema.n_features)), schema, {"n_outputs_": 1}, views)
        self.samples, self.seed = samples, seed

    def _view(self, member: int) -> BaseTree:
        tree, own = self.trees.select(member, member + 1), self.samples.draw_features(self.seed, member)
        if self.samples.n_drawn:
            tree = tree.renumber_features(own.astype(np.uint32))
        categories = tuple(self.schema.categories[k] for k in own)
        schema = replace(self.schema, feature_names=None, n_features=len(own), categories=categories, inputs=None)
        return self._fill(tree, np.zeros(len(own)), schema, member=member, seed=self.seed)


def _report_trees(on_progress: ProgressCallback, before: int, done: int) -> None:
    """Report the trees of a chunk together with those before it."""
    on_progress(before + done)


def _take_sampled_rows(X: BlockTable, sampling: RowSampling, seed: int, trees: range) -> csc_matrix:
    """The rows of a table in blocks that some tree draws; in place of the others, which no tree reads, nothing."""
    drawn = [get_engine().draw_isolation_rows(sampling, seed, tree, X.shape[0]) for tree in trees]
    rows = np.unique(np.concatenate(drawn)) if drawn else np.empty(0, dtype=np.int64)
    values = X.take(rows)
    places = np.arange(X.shape[1] + 1, dtype=np.int64) * len(rows)
    return csc_matrix((values.ravel(order="F"), np.tile(rows.astype(np.int64), X.shape[1]), places), shape=X.shape)


def _limit_depth(n_rows: int) -> int:
    """The depth at which a tree of so many rows would isolate each, were it balanced."""
    return ceil(log2(max(n_rows, 2)))


def _score_paths(trees: Trees, rows: FloatMatrix | SparseMatrix, n_draws: int, n_jobs: int | None) -> FloatArray:
    """Scores from the mean path length, which is what the leaves hold."""
    lengths = predict_trees(trees, rows, "mean", n_jobs)[:, 0]
    scale = get_engine().average_path_length(n_draws)
    return -apply_exp2(-lengths / scale) if scale > 0.0 else np.full(len(lengths), -0.5)


def _find_quantile(scores: FloatArray, share: float, weights: FloatArray | None) -> float:
    """The score below which a share of the rows lies; whole weights count as rows that occur so often."""
    if weights is None:
        return float(np.percentile(scores, 100.0 * share))
    if (weights == np.floor(weights)).all():
        return float(np.percentile(np.repeat(scores, weights.astype(np.intp)), 100.0 * share))
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order]) >= share * weights.sum()
    return float(scores[order][np.argmax(reached)])
