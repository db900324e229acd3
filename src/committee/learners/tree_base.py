"""What all trees share: from parameters and data to the engine, the fitted state, ways of looking inside."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED

from committee.base import CommitteeEstimator, resolve_jobs, resolve_seed
from committee.data.intake import take_in, take_in_rows
from committee.engines import get_engine
from committee.learners.growth import TreeSettings, count_features, set_up_growth
from committee.learners.tree_view import TreeView, normalize_importances
from committee.params import CategoricalFeatures, Exact, MaxBins, NJobs, Unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix
    from sklearn.utils import Tags

    from committee.data import ClassTarget, Dataset, Schema, ValueTarget
    from committee.typing import FloatArray, Task

_DENSE_BLOCK = 1 << 22
"""Values of a sparse table that are made dense at a time in prediction (32 MB)."""


class BaseTree(CommitteeEstimator):
    """All that trees share: parameters to the engine, fitted state, ways of looking inside.

    A subclass says what it predicts (`_task`), how the engine's numbers become an answer, and which settings of a
    tree it fixes (`_fixed`) rather than taking them as parameters.
    """

    _task: ClassVar[Task]
    _combine: ClassVar[Literal["mean", "sum"]]
    _fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    # Kept for programs that pass it; no pipeline has to route it.
    __metadata_request__fit: ClassVar = {"check_input": UNUSED}
    __metadata_request__predict: ClassVar = {"check_input": UNUSED}
    __metadata_request__predict_proba: ClassVar = {"check_input": UNUSED}

    # What every tree's signature has; `TreeSettings` says what it may have besides.
    criterion: str
    exact: Exact
    max_bins: MaxBins
    categorical_features: CategoricalFeatures
    unseen: Unseen
    n_jobs: NJobs

    _trees: Any
    _schema: Schema
    _importances: FloatArray
    tree_: TreeView
    n_outputs_: int
    n_features_in_: int

    def _keep_params(self, given: dict[str, Any]) -> None:
        """Set each constructor argument as the attribute of its name."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    # Fitting.

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values to learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.
        check_input : bool, default=True
            Accepted as scikit-learn's trees do; the input is checked in any case, which costs next to nothing.

        Returns
        -------
        self
        """
        return self.fit_dataset(self._take_in(X, y, sample_weight))

    def fit_dataset(
        self, dataset: Dataset, weights: FloatArray | None = None, *, seed: int | None = None, tree: int = 0
    ) -> Self:
        """Grow the tree on data that were taken in before; ensembles share one data set, and its bins, so.

        Parameters
        ----------
        dataset : Dataset
            From `committee.data.intake.take_in`; class weights are in its weights already.
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.
        seed : int, optional
            Seed in place of `random_state`.
        tree : int, default=0
            Number of the tree in its ensemble: one seed gives every number randomness of its own.

        Returns
        -------
        self
        """
        weights = dataset.weights if weights is None else weights
        settings = TreeSettings.of(self, **self._fixed)
        seed = resolve_seed(settings.random_state) if seed is None else seed
        params = set_up_growth(settings, dataset, weights, seed, tree)
        trees, importances = self._put_to(get_engine().grow_tree, dataset, weights, params)
        schema = dataset.schema
        fitted = {
            **self._name_target(dataset.target),
            "n_features_in_": schema.n_features,
            "max_features_": count_features(settings.max_features, schema.n_features),
            "tree_": TreeView(trees, params.criterion),
            "_trees": trees,
            "_schema": schema,
            "_importances": importances,
        }
        # Only now is the old state given up, so that a fit that fails or is interrupted leaves it whole.
        if schema.feature_names is None:
            self.__dict__.pop("feature_names_in_", None)
        else:
            fitted["feature_names_in_"] = np.asarray(schema.feature_names, dtype=object)
        self.__dict__.update(fitted)
        return self

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Find the values of `ccp_alpha` at which the pruned tree changes [Breiman1984, ch. 3].

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        Bunch
            ``ccp_alphas``, ascending, and ``impurities``, the total impurity of the leaves at each.
        """
        dataset = self._take_in(X, y, sample_weight)
        settings = TreeSettings.of(self, **self._fixed)
        params = set_up_growth(settings, dataset, dataset.weights, resolve_seed(settings.random_state))
        params.ccp_alpha = 0.0
        alphas, impurities = self._put_to(get_engine().find_pruning_path, dataset, dataset.weights, params)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def _take_in(self, X: Any, y: Any, sample_weight: Any) -> Dataset:
        self._validate_params()
        return take_in(
            self,
            X,
            y,
            sample_weight,
            task=self._task,
            class_weight=getattr(self, "class_weight", None),
            categorical_features=self.categorical_features,
            unseen=self.unseen,
        )

    def _put_to(self, verb: Callable[..., Any], dataset: Dataset, weights: FloatArray | None, params: Any) -> Any:
        """Call a verb of the engine with the data in the engine's form."""
        bins = dataset.binned(self.max_bins, params.n_jobs)
        presort = dataset.presorted(params.n_jobs) if params.exact else None
        labels, n_classes, values = self._present_target(dataset.target)
        return verb(bins, presort, labels, n_classes, values, weights, params)

    def _name_target(self, target: Any) -> dict[str, Any]:
        """Fitted attributes that only this kind of target has."""
        raise NotImplementedError

    def _present_target(self, target: Any) -> tuple[Any, list[int], Any]:
        """Labels, numbers of classes and values, as the engine takes them."""
        raise NotImplementedError

    # Asking the fitted tree.

    def __sklearn_is_fitted__(self) -> bool:
        return "_trees" in self.__dict__

    def _fitted_trees(self) -> Any:
        trees = self.__dict__.get("_trees")
        if trees is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )
        return trees

    def _ask(self, X: Any, question: Callable[..., NDArray[Any]], *options: Any) -> NDArray[Any]:
        """Put a question to the engine about each row; sparse rows are made dense a block at a time."""
        rows = take_in_rows(self, X, self._schema)
        # A row is never worth a second thread, nor the question how many there may be, which costs more than it.
        jobs = 1 if rows.shape[0] == 1 else resolve_jobs(self.n_jobs)
        if type(rows) is np.ndarray:
            return question(rows, *options, n_jobs=jobs)
        step = max(1, _DENSE_BLOCK // rows.shape[1])
        starts = range(0, rows.shape[0], step)
        return np.concatenate([question(rows[k : k + step].toarray(), *options, n_jobs=jobs) for k in starts])

    def _raw_predict(self, X: Any) -> FloatArray:
        """Class shares side by side, or the value of each output, of the leaf of each row."""
        return self._ask(X, self._fitted_trees().predict, self._combine)

    def apply(self, X: Any, check_input: bool = True) -> NDArray[np.intp]:
        """Leaf that each row ends in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to look up.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers of nodes, as in `tree_`.
        """
        leaves = self._ask(X, self._fitted_trees().apply)
        return leaves[:, 0].astype(np.intp)

    def decision_path(self, X: Any, check_input: bool = True) -> csr_matrix:
        """Nodes that each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to look up.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            One where the row passes the node.
        """
        leaves = self.apply(X)
        return self.tree_.trace_leaves(leaves)

    def get_depth(self) -> int:
        """Depth of the tree; a root alone has depth 0.

        Returns
        -------
        int
        """
        self._fitted_trees()
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves.

        Returns
        -------
        int
        """
        self._fitted_trees()
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the decrease of impurity over all splits."""
        self._fitted_trees()
        return normalize_importances(self._importances)

    def category_names(self, feature: int) -> list[Any]:
        """Categories of a feature in the order of their codes; empty for a numeric feature."""
        self._fitted_trees()
        levels = self._schema.categories[feature]
        return [] if levels is None else list(levels)


class ClassTree(ClassifierMixin, MultiOutputMixin, BaseTree):  # type: ignore[misc]
    """A tree whose leaves hold class weights."""

    _task = "classify"
    _combine = "mean"

    classes_: Any
    n_classes_: Any

    def _name_target(self, target: ClassTarget) -> dict[str, Any]:
        if target.n_outputs == 1:
            return {"classes_": target.classes[0], "n_classes_": target.n_classes[0], "n_outputs_": 1}
        n_classes = np.array(target.n_classes, dtype=np.intp)
        return {"classes_": target.classes, "n_classes_": n_classes, "n_outputs_": target.n_outputs}

    def _present_target(self, target: ClassTarget) -> tuple[Any, list[int], Any]:
        return target.labels, target.n_classes, None

    def _split_outputs(self, shares: FloatArray) -> list[FloatArray]:
        return np.split(shares, np.cumsum(self.n_classes_)[:-1], axis=1)

    def predict(self, X: Any, check_input: bool = True) -> NDArray[Any]:
        """Class of each row: the heaviest one in its leaf, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        shares = self._raw_predict(X)
        if self.n_outputs_ == 1:
            return self.classes_.take(shares.argmax(axis=1))  # type: ignore[no-any-return]
        outputs = zip(self.classes_, self._split_outputs(shares), strict=True)
        return np.stack([classes.take(part.argmax(axis=1)) for classes, part in outputs], axis=1)

    def predict_proba(self, X: Any, check_input: bool = True) -> FloatArray | list[FloatArray]:
        """Share of each class in the leaf of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each of several outputs
            Columns in the order of ``classes_``.
        """
        shares = self._raw_predict(X)
        return shares if self.n_outputs_ == 1 else self._split_outputs(shares)

    def predict_log_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Logarithm of the share of each class; minus infinity where a class is absent.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        As `predict_proba`.
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in shares] if isinstance(shares, list) else np.log(shares)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class ValueTree(RegressorMixin, MultiOutputMixin, BaseTree):  # type: ignore[misc]
    """A tree whose leaves hold numbers."""

    _task = "regress"
    _combine = "sum"

    def _name_target(self, target: ValueTarget) -> dict[str, Any]:
        return {"n_outputs_": target.n_outputs}

    def _present_target(self, target: ValueTarget) -> tuple[Any, list[int], Any]:
        return None, [], target.values

    def predict(self, X: Any, check_input: bool = True) -> FloatArray:
        """Value of each row: that of its leaf.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = self._raw_predict(X)
        return values[:, 0] if self.n_outputs_ == 1 else values
