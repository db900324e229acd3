"""Counts what comes of calls that are interrupted and of saves that fail, for the page on reliability.

Usage: python -m fuzz.stops [saves] [interrupts] [--only WORD]. With --keep the counts go into fuzz/faults.json.

`saves`: a process is killed at every step of a save; a step fails with an error of the system; files may have so many
bytes only. The file under the name must be the old model or the new one. `interrupts`: SIGINT is pending at polls of
the core, from the first to the last; then real signals come in the middle of longer calls, and the time of the
processor until they are heard is measured. A call must raise KeyboardInterrupt and leave its model as before.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import committee
from fuzz.results import keep_counts

__all__ = ["Call", "count_errors", "count_kills", "interrupt_calls", "list_calls", "signal_calls"]

#: Polls of a call at which it is interrupted, if it has more of them.
MOST_POLLS = 25
#: Errors of the system: no space, read-only, input and output, rights, quota.
CODES = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES, errno.EDQUOT)
#: Bytes between two limits of the size of files.
LIMIT_STEP = 64
#: Parts of a call, by its time of the processor, after which a signal is sent; seconds between two looks at that time.
MOMENTS, LOOK = (0.2, 0.5, 0.8), 0.002
#: A longer call says more about how soon a signal is heard; small tables are repeated so often.
REPEATS = 10
#: Seconds of the processor within which a signal must be heard.
SOON = 1.0


# --- saves ---------------------------------------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(60, 4))
VALUES = X[:, 0] + X[:, 1] * X[:, 2]
SAVED: dict[str, Callable[[], Any]] = {
    "tree": lambda: committee.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, VALUES),
    "forest": lambda: committee.RandomForestClassifier(3, random_state=0).fit(X, VALUES > 0),
    "boosting": lambda: committee.HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(X, VALUES),
    "AdaBoost": lambda: committee.AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, VALUES > 0),
    "stack": lambda: committee.StackingRegressor([("tree", committee.DecisionTreeRegressor(max_depth=2))], "mean").fit(
        X, VALUES
    ),
}


def _list_saves(only: str, folder: Path) -> Iterator[tuple[str, Any, Path, bytes]]:
    """A model, a place where another one is saved, and the bytes of that."""
    old = committee.DecisionTreeRegressor(max_depth=1).fit(X, VALUES)
    for name, make in SAVED.items():
        if only in name:
            place = folder / name
            committee.save(old, place)
            yield name, make(), place, place.read_bytes()


def _look(place: Path, before: bytes, model: Any) -> str:
    """What is under the name: the old file, the new one, or neither."""
    if place.read_bytes() == before:
        return "old file"
    try:
        same = np.array_equal(committee.load(place).predict(X), model.predict(X))
    except committee.exceptions.ModelFileError:
        return "wrong"
    return "new file" if same else "wrong"


def count_kills(only: str = "") -> dict[str, int]:
    """Kill a process at every step of each save."""
    from tests.faults.saving import count_steps, kill_while_saving, list_drafts

    counts = {"models": 0, "kills": 0, "old file": 0, "new file": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as folder:
        for _, model, place, before in _list_saves(only, Path(folder)):
            counts["models"] += 1
            for at in range(1, count_steps(model, Path(folder)) + 1):
                place.write_bytes(before)
                ended = kill_while_saving(model, place, at)
                counts["kills"] += ended == -signal.SIGKILL
                counts[_look(place, before, model) if ended == -signal.SIGKILL else "wrong"] += 1
                for draft in list_drafts(place):
                    draft.unlink()
    return counts


def count_errors(only: str = "") -> dict[str, int]:
    """Let every step of each save fail with every error; then bound the size of files."""
    from tests.faults.saving import count_steps, list_drafts, save_with, save_within

    counts = {"models": 0, "errors": 0, "limits": 0, "old file": 0, "new file": 0, "wrong": 0}

    def judge(place: Path, before: bytes, model: Any, failed: bool) -> None:
        """An error that was raised leaves the old file, no error the new one, and no draft stays."""
        found = "wrong" if list_drafts(place) else _look(place, before, model)
        counts[found if found == ("old file" if failed else "new file") else "wrong"] += 1
        place.write_bytes(before)

    with tempfile.TemporaryDirectory() as folder:
        for _, model, place, before in _list_saves(only, Path(folder)):
            counts["models"] += 1
            for at in range(1, count_steps(model, Path(folder)) + 1):
                for code in CODES:
                    failed = _fails(partial(save_with, model, place, at, partial(_fail, code)))
                    judge(place, before, model, failed)
                    counts["errors"] += 1
            committee.save(model, Path(folder) / "whole")
            for n_bytes in range(0, (Path(folder) / "whole").stat().st_size, LIMIT_STEP):
                judge(place, before, model, save_within(model, place, n_bytes) == 3)
                counts["limits"] += 1
    return counts


def _fail(code: int) -> None:
    raise OSError(code, os.strerror(code))


def _fails(save: Callable[[], None]) -> bool:
    """Whether a save says that it failed; a folder that could not be synced is no failure."""
    try:
        save()
    except OSError:
        return True
    return False


# --- interrupts ----------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call that may take long, the model that it must leave as before, and a longer call of the same kind."""

    work: Callable[[], Any]
    kept: Any
    longer: Callable[[], Any]


def _make_fit(model: Any, table: Any, y: Any, more: dict[str, Any]) -> Call:
    """A fit; the longer one is of the rows several times."""
    import scipy.sparse as sp

    if "random_state" in model.get_params():  # every fit has as many polls
        model.set_params(random_state=0)

    long_table = sp.vstack([table] * REPEATS, format="csr") if sp.issparse(table) else np.tile(table, (REPEATS, 1))
    long_y = None if y is None else np.tile(y, (REPEATS, *[1] * (np.ndim(y) - 1)))
    long_more = {key: np.tile(value, REPEATS) for key, value in more.items()}
    if "qid" in more:  # queries stay together
        long_more["qid"] = np.arange(len(long_y)) // 20
    return Call(lambda: model.fit(table, y, **more), model, lambda: model.fit(long_table, long_y, **long_more))


def list_calls(only: str = "") -> Iterator[tuple[str, Call]]:
    """The calls that tests of interrupts list: fits, bins, predictions and explanations."""
    from tests.contract import test_interrupt as contract
    from tests.faults import test_more_interrupts as more
    from tests.inspection import test_inspection_interrupts as inspection

    made: dict[str, Callable[[], Call]] = {}
    rows, classes = contract.TABLE[:10_000], contract.CLASSES[:10_000]
    for name in contract.MODELS:
        made[f"fit: {name}"] = lambda name=name: _make_fit(contract.make_model(name), rows, classes, {})
    for name, (make, table, options, y) in more.MODELS.items():
        made[f"fit: {name}, more"] = lambda m=make, t=table, y=y, options=options: _make_fit(m(), t, y, options)
    for name, (work, _) in contract.list_binning(n_jobs=1).items():
        made[f"bins: {name}"] = lambda work=work: Call(work, None, work)
    for work in inspection.WORK:
        made[f"ask: {work.__name__}"] = lambda work=work: Call(work, inspection.forest(), work)
    for name, make_call in made.items():
        if only in name:
            call = make_call()
            call.work()  # what is made on first use is there, and a model to be kept is fitted
            yield name, call


def interrupt_calls(only: str = "") -> dict[str, int]:
    """SIGINT at polls of each call, from the first to the last."""
    from tests.interrupts import count_polls, interrupt_at_poll

    counts = {"calls": 0, "interrupts": 0, "as before": 0, "wrong": 0}
    for name, call in list_calls(only):
        n_polls = count_polls(call.work)
        before = _describe(call.kept)
        chosen = np.unique(np.linspace(1, n_polls, min(n_polls, MOST_POLLS)).astype(int)) if n_polls else []
        wrong = 0 if n_polls else 1
        for at in chosen:
            try:
                interrupt_at_poll(int(at), call.work)
                wrong += _describe(call.kept) != before
            except (Exception, pytest.fail.Exception) as error:
                print(f"{name}, poll {at} of {n_polls}: {error!r}", flush=True)
                wrong += 1
        counts["calls"] += 1
        counts["interrupts"] += len(chosen)
        counts["wrong"] += wrong
        counts["as before"] += len(chosen) - wrong
        print(f"{name}: {n_polls} polls, {len(chosen)} interrupts, {wrong} wrong", flush=True)
    return counts


def signal_calls(only: str = "") -> dict[str, int]:
    """Real signals in the longer calls, and how long they take to be heard."""
    counts = {"calls": 0, "signals": 0, "stopped": 0, "ended before": 0, "longest ms of the processor": 0}
    counts |= {"over a second": 0, "wrong": 0}
    for name, call in list_calls(only):
        started = time.process_time()
        call.longer()
        seconds = time.process_time() - started
        counts["calls"] += 1
        for moment in MOMENTS:
            before = _describe(call.kept)
            heard = _send_signal(call.longer, moment * seconds)
            counts["signals"] += 1
            if heard is None:
                counts["ended before"] += 1
                continue
            counts["stopped"] += 1
            counts["over a second"] += heard > SOON
            counts["wrong"] += _describe(call.kept) != before
            counts["longest ms of the processor"] = max(counts["longest ms of the processor"], round(1000 * heard))
        print(f"{name}: {seconds:.2f} s, {counts}", flush=True)
    return counts


def _describe(model: Any) -> dict[str, int] | None:
    """The attributes of a model, by their identity."""
    return None if model is None else {name: id(value) for name, value in vars(model).items()}


def _send_signal(work: Callable[[], Any], after: float) -> float | None:
    """Seconds of the processor from a signal to its handler; nothing if the work ended before it came."""
    times: dict[str, float] = {}
    ended = threading.Event()

    def hear(*_: Any) -> None:
        times["heard"] = time.process_time()
        if not ended.is_set():
            raise KeyboardInterrupt

    def send() -> None:
        until = time.process_time() + after
        while not ended.wait(LOOK):
            if time.process_time() >= until:
                times["sent"] = time.process_time()
                os.kill(os.getpid(), signal.SIGINT)
                return

    before = signal.signal(signal.SIGINT, hear)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        work()
    except KeyboardInterrupt:
        return times["heard"] - times["sent"]
    finally:
        ended.set()
        sender.join()
        signal.signal(signal.SIGINT, before)
    return None


def main() -> None:
    """Run what was named and show the counts."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.stops", description=__doc__)
    parser.add_argument("what", nargs="*", default=["saves", "interrupts"], help="saves, interrupts (both)")
    parser.add_argument("--only", default="", metavar="WORD", help="only models or calls with this word")
    parser.add_argument("--keep", action="store_true", help="write the counts into fuzz/faults.json")
    args = parser.parse_args()
    found: dict[str, dict[str, int]] = {}
    if "saves" in args.what:
        found |= {"kills": count_kills(args.only), "errors": count_errors(args.only)}
    if "interrupts" in args.what:
        found |= {"interrupts": interrupt_calls(args.only), "signals": signal_calls(args.only)}
    for kind, counts in found.items():
        print(f"{kind}: {counts}", flush=True)
        if args.keep:
            keep_counts(kind, counts)
    sys.exit(any(counts["wrong"] or counts.get("over a second") for counts in found.values()))


if __name__ == "__main__":
    main()
