"""What is written here for the parameters of other libraries."""

from __future__ import annotations

import re

from committee.foreign_names import hint_parameter

# Parameters of other libraries, as their documentation lists them; the answers are those of error messages.
FOREIGN = {
    "lightgbm": "boosting_type num_leaves max_depth learning_rate n_estimators objective class_weight min_split_gain "
    "min_child_weight min_child_samples subsample colsample_bytree reg_alpha reg_lambda random_state n_jobs "
    "importance_type num_iterations num_boost_round shrinkage_rate min_data_in_leaf min_sum_hessian_in_leaf "
    "min_gain_to_split bagging_fraction feature_fraction feature_fraction_bynode lambda_l1 lambda_l2 max_bin "
    "monotone_constraints interaction_constraints categorical_feature early_stopping_round num_threads seed verbosity "
    "metric is_unbalance scale_pos_weight num_class device_type deterministic force_row_wise use_missing "
    "subsample_for_bin subsample_freq",
    "xgboost": "n_estimators max_depth max_leaves max_bin grow_policy learning_rate verbosity objective booster "
    "tree_method n_jobs gamma min_child_weight subsample colsample_bytree colsample_bylevel colsample_bynode reg_alpha "
    "reg_lambda scale_pos_weight random_state missing monotone_constraints interaction_constraints importance_type "
    "device enable_categorical max_cat_to_onehot eval_metric early_stopping_rounds eta num_boost_round num_class "
    "nthread min_split_loss seed use_label_encoder max_delta_step sampling_method base_score "
    "num_parallel_tree validate_parameters feature_types feature_weights max_cat_threshold multi_strategy callbacks",
    "catboost": "iterations learning_rate depth l2_leaf_reg loss_function border_count random_seed thread_count "
    "rsm nan_mode eval_metric class_weights auto_class_weights scale_pos_weight one_hot_max_size cat_features od_wait "
    "early_stopping_rounds grow_policy min_data_in_leaf max_leaves monotone_constraints task_type verbose "
    "logging_level num_trees max_depth n_estimators random_state subsample min_child_samples num_leaves "
    "colsample_bylevel reg_lambda",
    "ranger": "num_trees mtry min_node_size max_depth replace sample_fraction num_threads seed class_weights verbose",
    "randomForest": "ntree mtry replace sampsize nodesize",
    "scikit-learn": "base_estimator n_iter",
    "sklearn.tree": "min_impurity_split n_iter",
    "sklearn.boosting": "n_estimators reg_lambda min_samples_split subsample",
}


def answer_names(library: str, known: list[str]) -> list[tuple[str, str]]:
    """Each parameter of a library with its name here, or with the sentence of the error message."""
    answers = []
    for theirs in FOREIGN[library].split():
        if theirs in known:
            answers.append((theirs, theirs))
            continue
        answer = hint_parameter(theirs, known)
        found = re.fullmatch(r"It is called '(\w+)' here\.", answer)
        if not found and answer.startswith(("Did you mean", "Known are")):
            answer = "no counterpart"
        answers.append((theirs, found[1] if found else answer))
    return answers
