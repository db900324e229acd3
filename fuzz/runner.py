"""Runs cases in processes of their own, so that a crash or a hang is seen and reported by its seed and number."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fuzz.draws import show_short

__all__ = ["Runner", "read_below"]

ROOT = Path(__file__).resolve().parents[1]
#: Seconds of a case: of the processor, so that a busy machine makes no findings, and of the clock where it only waits.
MOST_BUSY, MOST_WAITING = 10.0, 90.0
#: Seconds of the processor of all processes that cases have started and that are there; a case that waits for them does
#: not only wait.
MOST_BELOW = 60.0
#: Seconds between two looks at a case that runs.
LOOK = 1.0
#: Cases of a process before a new one takes its place: what one case leaves behind reaches few others.
MOST_CASES = 20_000


class Runner:
    """A worker process, started again where a case ends it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the runner
        self._rest = b""
        self._busy = 0.0
        self._n_cases = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self.errors.close()

    def close(self) -> None:
        """End the worker."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
            self.process = None

    def run(self, seed: int, number: int) -> dict[str, Any]:
        """What came of a case; crashes and hangs are findings."""
        return next(self.run_all(seed, [number]))

    def run_all(self, seed: int, numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
        """What came of each case; after a crash or a hang the rest are run by another process."""
        left = list(numbers)
        while left:
            if self._n_cases + len(left) > MOST_CASES:
                self.close()
            process = self._start()
            self._n_cases += len(left)
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # a worker that is gone says nothing more
                process.stdin.write(json.dumps([seed, left]).encode() + b"\n")
                process.stdin.flush()
            while left and self.process is not None:
                found = self._read_answer(process, seed, left[0])
                del left[0]
                yield found

    def _read_answer(self, process: subprocess.Popen[bytes], seed: int, number: int) -> dict[str, Any]:
        started = time.monotonic()
        line = self._read_line(process, started)
        if line is None:
            busy = _read_busy(process.pid) - self._busy
            self.close()
            return _report(
                seed, number, "hang", f"{busy:.0f} s of the processor, {time.monotonic() - started:.0f} s in all"
            )
        if not line:
            code = process.wait()
            self.close()
            return _report(seed, number, "crash", f"exit code {code}: {self._read_errors()}")
        done, kind, name, result, self._busy, detail, notes = json.loads(line)
        if done != number:
            raise RuntimeError(f"The worker ran case {done} instead of {number}.")
        return _describe(seed, number, kind, name, result, detail, notes)

    def _read_line(self, process: subprocess.Popen[bytes], started: float = float("inf")) -> bytes | None:
        """A line of the worker; nothing where it has ended, None where a case that was started takes too long."""
        assert process.stdout is not None
        worked, before = started, None
        while b"\n" not in self._rest:
            while not select.select([process.stdout], [], [], LOOK)[0]:
                if started == float("inf"):
                    continue
                busy, below = _read_busy(process.pid) - self._busy, read_below(process.pid)
                if before is None or below > before:
                    worked, before = time.monotonic(), below
                if busy > MOST_BUSY or below > MOST_BELOW or time.monotonic() - worked > MOST_WAITING:
                    return None
            more = os.read(process.stdout.fileno(), 1 << 16)
            if not more:
                return b""
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _read_errors(self) -> str:
        self.errors.seek(0)
        return show_short(self.errors.read()[-3000:])

    def _start(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            import committee

            self.errors.seek(0)
            self.errors.truncate()
            few = {
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
                "POLARS_MAX_THREADS": "1",
                "MALLOC_ARENA_MAX": "2",
            }
            path = os.pathsep.join([str(Path(committee.__file__).parents[1]), str(ROOT)])
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                cwd=ROOT,
                env=os.environ | few | {"PYTHONPATH": path},
            )
            self._rest, self._busy, self._n_cases = b"", 0.0, 0
            ready = self._read_line(self.process)
            if not ready:
                raise RuntimeError(f"The worker did not start: {self._read_errors()}")
            self._busy = json.loads(ready)
        return self.process


def _report(seed: int, number: int, result: str, detail: str) -> dict[str, Any]:
    """What came of a case that could not say so itself."""
    from fuzz.cases import label_case

    return _describe(seed, number, *label_case(seed, number)[1:], result, detail, ["see --repeat"])


def _describe(
    seed: int, number: int, kind: str, name: str, result: str, detail: str, notes: list[str]
) -> dict[str, Any]:
    return {
        "case": f"{seed}:{number}",
        "kind": kind,
        "estimator": name,
        "result": result,
        "detail": detail,
        "notes": notes,
    }


def read_below(pid: int) -> float:
    """Seconds of the processor that the processes have used which a process started, and theirs."""
    found = 0.0
    for place in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            found += sum(_read_busy(int(child)) + read_below(int(child)) for child in place.read_text().split())
    return found


def _read_busy(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
