"""The section of a report on the shape tables of an additive model."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from committee import ExplainableBoostingClassifier, ExplainableBoostingRegressor, RandomForestRegressor
from committee.cli.report.shapes_section import describe_shapes, has_shapes

FEW = {"outer_bags": 2, "max_iter": 20, "random_state": 0}


def make_frame(n_rows=600):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size <b>": rng.normal(size=n_rows), "age": rng.uniform(0, 9, n_rows).round()})
    frame["level"] = pd.Categorical(rng.choice(["low", "mid", "high"], n_rows))
    frame.loc[::9, "age"] = np.nan
    return frame, np.sin(frame["size <b>"]) + frame["age"].fillna(4.0) * (frame["level"] == "high")


def test_features_levels_and_pairs_are_drawn():
    X, y = make_frame()
    model = ExplainableBoostingRegressor(interactions=[("age", "level")], **FEW).fit(X, y)
    page = describe_shapes(model).render()
    assert page.count("<figure") == 4
    assert "Pairs of features" in page
    assert "What age adds to the score" in page
    assert "Missing values add" in page
    assert "<b>" not in page
    assert "size &lt;b&gt;" in page
    assert "nan" not in page
    assert len(page) < 200_000


def test_classes_have_curves():
    X, y = make_frame()
    two = describe_shapes(ExplainableBoostingClassifier(interactions=0, **FEW).fit(X, y > y.mean())).render()
    assert "log-odds of True" in two
    X, y = load_iris(return_X_y=True, as_frame=True)
    three = describe_shapes(ExplainableBoostingClassifier(interactions=1, **FEW).fit(X, y)).render()
    assert three.count("<polyline") == 4 * 3
    assert "Pairs of features" not in three


def test_other_models_have_no_shapes():
    X, y = make_frame()
    assert has_shapes(ExplainableBoostingRegressor())
    assert not has_shapes(RandomForestRegressor(n_estimators=1).fit(X[["size <b>"]], y))
