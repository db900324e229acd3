"""Whatever is saved comes back: every exported estimator, with the same answers, bit for bit."""

import copy
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import committee
from committee.exceptions import ModelFileError
from committee.io import describe_file
from tests.io.models import (
    ASKING,
    ESTIMATORS,
    ask_model,
    assert_same_answers,
    fit_model,
    make_data,
    make_frame,
    make_model,
    open_file,
)

every_estimator = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)


@every_estimator
@pytest.mark.parametrize("mmap", [True, False], ids=["mapped", "copied"])
def test_every_estimator_comes_back(cls, mmap, tmp_path):
    model = fit_model(make_model(cls, thorough=True))
    committee.save(model, tmp_path / "model")
    loaded = committee.load(tmp_path / "model", mmap=mmap)
    assert type(loaded) is cls
    assert repr(loaded) == repr(model)
    assert vars(loaded).keys() == vars(model).keys()
    assert_same_answers(model, loaded, make_data(model)[0])


@every_estimator
def test_names_categories_and_missing_values_come_back(cls, tmp_path):
    frame, y = make_frame(make_model(cls))
    model = make_model(cls)
    try:
        fit_model(model, (frame, y))
    except (ValueError, TypeError) as error:
        pytest.skip(f"{cls.__name__} does not take such a table: {error}")
    committee.save(model, tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert_same_answers(model, loaded, frame)


@every_estimator
def test_an_unfitted_model_comes_back_unfitted(cls, tmp_path):
    model = make_model(cls)
    committee.save(model, tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    assert repr(loaded) == repr(model)
    with pytest.raises(NotFittedError):
        getattr(loaded, "predict" if hasattr(model, "predict") else "transform")(make_data(model)[0])


@every_estimator
def test_a_loaded_model_is_saved_copied_and_pickled_like_any_other(cls, tmp_path):
    model = fit_model(make_model(cls, thorough=True))
    X = make_data(model)[0]
    committee.save(model, tmp_path / "first")
    loaded = committee.load(tmp_path / "first")
    committee.save(loaded, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    for twin in (pickle.loads(pickle.dumps(loaded)), copy.copy(loaded), copy.deepcopy(loaded)):
        assert_same_answers(model, twin, X)
    joblib.dump(loaded, tmp_path / "third")
    assert_same_answers(model, joblib.load(tmp_path / "third"), X)


@every_estimator
def test_a_stripped_model_predicts_the_same_and_says_what_it_lacks(cls, tmp_path):
    model = fit_model(make_model(cls, thorough=True))
    X = make_data(model)[0]
    committee.save(model, tmp_path / "whole")
    committee.save(model, tmp_path / "bare", strip=True)
    loaded = committee.load(tmp_path / "bare")
    # The path through a forest is asked of its trees, one by one, which are no longer there.
    names = {name for name in ASKING if hasattr(model, name)} - {"decision_path"}
    assert_same_answers(model, loaded, X, names)
    # The list of what was left out may need one more block of 64 bytes.
    assert os.path.getsize(tmp_path / "bare") <= os.path.getsize(tmp_path / "whole") + 64
    if "_trees" in vars(loaded):
        assert len(loaded._trees.leaf_samples) == 0
        with pytest.raises(AttributeError, match=r"feature_importances_.* saved with strip=True"):
            loaded.feature_importances_  # noqa: B018
    if hasattr(loaded, "tree_"):
        assert_same_answers(model, loaded, X)
        with pytest.raises(AttributeError, match=r"n_node_samples.* saved with strip=True"):
            loaded.tree_.n_node_samples  # noqa: B018
    committee.save(loaded, tmp_path / "again")
    assert_same_answers(model, committee.load(tmp_path / "again"), X, names)


@every_estimator
def test_a_loaded_model_is_refitted_like_a_new_one(cls, tmp_path):
    model = fit_model(make_model(cls))
    committee.save(model, tmp_path / "model", strip=True)
    loaded = fit_model(committee.load(tmp_path / "model"))
    assert_same_answers(model, loaded, make_data(model)[0])


def test_parameters_of_every_kind_come_back(tmp_path):
    params = {
        "class_weight": {"yes": 2.0, "no": np.float32(0.5)},
        "monotonic_cst": [1, 0, -1, 0],
        "max_features": 0.5,
        "max_depth": np.int64(7),
        "random_state": np.random.RandomState(3),
    }
    tree = committee.DecisionTreeClassifier(**params)
    committee.save(tree, tmp_path / "model")
    loaded = committee.load(tmp_path / "model").get_params()
    assert loaded["random_state"].get_state()[1].tolist() == tree.random_state.get_state()[1].tolist()
    for name in params.keys() - {"random_state"}:
        assert loaded[name] == params[name]
        assert type(loaded[name]) is type(params[name])


def test_several_outputs_weights_and_strata_come_back(tmp_path):
    X, y = make_data(committee.DecisionTreeClassifier())
    Y = np.stack([y, (X[:, 3] > 0).astype("U5")], axis=1)
    forest = committee.RandomForestClassifier(5, random_state=0).fit(X, Y, sample_weight=np.linspace(0, 1, len(X)))
    committee.save(forest, tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    assert_same_answers(forest, loaded, X)
    for kind in ("balanced", "stratified", "group"):
        bag = committee.BaggingClassifier(n_estimators=4, bootstrap=kind, random_state=0)
        bag.fit(X, y, groups=np.arange(len(X)) // 5 if kind == "group" else None)
        committee.save(bag, tmp_path / kind)
        loaded = committee.load(tmp_path / kind)
        for one, other in zip(bag.estimators_samples_, loaded.estimators_samples_, strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_two_parts_share_they_share_again(tmp_path):
    model = fit_model(make_model(committee.BaggingRegressor))
    committee.save(model, tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    assert loaded._samples is loaded._members.samples
    assert loaded._schema is loaded._members.schema
    tree = fit_model(make_model(committee.DecisionTreeClassifier))
    committee.save(tree, tmp_path / "tree")
    loaded = committee.load(tmp_path / "tree")
    assert loaded.tree_._trees is loaded._trees


def test_equal_models_make_equal_files(tmp_path):
    for name in ("one", "other"):
        committee.save(fit_model(make_model(committee.RandomForestClassifier, thorough=True)), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs a list of mapped files")
def test_mapped_trees_lie_in_the_file(tmp_path):
    model = fit_model(make_model(committee.RandomForestRegressor))
    committee.save(model, tmp_path / "model")
    loaded, copied = committee.load(tmp_path / "model"), committee.load(tmp_path / "model", mmap=False)
    ranges = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(str(tmp_path / "model")):
            first, last = line.split()[0].split("-")
            ranges.append((int(first, 16), int(last, 16)))
            # Shared between all processes that map it, and not writable for any.
            assert line.split()[1] == "r--s"
    for array in (loaded._trees.nodes, loaded._trees.values, loaded._trees.node_offsets, loaded._importances):
        place = array.__array_interface__["data"][0]
        assert place % 64 == 0
        assert any(first <= place < last for first, last in ranges)
        assert not array.flags.writeable
    place = copied._trees.nodes.__array_interface__["data"][0]
    assert not any(first <= place < last for first, last in ranges)
    assert copied._importances.flags.writeable


def test_a_mapped_model_outlives_its_file(tmp_path):
    model = fit_model(make_model(committee.RandomForestClassifier))
    X = make_data(model)[0]
    committee.save(model, tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    committee.save(fit_model(make_model(committee.ExtraTreesClassifier, n_estimators=50)), tmp_path / "model")
    assert_same_answers(model, loaded, X)
    (tmp_path / "model").unlink()
    assert_same_answers(model, loaded, X)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    model = fit_model(make_model(committee.DecisionTreeClassifier))
    committee.save(model, tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="the disk is full"):
        committee.save(model, tmp_path / "model", strip=True)
    assert (tmp_path / "model").read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links as POSIX has them")
def test_files_get_the_usual_permissions_and_links_are_followed(tmp_path):
    model = make_model(committee.DecisionTreeClassifier)
    (tmp_path / "link").symlink_to(tmp_path / "model")
    mask = os.umask(0o027)
    try:
        committee.save(model, tmp_path / "link")
    finally:
        os.umask(mask)
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE(os.stat(tmp_path / "model").st_mode) == 0o640


def test_what_is_no_model_is_not_saved(tmp_path):
    with pytest.raises(ModelFileError, match="must be an estimator; got dict"):
        committee.save({}, tmp_path / "model")
    tree = committee.DecisionTreeClassifier(random_state=np.ma.array([1]))
    tree.loop = [tree]
    with pytest.raises(ModelFileError, match="refers to something that it is a part of"):
        committee.save(tree, tmp_path / "model")
    tree.loop = []
    tree.loop.append(tree.loop)
    with pytest.raises(ModelFileError, match="more than 50"):
        committee.save(tree, tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_another_process_answers_the_same(tmp_path):
    model = fit_model(make_model(committee.RandomForestClassifier))
    X = make_data(model)[0]
    committee.save(model, tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy, committee; folder = sys.argv[1]; model = committee.load(folder + '/model'); "
        "numpy.save(folder + '/p.npy', model.predict_proba(numpy.load(folder + '/X.npy')))"
    )
    env = os.environ | {"PYTHONPATH": str(Path(committee.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=env)
    assert np.load(tmp_path / "p.npy").tobytes() == ask_model(model, X)["predict_proba"].tobytes()


def test_the_header_can_be_read_by_anyone(tmp_path):
    frame, y = make_frame(committee.DecisionTreeClassifier())
    model = committee.DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, y)
    committee.save(model, tmp_path / "model")
    header, data = open_file((tmp_path / "model").read_bytes())
    assert header["library"]["committee"] == committee.__version__
    record = header["objects"][header["model"]["object"]]
    assert record["class"] == "DecisionTreeClassifier"
    assert record["params"]["max_depth"] == 3
    schema = header["objects"][record["fitted"]["_schema"]["object"]]
    assert schema["fields"]["feature_names"] == {"tuple": list(frame.columns)}
    trees = header["objects"][record["fitted"]["_trees"]["object"]]
    entry = header["arrays"][trees["fields"]["node_offsets"]["array"]]
    offsets = np.frombuffer(data, entry["dtype"], entry["shape"][0], entry["at"])
    np.testing.assert_array_equal(offsets, model._trees.node_offsets)


def test_a_file_says_what_it_is_about(tmp_path):
    frame, y = make_frame(committee.DecisionTreeClassifier())
    bag = committee.BaggingClassifier(committee.DecisionTreeClassifier(), n_estimators=3, max_samples=0.5)
    committee.save(bag.fit(frame, y), tmp_path / "model", strip=True)
    about = describe_file(tmp_path / "model")
    assert (about.name, about.n_features, about.stripped) == ("BaggingClassifier", 5, True)
    assert about.feature_names == tuple(frame.columns)
    assert about.params["max_samples"] == 0.5
    assert about.params["estimator"] == "DecisionTreeClassifier(…)"
    assert about.n_bytes == os.path.getsize(tmp_path / "model")
    assert about.library["committee"] == committee.__version__
    assert about.untrusted == []
    committee.save(make_model(committee.RandomForestRegressor), tmp_path / "model")
    about = describe_file(tmp_path / "model")
    assert (about.name, about.n_features, about.feature_names) == ("RandomForestRegressor", None, None)


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    model = committee.DecisionTreeRegressor()
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        committee.save(model, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*none to write model in"):
        committee.save(model, tmp_path / "none" / "model")
    assert list(tmp_path.iterdir()) == []


def test_notes_are_kept_beside_the_model(tmp_path: Path) -> None:
    tree = committee.DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    committee.save(tree, tmp_path / "plain")
    committee.save(tree, tmp_path / "noted", notes={"rows": 2, "names": ["ä", None], "shares": {"a": 0.5}})
    assert describe_file(tmp_path / "plain").notes == {}
    assert describe_file(tmp_path / "noted").notes == {"rows": 2, "names": ["ä", None], "shares": {"a": 0.5}}
    assert committee.load(tmp_path / "noted").predict([[1.0]]) == [1.0]
    for wrong in ({"a": float("nan")}, {"a": object()}, {1: "a"}, {"a": (1, 2)}):
        with pytest.raises(ModelFileError, match="what JSON can hold"):
            committee.save(tree, tmp_path / "wrong", notes=wrong)
    assert not (tmp_path / "wrong").exists()


@pytest.mark.parametrize("kind", ["texts", "columns"])
def test_words_that_have_names_come_back(kind, tmp_path):
    import pandas as pd

    if kind == "texts":
        pytest.importorskip("skops")
    texts = ["a red oak", "a green elm", "the red oak", "one green elm"] * 5
    columns = pd.DataFrame({"red": [1, 0] * 10, "the": [0, 0, 1, 0] * 5})
    X = texts if kind == "texts" else columns
    model = committee.BoosTexterClassifier(n_estimators=3).fit(X, ["oak", "elm"] * 10)
    committee.save(model, tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    assert loaded.words_.tolist() == model.words_.tolist()
    assert isinstance(model.words_[0], str)
    assert loaded.predict(X).tolist() == ["oak", "elm"] * 10


def test_a_model_of_documents_needs_what_finds_the_words(tmp_path):
    model = committee.BoosTexterClassifier(n_estimators=3).fit(np.eye(4), ["oak", "elm"] * 2)
    model._schema = None
    committee.save(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match="what finds the words"):
        committee.load(tmp_path / "model")
