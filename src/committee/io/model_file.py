"""Saving models and loading them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

import committee
from committee.exceptions import ModelFileError
from committee.io.container import read_container, write_container
from committee.io.decode import Decoder
from committee.io.encode import Encoder
from committee.io.foreign import ForeignParts, pack_foreign, unpack_foreign
from committee.io.trial import try_model

if TYPE_CHECKING:
    from committee.typing import AnyArray

__all__ = ["check_header", "find_archive", "load", "save"]

_KEYS = frozenset({"library", "objects", "model", "foreign", "arrays"})
_OPTIONAL_KEYS = frozenset({"notes"})


def save(
    model: Any, path: str | os.PathLike[str], *, strip: bool = False, notes: Mapping[str, Any] | None = None
) -> None:
    """Write a model to a file.

    The file holds data only; :doc:`/model_files` describes it. It is written beside its place and then put there in
    one step, so that nobody ever reads half of one, and a process that has the old one mapped keeps it. Equal models
    make equal files, as long as all of their parts are of this library.

    Parameters
    ----------
    model : estimator
        Fitted or not. Parts from scikit-learn or other libraries are written by skops
        (``pip install 'committee[io]'``).
    path : str or path
        The file.
    strip : bool, default=False
        Leave out what predictions do not need: counts and impurities in the nodes, importances, out-of-bag votes.
    notes : mapping of str to object, optional
        Further data to keep beside the model: numbers, text, lists and mappings, as in JSON. `describe_file` returns
        them; they do not change the model.

    Returns
    -------
    None

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import committee
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = committee.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     committee.save(forest, Path(folder) / "iris.committee")
    ...     loaded = committee.load(Path(folder) / "iris.committee")
    >>> bool((loaded.predict(X) == forest.predict(X)).all())
    True
    """
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"A model to be saved must be an estimator; got {type(model).__name__}.")
    encoder = Encoder(strip=strip)
    root = encoder.encode(model, type(model).__name__)
    arrays, foreign = encoder.arrays, None
    if encoder.foreign:
        foreign = {"array": len(arrays), "count": len(encoder.foreign)}
        arrays = [*arrays, pack_foreign(encoder.foreign, encoder.own)]
    library = {
        "committee": committee.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
    }
    header = {"library": library, "model": root, "objects": encoder.objects, "foreign": foreign}
    if notes is not None:
        header["notes"] = _check_notes(notes)
    write_container(path, header, arrays)


def load(path: str | os.PathLike[str], *, trusted: Sequence[str | type] | None = None, mmap: bool = True) -> Any:
    """Read a model from a file.

    Nothing in a file is ever run, and everything is checked before it is used: a damaged or malicious file is
    refused with a `ModelFileError`. This holds for the parts that are of this library; of others' parts skops
    makes only types that are trusted, and what scikit-learn does with wrong numbers in them is up to scikit-learn.

    Parameters
    ----------
    path : str or path
        A file that `save` has written, with this version of the library or an earlier one.
    trusted : sequence of str or type, optional
        Types from other libraries that may be made, besides those that skops considers safe (most of
        scikit-learn). The error names those that are missing; look at them before passing them.
    mmap : bool, default=True
        Whether arrays are views of the mapped file: loading takes no memory of its own, and all processes that load
        the file share one copy. They are read-only then, and the file must not be changed in place (`save` does
        not). False: they are copied, and may be written to.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import committee
    >>> tree = committee.DecisionTreeRegressor(max_depth=2).fit([[0.0], [1.0], [2.0]], [3.0, 4.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     committee.save(tree, Path(folder) / "tree.committee", strip=True)
    ...     loaded = committee.load(Path(folder) / "tree.committee", mmap=False)
    >>> loaded.predict([[2.0]])
    array([5.])
    """
    if isinstance(trusted, str | bool):
        raise ModelFileError("trusted must be a list of the names of types, or None.")
    container = read_container(path, map_file=mmap)
    header = check_header(container.header)
    foreign: list[Any] = []
    if header["foreign"] is not None:
        packed, count = find_archive(header["foreign"], container.arrays)
        foreign = unpack_foreign(packed, count, trusted)
    model = Decoder(container.arrays, ForeignParts(foreign), copy=not mmap).build(header["objects"], header["model"])
    if not isinstance(model, BaseEstimator):
        raise ModelFileError("The file does not describe a model: what it holds is no estimator.")
    if not foreign:
        try_model(model)
    return model


def check_header(header: dict[str, Any]) -> dict[str, Any]:
    """The header, if it has the entries that it should."""
    if header.keys() - _OPTIONAL_KEYS != _KEYS or not isinstance(header.get("notes", {}), dict):
        raise ModelFileError("The header of the file has other entries than it should.")
    return header


def _check_notes(notes: Mapping[str, Any]) -> dict[str, Any]:
    """The notes as JSON will give them back."""
    try:
        found = json.loads(json.dumps(dict(notes), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"The notes of a model must be what JSON can hold: {error}.") from None
    if found != dict(notes):
        raise ModelFileError("The notes of a model must be what JSON can hold: text as keys, and lists, not tuples.")
    return dict(found)


def find_archive(place: object, arrays: list[AnyArray]) -> tuple[AnyArray, int]:
    """The bytes for skops, and how many objects they hold."""
    if not isinstance(place, dict) or place.keys() != {"array", "count"} or type(place["count"]) is not int:
        raise ModelFileError("The header of the file does not say where its archive is.")
    at = place["array"]
    if type(at) is not int or not 0 <= at < len(arrays) or arrays[at].dtype != np.uint8 or arrays[at].ndim != 1:
        raise ModelFileError("The header of the file does not say where its archive is.")
    return arrays[at], place["count"]
