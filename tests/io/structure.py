"""Changes of the structure of model files: attributes deleted, swapped and replaced, with checksums that are right.

Usage: python -m tests.io.structure SHARE FOLDER, the share of all changes that is tried. Prints a JSON object: how
many changes were made, how many loaded, and what went wrong with those that did.
"""

from __future__ import annotations

import copy
import functools
import json
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import committee
from committee.exceptions import CommitteeError, ModelFileError, NotFittedError
from tests.io.damage import claims_many_rows, find_error, make_files
from tests.io.models import ASKING, open_file, seal_file

METHODS = (*ASKING, "predict_log_proba", "staged_decision_function")
VALUES: tuple[Any, ...] = (None, 3, -1, 0.5, "text", [], {"tuple": []}, {"dict": []}, True)


def list_changes(header: Any, n_values: int, draw: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Functions that make a header with one change: an attribute deleted, replaced, or swapped with one of its part."""
    objects = header["objects"]
    for number, record in enumerate(objects):
        for group in ("fitted", "fields"):
            names = list(record.get(group, ()))
            for name in names:
                others: list[Any] = [n for n in names if n != name]
                ways: list[Any] = [("delete", None)]
                ways += [("replace", value) for value in draw.sample(VALUES, min(n_values, len(VALUES)))]
                ways += [("replace", {"object": draw.randrange(number)})] if number else []
                ways += [("replace", {"array": draw.randrange(len(header["arrays"]))})]
                ways += [("swap", draw.choice(others))] if others else []
                for way, value in ways:
                    what = f"{way} {record['class']}.{name} {value}"
                    yield what, functools.partial(change_part, header, (number, group, name), way, value)


def change_part(header: Any, place: tuple[int, str, str], way: str, value: Any) -> Any:
    """A copy of the header with the change."""
    (number, group, name), changed = place, copy.deepcopy(header)
    part = changed["objects"][number][group]
    if way == "delete":
        del part[name]
    elif way == "replace":
        part[name] = value
    else:
        part[name], part[value] = part[value], part[name]
    return changed


def find_failure(path: Path, X: Any, names: list[str]) -> str | None:
    """What a loaded model raises that is no sentence of the library; None if all is well, or "refused"."""
    try:
        model = committee.load(path)
    except ModelFileError:
        return "refused"
    if claims_many_rows(model):
        names = [name for name in names if name not in ("predict_interval", "predict_variance")]
    for name in names:
        error = find_error(model, name, X)
        if error is not None and not isinstance(error, CommitteeError | NotFittedError):
            return f"{name}: {type(error).__name__}: {str(error)[:120]}"
    return None


def try_changes(share: float, folder: Path) -> dict[str, Any]:
    """A share of all changes of all kinds of models, drawn with a fixed seed."""
    draw, path = random.Random(1), folder / "changed"
    n_changes = n_loaded = 0
    failures: list[str] = []
    for content, X, names in make_files(folder):
        header, data = open_file(content)
        asked = [name for name in names if name in METHODS]
        for what, change in list_changes(header, 9 if share >= 1.0 else 2, draw):
            if draw.random() >= share:
                continue
            path.write_bytes(seal_file(change(), data))
            n_changes += 1
            found = find_failure(path, X, asked)
            n_loaded += found != "refused"
            if found not in (None, "refused"):
                root = header["objects"][-1]["class"]
                failures.append(f"{root}: {what}: {found}")
    return {"changes": n_changes, "loaded": n_loaded, "failures": failures}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(try_changes(float(sys.argv[1]), Path(sys.argv[2]))))
