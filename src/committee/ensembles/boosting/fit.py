"""The fit of `GradientBoosting*`: initial scores, the rule that chooses the number of rounds, what is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from committee.constraints import show_value
from committee.data.intake import take_in_rows
from committee.data.opening import opens_table
from committee.data.rows import collect_table
from committee.ensembles.boosting.base import BaseBoosting
from committee.ensembles.boosting.booster import InitialScores
from committee.ensembles.boosting.callbacks import (
    Callbacks,
    EvalSets,
    OutOfBagLoss,
    RoundTable,
    TrainingLoss,
    UserCallbacks,
)
from committee.ensembles.boosting.dart import Dart
from committee.ensembles.boosting.early_stopping import EarlyStopping, choose_rounds
from committee.ensembles.boosting.engine_params import set_engine_params
from committee.ensembles.boosting.objective import count_present, predict_initial_scores
from committee.ensembles.boosting.scorer import BoostingScorer
from committee.ensembles.boosting.settings import list_tree_params, resolve_settings
from committee.ensembles.boosting.trees import BoostedTreeTable
from committee.ensembles.boosting.validation import read_eval_sets, split_folds, split_validation
from committee.ensembles.fit_callbacks import FitInput, has_fit_callbacks
from committee.ensembles.member_access import MemberAccessMixin
from committee.ensembles.progress import show_progress
from committee.exceptions import DataError, ParameterError, ParameterTypeError, warn_caller
from committee.foreign_names import answer_arguments
from committee.learners.tree_estimator import add_columns
from committee.learners.tree_rows import find_leaves
from committee.losses import LossFunction
from committee.value_checks import is_flag, read_callables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.data import Dataset
    from committee.engines import BoostingParams
    from committee.ensembles.boosting.booster import Booster
    from committee.ensembles.boosting.callbacks import RoundReport
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.ensembles.boosting.params import AutoDefaults, DroppedCriterion
    from committee.ensembles.boosting.settings import BoostingSettings
    from committee.ensembles.boosting.validation import ValidationSet
    from committee.params import BoostingScoring
    from committee.typing import BoolArray, FloatArray

    StoppingRule: TypeAlias = Literal["folds", "split", "eval_set", "oob"] | None
    """Which rows choose the number of rounds: folds, a validation split, the last evaluation set, out-of-bag rows."""
    UserFunction: TypeAlias = Callable[[RoundReport], Any]
    Monitor: TypeAlias = Callable[[int, Any, dict[str, Any]], Any]

__all__ = ["BaseGradientBoosting"]

_FEW_ROWS = 50
"""Rows below which early_stopping="auto" does not stop early."""
_FOLD_ROWS = 5_000
"""Rows up to which stopping_folds="auto" uses folds: their scores are less noisy than those of one small split."""
_FOLDS = 3
"""Five choose no better by more than chance and take twice the time (``benchmarks/boosting_defaults.py``)."""


def _starts_from_constant(model: BaseGradientBoosting) -> bool:
    return model.init is None or isinstance(model.init, str)


class BaseGradientBoosting(MemberAccessMixin, BaseBoosting):
    """The fit that classifier and regressor share; it reads the parameters that both constructors have."""

    #: Whether ``max_features="auto"`` goes by the number of rows.
    features_by_rows: ClassVar[bool] = False
    #: What ``n_iter_no_change="auto"`` means where the fit chooses the number of rounds.
    tuned_patience: ClassVar[int] = 20

    # Class attributes as well: models that were pickled before these parameters existed have them.
    defaults: AutoDefaults = "auto"
    criterion: DroppedCriterion = "deprecated"

    n_estimators_: int
    best_iteration_: int
    learning_rate_: float
    max_features_: int
    init_: Any
    _tree_params: list[dict[str, Any]]

    @property
    def estimators_(self) -> BoostedTreeTable:
        """The trees by round and by score, as regression trees that `plot_tree` and `export_text` show."""
        trees, params = self.fitted_trees(), self.__dict__.get("_tree_params", [])
        return BoostedTreeTable(trees, self._schema, self.n_estimators_, params)

    def _resolve(self) -> BoostingSettings:
        """The parameters with the values that "auto" stands for."""
        return resolve_settings(self)

    @opens_table
    @answer_arguments
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        monitor: Monitor | None = None,
        *,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_sample_weight: Sequence[ArrayLike | None] | None = None,
        eval_names: Sequence[str] | None = None,
        eval_metric: str | Callable[..., float] | Mapping[str, BoostingScoring] | None = None,
        callbacks: Sequence[UserFunction] | None = None,
    ) -> Self:
        """Boost: add, round after round, a tree that follows the loss's gradient.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values to learn, of one target or of several.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.
        monitor : callable, optional
            Called after each round with its number, the estimator and a dictionary (``evals``, ``params``); the fit
            stops if it returns True. As in scikit-learn; see also ``callbacks``.
        eval_set : list of (X, y), optional
            Evaluation sets that are scored after each round, see ``evals_result_``; early stopping, where it is on,
            uses the last one.
        eval_sample_weight : list of array-like, optional
            Weights of their rows; None for a set without.
        eval_names : list of str, optional
            Their names, by default "validation_0" and so on.
        eval_metric : str, callable or dict of these, optional
            Metrics besides ``scoring``: names of scikit-learn's scorers, or scorers.
        callbacks : list of callables, optional
            Called after each round with a report (``iteration``, ``evals``, ``params``); one that returns True stops
            the fit.

        Returns
        -------
        self
        """
        self.validate_params()
        self._check_together()
        X = X if _starts_from_constant(self) else collect_table(X)  # the initial estimator reads it too
        dataset = self.take_in(X, y, sample_weight, getattr(self, "class_weight", None))
        self._check_target(dataset)
        loss = self._make_loss(dataset)
        seed = self._resolve_seed()
        init = self._fit_init(X, y, sample_weight)
        initial = self._find_initial_scores(X, init, loss)

        def start(rows: Any) -> FloatArray | None:
            return predict_initial_scores(init, rows, loss, classes=self._task == "classify")

        tables = read_eval_sets(self, dataset, start, eval_set, eval_sample_weight, eval_names)
        functions = self._list_functions(callbacks, monitor)
        recorders = self._make_callbacks(dataset, loss, seed, tables, eval_metric, functions)
        return self._boost(dataset, loss, initial, seed, recorders, init, FitInput(X, y, sample_weight))

    @available_if(_starts_from_constant)  # type: ignore[untyped-decorator]
    def fit_dataset(self, dataset: Dataset, weights: FloatArray | None = None) -> Self:
        """Boost on a data set that was read before; ensembles share one data set and its bins in this way.

        Not with an estimator as ``init``, which is fitted on the table itself.

        Parameters
        ----------
        dataset : Dataset
            From `committee.data.intake.take_in`; class weights are in its weights already (`weigh_rows`).
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.

        Returns
        -------
        self
        """
        self.validate_params()
        self._check_together()
        dataset = dataset if weights is None else dataset.reweighted(weights)
        loss, seed = self._make_loss(dataset), self._resolve_seed()
        initial = self._find_initial_scores(None, None, loss)
        return self._boost(dataset, loss, initial, seed, self._make_callbacks(dataset, loss, seed, {}, None, ()), None)

    def _boost(
        self,
        dataset: Dataset,
        loss: BoostingLoss,
        initial: InitialScores,
        seed: int,
        callbacks: Callbacks,
        init: Any,
        given: FitInput | None = None,
    ) -> Self:
        """Choose the number of rounds by the rule that applies, and boost."""
        settings = self._resolve()
        last, rule = int(settings.n_estimators), self._choose_rule(dataset, callbacks)
        self._check_rounds("n_estimators", last, getattr(self, "n_estimators_", 0))
        training, start, scores, best = dataset, initial, None, None
        if rule == "folds":
            chosen, scores = self._choose_rounds_by_folds(dataset, loss, initial, seed)
            last = settings.find_refit_rounds(chosen, dataset)
        elif rule == "split":
            training, validation, out = self._hold_out(dataset, seed, initial.offset)
            start = InitialScores(initial.baseline, None if initial.offset is None else initial.offset[~out])
            callbacks.early_stopping = self._make_early_stopping(loss, validation, seed)
        elif rule == "eval_set" and callbacks.eval_sets is not None:
            *_, validation = callbacks.eval_sets.tables.values()
            callbacks.early_stopping = self._make_early_stopping(loss, validation, seed)
        grown = booster = self._make_booster(training, loss, seed, start, dataset)

        def list_partial(_: int) -> dict[str, Any]:
            attributes = self._list_attributes(grown, callbacks, None, None, seed, init)
            return add_columns(self._list_fitted(grown, None, attributes), dataset.schema)

        n_kept, partial_fit = booster.n_rounds, None if given is None else list_partial
        with show_progress(
            "Boosting", last, verbose=0, estimator=self, done=n_kept, given=given, partial_fit=partial_fit
        ) as on_progress:
            if self.verbose and (on_progress is None or has_fit_callbacks(self)):
                callbacks.table = RoundTable(int(self.verbose), last, callbacks.training_loss, callbacks.out_of_bag)
            booster.boost(last, callbacks.collect(on_progress))
            if callbacks.early_stopping is not None:
                scores = np.array(callbacks.early_stopping.validation_scores)
                best = max(1, booster.n_previous + int(np.argmax(scores))) if settings.tuned else None
            elif rule == "oob" and callbacks.out_of_bag is not None:
                best = booster.n_previous + callbacks.out_of_bag.best_round
            # A warm start splits off the same rows again, so they must not have been trained on.
            if rule == "split" and best is not None and settings.refit and not self.warm_start:
                booster = self._make_booster(dataset, loss, seed, initial)
                booster.boost(best := settings.find_refit_rounds(best, dataset))
            attributes = self._list_attributes(booster, callbacks, best, scores, seed, init)
            for name in ("oob_improvement_", "oob_scores_", "oob_score_"):
                self.__dict__.pop(name, None)
            self._finalize(booster, best, attributes)
        return self

    def _check_target(self, dataset: Dataset) -> None:
        """Refuse a target that nothing can be learnt from."""

    # The number of rounds.

    def _check_together(self) -> None:
        """Refuse parameters that contradict one another."""
        if self.criterion != "deprecated":
            warn_caller(
                "The parameter `criterion` is deprecated and has no effect: trees follow the loss. Leave it out.",
                FutureWarning,
            )
        name, dart = type(self).__name__, self.boosting == "dart"
        if dart and (is_flag(self.early_stopping, True) or self.early_stopping == "oob"):
            raise ParameterError(
                f"{name} cannot stop early with boosting='dart', whose later rounds change earlier trees; set "
                "'early_stopping' to 'auto' or False."
            )
        settings = self._resolve()
        if self.early_stopping == "oob" and not settings.subsample < 1.0:
            raise ParameterError(f"early_stopping='oob' of {name} needs rows out of bag: set 'subsample' below 1.")
        if self.boosting == "goss" and settings.subsample < 1.0:
            raise ParameterError("boosting='goss' draws rows by itself; leave 'subsample' at 1.")
        if self.boosting == "goss" and float(self.top_rate) + float(self.other_rate) > 1.0:
            raise ParameterError("'top_rate' and 'other_rate' are fractions of all rows; their sum must be at most 1.")
        if self.base_score is not None and self.init is not None:
            raise ParameterError("'base_score' and 'init' both say where scores start; set only one of them.")
        if self.n_iter_no_change is None and self.early_stopping not in ("auto", False):
            raise ParameterError(f"early_stopping={self.early_stopping!r} needs 'n_iter_no_change', which is None.")
        if dart and self.warm_start:
            raise ParameterError(f"{name} cannot go on from earlier trees (warm_start=True) with boosting='dart'.")

    def _choose_rule(self, dataset: Dataset, callbacks: Callbacks) -> StoppingRule:
        """Which rows choose the number of rounds; None: all rounds are made."""
        if self.early_stopping == "oob":
            return "oob"
        settings = self._resolve()
        if self.boosting == "dart" or settings.n_iter_no_change is None or not (self.early_stopping or settings.stops):
            return None
        if callbacks.eval_sets is not None:
            return "eval_set"
        if self.early_stopping == "auto" and self.n_iter_no_change == "auto" and count_present(dataset) < _FEW_ROWS:
            return None
        return "split" if self._count_folds(dataset) is None else "folds"

    def _count_folds(self, dataset: Dataset) -> int | None:
        if self.warm_start:
            return None
        if self.stopping_folds == "auto":
            return _FOLDS if self._resolve().tuned and count_present(dataset) <= _FOLD_ROWS else None
        return None if self.stopping_folds is None else int(self.stopping_folds)

    def _choose_rounds_by_folds(
        self, dataset: Dataset, loss: BoostingLoss, initial: InitialScores, seed: int
    ) -> tuple[int, FloatArray]:
        """The number of rounds with the best mean score over the folds, and the mean scores of all rounds."""
        n_folds = self._count_folds(dataset) or _FOLDS
        folds = [
            (self._make_booster(training, loss, seed, InitialScores(initial.baseline, offset), dataset), validation)
            for training, validation, offset in self._split_folds(dataset, n_folds, seed, initial.offset)
        ]
        settings = self._resolve()
        patience = int(settings.n_iter_no_change or 1)
        return choose_rounds(folds, int(settings.n_estimators), self._make_scorer(loss), patience, float(settings.tol))

    def _hold_out(
        self, dataset: Dataset, seed: int, offset: FloatArray | None
    ) -> tuple[Dataset, ValidationSet, BoolArray]:
        """Training rows, validation set, and the mask of its rows."""
        if self.validation_fraction is None:
            raise ParameterError(
                f"The 'validation_fraction' parameter of {type(self).__name__} must be a number of rows or a fraction: "
                "early stopping holds rows out."
            )
        return split_validation(dataset, self.validation_fraction, seed, offset)

    def _split_folds(
        self, dataset: Dataset, n_folds: int, seed: int, offset: FloatArray | None
    ) -> Iterator[tuple[Dataset, ValidationSet, FloatArray | None]]:
        return split_folds(dataset, n_folds, seed, offset)

    def _make_scorer(self, loss: BoostingLoss) -> BoostingScorer:
        """The scorer of early stopping; without values of the loss, the estimator's own `score`."""
        measured = isinstance(loss, LossFunction) or loss.has_values
        return self._make_metric(self.scoring if measured or self.scoring != "loss" else None, loss, "scoring")

    def _make_metric(self, metric: BoostingScoring, loss: BoostingLoss, parameter: str) -> BoostingScorer:
        return BoostingScorer(metric, loss, parameter)

    def _make_early_stopping(self, loss: BoostingLoss, validation: ValidationSet, seed: int) -> EarlyStopping:
        settings = self._resolve()
        patience = int(settings.n_iter_no_change or 1)
        return EarlyStopping(self._make_scorer(loss), validation, patience, float(settings.tol), seed)

    # What is recorded.

    def _make_callbacks(
        self,
        dataset: Dataset,
        loss: BoostingLoss,
        seed: int,
        tables: dict[str, ValidationSet],
        eval_metric: str | Callable[..., float] | Mapping[str, BoostingScoring] | None,
        functions: Sequence[UserFunction],
    ) -> Callbacks:
        scorers = self._make_scorers(loss, eval_metric)
        has_values = isinstance(loss, LossFunction) or loss.has_values
        settings = self._resolve()
        patience = settings.n_iter_no_change if self.early_stopping == "oob" else None
        eval_sets = EvalSets(tables, scorers) if tables else None
        return Callbacks(
            dart=Dart(float(self.drop_rate), float(self.skip_drop), seed) if self.boosting == "dart" else None,
            training_loss=TrainingLoss(loss) if has_values else None,
            out_of_bag=OutOfBagLoss(loss, patience) if has_values and settings.has_rows_out_of_bag(dataset) else None,
            eval_sets=eval_sets,
            user=UserCallbacks(functions, eval_sets) if functions else None,
        )

    def _list_functions(
        self, callbacks: Sequence[UserFunction] | None, monitor: Monitor | None
    ) -> tuple[UserFunction, ...]:
        functions = read_callables(callbacks, f"The argument 'callbacks' of {type(self).__name__}.fit")
        if monitor is None:
            return functions
        if not callable(monitor):
            raise ParameterTypeError(
                f"The argument 'monitor' of {type(self).__name__}.fit must be a callable or None; got "
                f"{show_value(monitor)}."
            )

        def call_monitor(report: RoundReport) -> Any:
            return monitor(report.iteration, self, {"evals": report.evals, "params": report.params})

        return (*functions, call_monitor)

    def _make_scorers(
        self,
        loss: BoostingLoss,
        eval_metric: str | Callable[..., float] | Mapping[str, BoostingScoring] | None,
    ) -> dict[str, BoostingScorer]:
        """The metrics of evaluation sets by name, ``scoring`` first."""
        metrics: Mapping[str, BoostingScoring]
        if isinstance(eval_metric, dict):
            metrics = eval_metric
        else:
            listed = () if eval_metric is None else np.atleast_1d(np.array(eval_metric, dtype=object))
            metrics = {_name_metric(metric): metric for metric in listed}
        scorers = {_name_metric(self.scoring): self._make_scorer(loss)}
        return scorers | {name: self._make_metric(metric, loss, "eval_metric") for name, metric in metrics.items()}

    # Initial scores.

    def _fit_init(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Any:
        """The fitted initial estimator; None for scores that start from a constant."""
        if _starts_from_constant(self):
            return None
        if self._continues():
            return self.init_
        init = clone(self.init)
        if sample_weight is None:
            return init.fit(X, y)
        if not has_fit_parameter(init, "sample_weight"):
            raise DataError(
                f"The initial estimator {type(init).__name__} does not support sample weights: its fit has no argument "
                "'sample_weight'. Leave out the weights, or take another estimator for 'init'."
            )
        return init.fit(X, y, sample_weight=sample_weight)

    def _find_initial_scores(self, X: Any, init: Any, loss: BoostingLoss) -> InitialScores:
        if init is None and self.init is None and self.base_score is None:
            return InitialScores()
        constant = np.full(loss.n_scores, 0.0 if self.base_score is None else float(self.base_score))
        return InitialScores(constant, predict_initial_scores(init, X, loss, classes=self._task == "classify"))

    def _set_engine_params(self, params: BoostingParams, dataset: Dataset, whole: Dataset) -> None:
        set_engine_params(self, self._resolve(), params, dataset, whole)

    # The fitted model.

    def _list_attributes(
        self,
        booster: Booster,
        callbacks: Callbacks,
        best: int | None,
        scores: FloatArray | None,
        seed: int,
        init: Any,
    ) -> dict[str, Any]:
        """Fitted attributes by name."""
        n_rounds = booster.n_rounds if best is None else best
        losses, out_of_bag, evals = callbacks.training_loss, callbacks.out_of_bag, callbacks.eval_sets
        n_previous, settings, dataset = booster.n_previous, self._resolve(), booster.dataset

        def append(name: str, values: Sequence[float] | FloatArray) -> FloatArray:
            """The values of these rounds after those of an earlier fit that was continued; zeros where it had none."""
            earlier = np.zeros(n_previous)
            known = np.asarray(self.__dict__.get(name, ()))[:n_previous] if n_previous else earlier
            earlier[: len(known)] = known
            return np.concatenate([earlier, values])

        recorded = {"train_score_": append("train_score_", [] if losses is None else losses.losses)}
        if out_of_bag is not None:
            recorded["oob_improvement_"] = append("oob_improvement_", out_of_bag.improvements)
            recorded["oob_scores_"] = append("oob_scores_", out_of_bag.losses)
        if "oob_scores_" in recorded and len(recorded["oob_scores_"]):
            recorded["oob_score_"] = recorded["oob_scores_"][-1]
        earlier_scores = self.__dict__.get("validation_score_", ())[:n_previous] if n_previous else ()
        return {
            "n_estimators_": n_rounds,
            "best_iteration_": n_rounds - 1,
            "learning_rate_": settings.find_rate(dataset),
            "max_features_": settings.find_features(dataset),
            "n_trees_per_iteration_": booster.trees_per_round,
            **recorded,
            # From before the first round on, or from after the last one of an earlier fit.
            "validation_score_": np.array([]) if scores is None else np.array([*earlier_scores, *scores]),
            "evals_result_": {}
            if evals is None
            else {name: {m: np.array(v) for m, v in own.items()} for name, own in evals.history.items()},
            "init_": init if init is not None else ("zero" if self.init == "zero" else None),
            "_seed": seed,
            "_tree_params": self._list_tree_params(booster, settings),
        }

    def _list_tree_params(self, booster: Booster, settings: BoostingSettings) -> list[dict[str, Any]]:
        """The parameters of the trees from each round on at which a fit began, ``first_round``."""
        n_previous = booster.n_previous
        earlier = self.__dict__.get("_tree_params", []) if n_previous else []
        if n_previous == booster.n_rounds and earlier:
            return list(earlier)
        return [*earlier, {"first_round": n_previous, **list_tree_params(self, settings, booster.dataset)}]

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Leaf that each row ends in, in every tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to look up.

        Returns
        -------
        ndarray of shape (n_samples, n_rounds), or (n_samples, n_rounds, n_scores) of a classifier or several outputs
            Numbers of nodes.
        """
        leaves = find_leaves(self.fitted_trees(), take_in_rows(self, X, self._schema), self.n_jobs)
        step = self._count_trees_per_round()
        return leaves if self._task == "regress" and step == 1 else leaves.reshape(len(leaves), -1, step)


def _name_metric(metric: BoostingScoring) -> str:
    return metric if isinstance(metric, str) else "score" if metric is None else getattr(metric, "__name__", "score")
