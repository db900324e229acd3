"""Names that other libraries use for parameters, values, scores and attributes: error messages give the name used here.

Nothing of this is accepted in place of our names: one thing has one name, in code and in model files.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from committee.exceptions import ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["answer_arguments", "check_scorer", "hint_attribute", "hint_parameter", "hint_value"]

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")

# Ours first, then theirs (scikit-learn's other classes and old names, LightGBM, XGBoost, CatBoost, ranger, mlxtend).
# Of several of ours the first that a class has is meant.
_PARAMETERS = {
    ("n_estimators", "max_iter", "n_members"): "n_estimators max_iter num_boost_round num_iterations iterations "
    "num_round num_trees n_trees ntree n_rounds num_estimators n_iter",
    ("max_leaf_nodes",): "num_leaves max_leaves num_leaf",
    ("max_depth",): "depth",
    ("min_samples_leaf",): "min_child_samples min_data_in_leaf min_node_size nodesize min_data",
    ("min_child_weight",): "min_sum_hessian_in_leaf min_hessian",
    ("min_samples_split",): "min_data_in_split",
    ("learning_rate",): "eta shrinkage shrinkage_rate",
    ("subsample", "max_samples"): "subsample bagging_fraction sample_fraction sample_rate",
    ("max_samples",): "subsample_size sampsize",
    ("colsample_bytree", "max_features"): "colsample_bytree feature_fraction col_sample_rate sub_feature",
    ("colsample_bylevel", "max_features"): "colsample_bylevel rsm",
    ("colsample_bynode", "max_features"): "colsample_bynode feature_fraction_bynode",
    ("max_features",): "mtry max_feature",
    ("reg_alpha",): "lambda_l1 l1_regularization",
    ("reg_lambda", "l2_regularization"): "reg_lambda l2_regularization lambda_l2 l2_leaf_reg",
    ("gamma", "min_impurity_decrease"): "gamma min_split_gain min_gain_to_split min_split_loss min_impurity_split",
    ("max_bins",): "max_bin border_count",
    ("monotonic_cst",): "monotone_constraints monotonic_constraints",
    ("interaction_cst",): "interaction_constraints feature_interaction_constraints",
    ("categorical_features",): "categorical_feature cat_features cat_feature categorical_columns",
    ("text_columns",): "text_features text_feature",
    ("random_state",): "seed random_seed",
    ("n_jobs",): "nthread n_thread num_threads num_thread thread_count n_threads",
    ("verbose",): "verbosity silent logging_level",
    ("loss",): "objective loss_function",
    ("n_iter_no_change", "oob_patience"): "n_iter_no_change early_stopping_rounds early_stopping_round od_wait",
    ("boosting",): "boosting_type booster",
    ("growth",): "grow_policy",
    ("splitter",): "extra_trees extra_tree",
    ("class_weight",): "class_weights",
    ("estimator",): "base_estimator weak_learner base_learner",
    ("estimators",): "classifiers regressors models",
    ("final_estimator",): "meta_classifier meta_regressor meta_learner meta_model",
    ("passthrough",): "use_features_in_secondary",
    ("voting",): "vote",
    ("bootstrap",): "replace",
    ("oob_score",): "oob",
    ("truncation_level",): "lambdarank_truncation_level max_position lambdarank_num_pair_per_sample",
    ("normalize",): "lambdarank_norm lambdarank_normalization",
    ("time_budget",): "time_limit max_time",
}
_CALLED = {theirs: ours for ours, listed in _PARAMETERS.items() for theirs in listed.split()}

# What has no name of its own here, and why.
_REMARKS = {
    "scale_pos_weight is_unbalance unbalanced auto_class_weights": "Use class_weight, a dict or 'balanced', or give "
    "sample_weight to fit.",
    "eval_metric metric metrics eval_set": "What is measured while fitting is an argument of GradientBoosting*.fit; "
    "what early stopping goes by is the parameter 'scoring'.",
    "tree_method predictor": "There is nothing to choose: trees grow from histograms.",
    "device device_type gpu_id task_type gpu_platform_id": "engine='gpu' of GradientBoosting* and "
    "HistGradientBoosting* computes the rounds on the current CUDA device; all else runs on the CPU.",
    "missing use_missing nan_mode": "Missing values (NaN, None, null) are known as such.",
    "enable_categorical max_cat_to_onehot one_hot_max_size": "Columns of a categorical or text type are categories; "
    "see 'categorical_features'.",
    "importance_type": "feature_importances_ are fractions of the gain; committee.inspection has other importances.",
    "criterion": "Trees of boosting follow the loss; they have no criterion of their own.",
    "num_class": "The classes are those found in y.",
    "deterministic force_row_wise force_col_wise": "With a random_state results are the same for any number of "
    "threads.",
    "use_label_encoder": "Classes may be text or numbers as they are.",
    "prefit": "Fitted estimators are taken with cv='prefit', or wrapped in sklearn.frozen.FrozenEstimator.",
}
_SAID = {theirs: remark for listed, remark in _REMARKS.items() for theirs in listed.split()}

_VALUES = {
    "log_loss": "deviance binomial_deviance binary binary_crossentropy multiclass multiclassova binary:logistic "
    "binary:logitraw multi:softmax multi:softprob logloss logistic softmax crossentropy categorical_crossentropy",
    "squared_error": "ls mse rmse l2 least_squares regression regression_l2 reg:squarederror reg:linear squared_loss "
    "mean_squared_error",
    "absolute_error": "lad mae l1 least_absolute_deviation regression_l1 reg:absoluteerror mean_absolute_error",
    "poisson": "count:poisson",
    "gamma": "reg:gamma",
    "tweedie": "reg:tweedie",
    "quantile": "reg:quantileerror",
    "huber": "reg:pseudohubererror",
    "lambdarank": "rank:ndcg lambdamart yetirank ndcg",
    "pairwise": "rank:pairwise ranknet pairlogit",
    "listwise": "rank_xendcg xendcg xe_ndcg listnet queryrmse querysoftmax",
    "plain": "gbdt gbtree",
    "leaf": "lossguide leafwise leaf_wise",
    "level": "depthwise levelwise level_wise",
    "symmetric": "symmetrictree oblivious",
}
_MEANT = {theirs: ours for ours, listed in _VALUES.items() for theirs in listed.split()}

_SCORERS = {
    "roc_auc": "auc rocauc roc",
    "neg_log_loss": "log_loss logloss binary_logloss multi_logloss cross_entropy mlogloss multiclass binary",
    "accuracy": "acc error binary_error multi_error merror",
    "neg_root_mean_squared_error": "rmse root_mean_squared_error l2_root",
    "neg_mean_squared_error": "mse mean_squared_error l2",
    "neg_mean_absolute_error": "mae mean_absolute_error l1",
    "neg_mean_absolute_percentage_error": "mape",
    "average_precision": "aucpr pr_auc",
    "neg_brier_score": "brier",
}
_SCORED = {theirs: ours for ours, listed in _SCORERS.items() for theirs in listed.split()}

_ATTRIBUTES = {
    "save_model": "committee.save(model, path) writes a model file.",
    "load_model": "committee.load(path) reads a model file.",
    "booster_": "The model is the estimator itself; committee.save writes it, committee.inspection looks into it.",
    "get_booster": "The model is the estimator itself; committee.save writes it, committee.inspection looks into it.",
    "feature_name_": "They are feature_names_in_.",
    "feature_names_": "They are feature_names_in_.",
    "n_features_": "It is n_features_in_.",
    "n_classes_": "It is len(model.classes_).",
    "best_score_": "evals_result_ has the values of every round, validation_score_ those of the rows held out.",
    "best_ntree_limit": "It is best_iteration_ + 1.",
    "best_iteration": "It is best_iteration_.",
    "evals_result": "It is the attribute evals_result_.",
    "get_feature_importance": "It is the attribute feature_importances_.",
    "feature_importance": "It is the attribute feature_importances_.",
    "base_estimator_": "It is estimator_.",
    "base_estimator": "It is estimator.",
    "get_best_iteration": "It is the attribute best_iteration_.",
    "tree_count_": "It is n_estimators_.",
}


# Arguments of methods of other libraries' boosting.
_METHOD_REMARKS = {
    "early_stopping_rounds": "It is the parameter 'n_iter_no_change' of the constructor.",
    "verbose": "It is a parameter of the constructor.",
    "categorical_feature cat_features": "It is the parameter 'categorical_features' of the constructor.",
    "text_features": "It is the parameter 'text_columns' of the constructor.",
    "feature_name feature_names": "Names are those of the columns of a frame.",
    "init_score base_margin baseline": "See the parameters 'init' and 'base_score' of the constructor.",
    "init_model xgb_model": "With warm_start=True in the constructor a fit goes on from the last one.",
    "sample_weight_eval_set eval_weights": "It is called 'eval_sample_weight' here.",
    "group group_id groups query": "The query of each row is the argument 'qid'; sizes of queries become that by "
    "np.repeat(np.arange(len(sizes)), sizes).",
    "eval_group eval_groups": "It is called 'eval_qid' here: the query of each row.",
    "eval_at": "Name the places in the metric, as in scoring='ndcg@10' or eval_metric=['ndcg@1', 'ndcg@10'].",
    "num_iteration ntree_limit ntree_end iteration_range": "staged_predict and staged_predict_proba predict after "
    "each round.",
    "raw_score output_margin prediction_type": "decision_function gives the scores of classes.",
    "pred_leaf": "apply gives the leaves.",
    "pred_contrib pred_contribs pred_interactions": "committee.inspection.shap_values(model, X) gives Shapley values.",
}
_ASKED = {theirs: remark for listed, remark in _METHOD_REMARKS.items() for theirs in listed.split()}


def answer_arguments(method: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """A method whose error for an unknown argument gives the name used here.

    Examples
    --------
    >>> @answer_arguments
    ... def predict(model, X):
    ...     return X
    >>> try:
    ...     predict(None, 3, pred_leaf=True)
    ... except TypeError as error:
    ...     print(error)
    predict() got an unexpected keyword argument 'pred_leaf'. apply gives the leaves.
    """

    @functools.wraps(method)
    def call(*args: _Given.args, **given: _Given.kwargs) -> _Answer:
        try:
            return method(*args, **given)
        except TypeError as error:
            # One that was raised inside the method is none of ours.
            inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            unknown = [] if inside else [name for name in given if name not in inspect.signature(method).parameters]
            if not unknown:
                raise
            hint = _ASKED.get(unknown[0]) or hint_parameter(unknown[0], list(inspect.signature(method).parameters)[1:])
        raise ParameterTypeError(
            f"{method.__name__}() got an unexpected keyword argument {unknown[0]!r}. {hint}"
        ) from None

    return call


def hint_parameter(name: str, known: Iterable[str]) -> str:
    """What to write in place of a parameter that a class does not have.

    Parameters
    ----------
    name : str
        What was written.
    known : iterable of str
        What the class has.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> hint_parameter("num_leaves", ["max_leaf_nodes", "max_depth"])
    "It is called 'max_leaf_nodes' here."
    >>> hint_parameter("max_dept", ["max_leaf_nodes", "max_depth"])
    "Did you mean 'max_depth'?"
    """
    known = list(known)
    ours = next((own for own in _CALLED.get(name.lower(), ()) if own in known), None)
    if ours is not None:
        return f"It is called {ours!r} here."
    if name in _SAID:
        return _SAID[name]
    close = difflib.get_close_matches(name.lower(), known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known are: {', '.join(sorted(known)) or 'none'}."


def hint_value(value: str, options: Iterable[str]) -> str:
    """What to write in place of an option that a parameter does not have; empty if nothing is near.

    Examples
    --------
    >>> hint_value("deviance", ["log_loss", "exponential"])
    "It is called 'log_loss' here."
    """
    options = list(options)
    ours = _MEANT.get(value.lower())
    if ours in options and value.lower() not in options:
        return f"It is called {ours!r} here."
    close = difflib.get_close_matches(value.lower(), options, n=1)
    return f"Did you mean {close[0]!r}?" if close else ""


def hint_attribute(name: str) -> str:
    """What stands here for an attribute or a method of another library; empty if nothing does.

    Examples
    --------
    >>> hint_attribute("feature_name_")
    'They are feature_names_in_.'
    """
    return _ATTRIBUTES.get(name, "")


def check_scorer(name: str, parameter: str, others: str = "") -> None:
    """Whether scikit-learn has a scorer of this name.

    Parameters
    ----------
    name : str
        What was written.
    parameter : str
        Where.
    others : str
        What may stand there besides, with "or" or a comma at the end.

    Examples
    --------
    >>> check_scorer("roc_auc", "scoring")
    """
    from sklearn.metrics import get_scorer_names  # slow to load, and seldom needed

    known = get_scorer_names()
    if name in known:
        return
    ours = _SCORED.get(name.lower())
    close = [ours] if ours in known else difflib.get_close_matches(name.lower(), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ParameterError(
        f"The {parameter!r} parameter must be {others}a name in sklearn.metrics.get_scorer_names(); got {name!r}.{hint}"
    )
