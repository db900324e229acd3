"""Cases that load a changed model file: bytes, lengths, header and arrays, with checksums that are right or not."""

from __future__ import annotations

import importlib.util
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import committee
from committee.exceptions import ModelFileError
from fuzz.asking import METHODS, fit_usual
from fuzz.draws import Draw
from fuzz.libraries import Skipped
from fuzz.oracle import Refusal, attempt, expect, guard
from tests.io.damage import WAYS, claims_many_rows
from tests.io.models import open_file, seal_file

__all__ = ["load_anything"]

_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-files-")
#: What draws the rows of a fit again, which takes as long as a file says that there were rows.
REDRAWING = ("predict_interval", "predict_variance", "predict_quantiles")


@cache
def save_usual(name: str, frame: bool) -> tuple[bytes, Any]:
    """The bytes of a whole file, and rows to ask its model about."""
    model, X, _ = fit_usual(name, frame)
    path = Path(_FOLDER.name, "whole")
    try:
        with guard():
            committee.save(model, path)
    except ModelFileError as error:
        if importlib.util.find_spec("skops") is None:
            raise Skipped(str(error)) from None
        raise
    return path.read_bytes(), X


def splice(content: bytes, draw: random.Random, other: bytes) -> bytes:
    """The header of one file with the arrays of another, or parts of both."""
    if draw.random() < 0.5:
        at = draw.randrange(min(len(content), len(other)))
        return content[:at] + other[at:]
    header, data = open_file(content)
    more, others = open_file(other)
    if draw.random() < 0.5:
        return seal_file(header, others)
    header["objects"][draw.randrange(len(header["objects"]))] = draw.choice(more["objects"])
    return seal_file(header, data)


def load_anything(draw: Draw, name: str) -> None:
    """Load a damaged file; where that is not refused, the model answers or says what is wrong."""
    content, X = save_usual(name, draw.chance(0.4))
    way = draw.pick(("bytes", "length", "header", "header", "header", "arrays", "arrays", "splice"))
    mmap = draw.chance(0.5)
    draw.note("file", f"{name}, {way}, {'mapped' if mmap else 'read'}")
    if way == "splice":
        names = ("RandomForestClassifier", "DecisionTreeRegressor", "BernoulliNB", "HistGradientBoostingRegressor")
        damaged = splice(content, draw.random, save_usual(draw.pick(names), False)[0])
    else:
        damaged = WAYS[way](content, draw.random)
    path = Path(_FOLDER.name, "damaged")
    path.unlink(missing_ok=True)
    path.write_bytes(damaged)
    try:
        with guard():
            model = committee.load(path, mmap=mmap)
    except ModelFileError as error:
        raise Refusal(str(error)) from None
    expect(way not in ("bytes", "length") or damaged == content, "checksums find what was changed by accident")
    _ask_all(model, X)


def _ask_all(model: Any, X: Any) -> None:
    skipped = {*(REDRAWING if claims_many_rows(model) else ()), "score", "margins", "predictor", "predict_members"}
    for method in METHODS:
        if method in skipped or not hasattr(model, method):
            continue

        def work(method: str = method) -> Any:
            answer = getattr(model, method)(X)
            return list(answer) if hasattr(answer, "__next__") else answer

        try:
            attempt(work)
        except Refusal:
            continue
