"""Random survival forests [Ishwaran2008]: log-rank splits, curves from the events in the leaves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee.constraints import show_value
from committee.data.intake import take_in_rows
from committee.data.survival_targets import encode_survival
from committee.data.weights import weigh_scores
from committee.engines import get_engine
from committee.engines.tree_model import replace_leaf_values
from committee.ensembles.forest.base import BaseForest
from committee.ensembles.forest.survival_leaves import (
    LeafHazards,
    TimedRows,
    choose_split_times,
    join_hazards,
    number_leaves,
    record_hazards,
)
from committee.ensembles.forest_builder import ForestBuilder
from committee.ensembles.leaf_values import read_refit_weights
from committee.ensembles.out_of_bag import OutOfBag, takes_sample_weight
from committee.ensembles.survival_times import (
    SurvivalMixin,
    count_events,
    find_event_times,
    read_curve_times,
    require_survival,
)
from committee.exceptions import DataError, ParameterTypeError
from committee.learners.tree import DecisionTreeRegressor
from committee.learners.tree_rows import predict_trees
from committee.params import (
    CategoricalFeatures,
    InteractionCst,
    MaxBins,
    MaxDepth,
    MaxFeatures,
    MaxLeafNodes,
    MaxSamples,
    MinSamplesLeaf,
    MinSamplesSplit,
    MinWeightFractionLeaf,
    NEstimators,
    NJobs,
    OobPatience,
    OobTol,
    RandomState,
    SurvivalOobScore,
    TextColumns,
    Unseen,
    ValueBootstrap,
    Verbose,
    WarmStart,
)
from committee.scoring.survival import concordance_index
from committee.value_checks import accepts_arguments, is_real

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.data import Dataset
    from committee.engines import Trees
    from committee.learners.tree_base import BaseTree
    from committee.typing import FloatArray

__all__ = ["RandomSurvivalForest"]


@dataclass
class SurvivalForestBuilder(ForestBuilder):
    """A forest under construction whose leaves hold the mortality and the hazards of their rows.

    Attributes
    ----------
    hazards : list of LeafHazards
        Of the trees so far.
    """

    hazards: list[LeafHazards] = field(default_factory=list)

    def _fill_leaves(self, trees: Trees, first: int) -> Trees:
        target = require_survival(self.dataset)
        event_times, _ = count_events(self.dataset, "A survival forest")
        rows = TimedRows.of(target.event, target.time, event_times)
        draw, sampling, n_rows = get_engine().draw_rows, self.plan.sampling, self.samples.n_rows
        samples = (draw(sampling, self.params.seed, first + k, n_rows) for k in range(trees.n_trees))
        jobs = self.params.n_jobs or None
        hazards, mortality, weights = record_hazards(trees, self.dataset.X, rows, samples, self.weights, jobs)
        self.hazards.append(hazards)
        return trees.with_leaf_values(mortality[:, None], weights)

    def join_hazards(self) -> LeafHazards:
        """Those of all trees."""
        n_leaves = sum(int(chunk.leaf_offsets[-1]) for chunk in self.chunks)
        return join_hazards(self.hazards).select(n_leaves)


class RandomSurvivalForest(SurvivalMixin, BaseForest):
    """A random survival forest: trees that separate censored times by the log-rank test [Ishwaran2008].

    A node is split where the log-rank statistic of the two sides is largest,

        (O - E)^2 / V,   O - E = sum over t of d_L(t) - Y_L(t) d(t) / Y(t),
        V = sum over t of Y_L(t) (Y(t) - Y_L(t)) d(t) (Y(t) - d(t)) / (Y(t)^2 (Y(t) - 1)),

    where d(t) rows of the node have their event at the event time t and Y(t) are at risk, d_L and Y_L on the left. If
    the training set has at most 255 distinct event times, this is the exact statistic. If it has more, splits tell
    only 255 of them apart, chosen so that about as many events lie between each two: an event in between counts at
    the last of these times before it, and a row is at risk at those that are not after its own time. Leaves always
    keep their exact event times. Categories are ordered by the mean of O - E over their rows; rows with a missing
    value go to the side where the statistic is larger.

    A leaf has the Nelson-Aalen estimate of the cumulative hazard and the Kaplan-Meier estimate of the survival function
    of its rows; the forest predicts their means over the trees. `predict` gives a risk: the cumulative hazard summed
    over all event times of the training set, the expected number of events of a row (ensemble mortality). The larger
    it is, the earlier the event is expected.

    Attributes
    ----------
    event_times_ : ndarray of shape (n_event_times,)
        Distinct times of observed events, ascending: where the predicted curves have their steps.
    n_features_in_ : int
        Features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    estimators_ : sequence of DecisionTreeRegressor
        The trees, with the mortality of their leaves as values; each is built when it is accessed.
    estimators_samples_ : list of ndarray
        Rows in the sample of each tree, drawn again at each access.
    oob_score_ : float
        Concordance of the out-of-bag risks, of rows that have one.
    oob_trace_ : Bunch
        ``score`` after ``n_estimators`` members, as arrays.
    oob_prediction_ : ndarray of shape (n_samples,)
        Out-of-bag risk of each training row; NaN where it is in every sample.

    See Also
    --------
    GradientBoostingSurvivalAnalysis : Boosting with the losses of survival analysis.
    committee.scoring.concordance_index : The score of risks.
    committee.scoring.integrated_brier_score : The score of survival functions.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import RandomSurvivalForest, make_survival_target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> times, censoring = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, size=300)
    >>> y = make_survival_target(event=times <= censoring, time=np.minimum(times, censoring))
    >>> forest = RandomSurvivalForest(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.65
    True
    >>> forest.predict_survival_function(X[:2], times=[0.5, 1.0]).shape
    (2, 2)
    """

    _task = "survive"
    _combine = "mean"
    _splitter = "best"
    _member = DecisionTreeRegressor
    _builder = SurvivalForestBuilder
    _fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({"criterion": "log_rank"})

    event_times_: FloatArray
    _leaf_hazards: LeafHazards

    def __init__(
        self,
        n_estimators: NEstimators = 100,
        *,
        max_depth: MaxDepth = None,
        min_samples_split: MinSamplesSplit = 6,
        min_samples_leaf: MinSamplesLeaf = 3,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: MaxLeafNodes = None,
        bootstrap: ValueBootstrap = True,
        oob_score: SurvivalOobScore = False,
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        warm_start: WarmStart = False,
        max_samples: MaxSamples = None,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        interaction_cst: InteractionCst = None,
        oob_tol: OobTol = 0.0,
        oob_patience: OobPatience = None,
    ) -> None:
        self._store_params(locals())

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : structured array, or frame or array of two columns (event, time), of shape (n_samples,)
            Whether the event of each row was observed, and the time of the event or of censoring, at least 0; see
            `make_survival_target`. An array of times alone means that every event was observed.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent. With ``bootstrap``, the chance of a row to be
            drawn is proportional to it.
        groups : array-like of shape (n_samples,), optional
            Group of each row, for ``bootstrap="group"``: a group is in a member's sample or out of it as a whole.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, groups)

    def take_in(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, class_weight: Any = None) -> Dataset:
        """Read and check a table and its censored times as `fit` does.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        class_weight : None
            There are no classes.

        Returns
        -------
        Dataset
            What `fit_dataset` takes.
        """
        dataset = super().take_in(X, y, sample_weight, class_weight)
        target = require_survival(dataset)
        split_times = choose_split_times(*count_events(dataset, type(self).__name__))
        # What the engine reads: twice the number of split times that are not after the row's, and the event.
        codes = 2.0 * np.searchsorted(split_times, target.time, side="right") + target.event
        return replace(dataset, target=replace(target, values=np.ascontiguousarray(codes[:, None])))

    def _make_builder(
        self, dataset: Dataset, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> ForestBuilder:
        builder = super()._make_builder(dataset, sample_weight, groups)
        assert isinstance(builder, SurvivalForestBuilder)
        if len(builder):
            builder.hazards = [self._leaf_hazards]
        return builder

    def _check_kept_trees(self, dataset: Dataset) -> None:
        super()._check_kept_trees(dataset)
        if not np.array_equal(count_events(dataset, type(self).__name__)[0], self.event_times_):
            raise DataError(
                f"{type(self).__name__} keeps the trees of the last fit (warm_start=True), but these data have other "
                "event times than those that the trees were grown on."
            )

    def _open_votes(self, dataset: Dataset, sample_weight: ArrayLike | None) -> OutOfBag | None:
        if not self._needs_votes():
            return None
        target, weights = require_survival(dataset), weigh_scores(sample_weight, dataset.weights)
        score: Callable[..., float] = self.oob_score if callable(self.oob_score) else concordance_index
        weighted, y = takes_sample_weight(score), target.to_structured()
        if not accepts_arguments(score, 2):
            raise ParameterTypeError(
                "The 'oob_score' parameter must be a function of the true values and the predictions; got "
                f"{show_value(score)}, which does not take two arguments."
            )

        def score_rows(rows: Any, mean: FloatArray) -> float:
            options = {"sample_weight": weights[rows]} if weighted and weights is not None else {}
            try:
                found = score(y[rows], mean[:, 0], **options)
            except DataError:  # no pair of out-of-bag rows can be compared yet
                return float(np.nan)
            if not is_real(found):
                raise ParameterTypeError(
                    f"The 'oob_score' parameter must return a number; it gave {show_value(found)}."
                )
            return float(found)

        return OutOfBag(
            target, True, weights=weights, tol=float(self.oob_tol), patience=self.oob_patience, score_rows=score_rows
        )

    def _extra_attributes(self, builder: ForestBuilder, trees: Trees, votes: OutOfBag | None) -> dict[str, Any]:
        assert isinstance(builder, SurvivalForestBuilder)
        event_times, _ = count_events(builder.dataset, type(self).__name__)
        return {"event_times_": event_times, "_leaf_hazards": builder.join_hazards()}

    def refit_leaves(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, decay_rate: float = 0.9) -> Self:
        """A forest with the same splits whose leaves follow the events of new rows.

        At each event time the hazard of the new rows in a leaf, the share of those at risk that have their event, is
        blended with its old one: ``decay_rate * old + (1 - decay_rate) * new``; so are the cumulative hazards. The
        event times of the new rows join those of the forest. Every tree sees all new rows. Leaves without new rows
        stay as they are. What was known of the training rows (out-of-bag scores) is dropped. With trees grown on other
        rows and ``decay_rate=0`` the trees are honest. The forest itself is not changed.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            New rows.
        y : structured array, or frame or array of two columns (event, time), of shape (n_samples,)
            Their events and times, as in `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        decay_rate : float, default=0.9
            How much of the old hazards stays, in [0, 1].

        Returns
        -------
        estimator
            A fitted copy.
        """
        trees, rows, name = self.fitted_trees(), take_in_rows(self, X, self._schema), type(self).__name__
        target = encode_survival(y, rows.shape[0], name)
        weights = read_refit_weights(sample_weight, rows.shape[0], decay_rate, target.values.shape)
        new_times, _ = find_event_times(target, weights, name)
        if decay_rate == 1.0:
            return self._replace_leaves({})
        event_times = np.union1d(self.event_times_, new_times)
        timed = TimedRows.of(target.event, target.time, event_times)
        samples = repeat(np.ones(rows.shape[0], dtype=np.uint32), trees.n_trees)
        new, _, counts = record_hazards(trees, rows, timed, samples, weights, self.n_jobs)
        old = self._leaf_hazards.renumber(np.searchsorted(event_times, self.event_times_))
        hazards = old.blend(new, np.where(counts > 0.0, float(decay_rate), 1.0), len(event_times))
        mortality = hazards.sum_mortality(len(event_times))
        fitted = {"_trees": replace_leaf_values(trees, mortality[:, None])}
        return self._replace_leaves({**fitted, "_leaf_hazards": hazards, "event_times_": event_times})

    # Predictions.

    def predict(self, X: Any) -> FloatArray:
        """Risk of each row: its cumulative hazard, summed over the event times of the training set.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger, the earlier the event is expected.
        """
        trees = self.fitted_trees()
        return predict_trees(trees, take_in_rows(self, X, self._schema), "mean", self.n_jobs)[:, 0]

    def _find_survival(self, X: Any, times: ArrayLike | None) -> FloatArray:
        leaves, at = self._find_leaves(X), read_curve_times(times, self.event_times_)
        # The Kaplan-Meier estimates of the leaves, not those that follow from their hazards.
        drops = self._leaf_hazards.find_drops()
        return np.clip(1.0 - self._leaf_hazards.sum_over(drops, leaves, self.event_times_, at), 0.0, 1.0)

    def _find_hazards(self, X: Any, times: ArrayLike | None) -> FloatArray:
        leaves, at = self._find_leaves(X), read_curve_times(times, self.event_times_)
        return self._leaf_hazards.sum_over(self._leaf_hazards.hazards, leaves, self.event_times_, at)

    def _find_leaves(self, X: Any) -> NDArray[np.intp]:
        return number_leaves(self.fitted_trees(), take_in_rows(self, X, self._schema), self.n_jobs)

    # Members.

    @property
    def estimator(self) -> BaseTree:
        """A regression tree with the parameters that all members have; not fitted."""
        shared = ("max_depth", "min_samples_split", "min_samples_leaf", "max_features", "max_leaf_nodes", "max_bins")
        return self._member(**{name: getattr(self, name) for name in shared})

    @property
    def feature_importances_(self) -> FloatArray:
        """Not defined: the log-rank test has no impurity that a split decreases."""
        raise AttributeError(
            "RandomSurvivalForest has no 'feature_importances_': the log-rank test has no impurity that a split "
            "decreases. Use sklearn.inspection.permutation_importance, which goes by the concordance."
        )
