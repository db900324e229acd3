"""Damages model files in every way and loads them; run as a process of its own, so that a crash would be seen.

Usage: python -m tests.io.damage N_FILES FOLDER. Prints a JSON object with how often what happened.
"""

from __future__ import annotations

import collections
import copy
import faulthandler
import json
import os
import random
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import committee
from committee.exceptions import ModelFileError
from tests.io.models import (
    ASKING,
    ESTIMATORS,
    LOOKING,
    fit_model,
    make_data,
    make_frame,
    make_model,
    open_file,
    seal_file,
)

# More than any of these small models needs; a size that is believed before it is checked would need more.
MOST_MEMORY = 6 << 30
MOST_SECONDS = 300  # for a load that does not end; no result depends on it
NUMBERS = (0, 1, 2, 3, -1, 7, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**64, 10**30, 0.5, -1e300)
REDRAWING = ("estimators_samples_", "predict_interval", "predict_variance")
WORDS = ("", "predict", "__class__", "_trees", "Trees", "Schema", "RandomForestClassifier", "<f8", "|O", "os.system")


def make_files(folder: Path) -> list[tuple[bytes, Any, list[str]]]:
    """The whole files, each with rows to ask its model about, and what it can answer."""
    files = []
    for cls in ESTIMATORS:
        files.append((fit_model(make_model(cls, thorough=True)), make_data(make_model(cls))[0]))
    forest = committee.RandomForestClassifier(3, bootstrap="stratified", random_state=0)
    frame, y = make_frame(forest)
    files.append((forest.fit(frame, y, sample_weight=np.linspace(0.1, 1, len(y))), frame))
    X, y = make_data(forest)
    bag = committee.BaggingClassifier(n_estimators=3, max_features=0.5, bootstrap="group", random_state=0)
    files.append((bag.fit(X, y, groups=np.arange(len(y)) % 9), X))
    outer = committee.BaggingClassifier(bag.set_params(bootstrap=True), n_estimators=2, random_state=0)
    files.append((outer.fit(X, y), X))
    made = []
    for model, rows in files:
        committee.save(model, folder / "whole")
        names = [name for name in (*ASKING, *LOOKING) if find_error(model, name, rows[:20]) is None]
        made.append(((folder / "whole").read_bytes(), rows[:20], names))
    return made


# --- ways of damage ----------------------------------------------------------------------------------------------


def flip_bytes(content: bytes, draw: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        damaged[draw.randrange(len(damaged))] ^= draw.randrange(1, 256)
    return bytes(damaged) if bytes(damaged) != content else damaged[:-1]


def change_length(content: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.2:
        return content + draw.randbytes(draw.randrange(1, 200))
    if draw.random() < 0.2:
        at = draw.randrange(len(content))
        return content[:at] + content[at + draw.randrange(1, 100) :]
    return content[: draw.randrange(len(content))]


def change_header(content: bytes, draw: random.Random) -> bytes:
    """Another header, with lengths and checksums that are right."""
    header, data = open_file(content)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        _mutate(header, draw)
    if draw.random() < 0.03:
        depth = draw.choice((60, 2000, 100_000))
        return seal_file(b"[" * depth + b"]" * depth, data)
    return seal_file(header, data)


def _mutate(header: Any, draw: random.Random) -> None:
    places = [(node, key) for node in _walk(header) for key in (node if isinstance(node, dict) else range(len(node)))]
    node, key = draw.choice(places)
    way = draw.randrange(6)
    if way == 0:
        node[key] = draw.choice(NUMBERS)
    elif way == 1:
        node[key] = draw.choice(WORDS)
    elif way == 2:
        del node[key]
    elif way == 3:
        other, there = draw.choice(places)
        if there in other if isinstance(other, dict) else there < len(other):
            node[key] = copy.deepcopy(other[there])
    elif way == 4:
        node[key] = draw.choice(
            (None, True, [], {}, [node[key]], {"tuple": [node[key]]}, {"object": 0}, {"array": 0}, {"foreign": 0})
        )
    elif isinstance(node, dict):
        node[draw.choice(WORDS)] = draw.choice((node[key], {"array": 1}, {"object": draw.randrange(4)}))
    else:
        node.append(copy.deepcopy(node[key]))


def _walk(node: Any) -> Any:
    if isinstance(node, dict | list) and node:
        yield node
        for child in node.values() if isinstance(node, dict) else node:
            yield from _walk(child)


def change_arrays(content: bytes, draw: random.Random) -> bytes:
    """Other numbers in the arrays, with checksums that are right."""
    header, data = open_file(content)
    damaged = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5))):
        entry = draw.choice([e for e in header["arrays"] if all(e["shape"])])
        size = {"node12": 12, "node16": 16}.get(entry["dtype"]) or np.dtype(entry["dtype"]).itemsize
        length = size * int(np.prod(entry["shape"]))
        if draw.random() < 0.3:
            damaged[entry["at"] : entry["at"] + length] = draw.randbytes(length)
            continue
        # One field of four bytes, or one number, to something at the edge of what it can be.
        width = draw.choice((4, size)) if size % 4 == 0 else size
        at = entry["at"] + draw.randrange(length // width) * width
        value = draw.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1, 3, 7, 2**30, 2**29 + 3))
        damaged[at : at + width] = (value.to_bytes(8, "little") * (width // 8 + 1))[:width]
    return seal_file(header, bytes(damaged))


WAYS = {"bytes": flip_bytes, "length": change_length, "header": change_header, "arrays": change_arrays}


# --- what happens ------------------------------------------------------------------------------------------------


def find_error(model: Any, name: str, X: Any) -> Exception | None:
    """What goes wrong when a model is asked for something."""
    try:
        found = getattr(model, name)
        if name in ASKING:
            answer = found(X)
            list(answer) if hasattr(answer, "__next__") else None
        elif name in ("estimators_", "estimators_samples_"):
            next(iter(found))
        elif name == "tree_":
            repr((found.impurity, found.value, found.n_node_samples, found.left_categories))
    except SystemError:
        raise
    # An error that Python raises about wrong numbers is all the harm that may come of them.
    except Exception as error:
        return error
    return None


def claims_many_rows(model: Any) -> bool:
    """Whether a model says that it has seen so many rows that drawing them again is long work, as it would be."""
    samples = vars(model).get("_samples")
    plan = getattr(samples, "plan", samples)
    return plan is not None and max(plan.n_rows, plan.n_draws, *plan.stratum_draws) > 1_000_000


def try_file(path: Path, X: Any, names: list[str], mmap: bool) -> str:
    try:
        model = committee.load(path, mmap=mmap)
    except ModelFileError:
        return "refused"
    if claims_many_rows(model):
        names = [name for name in names if name not in REDRAWING]
    errors = [find_error(model, name, X) for name in names]
    return "loaded with errors" if any(errors) else "loaded"


def main(n_files: int, folder: Path) -> None:
    faulthandler.enable()
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # whose shadow takes all addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    warnings.simplefilter("ignore")
    draw = random.Random(0)
    whole = make_files(folder)
    outcomes: collections.Counter[str] = collections.Counter()
    for number in range(n_files):
        content, X, names = whole[number % len(whole)]
        way = ("bytes", "length", "header", "header", "arrays", "arrays")[number % 6]
        (folder / "damaged").write_bytes(WAYS[way](content, draw))
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        try:
            outcomes[f"{way}: {try_file(folder / 'damaged', X, names, number % 2 == 0)}"] += 1
        except BaseException as error:
            (folder / "damaged").rename(folder / f"culprit-{number}")
            outcomes[f"{way}: number {number} raised {error!r}"] += 1
        faulthandler.cancel_dump_traceback_later()
        (folder / "damaged").unlink(missing_ok=True)
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
