"""Base of the forests: parameters, samples, and the loop that grows trees and scores them out of bag."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse import hstack as stack_columns

from committee.base import resolve_seed
from committee.data.intake import take_in_rows
from committee.data.opening import opens_table
from committee.data.sampling import SamplePlan, plan_samples
from committee.data.weights import weigh_scores
from committee.engines import get_engine
from committee.ensembles.fit_callbacks import FitInput
from committee.ensembles.forest.leaf_refit import ForestLeafRefit
from committee.ensembles.forest_builder import ForestBuilder
from committee.ensembles.member_access import MemberAccessMixin
from committee.ensembles.member_chunks import plan_chunks
from committee.ensembles.out_of_bag import OutOfBag
from committee.ensembles.progress import show_progress
from committee.ensembles.tree_sequence import TreeSequence, find_views, keep_views
from committee.exceptions import DataError, ParameterError, warn_caller
from committee.learners.training_arrays import target_attributes
from committee.learners.tree_estimator import TreeEstimator, add_columns
from committee.learners.tree_importances import MemberImportances, read_importances, sum_shares
from committee.learners.tree_params import TreeSettings, make_grow_params
from committee.learners.tree_rows import find_leaves, predict_trees
from committee.learners.tree_view import normalize_importances

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self
    from weakref import WeakValueDictionary

    from numpy.typing import ArrayLike, NDArray

    from committee.data import Dataset, Schema
    from committee.engines import Trees
    from committee.ensembles.progress import ProgressCallback
    from committee.learners.tree_base import BaseTree
    from committee.params import (
        ForestEngine,
        MaxSamples,
        NEstimators,
        OobPatience,
        OobScore,
        OobTol,
        RandomState,
        Splitter,
        Verbose,
        WarmStart,
    )
    from committee.typing import FloatArray, IndexArray

__all__ = ["BaseForest"]

_OPTIONAL = (
    "oob_score_",
    "oob_trace_",
    "oob_decision_function_",
    "oob_prediction_",
    "_calibration",
    "_leaf_record",
    "_oob_errors",
    "_oob_halves",
    "_oob_labels",
)
"""Fitted attributes that exist for some parameters only: a new fit removes those of the last one."""


class BaseForest(ForestLeafRefit, MemberAccessMixin, TreeEstimator):
    """All that forests share; a subclass adds the kind of target, the kind of split and the constructor."""

    _splitter: ClassVar[Splitter]
    _member: ClassVar[type[BaseTree]]
    _builder: ClassVar[type[ForestBuilder]] = ForestBuilder
    _fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({})  # settings of a tree that are no parameters

    criterion: str
    n_estimators: NEstimators
    bootstrap: bool | str
    max_samples: MaxSamples
    oob_score: OobScore
    oob_tol: OobTol
    oob_patience: OobPatience
    verbose: Verbose
    warm_start: WarmStart
    random_state: RandomState
    engine: ForestEngine = "cpu"

    _seed: int
    _samples: SamplePlan
    _importances: MemberImportances

    # Fitting.

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values to learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent. With ``bootstrap``, the chance of a row to be
            drawn is proportional to it.
        groups : array-like of shape (n_samples,), optional
            Group of each row, for ``bootstrap="group"``: a group is in a member's sample or out of it as a whole.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_combinations()
        dataset = self.take_in(X, y, sample_weight, self._choose_class_weight())
        if self._has_all_trees():
            return self
        builder = self._make_builder(dataset, sample_weight, groups)
        with self._open_growth(builder, sample_weight, FitInput(X, y, sample_weight)) as (chunks, on_progress):
            for n_trees in chunks:
                builder.grow_to(n_trees, on_progress)
        return self

    def fit_dataset(
        self,
        dataset: Dataset,
        weights: FloatArray | None = None,
        *,
        sample_weight: FloatArray | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the forest on a data set that was read before; ensembles of forests share its bins.

        Parameters
        ----------
        dataset : Dataset
            From `take_in`; class weights are part of its weights already (`weigh_rows`).
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.
        sample_weight : ndarray of shape (n_samples,), optional
            The same without class weights: the size of a sample depends on these alone.
        groups : array-like of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_combinations()
        dataset = dataset if weights is None else dataset.reweighted(weights)
        if self._has_all_trees():
            return self
        builder = self._make_builder(dataset, sample_weight, groups)
        with self._open_growth(builder, sample_weight) as (chunks, on_progress):
            for n_trees in chunks:
                builder.grow_to(n_trees, on_progress)
        return self

    @contextmanager
    def _open_growth(
        self, builder: ForestBuilder, sample_weight: ArrayLike | None, given: FitInput | None = None
    ) -> Iterator[tuple[Iterator[int], ProgressCallback | None]]:
        """Numbers of trees to grow to, and whom to tell; at the end, the fitted attributes are replaced."""
        schema, last, n_kept = builder.dataset.schema, int(self.n_estimators), len(builder)
        votes = self._open_votes(builder.dataset, sample_weight)

        def list_partial(n_trees: int) -> dict[str, Any]:
            stale = dict.fromkeys(name for name in _OPTIONAL if name in self.__dict__)
            return {**stale, **add_columns(self._list_fitted(builder.truncate(n_trees), None), schema)}

        with show_progress(
            "Growing trees",
            last,
            verbose=int(self.verbose),
            estimator=self,
            done=n_kept,
            given=given,
            partial_fit=None if given is None else list_partial,
        ) as on_progress:
            yield plan_chunks(self, builder, votes, last, on_progress), on_progress
            kept = self.__dict__.get("_trees") if n_kept else None
            self._set_fitted(self._list_fitted(builder, votes), schema, _OPTIONAL)
            keep_views(self, kept, self._trees)

    def _check_combinations(self) -> None:
        """Refuse parameters that are valid alone and contradict each other."""
        name = type(self).__name__
        if not self.bootstrap and self.max_samples is not None:
            raise ParameterError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set "
                f"`max_sample=None`. (Without bootstrap {name} draws no sample, so that 'max_samples' would not count.)"
            )
        if not self.bootstrap and self.oob_score:
            raise ParameterError("Out of bag estimation only available if bootstrap=True.")
        if self.oob_patience is not None and not self.oob_score:
            raise ParameterError(f"The 'oob_patience' parameter of {name} needs an out-of-bag score: set 'oob_score'.")

    def _choose_class_weight(self) -> Any:
        class_weight = super()._choose_class_weight()
        if isinstance(class_weight, str):
            if self.warm_start:
                warn_caller(
                    f"class_weight presets such as {class_weight!r} are not recommended for warm_start if the fitted "
                    "data differs from the full dataset; pass the weights of the classes instead.",
                    UserWarning,
                )
            if class_weight == "balanced_subsample":
                return None if self.bootstrap else "balanced"
        return class_weight

    def _make_builder(
        self, dataset: Dataset, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> ForestBuilder:
        """Parameters and samples in the engine's form; with ``warm_start``, the trees of the last fit."""
        keeps_trees = self.warm_start and self.__sklearn_is_fitted__()
        seed = self._seed if keeps_trees else resolve_seed(self.random_state)
        samples = plan_samples(
            type(self).__name__,
            dataset,
            bootstrap=self.bootstrap if isinstance(self.bootstrap, str) else bool(self.bootstrap),
            max_samples=self.max_samples,
            sample_weight=sample_weight,
            groups=groups,
        )
        settings = TreeSettings.of(self, splitter=self._splitter, **self._fixed)
        params = make_grow_params(settings, dataset, dataset.weights, seed)
        weights = None if samples.uses_weights else dataset.weights
        if weights is None:
            params.row_weight = 0.0  # what is drawn is a row
        if settings.min_weight_fraction_leaf > 0.0 and weights is None:
            params.min_weight_leaf = float(settings.min_weight_fraction_leaf) * samples.total_draws
        engine = get_engine()
        plan = engine.ForestPlan()
        plan.sampling = samples.fill(engine.RowSampling())
        plan.balance_classes = bool(self.bootstrap) and getattr(self, "class_weight", None) == "balanced_subsample"
        builder = self._builder(dataset, self.max_bins, weights, params, plan, samples, engine=self.engine)
        if keeps_trees:
            self._check_kept_trees(dataset)
            builder.keep(self._trees, self._importances)
        return builder

    def _has_all_trees(self) -> bool:
        """Whether a warm start has nothing to do: there are as many trees as asked for, and what is known of them."""
        if not self.warm_start or not self.__sklearn_is_fitted__() or self._trees.n_trees != self.n_estimators:
            return False
        warn_caller(
            "Warm-start fitting without increasing n_estimators does not fit new trees. Those of the last fit stay.",
            UserWarning,
        )
        return all(name in self.__dict__ for name in self._list_wanted())

    def _list_wanted(self) -> list[str]:
        """Fitted attributes that the parameters ask for, out of those that exist for some parameters only."""
        return ["oob_score_"] if self._needs_votes() else []

    def _check_kept_trees(self, dataset: Dataset) -> None:
        """Refuse a warm start with fewer trees than there are, or on data that do not match them."""
        n_trees, schema, named = self._trees.n_trees, dataset.schema, target_attributes(dataset.target)
        if n_trees > self.n_estimators:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={n_trees} when "
                "warm_start==True"
            )
        same_target = all(_have_equal_values(value, self.__dict__.get(name)) for name, value in named.items())
        pairs = zip(schema.categories, self._schema.categories, strict=False)
        same_table = schema.inputs == self._schema.inputs and all(_have_equal_values(a, b) for a, b in pairs)
        if not same_target or not same_table or schema.n_features != self._schema.n_features:
            raise DataError(
                f"{type(self).__name__} keeps the trees of the last fit (warm_start=True), but these data have "
                "other features, categories or classes than those that the trees were grown on."
            )

    def _needs_votes(self) -> bool:
        """Whether out-of-bag predictions are needed."""
        return bool(self.oob_score)

    def _open_votes(self, dataset: Dataset, sample_weight: ArrayLike | None) -> OutOfBag | None:
        if not self._needs_votes():
            return None
        assert dataset.target is not None
        return OutOfBag(
            dataset.target,
            self.oob_score or True,
            weights=weigh_scores(sample_weight, dataset.weights),
            tol=float(self.oob_tol),
            patience=self.oob_patience,
        )

    def _extra_attributes(self, builder: ForestBuilder, trees: Trees, votes: OutOfBag | None) -> dict[str, Any]:
        """Fitted attributes that only this kind of forest has."""
        return {}

    def _list_fitted(self, builder: ForestBuilder, votes: OutOfBag | None) -> dict[str, Any]:
        """Fitted attributes by name, without those about the columns."""
        trees, importances = builder.join_trees()
        return {
            **target_attributes(builder.dataset.target),
            "_trees": trees,
            "_importances": importances,
            "_seed": builder.params.seed,
            "_samples": builder.samples,
            **({} if votes is None else votes.fitted_attributes()),
            **self._extra_attributes(builder, trees, votes),
        }

    # Leaves.

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Leaf that each row ends in, in every tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to find the leaves of.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators)
            Numbers of nodes, as in the ``tree_`` of each member.
        """
        trees = self.fitted_trees()
        return find_leaves(trees, take_in_rows(self, X, self._schema), self.n_jobs)

    def decision_path(self, X: Any) -> tuple[csr_matrix, NDArray[np.intp]]:
        """Nodes that each row passes, in every tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to find the leaves of.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            One where the row passes the node; the trees stand side by side.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Columns ``n_nodes_ptr[i]`` to ``n_nodes_ptr[i + 1]`` belong to tree i.
        """
        leaves = self.apply(X)
        paths = [member.tree_.trace_leaves(leaves[:, t]) for t, member in enumerate(self.estimators_)]
        return stack_columns(paths, format="csr"), np.asarray(self._trees.node_offsets, dtype=np.intp)

    # Members.

    def predict_members(self, X: Any) -> list[FloatArray]:
        """Predictions of each tree: class probabilities of all outputs side by side, or values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        list of ndarray of shape (n_samples, width)
        """
        trees = self.fitted_trees()
        rows = take_in_rows(self, X, self._schema)
        return [predict_trees(trees, rows, "mean", 1, span=range(t, t + 1)) for t in range(trees.n_trees)]

    @property
    def estimator(self) -> BaseTree:
        """A tree with the parameters that all members have; not fitted."""
        known = inspect.signature(type(self)).parameters
        names = inspect.signature(self._member).parameters
        shared = {name: getattr(self, name) for name in names if name in known and name != "class_weight"}
        return self._member(**{**shared, **self._fixed})

    @property
    def estimator_(self) -> BaseTree:
        """The same as `estimator`, of a fitted forest."""
        self.fitted_trees()
        return self.estimator

    @property
    def estimators_(self) -> ForestMembers:
        """The members as fitted trees, built when they are accessed; they share the memory of the forest."""
        trees = self.fitted_trees()
        names = ("classes_", "n_classes_", "n_outputs_")
        named = {name: self.__dict__[name] for name in names if name in self.__dict__}
        views = find_views(self, trees)
        return ForestMembers(self.estimator, trees, self._importances, self._schema, named, self._seed, views)

    @property
    def estimators_samples_(self) -> list[NDArray[np.int32]]:
        """Rows in the sample of each member, ascending, as often as they occur; drawn again at each access."""
        n_trees = self.fitted_trees().n_trees
        rows = np.arange(self._samples.n_rows, dtype=np.int32)
        return [np.repeat(rows, self.draw_sample(t)) for t in range(n_trees)]

    @property
    def _n_samples_bootstrap(self) -> int | None:
        # Private in scikit-learn as well, and yet read by programs that compute with the samples of the trees.
        self.fitted_trees()
        return self._samples.total_draws if self.bootstrap else None

    def draw_sample(self, member: int) -> IndexArray:
        """How often each training row is in the sample of a member.

        Parameters
        ----------
        member : int
            Number of the member.

        Returns
        -------
        ndarray of shape (n_training_rows,)
        """
        self.fitted_trees()
        engine = get_engine()
        return engine.draw_rows(self._samples.fill(engine.RowSampling()), self._seed, int(member), self._samples.n_rows)

    def view_member(self, member: int) -> BaseTree:
        """One member as a fitted tree that shares the memory of the forest.

        Parameters
        ----------
        member : int
            Its number.

        Returns
        -------
        DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier or ExtraTreeRegressor
        """
        return self.estimators_[member]

    @property
    def feature_importances_(self) -> FloatArray:
        """Decrease of impurity by each feature, normalised to sum 1: the mean over the trees that have a split."""
        self.fitted_trees()
        return normalize_importances(self._schema.sum_features(sum_shares(self._importances), axis=0))


class ForestMembers(TreeSequence):
    """The trees of a forest. The ``random_state`` of each grows it again, alone, on its sample.

    Parameters
    ----------
    estimator, trees, importances, schema, named, views
        As in `TreeSequence`.
    seed : int
        The seed of the forest.
    """

    def __init__(
        self,
        estimator: BaseTree,
        trees: Trees,
        importances: MemberImportances,
        schema: Schema,
        named: dict[str, object],
        seed: int,
        views: WeakValueDictionary[int, BaseTree] | None = None,
    ) -> None:
        super().__init__(estimator, trees, importances, schema, named, views)
        self.seed = seed

    def _view(self, member: int) -> BaseTree:
        tree = self.trees.select(member, member + 1)
        filled = self._fill(tree, read_importances(self.importances, member), self.schema, member=member)
        return filled.set_params(random_state=get_engine().find_tree_seed(self.seed, member))


def _have_equal_values(a: object, b: object) -> bool:
    """Whether two fitted attributes or categories are equal: arrays, lists of arrays, or plain values."""
    if isinstance(a, list) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_have_equal_values(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    return a is b or bool(a == b)
