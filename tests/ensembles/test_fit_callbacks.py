"""scikit-learn's callbacks: the members or rounds of each ensemble are tasks."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, get_scorer, log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ArcingClassifier,
    BaggingClassifier,
    BaggingRegressor,
    BoosTexterClassifier,
    CommitteeClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    SuperLearnerRegressor,
    VotingClassifier,
)

callback = pytest.importorskip("sklearn.callback")  # since scikit-learn 1.9

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = (X[:, 0] + X[:, 1] + RNG.normal(scale=0.5, size=80) > 0).astype(int)
NAMED = [("a", GaussianNB()), ("b", GaussianNB(var_smoothing=0.1))]


class Recorder:
    """Counts its hooks; asks to stop after some tasks."""

    def __init__(self, stop_after=None):
        self.events, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        self.events.append(("setup", context.max_subtasks))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))
        return self.stop_after is not None and self.count("end") >= self.stop_after

    def teardown(self, estimator, context):
        self.events.append(("teardown", None))

    def count(self, event):
        return sum(1 for kind, name in self.events if kind == event and name != "fit")


ROUNDS = [
    (RandomForestClassifier(6, random_state=0), 6),
    (BaggingClassifier(None, 6, random_state=0), 6),
    (BaggingClassifier(GaussianNB(), 6, random_state=0), 6),
    (AdaBoostClassifier(n_estimators=6), 6),
    (AdaBoostClassifier(n_estimators=6, algorithm="logit"), 6),
    (AdaBoostRegressor(n_estimators=6, random_state=0), 6),
    (ArcingClassifier(n_estimators=6, random_state=0), 6),
    (GradientBoostingClassifier(n_estimators=6), 6),
    (HistGradientBoostingRegressor(max_iter=6), 6),
    (VotingClassifier(NAMED), 2),
    (StackingClassifier(NAMED, cv=2), 6),
    (SuperLearnerRegressor([("ols", LinearRegression())], cv=3), 4),
    (IsolationForest(n_estimators=6, random_state=0), 6),
]


@pytest.mark.parametrize(("estimator", "n_tasks"), ROUNDS)
def test_each_member_or_round_is_a_task(estimator, n_tasks):
    recorder, plain = Recorder(), clone(estimator).fit(X, Y)
    model = clone(estimator).set_callbacks(recorder).fit(X, Y)
    assert recorder.events[:2] == [("setup", n_tasks), ("begin", "fit")]
    assert recorder.events[-2:] == [("end", "fit"), ("teardown", None)]
    assert recorder.count("begin") == recorder.count("end") == n_tasks
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("estimator", [pair[0] for pair in ROUNDS[3:9]])
def test_a_callback_stops_the_rounds(estimator):
    model = clone(estimator).set_callbacks(Recorder(stop_after=3)).fit(X, Y)
    n_rounds = model.n_iter_ if hasattr(model, "n_iter_") else len(model.estimators_)
    assert n_rounds == 3


def test_words_are_rounds():
    recorder = Recorder()
    documents = ["good film" if y else "bad plot" for y in Y]
    BoosTexterClassifier(n_estimators=2).set_callbacks(recorder).fit(documents, Y)
    assert recorder.events[0] == ("setup", 2)
    assert recorder.count("end") >= 1


@pytest.mark.parametrize("params", [{}, {"n_iter_no_change": 2, "random_state": 0}])
def test_scores_of_the_rounds_of_words(params):
    words = ["good", "bad", "film", "plot", "long", "new"]
    rng = np.random.default_rng(0)
    documents = [" ".join(rng.choice(words, 3)) for _ in range(120)]
    y = np.array(["good" in text or "new plot" in text for text in documents])
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = BoosTexterClassifier(n_estimators=4, **params).set_callbacks(monitor).fit(documents, y)
    rows = monitor.get_logs().data
    (last,) = [row["accuracy"] for row in rows if row["task_name"] == "fit"]
    curve = [row["accuracy"] for row in rows if row["task_name"] != "fit"]
    assert last == model.score(documents, y)
    for n_rounds, score in enumerate(curve[: len(model.estimator_weights_)], start=1):
        *_, wanted = (stage for _, stage in zip(range(n_rounds), model.staged_predict(documents), strict=False))
        assert score == pytest.approx((wanted == y).mean())


def test_members_of_a_committee():
    recorder = Recorder(stop_after=1)
    model = CommitteeClassifier(n_members=2, random_state=0).set_callbacks(recorder).fit(X, Y)
    assert recorder.events[-1] == ("teardown", None)
    assert model.predict(X).shape == (80,)


def test_kept_members_are_no_tasks():
    forest = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, Y)
    recorder = Recorder()
    forest.set_params(n_estimators=5).set_callbacks(recorder).fit(X, Y)
    assert recorder.events[0] == ("setup", 2)
    assert recorder.count("end") == 2


def test_a_failing_fit_tears_down():
    recorder = Recorder()
    bag = BaggingClassifier(GaussianNB(), 3).set_callbacks(recorder)
    with pytest.raises(ValueError, match="NaN"):
        bag.fit(np.full((4, 1), np.nan), [0, 1, 0, 1])
    assert recorder.events[-1] == ("teardown", None)


def test_progress_bar_of_a_pipeline_reaches_the_ensemble(capsys):
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0))
    pipeline.set_callbacks(callback.ProgressBar()).fit(X, Y)
    assert "RandomForestClassifier" in capsys.readouterr().out


def test_callbacks_are_checked_and_removed():
    forest = RandomForestClassifier(3)
    with pytest.raises(TypeError, match="FitCallback protocol"):
        forest.set_callbacks(len)
    assert "_skl_callbacks" not in vars(forest.set_callbacks(Recorder()).set_callbacks())


def test_without_callbacks_nothing_is_made(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a context was made")

    monkeypatch.setattr(callback.CallbackSupportMixin, "_init_callback_context", refuse)
    RandomForestClassifier(3).fit(X, Y)
    AdaBoostClassifier(n_estimators=2).fit(X, Y)


def test_callbacks_are_no_part_of_a_model_file(tmp_path):
    forest = RandomForestClassifier(3, random_state=0).set_callbacks(Recorder()).fit(X, Y)
    committee.save(forest, tmp_path / "forest.committee")
    loaded = committee.load(tmp_path / "forest.committee")
    np.testing.assert_array_equal(loaded.predict(X), forest.predict(X))


# The estimator as it is fitted so far.

CURVES = [
    RandomForestClassifier(25, random_state=0, oob_score=True),
    RandomForestClassifier(22, random_state=0, calibration="sigmoid"),
    ExtraTreesRegressor(4, random_state=0, keep_leaf_samples=True),
    BaggingClassifier(None, 25, random_state=0, oob_score=True),
    BaggingClassifier(GaussianNB(), 4, random_state=0, max_features=2),
    BaggingRegressor(LinearRegression(), 4, random_state=0),
    AdaBoostClassifier(n_estimators=4),
    AdaBoostClassifier(n_estimators=4, algorithm="logit", keep_sample_weights=True),
    AdaBoostClassifier(GaussianNB(), n_estimators=4, method="resample", random_state=0),
    AdaBoostRegressor(n_estimators=4, random_state=0, keep_sample_weights=True),
    ArcingClassifier(n_estimators=4, random_state=0),
    ArcingClassifier(n_estimators=4, algorithm="arc-gv", random_state=0),
    GradientBoostingClassifier(n_estimators=4),
    GradientBoostingClassifier(n_estimators=4, boosting="dart", drop_rate=0.5, random_state=0),
    GradientBoostingRegressor(n_estimators=4, subsample=0.5, init=LinearRegression(), random_state=0),
    HistGradientBoostingClassifier(max_iter=4),
    HistGradientBoostingRegressor(max_iter=4),
]


def name_rounds(estimator):
    return "max_iter" if "max_iter" in estimator.get_params() else "n_estimators"


@pytest.mark.parametrize("estimator", CURVES)
@pytest.mark.parametrize("weights", [None, RNG.uniform(0.5, 1.5, 80)], ids=["plain", "weighted"])
def test_scoring_monitor_records_a_curve(estimator, weights):
    scoring = "accuracy" if is_classifier(estimator) else "r2"
    monitor, given = callback.ScoringMonitor(scoring=scoring), {} if weights is None else {"sample_weight": weights}
    model = clone(estimator).set_callbacks(monitor).fit(X, Y, **given)
    plain = clone(estimator).fit(X, Y, **given)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    rows = monitor.get_logs().data
    (last,) = [row[scoring] for row in rows if row["task_name"] == "fit"]
    curve = [row[scoring] for row in rows if row["task_name"] != "fit"]
    assert last == model.score(X, Y, **given)
    n_rounds = model.n_iter_ if hasattr(model, "n_iter_") else len(model.estimators_)
    assert len(curve) == n_rounds
    if getattr(estimator, "calibration", None) is None:
        assert curve[-1] == pytest.approx(last)
    # A fit that ends after two rounds: later rounds leave what was scored unchanged.
    if getattr(estimator, "boosting", "") != "dart":
        short = clone(estimator).set_params(**{name_rounds(estimator): 2}).fit(X, Y, **given)
        assert getattr(estimator, "calibration", None) or curve[1] == pytest.approx(short.score(X, Y, **given))


class Asking(Recorder):
    """Keeps the estimators that it is given."""

    def __init__(self):
        super().__init__()
        self.seen, self.at_begin = [], []

    def on_fit_task_begin(self, estimator, context, *, fitted_estimator=None, X=None):
        super().on_fit_task_begin(estimator, context)
        self.at_begin.append(fitted_estimator)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, y=None, metadata=None):
        self.seen.append((context.task_name, fitted_estimator, y, metadata))


@pytest.mark.parametrize("estimator", CURVES)
def test_each_estimator_so_far_has_its_own_members(estimator):
    asking, frame = Asking(), pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    model = clone(estimator).set_callbacks(asking).fit(frame, Y)
    *steps, (name, last, y, metadata) = [entry for entry in asking.seen if entry[1] is not None]
    assert (name, metadata) == ("fit", None)
    assert y is Y
    np.testing.assert_array_equal(last.predict(frame), model.predict(frame))
    counts = [m.n_iter_ if hasattr(m, "n_iter_") else len(m.estimators_) for _, m, *_ in steps]
    assert counts == list(range(1, len(steps) + 1))
    assert all(list(m.feature_names_in_) == list("abcd") for _, m, *_ in steps)
    # A task begins with what the one before ended with; before the first, nothing can predict.
    assert asking.at_begin[:2] == [None, None]
    np.testing.assert_array_equal(asking.at_begin[2].predict(frame), steps[0][1].predict(frame))


def test_a_warm_start_and_a_second_fit_begin_with_what_is_there():
    for model in (
        RandomForestClassifier(2, warm_start=True, random_state=0),
        BaggingClassifier(GaussianNB(), 2, warm_start=True, random_state=0),
        AdaBoostClassifier(n_estimators=2, warm_start=True),
        GradientBoostingClassifier(n_estimators=2, warm_start=True),
    ):
        asking = Asking()
        model.fit(X, Y).set_params(n_estimators=4).set_callbacks(asking).fit(X, Y)
        assert [len(m.estimators_) for _, m, *_ in asking.seen] == [3, 4, 4]
        assert len(asking.at_begin[1].estimators_) == 2
    calibrated = RandomForestClassifier(22, random_state=0, calibration="isotonic").fit(X, Y)
    asking = Asking()
    calibrated.set_callbacks(asking).fit(X, Y)
    plain = RandomForestClassifier(20, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(asking.seen[19][1].predict_proba(X), plain.predict_proba(X))


def test_early_stopping_and_refits_end_with_the_fitted_model():
    for model in (
        GradientBoostingClassifier(random_state=0, stopping_folds=None, early_stopping=True, learning_rate=0.5),
        AdaBoostClassifier(n_estimators=40, n_iter_no_change=2, random_state=0),
        HistGradientBoostingClassifier(early_stopping=True, n_iter_no_change=2, random_state=0),
    ):
        monitor = callback.ScoringMonitor(scoring=["neg_log_loss", "accuracy"])
        model.set_callbacks(monitor).fit(X, Y)
        (last,) = [row for row in monitor.get_logs().data if row["task_name"] == "fit"]
        assert last["accuracy"] == accuracy_score(Y, model.predict(X))
        assert last["neg_log_loss"] == pytest.approx(-log_loss(Y, model.predict_proba(X)))


@pytest.mark.parametrize("estimator", CURVES)
def test_nothing_is_made_for_callbacks_that_do_not_ask(estimator, monkeypatch):
    import sklearn.callback._callback_context as contexts

    def refuse(*_):
        raise AssertionError("an estimator was made")

    monkeypatch.setattr(contexts, "_from_reconstruction_attributes", refuse)
    calls, lister = [], type(estimator)._list_fitted

    def count(self, *args):
        calls.append(args)
        return lister(self, *args)

    monkeypatch.setattr(type(estimator), "_list_fitted", count)
    clone(estimator).set_callbacks(Recorder()).fit(X, Y)
    assert len(calls) == 1


def test_others_pass_no_estimator():
    monitor = callback.ScoringMonitor(scoring=get_scorer("accuracy"))
    VotingClassifier(NAMED).set_callbacks(monitor).fit(X, Y)
    with pytest.raises(ValueError, match="No logs"):
        monitor.get_logs()
