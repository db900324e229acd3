"""Saves of a model in which something happens at one step: what the tests and `python -m fuzz.stops` share."""

from __future__ import annotations

import builtins
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import committee
from committee.io import container


class Steps:
    """Calls to the system that a save makes; at one of them something happens instead."""

    def __init__(self, at: int, fault: Callable[[], Any]) -> None:
        self.at, self.fault, self.n = at, fault, 0

    def count(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **given: Any) -> Any:
            self.n += 1
            if self.n == self.at:
                self.fault()
            return call(*args, **given)

        return counted

    def install(self, patch: pytest.MonkeyPatch) -> None:
        def open_file(*args: Any, **given: Any) -> Any:
            file = builtins.open(*args, **{**given, "buffering": 0})  # noqa: SIM115
            file_write = self.count(file.write)

            class Written:
                """The file with a write that is counted."""

                def __enter__(self) -> Written:
                    return self

                def __exit__(self, *_: object) -> None:
                    file.close()

                def __getattr__(self, name: str) -> Any:
                    return file_write if name == "write" else getattr(file, name)

            return Written()

        patch.setattr(container, "open", open_file, raising=False)
        for name in ("open", "fsync", "replace"):
            patch.setattr(container.os, name, self.count(getattr(os, name)))


def count_steps(model: Any, folder: Path) -> int:
    """How many steps the save of a model has."""
    steps = Steps(0, lambda: None)
    with pytest.MonkeyPatch.context() as patch:
        steps.install(patch)
        committee.save(model, folder / "counted")
    return steps.n


def save_with(model: Any, place: Path, at: int, fault: Callable[[], Any]) -> None:
    """Save a model; at one step there is the fault."""
    with pytest.MonkeyPatch.context() as patch:
        Steps(at, fault).install(patch)
        committee.save(model, place)


def run_child(work: Callable[[], Any]) -> int:
    """The code that a fork ends with after the work; minus the number of a signal."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except OSError:
            os._exit(3)
        except BaseException:
            os._exit(4)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_while_saving(model: Any, place: Path, at: int) -> int:
    """What a process ends with that is killed at a step of its save."""
    return run_child(lambda: save_with(model, place, at, lambda: os.kill(os.getpid(), signal.SIGKILL)))


def save_within(model: Any, place: Path, n_bytes: int) -> int:
    """What a process ends with whose files may have so many bytes; 3: an OSError."""

    def save() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        committee.save(model, place)

    return run_child(save)


def list_drafts(place: Path) -> list[Path]:
    """Files that a save which did not end has left beside its place."""
    return list(place.parent.glob(".*.tmp"))
