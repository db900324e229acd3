"""What must hold between the parts of a loaded model, so that no method of it is led astray.

A single array, arena or matrix has been checked before it comes here. These checks see to it that the parts fit
together: the engine is never passed the index of a row, a feature or a class that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from committee.data.dates import PARTS
from committee.data.inputs import DATE_KINDS, KINDS
from committee.engines import get_engine
from committee.exceptions import ModelFileError
from committee.io.fitted_attributes import check_fitted_attributes, is_predictor
from committee.io.registry import is_estimator, name_state
from committee.losses import list_losses

__all__ = ["check_instance"]

_MOST_ROWS = 1 << 32
_MOST_SEED = 1 << 64
_MOST_FEATURES = 1 << 28


def _require(holds: object, sentence: str) -> None:
    if not holds:
        raise ModelFileError(f"The parts of the model do not fit together: {sentence}.")


def _is_count(value: Any, below: int = _MOST_ROWS) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= int(value) < below


def _is_array(value: Any, kind: str, *shape: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == kind and value.shape == shape


def _is_a(value: Any, name: str) -> bool:
    return name_state(type(value)) == name


# --- classes of fitted state -------------------------------------------------------------------------------------


def _check_schema(schema: Any) -> None:
    n, names, categories = schema.n_features, schema.feature_names, schema.categories
    _require(_is_count(n, _MOST_FEATURES) and n > 0, "a table must have columns")
    named = isinstance(names, tuple) and len(names) == n and all(isinstance(name, str) for name in names)
    _require(names is None or named, "every column must have a name, or none")
    _require(isinstance(categories, tuple) and len(categories) == n, "every column must have its categories or None")
    for levels in categories:
        _require(levels is None or (isinstance(levels, np.ndarray) and levels.ndim == 1), "categories must be a list")
        known = levels is None or levels.dtype.kind == "f" or all(isinstance(v, str) for v in levels.tolist())
        _require(known, "categories must be text or numbers")
    _require(schema.dtype in (np.dtype("f4"), np.dtype("f8")), "a table holds float32 or float64")
    _require(schema.unseen in ("missing", "error"), "what unseen categories mean must be known")
    if schema.inputs is not None:
        _require(_is_a(schema.inputs, "InputColumns"), "the columns of a table are described")
        _require(int(schema.inputs.starts[-1]) == n, "every feature must come from a column")
        numbers = np.array([kind == "number" for kind in schema.inputs.kinds])[schema.inputs.owners]
        _require(all(numbers[k] or categories[k] is None for k in range(n)), "dates and lists have no categories")
        _require((names is None) == (schema.inputs.names is None), "every column must have a name, or none")


def _check_inputs(inputs: Any) -> None:
    names, kinds, parts = inputs.names, inputs.kinds, inputs.parts
    listed = isinstance(kinds, tuple) and isinstance(parts, tuple) and 0 < len(kinds) == len(parts)
    _require(listed, "every column must have a kind")
    named = isinstance(names, tuple) and len(names) == len(kinds) and all(isinstance(name, str) for name in names)
    _require(names is None or named, "every column must have a name, or none")
    for kind, own in zip(kinds, parts, strict=True):
        _require(isinstance(kind, str) and kind in KINDS, f"columns of the kind {kind!r} are not known")
        _require(isinstance(own, tuple) and all(isinstance(part, str) for part in own), "parts are named")
        if kind in DATE_KINDS:
            _require(own[:1] == ("seconds",) and set(own[1:]) <= set(PARTS), "dates have known parts")
        elif kind == "list":
            _require(len(own) > 0 and own == tuple(map(str, range(len(own)))), "lists have numbered parts")
        else:
            _require(own == (("value",) if kind == "number" else ("seconds",)), "a column has one value")


def _check_sample_plan(plan: Any) -> None:
    n = plan.n_rows
    _require(_is_count(n) and n > 0 and _is_count(plan.n_draws), "numbers of rows must be below 2**32")
    _require(isinstance(plan.replace, bool) and isinstance(plan.whole_groups, bool), "switches must be true or false")
    _require(isinstance(plan.stratum_draws, tuple) and all(map(_is_count, plan.stratum_draws)), "draws must be counts")
    if plan.strata is not None:
        strata = plan.strata
        _require(_is_array(strata, "u", n) and strata.dtype.itemsize == 4, "every row must have a stratum")
        _require(int(strata.max()) < n, "there cannot be more strata than rows")
        if not plan.whole_groups:
            _require(len(plan.stratum_draws) == int(strata.max()) + 1, "every stratum must have its number of draws")
    else:
        _require(not plan.whole_groups and not plan.stratum_draws, "groups and strata must be known")
    if plan.weights is not None:
        weights = plan.weights
        _require(_is_array(weights, "f", n) and weights.dtype.itemsize == 8, "every row must have a weight")
        _require(np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any(), "weights must be finite")
    _require(plan.replace or plan.strata is not None or plan.n_draws <= n, "no more than all rows can be drawn")


def _check_member_samples(samples: Any) -> None:
    _require(_is_a(samples.plan, "SamplePlan"), "members need a plan of their samples")
    _require(_is_count(samples.seed, _MOST_SEED), "a seed must be a number below 2**64")
    _require(_is_count(samples.n_features, _MOST_FEATURES) and samples.n_features > 0, "a table must have columns")
    _require(_is_count(samples.n_drawn, _MOST_FEATURES), "drawn features must be counted")
    _require(isinstance(samples.replace_features, bool), "switches must be true or false")
    _require(samples.replace_features or samples.n_drawn <= samples.n_features, "features cannot be drawn twice")


def _check_isolation_samples(samples: Any) -> None:
    n, weights = samples.n_rows, samples.weights
    _require(_is_count(n) and n > 0 and _is_count(samples.n_draws) and samples.n_draws > 0, "rows must be counted")
    _require(isinstance(samples.replace, bool), "switches must be true or false")
    _require(_is_count(samples.n_features, _MOST_FEATURES) and samples.n_features > 0, "a table must have columns")
    _require(_is_count(samples.n_drawn, samples.n_features), "features cannot be drawn twice")
    if weights is not None:
        _require(_is_array(weights, "f", n) and weights.dtype.itemsize == 8, "every row must have a weight")
        _require(np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any(), "weights must be finite")
    places = n if weights is None else weights.sum() if (weights == np.floor(weights)).all() else np.inf
    _require(samples.replace or samples.n_draws <= places, "no more than all rows can be drawn")


def _check_leaf_record(record: Any) -> None:
    shares, values, offsets = record.shares, record.values, record.node_offsets
    _require(isinstance(shares, csr_matrix) and shares.dtype == np.float64, "shares must be a sparse matrix")
    _require(_is_array(values, "f", shares.shape[1]), "every column of the shares needs its value")
    _require(isinstance(offsets, np.ndarray) and offsets.ndim == 1 and offsets.dtype.kind == "i", "offsets are counts")
    _require(len(offsets) > 1 and offsets[0] == 0 and (np.diff(offsets) > 0).all(), "offsets must rise from 0")
    _require(int(offsets[-1]) == shares.shape[0], "every node must have its shares")


def _check_tree_view(view: Any) -> None:
    _require(isinstance(view._trees, get_engine().Trees), "a tree needs its arena")
    _require(_is_count(view._tree) and view._tree < view._trees.n_trees, "a tree must lie in its arena")
    _require(isinstance(view._criterion, str), "a criterion is named")


def _check_calibration(calibration: Any) -> None:
    n, curves = calibration._n_classes, calibration._curves
    _require(_is_count(n) and isinstance(curves, list), "a calibration has classes and curves")
    _require(len(curves) == (1 if n == 2 else n), "every class must have its curve")
    _require(all(_is_a(c, "Steps") or _is_a(c, "Sigmoid") for c in curves), "a curve must be of a known kind")


def _check_steps(steps: Any) -> None:
    places = steps._places
    _require(isinstance(places, np.ndarray) and places.ndim == 1 and len(places), "a curve needs places")
    _require(_is_array(places, "f", len(places)) and _is_array(steps._heights, "f", len(places)), "and heights")


def _check_sigmoid(sigmoid: Any) -> None:
    _require(isinstance(sigmoid._slope, float) and isinstance(sigmoid._offset, float), "a curve is of numbers")


def _check_tree_members(members: Any) -> None:
    _require(hasattr(members.estimator, "hold_tree") and is_estimator(type(members.estimator)), "members must be trees")
    _require(isinstance(members.trees, get_engine().Trees), "members must have an arena")
    _require(_is_a(members.schema, "Schema") and _is_a(members.samples, "MemberSamples"), "members need a schema")
    n_trees, n_features = members.trees.n_trees, members.trees.n_features
    _require(members.schema.n_features == n_features == members.samples.n_features, "members see the same features")
    _require(_is_array(members.importances, "f", n_trees, n_features), "every member must have importances")
    _require(n_trees > 0 and isinstance(members.named, dict), "there must be members")


def _check_any_members(members: Any) -> None:
    _require(_is_a(members.samples, "MemberSamples"), "members must have samples")
    _require(isinstance(members.estimators, list) and members.estimators, "there must be members")
    _require(all(map(is_predictor, members.estimators)), "members must be estimators")
    classes = members.n_classes
    _require(classes is None or (isinstance(classes, list) and all(map(_is_count, classes))), "classes are counted")


def _check_boosted_trees(members: Any) -> None:
    _require(hasattr(members.estimator, "hold_tree") and is_estimator(type(members.estimator)), "members must be trees")
    _require(isinstance(members.trees, get_engine().Trees) and members.trees.n_trees > 0, "members must have an arena")
    _require(_is_a(members.schema, "Schema"), "members need a schema")
    n_trees, n_features = members.trees.n_trees, members.trees.n_features
    _require(members.schema.n_features == n_features, "members see the same features")
    _require(_is_array(members.importances, "f", n_trees, n_features), "every member must have importances")
    _require(isinstance(members.named, dict) and _is_count(members.seed, _MOST_SEED), "members have a target")


def _check_boosted_members(members: Any) -> None:
    _require(isinstance(members.estimators, list) and members.estimators, "there must be members")
    _require(all(map(is_predictor, members.estimators)), "members must be estimators")
    _require(isinstance(members.classes, np.ndarray) and members.classes.ndim == 1, "classes are listed")


def _check_rule(rule: Any) -> None:
    _require(_is_count(rule.n_classes) and rule.n_classes > 0, "classes are counted")
    _require(isinstance(rule.least, float) and 0.0 <= rule.least < 1.0, "a probability is below one")
    _require(isinstance(rule.learning_rate, float) and rule.learning_rate > 0.0, "a learning rate must be above zero")


def _check_label_target(target: Any) -> None:
    _require(isinstance(target.classes, np.ndarray) and target.classes.ndim == 1, "classes are listed")
    _require(isinstance(target.has, np.ndarray) and target.has.dtype == bool, "labels are true or false")
    _require(isinstance(target.multilabel, bool), "switches must be true or false")


def _check_word_votes(model: Any) -> None:
    words, votes = model.words, model.votes
    _require(isinstance(words, np.ndarray) and words.ndim == 1 and words.dtype.kind == "i", "words are columns")
    _require(isinstance(votes, np.ndarray) and votes.ndim == 3 and votes.dtype == np.float64, "votes are numbers")
    _require(votes.shape[:2] == (len(words), 2) and (words >= 0).all(), "every word must have its votes")


def _check_layer(layer: Any) -> None:
    lists = (layer.names, layer.members, layer.methods, layer.widths)
    _require(all(isinstance(part, list) for part in lists), "a layer is made of lists")
    _require({len(part) for part in lists} == {len(layer.members)} and layer.members, "each member has a name")
    known = {"predict", "predict_proba", "decision_function"}
    pairs = zip(layer.members, layer.methods, strict=True)
    callable_ones = all(method in known and callable(getattr(member, method, None)) for member, method in pairs)
    _require(callable_ones, "members must have the method that is called")
    _require(layer.classes is None or isinstance(layer.classes, list), "classes are listed")


def _check_fold_average(average: Any) -> None:
    _require(isinstance(average.models, list) and average.models, "there must be models of folds")
    _require(all(map(is_predictor, average.models)), "models of folds must be estimators")
    _require(average.classes is None or isinstance(average.classes, list), "classes are listed")


def _check_blend(blend: Any) -> None:
    _require(blend.how in ("mean", "majority", "nonnegative") and _is_count(blend.n_members), "a blend has members")
    _require(_is_array(blend.weights_, "f", blend.n_members), "every member must have its weight")


def _check_loss(loss: Any) -> None:
    _require(loss.name in list_losses() and isinstance(loss.parameter, float), "a loss has a name and a parameter")
    _require(_is_count(loss.n_scores) and loss.n_scores > 0, "a loss has scores")
    levels = loss.levels
    known = isinstance(levels, tuple) and all(isinstance(v, float) and 0.0 < v < 1.0 for v in levels)
    ascending = known and len(levels) in (0, loss.n_scores) and list(levels) == sorted(set(levels))
    _require(ascending and (not levels or loss.name == "quantile"), "levels of quantiles ascend, one a score")


def _check_encoding(encoding: Any) -> None:
    n_numbers, n_levels = len(encoding.numbers), len(encoding.level_columns)
    columns = (encoding.numbers, encoding.gaps, encoding.level_columns)
    _require(all(_is_array(part, "i", len(part)) for part in columns), "columns are counted")
    _require(all((part >= 0).all() for part in columns), "columns are counted")
    _require(_is_array(encoding.means, "f", n_numbers), "every number must have a mean")
    _require(_is_array(encoding.scales, "f", n_numbers), "every number must have a scale")
    _require(_is_array(encoding.level_codes, "i", n_levels), "every level must have a code")


def _count_outputs(member: Any) -> int:
    """Number of outputs of a baseline member: a probability for each class, or a value."""
    classes = member.classes_
    _require(
        isinstance(member.classify, bool) and (classes is None) != member.classify, "classes or values are predicted"
    )
    _require(classes is None or (isinstance(classes, np.ndarray) and classes.ndim == 1), "classes are listed")
    return 1 if classes is None else len(classes)


def _count_encoded(member: Any) -> int:
    encoding = member.encoding_
    _require(_is_a(encoding, "TableEncoding"), "members need numbers")
    return len(encoding.numbers) + len(encoding.gaps) + len(encoding.level_columns)


def _check_prior(member: Any) -> None:
    _require(_is_array(member.means_, "f", _count_outputs(member)), "every class must have a share")


def _check_linear(member: Any) -> None:
    width = _count_outputs(member)
    _require(_is_array(member.coef_, "f", width, _count_encoded(member)), "every number must have a coefficient")
    _require(_is_array(member.intercept_, "f", width), "every class must have an intercept")


def _check_neighbours(member: Any) -> None:
    width, n_rows = _count_outputs(member), len(member.counts_)
    _require(_is_array(member.table_, "f", n_rows, _count_encoded(member)) and n_rows, "rows have the same numbers")
    _require(_is_array(member.goal_, "f", n_rows, width), "every row must have a target")
    counted = _is_array(member.counts_, "f", n_rows) and np.isfinite(member.counts_).all()
    _require(counted and (member.counts_ > 0.0).all(), "every row must count")


def _check_kernel(member: Any) -> None:
    width, n_landmarks = _count_outputs(member), len(member.landmarks_)
    _require(_is_array(member.landmarks_, "f", n_landmarks, _count_encoded(member)), "landmarks are rows")
    _require(_is_array(member.coef_, "f", n_landmarks, width), "every landmark must have a factor")
    _require(_is_array(member.intercept_, "f", width), "every class must have an intercept")
    _require(isinstance(member.width_, float) and member.width_ > 0.0, "a kernel has a width")
    _require(isinstance(member.slope_, float), "a kernel has a slope")


def _check_bayes(member: Any) -> None:
    width, n_features = _count_outputs(member), len(member.n_levels_)
    counted = _is_array(member.n_levels_, "i", n_features) and (member.n_levels_ >= 0).all()
    _require(counted and isinstance(member.cuts_, list) and len(member.cuts_) == n_features, "every feature has bins")
    for cuts, n_levels in zip(member.cuts_, member.n_levels_, strict=True):
        _require(_is_array(cuts, "f", len(cuts)) and len(cuts) <= n_levels, "bins lie between thresholds")
    n_bins = int(member.n_levels_.sum()) + n_features
    _require(_is_array(member.logs_, "f", n_bins, width), "every bin must have a share of each class")
    _require(_is_array(member.prior_, "f", width), "every class must have a share")
    _require(isinstance(member.slope_, float), "naive Bayes has a slope")


def _count_terms(member: Any, table: Any, n_answers: int) -> None:
    """The last columns of a table of coefficients are those of terms."""
    _require(_is_count(member.n_columns), "columns are counted")
    known = isinstance(table, np.ndarray) and table.ndim == 2
    _require(known and _is_array(table, "f", n_answers, table.shape[1]), "every term must have a coefficient")


def _check_word_linear(member: Any) -> None:
    width = _count_outputs(member)
    _count_terms(member, member.coef_, width)
    _require(member.coef_.shape[1] > _count_encoded(member), "every number must have a coefficient")
    _require(_is_array(member.intercept_, "f", width), "every class must have an intercept")


def _check_word_bayes(member: Any) -> None:
    width = _count_outputs(member)
    _count_terms(member, member.logs_, width)
    _require(_is_array(member.prior_, "f", width), "every class must have a share")


def _check_words(words: Any) -> None:
    n_terms = len(words.terms)
    known = _is_array(words.terms, "O", n_terms) and all(isinstance(term, str) for term in words.terms)
    _require(known and len(set(words.terms)) == n_terms, "terms are distinct words")
    _require(_is_array(words.rarities, "f", n_terms), "every term must have a rarity")
    _require(isinstance(words.axes, np.ndarray) and words.axes.ndim == 2, "themes are axes")
    _require(_is_array(words.axes, "f", n_terms, words.axes.shape[1]), "every term must be in the themes")


def _check_texts(texts: Any) -> None:
    listed = isinstance(texts.places, tuple) and all(_is_count(k) for k in texts.places)
    _require(listed and isinstance(texts.words, tuple) and len(texts.words) == len(texts.places), "texts have places")
    _require(all(_is_a(words, "WordEncoding") for words in texts.words), "texts are made of words")


def _check_logs(scale: Any) -> None:
    _require(all(isinstance(v, float) for v in (scale.factor, scale.lowest, scale.highest)), "scales are numbers")
    _require(scale.lowest <= scale.highest and hasattr(scale.member, "predict"), "logarithms are predicted")


_CHECKS: dict[str, Callable[[Any], None]] = {
    "Schema": _check_schema,
    "InputColumns": _check_inputs,
    "SamplePlan": _check_sample_plan,
    "MemberSamples": _check_member_samples,
    "IsolationSamples": _check_isolation_samples,
    "LeafRecord": _check_leaf_record,
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
    "LabelTarget": _check_label_target,
    "WordVotes": _check_word_votes,
    "Layer": _check_layer,
    "FoldAverage": _check_fold_average,
    "ShareBlend": _check_blend,
    "ValueBlend": _check_blend,
    "TableEncoding": _check_encoding,
    "PriorMember": _check_prior,
    "LinearMember": _check_linear,
    "NeighbourMember": _check_neighbours,
    "KernelMember": _check_kernel,
    "BayesMember": _check_bayes,
    "WordLinearMember": _check_word_linear,
    "WordBayesMember": _check_word_bayes,
    "WordEncoding": _check_words,
    "TextReader": _check_texts,
    "LogScale": _check_logs,
}


# --- estimators --------------------------------------------------------------------------------------------------


def _check_estimator(model: Any) -> None:
    """Whatever estimator it is: parts that several of them have under the same name."""
    check_fitted_attributes(model)
    state = vars(model)
    schema, trees = state.get("_schema"), state.get("_trees")
    if schema is not None:
        _require(_is_a(schema, "Schema"), "a schema describes the columns")
        _require(state.get("n_features_in_") == schema.n_inputs, "the schema must have the model's features")
    if trees is not None:
        _require(isinstance(trees, get_engine().Trees) and schema is not None, "trees need an arena and a schema")
        _require(trees.n_trees > 0 and trees.n_features == schema.n_features, "trees use the model's features")
        _check_classes(state, list(trees.outputs))
    if "_slots" in state:
        _check_boosted(state, trees)
    if "_samples" in state:
        _require(
            _is_a(state["_samples"], "SamplePlan") or _is_a(state["_samples"], "MemberSamples"), "samples are drawn"
        )
        _check_row_counts(state)
    if "_draws" in state:
        draws, offset = state["_draws"], state.get("offset_")
        _require(_is_a(draws, "IsolationSamples") and schema is not None and trees is not None, "samples are drawn")
        _require(draws.n_features == schema.n_features and trees.width == 1, "samples are of the model's table")
        _require(state.get("max_samples_") == draws.n_draws, "the size of a sample must be known")
        _require(isinstance(offset, float) and np.isfinite(offset), "the offset must be a number")
    if "_members" in state:
        listed = ("TreeMembers", "AnyMembers", "BoostedTrees", "BoostedMembers")
        _require(any(_is_a(state["_members"], name) for name in listed), "members are listed")
        if "estimator_weights_" in state:
            n_members = len(getattr(state["_members"], "estimators", state["_members"]))
            n_rounds = n_members // getattr(state.get("_rule"), "width", 1)
            _require(_is_array(state["estimator_weights_"], "f", n_rounds), "every member must have a weight")
    if "_seed" in state:
        _require(_is_count(state["_seed"], _MOST_SEED), "a seed must be a number below 2**64")
    if _is_a(state.get("_model"), "WordVotes"):
        words, n_features = state["_model"].words, state.get("n_features_in_")
        _require(_is_count(n_features, _MOST_FEATURES) and (words < n_features).all(), "words must be in the table")
        known = schema is not None or callable(getattr(state.get("vectorizer_"), "transform", None))
        _require(known, "a model of documents needs what finds the words")
    if "_oof_errors" in state:
        errors = state["_oof_errors"]
        _require(isinstance(errors, np.ndarray) and errors.dtype.kind == "f" and errors.ndim == 2, "errors are ranked")
        _require(errors.shape[1] == 2, "every error has its rank")
    if "_leaf_record" in state:
        record = state["_leaf_record"]
        same = _is_a(record, "LeafRecord") and trees is not None
        _require(same and np.array_equal(record.node_offsets, trees.node_offsets), "shares are of the trees' nodes")


def _check_row_counts(state: dict[str, Any]) -> None:
    """What has an entry for each training row has as many as samples are drawn from."""
    plan = state["_samples"] if _is_a(state["_samples"], "SamplePlan") else state["_samples"].plan
    for name in ("_oob_errors", "oob_decision_function_", "oob_prediction_"):
        held = state.get(name)
        outputs = held if isinstance(held, list) else [held]
        known = held is None or all(
            isinstance(part, np.ndarray) and part.shape[:1] == (plan.n_rows,) for part in outputs
        )
        known = known and (held is None or len(outputs) > 0)
        _require(known, f"{name} must have an entry for each row")


def _check_boosted(state: dict[str, Any], trees: Any) -> None:
    """Every tree adds to a score that there is."""
    slots, loss, baseline = state["_slots"], state.get("_loss"), state.get("_baseline")
    _require(_is_a(loss, "LossFunction") and trees is not None, "boosted trees have a loss")
    assert loss is not None
    n = loss.n_scores
    _require(_is_array(slots, "u", trees.n_trees) and slots.dtype.itemsize == 4, "every tree adds to a score")
    _require((slots < n).all() and _is_array(baseline, "f", n), "every score has its baseline")
    _require("_gains" not in state or _is_array(state["_gains"], "f", trees.n_features), "every feature has its gain")
    _require(trees.width in (1, n), "leaves have a value for one score or for all")
    classes = state.get("classes_")
    known = isinstance(classes, np.ndarray) and (n == 1 if len(classes) == 2 else n == len(classes))
    n_outputs = 1 if loss.levels else n
    _require(known if classes is not None else state.get("n_outputs_") == n_outputs, "every output has its score")


def _check_classes(state: dict[str, Any], outputs: list[int]) -> None:
    """Leaves hold a weight for each class that the model names."""
    classes = state.get("classes_")
    if classes is None or not outputs:
        return
    known = [len(part) for part in (classes if isinstance(classes, list) else [classes])]
    _require(known == outputs, "leaves must have a weight for each class")


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
