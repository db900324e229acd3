"""Forests: settings, data, then chunks of growing, voting out-of-bag and looking at the score."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse import hstack as stack_columns
from sklearn.utils import Bunch

from committee.base import resolve_seed
from committee.data.sampling import SamplePlan, plan_samples
from committee.engines import get_engine
from committee.ensembles.forest.importance import debias_importances, permute_features
from committee.ensembles.forest_growth import TreeGrowth
from committee.ensembles.out_of_bag import OutOfBag
from committee.ensembles.progress import show_progress
from committee.exceptions import DataError, ParameterError, warn_caller
from committee.learners.tree_base import BaseTree
from committee.learners.tree_estimator import TreeEstimator
from committee.learners.tree_params import TreeSettings, count_features, set_up_growth
from committee.learners.tree_view import normalize_importances

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.params import NEstimators, OobPatience, OobScore, OobTol, Verbose, WarmStart
    from committee.typing import FloatArray

__all__ = ["BaseForest"]

_CHUNK = 20
"""Members grown between two questions whether the score has settled; what is grown too much is dropped, so that the
number does not enter the result."""

_OPTIONAL = (
    "oob_score_",
    "oob_trace_",
    "oob_decision_function_",
    "oob_prediction_",
    "_calibration",
    "_leaf_record",
    "_oob_errors",
)
"""Fitted attributes that the parameters decide on: a new fit takes the old ones away."""


class BaseForest(TreeEstimator):
    """All that forests share; a subclass adds the target's side, the kind of split and the signature."""

    _splitter: ClassVar[str]
    _member: ClassVar[type[BaseTree]]

    criterion: str
    n_estimators: NEstimators
    bootstrap: Any
    max_samples: Any
    oob_score: OobScore
    oob_tol: OobTol
    oob_patience: OobPatience
    verbose: Verbose
    warm_start: WarmStart
    random_state: Any

    _seed: int
    _samples: SamplePlan
    _importances: FloatArray

    # Fitting.

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
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
        self._check_together()
        dataset = self._take_in(X, y, sample_weight, self._choose_class_weight())
        return self._grow(dataset, sample_weight, groups)

    def fit_dataset(
        self,
        dataset: Dataset,
        weights: FloatArray | None = None,
        *,
        sample_weight: FloatArray | None = None,
        groups: Any = None,
    ) -> Self:
        """Grow the forest on data that were taken in before; committees share one data set, and its bins, so.

        Parameters
        ----------
        dataset : Dataset
            From `committee.data.intake.take_in`; class weights are in its weights already (`weigh_rows`).
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.
        sample_weight : ndarray of shape (n_samples,), optional
            The same without class weights: how many rows a sample has depends on these alone.
        groups : array-like of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_together()
        dataset = dataset if weights is None else dataset.reweighted(weights)
        return self._grow(dataset, sample_weight, groups)

    def _grow(self, dataset: Dataset, sample_weight: Any, groups: Any) -> Self:
        """The algorithm: trees, each on its sample, judged by the rows that it did not see."""
        growth = self._start(dataset, sample_weight, groups)
        votes = self._open_votes(dataset)
        last = int(self.n_estimators)
        with show_progress("Growing trees", last, verbose=int(self.verbose)) as on_progress:
            if votes is not None and growth.n_trees:
                growth.vote(votes, last)
            while growth.n_trees < last and not (votes is not None and votes.settled):
                growth.grow_to(last if self.oob_patience is None else min(growth.n_trees + _CHUNK, last), on_progress)
                if votes is not None:
                    growth.vote(votes, last)
        self._finalize(growth, votes)
        return self

    def _check_together(self) -> None:
        """Parameters that are fine alone and contradict each other."""
        name = type(self).__name__
        if not self.bootstrap and self.max_samples is not None:
            raise ParameterError(
                f"`max_samples` cannot be set if `bootstrap=False`, since {name} then draws nothing. Either switch to "
                "`bootstrap=True` or set `max_samples=None`."
            )
        if not self.bootstrap and self.oob_score:
            raise ParameterError("Out of bag estimation only available if bootstrap=True")
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

    def _start(self, dataset: Dataset, sample_weight: Any, groups: Any) -> TreeGrowth:
        """Set the forest up, with the trees of the last fit if they are to be kept."""
        kept = self.warm_start and self.__sklearn_is_fitted__()
        seed = self._seed if kept else resolve_seed(self.random_state)
        samples = plan_samples(
            type(self).__name__,
            dataset,
            bootstrap=self.bootstrap if isinstance(self.bootstrap, str) else bool(self.bootstrap),
            max_samples=self.max_samples,
            sample_weight=sample_weight,
            groups=groups,
        )
        settings = TreeSettings.of(self, splitter=self._splitter)
        params = set_up_growth(settings, dataset, dataset.weights, seed)
        weights = None if samples.uses_weights else dataset.weights
        if settings.min_weight_fraction_leaf > 0.0 and weights is None:
            params.min_weight_leaf = float(settings.min_weight_fraction_leaf) * samples.total_draws
        engine = get_engine()
        plan = engine.ForestPlan()
        plan.sampling = samples.fill(engine.RowSampling())
        plan.balance_classes = bool(self.bootstrap) and getattr(self, "class_weight", None) == "balanced_subsample"
        growth = TreeGrowth(self._put_to, dataset, weights, params, plan, samples)
        if kept:
            self._keep_trees(growth)
        return growth

    def _keep_trees(self, growth: TreeGrowth) -> None:
        trees, schema, named = self._trees, growth.dataset.schema, self._target_attributes(growth.dataset.target)
        if trees.n_trees > self.n_estimators:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={trees.n_trees} when "
                "warm_start==True"
            )
        same_target = all(_are_equal(value, self.__dict__.get(name)) for name, value in named.items())
        same_table = all(_are_equal(a, b) for a, b in zip(schema.categories, self._schema.categories, strict=False))
        if not same_target or not same_table or schema.n_features != self._schema.n_features:
            raise DataError(
                f"{type(self).__name__} was told to keep its trees (warm_start=True), but these data have other "
                "features, categories or classes than those that the trees were grown on."
            )
        if trees.n_trees == self.n_estimators:
            warn_caller("Warm-start fitting without increasing n_estimators does not fit new trees.", UserWarning)
        growth.parts.append(trees)
        growth.importances.append(self._importances)

    def _wants_votes(self) -> bool:
        """Whether rows are to be judged by the trees that did not see them."""
        return bool(self.oob_score)

    def _derive(self, growth: TreeGrowth, trees: Any, votes: OutOfBag | None) -> dict[str, Any]:
        """Fitted attributes that only this kind of forest has."""
        return {}

    def _open_votes(self, dataset: Dataset) -> OutOfBag | None:
        if not self._wants_votes():
            return None
        assert dataset.target is not None
        return OutOfBag(
            dataset.target,
            self.oob_score or True,
            counted=None if dataset.weights is None else dataset.weights > 0.0,
            tol=float(self.oob_tol),
            patience=self.oob_patience,
        )

    def _finalize(self, growth: TreeGrowth, votes: OutOfBag | None) -> None:
        trees = growth.parts[0] if len(growth.parts) == 1 else get_engine().concatenate_trees(growth.parts)
        told = {**({} if votes is None else votes.finalize()), **self._derive(growth, trees, votes)}
        fitted = {
            **self._target_attributes(growth.dataset.target),
            "_trees": trees,
            "_importances": np.concatenate(growth.importances),
            "_seed": growth.params.seed,
            "_samples": growth.samples,
        }
        for name in _OPTIONAL:
            self.__dict__.pop(name, None)
        self._set_fitted({**fitted, **told}, growth.dataset.schema)

    # Asking the fitted forest.

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Leaf that each row ends in, in every tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to look up.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators)
            Numbers of nodes, as in the ``tree_`` of each member.
        """
        return self._ask(X, self._fitted_trees().apply).astype(np.intp)

    def decision_path(self, X: Any) -> tuple[csr_matrix, NDArray[np.intp]]:
        """Nodes that each row passes, in every tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to look up.

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

    # Looking inside.

    @property
    def estimator_(self) -> BaseTree:
        """A tree with the parameters that all members have; not fitted."""
        self._fitted_trees()
        known = inspect.signature(type(self)).parameters
        names = inspect.signature(self._member).parameters
        shared = {name: getattr(self, name) for name in names if name in known and name != "class_weight"}
        return self._member(**shared)

    @property
    def estimators_(self) -> ForestMembers:
        """The members as fitted trees, made when they are looked at; they share the memory of the forest."""
        self._fitted_trees()
        return ForestMembers(self)

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """Rows in the sample of each member, ascending, as often as they occur; drawn again at each look."""
        n_trees = self._fitted_trees().n_trees
        return [np.repeat(np.arange(self._samples.n_rows), self.draw_sample(t)) for t in range(n_trees)]

    def draw_sample(self, member: int) -> NDArray[np.uint32]:
        """How often each training row is in the sample of a member.

        Parameters
        ----------
        member : int
            Number of the member.

        Returns
        -------
        ndarray of shape (n_training_rows,)
        """
        self._fitted_trees()
        engine = get_engine()
        return engine.draw_rows(self._samples.fill(engine.RowSampling()), self._seed, int(member), self._samples.n_rows)

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the decrease of impurity: the mean over the trees that have a split."""
        self._fitted_trees()
        totals = self._importances.sum(axis=1, keepdims=True)
        shares = np.divide(self._importances, totals, out=np.zeros_like(self._importances), where=totals > 0.0)
        return normalize_importances(shares.sum(axis=0))

    def oob_permutation_importance(self, X: Any, y: Any, sample_weight: Any = None, n_repeats: int = 5) -> Bunch:
        """How much worse each tree predicts rows that it did not see when a feature is shuffled among them.

        The loss is the share of wrong classes, or the squared error; the mean is over the trees [Breiman2001].

        Parameters
        ----------
        X, y, sample_weight
            As they were passed to `fit`: which rows a tree did not see is known by their place.
        n_repeats : int, default=5
            How often a feature is shuffled in each tree.

        Returns
        -------
        Bunch
            ``importances`` of shape (n_features, n_repeats), ``importances_mean`` and ``importances_std``, as
            scikit-learn's ``permutation_importance`` has them.
        """
        self._fitted_trees()
        return permute_features(self, X, y, sample_weight, n_repeats)

    def oob_impurity_importance(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray:
        """Decrease of impurity by each feature, measured on rows that the trees did not see (MDI-oob) [Li2019].

        ``feature_importances_`` favours features of many values, since they fit noise; here noise gains nothing. The
        numbers are not normalised and may be a little negative for features without any use.

        Parameters
        ----------
        X, y, sample_weight
            As they were passed to `fit`: which rows a tree did not see is known by their place.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        self._fitted_trees()
        return debias_importances(self, X, y, sample_weight)

    def category_names(self, feature: int) -> list[Any]:
        """Categories of a feature in the order of their codes; empty for a numeric feature."""
        self._fitted_trees()
        levels = self._schema.categories[feature]
        return [] if levels is None else list(levels)

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
        tree = self._fitted_trees().select(member, member + 1)
        names = ("classes_", "n_classes_", "n_outputs_")
        settled = {name: self.__dict__[name] for name in names if name in self.__dict__}
        settled["max_features_"] = count_features(getattr(self, "max_features", None), self.n_features_in_)
        return self.estimator_.hold_tree(tree, self._importances[member], self._schema, settled)


class ForestMembers(Sequence[BaseTree]):
    """The trees of a forest, each made a tree of its own when it is looked at."""

    def __init__(self, forest: BaseForest) -> None:
        self._forest = forest
        self._n_trees = int(forest._trees.n_trees)

    def __len__(self) -> int:
        return self._n_trees

    @overload
    def __getitem__(self, index: int) -> BaseTree: ...
    @overload
    def __getitem__(self, index: slice) -> list[BaseTree]: ...
    def __getitem__(self, index: int | slice) -> BaseTree | list[BaseTree]:
        numbers = range(self._n_trees)[index]
        if isinstance(numbers, range):
            return [self._forest.view_member(number) for number in numbers]
        return self._forest.view_member(numbers)

    def __repr__(self) -> str:
        return f"<{self._n_trees} trees of {type(self._forest).__name__}>"


def _are_equal(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(_are_equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else bool(a is b or a == b)
