"""Boosting of several labels and of several class targets, beside one model for each of them."""

import numpy as np
import pytest

import committee
from committee import GradientBoostingClassifier, HistGradientBoostingClassifier
from committee.ensembles.boosting.joined_loss import JoinedLoss
from committee.exceptions import CommitteeError
from committee.losses import LossFunction

FEW = {"random_state": 0, "n_estimators": 8}
HIST = {"random_state": 0, "max_iter": 8}


def make_targets(n_rows=400, seed=0):
    """Four columns; three labels, and two targets of two and four classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    labels = (X[:, :3] + 0.5 * rng.normal(size=(n_rows, 3)) > 0.3).astype(int)
    size = np.array(["large", "small"])[(X[:, 3] > 0).astype(int)]
    colour = np.array(["blue", "green", "grey", "red"])[np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])]
    return X, labels, np.stack([size, colour], axis=1)


@pytest.mark.parametrize("cls", [GradientBoostingClassifier, HistGradientBoostingClassifier])
def test_labels_have_the_trees_of_one_model_each(cls):
    X, labels, _ = make_targets()
    options = FEW if cls is GradientBoostingClassifier else HIST
    model = cls(**options).fit(X, labels)
    assert [own.tolist() for own in model.classes_] == [[0, 1]] * 3
    assert model.n_outputs_ == 3
    shares = model.predict_proba(X)
    for k in range(3):
        single = cls(**options).fit(X, labels[:, k])
        np.testing.assert_allclose(shares[k], single.predict_proba(X), rtol=1e-7)
        np.testing.assert_array_equal(model.predict(X)[:, k], single.predict(X))
    assert model.score(X, labels) > 0.6


@pytest.mark.parametrize("cls", [GradientBoostingClassifier, HistGradientBoostingClassifier])
def test_targets_of_several_classes_have_the_trees_of_one_model_each(cls, tmp_path):
    X, _, targets = make_targets()
    options = FEW if cls is GradientBoostingClassifier else HIST
    model = cls(**options).fit(X, targets)
    shares, logs = model.predict_proba(X), model.predict_log_proba(X)
    assert not hasattr(model, "decision_function")
    assert [own.shape for own in shares] == [(400, 2), (400, 4)]
    for k in range(2):
        single = cls(**options).fit(X, targets[:, k])
        # Gradients that are given are rounded in steps of their own.
        np.testing.assert_allclose(shares[k], single.predict_proba(X), atol=1e-4)
        np.testing.assert_allclose(np.exp(logs[k]), shares[k])
        assert (model.predict(X)[:, k] == single.predict(X)).mean() > 0.99
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    for k, last in enumerate(list(model.staged_predict_proba(X))[-1]):
        np.testing.assert_allclose(last, shares[k])
    committee.save(model, tmp_path / "model.committee")
    loaded = committee.load(tmp_path / "model.committee")
    for one, other in zip(loaded.predict_proba(X), shares, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_loss_is_the_sum_and_threads_change_nothing():
    X, labels, targets = make_targets()
    for y in (labels, targets):
        models = [GradientBoostingClassifier(n_jobs=n_jobs, **FEW).fit(X, y) for n_jobs in (1, 3)]
        for one, other in zip(*(model.predict_proba(X) for model in models), strict=True):
            np.testing.assert_array_equal(one, other)
    rng = np.random.default_rng(1)
    scores, y = rng.normal(size=(50, 4)), np.stack([rng.integers(0, 2, 50), rng.integers(0, 3, 50)], axis=1)
    loss = JoinedLoss((LossFunction("logistic"), LossFunction("softmax", n_scores=3)))
    g, h = loss.find_gradients(y, scores)
    step = 1e-6
    for k in range(4):
        moved = scores.copy()
        moved[:, k] += step
        slope = (loss.find_values(y, moved) - loss.find_values(y, scores)) / step
        np.testing.assert_allclose(slope, g[:, k], atol=1e-5)
    assert (h > 0).all()


def test_rounds_are_chosen_and_evaluation_sets_are_scored():
    X, labels, targets = make_targets()
    chosen = GradientBoostingClassifier(random_state=0, learning_rate=0.3).fit(X[:300], labels[:300])
    assert 1 <= chosen.n_estimators_ < 1000
    model = GradientBoostingClassifier(**FEW)
    model.fit(X[:300], targets[:300], eval_set=[(X[300:], targets[300:])])
    assert model.evals_result_["validation_0"]["loss"][-1] < model.evals_result_["validation_0"]["loss"][0]
    scored = HistGradientBoostingClassifier(early_stopping=True, scoring="f1_micro", **HIST).fit(X, labels)
    assert scored.validation_score_[-1] > 0.5
    with pytest.raises(CommitteeError, match="3 targets, the training rows 2"):
        model.fit(X, targets, eval_set=[(X, labels)])


def test_a_target_may_have_one_class():
    X, labels, _ = make_targets()
    labels[:, 1] = 0
    model = GradientBoostingClassifier(**FEW).fit(X, labels)
    assert [own.shape[1] for own in model.predict_proba(X)] == [2, 1, 2]
    assert not model.predict(X)[:, 1].any()


def test_refusals():
    X, labels, targets = make_targets()
    with pytest.raises(CommitteeError, match="requires two classes in each"):
        GradientBoostingClassifier(loss="exponential", **FEW).fit(X, targets)
    with pytest.raises(CommitteeError, match="takes one target"):
        GradientBoostingClassifier(loss=lambda y, f: (f, f), **FEW).fit(X, labels)
    with pytest.raises(CommitteeError, match="takes one target"):
        GradientBoostingClassifier(init=GradientBoostingClassifier(**FEW), **FEW).fit(X, labels)
