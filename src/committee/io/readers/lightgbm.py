"""`from_lightgbm`: the text form of a LightGBM model."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import CommitteeError
from committee.io.readers.fitted_models import ForeignColumns, hold_boosted
from committee.io.readers.node_tables import NodeTable, make_arena, make_leaf_table, refuse_file
from committee.io.readers.sources import read_source_bytes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.typing import AnyArray

__all__ = ["from_lightgbm"]

_NAME = "LightGBM"
_LOSSES = {
    "regression": "squared_error",
    "regression_l1": "absolute_error",
    "huber": "squared_error",
    "fair": "squared_error",
    "mape": "absolute_error",
    "quantile": "squared_error",
    "lambdarank": "squared_error",
    "rank_xendcg": "squared_error",
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": "tweedie",
    "binary": "logistic",
    "multiclass": "softmax",
}
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_ZERO, _NAN = 1, 2


def from_lightgbm(source: str | os.PathLike[str] | Any, *, classes: ArrayLike | None = None) -> Any:
    r"""A LightGBM model as a fitted boosting estimator of this library.

    Raw scores have the bits of LightGBM's ``predict(raw_score=True)``; probabilities and means agree to 1e-14
    relative, since the exponentials differ. A category that the model has not met counts as missing, which LightGBM
    sends the same way. Refused: linear trees, random forests, ``multiclassova``, a sigmoid other than 1, and
    splits that send zero elsewhere than the numbers beside it (``zero_as_missing``).

    Parameters
    ----------
    source : str, path-like or Booster
        The text, the path of a file of it, or a booster (or an estimator that has one).
    classes : array-like, optional
        The labels of the classes, ascending; by default 0, 1, ..., or those of an estimator.

    Returns
    -------
    HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Predicts, explains, is saved and exported as one that was fitted here; fitting it again forgets the trees.

    Examples
    --------
    >>> from committee.io import from_lightgbm
    >>> head = ["tree", "num_tree_per_iteration=1", "max_feature_idx=0", "objective=regression", ""]
    >>> tree = ["Tree=0", "num_leaves=2", "split_feature=0", "split_gain=4", "threshold=0.5", "decision_type=2"]
    >>> tree += ["left_child=-1", "right_child=-2", "leaf_value=9 12", "leaf_weight=4 4", "leaf_count=4 4"]
    >>> from_lightgbm("\n".join([*head, *tree, "", "end of trees"])).predict([[0.0], [1.0]])
    array([ 9., 12.])

    A model of the package itself:

    >>> import lightgbm, numpy as np  # doctest: +SKIP
    >>> X = np.arange(40.0).reshape(-1, 1)  # doctest: +SKIP
    >>> booster = lightgbm.LGBMRegressor(verbose=-1).fit(X, X[:, 0])  # doctest: +SKIP
    >>> bool((from_lightgbm(booster).predict(X) == booster.predict(X)).all())  # doctest: +SKIP
    True
    """
    if classes is None and hasattr(source, "booster_"):
        classes = getattr(source, "classes_", None)
    booster = getattr(source, "booster_", source)
    text = booster.model_to_string() if hasattr(booster, "model_to_string") else _read_text(booster)
    head, trees = _split(text)
    try:
        return _build(head, trees, text, classes)
    except CommitteeError:
        raise
    except (KeyError, ValueError, IndexError, TypeError, OverflowError) as error:
        raise refuse_file(_NAME, f"a field is missing or not what it should be ({error})") from error


def _read_text(source: Any) -> str:
    if isinstance(source, str) and source.startswith("tree\n"):
        return source
    return read_source_bytes(_NAME, source).decode("utf-8", "replace")


def _split(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The fields of the head and of each tree."""
    if not text.startswith("tree\n"):
        raise refuse_file(_NAME, "it does not begin with the line 'tree' of LightGBM's text")
    body = text.partition("end of trees")[0]
    parts = body.split("\nTree=")
    return _read_fields(parts[0]), [_read_fields(part) for part in parts[1:]]


def _read_fields(part: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in part.splitlines())
    return {name: value for name, found, value in pairs if found or name == "average_output"}


def _build(head: dict[str, str], trees: list[dict[str, str]], text: str, classes: ArrayLike | None) -> Any:
    if "average_output" in head:
        raise refuse_file(_NAME, "it is a random forest (boosting=rf), whose trees are averaged")
    objective, *options = head.get("objective", "").split()
    if objective not in _LOSSES or (objective == "regression" and "sqrt" in options):
        raise refuse_file(_NAME, f"its objective {head.get('objective', '')!r} has no counterpart here")
    if any(option.startswith("sigmoid:") and float(option[8:]) != 1.0 for option in options):
        raise refuse_file(_NAME, f"its objective {head['objective']!r} scales the scores")
    n_columns, n_scores = int(head["max_feature_idx"]) + 1, int(head["num_tree_per_iteration"])
    if not 1 <= n_columns < 1 << 28 or not 1 <= n_scores <= 1 << 16:
        raise refuse_file(_NAME, "the number of its columns or classes is out of range")
    levels, labelled = _read_levels(head, trees, text, n_columns)
    # Codes of categories that pandas has named count its labels; others are the categories themselves.
    codes = {} if labelled else levels
    tables = [_read_tree(number, fields, codes) for number, fields in enumerate(trees)]
    gains = np.zeros(n_columns)
    for fields in trees:
        if int(fields["num_leaves"]) > 1:
            np.add.at(gains, _numbers(fields, "split_feature", int), _numbers(fields, "split_gain", float))
    columns = ForeignColumns(_NAME, n_columns, _read_names(head), levels)
    arena = make_arena(_NAME, tables, n_columns, 1)
    slots = np.arange(len(tables), dtype=np.uint32) % np.uint32(n_scores)
    return hold_boosted(
        columns, arena, _LOSSES[objective], np.zeros(n_scores), slots=slots, gains=gains, classes=classes
    )


def _read_names(head: dict[str, str]) -> list[str] | None:
    names = head.get("feature_names", "").split()
    return None if names == [f"Column_{k}" for k in range(len(names))] else names


def _numbers(fields: dict[str, str], name: str, kind: type) -> AnyArray:
    return np.array([kind(part) for part in fields[name].split()])


def _read_levels(
    head: dict[str, str], trees: list[dict[str, str]], text: str, n_columns: int
) -> tuple[dict[int, AnyArray], bool]:
    """The levels of each category, and whether they are the labels that pandas had."""
    used: dict[int, set[int]] = {}
    for fields in trees:
        if int(fields.get("num_cat", "0")):
            kinds, features = _numbers(fields, "decision_type", int), _numbers(fields, "split_feature", int)
            for feature in features[(kinds & _CATEGORICAL) != 0].tolist():
                used.setdefault(feature, set())
            for feature, codes in _list_sets(fields).values():
                used[feature].update(codes.tolist())
    infos = head.get("feature_infos", "").split()
    labels = _read_pandas_levels(text)
    chosen = [
        k for k in range(n_columns) if k in used or (k < len(infos) and ":" in infos[k] and infos[k][0] not in "[n")
    ]
    levels: dict[int, AnyArray] = {}
    labelled = labels is not None and len(labels) == len(chosen)
    for place, column in enumerate(chosen):
        if labels is not None and labelled:
            own = labels[place]
            texts = any(isinstance(label, str) for label in own)
            levels[column] = np.array([str(x) for x in own], object) if texts else np.array(own, dtype=np.float64)
            continue
        known = used.get(column, set())
        if column < len(infos) and infos[column][0] not in "[n":
            known = known | {int(part) for part in infos[column].split(":")}
        levels[column] = np.array(sorted(code for code in known if code >= 0), dtype=np.float64)
    return levels, labelled


def _read_pandas_levels(text: str) -> list[list[Any]] | None:
    line = next((line for line in text.splitlines() if line.startswith("pandas_categorical:")), "")
    found = json.loads(line.partition(":")[2] or "null")
    return found or None


def _list_sets(fields: dict[str, str]) -> dict[int, tuple[int, AnyArray]]:
    """By node: the column, and the categories that go left."""
    bounds = _numbers(fields, "cat_boundaries", int).tolist()
    words = np.array([int(part) for part in fields["cat_threshold"].split()], dtype=np.uint32)
    kinds, features = _numbers(fields, "decision_type", int), _numbers(fields, "split_feature", int)
    thresholds = _numbers(fields, "threshold", float)
    sets = {}
    for node in np.flatnonzero(kinds & _CATEGORICAL).tolist():
        place = int(thresholds[node])
        own = words[bounds[place] : bounds[place + 1]]
        bits = np.unpackbits(own.astype("<u4").view(np.uint8), bitorder="little")
        sets[node] = int(features[node]), np.flatnonzero(bits)
    return sets


def _read_tree(number: int, fields: dict[str, str], levels: dict[int, AnyArray]) -> NodeTable:
    if fields.get("is_linear", "0") != "0":
        raise refuse_file(_NAME, "it has linear models in its leaves (linear_tree)")
    n_leaves, values = int(fields["num_leaves"]), _numbers(fields, "leaf_value", float)
    if n_leaves == 1:
        return make_leaf_table(values[:1], 1.0, 1)
    n_inner = n_leaves - 1
    sizes = {"left_child": n_inner, "right_child": n_inner, "split_feature": n_inner, "threshold": n_inner}
    sizes |= {"decision_type": n_inner, "leaf_value": n_leaves, "leaf_weight": n_leaves, "leaf_count": n_leaves}
    for name, size in sizes.items():
        if len(fields[name].split()) != size:
            raise refuse_file(_NAME, f"tree {number} must have {size} entries of {name}")
    kinds, threshold = _numbers(fields, "decision_type", int), _numbers(fields, "threshold", float)
    # A child below zero is a leaf: leaf k is -k - 1 there, and stands after the inner nodes here.
    children = [_numbers(fields, side, int) for side in ("left_child", "right_child")]
    left, right = (np.where(side < 0, n_inner - side - 1, side) for side in children)
    none, zeros = np.full(n_leaves, -1), np.zeros(n_leaves)
    sets = {
        node: _encode_set(codes, levels.get(feature))
        for node, (feature, codes) in (_list_sets(fields) if int(fields.get("num_cat", "0")) else {}).items()
    }
    return NodeTable(
        np.concatenate([left, none]),
        np.concatenate([right, none]),
        np.concatenate([_numbers(fields, "split_feature", int), none]),
        np.concatenate([threshold, zeros]),
        np.concatenate([_find_missing(number, kinds, threshold), zeros > 0]),
        np.concatenate([np.zeros(n_inner), values]).reshape(-1, 1),
        np.concatenate([np.zeros(n_inner), _numbers(fields, "leaf_weight", float)]),
        np.concatenate([np.zeros(n_inner, int), _numbers(fields, "leaf_count", int)]),
        sets,
    )


def _find_missing(number: int, kinds: AnyArray, threshold: AnyArray) -> AnyArray:
    """Whether a missing value goes left at each split."""
    treatment, default_left = kinds >> 2 & 3, kinds & _DEFAULT_LEFT != 0
    zero_left, by_set = threshold >= 0.0, kinds & _CATEGORICAL != 0
    if (~by_set & (treatment == _ZERO) & (default_left != zero_left)).any():
        raise refuse_file(
            _NAME, f"tree {number} sends zero elsewhere than the numbers beside it (zero_as_missing=true)"
        )
    # Without a treatment a missing value is a zero. At a category it goes right.
    return np.where(by_set, False, np.where(treatment == _NAN, default_left, zero_left))


def _encode_set(codes: AnyArray, levels: AnyArray | None) -> AnyArray:
    """Categories by the numbers of their levels; labels of pandas are numbered already."""
    return codes if levels is None else np.searchsorted(levels, codes)
