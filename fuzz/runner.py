"""Runs cases in a process of their own, so that a crash or a hang is seen and told by its seed and number."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fuzz.draws import show_short

__all__ = ["Runner"]

ROOT = Path(__file__).resolve().parents[1]
#: Seconds of a case: of the processor, so that a busy machine makes no findings, and of the clock where it only waits.
MOST_BUSY, MOST_WAITING = 10.0, 90.0
#: Seconds between two looks at a case that runs.
LOOK = 1.0


class Runner:
    """A worker process, started again where a case ends it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the runner

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
        process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        before = _read_busy(process.pid)
        started = time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # a worker that is gone says nothing more
            process.stdin.write(json.dumps([seed, number]) + "\n")
            process.stdin.flush()
        while not select.select([process.stdout], [], [], LOOK)[0]:
            busy = _read_busy(process.pid) - before
            if busy > MOST_BUSY or time.monotonic() - started > MOST_WAITING:
                self.close()
                return self._report(
                    seed, number, "hang", f"{busy:.0f} s of the processor, {time.monotonic() - started:.0f} s in all"
                )
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self.close()
            return self._report(seed, number, "crash", f"exit code {code}: {self._read_errors()}")
        result, detail, notes = json.loads(line)
        return self._report(seed, number, result, detail, notes)

    def _report(
        self, seed: int, number: int, result: str, detail: str, notes: list[str] | None = None
    ) -> dict[str, Any]:
        from fuzz.cases import label_case

        if notes is None:
            notes = ["see --repeat"]
        _, kind, name = label_case(seed, number)
        return {
            "case": f"{seed}:{number}",
            "kind": kind,
            "estimator": name,
            "result": result,
            "detail": detail,
            "notes": notes,
        }

    def _read_errors(self) -> str:
        self.errors.seek(0)
        return show_short(self.errors.read()[-3000:])

    def _start(self) -> subprocess.Popen[str]:
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
                text=True,
                cwd=ROOT,
                env=os.environ | few | {"PYTHONPATH": path},
            )
            assert self.process.stdout is not None
            ready = self.process.stdout.readline()
            if ready != "ready\n":
                raise RuntimeError(f"The worker did not start: {self._read_errors()}")
        return self.process


def _read_busy(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
