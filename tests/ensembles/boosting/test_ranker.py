"""GradientBoostingRanker: quality, routing of queries, weights, early stopping, files, explanations."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee import GradientBoostingRanker
from committee.exceptions import CommitteeError
from committee.inspection import shap_values
from committee.scoring import mean_average_precision, mean_ndcg
from tests.naive import ranking as naive
from tests.naive.randomness import draw_whole_groups

LOSSES = ["lambdarank", "pairwise", "listwise"]


def make_queries(n_queries=60, n_docs=12, seed=0):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_docs)
    X = rng.normal(size=(len(qid), 6)) + rng.normal(size=(n_queries, 6))[qid]
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(qid))
    y = np.digitize(signal, [0.5, 1.5, 2.5, 3.5]).astype(float)
    return X, y, qid


@pytest.mark.parametrize("loss", LOSSES)
def test_order_is_learnt(loss):
    X, y, qid = make_queries()
    X_test, y_test, qid_test = make_queries(seed=1)
    model = GradientBoostingRanker(loss=loss, n_estimators=60, max_leaf_nodes=15, random_state=0).fit(X, y, qid=qid)
    assert model.score(X_test, y_test, qid=qid_test) > mean_ndcg(y_test, 0 * y_test, qid=qid_test) + 0.15
    assert model.train_score_[-1] < model.train_score_[0]
    assert model.n_queries_ == 60
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_first_round_follows_the_twin(loss):
    X, y, qid = make_queries(20)
    options = {"learning_rate": 1.0, "max_leaf_nodes": 2, "max_depth": None, "min_samples_leaf": 1, "reg_lambda": 0.0}
    model = GradientBoostingRanker(loss=loss, n_estimators=1, **options).fit(X, y, qid=qid)
    g, h = np.zeros(len(y)), np.zeros(len(y))
    for query in np.unique(qid):
        rows = qid == query
        g[rows], h[rows] = getattr(naive, loss)(y[rows], np.zeros(rows.sum()))
    leaves = model.predict(X)
    for value in np.unique(leaves):
        own = leaves == value
        assert value == pytest.approx(-g[own].sum() / h[own].sum(), rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_queries_may_be_scattered(loss):
    X, y, qid = make_queries(20)
    order = np.argsort(np.arange(len(qid)) % 12, kind="stable")  # the order within each query stays
    options = {"loss": loss, "n_estimators": 8, "random_state": 0}
    model = GradientBoostingRanker(**options).fit(X, y, qid=qid)
    names = np.array([f"q{number}" for number in qid])
    scattered = GradientBoostingRanker(**options).fit(X[order], y[order], qid=names[order])
    np.testing.assert_allclose(scattered.predict(X), model.predict(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_change_nothing(loss):
    X, y, qid = make_queries(80)
    models = [GradientBoostingRanker(loss=loss, n_jobs=n_jobs, random_state=0).fit(X, y, qid=qid) for n_jobs in (1, 3)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict(X), models[0].predict(X))
        np.testing.assert_array_equal(model.validation_score_, models[0].validation_score_)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_queries_are_copies_of_queries(loss):
    X, y, qid = make_queries(20)
    counts = np.random.default_rng(2).integers(0, 4, 20)
    options = {"loss": loss, "n_estimators": 8, "random_state": 0, "min_samples_leaf": 1}
    weighted = GradientBoostingRanker(**options).fit(X, y, counts[qid], qid=qid)
    rows = np.concatenate([np.flatnonzero(qid == q) for q in range(20) for _ in range(counts[q])])
    copies = np.repeat(np.arange(counts.sum()), 12)
    repeated = GradientBoostingRanker(**options).fit(X[rows], y[rows], qid=copies)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-8)
    scaled = GradientBoostingRanker(**options).fit(X, y, 8.0 * counts[qid], qid=qid)
    np.testing.assert_array_equal(scaled.predict(X), weighted.predict(X))
    assert weighted.n_queries_ == np.count_nonzero(counts)


def test_whole_queries_are_held_out():
    X, y, qid = make_queries(120)
    seen = []

    def record(relevance, scores, qid, **_):
        seen.append((len(relevance), len(np.unique(qid))))
        return mean_ndcg(relevance, scores, qid=qid)

    model = GradientBoostingRanker(stopping_folds=None, validation_fraction=0.25, scoring=record, random_state=0)
    model.fit(X, y, qid=qid)
    assert set(seen) == {(90 * 12, 90), (30 * 12, 30)}
    assert model.n_estimators_ == max(1, int(np.argmax(model.validation_score_)))
    folded = GradientBoostingRanker(stopping_folds=4, scoring="ndcg@5", random_state=0).fit(X, y, qid=qid)
    assert 1 <= folded.n_estimators_ <= len(folded.validation_score_)
    few = GradientBoostingRanker(random_state=0).fit(X[:60], y[:60])
    assert few.n_queries_ == 1


VALUES = {
    "lambdarank": lambda y, s: 1.0 - naive.find_ndcg(y, s, 30) if y.any() else 0.0,
    "pairwise": naive.pairwise_value,
    "listwise": naive.listwise_value,
}


@pytest.mark.parametrize("loss", LOSSES)
def test_rounds_draw_whole_queries_and_are_measured_by_the_others(loss):
    """Twins: which queries are in the bag of a round, and the loss of those left out, before and after it."""
    X, y, qid = make_queries(23)
    order = np.random.default_rng(1).permutation(len(qid))  # rows of a query need not be adjacent
    X, y, qid = X[order], y[order], qid[order]
    weights = np.where(qid % 7 == 3, 0.0, 1.0 + qid % 2)
    model = GradientBoostingRanker(loss=loss, n_estimators=5, subsample=0.6, random_state=3).fit(X, y, weights, qid=qid)
    scores = [np.zeros(len(y)), *model.staged_predict(X)]
    for m in range(5):
        drawn = draw_whole_groups(qid.tolist(), weights.tolist(), 0.6, model._seed, m)
        left_out = [q for q in np.unique(qid[weights > 0.0]) if q not in drawn]
        assert len(drawn) == 12
        assert len(left_out) == 8
        before, after = (
            np.average(
                [VALUES[loss](y[qid == q], own[qid == q]) for q in left_out],
                weights=[weights[qid == q].mean() for q in left_out],
            )
            for own in scores[m : m + 2]
        )
        assert model.oob_scores_[m] == pytest.approx(after, rel=1e-6)
        assert model.oob_improvement_[m] == pytest.approx(before - after, rel=1e-5, abs=1e-8)
    assert model.oob_score_ == model.oob_scores_[-1]
    assert 0.6 < model.oob_scores_[0] / model.train_score_[0] < 1.6  # halves of lists have other losses than lists


@pytest.mark.parametrize("loss", LOSSES)
def test_queries_that_are_absent_change_no_draw(loss):
    X, y, qid = make_queries(30)
    absent = np.isin(qid, [0, 5, 29])
    options = {"loss": loss, "n_estimators": 6, "subsample": 0.5, "random_state": 1, "n_jobs": 2}
    weighted = GradientBoostingRanker(**options).fit(X, y, np.where(absent, 0.0, 1.0), qid=qid)
    left = GradientBoostingRanker(**options, warm_start=True).fit(X[~absent], y[~absent], qid=qid[~absent])
    np.testing.assert_allclose(weighted.predict(X), left.predict(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighted.oob_scores_, left.oob_scores_, rtol=1e-6)
    longer = GradientBoostingRanker(**{**options, "n_estimators": 9}).fit(X[~absent], y[~absent], qid=qid[~absent])
    np.testing.assert_array_equal(
        left.set_params(n_estimators=9).fit(X[~absent], y[~absent], qid=qid[~absent]).predict(X), longer.predict(X)
    )


def test_rows_of_few_queries_are_drawn_by_themselves():
    X, y, qid = make_queries(4, 40)
    model = GradientBoostingRanker(n_estimators=3, subsample=0.5, random_state=0).fit(X, y, qid=qid)
    assert np.isfinite(model.oob_scores_).all()
    alone = GradientBoostingRanker(n_estimators=3, subsample=0.5, random_state=0).fit(X, y)
    assert np.isfinite(alone.oob_scores_).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_queries_out_of_bag_choose_the_rounds(loss):
    X, y, qid = make_queries(80, seed=3)
    X_test, y_test, qid_test = make_queries(200, seed=4)
    model = GradientBoostingRanker(loss=loss, early_stopping="oob", random_state=0).fit(X, y, qid=qid)
    assert model.n_estimators_ > 20
    staged = [mean_ndcg(y_test, scores, qid=qid_test) for scores in model.staged_predict(X_test)]
    assert staged[-1] > max(staged) - 0.01
    assert staged[-1] > staged[0] + 0.1
    # Relevances that do not depend on X teach nothing.
    noise = np.random.default_rng(0).permutation(y)
    assert model.fit(X, noise, qid=qid).n_estimators_ < 10


def test_evaluation_sets_have_queries():
    X, y, qid = make_queries(60)
    model = GradientBoostingRanker(n_estimators=5, random_state=0)
    metrics = ["ndcg@1", "map"]
    model.fit(X[:480], y[:480], qid=qid[:480], eval_set=[(X[480:], y[480:])], eval_qid=[qid[480:]], eval_metric=metrics)
    found = model.evals_result_["validation_0"]
    assert found.keys() == {"ndcg", "ndcg@1", "map"}
    scores = model.predict(X[480:])
    assert found["ndcg"][-1] == pytest.approx(mean_ndcg(y[480:], scores, qid=qid[480:]))
    assert found["map"][-1] == pytest.approx(mean_average_precision(y[480:], scores, qid=qid[480:]))
    with pytest.raises(CommitteeError, match="eval_qid must have an entry"):
        model.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[])


def test_queries_are_routed():
    X, y, qid = make_queries(40)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(GradientBoostingRanker(n_estimators=5), {"max_depth": [1, 3]}, cv=GroupKFold(3))
        search.fit(X, y, groups=qid, qid=qid)
        assert 0.3 < search.best_score_ < 1.0
        pipeline = make_pipeline(StandardScaler(), GradientBoostingRanker(n_estimators=5))
        first = make_scorer(mean_ndcg, k=3).set_score_request(qid=True)
        scoring = {"all": make_scorer(mean_ndcg).set_score_request(qid=True), "first": first}
        params = {"groups": qid, "qid": qid}
        found = cross_validate(pipeline, X, y, cv=GroupKFold(3), scoring=scoring, params=params)
        assert (found["test_all"] > found["test_first"]).all()
        fold = next(GroupKFold(3).split(X, y, qid))
        model = GradientBoostingRanker(n_estimators=5).fit(X[fold[0]], y[fold[0]], qid=qid[fold[0]])
        expected = model.score(X[fold[1]], y[fold[1]], qid=qid[fold[1]])
        plain = cross_validate(GradientBoostingRanker(n_estimators=5), X, y, cv=GroupKFold(3), params=params)
        assert plain["test_score"][0] == pytest.approx(expected)


def test_categories_gaps_files_and_explanations(tmp_path):
    X, y, qid = make_queries(40)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["f"] = pd.Categorical(np.where(X[:, 0] > 0.5, "good", np.where(X[:, 0] > -0.5, "fair", "poor")))
    frame.loc[::5, "a"] = np.nan
    model = GradientBoostingRanker(n_estimators=10, random_state=0).fit(frame, y, qid=qid)
    assert model.feature_importances_[[0, 5]].sum() > 0.2
    committee.save(model, tmp_path / "ranker.committee")
    loaded = committee.load(tmp_path / "ranker.committee")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.score(frame, y, qid=qid) == model.score(frame, y, qid=qid)
    values = shap_values(model, frame)
    total = np.asarray(values.values).sum(axis=1).ravel() + np.ravel(values.base_values)
    np.testing.assert_allclose(total, model.predict(frame), rtol=1e-6, atol=1e-9)
    numbers = GradientBoostingRanker(n_estimators=5, random_state=0).fit(X, y, qid=qid)
    np.testing.assert_array_equal(numbers.predictor().predict(X[3:4]), numbers.predict(X[3:4]))


def test_scores_are_exported():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    X, y, qid = make_queries(20)
    model = GradientBoostingRanker(n_estimators=5, random_state=0).fit(X, y, qid=qid)
    exported = committee.io.to_onnx(model)
    session = runtime.InferenceSession(exported if isinstance(exported, bytes) else exported.SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X})[0]
    # The runtime adds trees in an order of its own.
    np.testing.assert_allclose(np.ravel(found), model.predict(X), rtol=1e-12, atol=1e-14)


def test_a_fit_goes_on():
    X, y, qid = make_queries(30)
    whole = GradientBoostingRanker(n_estimators=9, random_state=0).fit(X, y, qid=qid)
    model = GradientBoostingRanker(n_estimators=4, random_state=0, warm_start=True).fit(X, y, qid=qid)
    model.set_params(n_estimators=9).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-9)


def test_refusals():
    X, y, qid = make_queries(10)
    model = GradientBoostingRanker(n_estimators=2)
    for wrong, message in [(-y, "relevances from 0 to 31"), (40 + y, "relevances from 0 to 31")]:
        with pytest.raises(CommitteeError, match=message):
            model.fit(X, wrong, qid=qid)
    with pytest.raises(CommitteeError, match=r"np\.repeat"):
        model.fit(X, y, qid=np.full(10, 12))
    with pytest.raises(CommitteeError, match="missing values"):
        model.fit(X, y, qid=np.where(qid == 3, np.nan, qid))
    with pytest.raises(CommitteeError, match="argument 'qid'"):
        model.fit(X, y, group=[12] * 10)
    with pytest.raises(CommitteeError, match="'ndcg', 'map'"):
        GradientBoostingRanker(scoring="accuracy").fit(X, y, qid=qid)
    with pytest.raises(CommitteeError, match="It is called 'lambdarank' here"):
        GradientBoostingRanker(loss="rank:ndcg").fit(X, y, qid=qid)
    with pytest.raises(CommitteeError, match="'qid' is needed"):
        model.fit(X, y, qid=qid).score(X, y)


def test_monotone_constraint_is_on_the_score():
    X, y, qid = make_queries(20)
    model = GradientBoostingRanker(n_estimators=15, monotonic_cst=[1, 0, 0, 0, 0, 0]).fit(X, y, qid=qid)
    line = np.zeros((50, 6))
    line[:, 0] = np.linspace(-3.0, 3.0, 50)
    assert (np.diff(model.predict(line)) >= 0.0).all()
    assert np.ptp(model.predict(line)) > 0.0
