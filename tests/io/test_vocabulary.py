"""Values of every kind that a header can name, and headers that name what they should not."""

import json
import math
import os

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils import Bunch

import committee
from committee.exceptions import ModelFileError
from committee.io import checks, registry
from tests.io.models import fit_model, make_model, open_file, seal_file

VALUES = {
    "none": None,
    "truth": [True, False],
    "integers": [0, -1, 2**100],
    "floats": [0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan],
    "text": ["", "größer", "\ud800", "\x00\n\U0001f333"],
    "bytes": b"\x00\xff",
    "containers": ({"a": (1, [2, {3}])}, frozenset({"x"}), {1: 2, (1, 2): 3, None: 4}, {}),
    "bunch": Bunch(score=np.arange(3.0)),
    "complex": 1 - 2j,
    "range and slice": [range(1, 10, 3), slice(None, 3, None)],
    "scalars": [np.float32(0.1), np.bool_(True), np.str_("ab"), np.int8(-3), np.datetime64("2020-01-01"), np.str_("")],
    "dtypes": [np.dtype("f4"), np.dtype("U7")],
    "arrays": [np.arange(6).reshape(2, 3), np.asfortranarray(np.eye(3)[:, :2]), np.array(1.5), np.empty((0, 3), "i2")],
    "strided arrays": [np.arange(20.0)[::3], np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)],
    "turned arrays": [np.arange(5, dtype=">f8")],
    "text arrays": [np.array(["a", "bcd"]), np.array([b"x"]), np.array(["ä", "", "\ud800"], dtype=object)],
    "variable text": [np.array(["a", "größer"], dtype="T")] if hasattr(np.dtypes, "StringDType") else [],
    "object arrays": [np.array([None, 1, "x", (2,)], dtype=object)],
    "times": [np.array(["2020-01-01", "NaT"], dtype="M8[ns]")],
    "sparse": [
        sp.csr_matrix(np.eye(3)),
        sp.csc_array(np.array([[0, 2.5], [0, 0]])),
        sp.csr_array((4, 5), dtype=np.float32),
    ],
}


def same(a, b):
    if isinstance(a, np.ndarray):
        ordered = a.flags.f_contiguous == b.flags.f_contiguous or not b.flags.forc
        equal = all(map(same, a.ravel().tolist(), b.ravel().tolist()))
        return a.shape == b.shape and a.dtype.kind == b.dtype.kind and a.itemsize == b.itemsize and ordered and equal
    if sp.issparse(a):
        return type(a) is type(b) and a.dtype == b.dtype and (a != b).nnz == 0
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(same, a.values(), b.values()))
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return repr(a) == repr(b)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("mmap", [True, False], ids=["mapped", "copied"])
def test_every_kind_of_value_comes_back(kind, mmap, tmp_path):
    model = committee.DecisionTreeClassifier()
    model.kept_ = VALUES[kind]
    committee.save(model, tmp_path / "model")
    assert same(committee.load(tmp_path / "model", mmap=mmap).kept_, VALUES[kind])


@pytest.mark.parametrize("bits", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_random_generators_go_on_where_they_were(bits, tmp_path):
    made = [np.random.Generator(getattr(np.random, bits)(5)), np.random.RandomState(getattr(np.random, bits)(5))]
    model = committee.DecisionTreeClassifier()
    model.kept_ = made
    for generator in made:
        generator.standard_normal(7)
    committee.save(model, tmp_path / "model")
    for generator, loaded in zip(made, committee.load(tmp_path / "model").kept_, strict=True):
        assert type(loaded) is type(generator)
        np.testing.assert_array_equal(generator.standard_normal(1000), loaded.standard_normal(1000))


@pytest.mark.parametrize("value", [np.longdouble(1), np.zeros(2, "V4"), np.array([lambda: 0], dtype=object)])
def test_what_cannot_be_held_is_refused_by_name(value, tmp_path):
    model = committee.DecisionTreeClassifier()
    model.kept_ = {"inside": [value]}
    if isinstance(value, np.ndarray) and value.dtype == object:
        pytest.importorskip("skops")
        committee.save(model, tmp_path / "model")  # a name without the function, which nothing can be made of
        with pytest.raises(ModelFileError, match="not known to be safe"):
            committee.load(tmp_path / "model")
        return
    with pytest.raises(ModelFileError, match=r"DecisionTreeClassifier\.kept_\['inside'\]\[0\] has the type"):
        committee.save(model, tmp_path / "model")


def test_a_class_of_ours_that_is_not_listed_is_refused_by_name(tmp_path):
    model = committee.DecisionTreeClassifier()
    model.kept_ = committee.estimate_bias_variance
    model.kept_ = type("Unknown", (), {"__module__": "committee.learners.tree"})()
    with pytest.raises(ModelFileError, match=r"committee\.learners\.tree\.Unknown.*registry"):
        committee.save(model, tmp_path / "model")


def test_every_listed_class_is_there_and_has_its_check():
    assert checks._CHECKS.keys() == registry.STATES.keys()
    for name in registry.STATES:
        cls = registry.load_state_class(name)
        assert registry.name_state(cls) == name
        assert registry.list_fields(name, cls)[0]


# --- headers that were written by hand ---------------------------------------------------------------------------


@pytest.fixture
def whole(tmp_path):
    committee.save(fit_model(make_model(committee.RandomForestRegressor, thorough=True)), tmp_path / "whole")
    return open_file((tmp_path / "whole").read_bytes())


def load_with(path, header, data):
    path.write_bytes(seal_file(header, data))
    return committee.load(path)


def deep(depth):
    node = 1
    for _ in range(depth):
        node = [node]
    return node


NODES = {
    "no kind of value": {"pickle": "gASV"},
    "of one kind": {"tuple": [], "set": []},
    "nested too deeply": deep(60),
    "a number cannot be read": {"float": "1.0"},
    "part that is not there": {"object": 10**6},
    "too many keys": {"dict": [[k, None] for k in range(30_000)]},
    "unhashable": {"set": [[1]]},
    "unknown kind": {"generator": ["Random", {"dict": []}]},
    "state that cannot be": {
        "generator": [
            "RandomState",
            {"dict": [["bit_generator", "MT19937"], ["state", {"dict": [["key", deep(0)], ["pos", 10**6]]}]]},
        ]
    },
    "cannot be": {"items": {"shape": [2**40], "items": []}},
    "unknown type of array": {"dtype": "|O"},
    "not in its archive": {"foreign": 0},
}


@pytest.mark.parametrize("match", NODES)
def test_values_that_files_cannot_hold_are_refused(match, whole, tmp_path):
    header, data = whole
    header["objects"][header["model"]["object"]]["fitted"]["kept_"] = NODES[match]
    with pytest.raises(ModelFileError, match=match):
        load_with(tmp_path / "model", header, data)


@pytest.mark.parametrize("name", ["predict", "__class__", "feature_importances_", "a b", "n_estimators", "__dict__"])
def test_data_cannot_hide_behaviour(name, whole, tmp_path):
    header, data = whole
    header["objects"][header["model"]["object"]]["fitted"][name] = 3
    with pytest.raises(ModelFileError, match="can have no attribute"):
        load_with(tmp_path / "model", header, data)


@pytest.mark.parametrize("name", ["os", "committee", "CommitteeEstimator", "load", "Dataset", "", "BaseEstimator"])
def test_only_listed_classes_are_made(name, whole, tmp_path):
    header, data = whole
    header["objects"][header["model"]["object"]]["class"] = name
    with pytest.raises(ModelFileError, match="there is no class"):
        load_with(tmp_path / "model", header, data)


def test_parts_of_a_later_version_are_named(whole, tmp_path):
    header, data = whole
    header["objects"][header["model"]["object"]]["params"]["warp"] = 9
    with pytest.raises(ModelFileError, match="has no parameter 'warp'; a later version may have it"):
        load_with(tmp_path / "model", header, data)


def test_a_parameter_that_an_earlier_version_did_not_know_has_its_default(whole, tmp_path):
    header, data = whole
    del header["objects"][header["model"]["object"]]["params"]["min_samples_leaf"]
    assert load_with(tmp_path / "model", header, data).min_samples_leaf == 1


def find(header, name):
    return next(record for record in header["objects"] if record.get("class") == name)["fields"]


def test_parts_must_fit_together(whole, tmp_path):
    header, data = whole
    forged = [
        ("SamplePlan", "n_rows", 2**40, "below 2"),
        ("SamplePlan", "n_draws", -1, "below 2"),
        ("SamplePlan", "weights", {"array": 0}, "every row must have a weight"),
        ("SamplePlan", "whole_groups", True, "groups and strata"),
        ("Schema", "n_features", 3, "every column"),
        ("Schema", "dtype", {"dtype": "<i8"}, "float32 or float64"),
        ("Trees", "n_features", 2**40, "not in order"),
        ("Trees", "n_features", 2, "not in order"),
        ("Trees", "outputs", [2], "not in order"),
        ("LeafRecord", "values", {"array": 0}, "needs its value"),
    ]
    for name, field, value, match in forged:
        changed = json.loads(json.dumps(header))
        find(changed, name)[field] = value
        with pytest.raises(ModelFileError, match=match):
            load_with(tmp_path / "model", changed, data)


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (committee.RandomForestRegressor, "oob_prediction_"),
        (committee.RandomForestClassifier, "oob_decision_function_"),
        (committee.RandomForestClassifier, "_oob_halves"),
        (committee.BaggingRegressor, "oob_prediction_"),
        (committee.RandomForestRegressor, "_oob_errors"),
    ],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_out_of_bag_arrays_must_have_an_entry_for_each_row(cls, name, tmp_path):
    model = fit_model(make_model(cls, thorough=True))
    committee.save(model, tmp_path / "whole")
    assert len(getattr(committee.load(tmp_path / "whole"), name)) == 120
    setattr(model, name, getattr(model, name)[:-1].copy())
    committee.save(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match=f"{name} must have an entry for each row"):
        committee.load(tmp_path / "model")


def test_halves_of_out_of_bag_votes_have_their_columns(tmp_path):
    model = fit_model(make_model(committee.RandomForestClassifier, thorough=True))
    model._oob_halves = model._oob_halves[:, :4].copy()
    committee.save(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match="_oob_halves of RandomForestClassifier must be of the kind"):
        committee.load(tmp_path / "model")


def test_wide_structures_are_small_in_memory_or_refused(whole, tmp_path):
    header, data = whole
    # Each object holds the one before twice: thirty of them would be a thousand million for whoever walks through.
    n = len(header["objects"])
    tree = {"class": "DecisionTreeClassifier", "params": {}, "fitted": {"kept_": None}}
    for k in range(30):
        record = json.loads(json.dumps(tree))
        record["fitted"]["kept_"] = [{"object": n + k - 1}, {"object": n + k - 1}]
        header["objects"].append(record)
    header["model"] = {"object": len(header["objects"]) - 1}
    with pytest.raises(ModelFileError, match="too many parts"):
        load_with(tmp_path / "model", header, data)


def test_sizes_are_checked_before_anything_is_allocated(whole, tmp_path):
    header, data = whole
    for shape in ([2**61], [2**31, 2**31], [10**20], [0, 2**60], [-1], [1.0], [1] * 50, "x"):
        changed = json.loads(json.dumps(header))
        changed["arrays"][0]["shape"] = shape
        with pytest.raises(ModelFileError):
            load_with(tmp_path / "model", changed, data)
    for dtype in ("|O", "<f16", "<U0", "|V8", "f8", ">f8", "<f8,<f8", 5, None, "<U999999999"):
        changed = json.loads(json.dumps(header))
        changed["arrays"][0]["dtype"] = dtype
        with pytest.raises(ModelFileError):
            load_with(tmp_path / "model", changed, data)


def test_bytes_that_are_no_value_of_their_type_are_refused(tmp_path):
    model = committee.DecisionTreeClassifier()
    for array, match in [(np.array([True]), "truth"), (np.array(["a"]), "no character")]:
        model.kept_ = array
        committee.save(model, tmp_path / "model")
        header, _ = open_file((tmp_path / "model").read_bytes())
        with pytest.raises(ModelFileError, match=match):
            load_with(tmp_path / "model", header, b"\x07\x00\x11\x7f" + bytes(60))


def test_what_is_no_model_file_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(FileNotFoundError):
        committee.load(path)
    with pytest.raises(ModelFileError, match="is not a file"):
        committee.load(tmp_path)
    for content, match in [
        (b"", "too short"),
        (b"PK" * 99, "does not begin as one"),
        (b"\x89CMT\r\n\x1a\n" * 9, "damaged"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=match):
            committee.load(path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="is not a file"):
            committee.load(tmp_path / "pipe")


def test_a_file_of_a_later_format_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("committee.io.container.FORMAT_VERSION", 2)
    committee.save(committee.DecisionTreeClassifier(), tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="version 2 of the format; this version of committee reads up to 1"):
        committee.load(tmp_path / "model")


# --- columns of dates and lists ----------------------------------------------------------------------------------

COLUMNS = {
    "of the kind 'moon phase' are not known": ("kinds", {"tuple": ["moon phase"]}),
    "dates have known parts": ("parts", {"tuple": [{"tuple": ["seconds", "moon phase"]}]}),
    "every feature must come from a column": ("parts", {"tuple": [{"tuple": ["seconds"]}]}),
    "every column must have a kind": ("kinds", {"tuple": ["date", "date"]}),
    "every column must have a name": ("names", {"tuple": ["when", "where"]}),
}


def make_dates():
    when = np.array(["2020-01-01T01", "2021-05-02T05", "2022-07-05T08", "2023-08-04T11"], "M8[s]")
    return pd.DataFrame({"when": when})


@pytest.mark.parametrize("sentence", COLUMNS)
def test_columns_of_unknown_kinds_are_refused(sentence, tmp_path):
    committee.save(committee.DecisionTreeRegressor().fit(make_dates(), np.arange(4.0)), tmp_path / "whole")
    header, data = open_file((tmp_path / "whole").read_bytes())
    field, node = COLUMNS[sentence]
    (record,) = (one for one in header["objects"] if one.get("class") == "InputColumns")
    record["fields"][field] = node
    with pytest.raises(ModelFileError, match=sentence):
        load_with(tmp_path / "changed", header, data)


def test_a_file_without_dates_does_not_mention_them(tmp_path):
    committee.save(committee.DecisionTreeRegressor().fit(np.eye(3), np.arange(3.0)), tmp_path / "plain")
    header, _ = open_file((tmp_path / "plain").read_bytes())
    (record,) = (one for one in header["objects"] if one.get("class") == "Schema")
    assert "inputs" not in record["fields"]
    assert committee.load(tmp_path / "plain")._schema.inputs is None


def test_a_file_describes_the_columns_of_the_user(tmp_path):
    committee.save(committee.RandomForestRegressor(2).fit(make_dates(), np.arange(4.0)), tmp_path / "dates")
    about = committee.io.describe_file(tmp_path / "dates")
    assert (about.n_features, about.feature_names) == (1, ("when",))
