"""Many cases on all processors: blocks of numbers, a process for each processor, and counts that can be added up."""

from __future__ import annotations

import collections
import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import committee
from fuzz.cases import BAD, label_case
from fuzz.runner import Runner

__all__ = ["Run"]

#: Cases that a process gets at once.
BLOCK = 100
#: Seconds after which the counts so far are written again.
BETWEEN = 20.0
#: Findings of one kind that are kept in full; more of them say no more.
MOST_ALIKE = 12


class Run:
    """A run of the fuzzer.

    Parameters
    ----------
    seed, first, n_cases : int
        Which cases.
    only : str, default=""
        A word that kind or estimator of a case must have.
    seconds : float, default=0
        Time after which no block is begun and blocks are left; 0: none.
    n_jobs : int, default=0
        Processes; 0: as many as there are processors.
    place : path or None, default=None
        File that the counts are written to while the run goes on.
    """

    def __init__(
        self,
        seed: int,
        first: int,
        n_cases: int,
        *,
        only: str = "",
        seconds: float = 0.0,
        n_jobs: int = 0,
        place: Path | None = None,
    ) -> None:
        self.seed, self.first, self.last, self.only, self.place = seed, first, first + n_cases, only.lower(), place
        self.n_jobs = n_jobs or len(os.sched_getaffinity(0))
        self.kinds: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.estimators: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.findings: list[dict[str, Any]] = []
        self.n_alike: collections.Counter[tuple[str, str, str]] = collections.Counter()
        self.failures: list[str] = []
        self._started = time.monotonic()
        self._end = self._started + seconds if seconds else float("inf")
        self._written = self._started
        self._lock = threading.Lock()
        self._blocks = self._make_blocks()

    def work(self) -> dict[str, Any]:
        """Run all cases and give the counts."""
        threads = [threading.Thread(target=self._work_off, daemon=True) for _ in range(self.n_jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._write()
        return self.describe()

    def describe(self) -> dict[str, Any]:
        """The counts so far, as they are kept."""
        return {
            "seed": self.seed,
            "first": self.first,
            "cases": sum(n for counts in self.kinds.values() for n in counts.values()),
            "seconds": round(time.monotonic() - self._started),
            "processes": self.n_jobs,
            "machine": f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}",
            "version": committee.__version__,
            "kinds": {kind: dict(sorted(counts.items())) for kind, counts in sorted(self.kinds.items())},
            "estimators": {name: dict(sorted(counts.items())) for name, counts in sorted(self.estimators.items())},
            "found": [one["case"] for one in self.findings],
        }

    def _make_blocks(self) -> Iterator[list[int]]:
        for start in range(self.first, self.last, BLOCK):
            numbers = range(start, min(start + BLOCK, self.last))
            chosen = [number for number in numbers if self._is_wanted(number)]
            if chosen:
                yield chosen

    def _is_wanted(self, number: int) -> bool:
        return not self.only or self.only in " ".join(label_case(self.seed, number)[1:]).lower()

    def _work_off(self) -> None:
        try:
            with Runner() as runner:
                while (numbers := self._take()) is not None:
                    for found in runner.run_all(self.seed, numbers):
                        self._count(found)
                        if time.monotonic() > self._end:
                            return
        except Exception as error:  # the other processes go on, and the run says that one did not
            with self._lock:
                self.failures.append(repr(error))
                print(f"A process of the fuzzer failed: {error!r}", flush=True)

    def _take(self) -> list[int] | None:
        with self._lock:
            return None if time.monotonic() > self._end else next(self._blocks, None)

    def _count(self, found: dict[str, Any]) -> None:
        with self._lock:
            self.kinds[found["kind"]][found["result"]] += 1
            self.estimators[found["estimator"]][found["result"]] += 1
            if found["result"] in BAD:
                self._keep(found)
            if time.monotonic() - self._written > BETWEEN:
                self._write()

    def _keep(self, found: dict[str, Any]) -> None:
        lines = found["detail"].splitlines() or [""]
        alike = found["result"], lines[0][:60], lines[-1][-60:]
        self.n_alike[alike] += 1
        if self.n_alike[alike] <= MOST_ALIKE:
            self.findings.append(found)
            print(json.dumps(found), flush=True)

    def _write(self) -> None:
        self._written = time.monotonic()
        if self.place is not None:
            text = json.dumps(self.describe() | {"findings": self.findings, "failures": self.failures}, indent=1)
            self.place.write_text(text + "\n", encoding="utf-8")
