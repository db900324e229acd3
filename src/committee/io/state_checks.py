"""Checks of the parts of fitted models: columns, samples, trees, members, rules and losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from scipy.sparse import csr_matrix

from committee.data.dates import PARTS
from committee.data.inputs import DATE_KINDS, KINDS
from committee.data.text_features import list_text_parts
from committee.engines import get_engine
from committee.io.fitted_attributes import is_predictor
from committee.io.registry import is_estimator
from committee.io.requirements import MOST_FEATURES, MOST_SEED, is_a, is_array, is_count, is_table, require
from committee.learners.tree_params import name_criterion
from committee.losses import list_losses
from committee.params import ClassCriterion, ValueCriterion

__all__ = ["STATE_CHECKS"]


def _check_schema(schema: Any) -> None:
    n, names, categories = schema.n_features, schema.feature_names, schema.categories
    require(is_count(n, MOST_FEATURES) and n > 0, "a table must have columns")
    named = isinstance(names, tuple) and len(names) == n and all(isinstance(name, str) for name in names)
    require(names is None or named, "every column must have a name, or none")
    require(isinstance(categories, tuple) and len(categories) == n, "every column must have its categories or None")
    for levels in categories:
        require(levels is None or (isinstance(levels, np.ndarray) and levels.ndim == 1), "categories must be a list")
        known = levels is None or levels.dtype.kind == "f" or all(isinstance(v, str) for v in levels.tolist())
        require(known, "categories must be text or numbers")
    require(schema.dtype in (np.dtype("f4"), np.dtype("f8")), "a table holds float32 or float64")
    require(schema.unseen in ("missing", "error"), "what unseen categories mean must be known")
    if schema.inputs is not None:
        require(is_a(schema.inputs, "InputColumns"), "the columns of a table are described")
        require(int(schema.inputs.starts[-1]) == n, "every feature must come from a column")
        numbers = np.array([kind == "number" for kind in schema.inputs.kinds])[schema.inputs.owners]
        require(all(numbers[k] or categories[k] is None for k in range(n)), "dates, lists and texts have no categories")
        require((names is None) == (schema.inputs.names is None), "every column must have a name, or none")


def _check_inputs(inputs: Any) -> None:
    names, kinds, parts = inputs.names, inputs.kinds, inputs.parts
    listed = isinstance(kinds, tuple) and isinstance(parts, tuple) and 0 < len(kinds) == len(parts)
    require(listed, "every column must have a kind")
    named = isinstance(names, tuple) and len(names) == len(kinds) and all(isinstance(name, str) for name in names)
    require(names is None or named, "every column must have a name, or none")
    words = (None,) * len(kinds) if inputs.words is None else inputs.words
    require(isinstance(words, tuple) and len(words) == len(kinds), "every column of text must have its words")
    for kind, own, encoding in zip(kinds, parts, words, strict=True):
        require(isinstance(kind, str) and kind in KINDS, f"columns of the kind {kind!r} are not known")
        require(isinstance(own, tuple) and all(isinstance(part, str) for part in own), "parts are named")
        if kind in DATE_KINDS:
            require(own[:1] == ("seconds",) and set(own[1:]) <= set(PARTS), "dates have known parts")
        elif kind == "text":
            require(is_a(encoding, "WordEncoding"), "every column of text must have its words")
            require(own == list_text_parts(encoding), "texts have known parts")
        elif kind == "list":
            require(len(own) > 0 and own == tuple(map(str, range(len(own)))), "lists have numbered parts")
        else:
            require(own == (("value",) if kind == "number" else ("seconds",)), "a column has one value")
        require(encoding is None or kind == "text", "only columns of text have words")


def _check_sample_plan(plan: Any) -> None:
    n = plan.n_rows
    require(is_count(n) and n > 0 and is_count(plan.n_draws), "numbers of rows must be below 2**32")
    require(isinstance(plan.replace, bool) and isinstance(plan.whole_groups, bool), "switches must be true or false")
    require(isinstance(plan.stratum_draws, tuple) and all(map(is_count, plan.stratum_draws)), "draws must be counts")
    if plan.strata is not None:
        strata = plan.strata
        require(is_array(strata, "u", n) and strata.dtype.itemsize == 4, "every row must have a stratum")
        require(int(strata.max()) < n, "there cannot be more strata than rows")
        if not plan.whole_groups:
            require(len(plan.stratum_draws) == int(strata.max()) + 1, "every stratum must have its number of draws")
    else:
        require(not plan.whole_groups and not plan.stratum_draws, "groups and strata must be known")
    if plan.weights is not None:
        weights = plan.weights
        require(is_array(weights, "f", n) and weights.dtype.itemsize == 8, "every row must have a weight")
        require(np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any(), "weights must be finite")
    require(plan.replace or plan.strata is not None or plan.n_draws <= n, "no more than all rows can be drawn")


def _check_member_samples(samples: Any) -> None:
    require(is_a(samples.plan, "SamplePlan"), "members need a plan of their samples")
    require(is_count(samples.seed, MOST_SEED), "a seed must be a number below 2**64")
    require(is_count(samples.n_features, MOST_FEATURES) and samples.n_features > 0, "a table must have columns")
    require(is_count(samples.n_drawn, MOST_FEATURES), "drawn features must be counted")
    require(isinstance(samples.replace_features, bool), "switches must be true or false")
    require(samples.replace_features or samples.n_drawn <= samples.n_features, "features cannot be drawn twice")


def _check_isolation_samples(samples: Any) -> None:
    n, weights = samples.n_rows, samples.weights
    require(is_count(n) and n > 0 and is_count(samples.n_draws) and samples.n_draws > 0, "rows must be counted")
    require(isinstance(samples.replace, bool), "switches must be true or false")
    require(is_count(samples.n_features, MOST_FEATURES) and samples.n_features > 0, "a table must have columns")
    require(is_count(samples.n_drawn, samples.n_features), "features cannot be drawn twice")
    if weights is not None:
        require(is_array(weights, "f", n) and weights.dtype.itemsize == 8, "every row must have a weight")
        require(np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any(), "weights must be finite")
    places = n if weights is None else weights.sum() if (weights == np.floor(weights)).all() else np.inf
    require(samples.replace or samples.n_draws <= places, "no more than all rows can be drawn")


def _check_survival_link(link: Any) -> None:
    kinds = ("cox", "hazard", "normal", "logistic", "extreme")
    require(isinstance(link.kind, str) and link.kind in kinds, "a survival model is of a known kind")
    known = isinstance(link.times, np.ndarray) and link.times.dtype == np.float64 and link.times.ndim == 1
    require(known and len(link.times) > 0 and bool(np.isfinite(link.times).all()), "times must be finite")
    require(bool((np.diff(link.times) > 0.0).all()), "times must ascend")
    require(is_array(link.hazards, "f", len(link.times) if link.kind == "cox" else 0), "every time has its hazard")
    require(isinstance(link.scale, float) and 0.0 < link.scale < np.inf, "a scale is positive")


def _check_ordinal_link(link: Any) -> None:
    require(isinstance(link.kind, str) and link.kind in ("logit", "probit", "cloglog"), "a link is of a known kind")
    own = link.thresholds
    known = isinstance(own, np.ndarray) and own.dtype == np.float64 and own.ndim == 2 and len(own) > 0
    require(known, "every round has its thresholds")
    require(not np.isnan(own).any() and bool((own[:, 1:] >= own[:, :-1]).all()), "thresholds must ascend")


def _check_leaf_hazards(leaves: Any) -> None:
    offsets, times, hazards = leaves.offsets, leaves.times, leaves.hazards
    known = isinstance(offsets, np.ndarray) and offsets.dtype == np.int64 and offsets.ndim == 1 and len(offsets) > 1
    require(known and offsets[0] == 0 and bool((np.diff(offsets) >= 0).all()), "events of leaves follow each other")
    n_events = int(offsets[-1])
    require(is_array(times, "u", n_events) and times.dtype.itemsize == 4, "every event has its time")
    require(is_array(hazards, "f", n_events), "every event has its hazard")
    require(bool(((hazards > 0.0) & (hazards <= 1.0)).all()), "a hazard is a probability")


def _check_leaf_record(record: Any) -> None:
    shares, values, offsets = record.shares, record.values, record.node_offsets
    require(isinstance(shares, csr_matrix) and shares.dtype == np.float64, "shares must be a sparse matrix")
    require(is_array(values, "f", shares.shape[1]), "every column of the shares needs its value")
    require(isinstance(offsets, np.ndarray) and offsets.ndim == 1 and offsets.dtype.kind == "i", "offsets are counts")
    require(len(offsets) > 1 and offsets[0] == 0 and (np.diff(offsets) > 0).all(), "offsets must rise from 0")
    require(int(offsets[-1]) == shares.shape[0], "every node must have its shares")


def _check_tree_view(view: Any) -> None:
    require(isinstance(view._trees, get_engine().Trees), "a tree needs its arena")
    require(is_count(view._tree) and view._tree < view._trees.n_trees, "a tree must lie in its arena")
    criteria = map(name_criterion, get_args(get_args(ClassCriterion if view.is_classifier else ValueCriterion)[0]))
    require(isinstance(view._criterion, str) and view._criterion in criteria, "a criterion is known")


def _check_calibration(calibration: Any) -> None:
    n, curves = calibration._n_classes, calibration._curves
    require(is_count(n) and isinstance(curves, list), "a calibration has classes and curves")
    require(len(curves) == (1 if n == 2 else n), "every class must have its curve")
    require(all(is_a(c, "Steps") or is_a(c, "Sigmoid") for c in curves), "a curve must be of a known kind")


def _check_steps(steps: Any) -> None:
    places = steps._places
    require(isinstance(places, np.ndarray) and places.ndim == 1 and len(places), "a curve needs places")
    require(is_array(places, "f", len(places)) and is_array(steps._heights, "f", len(places)), "and heights")


def _check_sigmoid(sigmoid: Any) -> None:
    require(isinstance(sigmoid._slope, float) and isinstance(sigmoid._offset, float), "a curve is of numbers")


def _check_tree_members(members: Any) -> None:
    require(hasattr(members.estimator, "hold_tree") and is_estimator(type(members.estimator)), "members must be trees")
    require(isinstance(members.trees, get_engine().Trees), "members must have an arena")
    require(is_a(members.schema, "Schema") and is_a(members.samples, "MemberSamples"), "members need a schema")
    n_trees, n_features = members.trees.n_trees, members.trees.n_features
    require(members.schema.n_features == n_features == members.samples.n_features, "members see the same features")
    require(is_table(members.importances, "f", n_trees, n_features), "every member must have importances")
    require(n_trees > 0 and isinstance(members.named, dict), "there must be members")


def _check_any_members(members: Any) -> None:
    require(is_a(members.samples, "MemberSamples"), "members must have samples")
    require(isinstance(members.estimators, list) and members.estimators, "there must be members")
    require(all(map(is_predictor, members.estimators)), "members must be estimators")
    classes = members.n_classes
    require(classes is None or (isinstance(classes, list) and all(map(is_count, classes))), "classes are counted")


def _check_boosted_trees(members: Any) -> None:
    require(hasattr(members.estimator, "hold_tree") and is_estimator(type(members.estimator)), "members must be trees")
    require(isinstance(members.trees, get_engine().Trees) and members.trees.n_trees > 0, "members must have an arena")
    require(is_a(members.schema, "Schema"), "members need a schema")
    n_trees, n_features = members.trees.n_trees, members.trees.n_features
    require(members.schema.n_features == n_features, "members see the same features")
    require(is_table(members.importances, "f", n_trees, n_features), "every member must have importances")
    require(isinstance(members.named, dict) and is_count(members.seed, MOST_SEED), "members have a target")


def _check_boosted_members(members: Any) -> None:
    require(isinstance(members.estimators, list) and members.estimators, "there must be members")
    require(all(map(is_predictor, members.estimators)), "members must be estimators")
    require(isinstance(members.classes, np.ndarray) and members.classes.ndim == 1, "classes are listed")


def _check_rule(rule: Any) -> None:
    require(is_count(rule.n_classes) and rule.n_classes > 0, "classes are counted")
    require(isinstance(rule.least, float) and 0.0 <= rule.least < 1.0, "a probability is below one")
    require(isinstance(rule.learning_rate, float) and rule.learning_rate > 0.0, "a learning rate must be above zero")


def _check_label_target(target: Any) -> None:
    require(isinstance(target.classes, np.ndarray) and target.classes.ndim == 1, "classes are listed")
    require(isinstance(target.has, np.ndarray) and target.has.dtype == bool, "labels are true or false")
    require(isinstance(target.multilabel, bool), "switches must be true or false")


def _check_word_votes(model: Any) -> None:
    words, votes = model.words, model.votes
    require(isinstance(words, np.ndarray) and words.ndim == 1 and words.dtype.kind == "i", "words are columns")
    require(isinstance(votes, np.ndarray) and votes.ndim == 3 and votes.dtype == np.float64, "votes are numbers")
    require(votes.shape[:2] == (len(words), 2) and (words >= 0).all(), "every word must have its votes")


def _check_layer(layer: Any) -> None:
    lists = (layer.names, layer.members, layer.methods, layer.widths)
    require(all(isinstance(part, list) for part in lists), "a layer is made of lists")
    require({len(part) for part in lists} == {len(layer.members)} and layer.members, "each member has a name")
    known = {"predict", "predict_proba", "decision_function"}
    pairs = zip(layer.members, layer.methods, strict=True)
    callable_ones = all(method in known and callable(getattr(member, method, None)) for member, method in pairs)
    require(callable_ones, "members must have the method that is called")
    require(layer.classes is None or isinstance(layer.classes, list), "classes are listed")


def _check_fold_average(average: Any) -> None:
    require(isinstance(average.models, list) and average.models, "there must be models of folds")
    require(all(map(is_predictor, average.models)), "models of folds must be estimators")
    require(average.classes is None or isinstance(average.classes, list), "classes are listed")


def _check_blend(blend: Any) -> None:
    require(blend.how in ("mean", "majority", "nonnegative") and is_count(blend.n_members), "a blend has members")
    require(is_array(blend.weights_, "f", blend.n_members), "every member must have its weight")


def _check_loss(loss: Any) -> None:
    require(loss.name in list_losses() and isinstance(loss.parameter, float), "a loss has a name and a parameter")
    require(is_count(loss.n_scores) and loss.n_scores > 0, "a loss has scores")
    levels = loss.levels
    known = isinstance(levels, tuple) and all(isinstance(v, float) and 0.0 < v < 1.0 for v in levels)
    ascending = known and len(levels) in (0, loss.n_scores) and list(levels) == sorted(set(levels))
    require(ascending and (not levels or loss.name == "quantile"), "levels of quantiles ascend, one a score")


def _check_joined_loss(loss: Any) -> None:
    known = isinstance(loss.losses, tuple) and len(loss.losses) > 1
    known = known and all(is_a(own, "LossFunction") and own.name in ("logistic", "softmax") for own in loss.losses)
    require(known, "several targets have a loss each")


STATE_CHECKS: dict[str, Callable[[Any], None]] = {
    "Schema": _check_schema,
    "InputColumns": _check_inputs,
    "SamplePlan": _check_sample_plan,
    "MemberSamples": _check_member_samples,
    "IsolationSamples": _check_isolation_samples,
    "LeafHazards": _check_leaf_hazards,
    "LeafRecord": _check_leaf_record,
    "SurvivalLink": _check_survival_link,
    "OrdinalLink": _check_ordinal_link,
    "TreeView": _check_tree_view,
    "ShareCalibration": _check_calibration,
    "Steps": _check_steps,
    "Sigmoid": _check_sigmoid,
    "TreeMembers": _check_tree_members,
    "AnyMembers": _check_any_members,
    "BoostedTrees": _check_boosted_trees,
    "BoostedMembers": _check_boosted_members,
    "DiscreteRule": _check_rule,
    "SammeRule": _check_rule,
    "SammeRRule": _check_rule,
    "RealRule": _check_rule,
    "GentleRule": _check_rule,
    "LogitRule": _check_rule,
    "MajorityRule": _check_rule,
    "LossFunction": _check_loss,
    "JoinedLoss": _check_joined_loss,
    "LabelTarget": _check_label_target,
    "WordVotes": _check_word_votes,
    "Layer": _check_layer,
    "FoldAverage": _check_fold_average,
    "ShareBlend": _check_blend,
    "ValueBlend": _check_blend,
}
"""The check of each class of fitted state, by its name in model files."""
