"""Fits of the portfolio: one entry after the other while the budget lasts, the second layer, and further divisions."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs, parallel_config
from scipy.sparse import issparse

from committee.automatic.baseline_members import BaselineMember, LinearMember
from committee.automatic.extra_members import list_extra_entries, make_extra_member
from committee.automatic.further_divisions import EntryFit, FittedMembers, divide_further
from committee.automatic.leaderboard import format_best_score
from committee.automatic.log_scale import back_transform
from committee.automatic.neural_member import NeuralMember
from committee.automatic.paired_columns import PairedTrainingSet
from committee.automatic.portfolio import PRIOR, FitContext, PortfolioEntry, choose_entries, plan_schedule
from committee.automatic.stacked_member import SecondLayerMixin
from committee.automatic.stages import BoostingSchedule, boost_in_stages, measure_loss
from committee.automatic.time_limits import (
    afford_epochs,
    afford_trees,
    find_first_layer_deadline,
    find_member_deadline,
    has_time,
)
from committee.data.blas_threads import limit_blas
from committee.ensembles.combining.member_predictions import align_classes
from committee.ensembles.combining.out_of_fold import MemberFit, predict_out_of_fold
from committee.ensembles.fit_callbacks import should_stop
from committee.ensembles.progress import show_progress

if TYPE_CHECKING:
    from committee.automatic.combination import MemberCombiner
    from committee.automatic.views import View
    from committee.data.folds import Folds
    from committee.ensembles.combining.training_set import TrainingSet

__all__ = ["PortfolioFitsMixin"]

_MIN_PARALLEL_ROWS = 1000
"""Rows from which folds are fitted on a thread each."""


class PortfolioFitsMixin(SecondLayerMixin):
    """Fits of a committee's members."""

    def _fit_portfolio(
        self: Any,
        views: dict[View, TrainingSet],
        folds: Folds,
        context: FitContext,
        combiner: MemberCombiner,
    ) -> FittedMembers:
        """Fit one entry after the other while the budget lasts."""
        training = views["table"]
        entries = self._choose_entries(training, context, tuple(views))
        done = FittedMembers(skipped=[entry.name for entry in entries])
        spent: list[float] = []
        losses: list[float] = []
        stacks = self._has_second_layer(context)
        last = len(entries) - 1 if not stacks else -1
        deadline = find_first_layer_deadline(context.deadline, time.perf_counter()) if stacks else context.deadline
        with show_progress("Committee", len(entries), verbose=int(self.verbose), estimator=self) as on_progress:
            for number, entry in enumerate(entries):
                begun, view = time.perf_counter(), views[entry.view]
                if should_stop(on_progress):
                    return done
                limit = find_member_deadline(deadline, begun, is_last=number == last)
                if number > 1 and limit is not None and deadline is not None:
                    estimator, params = self._make_estimator(entry, number, view, context)
                    n_fits = -(-context.count_fits(entry, len(folds)) // self._count_jobs(entry, view, context))
                    until = limit if entry.source == "bags" else deadline
                    with limit_blas():
                        if not has_time(entry, estimator, view, params, n_fits, spent, until):
                            if entry.source in ("stages", "oob"):
                                break  # these are cut to the time that is left
                            continue
                # Losses of logarithms and of values cannot be compared, nor losses with another metric.
                comparable = losses if self.metric is None and entry.view != "logs" else []
                schedule = replace(plan_schedule(training, context, comparable), deadline=limit)
                found = self._fit_entry(entry, number, view, folds, context, schedule)
                if entry.view == "logs":
                    found.finish = partial(back_transform, training=training)
                if isinstance(view, PairedTrainingSet):
                    found.finish = view.complete
                fitted = done.add(found, begun)
                done.skipped.remove(entry.name)
                losses.append(min(measure_loss(one.predictions, training, context.classes) for one in fitted))
                spent.append(done.seconds[-1])
                if on_progress is not None:
                    on_progress(number + 1, entry.name + format_best_score(fitted, combiner))
        self._fit_second_layer(done, training, folds, context)
        # A limit of latency leaves no room for means of more models.
        if context.preset.fills_budget and self.max_latency_us is None:
            divide_further(done, partial(self._weigh_all, combiner=combiner), context)
        return done

    def _choose_entries(
        self: Any, training: TrainingSet, context: FitContext, views: tuple[View, ...]
    ) -> list[PortfolioEntry]:
        entries = [PRIOR]
        if context.n_classes != 1:
            n_sparse = int(np.prod(training.X.shape, dtype=float)) if issparse(training.X) else 0
            entries += choose_entries(
                self.portfolio,
                self.n_members,
                training.n_rows,
                n_sparse,
                n_classes=context.n_classes,
                views=views,
                preset=context.preset,
            )
            extra = list_extra_entries(
                self.extra_members,
                classify=context.classify,
                weighted=training.weights is not None,
                owner=type(self).__name__,
            )
            # They are wanted for certain: a time budget ends the others first.
            entries = entries + extra if self.time_budget is None else [PRIOR, *extra, *entries[1:]]
        if self.time_budget is None:
            # Cheap members first: boosting stops early if it cannot compete with them.
            entries.sort(key=lambda entry: entry.source == "stages")
        return entries

    def _make_estimator(
        self: Any, entry: PortfolioEntry, number: int, training: TrainingSet, context: FitContext
    ) -> tuple[Any, dict[str, object]]:
        """The estimator of an entry, not fitted, and further arguments of its fits."""
        params: dict[str, object] = {} if training.weights is None else {"sample_weight": training.weights}
        if entry.estimator is None:
            return context.make_member(entry, number), params
        return make_extra_member(entry.estimator, context.seed, number), params

    def _count_jobs(self: Any, entry: PortfolioEntry, training: TrainingSet, context: FitContext) -> int:
        """How many folds are fitted at once: those of the engine's estimators, each on one thread, and of bags.

        So are those of a linear member of few steps; of more, scikit-learn's fit changes the filters of warnings, which
        all threads share. Other estimators use threads within a fit.
        """
        kind = entry.kinds[not context.classify]
        serial = entry.estimator is not None or not context.uses_folds(entry)
        if not serial and entry.source != "bags":
            is_baseline = kind is not None and issubclass(kind, BaselineMember)
            has_few_steps = kind is LinearMember and context.preset.linear_steps is not None
            serial = (is_baseline and not has_few_steps) or training.n_rows < _MIN_PARALLEL_ROWS
        return 1 if serial else effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs)

    def _fit_entry(
        self: Any,
        entry: PortfolioEntry,
        number: int,
        training: TrainingSet,
        folds: Folds,
        context: FitContext,
        schedule: BoostingSchedule,
    ) -> EntryFit:
        """The member of an entry, or one for each stage of boosting; how long it took is not known yet."""
        if entry is PRIOR:  # needs no columns: rows of the table are not copied for it
            training = training.with_table(np.empty((training.n_rows, 0)), np.arange(training.n_rows))
        uses_folds = context.uses_folds(entry)
        estimator, params = self._make_estimator(entry, number, training, context)
        is_network = isinstance(estimator, NeuralMember)
        if entry.source == "oob" and schedule.deadline is not None:
            n_fits = context.count_fits(entry, len(folds))
            estimator.set_params(n_estimators=afford_trees(estimator, training, params, n_fits, schedule.deadline))
        one = MemberFit(entry.name, estimator, "predict_proba" if context.classify else "predict", params)
        n_jobs, n_divisions = self._count_jobs(entry, training, context), context.preset.n_repeats
        if is_network and context.further_folds:
            folds, n_divisions = [*folds, *context.further_folds], context.preset.network_repeats
        if is_network and schedule.deadline is not None:
            n_epochs = afford_epochs(estimator, training, params, len(folds), n_jobs, schedule.deadline)
            estimator.set_params(n_epochs=n_epochs)
        elif n_jobs > 1 and not isinstance(estimator, BaselineMember):
            estimator.set_params(n_jobs=1)
        found = EntryFit([one], training, lambda fitted: fitted, entry.source == "stages", n_jobs, 0.0, [n_divisions])
        # Sums in BLAS depend on the number of threads, and results must not: it gets one.
        with parallel_config(backend="threading"), limit_blas():
            if entry.source == "stages":
                found.fitted = boost_in_stages(one, training, folds, context.classes, schedule, n_jobs)
                found.n_divisions *= len(found.fitted)
                return found
            if isinstance(estimator, LinearMember) and not uses_folds:
                one.fitted, tests = estimator, [test for _, test in folds]
                one.predictions = estimator.fit_and_leave_out(training.X, training.y, tests)
            elif entry.source == "loo" and not uses_folds:
                one.fitted = training.fit_member(estimator, None, params)
                one.predictions = one.fitted.pop_loo_predictions()
            else:
                options: dict[str, Any] = {"refit": entry.source != "bags", "out_of_bag": not uses_folds}
                predict_out_of_fold(training, [one], folds, context.classes, **options, n_jobs=n_jobs)
        if context.classes is not None and not uses_folds:
            one.predictions = align_classes(one.predictions, one.fitted, context.classes)
        return found
