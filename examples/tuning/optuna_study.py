"""A study of Optuna in two ways: it proposes candidates to a search of this library, or calls a function of its own.

``python examples/tuning/optuna_study.py``. The search shares the bins between candidates and folds, knows the score of
the candidates that it has cut, and fits the winner; a function of one's own may try anything, such as which ensemble.
"""

from typing import Any

import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from committee import ExtraTreesClassifier, GradientBoostingClassifier
from committee.search import IntegerRange, RealRange, TPESearch

SPACE = {
    "learning_rate": RealRange(0.02, 0.3, log=True),
    "max_leaf_nodes": IntegerRange(4, 64, log=True),
    "subsample": RealRange(0.5, 1.0),
}


def make_study(seed: int = 0) -> optuna.Study:
    """A study with Optuna's sampler; a `storage` would keep it in a file, for several processes."""
    return optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))


def search_with_study(X: Any, y: Any, n_candidates: int = 12) -> tuple[TPESearch, optuna.Study]:
    """The study proposes, the search fits and scores."""
    study = make_study()
    model = GradientBoostingClassifier(n_estimators=60, early_stopping=False, random_state=0)
    search = TPESearch(model, SPACE, n_candidates=n_candidates, sampler=study, scoring="neg_log_loss", cv=3)
    return search.fit(X, y), study


def optimise_choice(X: Any, y: Any, n_trials: int = 12) -> optuna.Study:
    """The study calls a function that chooses between two ensembles."""

    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("ensemble", ["boosting", "extra trees"]) == "boosting":
            model: Any = GradientBoostingClassifier(
                learning_rate=trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
                max_leaf_nodes=trial.suggest_int("max_leaf_nodes", 4, 64, log=True),
                n_estimators=60,
                early_stopping=False,
                random_state=0,
            )
        else:
            model = ExtraTreesClassifier(max_features=trial.suggest_float("max_features", 0.1, 1.0), random_state=0)
        return float(cross_val_score(model, X, y, cv=3, scoring="neg_log_loss").mean())

    study = make_study()
    study.optimize(objective, n_trials=n_trials)
    return study


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search, study = search_with_study(X, y)
    print(f"the search: {-search.best_score_:.4f} with {search.best_params_}, {len(study.trials)} proposals")
    choice = optimise_choice(X, y)
    print(f"the study: {-choice.best_value:.4f} with {choice.best_params}")


if __name__ == "__main__":
    main()
