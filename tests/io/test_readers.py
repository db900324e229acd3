"""Models of other libraries predict here what they predict there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier

from committee.exceptions import CommitteeError, DataError, ModelFileError, ParameterTypeError
from committee.inspection import shap_values
from committee.io import from_catboost, from_lightgbm, from_sklearn, from_xgboost, load, save, to_c
from committee.io.readers.node_tables import round_thresholds

try:
    import lightgbm
except ImportError:
    lightgbm = None
needs_lightgbm = pytest.mark.skipif(lightgbm is None, reason="pip install lightgbm")
EXPONENTIALS = {"rtol": 1e-14, "atol": 1e-300}


def draw(n_classes: int = 0, *, gaps: bool = True, n_rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """A table whose second column is a category, and numbers that float32 rounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)) * 10.0 ** rng.integers(-3, 4, 4)
    X[:, 1] = rng.integers(0, 9, n_rows)
    signal = X[:, 0] / np.abs(X[:, 0]).max() + np.isin(X[:, 1], [1, 4, 7]) + rng.normal(size=n_rows) / 5
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    if n_classes:
        return X, np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return X, signal - signal.min() + 0.1


def check_uses(model: Any, X: np.ndarray, folder: Path) -> None:
    """What was read is saved, explained and exported as what was fitted here."""
    method = "predict_proba" if hasattr(model, "classes_") else "predict"
    before = getattr(model, method)(X)
    save(model, folder / "m.committee")
    assert_array_equal(getattr(load(folder / "m.committee"), method)(X), before)
    explained = shap_values(model, X[:5])
    assert np.isfinite(explained.values).all()
    to_c(model)


# --- LightGBM --------------------------------------------------------------------------------------------------------

SMALL = {"verbose": -1, "min_data_in_leaf": 5, "num_leaves": 8, "min_data_per_group": 1, "cat_smooth": 1}


@needs_lightgbm
@pytest.mark.parametrize(
    "objective",
    ["regression", "regression_l1", "huber", "quantile", "poisson", "gamma", "tweedie", "binary", "multiclass"],
)
def test_lightgbm(objective: str, tmp_path: Path) -> None:
    n_classes = {"binary": 2, "multiclass": 3}.get(objective, 0)
    X, y = draw(n_classes)
    params = {**SMALL, "objective": objective, **({"num_class": 3} if objective == "multiclass" else {})}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y, categorical_feature=[1]), 12)
    model = from_lightgbm(booster)
    raw = booster.predict(X, raw_score=True)
    assert_array_equal(model._raw_predict(X).reshape(raw.shape), raw)
    predicted = booster.predict(X)
    if objective == "binary":
        assert_allclose(model.predict_proba(X)[:, 1], predicted, **EXPONENTIALS)
    else:
        ours = model.predict_proba(X) if n_classes else model.predict(X)
        assert_allclose(ours, predicted, **EXPONENTIALS)
    path = tmp_path / "model.txt"
    booster.save_model(path)
    assert_array_equal(from_lightgbm(path)._raw_predict(X), model._raw_predict(X))
    assert_array_equal(from_lightgbm(path.read_text())._raw_predict(X), model._raw_predict(X))
    check_uses(model, X, tmp_path)
    assert model.imported_from_ == "LightGBM"
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@needs_lightgbm
def test_lightgbm_without_missing_values() -> None:
    X, y = draw(gaps=False)
    booster = lightgbm.train({**SMALL, "objective": "regression"}, lightgbm.Dataset(X, y), 5)
    X[::3, 0] = np.nan
    X[1::3, 2] = np.nan
    assert_array_equal(from_lightgbm(booster).predict(X), booster.predict(X))


@needs_lightgbm
@pytest.mark.parametrize("levels", [["c", "a", "b", "d"], [1990, 2001, 2002, 2010]], ids=["text", "numbers"])
def test_lightgbm_of_pandas_categories(levels: list[Any]) -> None:
    X, y = draw(2)
    frame = pd.DataFrame({"size": X[:, 0], "kind": pd.Categorical([levels[k] for k in np.arange(len(X)) % 4], levels)})
    y = y ^ (frame["kind"].cat.codes == 2).to_numpy().astype(int)
    theirs = lightgbm.LGBMClassifier(**SMALL, n_estimators=8, max_cat_to_onehot=1).fit(
        frame, np.array(["no", "yes"])[y]
    )
    model = from_lightgbm(theirs)
    assert_array_equal(model.predict(frame), theirs.predict(frame))
    assert_allclose(model.predict_proba(frame), theirs.predict_proba(frame), **EXPONENTIALS)
    assert model.classes_.tolist() == ["no", "yes"]


@needs_lightgbm
@pytest.mark.parametrize(
    ("params", "fragment"),
    [
        ({"linear_tree": True, "objective": "regression"}, "linear models"),
        ({"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5, "objective": "regression"}, "random forest"),
        ({"objective": "multiclassova", "num_class": 3}, "multiclassova"),
        ({"objective": "binary", "sigmoid": 2.0}, "scales the scores"),
        ({"objective": "cross_entropy"}, "cross_entropy"),
    ],
)
def test_lightgbm_refusals(params: dict[str, Any], fragment: str) -> None:
    X, y = draw(3 if "num_class" in params else 2, gaps=False)
    booster = lightgbm.train({**SMALL, **params}, lightgbm.Dataset(X, y), 3)
    with pytest.raises(ModelFileError, match=fragment):
        from_lightgbm(booster)


@needs_lightgbm
def test_lightgbm_zero_as_missing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1))
    X[::2] = 0.0
    y = (X[:, 0] == 0.0) + 0.5 * (X[:, 0] > 1)
    params = {**SMALL, "objective": "regression", "zero_as_missing": True}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y), 3)
    with pytest.raises(ModelFileError, match="zero_as_missing"):
        from_lightgbm(booster)


@needs_lightgbm
def test_classes_are_checked() -> None:
    X, y = draw(2)
    booster = lightgbm.train({**SMALL, "objective": "binary"}, lightgbm.Dataset(X, y), 2)
    assert from_lightgbm(booster, classes=["a", "b"]).classes_.tolist() == ["a", "b"]
    with pytest.raises(DataError, match="2 classes; got 3"):
        from_lightgbm(booster, classes=["a", "b", "c"])
    with pytest.raises(DataError, match="ascending"):
        from_lightgbm(booster, classes=["b", "a"])


# --- XGBoost ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize(
    "objective",
    ["reg:squarederror", "reg:absoluteerror", "count:poisson", "reg:gamma", "binary:logistic", "multi:softprob"],
)
def test_xgboost(objective: str, form: str, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost", reason="pip install xgboost")
    n_classes = {"binary:logistic": 2, "multi:softprob": 3}.get(objective, 0)
    X, y = draw(n_classes)
    params = {"objective": objective, "max_depth": 4, **({"num_class": 3} if n_classes == 3 else {})}
    types = ["q", "c", "q", "q"]
    table = xgboost.DMatrix(X, y, feature_types=types, enable_categorical=True)
    booster = xgboost.train({**params, "max_cat_to_onehot": 2}, table, 10)
    path = tmp_path / f"m.{form}"
    booster.save_model(path)
    model = from_xgboost(path)
    raw, theirs = booster.predict(table, output_margin=True), booster.predict(table)
    assert_allclose(model._raw_predict(X).reshape(raw.shape), raw, rtol=1e-5, atol=1e-5)
    if n_classes == 2:
        assert_allclose(model.predict_proba(X)[:, 1], theirs, rtol=1e-5)
    else:
        assert_allclose(model.predict_proba(X) if n_classes else model.predict(X), theirs, rtol=1e-5, atol=1e-6)
    check_uses(model, X, tmp_path)


def test_xgboost_rows_end_in_the_same_leaves() -> None:
    xgboost = pytest.importorskip("xgboost", reason="pip install xgboost")
    X, y = draw(gaps=False)
    # Values beside the thresholds, where float32 rounds across them.
    booster = xgboost.train({"max_depth": 3}, xgboost.DMatrix(X, y), 1)
    limits = [
        float(t)
        for tree in json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
        for t in tree["split_conditions"]
    ]
    rows = np.repeat(X[:1], 8 * len(limits), axis=0)
    for column in range(4):
        for k, limit in enumerate(limits):
            rows[8 * k : 8 * k + 8, column] = limit + np.array([-2, -0.6, -0.5, -0.4, 0, 0.4, 0.5, 2]) * abs(
                np.spacing(np.float32(limit))
            )
    model = from_xgboost(booster)
    theirs = booster.predict(xgboost.DMatrix(rows))
    assert_array_equal(model.predict(rows).astype(np.float32), theirs)


def test_xgboost_estimators_and_dart() -> None:
    xgboost = pytest.importorskip("xgboost", reason="pip install xgboost")
    X, y = draw(3)
    theirs = xgboost.XGBClassifier(n_estimators=6, max_depth=3, booster="dart", rate_drop=0.3).fit(X, y)
    assert_allclose(from_xgboost(theirs).predict_proba(X), theirs.predict_proba(X), rtol=1e-5)
    assert_array_equal(
        from_xgboost(theirs, classes=["a", "b", "c"]).predict(X), np.array(["a", "b", "c"])[theirs.predict(X)]
    )


def test_xgboost_weights_of_dropped_trees_in_either_place(tmp_path: Path) -> None:
    """They belong to the booster "dart" before XGBoost 3.4, and to the model of any booster of trees since."""
    xgboost = pytest.importorskip("xgboost", reason="pip install xgboost")
    X, y = draw(3)
    theirs = xgboost.XGBClassifier(n_estimators=6, max_depth=3, booster="dart", rate_drop=0.3).fit(X, y)
    document = json.loads(bytes(theirs.get_booster().save_raw("json")))
    booster = document["learner"]["gradient_booster"]
    model = booster["gbtree"]["model"] if "gbtree" in booster else booster["model"]
    weights = booster["weight_drop"] if "weight_drop" in booster else model["weight_drop"]
    assert len(weights) == len(model["trees"])
    assert min(weights) < 1.0
    bare = {name: value for name, value in model.items() if name != "weight_drop"}
    boosters = [
        {"name": "dart", "gbtree": {"name": "gbtree", "model": bare}, "weight_drop": weights},
        {"name": "gbtree", "model": {**bare, "weight_drop": weights}},
    ]
    for number, placed in enumerate(boosters):
        document["learner"]["gradient_booster"] = placed
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(document))
        assert_allclose(from_xgboost(path).predict_proba(X), theirs.predict_proba(X), rtol=1e-5)


@pytest.mark.parametrize(
    ("params", "fragment"),
    [({"booster": "gblinear"}, "gblinear"), ({"objective": "binary:hinge"}, "binary:hinge")],
)
def test_xgboost_refusals(params: dict[str, Any], fragment: str) -> None:
    xgboost = pytest.importorskip("xgboost", reason="pip install xgboost")
    X, y = draw(2, gaps=False)
    with pytest.raises(ModelFileError, match=fragment):
        from_xgboost(xgboost.train(params, xgboost.DMatrix(X, y), 2))


# --- CatBoost --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
@pytest.mark.parametrize("loss", ["RMSE", "MAE", "Poisson", "Logloss", "MultiClass"])
def test_catboost(loss: str, policy: str, tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost", reason="pip install catboost")
    n_classes = {"Logloss": 2, "MultiClass": 3}.get(loss, 0)
    X, y = draw(n_classes)
    kind = catboost.CatBoostClassifier if n_classes else catboost.CatBoostRegressor
    theirs = kind(iterations=8, depth=4, loss_function=loss, grow_policy=policy, verbose=0, allow_writing_files=False)
    theirs.fit(X, np.array(["a", "b", "c"])[y] if n_classes else y)
    theirs.save_model(str(tmp_path / "m.json"), format="json")
    model = from_catboost(tmp_path / "m.json")
    raw = theirs.predict(X, prediction_type="RawFormulaVal")
    assert_allclose(model._raw_predict(X).reshape(raw.shape), raw, rtol=1e-12, atol=1e-12)
    if n_classes:
        assert_allclose(model.predict_proba(X), theirs.predict_proba(X), rtol=1e-11)
        assert_array_equal(model.predict(X), theirs.predict(X).reshape(-1))
    else:
        assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-11)
    check_uses(model, X, tmp_path)


def test_catboost_refusals() -> None:
    catboost = pytest.importorskip("catboost", reason="pip install catboost")
    X, y = draw(2, gaps=False)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1].astype(int).astype(str)})
    theirs = catboost.CatBoostClassifier(iterations=2, verbose=0, cat_features=["b"], allow_writing_files=False)
    with pytest.raises(ModelFileError, match="categorical features"):
        from_catboost(theirs.fit(frame, y))


# --- scikit-learn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees", "DecisionTree", "ExtraTree"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_sklearn_forests(name: str, n_classes: int, tmp_path: Path) -> None:
    X, y = draw(n_classes, gaps="Extra" not in name)
    home = sklearn.tree if name.endswith("Tree") else sklearn.ensemble
    kind = getattr(home, name + ("Classifier" if n_classes else "Regressor"))
    theirs = kind(random_state=0, **({"n_estimators": 7} if home is sklearn.ensemble else {})).fit(X, y)
    model = from_sklearn(theirs)
    assert_array_equal(model.predict(X), theirs.predict(X))
    if n_classes:
        assert_array_equal(model.predict_proba(X), theirs.predict_proba(X))
    check_uses(model, X, tmp_path)


def test_sklearn_forest_of_several_outputs() -> None:
    X, y = draw(3)
    both = np.column_stack([y, y > 0])
    theirs = sklearn.ensemble.RandomForestClassifier(5, random_state=0).fit(X, both)
    model = from_sklearn(theirs)
    assert_array_equal(model.predict(X), theirs.predict(X))
    for ours, other in zip(model.predict_proba(X), theirs.predict_proba(X), strict=True):
        assert_array_equal(ours, other)


@pytest.mark.parametrize("name", ["GradientBoosting", "HistGradientBoosting"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_sklearn_boosting(name: str, n_classes: int, tmp_path: Path) -> None:
    X, y = draw(n_classes, gaps=name.startswith("Hist"))
    kind = getattr(sklearn.ensemble, name + ("Classifier" if n_classes else "Regressor"))
    theirs = kind(random_state=0, **({"max_iter": 9} if name.startswith("Hist") else {"n_estimators": 9}))
    theirs.fit(X, np.array(["a", "b", "c"])[y] if n_classes else y)
    model = from_sklearn(theirs)
    if n_classes:
        assert_array_equal(model.decision_function(X), theirs.decision_function(X))
        assert_array_equal(model.predict(X), theirs.predict(X))
        assert_allclose(model.predict_proba(X), theirs.predict_proba(X), **EXPONENTIALS)
    else:
        assert_array_equal(model.predict(X), theirs.predict(X))
    check_uses(model, X, tmp_path)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "absolute_error"])
def test_sklearn_hist_losses(loss: str) -> None:
    X, y = draw()
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(loss=loss, max_iter=5).fit(X, y)
    assert_allclose(from_sklearn(theirs).predict(X), theirs.predict(X), **EXPONENTIALS)


def test_sklearn_exponential_loss_and_names() -> None:
    X, y = draw(2, gaps=False)
    frame = pd.DataFrame(X, columns=list("abcd"))
    theirs = sklearn.ensemble.GradientBoostingClassifier(loss="exponential", n_estimators=5).fit(frame, y)
    model = from_sklearn(theirs)
    assert_allclose(model.predict_proba(frame), theirs.predict_proba(frame), **EXPONENTIALS)
    assert model.feature_names_in_.tolist() == list("abcd")


def test_sklearn_refusals() -> None:
    X, y = draw(2, gaps=False)
    with pytest.raises(ParameterTypeError, match="got DummyClassifier of sklearn"):
        from_sklearn(DummyClassifier().fit(X, y))
    inner = sklearn.ensemble.RandomForestClassifier(3).fit(X, y)
    with pytest.raises(ModelFileError, match="starts from a RandomForestClassifier"):
        from_sklearn(sklearn.ensemble.GradientBoostingClassifier(init=inner, n_estimators=2).fit(X, y))
    hist = sklearn.ensemble.HistGradientBoostingClassifier(max_iter=2, categorical_features=[1]).fit(X, y)
    with pytest.raises(ModelFileError, match="categorical features"):
        from_sklearn(hist)


# --- all -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inclusive", [False, True])
def test_thresholds_decide_as_float32_does(inclusive: bool) -> None:
    rng = np.random.default_rng(0)
    limits = np.concatenate([rng.normal(size=200) * 10.0 ** rng.integers(-30, 30, 200), [0.0, 1.0, -1.0, 1e-45, 3e38]])
    limits = limits if inclusive else limits.astype(np.float32).astype(np.float64)
    found = round_thresholds(limits, inclusive=inclusive)
    for step in (-2.0, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0):
        for nudge in (-np.inf, 0.0, np.inf):
            x = limits + step * np.spacing(np.abs(limits).astype(np.float32)).astype(np.float64)
            x = np.nextafter(x, nudge) if nudge else x
            rounded = x.astype(np.float32)
            wanted = rounded <= limits if inclusive else rounded < limits
            assert_array_equal(x <= found, wanted)


def make_files() -> dict[str, tuple[Any, bytes]]:
    X, y = draw(3)
    files: dict[str, tuple[Any, bytes]] = {}
    if lightgbm is not None:
        params = {**SMALL, "objective": "multiclass", "num_class": 3}
        booster = lightgbm.train(params, lightgbm.Dataset(X, y, categorical_feature=[1]), 2)
        files["lightgbm"] = (from_lightgbm, booster.model_to_string().encode())
    try:
        import xgboost
    except ImportError:
        return files
    made = xgboost.train({"max_depth": 2}, xgboost.DMatrix(X, y), 2)
    files["json"] = (from_xgboost, bytes(made.save_raw("json")))
    files["ubj"] = (from_xgboost, bytes(made.save_raw("ubj")))
    return files


@pytest.mark.parametrize("name", ["lightgbm", "json", "ubj"])
def test_damaged_files_give_sentences(name: str) -> None:
    files = make_files()
    if name not in files:
        pytest.skip("pip install lightgbm xgboost")
    read, data = files[name]
    X, _ = draw(3)
    rng, refused = np.random.default_rng(0), 0
    for case in range(300):
        damaged = bytearray(data)
        for _ in range(1 + case % 4):
            kind, at = rng.integers(3), int(rng.integers(len(damaged)))
            if kind == 0:
                damaged[at] = int(rng.integers(256))
            elif kind == 1:
                del damaged[at : at + int(rng.integers(1, 60))]
            else:
                damaged[at:at] = bytes(rng.choice(list(b"0123456789-.e ={}[]\n"), 4).tolist())
        try:
            model = read(bytes(damaged))
            if model.n_features_in_ == X.shape[1] and "feature_names_in_" not in vars(model):
                model.predict(X[:3])
        except CommitteeError:
            refused += 1
    assert refused > 30


@pytest.mark.parametrize("read", [from_lightgbm, from_xgboost, from_catboost])
def test_sources_are_checked(read: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"no file 'nowhere\.txt'"):
        read("nowhere.txt")
    with pytest.raises(ParameterTypeError, match="got int"):
        read(3)
    (tmp_path / "x").write_bytes(b"[1, 2]")
    with pytest.raises(ModelFileError, match="cannot be read"):
        read(tmp_path / "x")
