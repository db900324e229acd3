"""Small uses of the library, whose calls of the compiled module `fuzz.border` repeats with changed arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import committee
from committee import _core, inspection
from tests.faults.allocation import FAMILIES, SPARSE, X, fit_family

__all__ = ["SESSIONS"]

METHODS = ("predict", "predict_proba", "apply", "score_samples", "predict_survival_function", "staged_predict")


def use(name: str) -> None:
    """Fit a model of the family and ask what it answers."""
    make, y = FAMILIES[name]
    model = fit_family(make(), name)
    for ask in (
        *(lambda method=method: getattr(model, method)(X[:9]) for method in METHODS),  # type: ignore[misc]
        lambda: read_again(getattr(model, "_trees", None) or model.tree_._trees),
        lambda: inspection.shap_values(model, X[:4]),
        lambda: inspection.shap_values(model, X[:2], interactions=True),
        lambda: inspection.shap_values(model, X[:3], background=X[:10]),
        lambda: inspection.partial_dependence(model, X[:20], [0], grid_resolution=4),
        lambda: inspection.permutation_importance(model, X[:20], y[:20], n_repeats=1),
    ):
        with contextlib.suppress(Exception):  # not every family has each of them
            ask()


def read_again(trees: Any) -> None:
    """As a model file does: from arrays, which are checked."""
    made = _core.Trees.from_arrays(trees.__getstate__())
    made.apply(X[:5], 1)
    made.describe(0, "gini")
    made.number_depth_first()
    _core.concatenate_trees([made, made.select(0, 1)])
    bins = _core.load_bins(_core.save_bins(_core.BinMapper.fit(X, None, np.zeros(X.shape[1], np.uint32), 255, 1)))
    _core.select_columns(_core.slice_rows(bins.transform(X, 1), 3, 9), np.array([0, 2], np.uint32))


def use_sparse() -> None:
    """A forest on entries."""
    model = committee.RandomForestClassifier(2, random_state=0, n_jobs=1, oob_score=True)
    model.fit(SPARSE, np.arange(len(X)) % 3).predict(SPARSE[:5])


def use_glass_box() -> None:
    """An additive model."""
    model = committee.ExplainableBoostingClassifier(max_iter=2, outer_bags=1, random_state=0, n_jobs=1)
    model.fit(X, X[:, 0] > 0).predict(X)


def use_tools() -> None:
    """What other modules use one by one: summaries of blocks, draws, sums and quantiles."""
    none, times = np.zeros(X.shape[1], np.uint32), np.abs(X[:, 0])
    summary, other = _core.TableSummary(True, none, 255), _core.TableSummary(True, none, 255)
    summary.add(X[:30], None, 1)
    other.add(X[30:], times[30:], 1)
    summary.merge(other)
    mapper = _core.learn_bins(X, None, none, 255, summary, 1)
    builder = _core.BinnedBuilder(mapper, len(X))
    builder.write(X[:50], 0, 1)
    builder.write(X[50:], 50, 1)
    bins = builder.finish()
    _core.choose_bin_sample(len(X), times)
    sampling = _core.RowSampling()
    sampling.n_draws, sampling.n_features = 5, 2
    _core.draw_block_rows(sampling, 1, 2, len(X), 3, 40)
    _core.draw_member_features(sampling, 1, 2, 4)
    draws = _core.RowDraws(times, len(X))
    params = _core.BoostingParams()
    params.subsample = 0.5
    draws.draw(params, 3)
    params.subsample, params.goss_top, params.goss_other = 1.0, 0.2, 0.1
    draws.draw_by_gradient(times, params, 3)
    _core.find_staged_medians(X[:6], times[:4], 0.5, 1)
    total = _core.sum_exactly(X[:, 0], times)
    _core.round_exact(total)
    _core.divide_exact(total, _core.sum_exactly(times))
    _core.add_packed_words(_core.pack_words(np.arange(300)), np.zeros(300, np.int64))
    _core.sum_comparable_pairs((X[:, 1] > 0).astype(np.uint8), times, X[:, 2], times, times)
    labels = (X[:, 0] > 0).astype(np.uint32)
    units, levels, sum_ = _core.start_stump_weights(times)
    _core.StumpBlock(bins, labels, 2, units, levels, sum_, 1)
    _core.find_pruning_path(bins, None, labels[:, None], [2], None, times, _core.GrowParams())
    search = _core.QuantileSearch([0.2, 0.9], 16)
    while not search.finished:
        search.take(_core.count_digits(search.step, 0, times, None))


def use_more() -> None:
    """Estimators that are not among the families."""
    values = X[:, 0] + X[:, 1]
    forest = committee.RandomForestClassifier(2, random_state=0, n_jobs=1).fit(X, values > 0)
    inspection.oob_importance(forest, X, values > 0, n_repeats=1)
    committee.DistributionalBoostingRegressor(n_estimators=2, random_state=0, n_jobs=1).fit(X, values).predict(X)
    committee.AdaBoostRegressor(n_estimators=3, random_state=0).fit(X, values).predict(X[:5])


SESSIONS: dict[str, Callable[[], None]] = {
    **{name: partial(use, name) for name in FAMILIES},
    "sparse": use_sparse,
    "glass box": use_glass_box,
    "tools": use_tools,
    "more": use_more,
}
"""By the name of a family."""
