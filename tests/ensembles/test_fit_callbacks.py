"""scikit-learn's callbacks: the members or rounds of each ensemble are tasks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ArcingClassifier,
    BaggingClassifier,
    BoosTexterClassifier,
    CommitteeClassifier,
    GradientBoostingClassifier,
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
