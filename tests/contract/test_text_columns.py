"""Every estimator reads free text: from every kind of frame, row by row, by any weights, and from model files."""

import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

import committee
from committee.exceptions import DataError, DataTypeError, ParameterError, ParameterTypeError
from committee.inspection import impurity_importance, partial_dependence, shap_values
from committee.io import to_c, to_onnx
from tests.contract.instances import shape_target
from tests.io.models import ESTIMATORS, fit_model, make_model

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NUMBERS_ONLY = [committee.BernoulliNB, committee.BoosTexterClassifier]
READERS = [cls for cls in ESTIMATORS if cls not in NUMBERS_ONLY]
N_ROWS = 160
USUAL = ["see", "you", "at", "home", "for", "lunch", "later", "today"]
LOUD = ["free", "prize", "win", "cash", "call", "now", "claim"]


def make_table() -> tuple[Any, Any]:
    """A number, free text that carries the signal (missing once), and a category of three words."""
    rng = np.random.default_rng(0)
    spam = rng.random(N_ROWS) < 0.5
    texts = [" ".join(rng.choice(LOUD if loud else USUAL, size=8)) for loud in spam]
    table = pd.DataFrame(
        {"hour": rng.normal(size=N_ROWS), "message": texts, "sender": rng.choice(["a b c", "d e f"], N_ROWS)}
    )
    table.loc[3, "message"] = None
    return table, spam


def make_target(spam: Any, model: Any) -> Any:
    return np.where(spam, "yes", "no") if is_classifier(model) else shape_target(model, 2.0 * spam)


def predict(model: Any, X: Any) -> Any:
    name = next(name for name in ("predict_proba", "score_samples", "predict", "transform") if hasattr(model, name))
    found = getattr(model, name)(X)
    return np.ascontiguousarray(found.toarray() if hasattr(found, "toarray") else found)


@pytest.mark.parametrize("cls", READERS, ids=lambda cls: cls.__name__)
def test_every_estimator_reads_text(cls: Any, tmp_path: Any) -> None:
    table, spam = make_table()
    model = make_model(cls)
    y = make_target(spam, model)
    fit_model(model, (table, y))
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == table.columns.tolist()
    expected = predict(model, table)
    for frame in (pl.from_pandas(table), pa.Table.from_pandas(table, preserve_index=False)):
        np.testing.assert_array_equal(predict(model, frame), expected)
        np.testing.assert_array_equal(predict(fit_model(make_model(cls), (frame, y)), table), expected)
    rows = np.concatenate([predict(model, table.iloc[k : k + 1]) for k in range(8)])
    np.testing.assert_array_equal(rows, expected[:8])
    committee.save(model, tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    np.testing.assert_array_equal(predict(loaded, table), expected)
    committee.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    np.testing.assert_array_equal(predict(pickle.loads(pickle.dumps(model)), table), expected)
    if hasattr(model, "feature_importances_"):
        assert model.feature_importances_.shape == (3,)
        assert model.feature_importances_.argmax() == 1
    for strange in (None, "words that nobody wrote before"):
        found = predict(model, table.assign(message=strange))
        assert np.isin(found, ["yes", "no"]).all() if found.dtype.kind in "OU" else np.isfinite(found).all()
    if getattr(model, "_schema", None) is not None and not cls.__name__.startswith("Committee"):
        assert model._schema.inputs.kinds == ("number", "text", "number")
        with pytest.raises(DataTypeError, match="column 'message' held text at fit and holds numbers now"):
            predict(model, table.assign(message=0.5))


@pytest.mark.parametrize(
    "cls",
    [
        committee.DecisionTreeClassifier,
        committee.RandomForestRegressor,
        committee.HistGradientBoostingClassifier,
        committee.GradientBoostingRegressor,
        committee.AdaBoostClassifier,
        committee.ExplainableBoostingClassifier,
    ],
    ids=lambda cls: cls.__name__,
)
def test_rows_of_weight_zero_are_absent(cls: Any) -> None:
    table, spam = make_table()
    y = make_target(spam, make_model(cls))
    weights = np.ones(N_ROWS)
    weights[:40] = 0.0
    table.loc[:39, "message"] = "other words in each of these rows altogether"
    same = {"bootstrap": False} | ({} if "Hist" in cls.__name__ else {"max_features": None})
    model = make_model(cls, **same).fit(table, y, sample_weight=weights)
    absent = make_model(cls, **same).fit(table[40:], y[40:])
    np.testing.assert_array_equal(predict(model, table), predict(absent, table))
    assert model._schema.inputs == absent._schema.inputs
    assert "other" not in model._schema.inputs.words_of(1).terms.tolist()


def test_weights_are_repetitions() -> None:
    table, spam = make_table()
    weights = np.random.default_rng(1).integers(1, 4, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), weights)
    weighted = committee.DecisionTreeClassifier(random_state=0).fit(table, spam, sample_weight=weights)
    repeated = committee.DecisionTreeClassifier(random_state=0).fit(table.iloc[rows], spam[rows])
    assert weighted._schema.inputs == repeated._schema.inputs
    np.testing.assert_array_equal(predict(weighted, table), predict(repeated, table))
    # Five times each: text is recognised by the number of rows, whether they are weighted or repeated.
    rows = np.repeat(np.arange(N_ROWS), np.where(np.arange(N_ROWS) % 2, 5, 4))
    counts = np.bincount(rows).astype(float)
    for X, y, w in ((table, spam, counts), (table.iloc[rows], spam[rows], None)):
        assert committee.DecisionTreeClassifier().fit(X, y, sample_weight=w)._schema.inputs is None


def test_threads_and_order_change_nothing() -> None:
    table, spam = make_table()
    fits = [committee.RandomForestClassifier(20, random_state=0, n_jobs=jobs).fit(table, spam) for jobs in (1, 2)]
    np.testing.assert_array_equal(predict(fits[0], table), predict(fits[1], table))
    tree = committee.DecisionTreeClassifier(random_state=0).fit(table, spam)
    turned = committee.DecisionTreeClassifier(random_state=0).fit(table[::-1], spam[::-1])
    assert tree._schema.inputs == turned._schema.inputs


def test_what_is_text() -> None:
    table, spam = make_table()

    def kinds(X: Any, **params: Any) -> Any:
        schema = committee.DecisionTreeClassifier(**params).fit(X, spam)._schema
        return None if schema.inputs is None else schema.inputs.kinds

    assert kinds(table) == ("number", "text", "number")
    assert kinds(table.to_numpy().tolist()) == ("number", "text", "number")
    assert kinds(table, text_columns=None) is None
    assert kinds(table, text_columns=["sender"]) == ("number", "number", "text")
    assert kinds(table, text_columns=[1, -1]) == ("number", "text", "text")
    assert kinds(table.astype({"message": "category"})) is None
    assert kinds(table.astype({"message": "category"}), text_columns=["message"]) == ("number", "text", "number")
    assert kinds(table, categorical_features=["message", "sender"]) is None
    assert kinds(pl.from_pandas(table).with_columns(pl.col("message").cast(pl.Categorical))) is None
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    assert kinds(arrow.set_column(1, "message", arrow["message"].dictionary_encode())) is None
    # Names of one word are categories, however many.
    assert kinds(table.assign(message=[f"id{k}" for k in range(N_ROWS)])) is None
    # Other strings than text need a word of the user, if categories are named.
    with pytest.raises(DataTypeError, match="'sender' holds text, and 'categorical_features' does not say"):
        kinds(table, categorical_features=None)
    assert kinds(table[["hour", "message"]], categorical_features=None) == ("number", "text")


def test_wrong_columns_are_refused() -> None:
    table, spam = make_table()
    for wrong, sentence in (
        (["body"], "names 'body', which is no column of X"),
        ([7], "names 7, which is no column of X"),
        (["hour"], "names 'hour', a column without text; it holds numbers"),
    ):
        with pytest.raises(ParameterError, match=f"'text_columns' parameter of DecisionTreeClassifier {sentence}"):
            committee.DecisionTreeClassifier(text_columns=wrong).fit(table, spam)
    both = committee.DecisionTreeClassifier(text_columns=["message"], categorical_features=["message", "sender"])
    with pytest.raises(ParameterError, match="names 'message', and so does 'categorical_features'"):
        both.fit(table, spam)
    with pytest.raises(ParameterError, match=r"must be .*; got 'all'"):
        committee.DecisionTreeClassifier(text_columns="all").fit(table, spam)
    numbers = np.zeros((N_ROWS, 2))
    for X in (numbers, csr_matrix(numbers)):
        with pytest.raises(ParameterError, match="names 0, a column without text; it holds numbers"):
            committee.DecisionTreeClassifier(text_columns=[0]).fit(X, spam)
    model = committee.DecisionTreeClassifier(random_state=0).fit(table[["hour", "message"]], spam)
    with pytest.warns(UserWarning, match="feature names"), pytest.raises(DataTypeError, match="lists or text"):
        model.predict(csr_matrix(numbers))
    with pytest.raises(ParameterError, match="leave text free"):
        committee.DecisionTreeClassifier(monotonic_cst=[0, 1, 0]).fit(table, spam)


def test_what_cannot_be_written_is_refused() -> None:
    table, spam = make_table()
    model = committee.RandomForestClassifier(3, random_state=0).fit(table, spam)
    pytest.importorskip("onnx")
    for write in (to_onnx, to_c, lambda fitted: fitted.predictor()):
        with pytest.raises(ParameterTypeError, match="dates, times, lists or text"):
            write(model)


def test_names_shapley_values_and_importances_are_of_columns() -> None:
    table, spam = make_table()
    tree = committee.DecisionTreeClassifier(random_state=0).fit(table, spam)
    assert "message (topic " in committee.export_text(tree)
    assert impurity_importance(tree).importances_mean.shape == (3,)
    found = shap_values(tree, table)
    assert found.values.shape[:2] == (N_ROWS, 3)
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, tree.predict_proba(table), atol=1e-12)
    assert float(found.data[0, 1]) == len(table["message"][0])
    without = committee.DecisionTreeClassifier().take_in(table, spam).without(1)
    assert without.schema.inputs is None
    assert without.n_features == 2
    with pytest.raises(DataError, match="'message' holds text, whose topics are no values of one axis"):
        partial_dependence(tree, table, "message")


def test_blocks_give_the_model_of_the_whole_table(tmp_path: Any) -> None:
    import pyarrow.parquet as pq

    table, spam = make_table()
    weights = np.random.default_rng(2).integers(0, 3, N_ROWS).astype(float)
    whole = committee.HistGradientBoostingClassifier(max_iter=5, random_state=0)
    whole.fit(table, spam, sample_weight=weights)
    for k in range(4):
        part = table.iloc[40 * k : 40 * (k + 1)]
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), tmp_path / f"part{k}.parquet")
    blocks = committee.HistGradientBoostingClassifier(max_iter=5, random_state=0)
    blocks.fit(sorted(tmp_path.glob("*.parquet")), spam, sample_weight=weights)
    assert blocks._schema.inputs == whole._schema.inputs
    np.testing.assert_array_equal(predict(blocks, table), predict(whole, table))


def test_a_warm_start_needs_the_same_texts() -> None:
    table, spam = make_table()
    model = committee.GradientBoostingClassifier(n_estimators=3, warm_start=True, random_state=0).fit(table, spam)
    model.set_params(n_estimators=5).fit(table, spam)
    straight = committee.GradientBoostingClassifier(n_estimators=5, random_state=0).fit(table, spam)
    np.testing.assert_array_equal(predict(model, table), predict(straight, table))
    with pytest.raises(DataError, match="other features, categories or classes"):
        model.set_params(n_estimators=6).fit(table.assign(message=table["message"] + " again"), spam)


def make_ensemble(cls: Any, member: Any = None, **params: Any) -> Any:
    """With a tree as the only kind of member."""
    if "estimators" in inspect.signature(cls).parameters:
        tree = (
            member
            or (
                committee.DecisionTreeClassifier
                if cls.__name__.endswith("Classifier")
                else committee.DecisionTreeRegressor
            )()
        )
        final = {"final_estimator": clone(tree).set_params(text_columns="auto")} if "Stacking" in cls.__name__ else {}
        return cls([("a", tree), ("b", clone(tree).set_params(max_depth=2))], random_state=0, **final, **params)
    return cls(member, n_estimators=3, random_state=0, **params)


MADE_OF_OTHERS = [
    cls
    for cls in READERS
    if {"estimator", "estimators"} & set(inspect.signature(cls).parameters)
    and "text_columns" in inspect.signature(cls).parameters
]


@pytest.mark.parametrize("cls", MADE_OF_OTHERS, ids=lambda cls: cls.__name__)
def test_ensembles_pass_the_parameter_to_their_members(cls: Any, tmp_path: Any) -> None:
    table, spam = make_table()
    y = np.where(spam, "yes", "no") if cls.__name__.endswith("Classifier") else 2.0 * spam + table["hour"].to_numpy()
    tree = committee.DecisionTreeClassifier if cls.__name__.endswith("Classifier") else committee.DecisionTreeRegressor
    predictions = []
    for wanted in (None, ["sender"], ["message", "sender"], "auto"):
        model = make_ensemble(cls, tree(random_state=0), text_columns=wanted).fit(table, y)
        told = make_ensemble(cls, tree(random_state=0, text_columns=wanted)).fit(table, y)
        schemas = [model._schema] if "_schema" in model.__dict__ else [one._schema for one in model.estimators_]
        expected = tree(text_columns=wanted).fit(table, y)._schema.inputs
        assert all(own.inputs == expected for own in schemas)
        predictions.append(predict(model, table))
        np.testing.assert_array_equal(predictions[-1], predict(told, table))
        committee.save(model, tmp_path / "model")
        np.testing.assert_array_equal(predict(committee.load(tmp_path / "model"), table), predictions[-1])
        assert clone(model).text_columns == wanted
    with pytest.raises(ParameterError, match=r"is None, and that of its member .*; set only one of them"):
        make_ensemble(cls, tree(text_columns=["sender"]), text_columns=None).fit(table, y)
    same = make_ensemble(cls, tree(text_columns=["sender"], random_state=0), text_columns=["sender"]).fit(table, y)
    np.testing.assert_array_equal(predict(same, table), predictions[1])
    with pytest.raises((ParameterError, ParameterTypeError), match=r"'text_columns' parameter .* must be"):
        make_ensemble(cls, tree(), text_columns="all").fit(table, y)
    other = LogisticRegression() if cls.__name__.endswith("Classifier") else LinearRegression()
    numbers = table[["hour"]]
    foreign = cls([("a", other)], text_columns=None) if hasattr(model, "estimators") else cls(other, text_columns=None)
    with pytest.raises(ParameterError, match="is for members that have it too"):
        foreign.fit(numbers, y)


def test_members_without_the_parameter_read_the_table_by_themselves() -> None:
    table, spam = make_table()
    words = make_pipeline(ColumnTransformer([("words", CountVectorizer(), "message")]), LogisticRegression())
    table = table.assign(message=table["message"].fillna(""))
    members = [("words", words), ("tree", committee.DecisionTreeClassifier(random_state=0))]
    model = committee.StackingClassifier(members, text_columns=["message", "sender"]).fit(table, spam)
    assert model.estimators_[1]._schema.inputs.kinds == ("number", "text", "text")
    assert members[1][1].text_columns == "auto"
    fitted = [("tree", committee.DecisionTreeClassifier().fit(table, spam))]
    for prefit in (
        committee.StackingClassifier(fitted, cv="prefit", text_columns=None),
        committee.VotingClassifier(fitted, prefit=True, text_columns=None),
    ):
        with pytest.raises(ParameterError, match="for members that are fitted, and these are"):
            prefit.fit(table, spam)


def test_several_targets_and_warm_starts_of_ensembles_read_the_same_text() -> None:
    table, spam = make_table()
    y = np.column_stack([spam, table["hour"] > 0.0])
    model = committee.AdaBoostClassifier(n_estimators=3, text_columns=["sender"]).fit(table, y)
    assert model._schema.inputs.kinds == ("number", "number", "text")
    bag = committee.BaggingClassifier(n_estimators=2, warm_start=True, text_columns=None, random_state=0)
    bag.fit(table, spam).set_params(n_estimators=4).fit(table, spam)
    straight = committee.BaggingClassifier(n_estimators=4, text_columns=None, random_state=0).fit(table, spam)
    np.testing.assert_array_equal(predict(bag, table), predict(straight, table))


def test_members_of_other_ensembles_share_what_they_read() -> None:
    table, spam = make_table()
    read, plain = committee.DecisionTreeClassifier(), committee.DecisionTreeClassifier(text_columns=None)
    model = committee.VotingClassifier([("read", read), ("plain", plain)]).fit(table, spam)
    kinds = [one._schema.inputs is not None for one in model.estimators_]
    assert kinds == [True, False]
    ada = committee.AdaBoostClassifier(committee.DecisionStumpClassifier(), n_estimators=5).fit(table, spam)
    assert ada.score(table, spam) > 0.9
