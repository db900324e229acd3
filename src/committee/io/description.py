"""The description of a model file, without building the model."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from committee.exceptions import ModelFileError
from committee.io.container import read_container
from committee.io.foreign import list_untrusted
from committee.io.model_file import check_header, find_archive

__all__ = ["ModelDescription", "describe_file"]


@dataclass(frozen=True)
class ModelDescription:
    """The description of a model file.

    Attributes
    ----------
    name : str
        Class of the model; empty if it is of another library.
    params : dict
        Hyper-parameters: plain values as they are, anything else as a short description.
    n_features : int or None
        How many columns it was fitted on; None if it is not fitted or not recorded.
    feature_names : tuple of str or None
        Their names, if they had names.
    stripped : bool
        Whether it was saved for prediction only.
    library : dict
        Versions that it was written with.
    untrusted : list of str
        Types that must be passed to `load` as trusted.
    n_bytes : int
        Size of the file.
    notes : dict
        What was saved beside the model; empty if nothing was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import committee
    >>> from committee.io import describe_file
    >>> tree = committee.DecisionTreeRegressor(max_depth=3).fit([[0.0], [1.0]], [10.0, 20.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     committee.save(tree, Path(folder) / "tree.committee")
    ...     about = describe_file(Path(folder) / "tree.committee")
    >>> about.name, about.stripped, about.untrusted, about.notes
    ('DecisionTreeRegressor', False, [], {})
    """

    name: str
    params: dict[str, Any]
    n_features: int | None
    feature_names: tuple[str, ...] | None
    stripped: bool
    library: dict[str, Any]
    untrusted: list[str]
    n_bytes: int
    notes: dict[str, Any] = field(default_factory=dict)


def describe_file(path: str | os.PathLike[str]) -> ModelDescription:
    """Read what a model file is about.

    Lengths and checksums are compared; whether the model is in order is found out by loading it.

    Parameters
    ----------
    path : str or path
        A file that `committee.save` has written.

    Returns
    -------
    ModelDescription

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import committee
    >>> from committee.io import describe_file
    >>> tree = committee.DecisionTreeClassifier(max_depth=2).fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     committee.save(tree, Path(folder) / "tree.committee")
    ...     about = describe_file(Path(folder) / "tree.committee")
    >>> about.name, about.params["max_depth"], about.n_features
    ('DecisionTreeClassifier', 2, 1)
    """
    container = read_container(path)
    header = check_header(container.header)
    untrusted: list[str] = []
    if header["foreign"] is not None:
        untrusted = list_untrusted(find_archive(header["foreign"], container.arrays)[0])
    record = _follow(header["model"], header["objects"])
    fitted = _take_dict(record, "fitted")
    columns = _take_dict(_follow(fitted.get("_schema"), header["objects"]), "fields")
    inputs = _take_dict(_follow(columns.get("inputs"), header["objects"]), "fields")
    names = inputs["names"] if "names" in inputs else columns.get("feature_names")
    width = fitted.get("n_features_in_", columns.get("n_features"))
    return ModelDescription(
        name=str(record.get("class", "")),
        params={key: _show(node, header["objects"]) for key, node in _take_dict(record, "params").items()},
        n_features=width if isinstance(width, int) else None,
        feature_names=tuple(map(str, names["tuple"])) if isinstance(names, dict) and "tuple" in names else None,
        stripped=fitted.get("_stripped") is True,
        library=_take_dict(header, "library"),
        untrusted=untrusted,
        n_bytes=container.n_bytes,
        notes=_take_dict(header, "notes"),
    )


def _follow(node: object, objects: Any) -> dict[str, Any]:
    """The instance that a value refers to; empty if it is none."""
    if not isinstance(node, dict) or node.keys() != {"object"}:
        return {}
    at = node["object"]
    if type(at) is not int or not isinstance(objects, list) or not 0 <= at < len(objects):
        raise ModelFileError("The file does not describe a model: it refers to a part that is not there.")
    return objects[at] if isinstance(objects[at], dict) else {}


def _take_dict(record: dict[str, Any], key: str) -> dict[str, Any]:
    found = record.get(key)
    return found if isinstance(found, dict) else {}


def _show(node: object, objects: Any, depth: int = 0) -> Any:
    """A hyper-parameter for people."""
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, list):
        return [_show(item, objects, depth + 1) for item in node] if depth < 4 else "[…]"
    record = _follow(node, objects)
    if record:
        return f"{record.get('class', 'value')}(…)"
    if isinstance(node, dict) and len(node) == 1:
        ((kind, content),) = node.items()
        if kind == "float":
            return str(content)
        if kind in ("tuple", "dict") and isinstance(content, list) and depth < 4:
            return _show(content, objects, depth + 1)
        return f"<{kind}>"
    return "<unknown>"
