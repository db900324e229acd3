"""Models in C give the bits of the model."""

import ctypes
import itertools
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from sklearn.svm import SVC

import committee
from committee.exceptions import ParameterError, ParameterTypeError
from committee.io import build_python_module, to_c
from tests.io.c_models import (
    draw_classes,
    draw_table,
    draw_values,
    encode_rows,
    fit_two_outputs,
    list_classifiers,
    list_linear_stacks,
    list_regressors,
    list_rounded,
    list_rounded_regressors,
    list_two_class,
    list_two_outputs,
)

COMPILER = shutil.which("cc")
pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
    pytest.mark.filterwarnings("ignore:Some inputs do not have OOB"),
]
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
_numbers = itertools.count()


class CompiledModel:
    """A model in C, compiled with all warnings as errors, and called through ctypes."""

    def __init__(self, model: Any, folder: Path, *flags: str) -> None:
        name = f"m{next(_numbers)}"  # a library of the same name would not be opened again
        self.source = to_c(model, folder / f"{name}.c", name="model")
        made = folder / f"{name}.so"
        command = [COMPILER, *(flags or STRICT), "-shared", "-fPIC", "-o", str(made), str(folder / f"{name}.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        self.library = ctypes.CDLL(str(made))

    def ask(self, method: str, codes: np.ndarray) -> np.ndarray:
        term, rows = self.source.formula.results[method], np.ascontiguousarray(codes)
        indices = method == "predict" and bool(self.source.formula.classes)
        out = np.empty((len(rows), term.width), dtype=np.int32 if indices else np.float64)
        pointers = rows.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(rows)), out.ctypes.data_as(ctypes.c_void_p)
        getattr(self.library, f"model_{method}_rows")(*pointers)
        one = np.empty_like(out[0])
        getattr(self.library, f"model_{method}")(pointers[0], one.ctypes.data_as(ctypes.c_void_p))
        assert_array_equal(one, out[0])
        return out

    def find_labels(self, codes: np.ndarray) -> np.ndarray:
        classes = self.source.formula.classes
        indices = self.ask("predict", codes)
        return np.column_stack([own[indices[:, k]] for k, own in enumerate(classes)])


def check_classifier(model: Any, X: np.ndarray, folder: Path) -> CompiledModel:
    compiled, codes = CompiledModel(model, folder), encode_rows(model, X)
    assert_array_equal(compiled.find_labels(codes), model.predict(X).reshape(len(X), -1))
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        shares = np.hstack(shares) if isinstance(shares, list) else shares
        assert_array_equal(compiled.ask("predict_proba", codes), shares)
    if "decision_function" in compiled.source.formula.results and hasattr(model, "decision_function"):
        decision = model.decision_function(X).reshape(len(X), -1)
        assert_array_equal(compiled.ask("decision_function", codes), decision)
    return compiled


@pytest.mark.parametrize("name", list(list_classifiers()))
def test_several_classes(name: str, tmp_path: Path) -> None:
    X = draw_table()
    labels = np.array(["één", "two", 'th"ree', "4?"])[draw_classes(X)]
    model = list_classifiers()[name].fit(X[::2], labels[::2])
    compiled = check_classifier(model, X, tmp_path)
    compiled.library.model_class_name.restype = ctypes.c_char_p
    names = [compiled.library.model_class_name(0, k).decode() for k in range(4)]
    assert names == sorted(set(labels.tolist()))


@pytest.mark.parametrize("name", list(list_two_class()))
def test_two_classes(name: str, tmp_path: Path) -> None:
    X = draw_table()
    y = draw_classes(X, 2)
    check_classifier(list_two_class()[name].fit(X[::2], y[::2]), X, tmp_path)


@pytest.mark.parametrize("algorithm", ["samme.r", "gentle", "logit"])
def test_sums_over_many_classes_have_the_order_of_numpy(algorithm: str, tmp_path: Path) -> None:
    X = draw_table(n_rows=600)
    model = committee.AdaBoostClassifier(n_estimators=4, algorithm=algorithm).fit(X, draw_classes(X, 19))
    check_classifier(model, X, tmp_path)


@pytest.mark.parametrize("name", list(list_regressors()))
def test_values(name: str, tmp_path: Path) -> None:
    X = draw_table()
    model = list_regressors()[name].fit(X[::2], draw_values(X)[::2])
    found = CompiledModel(model, tmp_path).ask("predict", encode_rows(model, X))
    assert_array_equal(found, model.predict(X).reshape(len(X), -1))


@pytest.mark.parametrize("n_trees", [3, 8, 19])
def test_trees_that_are_walked_at_once(n_trees: int, tmp_path: Path) -> None:
    """Whole groups of trees and the rest; rows with and without missing values, which go left or right."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + np.abs(X[:, 1]) + (X[:, 2] > 0.5)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = committee.GradientBoostingRegressor(n_estimators=n_trees, max_leaf_nodes=7).fit(X, y)
    lost = (model.to_tree_model().trees.nodes["tag"] >> 29) & 1
    assert 0 < lost.sum() < len(lost)
    compiled = CompiledModel(model, tmp_path)
    assert "step_known_0" in compiled.source.code
    assert_array_equal(compiled.ask("predict", X)[:, 0], model.predict(X))


def test_wide_rows_are_not_looked_through(tmp_path: Path) -> None:
    X = np.random.default_rng(6).normal(size=(200, 30))
    X[::3, 4] = np.nan
    model = committee.GradientBoostingRegressor(n_estimators=3).fit(X, np.nan_to_num(X[:, 4]) + X[:, 5])
    compiled = CompiledModel(model, tmp_path)
    assert "step_known_0" not in compiled.source.code
    assert_array_equal(compiled.ask("predict", X)[:, 0], model.predict(X))


def test_many_members_of_a_mean(tmp_path: Path) -> None:
    X = draw_table()
    model = committee.AdaBoostRegressor(committee.DecisionTreeRegressor(max_depth=2), n_estimators=300, algorithm="rt")
    model.fit(X, draw_values(X) + 1.0)
    assert len(model.estimator_weights_) > 128  # where NumPy's order of summation changes
    assert_array_equal(CompiledModel(model, tmp_path).ask("predict", X)[:, 0], model.predict(X))


@pytest.mark.parametrize("name", list(list_linear_stacks()))
def test_linear_meta_models_agree_to_rounding(name: str, tmp_path: Path) -> None:
    X = draw_table()
    classes = draw_classes(X, 2 if "two" in name else 4)
    model = list_linear_stacks()[name]
    model.fit(X, classes if hasattr(model, "stack_method") else draw_values(X))
    compiled = CompiledModel(model, tmp_path)
    assert "to rounding" in compiled.source.header
    if compiled.source.formula.classes:
        assert_array_equal(compiled.find_labels(X)[:, 0], model.predict(X))
        assert_allclose(compiled.ask("predict_proba", X), model.predict_proba(X), rtol=1e-12)
    else:
        assert_allclose(compiled.ask("predict", X)[:, 0], model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", list(list_two_outputs()))
def test_several_outputs(name: str, tmp_path: Path) -> None:
    model, X = fit_two_outputs(name)
    if is_classifier(model):
        check_classifier(model, X, tmp_path)
    else:
        assert_array_equal(CompiledModel(model, tmp_path).ask("predict", X), model.predict(X))


@pytest.mark.parametrize("name", list(list_rounded()))
def test_committees_and_naive_bayes_agree_to_rounding(name: str, tmp_path: Path) -> None:
    X = draw_table()
    model = list_rounded()[name].fit(X[::2], draw_classes(X)[::2])
    compiled, codes = CompiledModel(model, tmp_path), encode_rows(model, X)
    assert "to rounding" in compiled.source.header
    assert_array_equal(compiled.find_labels(codes)[:, 0], model.predict(X))
    assert_allclose(compiled.ask("predict_proba", codes), model.predict_proba(X), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", list(list_rounded_regressors()))
def test_committees_of_regressors_agree_to_rounding(name: str, tmp_path: Path) -> None:
    X = draw_table()
    model = list_rounded_regressors()[name].fit(X[::2], np.exp(draw_values(X)[::2] / 2.0))
    found = CompiledModel(model, tmp_path).ask("predict", encode_rows(model, X))[:, 0]
    assert_allclose(found, model.predict(X), rtol=1e-10)


@pytest.mark.parametrize("name", ["boosting of pairs", "extra trees of pairs"])
def test_sums_and_differences_of_columns(name: str, tmp_path: Path) -> None:
    X = draw_table()
    model = committee.CommitteeRegressor(portfolio=[name], categorical_features=[1, 3], random_state=0)
    model.fit(X, np.nan_to_num(X[:, 0] - X[:, 2]))
    assert model.leaderboard_[0]["weight"] == 1.0
    found = CompiledModel(model, tmp_path).ask("predict", encode_rows(model, X))[:, 0]
    assert_allclose(found, model.predict(X), rtol=0, atol=1e-12)


def test_committees_of_several_targets_agree_to_rounding(tmp_path: Path) -> None:
    X = draw_table()
    y = np.column_stack([draw_classes(X, 2), draw_classes(X, 3)])
    model = committee.CommitteeClassifier(portfolio=["linear"], random_state=0).fit(X[::2], y[::2])
    compiled, codes = CompiledModel(model, tmp_path), encode_rows(model, X)
    assert_array_equal(compiled.find_labels(codes), model.predict(X))
    assert_allclose(compiled.ask("predict_proba", codes), np.hstack(model.predict_proba(X)), rtol=0, atol=1e-11)
    values = np.column_stack([draw_values(X), -X[:, 0]])
    values[np.isnan(values)] = 0.0
    regressor = committee.CommitteeRegressor(portfolio=["linear"], random_state=0).fit(X[::2], values[::2])
    found = CompiledModel(regressor, tmp_path).ask("predict", encode_rows(regressor, X))
    assert_allclose(found, regressor.predict(X), rtol=1e-10)


@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_isolation_forest(contamination: Any, tmp_path: Path) -> None:
    X = draw_table()
    model = committee.IsolationForest(n_estimators=20, contamination=contamination, random_state=0).fit(X)
    compiled = CompiledModel(model, tmp_path)
    assert_array_equal(compiled.ask("score_samples", X)[:, 0], model.score_samples(X))
    assert_array_equal(compiled.ask("predict", X)[:, 0], model.predict(X))
    assert len(np.unique(model.predict(X))) == 2


@pytest.mark.parametrize("flags", [("-O3", "-ffp-contract=off"), ("-O2",), ("-std=c99", "-O0")])
def test_optimisation_does_not_change_bits(flags: tuple[str, ...], tmp_path: Path) -> None:
    X = draw_table()
    model = committee.HistGradientBoostingClassifier(max_iter=10).fit(X, draw_classes(X))
    compiled = CompiledModel(model, tmp_path, *flags)
    assert_array_equal(compiled.ask("predict_proba", X), model.predict_proba(X))


def test_a_source_without_dependency_or_allocation() -> None:
    X = draw_table()
    source = to_c(committee.RandomForestClassifier(3, random_state=0).fit(X, draw_classes(X)))
    included = {line.split()[1] for line in source.code.splitlines() if line.startswith("#include")}
    assert included == {"<math.h>", "<stddef.h>", "<stdint.h>", "<string.h>", '"model.h"'}
    assert not any(word in source.code for word in ("malloc", "calloc", "free(", "printf"))
    assert source.code.isascii()


def make_frame(n_rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "colour": pd.Categorical(rng.choice(["rot", 'gr"ün', "blau\\"], n_rows)),
            "year": rng.integers(1990, 2020, n_rows),
        }
    )


def test_levels_have_codes(tmp_path: Path) -> None:
    frame = make_frame()
    y = (frame["colour"] == "rot") ^ (frame["year"] % 3 == 0)
    model = committee.RandomForestClassifier(5, categorical_features=["colour", "year"], random_state=0)
    compiled = CompiledModel(model.fit(frame, y), tmp_path)
    compiled.library.model_code.restype = compiled.library.model_code_of_number.restype = ctypes.c_double
    codes = np.column_stack(
        [
            frame["size"],
            [compiled.library.model_code(1, level.encode()) for level in frame["colour"]],
            [compiled.library.model_code_of_number(2, ctypes.c_double(year)) for year in frame["year"]],
        ]
    )
    assert np.isnan(compiled.library.model_code(1, b"violett"))
    assert_array_equal(compiled.ask("predict_proba", codes), model.predict_proba(frame))


def test_levels_that_only_some_members_of_a_bag_have_met(tmp_path: Path) -> None:
    frame = make_frame(60)
    member = committee.HistGradientBoostingClassifier(
        max_iter=3, min_samples_leaf=1, categorical_features=["colour", "year"]
    )
    y = (frame["year"] % 4 == 0).to_numpy()
    vote = committee.VotingClassifier([("a", member), ("b", member)], voting="soft", prefit=True)
    vote.estimators = [
        ("a", member.fit(frame[:40], y[:40])),
        (
            "b",
            committee.RandomForestClassifier(5, categorical_features=["colour", "year"], random_state=0).fit(
                frame[20:], y[20:]
            ),
        ),
    ]
    vote.fit(frame, y)
    compiled = CompiledModel(vote, tmp_path)
    levels = [None if own is None else own.tolist() for own in compiled.source.formula.schema.categories]
    assert sorted(levels[2]) == sorted(set(frame["year"]))
    codes = np.column_stack(
        [frame["size"], [levels[1].index(c) for c in frame["colour"]], [levels[2].index(c) for c in frame["year"]]]
    ).astype(float)
    assert_array_equal(compiled.ask("predict_proba", codes), vote.predict_proba(frame))


def load_module(path: Path) -> Any:
    spec = util.spec_from_file_location(f"{path.stem}_{next(_numbers)}", path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(sys.platform == "win32", reason="cc is not the compiler there")
def test_a_python_module(tmp_path: Path) -> None:
    frame = make_frame()
    y = np.where(frame["size"] > 0, "yes", "no")
    model = committee.RandomForestClassifier(5, random_state=0).fit(frame, y)
    files = build_python_module(model, tmp_path / "screening.py")
    assert [path.name for path in files] == ["screening.py", "_screening.so"]
    module = load_module(files[0])
    rows = frame.to_dict("records")
    assert module.predict(rows) == model.predict(frame).tolist()
    assert module.predict_proba([tuple(row.values()) for row in rows]) == model.predict_proba(frame).tolist()
    assert (
        module.predict_proba([{"year": 1995}])
        == model.predict_proba(pd.DataFrame({"size": [np.nan], "colour": [None], "year": [1995]})).tolist()
    )
    with pytest.raises(ValueError, match="no column 'price'"):
        module.predict([{"price": 3}])
    with pytest.raises(ValueError, match="3 values"):
        module.predict([(1.0,)])


def test_a_python_module_reads_arrays(tmp_path: Path) -> None:
    X = draw_table()
    model = committee.HistGradientBoostingRegressor(max_iter=5).fit(X, draw_values(X))
    module = load_module(build_python_module(model, tmp_path / "values.py")[0])
    assert module.predict(X) == model.predict(X).tolist()
    locked = X.copy()
    locked.flags.writeable = False
    assert module.predict(locked) == model.predict(X).tolist()


class Halves:
    """A loss with a link of its own."""

    def value(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return 0.5 * (scores - y) ** 2

    def gradient(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores - y

    def hessian(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return np.ones_like(scores)

    def mean(self, scores: np.ndarray) -> np.ndarray:
        return np.tanh(scores)


@pytest.mark.parametrize(
    ("model", "fragment"),
    [
        (committee.BoosTexterClassifier(n_estimators=2), "A BoosTexterClassifier that is not made of trees"),
        (committee.RandomTreesEmbedding(3), "predicts nothing"),
        (committee.GradientBoostingRegressor(loss=Halves(), n_estimators=2), "'mean' is written in Python"),
        (committee.GradientBoostingRegressor(init=committee.DecisionTreeRegressor(), n_estimators=2), "'init'"),
        (committee.VotingClassifier([("svc", SVC())]), "A SVC that is not made of trees"),
        (
            committee.VotingClassifier(
                [
                    ("a", committee.RandomForestClassifier(2, categorical_features=[1])),
                    ("b", committee.RandomForestClassifier(2)),
                ]
            ),
            "some read column 1 as categories and some as numbers",
        ),
    ],
    ids=["words", "embedding", "loss", "init", "foreign", "mixed columns"],
)
def test_what_cannot_be_exported_is_refused(model: Any, fragment: str) -> None:
    X = np.nan_to_num(draw_table())
    model.fit(X, draw_classes(X, 2))
    with pytest.raises(ParameterTypeError, match=fragment):
        to_c(model)


def test_a_model_of_dates_is_refused() -> None:
    when = np.array([["2020-01-01"], ["2021-05-02"]], "M8[s]")
    with pytest.raises(ParameterTypeError, match="dates, times, lists or text"):
        to_c(committee.DecisionTreeRegressor().fit(when, [0.0, 1.0]))


def test_names_are_checked(tmp_path: Path) -> None:
    tree = committee.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ParameterError, match=r"name in C; got 'a b'. Try 'a_b'"):
        to_c(tree, name="a b")
    with pytest.raises(ParameterError, match=r"must end in .c"):
        to_c(tree, tmp_path / "x.cpp")
    with pytest.raises(ParameterError, match="Python module"):
        build_python_module(tree, tmp_path / "a b.py")
    with pytest.raises(ParameterError, match="No C compiler 'no-such-compiler'"):
        build_python_module(tree, tmp_path / "x.py", compiler="no-such-compiler")
    assert to_c(tree, tmp_path / "3 trees.c").name == "m3_trees"
