"""The same model in every library, with parameters as similar as possible."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["PEERS", "list_contenders", "make_adaboost", "make_boosting", "make_forest"]

#: Modules of the libraries by name, ours first.
PEERS = {
    "committee": "committee",
    "scikit-learn": "sklearn",
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "CatBoost": "catboost",
}


def list_contenders() -> list[str]:
    """The libraries that are installed, ours first.

    Returns
    -------
    list of str
        Names in ``PEERS``.
    """
    return [name for name, module in PEERS.items() if find_spec(module) is not None]


def make_forest(contender: str, name: str, params: dict[str, Any], threads: int) -> Any:
    """A forest with the same number of trees, grown as deep as the library allows.

    Parameters
    ----------
    contender : str
        A name in ``PEERS``.
    name : str
        The class in scikit-learn, for instance ``"RandomForestClassifier"``.
    params : dict
        ``n_estimators`` and other parameters of scikit-learn's class.
    threads : int
        Threads of fit and prediction.

    Returns
    -------
    estimator
        Not fitted.
    """
    if contender in ("committee", "scikit-learn"):
        module = {"committee": "committee", "scikit-learn": "sklearn.ensemble"}[contender]
        return getattr(import_module(module), name)(random_state=0, n_jobs=threads, **params)
    is_class = name.endswith("Classifier")
    n_trees = params["n_estimators"]
    if contender == "LightGBM":
        lightgbm = import_module("lightgbm")
        kind = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
        return kind(
            boosting_type="rf",
            n_estimators=n_trees,
            num_leaves=2**14,
            min_child_samples=1,
            min_child_weight=0.0,
            subsample=0.632,
            subsample_freq=1,
            feature_fraction_bynode=0.2 if is_class else 1.0,
            n_jobs=threads,
            verbose=-1,
            random_state=0,
        )
    xgboost = import_module("xgboost")
    kind = xgboost.XGBRFClassifier if is_class else xgboost.XGBRFRegressor
    return kind(
        n_estimators=n_trees,
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        subsample=0.632,
        colsample_bynode=0.2 if is_class else 1.0,
        min_child_weight=0.0,
        reg_lambda=0.0,
        n_jobs=threads,
        random_state=0,
    )


def make_adaboost(contender: str, n_estimators: int, threads: int, exact: bool = False) -> Any:
    """SAMME with Gini stumps, scikit-learn's default.

    Parameters
    ----------
    contender : str
        ``"committee"`` or ``"scikit-learn"``.
    n_estimators : int
        Number of rounds.
    threads : int
        Threads of committee; scikit-learn uses one.
    exact : bool
        Whether stumps of committee use all values rather than bins.

    Returns
    -------
    estimator
        Not fitted.
    """
    if contender == "scikit-learn":
        return import_module("sklearn.ensemble").AdaBoostClassifier(n_estimators=n_estimators, random_state=0)
    from committee import AdaBoostClassifier, DecisionStumpClassifier

    stump = DecisionStumpClassifier(criterion="gini", exact=exact)
    return AdaBoostClassifier(stump, n_estimators=n_estimators, n_jobs=threads)


def make_boosting(contender: str, rounds: int, leaves: int, threads: int, is_class: bool = True) -> Any:
    """Gradient boosting with equal rounds, leaves, bins and learning rate.

    Other parameters have each library's default, except for L2, which only XGBoost sets to one.

    Parameters
    ----------
    contender : str
        A name in ``PEERS``, or ``"LightGBM quantised"`` or ``"CatBoost symmetric"`` for modes of these libraries.
    rounds, leaves : int
        Number of trees, and of leaves of a tree.
    threads : int
        Threads of fit and prediction.
    is_class : bool
        Whether the task is classification.

    Returns
    -------
    estimator
        Not fitted.
    """
    ending = "Classifier" if is_class else "Regressor"
    if contender in ("committee", "scikit-learn"):
        module = {"committee": "committee", "scikit-learn": "sklearn.ensemble"}[contender]
        estimator = getattr(import_module(module), f"HistGradientBoosting{ending}")
        more = {"n_jobs": threads} if contender == "committee" else {}
        params = {"max_iter": rounds, "max_leaf_nodes": leaves, "learning_rate": 0.1, "early_stopping": False}
        return estimator(random_state=0, **params, **more)
    if contender.startswith("LightGBM"):
        return getattr(import_module("lightgbm"), f"LGBM{ending}")(
            n_estimators=rounds,
            num_leaves=leaves,
            learning_rate=0.1,
            use_quantized_grad=contender.endswith("quantised"),
            n_jobs=threads,
            verbose=-1,
        )
    if contender == "XGBoost":
        return getattr(import_module("xgboost"), f"XGB{ending}")(
            n_estimators=rounds,
            max_leaves=leaves,
            max_depth=0,
            grow_policy="lossguide",
            tree_method="hist",
            max_bin=255,
            learning_rate=0.1,
            reg_lambda=0.0,
            n_jobs=threads,
        )
    if contender.startswith("CatBoost"):
        free = {"grow_policy": "Lossguide", "max_leaves": leaves, "depth": 16}
        return getattr(import_module("catboost"), f"CatBoost{ending}")(
            iterations=rounds,
            **({"depth": max(1, leaves.bit_length())} if contender.endswith("symmetric") else free),
            border_count=254,
            learning_rate=0.1,
            thread_count=threads,
            verbose=False,
            allow_writing_files=False,
        )
    raise ValueError(f"no contender is called {contender!r}")
