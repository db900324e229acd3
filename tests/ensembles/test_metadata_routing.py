"""scikit-learn's metadata routing: a fit passes to members what they request, as in its own routing tests."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.tests.metadata_routing_common import (
    ConsumingClassifier,
    ConsumingRegressor,
    _Registry,
    assert_request_is_empty,
)

from committee import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ArcingClassifier,
    BaggingClassifier,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
)

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (np.arange(N) < N // 2 + 10).astype(int)  # the consuming classifier says 1 for the first half
METADATA = np.arange(N)


class RecordingClassifier(GaussianNB):
    """Remembers the metadata and the weights of its fit."""

    def fit(self, X, y, sample_weight=None, metadata=None):
        self.metadata_, self.weights_, self.table_ = metadata, sample_weight, np.asarray(X)
        return super().fit(X, y, sample_weight)


class RecordingRegressor(LinearRegression):
    """Remembers the metadata and the weights of its fit."""

    def fit(self, X, y, sample_weight=None, metadata=None):
        self.metadata_, self.weights_, self.table_ = metadata, sample_weight, np.asarray(X)
        return super().fit(X, y, sample_weight)


BOOSTED = [
    (AdaBoostClassifier, {}, ConsumingClassifier, RecordingClassifier),
    (AdaBoostClassifier, {"method": "resample"}, ConsumingClassifier, RecordingClassifier),
    (AdaBoostClassifier, {"algorithm": "logit"}, ConsumingRegressor, RecordingRegressor),
    (AdaBoostRegressor, {}, ConsumingRegressor, RecordingRegressor),
    (AdaBoostRegressor, {"method": "reweight"}, ConsumingRegressor, RecordingRegressor),
    (ArcingClassifier, {}, ConsumingClassifier, RecordingClassifier),
    (ArcingClassifier, {"method": "reweight"}, ConsumingClassifier, RecordingClassifier),
    (ArcingClassifier, {"algorithm": "arc-gv"}, ConsumingClassifier, RecordingClassifier),
]
IDS = [f"{kind.__name__}-{params}" for kind, params, *_ in BOOSTED]


@pytest.mark.parametrize(("kind", "params", "consumer"), [row[:3] for row in BOOSTED], ids=IDS)
def test_a_consuming_member_of_a_boosted_ensemble_gets_what_it_requests(kind, params, consumer):
    registry = _Registry()
    with config_context(enable_metadata_routing=True):
        member = consumer(registry=registry).set_fit_request(metadata=True)
        kind(member, n_estimators=2, random_state=0, **params).fit(X, Y, metadata="note")
    assert registry
    for fitted in registry:
        (records,) = fitted._records["fit"].values()
        assert [record["metadata"] for record in records] == ["note"]


@pytest.mark.parametrize(("kind", "params", "recorder"), [(k, p, r) for k, p, _, r in BOOSTED], ids=IDS)
def test_entries_of_rows_follow_their_rows(kind, params, recorder):
    weights = np.where(np.arange(N) % 5 == 0, 0.0, 1.0)  # rows of weight zero are not passed to members
    with config_context(enable_metadata_routing=True):
        member = recorder().set_fit_request(metadata=True)
        model = kind(member, n_estimators=3, random_state=0, **params)
        model.fit(X, Y, sample_weight=weights, metadata=METADATA)
    for fitted in model.estimators_:
        np.testing.assert_array_equal(fitted.table_, X[fitted.metadata_])
        assert weights[fitted.metadata_].all()


@pytest.mark.parametrize(("kind", "params", "consumer"), [row[:3] for row in BOOSTED], ids=IDS)
def test_what_no_member_requests_is_refused(kind, params, consumer):
    with config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match=r"\[metadata\] are passed but are not explicitly set"):
            kind(consumer(), **params).fit(X, Y, metadata="note")
        with pytest.raises(TypeError, match="unexpected argument"):
            kind(consumer().set_fit_request(metadata=False), **params).fit(X, Y, metadata="note")
        with pytest.raises(TypeError, match="unexpected argument"):
            kind(consumer(), **params).fit(X, Y, other="note")
        with pytest.raises(TypeError, match="unexpected argument"):
            kind(n_estimators=2, **params).fit(X, Y, metadata="note")  # a tree of this library
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        kind(consumer(), **params).fit(X, Y, metadata="note")


@pytest.mark.parametrize(("kind", "params", "recorder"), [(k, p, r) for k, p, _, r in BOOSTED], ids=IDS)
def test_routing_changes_nothing_where_nothing_is_routed(kind, params, recorder):
    weights = RNG.uniform(0.5, 1.5, N)

    def fit():
        return kind(recorder(), n_estimators=3, random_state=0, **params).fit(X, Y, sample_weight=weights)

    plain = fit()
    with config_context(enable_metadata_routing=True):
        routed = fit()
        np.testing.assert_array_equal(plain.predict(X), routed.predict(X))
        assert_request_is_empty(kind(recorder(), **params).get_metadata_routing())
    assert [m.metadata_ for m in plain.estimators_] == [None] * len(plain.estimators_)


@pytest.mark.parametrize("kind", [AdaBoostClassifier, ArcingClassifier, BaggingClassifier])
def test_metadata_reach_members_through_a_search(kind):
    with config_context(enable_metadata_routing=True):
        member = RecordingClassifier().set_fit_request(metadata=True)
        model = kind(member, n_estimators=2, random_state=0)
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"n_estimators": [2]}, cv=2)
        search.fit(X, Y, sample_weight=np.ones(N), metadata=METADATA)
        for fitted in search.best_estimator_.estimators_:
            np.testing.assert_array_equal(fitted.table_, X[fitted.metadata_])
        found = cross_validate(model, X, Y, params={"metadata": METADATA}, cv=2, return_estimator=True)
        for fitted in (m for model in found["estimator"] for m in model.estimators_):
            np.testing.assert_array_equal(fitted.table_, X[fitted.metadata_])


NAMED = [
    (SuperLearnerClassifier, RecordingClassifier, LogisticRegression),
    (SuperLearnerRegressor, RecordingRegressor, LinearRegression),
    (EnsembleSelectionClassifier, RecordingClassifier, LogisticRegression),
    (EnsembleSelectionRegressor, RecordingRegressor, LinearRegression),
]


@pytest.mark.parametrize(("kind", "recorder", "other"), NAMED)
def test_members_of_weighted_ensembles_get_what_they_request(kind, recorder, other):
    with config_context(enable_metadata_routing=True):
        wants = recorder().set_fit_request(metadata=True, sample_weight=True)
        members = [("wants", wants), ("leaves", other().set_fit_request(sample_weight=False))]
        weights = np.linspace(0.5, 1.5, N)
        model = kind(members, cv=3).fit(X, Y, sample_weight=weights, metadata=METADATA)
        for fitted in (member for member in model.estimators_ if isinstance(member, recorder)):
            np.testing.assert_array_equal(fitted.table_, X[fitted.metadata_])
            np.testing.assert_allclose(fitted.weights_, weights[fitted.metadata_])
        with pytest.raises(UnsetMetadataPassedError, match="metadata"):
            kind([("unset", recorder())]).fit(X, Y, metadata=METADATA)
        assert_request_is_empty(kind([("a", recorder())]).get_metadata_routing())
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        kind(members).fit(X, Y, metadata=METADATA)


@pytest.mark.parametrize(
    ("kind", "consumer"),
    [
        (SuperLearnerClassifier, ConsumingClassifier),
        (SuperLearnerRegressor, ConsumingRegressor),
        (EnsembleSelectionClassifier, ConsumingClassifier),
        (EnsembleSelectionRegressor, ConsumingRegressor),
    ],
)
def test_consuming_members_of_weighted_ensembles_record_what_they_get(kind, consumer):
    registry = _Registry()
    with config_context(enable_metadata_routing=True):
        member = consumer(registry=registry).set_fit_request(metadata=True)
        kind([("a", member)], cv=2).fit(X, Y, metadata="note")
    assert len(registry) == 3  # two folds and all rows
    for fitted in registry:
        (records,) = fitted._records["fit"].values()
        assert records == [{"metadata": "note"}]
