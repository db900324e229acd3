"""The fit of the flagship: where scores start, which rule chooses the rounds, and what is written down."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from committee.ensembles.boosting.base import BaseBoosting, count_present, count_repeated
from committee.ensembles.boosting.callbacks import BoostingLog
from committee.ensembles.boosting.dart import Dart
from committee.ensembles.boosting.early_stopping import choose_rounds, draw_folds
from committee.ensembles.boosting.rounds import Rounds, Start
from committee.ensembles.boosting.trees import BoostedTreeTable
from committee.ensembles.boosting.validation import HeldOut, Judge, Watch, hold_out_rows, read_held_out
from committee.ensembles.progress import show_progress
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.foreign_names import answer_arguments
from committee.learners.tree_params import count_features, count_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.engines.tree_model import TreeModel
    from committee.ensembles.boosting.callbacks import RoundReport
    from committee.typing import FloatArray

__all__ = ["FullBoosting"]

_FEW_ROWS = 50
"""Rows below which early_stopping="auto" holds none out."""
_FOLD_ROWS = 5_000
"""Rows up to which stopping_folds="auto" takes folds, whose scores are less noisy than those of one small part."""
_FOLDS = 3
"""Five choose no better by more than chance and take twice the time (``benchmarks/boosting_defaults.py``)."""
_SLOW, _FAST = 0.03, 0.1
"""Automatic learning rates for at most, and at least, as many rows as below."""
_RATE_ROWS = (1_000, 20_000)
_DRAWN = 0.8
"""Share of the rows that subsample="auto" draws."""
_EXTREME = 1e-9
"""Probabilities of an initial estimator are taken to be at least this."""


def _starts_alone(model: FullBoosting) -> bool:
    """Whether scores start from a constant."""
    return model.init is None or isinstance(model.init, str)


class FullBoosting(BaseBoosting):
    """What the flagship's classifier and regressor share."""

    loss: Any
    learning_rate: Any
    n_estimators: Any
    subsample: Any
    max_leaf_nodes: Any
    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: Any
    min_impurity_decrease: Any
    ccp_alpha: Any
    max_features: Any
    growth: Any
    boosting: Any
    multi_strategy: Any
    drop_rate: Any
    skip_drop: Any
    top_rate: Any
    other_rate: Any
    reg_alpha: Any
    reg_lambda: Any
    gamma: Any
    min_child_weight: Any
    colsample_bytree: Any
    colsample_bylevel: Any
    colsample_bynode: Any
    init: Any
    base_score: Any
    early_stopping: Any
    scoring: Any
    validation_fraction: Any
    stopping_folds: Any
    n_iter_no_change: Any
    tol: Any
    refit: Any

    n_estimators_: int
    best_iteration_: int
    learning_rate_: float
    init_: Any

    @property
    def estimators_(self) -> BoostedTreeTable:
        """The trees by round and by score, as regression trees that `plot_tree` and `export_text` show."""
        return BoostedTreeTable(self._fitted_trees(), self._schema, self.n_estimators_)

    @answer_arguments
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        monitor: Callable[[int, Any, dict[str, Any]], Any] | None = None,
        *,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_names: Sequence[str] | None = None,
        eval_metric: str | Callable[..., float] | Mapping[str, Any] | None = None,
        callbacks: Sequence[Callable[[RoundReport], Any]] | None = None,
    ) -> Self:
        """Boost: add, round after round, a tree that follows the loss's gradient.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
            Classes or values to learn; a regressor takes several outputs.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.
        monitor : callable, optional
            Called after each round with its number, the estimator and a dictionary of what there is to see
            (``evals``, ``params``); the fit stops if it returns True. As in scikit-learn; see also ``callbacks``.
        eval_set : list of (X, y), optional
            Tables that are measured after each round, see ``evals_result_``; the last one says when to stop.
        eval_sample_weight : list of array-like, optional
            Weights of their rows; None for a table without.
        eval_names : list of str, optional
            Their names, by default "validation_0" and so on.
        eval_metric : str, callable or dict of these, optional
            How they are measured besides by ``scoring``: names of scikit-learn's scorers, or scorers.
        callbacks : list of callables, optional
            Called after each round with a report (``iteration``, ``evals``, ``params``); one that returns True stops
            the fit.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_together()
        dataset = self._take_in(X, y, sample_weight, getattr(self, "class_weight", None))
        loss, seed = self._choose_loss(dataset), self._resolve_seed()
        init = self._fit_init(X, y, sample_weight)
        start = self._find_start(X, init, loss)
        tables = self._read_tables(dataset, init, loss, (eval_set, eval_sample_weight, eval_names))
        log = self._open_log(loss, tables, eval_metric, self._list_callbacks(callbacks, monitor))
        return self._boost(dataset, loss, start, seed, log, init)

    @available_if(_starts_alone)  # type: ignore[untyped-decorator]
    def fit_dataset(self, dataset: Dataset, weights: FloatArray | None = None) -> Self:
        """Boost on data that were taken in before; committees share one data set, and its bins, so.

        Not with an estimator as ``init``, which learns from the table itself.

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
        self._validate_params()
        self._check_together()
        dataset = dataset if weights is None else dataset.reweighted(weights)
        loss, seed = self._choose_loss(dataset), self._resolve_seed()
        log = self._open_log(loss, {}, None, ())
        return self._boost(dataset, loss, self._find_start(None, None, loss), seed, log, None)

    def _open_log(self, loss: Any, tables: dict[str, HeldOut], eval_metric: Any, callbacks: Any) -> BoostingLog:
        return BoostingLog(
            loss_judge=Judge("loss", loss) if not loss.is_custom or hasattr(loss.function, "value") else None,
            samples=self._resolve_subsample() < 1.0,
            tables=tables,
            judges=self._list_judges(loss, eval_metric),
            callbacks=callbacks,
        )

    def _list_callbacks(self, callbacks: Any, monitor: Any) -> tuple[Callable[[RoundReport], Any], ...]:
        given = tuple(callbacks or ())
        if monitor is None:
            return given

        def ask_monitor(report: RoundReport) -> Any:
            return monitor(report.iteration, self, {"evals": report.evals, "params": report.params})

        return (*given, ask_monitor)

    def _boost(self, dataset: Dataset, loss: Any, start: Start, seed: int, log: BoostingLog, init: Any) -> Self:
        """Choose the number of rounds by the rule that holds, and boost."""
        last, rule = int(self.n_estimators), self._choose_rule(dataset, log)
        self._check_rounds("n_estimators", last, getattr(self, "n_estimators_", 0))
        curve: FloatArray | None = None
        training, begin, best = dataset, start, None
        if rule == "folds":
            folds = draw_folds(dataset, self._count_folds(dataset) or _FOLDS, seed, start.offset)
            opened = [
                (self._open_rounds(part, loss, seed, Start(None, start.baseline, own)), h) for part, h, own in folds
            ]
            last, curve = choose_rounds(opened, last, Judge(self.scoring, loss), self.n_iter_no_change, self.tol)
        elif rule == "held_out":
            training, held_out, out = hold_out_rows(dataset, self.validation_fraction, seed, start.offset)
            begin = Start(None, start.baseline, None if start.offset is None else start.offset[~out])
            log.watch = self._open_watch(loss, held_out, seed)
        elif rule == "table":
            log.watch = self._open_watch(loss, list(log.tables.values())[-1], seed)
        elif rule == "oob":
            log.oob_patience = int(self.n_iter_no_change)
        rounds = self._open_rounds(training, loss, seed, begin)
        log.open(rounds)
        with show_progress("Boosting", last, verbose=int(self.verbose)) as on_progress:
            rounds.boost(last, log, on_progress)
        if rule in ("held_out", "table") and log.watch is not None:
            curve = np.array(log.watch.held_out_scores)
            best = max(1, rounds.n_kept + int(np.argmax(curve)))
        elif rule == "oob":
            best = rounds.n_kept + log.best_out_of_bag
        # Rows that a warm start will hold out again are not learnt from.
        if rule == "held_out" and self.refit and not self.warm_start and best is not None:
            rounds = self._open_rounds(dataset, loss, seed, start)
            rounds.boost(best, None)
        self._finalize(rounds, best, self._report(rounds, log, best, curve, seed, init))
        return self

    # The rule.

    def _check_together(self) -> None:
        """Parameters that are fine alone and contradict each other."""
        name, dart = type(self).__name__, self.boosting == "dart"
        if dart and (self.early_stopping is True or self.early_stopping == "oob"):
            raise ParameterError(
                f"{name} cannot stop early with boosting='dart', whose later rounds change earlier trees; set "
                "'early_stopping' to 'auto' or False."
            )
        if self.early_stopping == "oob" and not self._resolve_subsample() < 1.0:
            raise ParameterError(f"early_stopping='oob' of {name} needs rows out of bag: set 'subsample' below 1.")
        if self.boosting == "goss" and self._resolve_subsample() < 1.0:
            raise ParameterError("boosting='goss' draws rows by itself; leave 'subsample' at 1.")
        if self.boosting == "goss" and float(self.top_rate) + float(self.other_rate) > 1.0:
            raise ParameterError("'top_rate' and 'other_rate' are shares of all rows; their sum must not be above 1.")
        if self.base_score is not None and self.init is not None:
            raise ParameterError("'base_score' and 'init' both say where scores start; set only one of them.")
        if self.n_iter_no_change is None and self.early_stopping not in ("auto", False):
            raise ParameterError(f"early_stopping={self.early_stopping!r} needs 'n_iter_no_change', which is None.")
        if dart and self.warm_start:
            raise ParameterError(f"{name} cannot go on from earlier trees (warm_start=True) with boosting='dart'.")

    def _choose_rule(self, dataset: Dataset, log: BoostingLog) -> str | None:
        """Which rows choose the number of rounds."""
        asked = self.early_stopping
        if asked is False or self.boosting == "dart" or asked == "oob" or self.n_iter_no_change is None:
            return "oob" if asked == "oob" else None
        if log.tables:
            return "table"
        if asked == "auto" and count_present(dataset) < _FEW_ROWS:
            return None
        return "folds" if self._count_folds(dataset) is not None else "held_out"

    def _count_folds(self, dataset: Dataset) -> int | None:
        if self.warm_start:
            return None
        if self.stopping_folds == "auto":
            return _FOLDS if count_present(dataset) <= _FOLD_ROWS else None
        return None if self.stopping_folds is None else int(self.stopping_folds)

    def _open_watch(self, loss: Any, held_out: HeldOut, seed: int) -> Watch:
        return Watch(Judge(self.scoring, loss), held_out, int(self.n_iter_no_change), float(self.tol), seed)

    def _open_dart(self, seed: int, n_kept: int) -> Any:
        return Dart(float(self.drop_rate), float(self.skip_drop), seed) if self.boosting == "dart" else None

    # What is measured besides.

    def _read_tables(self, dataset: Dataset, init: Any, loss: Any, given: Any) -> dict[str, HeldOut]:
        eval_set, weights, names = given
        if eval_set is None:
            if weights is not None or names is not None:
                raise DataError("eval_sample_weight and eval_names go with eval_set, which is None.")
            return {}
        pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
        weights = [None] * len(pairs) if weights is None else list(weights)
        names = [f"validation_{k}" for k in range(len(pairs))] if names is None else [str(n) for n in names]
        if not len(pairs) == len(weights) == len(names) or len(set(names)) < len(names):
            raise DataError("eval_set, eval_sample_weight and eval_names must be of one length, and names unique.")
        tables = {}
        for name, (X, y), weight in zip(names, pairs, weights, strict=True):
            table = read_held_out(self, dataset, X, y, weight)
            table.offset = self._ask_init(init, X, loss)
            tables[name] = table
        return tables

    def _list_judges(self, loss: Any, eval_metric: Any) -> dict[str, Judge]:
        judges = {_name_metric(self.scoring): Judge(self.scoring, loss)}
        asked = eval_metric
        if not isinstance(eval_metric, dict):
            listed = () if eval_metric is None else np.atleast_1d(np.array(eval_metric, dtype=object))
            asked = {_name_metric(m): m for m in listed}
        return judges | {name: Judge(how, loss, "eval_metric") for name, how in asked.items()}

    # Where scores start.

    def _fit_init(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if self.init is None or isinstance(self.init, str):
            return None
        if self._keeps_trees():
            return self.init_
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return clone(self.init).fit(X, y, **options)

    def _find_start(self, X: Any, init: Any, loss: Any) -> Start:
        if init is None and self.init is None and self.base_score is None:
            return Start()
        constant = np.full(loss.n_scores, 0.0 if self.base_score is None else float(self.base_score))
        return Start(None, constant, self._ask_init(init, X, loss))

    def _ask_init(self, init: Any, X: Any, loss: Any) -> FloatArray | None:
        """Scores of the initial estimator, of shape (n_rows, n_scores)."""
        if init is None:
            return None
        if self._task == "regress":
            values = np.asarray(init.predict(X), dtype=np.float64).reshape(-1, loss.n_scores)
            if getattr(loss, "name", "") in ("poisson", "gamma", "tweedie"):
                return np.log(np.maximum(values, _EXTREME))
            return values
        if not hasattr(init, "predict_proba"):
            raise ParameterTypeError("The 'init' parameter of a classifier must have the method predict_proba.")
        logs = np.log(np.clip(np.asarray(init.predict_proba(X), dtype=np.float64), _EXTREME, 1.0))
        scores = logs[:, 1:] - logs[:, :1] if loss.n_scores == 1 else logs
        # Exponential loss is least at half the log-odds.
        return scores / 2.0 if loss.name == "exponential" else scores

    # What the engine is told, and what is told of the fit.

    def _resolve_rate(self, dataset: Dataset) -> float:
        if self.learning_rate != "auto":
            return float(self.learning_rate)
        low, high = np.log(_RATE_ROWS)
        place = np.clip((np.log(count_repeated(dataset)) - low) / (high - low), 0.0, 1.0)
        return float(_SLOW * (_FAST / _SLOW) ** place)

    def _resolve_subsample(self) -> float:
        if self.subsample == "auto":
            return 1.0 if self.boosting == "goss" else _DRAWN
        return float(self.subsample)

    def _limit_nodes(self, dataset: Dataset) -> dict[str, Any]:
        """What a node, a leaf and a split must have."""
        weights, share, n_rows = dataset.weights, self._resolve_subsample(), count_present(dataset)
        fewest, light = count_rows(self.min_samples_leaf, n_rows), float(self.min_weight_fraction_leaf)
        if weights is None:
            fewest = max(fewest, ceil(light * share * n_rows))
        return {
            "min_samples_split": count_rows(self.min_samples_split, n_rows),
            "min_samples_leaf": fewest,
            "min_weight_leaf": None if weights is None else light * share,
            # Twice the fall of the objective over the weight of all rows is a fall of impurity, if errors are squared.
            "gamma": float(self.gamma) + float(self.min_impurity_decrease) * share * count_repeated(dataset) / 2.0,
            "ccp_alpha": float(self.ccp_alpha),
        }

    def _check_vectors(self, dataset: Dataset) -> None:
        """What trees whose leaves are vectors cannot have."""
        if self.multi_strategy != "multi_output_tree":
            return
        if self.monotonic_cst is not None:
            raise ParameterError("multi_strategy='multi_output_tree' knows no monotone constraints; leave them out.")
        if dataset.weights is not None and float(self.min_weight_fraction_leaf) > 0.0:
            raise ParameterError(
                "multi_strategy='multi_output_tree' counts rows, not weights: 'min_weight_fraction_leaf' must be 0 "
                "where rows have weights."
            )

    def _tell_engine(self, dataset: Dataset) -> dict[str, Any]:
        self._check_vectors(dataset)
        n_drawn = count_features(self.max_features, dataset.n_features)
        by_node = float(self.colsample_bynode) * n_drawn / dataset.n_features
        return {
            "learning_rate": self._resolve_rate(dataset),
            "max_leaf_nodes": 0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            "max_depth": None if self.max_depth is None else int(self.max_depth),
            **self._limit_nodes(dataset),
            "vector_leaves": self.multi_strategy == "multi_output_tree",
            "level_wise": self.growth == "level",
            "subsample": self._resolve_subsample(),
            "reg_lambda": float(self.reg_lambda),
            "reg_alpha": float(self.reg_alpha),
            "min_child_weight": float(self.min_child_weight),
            "colsample_tree": float(self.colsample_bytree),
            "colsample_level": float(self.colsample_bylevel),
            "colsample_node": by_node,
            "goss_top": float(self.top_rate) if self.boosting == "goss" else None,
            "goss_other": float(self.other_rate) if self.boosting == "goss" else None,
        }

    def _report(
        self, rounds: Rounds, log: BoostingLog, best: int | None, curve: FloatArray | None, seed: int, init: Any
    ) -> dict[str, Any]:
        n_rounds = rounds.n_rounds if best is None else best

        def go_on(name: str, values: Sequence[float] | FloatArray) -> FloatArray:
            """The values of these rounds after those of the rounds that were kept."""
            earlier = self.__dict__.get(name, ()) if self._keeps_trees() else ()
            return np.array([*earlier[: rounds.n_kept], *values])

        curves = {"train_score_": go_on("train_score_", log.train_losses)}
        if log.samples:
            curves["oob_improvement_"] = go_on("oob_improvement_", log.oob_gains)
            curves["oob_scores_"] = go_on("oob_scores_", log.oob_losses)
        for name in ("oob_improvement_", "oob_scores_", "oob_score_"):
            self.__dict__.pop(name, None)
        told = {
            "n_estimators_": n_rounds,
            "best_iteration_": n_rounds - 1,
            "learning_rate_": self._resolve_rate(rounds.dataset),
            "n_trees_per_iteration_": rounds.trees_per_round,
            **curves,
            # From before the first round on, or from after the last one that was kept.
            "validation_score_": np.array([]) if curve is None else go_on("validation_score_", curve),
            "evals_result_": {n: {m: np.array(v) for m, v in by.items()} for n, by in log.evals.items()},
            "init_": init if init is not None else ("zero" if self.init == "zero" else None),
            "_seed": seed,
        }
        if log.samples:
            told["oob_score_"] = log.oob_losses[-1]
        return told

    # Asking the fitted trees.

    def _raw_predict(self, X: Any) -> FloatArray:
        scores = super()._raw_predict(X)
        offset = None if self._is_trees_alone() else self._ask_init(self.init_, X, self._loss)
        return scores if offset is None else scores + offset

    def _is_trees_alone(self) -> bool:
        return self.init_ is None or isinstance(self.init_, str)

    def _stage_scores(self, X: Any) -> Iterator[FloatArray]:
        self._fitted_trees()
        offset = None if self._is_trees_alone() else self._ask_init(self.init_, X, self._loss)
        for scores in super()._stage_scores(X):
            yield scores if offset is None else scores + offset

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        model = super().to_tree_model()
        if self.init_ is not None and not isinstance(self.init_, str):
            raise ParameterTypeError(
                f"This {type(self).__name__} starts from a {type(self.init_).__name__} (parameter 'init'), so that its "
                "trees alone do not explain its predictions."
            )
        return model

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
        leaves = self._ask(X, self._fitted_trees().apply).astype(np.intp)
        step = self._count_trees_per_round()
        return leaves if self._task == "regress" and step == 1 else leaves.reshape(len(leaves), -1, step)


def _name_metric(metric: Any) -> str:
    return metric if isinstance(metric, str) else "score" if metric is None else getattr(metric, "__name__", "score")
