"""What must hold between the parts of a loaded model, so that no method of it is led astray.

A single array, arena or matrix has been checked before it comes here. These checks see to it that the parts fit
together: the engine is never passed the index of a row, a feature or a class that does not exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.engines import get_engine
from committee.io.additive_checks import ADDITIVE_CHECKS, check_terms
from committee.io.baseline_checks import BASELINE_CHECKS
from committee.io.fitted_attributes import check_fitted_attributes
from committee.io.registry import name_state
from committee.io.requirements import MOST_FEATURES, MOST_SEED, is_a, is_array, is_count, require
from committee.io.state_checks import STATE_CHECKS

__all__ = ["check_instance"]

_CHECKS = {**STATE_CHECKS, **BASELINE_CHECKS, **ADDITIVE_CHECKS}


def _check_estimator(model: Any) -> None:
    """Whatever estimator it is: parts that several of them have under the same name."""
    check_fitted_attributes(model)
    state = vars(model)
    schema, trees = state.get("_schema"), state.get("_trees")
    if schema is not None:
        require(is_a(schema, "Schema"), "a schema describes the columns")
        require(state.get("n_features_in_") == schema.n_inputs, "the schema must have the model's features")
    if trees is not None:
        require(isinstance(trees, get_engine().Trees) and schema is not None, "trees need an arena and a schema")
        require(trees.n_trees > 0 and trees.n_features == schema.n_features, "trees use the model's features")
        _check_classes(state, list(trees.outputs))
    if "_slots" in state:
        _check_boosted(state, trees)
    if "_samples" in state:
        require(is_a(state["_samples"], "SamplePlan") or is_a(state["_samples"], "MemberSamples"), "samples are drawn")
        _check_row_counts(state)
    if "_draws" in state:
        draws, offset = state["_draws"], state.get("offset_")
        require(is_a(draws, "IsolationSamples") and schema is not None and trees is not None, "samples are drawn")
        require(draws.n_features == schema.n_features and trees.width == 1, "samples are of the model's table")
        require(state.get("max_samples_") == draws.n_draws, "the size of a sample must be known")
        require(isinstance(offset, float) and np.isfinite(offset), "the offset must be a number")
    if "_members" in state:
        listed = ("TreeMembers", "AnyMembers", "BoostedTrees", "BoostedMembers")
        require(any(is_a(state["_members"], name) for name in listed), "members are listed")
        if "estimator_weights_" in state:
            n_members = len(getattr(state["_members"], "estimators", state["_members"]))
            n_rounds = n_members // getattr(state.get("_rule"), "width", 1)
            require(is_array(state["estimator_weights_"], "f", n_rounds), "every member must have a weight")
    if "_seed" in state:
        require(is_count(state["_seed"], MOST_SEED), "a seed must be a number below 2**64")
    if is_a(state.get("_model"), "WordVotes"):
        words, n_features = state["_model"].words, state.get("n_features_in_")
        require(is_count(n_features, MOST_FEATURES) and (words < n_features).all(), "words must be in the table")
        known = schema is not None or callable(getattr(state.get("vectorizer_"), "transform", None))
        require(known, "a model of documents needs what finds the words")
    if "_oof_errors" in state:
        errors = state["_oof_errors"]
        require(isinstance(errors, np.ndarray) and errors.dtype.kind == "f" and errors.ndim == 2, "errors are ranked")
        require(errors.shape[1] == 2, "every error has its rank")
    if "_leaf_record" in state:
        record = state["_leaf_record"]
        same = is_a(record, "LeafRecord") and trees is not None
        require(same and np.array_equal(record.node_offsets, trees.node_offsets), "shares are of the trees' nodes")
    if "_link" in state:
        link, loss = state["_link"], state.get("_loss")
        require(is_a(link, "SurvivalLink") and is_a(loss, "LossFunction"), "survival models have a link")
        n_scores = len(link.times) if link.kind == "hazard" else 1
        require(getattr(loss, "n_scores", 0) == n_scores, "every interval has its score")
    if "_ordinal_link" in state:
        link, classes = state["_ordinal_link"], state.get("classes_")
        require(is_a(link, "OrdinalLink") and isinstance(classes, np.ndarray), "ordinal models have a link")
        assert classes is not None
        n_scores = getattr(state.get("_loss"), "n_scores", 1)  # f, and the logarithm of the spread
        n_rounds = trees.n_trees // n_scores if trees is not None else 0
        require(link.thresholds.shape == (n_rounds, len(classes) - 1), "thresholds are between the levels")
    if "_leaf_hazards" in state:
        _check_hazards(state, trees)
    if "_shapes" in state:
        check_terms(state, trees)


def _check_outputs(model: Any, state: dict[str, Any]) -> None:
    """Each of several targets has a fitted ensemble of the same class, on the same columns."""
    outputs, classes = state["_outputs"], state.get("classes_")
    alone = not {"_members", "weights_"} & set(state)
    require(alone and len(outputs) > 1, "several targets have an ensemble each")
    require(state.get("n_outputs_") == len(outputs), "every target has its ensemble")
    fitted = all(type(own) is type(model) and {"_members", "weights_"} & set(vars(own)) for own in outputs)
    require(fitted, "ensembles are fitted")
    listed = state.get("estimators_", outputs)
    require([id(own) for own in listed] == [id(own) for own in outputs], "the ensembles are those of the targets")
    require(all(own.n_features_in_ == state["n_features_in_"] for own in outputs), "ensembles have the same columns")
    if classes is not None:
        same = all(len(own.classes_) == len(known) for own, known in zip(outputs, classes, strict=True))
        require(same, "every target has its classes")


def _check_hazards(state: dict[str, Any], trees: Any) -> None:
    """Every leaf of a survival forest has its events, at times that are known."""
    hazards, times = state["_leaf_hazards"], state.get("event_times_")
    require(is_a(hazards, "LeafHazards") and trees is not None, "hazards are of the trees' leaves")
    require(len(hazards.offsets) == int(trees.leaf_offsets[-1]) + 1, "every leaf has its hazards")
    known = isinstance(times, np.ndarray) and times.dtype == np.float64 and times.ndim == 1 and len(times) > 0
    require(known, "there must be event times")
    assert times is not None
    require(bool(np.isfinite(times).all() and (np.diff(times) > 0.0).all()), "event times must ascend")
    require(bool((hazards.times < len(times)).all()), "hazards are at event times")


def _check_row_counts(state: dict[str, Any]) -> None:
    """What has an entry for each training row has as many as samples are drawn from."""
    plan = state["_samples"] if is_a(state["_samples"], "SamplePlan") else state["_samples"].plan
    for name in ("_oob_errors", "_oob_halves", "_oob_labels", "oob_decision_function_", "oob_prediction_"):
        held = state.get(name)
        outputs = held if isinstance(held, list) else [held]
        known = held is None or all(
            isinstance(part, np.ndarray) and part.shape[:1] == (plan.n_rows,) for part in outputs
        )
        known = known and (held is None or len(outputs) > 0)
        require(known, f"{name} must have an entry for each row")


def _check_boosted(state: dict[str, Any], trees: Any) -> None:
    """Every tree adds to a score that there is."""
    slots, loss, baseline = state["_slots"], state.get("_loss"), state.get("_baseline")
    known_loss = is_a(loss, "LossFunction") or is_a(loss, "JoinedLoss")
    require(known_loss and trees is not None, "boosted trees have a loss")
    assert loss is not None
    n = loss.n_scores
    require(is_array(slots, "u", trees.n_trees) and slots.dtype.itemsize == 4, "every tree adds to a score")
    require((slots < n).all() and is_array(baseline, "f", n), "every score has its baseline")
    require("_gains" not in state or is_array(state["_gains"], "f", trees.n_features), "every feature has its gain")
    require(trees.width in (1, n), "leaves have a value for one score or for all")
    classes = state.get("classes_")
    outputs: list[Any] = classes if isinstance(classes, list) else [classes]
    known = all(isinstance(own, np.ndarray) for own in outputs)
    fewest = 2 if len(outputs) == 1 else 1  # one of several targets may have a single class
    single = "_ordinal_link" in state  # one score for all levels, and maybe one for their spread
    require(not single or n == 1 or (n == 2 and trees.width == 1), "ordered levels have a score or two")
    known = known and (single or n == sum(1 if fewest <= len(own) <= 2 else len(own) for own in outputs))
    if "distribution_" in state:  # location and spread of one output
        named = state["distribution_"] in ("normal", "lognormal", "negative_binomial")
        require(named and n == 2 and trees.width == 1, "a distribution has two scores")
    n_outputs = 1 if loss.levels or "distribution_" in state else n
    require(known if classes is not None else state.get("n_outputs_") == n_outputs, "every output has its score")


def _check_classes(state: dict[str, Any], outputs: list[int]) -> None:
    """Leaves hold a weight for each class that the model names."""
    classes = state.get("classes_")
    if classes is None or not outputs:
        return
    known = [len(part) for part in (classes if isinstance(classes, list) else [classes])]
    require(known == outputs, "leaves must have a weight for each class")


def check_instance(instance: Any) -> None:
    """Refuse an instance of one of our classes whose parts contradict each other.

    Parameters
    ----------
    instance : object
        Whose own parts have been checked.
    """
    name = name_state(type(instance))
    if name is not None:
        _CHECKS[name](instance)
    else:
        _check_estimator(instance)
        if "_outputs" in vars(instance):
            _check_outputs(instance, vars(instance))
