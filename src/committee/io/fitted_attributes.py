"""What fitted estimators consist of, as far as predictions need it: the kind of each attribute, and who needs which.

A kind is written as in ``ATTRIBUTES``: the name of a class of `registry.STATES`; ``Trees``; ``count``, ``number``,
``truth``, ``text`` or ``estimator``; ``classes`` (an array of labels, or a list of them, one for each output);
``estimators``, ``layers`` and ``shapes``, which are lists; or an array, perhaps sparse, by the kind of its numbers and
its axes. An axis is ``columns`` (of the user's table), ``features`` (of the encoded one), ``classes``, ``members``, or
``*`` for any length. Alternatives are separated by a bar. An attribute that is not listed may be anything, and no
prediction depends on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from committee.engines import get_engine
from committee.exceptions import ModelFileError
from committee.io.registry import STATES, is_training_only, name_state

__all__ = ["ATTRIBUTES", "NEEDED", "check_fitted_attributes", "is_predictor"]

_MOST = 1 << 32

#: By name, for every estimator that has such an attribute.
ATTRIBUTES: dict[str, str] = {
    "_schema": "Schema",
    "_trees": "Trees",
    "_loss": "LossFunction|JoinedLoss",
    "_baseline": "f[*]",
    "_calibration": "ShareCalibration|None",
    "_texts": "TextReader",
    "_method": "text",
    "_oob_errors": "f[*]|f[*,*]",
    "_oob_halves": "f[*,6]",
    "_oob_labels": "i[*]",
    "_oof_errors": "f[*,*]",
    "_draws": "IsolationSamples",
    "max_samples_": "count",
    "offset_": "number",
    "_leaf_hazards": "LeafHazards",
    "_link": "SurvivalLink",
    "_shapes": "shapes",
    "_ordinal_link": "OrdinalLink",
    "distribution_": "text",
    "scale_": "number",
    "event_times_": "f[*]",
    "_takes_median": "truth",
    "_classes": "listed classes",
    "classes_": "classes",
    "n_classes_": "count|i[*]",
    "n_features_in_": "count",
    "n_outputs_": "count",
    "feature_names_in_": "O[columns]|U[columns]|T[columns]",
    "n_trees_per_iteration_": "count",
    "n_iter_": "count",
    "n_estimators_": "count",
    "n_queries_": "count",
    "max_features_": "count",
    "tree_": "TreeView",
    "_importances": "f[features]|f[*,features]|sparse f[*,features]",
    "_gains": "f[features]",
    "estimator_": "estimator",
    "_outputs": "estimators",
    "estimators_": "estimators",
    "final_estimator_": "estimator",
    "layers_": "layers",
    "stack_method_": "list",
    "weights_": "f[members]|None",
    "power_": "number",
    "class_count_": "f[classes]",
    "class_log_prior_": "f[classes]",
    "feature_count_": "f[classes,features]",
    "feature_log_prob_": "f[classes,features]",
    "feature_": "count",
    "thresholds_": "f[*]|None",
    "value_log_prob_": "f[classes,*]",
    "errors_": "f[features]",
    "votes_": "f[*,*,*]",
    "words_": "i[*]|O[*]|U[*]|T[*]",
    "estimator_weights_": "f[*]",
    "estimator_errors_": "f[*]",
    "_model": "WordVotes",
    "_target": "LabelTarget",
}

#: By estimator and name, where it differs. Documents have no columns.
_OWN_KINDS = {("BoosTexterClassifier", "_schema"): "Schema|None"}

_TABLE = ("_schema", "n_features_in_")
_CLASSES = ("classes_", "n_classes_")
_TREE = (*_TABLE, "_trees", "tree_", "n_outputs_", "max_features_", "_importances")
_FOREST = (*_TABLE, "_trees", "_seed", "_samples", "n_outputs_", "_importances")
_BAG = (*_TABLE, "_members", "_samples", "estimator_", "n_outputs_")
_BOOSTED = (*_TABLE, "_trees", "_slots", "_baseline", "_loss", "n_outputs_", "n_trees_per_iteration_", "_gains")
_ADDITIVE = (*_TABLE, "_trees", "_slots", "_baseline", "_loss", "_shapes", "n_outputs_", "n_iter_")
_NAMED = ("estimators_", "named_estimators_", "n_outputs_")
_STACK = (*_NAMED, "layers_", "final_estimator_", "stack_method_")
_WEIGHTED = (*_NAMED, "weights_", "_method")
_AUTOML = (*_TABLE, "estimators_", "weights_", "power_")

#: Attributes without which a fitted estimator cannot predict, or say what it has learnt.
NEEDED: dict[str, tuple[str, ...]] = {
    "DecisionTreeClassifier": (*_TREE, *_CLASSES),
    "DecisionTreeRegressor": _TREE,
    "ExtraTreeClassifier": (*_TREE, *_CLASSES),
    "ExtraTreeRegressor": _TREE,
    "DecisionStumpClassifier": (*_TREE, *_CLASSES),
    "BernoulliNB": (*_TABLE, "classes_", "class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"),
    "SingleFeatureNB": (*_TABLE, "classes_", "class_log_prior_", "value_log_prob_", "feature_", "thresholds_"),
    "RandomForestClassifier": (*_FOREST, *_CLASSES),
    "RandomForestRegressor": _FOREST,
    "ExtraTreesClassifier": (*_FOREST, *_CLASSES),
    "ExtraTreesRegressor": _FOREST,
    "RandomSurvivalForest": (*_FOREST, "_leaf_hazards", "event_times_"),
    "RandomTreesEmbedding": (*_TABLE, "_trees", "_seed", "_importances"),
    "IsolationForest": (*_TABLE, "_trees", "_seed", "_draws", "max_samples_", "offset_"),
    "BaggingClassifier": (*_BAG, *_CLASSES),
    "BaggingRegressor": _BAG,
    "AdaBoostClassifier": (*_TABLE, *_CLASSES, "_members", "_rule", "_seed", "estimator_", "estimator_weights_"),
    "ArcingClassifier": (*_TABLE, *_CLASSES, "_members", "_rule", "estimator_", "estimator_weights_"),
    "AdaBoostRegressor": (*_TABLE, "_members", "_takes_median", "estimator_", "estimator_weights_"),
    "BoosTexterClassifier": ("_model", "_target", "_schema", "classes_", "vectorizer_", "n_features_in_"),
    "GradientBoostingClassifier": (*_BOOSTED, *_CLASSES, "n_estimators_"),
    "GradientBoostingRegressor": (*_BOOSTED, "n_estimators_"),
    "GradientBoostingRanker": (*_BOOSTED, "n_estimators_", "n_queries_"),
    "HistGradientBoostingClassifier": (*_BOOSTED, *_CLASSES, "n_iter_"),
    "HistGradientBoostingRegressor": (*_BOOSTED, "n_iter_"),
    "GradientBoostingSurvivalAnalysis": (*_BOOSTED, "n_iter_", "_link", "event_times_"),
    "DistributionalBoostingRegressor": (*_BOOSTED, "n_estimators_", "distribution_"),
    "OrdinalGradientBoostingClassifier": (*_BOOSTED, *_CLASSES, "n_estimators_", "_ordinal_link"),
    "ExplainableBoostingClassifier": (*_ADDITIVE, *_CLASSES),
    "ExplainableBoostingRegressor": _ADDITIVE,
    "VotingClassifier": (*_NAMED, "classes_", "_classes", "weights_"),
    "VotingRegressor": (*_NAMED, "weights_"),
    "StackingClassifier": (*_STACK, "classes_", "_classes"),
    "StackingRegressor": _STACK,
    "SuperLearnerClassifier": (*_WEIGHTED, "classes_", "_classes"),
    "SuperLearnerRegressor": _WEIGHTED,
    "EnsembleSelectionClassifier": (*_WEIGHTED, "classes_", "_classes"),
    "EnsembleSelectionRegressor": _WEIGHTED,
    "CommitteeClassifier": (*_AUTOML, "classes_"),
    "CommitteeRegressor": (*_AUTOML, "_oof_errors"),
}

#: The same where an ensemble of one target stands for each of several ones.
_NEEDED_OF_SEVERAL = {
    "AdaBoostClassifier": (*_TABLE, *_CLASSES, "estimator_", "n_outputs_"),
    "AdaBoostRegressor": (*_TABLE, "estimator_", "n_outputs_"),
    "CommitteeClassifier": (*_TABLE, "classes_", "n_outputs_"),
    "CommitteeRegressor": (*_TABLE, "n_outputs_"),
}


def check_fitted_attributes(model: Any) -> None:
    """Refuse an estimator that lacks what its predictions need, or has it of another kind.

    Parameters
    ----------
    model : estimator
        With the attributes that a file gave it; one without any is not fitted, which is fine.
    """
    state, name = vars(model), type(model).__name__
    needed = (_NEEDED_OF_SEVERAL if "_outputs" in state else NEEDED).get(name, ())
    fitted = [attribute for attribute in state if attribute in ATTRIBUTES or attribute in needed]
    if not fitted:
        return
    missing = [attribute for attribute in needed if attribute not in state]
    if "_stripped" in state:
        missing = [attribute for attribute in missing if not is_training_only(attribute)]
    if missing:
        raise _refuse(f"a fitted {name} must have {missing[0]}")
    for attribute in fitted:
        kinds = _OWN_KINDS.get((name, attribute), ATTRIBUTES.get(attribute))
        if kinds is not None and not any(_is_kind(state[attribute], kind, state) for kind in kinds.split("|")):
            raise _refuse(f"{attribute} of {name} must be of the kind {kinds}")
    if not _have_equal_classes(state):
        raise _refuse(f"the classes of {name} must be as many as it says")


def is_predictor(value: object) -> bool:
    """Whether a value is an estimator that predicts; a class, an array or a text is not."""
    return not isinstance(value, type) and callable(getattr(value, "predict", None))


def _refuse(sentence: str) -> ModelFileError:
    return ModelFileError(f"The parts of the model do not fit together: {sentence}.")


def _is_kind(value: Any, kind: str, state: dict[str, Any]) -> bool:
    if kind in STATES:
        return name_state(type(value)) == kind
    if kind.startswith("sparse "):
        return isinstance(value, csr_array) and _is_array(value, kind.removeprefix("sparse "), state)
    if kind.endswith("]"):
        return isinstance(value, np.ndarray) and _is_array(value, kind, state)
    if kind == "count":
        return isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= int(value) < _MOST
    if kind == "number":
        return isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if kind == "estimators":
        return isinstance(value, list) and len(value) > 0 and all(map(is_predictor, value))
    if kind == "layers":
        return isinstance(value, list) and len(value) > 0 and all(name_state(type(v)) == "Layer" for v in value)
    if kind == "shapes":
        return isinstance(value, list) and len(value) > 0 and all(name_state(type(v)) == "TermShape" for v in value)
    if kind in ("classes", "listed classes"):
        outputs = value if isinstance(value, list) else [value]
        listed = isinstance(value, list) or kind == "classes"
        return listed and len(outputs) > 0 and all(isinstance(c, np.ndarray) and c.ndim == 1 for c in outputs)
    simple = {"None": type(None), "truth": bool | np.bool_, "text": str, "list": list}
    if kind in simple:
        return isinstance(value, simple[kind])
    return isinstance(value, get_engine().Trees) if kind == "Trees" else is_predictor(value)


def _is_array(value: Any, kind: str, state: dict[str, Any]) -> bool:
    axes = kind[2:-1].split(",")
    if value.dtype.kind != kind[0] or value.ndim != len(axes):
        return False
    return all(axis == "*" or size == _count_axis(axis, state) for size, axis in zip(value.shape, axes, strict=True))


def _count_axis(axis: str, state: dict[str, Any]) -> int | None:
    if axis.isdigit():
        return int(axis)
    if axis in ("columns", "features"):
        schema, n_features = state.get("_schema"), state.get("n_features_in_")
        if axis == "features" and name_state(type(schema)) == "Schema":  # a date is several features
            n_features = getattr(schema, "n_features", None)
        return int(n_features) if isinstance(n_features, int | np.integer) else None
    counted = state.get("classes_" if axis == "classes" else "estimators_")
    return len(counted) if isinstance(counted, list | np.ndarray) else None


def _have_equal_classes(state: dict[str, Any]) -> bool:
    """Whether classes are as many in every attribute that lists or counts them."""
    classes = state.get("classes_")
    if classes is None:
        return True
    outputs = classes if isinstance(classes, list) else [classes]
    sizes = [len(part) for part in outputs]
    counts = state.get("n_classes_")
    if counts is not None and sizes != np.atleast_1d(counts).tolist():
        return False
    if "_classes" in state and sizes != [len(part) for part in state["_classes"]]:
        return False
    n_outputs = state.get("n_outputs_", len(sizes))
    return bool(n_outputs == len(sizes) and isinstance(classes, list) == (n_outputs > 1))
