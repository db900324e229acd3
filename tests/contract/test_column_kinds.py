"""Every estimator learns from dates, durations and lists, and reads them from every kind of frame."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier

import committee
from committee.exceptions import DataTypeError, ParameterError
from committee.inspection import impurity_importance
from tests.contract.instances import shape_target
from tests.io.models import ESTIMATORS, fit_model, make_model

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NUMBERS_ONLY = [committee.BernoulliNB, committee.BoosTexterClassifier]
N_ROWS = 200


def make_table(*, categories: bool = False) -> Any:
    """A date, missing once, a duration, a list, a number, and perhaps a category."""
    rng = np.random.default_rng(0)
    when = pd.Series(pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 3 * 365 * 24, N_ROWS), unit="h"))
    when[3] = pd.NaT
    table = pd.DataFrame(
        {
            "size": rng.normal(size=N_ROWS),
            "when": when,
            "vector": list(rng.normal(size=(N_ROWS, 2)).astype(np.float32)),
            "length": pd.to_timedelta(rng.integers(0, 1000, N_ROWS), unit="s"),
        }
    )
    return table.assign(colour=pd.Categorical(rng.choice(["red", "blue"], N_ROWS))) if categories else table


def make_target(table: Any, model: Any) -> Any:
    late = (table["when"].dt.month > 6).to_numpy()
    if is_classifier(model):
        return np.where(late, "yes", "no")
    return shape_target(model, late + 0.1 * table["size"].to_numpy())


def write_frames(table: Any) -> dict[str, Any]:
    own = pl.from_pandas(table.drop(columns="vector")).with_columns(
        pl.Series("vector", np.stack(table["vector"]).tolist(), dtype=pl.Array(pl.Float32, 2))
    )
    own = own.select(table.columns.tolist())
    return {"polars": own, "arrow": own.to_arrow(), "lazy": own.lazy()}


def predict(model: Any, X: Any) -> bytes:
    name = next(name for name in ("predict_proba", "score_samples", "predict", "transform") if hasattr(model, name))
    found = getattr(model, name)(X)
    return np.ascontiguousarray(found.toarray() if hasattr(found, "toarray") else found).tobytes()


@pytest.mark.parametrize("cls", [c for c in ESTIMATORS if c not in NUMBERS_ONLY], ids=lambda cls: cls.__name__)
def test_every_estimator_reads_dates_and_lists(cls: Any, tmp_path: Any) -> None:
    model, table = make_model(cls), make_table()
    y = make_target(table, model)
    fit_model(model, (table, y))
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == table.columns.tolist()
    expected = predict(model, table)
    for name, frame in write_frames(table).items():
        assert predict(model, frame) == expected, name
        assert predict(fit_model(make_model(cls), (frame, y)), table) == expected, name
    committee.save(model, tmp_path / "model")
    assert predict(committee.load(tmp_path / "model"), table) == expected
    if hasattr(model, "feature_importances_"):
        assert model.feature_importances_.shape == (4,)
        assert model.feature_importances_.argmax() == 1
        np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)
    with pytest.raises(
        DataTypeError, match="column 'when' held dates without a time zone at fit and holds numbers now"
    ):
        predict(model, table.assign(when=0.5))


@pytest.mark.parametrize("cls", NUMBERS_ONLY, ids=lambda cls: cls.__name__)
def test_presence_of_features_is_no_date(cls: Any) -> None:
    table = make_table()[["when"]]
    with pytest.raises(
        DataTypeError, match=r"column 'when' holds dates without a time zone, but .* learns from numbers"
    ):
        cls().fit(table, make_target(make_table(), cls()))


@pytest.mark.parametrize(
    "model",
    [
        committee.AdaBoostClassifier(committee.RandomForestClassifier(2), n_estimators=2, random_state=0),
        committee.BaggingClassifier(committee.HistGradientBoostingClassifier(max_iter=2), n_estimators=2),
    ],
    ids=["adaboost", "bagging"],
)
@pytest.mark.parametrize("categories", [False, True], ids=["numbers", "categories"])
def test_members_of_any_kind(model: Any, categories: bool) -> None:
    table = make_table(categories=categories)
    fit_model(model, (table, make_target(table, model)))
    assert model.n_features_in_ == table.shape[1]
    for frame in write_frames(table).values():
        assert predict(model, frame) == predict(model, table)
    if hasattr(model, "feature_importances_"):
        assert model.feature_importances_.shape == (table.shape[1],)


def test_members_of_scikit_learn_get_the_table_as_it_is() -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.tree import DecisionTreeClassifier

    table = make_table()[["size", "when"]]
    y = make_target(table, committee.BaggingClassifier())
    pipeline = make_pipeline(FunctionTransformer(lambda X: X["when"].dt.month.to_frame()), DecisionTreeClassifier())
    for model in (
        committee.BaggingClassifier(pipeline, n_estimators=3, random_state=0),
        committee.VotingClassifier([("pipeline", pipeline), ("tree", committee.DecisionTreeClassifier())]),
    ):
        assert model.fit(table, y).score(table, y) > 0.95
        assert model.n_features_in_ == 2


def test_the_automatic_committee_has_a_linear_member_of_dates() -> None:
    table = make_table().drop(columns="vector").dropna()
    trend = (table["when"] - pd.Timestamp("2019-01-01")).dt.days.to_numpy() / 100.0
    model = committee.CommitteeRegressor(portfolio=["linear"], random_state=0).fit(table, trend)
    assert model.score(table, trend) > 0.99


def test_constraints_are_by_column() -> None:
    table = make_table(categories=True)
    y = make_target(table, committee.RandomForestRegressor())
    tree = committee.DecisionTreeRegressor(monotonic_cst={"length": 1}, random_state=0).fit(table, y)
    lengths = pd.concat([table.head(1)] * 50).assign(length=pd.to_timedelta(np.arange(0, 1000, 20), unit="s"))
    assert (np.diff(tree.predict(lengths)) >= 0.0).all()
    assert committee.DecisionTreeRegressor(monotonic_cst=[0, 0, 0, -1, 0]).fit(table, y).n_features_in_ == 5
    with pytest.raises(ParameterError, match=r"leave dates free \(0\); column 'when' holds dates"):
        committee.DecisionTreeRegressor(monotonic_cst={"when": 1}).fit(table, y)
    with pytest.raises(ParameterError, match=r"leave categories free \(0\); column 'colour' is a category"):
        committee.DecisionTreeRegressor(monotonic_cst=[0, 0, 0, 0, 1]).fit(table, y)
    alone = committee.HistGradientBoostingRegressor(max_iter=5, interaction_cst="no_interactions").fit(table, y)
    # A date may be split again by another part of it: 0 is the size, 1 to 5 the date, 6 and 7 the list.
    columns = alone._schema.inputs.owners
    for tree_ in (committee.DecisionTreeRegressor(interaction_cst=[["size"], [1, "vector"]]).fit(table, y).tree_,):
        used = {int(columns[f]) for f in tree_.feature if f >= 0}
        assert used <= {0} or used <= {1, 2} or used <= {3, 4}
    boosted = committee.HistGradientBoostingRegressor(categorical_features="from_dtype", max_iter=2).fit(table, y)
    assert boosted.is_categorical_.tolist() == [False, False, False, False, True]


def test_a_warm_start_needs_the_same_parts() -> None:
    table = make_table()
    y = make_target(table, committee.RandomForestRegressor())
    for model in (
        committee.RandomForestRegressor(2, warm_start=True),
        committee.HistGradientBoostingRegressor(max_iter=2, warm_start=True),
    ):
        model.fit(table, y)
        model.set_params(**{"n_estimators" if hasattr(model, "n_estimators") else "max_iter": 4})
        with pytest.raises(committee.exceptions.DataError, match="other features, categories or classes"):
            model.fit(table.assign(when=table["when"].dt.normalize()), y)
        assert model.fit(table, y).n_features_in_ == 4


def test_exported_trees_name_the_parts() -> None:
    table = make_table()
    y = make_target(table, committee.DecisionTreeClassifier())
    text = committee.export_text(committee.DecisionTreeClassifier(max_depth=2).fit(table[["when"]], y))
    assert "when (month) <= 6.50" in text
    bare = committee.DecisionTreeClassifier(max_depth=2).fit(table[["when"]].to_numpy(), y)
    assert "x[0] (month) <= 6.50" in committee.export_text(bare)
    assert "when (month)" in committee.export_graphviz(
        committee.DecisionTreeClassifier(max_depth=1).fit(table[["when"]], y)
    )


def test_trees_of_ensembles_have_importances_by_column() -> None:
    table = make_table()
    y = make_target(table, committee.RandomForestClassifier())
    forest = committee.RandomForestClassifier(3, random_state=0).fit(table, y)
    assert forest.estimators_[0].feature_importances_.shape == (4,)
    found = impurity_importance(forest)
    assert found.importances.shape == (4, 3)
    np.testing.assert_allclose(found.importances_mean, forest.feature_importances_)
    assert forest.oob_impurity_importance(table, y).shape == (4,)


def test_out_of_bag_permutations_move_a_date_as_a_whole() -> None:
    table = make_table()[["size", "when"]]
    y = make_target(table, committee.RandomForestRegressor())
    forest = committee.RandomForestRegressor(4, random_state=0).fit(table, y)
    found = forest.oob_permutation_importance(table, y, n_repeats=40).importances
    assert found.shape == (2, 40)
    rng, expected = np.random.default_rng(0), np.zeros(2)
    for member, tree in enumerate(forest.estimators_):
        out = np.flatnonzero(forest.draw_sample(member) == 0)
        rows, target = table.iloc[out].reset_index(drop=True), y[out]
        loss = ((target - tree.predict(rows)) ** 2).mean()
        for column, name in enumerate(table.columns):
            for _ in range(40):
                moved = rows.assign(**{name: rows[name].to_numpy()[rng.permutation(len(rows))]})
                expected[column] += (((target - tree.predict(moved)) ** 2).mean() - loss) / 160
    np.testing.assert_allclose(found.mean(axis=1), expected, rtol=0.1, atol=0.002)
