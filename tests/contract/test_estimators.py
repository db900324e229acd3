"""The library's own contracts, over every estimator that it exports."""

import copy
import functools
import inspect
import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError

import committee
from committee.exceptions import CommitteeError
from tests.contract.instances import fill_required, make_instance, shape_target

EXPORTED = [getattr(committee, name) for name in sorted(committee.__all__)]
ESTIMATORS = [thing for thing in EXPORTED if isinstance(thing, type) and issubclass(thing, BaseEstimator)]
ASKING = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "apply",
    "decision_path",
    "decision_function",
    "score_samples",
    "transform",
)
#: Estimators that learn without a target: what `fit` gets as y does not count.
WITHOUT_TARGET = {"IsolationForest", "RandomTreesEmbedding"}
#: Estimators to which a copy of a row is one more row to compare it with; copies of whole queries are tested by name.
LISTING = {"GradientBoostingRanker"}

every_estimator = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda c: c.__name__)


def make(cls, **params):
    # A few members show all that an ensemble promises; a limit on rows in a leaf counts rows, whatever they weigh, and
    # rows are held out, and drawn for a round, by their place.
    few = {"random_state": 0, "n_estimators": 12, "max_iter": 12, "min_samples_leaf": 1, "early_stopping": False}
    few["n_rounds"], few["n_bags"] = 10, 3
    few["subsample"], few["min_samples_split"] = 1.0, 2
    return make_instance(cls, **{**few, **params})


def make_data(cls, n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    y = (
        np.where(signal > 0, "yes", "no")
        if is_classifier(make_instance(cls))
        else shape_target(make_instance(cls), signal)
    )
    return X, y


@functools.cache
def fit_once(cls):
    """A table, its target and a model of them, for all tests that leave the model as it is."""
    X, y = make_data(cls)
    return X, y, make(cls).fit(X, y)


def ask(model, X):
    """Every answer that a fitted model gives, as arrays."""
    answers = {}
    for name in ASKING:
        if hasattr(model, name):
            with np.errstate(divide="ignore"):
                answer = getattr(model, name)(X)
            # A forest's path comes with where each tree's nodes begin.
            answer = answer[0] if isinstance(answer, tuple) else answer
            # Paths stay sparse: those of a forest would fill the memory.
            sparse = hasattr(answer, "toarray")
            answers[name] = np.concatenate([answer.indptr, answer.indices]) if sparse else np.asarray(answer)
    return answers


def answer(model, X):
    """What the model makes of the rows: its predictions or, of a transformer, the table that it gives."""
    made = model.predict(X) if hasattr(model, "predict") else model.transform(X)
    return made.toarray() if hasattr(made, "toarray") else made


def assert_same(model, other, X):
    answers, others = ask(model, X), ask(other, X)
    assert answers.keys() == others.keys()
    for name, answer in answers.items():
        np.testing.assert_array_equal(answer, others[name], err_msg=name)


@every_estimator
def test_clone_of_a_fitted_model_is_unfitted_and_equal(cls):
    X, y, model = fit_once(cls)
    twin = clone(model)
    # Members are cloned as well, so that only what they are is the same.
    assert repr(twin.get_params()) == repr(model.get_params())
    with pytest.raises(NotFittedError):
        answer(twin, X)
    assert_same(model, twin.fit(X, y), X)


@every_estimator
@pytest.mark.parametrize("way", ["pickle", "copy", "deepcopy", "joblib"])
def test_copies_answer_the_same(cls, way):
    X, _, model = fit_once(cls)
    if way == "pickle":
        twin = pickle.loads(pickle.dumps(model))
    elif way == "joblib":
        buffer = io.BytesIO()
        joblib.dump(model, buffer)
        buffer.seek(0)
        twin = joblib.load(buffer)
    else:
        twin = getattr(copy, way)(model)
    assert_same(model, twin, X)
    if hasattr(model, "feature_importances_"):
        np.testing.assert_array_equal(model.feature_importances_, twin.feature_importances_)


@every_estimator
def test_refit_forgets_the_first_data(cls):
    X, y, plain = fit_once(cls)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    model = make(cls).fit(frame, y)
    model.fit(X, y)
    assert model.n_features_in_ == 5
    assert not hasattr(model, "feature_names_in_")
    assert_same(model, plain, X)


@every_estimator
def test_threads_do_not_change_a_byte(cls):
    # The members that are no trees take long on many rows, and have no threads of this library.
    X, y = make_data(cls, n=1500 if "portfolio" in inspect.signature(cls).parameters else 6000)
    models = [make(cls, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 3, None)]
    states = [{k: v for k, v in vars(m).items() if k not in ("n_jobs",)} for m in models]
    for model, state in zip(models[1:], states[1:], strict=True):
        assert_same(models[0], model, X[:500])
        assert pickle.dumps(state.get("_trees")) == pickle.dumps(states[0].get("_trees"))


@every_estimator
def test_the_same_seed_gives_the_same_model(cls):
    X, y = make_data(cls)
    assert_same(make(cls, random_state=7).fit(X, y), make(cls, random_state=7).fit(X, y), X)


@every_estimator
def test_unknown_parameters_are_refused(cls):
    with pytest.raises(TypeError, match="not_a_parameter"):
        cls(**fill_required(cls), not_a_parameter=1)
    with pytest.raises(ValueError, match="not_a_parameter"):
        make_instance(cls).set_params(not_a_parameter=1)


BAD_VALUES = {
    "criterion": "ginny",
    "splitter": "worst",
    "max_depth": -3,
    "min_samples_split": 1,
    "min_samples_leaf": 0,
    "min_weight_fraction_leaf": 0.7,
    "max_features": "cube",
    "random_state": "lucky",
    "max_leaf_nodes": 1,
    "min_impurity_decrease": -0.1,
    "class_weight": "unfair",
    "ccp_alpha": -1.0,
    "monotonic_cst": "up",
    "exact": "yes",
    "max_bins": 1,
    "categorical_features": "guess",
    "unseen": "ignore",
    "text_columns": "all",
    "interaction_cst": "some",
    "n_jobs": 0,
}


@every_estimator
def test_a_bad_parameter_is_named_with_what_is_allowed_and_what_came(cls):
    X, y = make_data(cls)
    for name in inspect.signature(cls).parameters:
        if name not in BAD_VALUES:
            continue
        value = BAD_VALUES[name]
        with pytest.raises((ValueError, TypeError)) as caught:
            make_instance(cls, **{name: value}).fit(X, y)
        assert isinstance(caught.value, CommitteeError), name
        sentence = str(caught.value)
        assert sentence.startswith(f"The '{name}' parameter of {cls.__name__} must be "), sentence
        assert f"; got {value!r}." in sentence


def test_constructors_are_read_once(monkeypatch):
    """A search copies models by the thousand, and scikit-learn reads the constructor for each list of parameters."""

    class Wider(committee.RandomForestClassifier):
        def __init__(self, n_estimators=3, wide=1):
            super().__init__(n_estimators)
            self.wide = wide

    models = [committee.RandomForestClassifier(5), Wider(7)]
    before = [model.get_params() for model in models]
    assert "wide" in before[1]
    assert "wide" not in before[0]

    def fail(_):
        raise AssertionError("the parameters are known")

    monkeypatch.setattr(inspect, "signature", fail)
    assert [clone(model).get_params() for model in models] == before


def test_names_of_parameters_belong_to_the_caller():
    names = committee.RandomForestClassifier._get_param_names()
    names.remove("n_estimators")
    assert "n_estimators" in committee.RandomForestClassifier().get_params()


def test_the_sentence_for_max_depth():
    with pytest.raises(ValueError) as caught:
        committee.DecisionTreeClassifier(max_depth=-3).fit([[0.0], [1.0]], [0, 1])
    assert str(caught.value).startswith(
        "The 'max_depth' parameter of DecisionTreeClassifier must be an int >= 1 or None; got -3."
    )


@every_estimator
def test_a_failing_fit_keeps_the_old_state(cls):
    X, y = make_data(cls)
    model = make(cls).fit(pd.DataFrame(X, columns=list("abcde")), y)
    before = dict(vars(model))
    bad_fits = [(np.full((len(y), 2), np.nan), y), (np.empty((0, 3)), y[:0]), ("text", y)]
    for bad_X, bad_y in bad_fits if cls.__name__ in WITHOUT_TARGET else [*bad_fits, (X, y[:-1])]:
        with pytest.raises((ValueError, TypeError)):
            model.fit(bad_X, bad_y)
        assert vars(model) == before


#: Where the fit of an estimator that grows no tree is interrupted.
WORK = {
    "BernoulliNB": "numpy.bincount",
    "BoosTexterClassifier": "committee._core.LabelWeights",
    "DistributionalBoostingRegressor": "committee._core.Boosting",
    "ExplainableBoostingClassifier": "committee._core.AdditiveBoosting",
    "ExplainableBoostingRegressor": "committee._core.AdditiveBoosting",
    "GradientBoostingClassifier": "committee._core.Boosting",
    "GradientBoostingRanker": "committee._core.Boosting",
    "GradientBoostingRegressor": "committee._core.Boosting",
    "GradientBoostingSurvivalAnalysis": "committee._core.Boosting",
    "HistGradientBoostingClassifier": "committee._core.Boosting",
    "HistGradientBoostingRegressor": "committee._core.Boosting",
    "IsolationForest": "committee._core.grow_isolation_forest",
    "OrdinalGradientBoostingClassifier": "committee._core.Boosting",
    "SingleFeatureNB": "numpy.bincount",
}


@every_estimator
def test_an_interrupted_fit_keeps_the_old_state(cls, monkeypatch):
    X, y = make_data(cls)
    model = make(cls).fit(X, y)
    before = dict(vars(model))

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("committee._core.grow_tree", interrupt)
    monkeypatch.setattr("committee._core.grow_forest", interrupt)
    if cls.__name__ in WORK:
        monkeypatch.setattr(WORK[cls.__name__], interrupt)
    monkeypatch.setattr("committee._core.StumpTrainer", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], y[:100])
    assert vars(model) == before


@every_estimator
def test_feature_names_are_kept_and_checked(cls):
    X, y = make_data(cls)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make(cls).fit(frame, y)
    assert list(model.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        answer(model, frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="feature names"):
        answer(model, frame[["b", "a", "c", "d", "e"]])
    with pytest.warns(UserWarning, match="feature names"):
        answer(model, X)


FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcde")),
    "polars": lambda X: pytest.importorskip("polars").DataFrame(X, schema=list("abcde")),
    "arrow": lambda X: pytest.importorskip("pyarrow").table(dict(zip("abcde", X.T, strict=True))),
}


@every_estimator
@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_model(cls, kind):
    X, y, model = fit_once(cls)
    frame = FRAMES[kind](X)
    other = make(cls).fit(frame, y)
    assert list(other.feature_names_in_) == list("abcde")
    np.testing.assert_array_equal(answer(other, frame), answer(model, X))


@every_estimator
def test_every_kind_of_array_gives_the_same_model(cls):
    X, y, model = fit_once(cls)
    for table in [X.tolist(), np.asfortranarray(X), X[::-1][::-1]]:
        assert_same(make(cls).fit(table, y), model, X)


def make_mixed_frame(n=300, seed=3):
    """A table in which the category and the gaps carry the signal."""
    rng = np.random.default_rng(seed)
    color = rng.choice(["red", "green", "blue", "grey"], size=n)
    size = rng.normal(size=n)
    size[rng.random(n) < 0.3] = np.nan
    signal = np.isin(color, ["green", "grey"]) ^ np.isnan(size)
    frame = pd.DataFrame({"size": size, "color": pd.Categorical(color)})
    frame.loc[rng.random(n) < 0.05, "color"] = None
    return frame, signal


@every_estimator
def test_categories_and_gaps_from_end_to_end(cls):
    frame, signal = make_mixed_frame()
    y = np.where(signal, "yes", "no") if is_classifier(make_instance(cls)) else signal.astype(float)
    if not cls.accepts_categories:
        with pytest.raises(CommitteeError, match=f"'color' holds text, but {cls.__name__} learns from numbers only"):
            make(cls).fit(frame, y)
        return
    model = make(cls).fit(frame, y)
    unseen = frame.copy()
    unseen["color"] = "mauve"
    assert answer(model, frame).shape == answer(model, unseen).shape
    assert len(answer(model, frame)) == len(frame)
    missing = frame.copy()
    missing["color"] = pd.Categorical([None] * len(frame), categories=frame["color"].cat.categories)
    np.testing.assert_array_equal(answer(model, unseen), answer(model, missing))
    if "unseen" in inspect.signature(cls).parameters:
        with pytest.raises(ValueError, match="mauve"):
            answer(make(cls, unseen="error").fit(frame, y), unseen)


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if cls.accepts_categories], ids=lambda cls: cls.__name__)
def test_categories_of_another_frame(cls):
    pl = pytest.importorskip("polars")
    frame, signal = make_mixed_frame()
    model = make(cls).fit(frame, np.where(signal, "yes", "no") if is_classifier(make_instance(cls)) else signal * 1.0)
    np.testing.assert_array_equal(answer(model, pl.from_pandas(frame)), answer(model, frame))


GARBAGE = {
    "none": None,
    "number": 3,
    "text": "text",
    "one row flat": [1.0, 2.0, 3.0, 4.0, 5.0],
    "ragged": [[1.0, 2.0], [3.0]],
    "narrow": np.zeros((4, 2)),
    "wide": np.zeros((4, 9)),
    "no rows": np.zeros((0, 5)),
    "three axes": np.zeros((2, 5, 2)),
    "infinite": np.full((4, 5), np.inf),
    "complex": np.zeros((4, 5), dtype=complex),
    "objects": np.full((4, 5), object()),
    "dict": {"a": 1},
    "dates": np.full((4, 5), np.datetime64("2020-01-01")),
}


@every_estimator
@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_gets_a_sentence_from_every_method(cls, kind):
    _, y, model = fit_once(cls)
    if kind == "infinite" and cls.accepts_infinity:
        assert len(model.predict(GARBAGE[kind])) == 4
        return
    calls = [getattr(model, name) for name in ASKING if hasattr(model, name)]
    if hasattr(model, "score"):
        calls.append(lambda bad: model.score(bad, y[:4]))
    if kind not in ("narrow", "wide", "dates"):  # which can be learnt from
        calls.append(lambda bad: make(cls).fit(bad, y[:4]))
    elif cls.__name__ not in WITHOUT_TARGET:
        calls.append(lambda bad: _refuse_labels(cls, bad))
    for call in calls:
        with pytest.raises((ValueError, TypeError)) as caught:
            call(GARBAGE[kind])
        assert_readable(str(caught.value))


def _refuse_labels(cls, X):
    return make(cls).fit(X, [[[0]]] * len(X))


def assert_readable(sentence):
    """A binding's own complaint lists C++ overloads; a user must never meet one."""
    for trace in ("incompatible function arguments", "nanobind", "Invoked with types", "_core"):
        assert trace not in sentence


@every_estimator
def test_unfitted_models_say_so(cls):
    X, _ = make_data(cls)
    for name in ASKING:
        if hasattr(make_instance(cls), name):
            with pytest.raises(NotFittedError, match=cls.__name__):
                getattr(make_instance(cls), name)(X)


#: Estimators to which weights are counts, so that their scale matters, as in scikit-learn.
COUNTING = {"BernoulliNB"}


@every_estimator
def test_weights_are_repetitions_scale_free_and_zero_is_absent(cls):
    X, y = make_data(cls, n=160)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4, size=len(X))
    there = np.flatnonzero(counts)
    repeats = np.repeat(np.arange(len(X)), counts)
    # Folds are drawn by the place of a row: where there are any, a row's copies must be in the same one.
    fold = rng.integers(0, 3, size=len(X))

    def make_split(rows):
        return make(cls, cv=[(np.flatnonzero(fold[rows] != k), np.flatnonzero(fold[rows] == k)) for k in range(3)])

    weighted = make_split(np.arange(len(X))).fit(X, y, sample_weight=counts)
    repeated = make_split(repeats).fit(X[repeats], y[repeats])
    scaled = make_split(np.arange(len(X))).fit(X, y, sample_weight=counts * 8.0)
    present = make_split(there).fit(X[there], y[there], sample_weight=counts[there])
    if cls.__name__ in LISTING:
        pass
    elif is_classifier(weighted):
        np.testing.assert_array_equal(answer(weighted, X), answer(repeated, X))
    else:  # k y and y + ... + y may differ in the last bit
        np.testing.assert_allclose(answer(weighted, X), answer(repeated, X), rtol=1e-12)
    if cls.__name__ not in COUNTING:
        np.testing.assert_array_equal(answer(weighted, X), answer(scaled, X))
    np.testing.assert_array_equal(answer(weighted, X), answer(present, X))


@every_estimator
def test_every_parameter_is_documented(cls):
    doc = inspect.getdoc(cls)
    for name in inspect.signature(cls).parameters:
        assert f"\n{name} : " in doc
