"""Every family learns the same bytes from blocks as from the whole table."""

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import committee as cm
from committee.exceptions import DataTypeError

N = 1500
Make = Callable[[], Any]
MODELS: dict[str, tuple[Make, str | None]] = {
    "forest": (lambda: cm.RandomForestClassifier(n_estimators=5, oob_score=True, random_state=0), "label"),
    "forest, quantiles": (
        lambda: cm.RandomForestRegressor(n_estimators=4, keep_leaf_samples=True, random_state=0),
        "value",
    ),
    "extra-trees": (lambda: cm.ExtraTreesRegressor(n_estimators=5, random_state=0), "value"),
    "bagging": (lambda: cm.BaggingClassifier(n_estimators=4, max_samples=0.7, oob_score=True, random_state=0), "label"),
    "boosting": (lambda: cm.GradientBoostingClassifier(n_estimators=6, random_state=0), "label"),
    "boosting, folds": (
        lambda: cm.GradientBoostingRegressor(n_estimators=6, early_stopping=True, stopping_folds=2, random_state=0),
        "value",
    ),
    "boosting, split": (
        lambda: cm.GradientBoostingRegressor(n_estimators=6, early_stopping=True, stopping_folds=None, random_state=0),
        "value",
    ),
    "histogram boosting": (
        lambda: cm.HistGradientBoostingClassifier(max_iter=6, early_stopping=True, random_state=0),
        "label",
    ),
    "AdaBoost": (lambda: cm.AdaBoostClassifier(n_estimators=6, random_state=0), "label"),
    "AdaBoost, held out": (
        lambda: cm.AdaBoostClassifier(n_estimators=6, n_iter_no_change=3, random_state=0),
        "label",
    ),
    "AdaBoost of trees": (
        lambda: cm.AdaBoostClassifier(cm.DecisionTreeClassifier(max_depth=3), n_estimators=4, random_state=0),
        "label",
    ),
    "AdaBoost.R2": (lambda: cm.AdaBoostRegressor(n_estimators=4, random_state=0), "value"),
    "arcing": (lambda: cm.ArcingClassifier(n_estimators=4, random_state=0), "label"),
    "isolation": (lambda: cm.IsolationForest(n_estimators=5, contamination=0.1, random_state=0), None),
    "embedding": (lambda: cm.RandomTreesEmbedding(n_estimators=4, random_state=0), None),
    "voting": (
        lambda: cm.VotingClassifier(
            [
                ("forest", cm.RandomForestClassifier(n_estimators=3, random_state=0)),
                ("boosting", cm.HistGradientBoostingClassifier(max_iter=3, early_stopping=False, random_state=0)),
            ],
            voting="soft",
        ),
        "label",
    ),
    "stacking": (
        lambda: cm.StackingRegressor(
            [
                ("forest", cm.RandomForestRegressor(n_estimators=3, random_state=0)),
                ("boosting", cm.HistGradientBoostingRegressor(max_iter=3, early_stopping=False, random_state=0)),
            ],
            cm.DecisionTreeRegressor(max_depth=3, random_state=0),
            random_state=0,
        ),
        "value",
    ),
    "additive": (
        lambda: cm.ExplainableBoostingClassifier(max_iter=8, outer_bags=2, interactions=1, random_state=0),
        "label",
    ),
    "additive, few bins": (
        lambda: cm.ExplainableBoostingRegressor(
            max_iter=8, outer_bags=2, max_bins=300, early_stopping=False, random_state=0
        ),
        "value",
    ),
    "tree": (lambda: cm.DecisionTreeClassifier(random_state=0), "label"),
    "exact tree": (lambda: cm.DecisionTreeClassifier(exact=True, random_state=0), "label"),
}


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=N),
            "count": rng.integers(0, 400, N),
            "place": rng.choice(list("abcde"), N),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**7, N), unit="s"),
        }
    )
    frame.loc[rng.random(N) < 0.1, "size"] = np.nan
    signal = frame["size"].fillna(0.3) + frame["count"] / 200 + (frame["place"] == "b") + rng.normal(size=N)
    frame["weight"] = rng.integers(0, 4, N) * 1.0
    frame["value"] = signal
    frame["label"] = np.where(signal > 1, "high", "low")
    return frame


def take_columns(target: str | None) -> list[str]:
    return ["size", "count", "place", "when", *([] if target is None else [target, "weight"])]


def digest(model: Any, folder: Path) -> str:
    cm.save(model, folder / "model.committee")
    return hashlib.sha256((folder / "model.committee").read_bytes()).hexdigest()


def fit(make: Make, X: Any, target: str | None) -> Any:
    model = make()
    return model.fit(X) if target is None else model.fit(X, target, sample_weight="weight")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_blocks_give_the_model_of_the_whole_table(name: str, tmp_path: Path) -> None:
    make, target = MODELS[name]
    frame = make_frame()[take_columns(target)]
    whole = frame if target is None else frame.drop(columns=[target, "weight"])
    arguments = {} if target is None else {"y": frame[target], "sample_weight": frame["weight"]}
    wanted = digest(make().fit(whole, **arguments), tmp_path)
    assert digest(fit(make, frame, target), tmp_path) == wanted
    # One block, equal ones, and some of a single row and of few.
    for cuts in ([0, N], [0, N // 3, 2 * N // 3, N], [0, 1, 2, 9, 200, N - 1, N]):
        blocks = [frame.iloc[a:b] for a, b in itertools.pairwise(cuts)]
        assert digest(fit(make, [frame.iloc[:0], *blocks], target), tmp_path) == wanted


@pytest.mark.parametrize("name", ["forest", "boosting, split", "AdaBoost"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_parquet_file_gives_the_model_of_its_table(name: str, tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    make, target = MODELS[name]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(make_frame()[take_columns(target)], preserve_index=False), path)
    wanted = digest(fit(make, pq.read_table(path), target), tmp_path)
    assert digest(fit(make, path, target), tmp_path) == wanted


@pytest.mark.parametrize(
    "model",
    [
        cm.BernoulliNB(),
        cm.CommitteeClassifier(),
        cm.SuperLearnerClassifier([("tree", cm.DecisionTreeClassifier())]),
        cm.VotingClassifier([("linear", LogisticRegression())]),
        cm.BaggingClassifier(LogisticRegression()),
        cm.AdaBoostClassifier(LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_who_needs_the_whole_table_says_so(model: Any) -> None:
    frame = make_frame()[["size", "count", "label"]].fillna(0.0)
    with pytest.raises(DataTypeError, match="a table in blocks"):
        model.fit([frame, frame], "label")


def test_a_missing_target_is_a_sentence() -> None:
    with pytest.raises(cm.exceptions.DataError, match="no column 'nothing' in X"):
        cm.RandomForestClassifier().fit(make_frame(), "nothing")
