"""Trees as pickles hold them: without links, in narrow types, and back to the same bytes."""

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from committee import _core
from tests.core.random_trees import Draw, draw_rows
from tests.core.test_tree import CATEGORICAL, DRAWS, LEAF, MISSING_LEFT, assert_same_trees, make

PACKED = ("tags", "thresholds", "inner_impurity", "leaf_impurity", "leaf_samples")


def pack(trees: _core.Trees) -> dict[str, Any]:
    return trees.__reduce__()[2]


def unpack(state: dict[str, Any]) -> _core.Trees:
    trees = _core.Trees.__new__(_core.Trees)
    trees.__setstate__(state)
    return trees


@pytest.mark.parametrize("keep", [True, False], ids=["whole", "stripped"])
@pytest.mark.parametrize("name", DRAWS)
def test_what_is_packed_comes_back(name: str, keep: bool) -> None:
    trees = make(DRAWS[name], keep=keep)
    assert pack(trees)["version"] == 2
    assert_same_trees(unpack(pack(trees)), trees)
    assert_same_trees(copy.deepcopy(trees), trees)
    assert_same_trees(unpack(pack(trees.select(1, 3))), trees.select(1, 3))


@pytest.mark.parametrize("name", DRAWS)
def test_tags_and_thresholds_are_those_of_the_nodes(name: str) -> None:
    trees = make(DRAWS[name])
    tag, state = trees.nodes["tag"], pack(trees)
    wanted = (tag & ((1 << 28) - 1)) << 3 | (tag >> 31) & 1 | (tag & CATEGORICAL) >> 29 | (tag & MISSING_LEFT) >> 27
    np.testing.assert_array_equal(state["tags"], wanted)
    inner = (tag & LEAF) == 0
    assert state["thresholds"].tobytes() == trees.nodes["threshold"][inner].tobytes()


def test_pickles_of_the_first_version_are_read() -> None:
    for draw in DRAWS.values():
        trees = make(draw)
        state = trees.__getstate__()
        assert state["version"] == 1
        assert_same_trees(unpack(state), trees)


@pytest.mark.parametrize(("n_features", "dtype"), [(32, "u1"), (33, "u2"), (8192, "u2"), (8193, "u4")])
def test_tags_are_as_narrow_as_the_features_allow(n_features: int, dtype: str) -> None:
    nodes = make(Draw(), 1).nodes.copy()
    nodes["tag"][0] = n_features - 1
    trees = _core.Trees.from_arrays({**make(Draw(), 1).__getstate__(), "nodes": nodes, "n_features": n_features})
    assert pack(trees)["tags"].dtype == dtype
    assert_same_trees(unpack(pack(trees)), trees)


@pytest.mark.parametrize(("most", "dtype"), [(255, "u1"), (256, "u2"), (65_535, "u2"), (65_536, "u4")])
def test_samples_are_as_narrow_as_they_can_be(most: int, dtype: str) -> None:
    state = make(DRAWS["counts"]).__getstate__()
    samples = state["leaf_samples"].copy()
    samples[3] = most
    trees = _core.Trees.from_arrays({**state, "leaf_samples": samples})
    assert pack(trees)["leaf_samples"].dtype == dtype
    assert_same_trees(unpack(pack(trees)), trees)


@pytest.mark.parametrize("impurity", ["none", "zero", "negative zero", "leaves", "all"])
@pytest.mark.parametrize("n_leaves", [1, 9])
def test_impurities_come_back(impurity: str, n_leaves: int) -> None:
    state = make(replace(DRAWS["plain"], n_leaves=n_leaves)).__getstate__()
    leaf = (state["nodes"]["tag"] & LEAF) != 0
    found = {
        "none": np.zeros(0),
        "zero": np.where(leaf, 0.0, 1.5),
        "negative zero": np.where(leaf, -0.0, 1.5),
        "leaves": np.where(leaf, 2.5, 0.0),
        "all": np.arange(len(leaf), dtype=float),
    }
    trees = _core.Trees.from_arrays({**state, "node_impurity": found[impurity]})
    assert_same_trees(unpack(pack(trees)), trees)
    assert (len(pack(trees)["leaf_impurity"]) == 0) == (impurity == "none" or (impurity == "zero" and n_leaves > 1))


def test_trees_in_another_order_are_pickled_as_they_are() -> None:
    """Two leaves of the last level change their numbers: valid, but not what the order says."""
    state = make(DRAWS["plain"], 1).__getstate__()
    nodes = state["nodes"].copy()
    leaves = np.flatnonzero(nodes["tag"] & LEAF)[-2:]
    nodes["left"][leaves] = nodes["left"][leaves[::-1]]
    trees = _core.Trees.from_arrays({**state, "nodes": nodes})
    assert pack(trees)["version"] == 1
    assert_same_trees(pickle.loads(pickle.dumps(trees)), trees)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 3}, "version"),
        ({"extra": 1}, "unknown entries"),
        ({"tags": np.zeros(3)}, "tags"),
        ({"tags": np.zeros((3, 2), np.uint8)}, "tags"),
        ({"tags": np.ones(68, np.uint8)}, "thresholds"),
        ({"tags": np.zeros(68, np.uint8)}, "thresholds"),
        ({"tags": np.zeros(3, np.uint8)}, "node_offsets"),
        ({"thresholds": np.zeros(32, np.int64)}, "thresholds"),
        ({"thresholds": np.full(32, np.nan)}, "not a number"),
        ({"thresholds": None}, "thresholds"),
        ({"node_offsets": np.zeros(5)}, "node_offsets"),
        ({"node_offsets": np.zeros(0, np.uint64)}, "thresholds"),
        ({"leaf_samples": np.zeros(36)}, "leaf_samples"),
        ({"leaf_samples": np.zeros(3, np.uint8)}, "leaf_samples"),
        ({"inner_impurity": np.zeros(3)}, "Impurities"),
        ({"leaf_impurity": np.zeros(3)}, "Impurities"),
    ],
)
def test_what_is_out_of_place_gets_a_sentence(change: dict[str, Any], sentence: str) -> None:
    state = pack(make(DRAWS["plain"]))
    with pytest.raises(ValueError, match=sentence):
        unpack({**state, **change})


def test_a_state_without_an_array_is_refused() -> None:
    state = pack(make(Draw()))
    for name in state:
        with pytest.raises(ValueError, match=f"lacks '{name}'"):
            unpack({k: v for k, v in state.items() if k != name})


@pytest.mark.parametrize("name", DRAWS)
def test_damaged_states_are_refused_or_valid_but_never_crash(name: str) -> None:
    draw = DRAWS[name]
    rng = np.random.default_rng(4)
    state = pack(make(draw))
    X = draw_rows(rng, 70, draw)
    outcomes = {True: 0, False: 0}
    for _ in range(500):
        key = PACKED[int(rng.integers(len(PACKED)))]
        array = np.array(state[key])
        kind = rng.integers(3)
        if kind == 0:
            array = array[: int(rng.integers(len(array) + 1))]
        elif array.size:
            raw = array.view(np.uint8)
            raw[int(rng.integers(len(raw)))] ^= np.uint8(1 << int(rng.integers(8)))
        try:
            trees = unpack({**state, key: array})
        except ValueError:
            outcomes[False] += 1
            continue
        outcomes[True] += 1
        wanted = _core.testing.predict_by_path(trees, X, "sum", path="plain")
        assert _core.testing.predict_by_path(trees, X, "sum", path="interleaved").tobytes() == wanted.tobytes()
    assert min(outcomes.values()) > 20
