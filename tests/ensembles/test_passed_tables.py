"""Members of other libraries get the table as it is, whatever only they can read."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from committee import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ArcingClassifier,
    BaggingClassifier,
    DecisionTreeRegressor,
    StackingClassifier,
    SuperLearnerClassifier,
    VotingClassifier,
)

RNG = np.random.default_rng(0)
Y = np.arange(60) % 2


def drop_infinities(X):
    return np.nan_to_num(np.asarray(X, dtype=float), posinf=9.0, neginf=-9.0)


def make_ensembles(member):
    members = [("a", member), ("b", member)]
    return [
        BaggingClassifier(member, n_estimators=2, random_state=0),
        AdaBoostClassifier(member, n_estimators=2, method="resample", random_state=0),
        ArcingClassifier(member, n_estimators=2, random_state=0),
        VotingClassifier(members),
        StackingClassifier(members, cv=2),
        SuperLearnerClassifier(members, cv=2),
    ]


def check_all(member, X):
    for ensemble in make_ensembles(member):
        predicted = ensemble.fit(X, Y).predict(X)
        assert np.mean(predicted == Y) > 0.9, type(ensemble).__name__


def test_infinity_and_objects_reach_the_first_step_of_a_pipeline():
    X = RNG.normal(size=(60, 3))
    X[:, 0] = np.where(Y == 1, np.inf, -np.inf)
    member = make_pipeline(FunctionTransformer(drop_infinities), GaussianNB())
    check_all(member, X)
    check_all(member, X.astype(object))


def test_three_axes():
    X = RNG.normal(size=(60, 3, 2)) + 6.0 * Y[:, None, None]
    check_all(make_pipeline(FunctionTransformer(lambda X: X.reshape(len(X), -1)), GaussianNB()), X)


def test_list_of_texts():
    check_all(make_pipeline(CountVectorizer(), MultinomialNB()), ["good film" if y else "bad plot" for y in Y])


def test_columns_by_name():
    frame = pd.DataFrame({"text": np.where(Y == 1, "a", "b"), "number": RNG.normal(size=60)})
    encode = make_column_transformer((OneHotEncoder(), ["text"]), remainder="passthrough")
    check_all(make_pipeline(encode, LogisticRegression()), frame)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_matrix])
def test_sparse_matrices_keep_their_format(container):
    class Recorder(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.seen_, self.classes_ = X, np.unique(y)

        def predict(self, X):
            return np.zeros(X.shape[0], dtype=int)

    X = container(np.eye(60))
    bag = BaggingClassifier(Recorder(), n_estimators=2, max_features=7, random_state=0).fit(X, Y)
    assert [member.seen_.format for member in bag] == ["csr" if X.format == "coo" else X.format] * 2
    assert bag.predict(X).shape == (60,)


def test_columns_are_compared_at_prediction():
    X = RNG.normal(size=(60, 3))
    for ensemble in (BaggingClassifier(GaussianNB()), AdaBoostClassifier(GaussianNB(), n_estimators=2)):
        ensemble.fit(X, Y)
        with pytest.raises(ValueError, match="X has 2 features, but"):
            ensemble.predict(X[:, :2])
        frame = pd.DataFrame(X, columns=list("abc"))
        ensemble.fit(frame, Y)
        assert list(ensemble.feature_names_in_) == list("abc")
        with pytest.raises(ValueError, match="feature names should match"):
            ensemble.predict(frame[["b", "a", "c"]])


def test_tags_are_those_of_the_member():
    allows = [BaggingClassifier(DummyClassifier()), AdaBoostClassifier(DummyClassifier())]
    assert [ensemble.__sklearn_tags__().input_tags.allow_nan for ensemble in allows] == [False, False]
    assert BaggingClassifier().__sklearn_tags__().input_tags.allow_nan


def test_adaboost_regressor_passes_tables_on():
    X = np.where(Y == 1, np.inf, -np.inf)[:, None]
    member = make_pipeline(FunctionTransformer(drop_infinities), DecisionTreeRegressor(max_depth=1))
    model = AdaBoostRegressor(member, n_estimators=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
