"""Calls of the compiled module with changed arguments, under ASan and UBSan, guided by coverage.

`fuzz.recording` records what small sessions of the library pass to the compiled module. A case repeats a session with
some arguments changed (`fuzz.changes`). A case that takes a path none took before is kept, and changed further. Each
call must return, or raise an exception that says what is wrong; the sanitizers see any other access to memory.

Usage: python -m fuzz.guided border. A case that was found runs again by
`python -m fuzz.guided border --repeat '["tree", [[0, 1, 2]]]'`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz.results import write_counts
from fuzz.runner import ROOT
from fuzz.sanitized import FLAGS, find_compiler

__all__ = ["build_core", "run_border"]

#: Seconds of a case before it is interrupted, as a user would do; a number of rounds may ask for hours of work.
MOST_SECONDS, MOST_WAITING = 3.0, 60.0
MOST_CHANGES = 6
#: Rows of a sample: a draw looks for no interrupt, and estimators ask for no more than there are rows.
MOST_DRAWS = 2**24
#: What says that arguments are wrong.
REFUSALS = (ValueError, TypeError, IndexError, OverflowError, MemoryError, KeyError, BufferError)
Case = tuple[str, list[tuple[int, int, int]]]
CORPUS = ROOT / "fuzz" / "native" / "border.corpus"
MOST_KEPT = 400
#: Room of the note that says what a process runs; it is read when the process has crashed.
NOTE_BYTES = 4000
ASAN_OPTIONS = (
    "detect_leaks=0",
    "verify_asan_link_order=0",
    "allocator_may_return_null=1",
    "max_allocation_size_mb=2048",
)


# --- building ------------------------------------------------------------------------------------------------------


def build_core() -> tuple[Path, Path]:
    """The folder of a package whose core is instrumented, and the library that counts its paths."""
    folder, compiler = ROOT / "build" / "fuzz-core", find_compiler()
    if compiler is None:
        raise FileNotFoundError("A C++ compiler with sanitizers is needed.")
    settings = {
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "Python_EXECUTABLE": sys.executable,
        "SKBUILD_PROJECT_VERSION": "dev",
        "COMMITTEE_SANITIZE": "address,undefined",
        "COMMITTEE_COVERAGE": "ON",
        "CMAKE_CXX_COMPILER": compiler,
    }
    given = [f"-D{name}={value}" for name, value in settings.items()]
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *given], check=True, stdout=2)
    subprocess.run(["cmake", "--build", str(folder)], check=True, stdout=2)
    package = folder / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "committee", package / "committee", ignore=shutil.ignore_patterns("_core*.so"))
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    shutil.copy(folder / f"_core{suffix}", package / "committee")
    library = folder / "libcoverage.so"
    source = ROOT / "fuzz" / "native" / "coverage_library.cpp"
    subprocess.run([compiler, *FLAGS, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return package, library


def make_environment(package: Path, library: Path) -> dict[str, str]:
    """Variables of a process that runs cases: the library is loaded first, so that its operator new is taken."""
    compiler = find_compiler() or "c++"

    def find(name: str) -> str:
        return subprocess.run([compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout

    loaded = [str(library), *(find(name).strip() for name in ("libasan.so", "libubsan.so", "libstdc++.so.6"))]
    return os.environ | {
        "LD_PRELOAD": " ".join(loaded),
        "PYTHONPATH": os.pathsep.join([str(package), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": ":".join(ASAN_OPTIONS),
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


# --- cases ---------------------------------------------------------------------------------------------------------


def record_sessions() -> dict[str, list[Any]]:
    """The steps of every session."""
    from fuzz.recording import record
    from fuzz.sessions import SESSIONS

    warnings.simplefilter("ignore")
    recorded = {}
    for name, session in SESSIONS.items():
        with contextlib.suppress(Exception):  # a session of which a part fails has the steps up to there
            session()  # what is made at the first use is not recorded
        recorded[name] = record(session)
    return {name: steps for name, steps in recorded.items() if steps}


class Slow(Exception):
    """The time of a case is over."""


def run_case(steps: list[Any], changes: list[tuple[int, int, int]], counts: dict[str, int]) -> None:
    """Repeat the steps; an exception that is no refusal is raised."""
    from fuzz.changes import change_step
    from fuzz.recording import Reference, find_call, thaw

    results: dict[int, Any] = {}
    known: list[Reference] = []
    for number, step in enumerate(steps):
        for at, place, how in changes:
            if at % len(steps) == number:
                step = change_step(step, place, how, known)
        try:
            args, kwargs = thaw(step.args, results), thaw(step.kwargs, results)
            if any(getattr(getattr(one, "sampling", one), "n_draws", 0) > MOST_DRAWS for one in args):
                continue
            counts["calls"] += 1
            results[number] = find_call(step.name)(*args, **kwargs)
        except REFUSALS:
            counts["refused"] += 1
            continue
        kind = type(results[number]).__name__
        known.append(Reference(number, -1, kind))


class Coverage:
    """What the preloaded library counts."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None)
        self.base = _find_base()
        self.library.coverage_start.argtypes = [ctypes.c_size_t]
        for name in ("coverage_count_new", "coverage_count_pairs"):
            getattr(self.library, name).restype = ctypes.c_size_t

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        self.library.coverage_start(self.base)
        yield

    def count_new(self, by_class: bool = True) -> int:
        return int(self.library.coverage_count_new(int(by_class)))

    def count_pairs(self) -> int:
        return int(self.library.coverage_count_pairs())

    def forget(self) -> None:
        self.library.coverage_forget()


def _find_base() -> int:
    """Where the compiled module lies in memory."""
    from committee import _core

    name = Path(str(_core.__file__)).name
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return min(int(line.partition("-")[0], 16) for line in lines if line.endswith(name))


class Worker:
    """Runs cases in this process until the time is over."""

    def __init__(self, seed: int, note: Path) -> None:
        self.sessions = record_sessions()
        self.coverage = Coverage()
        self.draw = random.Random(seed)
        self.corpus: list[Case] = []
        self.counts = {"executions": 0, "calls": 0, "refused": 0, "stopped": 0}
        self.findings: list[str] = []
        self.note = os.open(note, os.O_RDWR | os.O_CREAT)
        signal.signal(signal.SIGALRM, self._stop)

    def _stop(self, *_: Any) -> None:
        raise Slow

    def run(self, case: Case, by_class: bool = True) -> int:
        """How many new features a case has."""
        self.counts["executions"] += 1
        note = json.dumps({"case": case, "counts": self.counts}).encode()
        os.pwrite(self.note, note.ljust(NOTE_BYTES), 0)
        faulthandler.dump_traceback_later(MOST_WAITING, exit=True)
        signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
        with self.coverage.measured():
            try:
                run_case(self.sessions[case[0]], case[1], self.counts)
            except Slow:
                self.counts["stopped"] += 1
            except Exception as error:  # anything else is a finding
                self.findings.append(f"{json.dumps(case)}: {type(error).__name__}: {str(error)[:300]}")
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
        return self.coverage.count_new(by_class)

    def change_case(self, case: Case) -> Case:
        name, changes = case[0], list(case[1])
        choice = self.draw.random()
        if changes and choice < 0.15:
            del changes[self.draw.randrange(len(changes))]
        elif changes and choice < 0.35:
            at = self.draw.randrange(len(changes))
            changes[at] = (*changes[at][:2], self.draw.randrange(1 << 30))
        if not changes or (choice >= 0.35 and len(changes) < MOST_CHANGES):
            step = self.draw.randrange(len(self.sessions[name]))
            changes.append((step, self.draw.randrange(1 << 16), self.draw.randrange(1 << 30)))
        return name, changes

    def work(self, cases: int, until: float, given: list[Case]) -> None:
        """Run the given cases, then changes of those that were worth keeping."""
        first: list[Case] = [(name, []) for name in self.sessions]
        for case in [*first, *(case for case in given if case[0] in self.sessions)]:
            if case[1] and time.time() > until:
                return
            if self.run(case) or not case[1]:
                self.corpus.append(case)
        while (not cases or self.counts["executions"] < cases) and time.time() < until:
            newest = self.corpus[-max(1, len(self.corpus) // 4) :]
            case = self.change_case(self.draw.choice(newest if self.draw.random() < 0.5 else self.corpus))
            if self.run(case):
                self.corpus.append(case)

    def find_shortest(self) -> list[Case]:
        """Of the corpus, the cases of fewest changes that reach all that was reached."""
        self.coverage.forget()
        ordered = sorted(self.corpus, key=lambda case: (len(case[1]), case))
        return [case for case in ordered if self.run(case, by_class=False) and case[1]]


def read_corpus() -> list[Case]:
    """The cases that are kept, a line of JSON each."""
    lines = CORPUS.read_text("ascii").splitlines() if CORPUS.exists() else []
    return [(name, [tuple(change) for change in changes]) for name, changes in map(json.loads, lines)]


def serve(seed: int, cases: int, until: float, grow: bool, note: Path, found: Path) -> None:
    """The process that runs cases; it writes its counts and, to grow the corpus, the cases worth keeping.

    The time is over at `until`, in seconds since the epoch: recording the sessions takes a part of it.
    """
    faulthandler.enable()
    worker = Worker(seed, note)
    worker.work(cases, until, read_corpus())
    counts = {**worker.counts, "new inputs": len(worker.corpus), "pairs of blocks": worker.coverage.count_pairs()}
    findings = list(worker.findings)
    shortest = worker.find_shortest() if grow else []
    found.write_text(json.dumps({"counts": counts, "findings": findings, "cases": shortest}), encoding="utf-8")


# --- processes -----------------------------------------------------------------------------------------------------


def read_note(note: Path) -> dict[str, Any]:
    """The last case of a process, and its counts up to there."""
    try:
        return dict(json.loads(note.read_bytes()))
    except (FileNotFoundError, json.JSONDecodeError):  # nothing was written, or it is being written
        return {"case": "before the first case", "counts": {}}


class Runs:
    """Processes that run cases, each after the end of another that crashed; their counts at any time."""

    def __init__(self, args: argparse.Namespace, env: dict[str, str], folder: Path) -> None:
        self.args, self.env, self.folder = args, env, folder
        self.until = time.time() + args.seconds if args.seconds else float("inf")
        self.done: list[dict[str, Any]] = []
        self.notes: set[Path] = set()

    def run(self, seed: int) -> None:
        """One process after another until the time is over."""
        n_crashes = 0
        while self._run_process(seed + 1000 * n_crashes):
            n_crashes += 1
            if self.until - time.time() < 5.0 or not self.args.seconds:
                return

    def _run_process(self, seed: int) -> bool:
        """Whether it crashed."""
        note, found = self.folder / f"{seed}.case", self.folder / f"{seed}.json"
        self.notes.add(note)
        numbers = [str(number) for number in (seed, self.args.cases, self.until, int(self.args.grow))]
        command = [sys.executable, "-m", "fuzz.border", *numbers, str(note), str(found)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self.env, cwd=ROOT)
        if done.returncode == 0:
            one = json.loads(found.read_text(encoding="utf-8")) | {"crashes": 0}
        else:
            last = read_note(note)
            print(json.dumps(last["case"]), done.stderr, sep="\n", flush=True)  # at once: the run may be cut
            one = {"counts": last["counts"], "findings": [], "cases": [], "crashes": 1}
        self.notes.discard(note)
        self.done.append(one)
        for finding in one["findings"][:20]:
            print(finding, flush=True)
        return done.returncode != 0

    def count(self) -> dict[str, int]:
        """The counts of all processes, of those that still run up to their last case."""
        counts = [*(one["counts"] for one in self.done), *(read_note(note)["counts"] for note in set(self.notes))]
        keys = ("executions", "calls", "refused", "stopped", "new inputs")
        summed = {key: sum(one.get(key, 0) for one in counts) for key in keys}
        summed["crashes"] = sum(one["crashes"] for one in self.done)
        summed["findings"] = sum(len(one["findings"]) for one in self.done)
        return {**summed, "pairs of blocks": max((one.get("pairs of blocks", 0) for one in counts), default=0)}


def run_border(args: argparse.Namespace) -> dict[str, Any]:
    """Run cases in as many processes as asked for; counts of all of them."""
    from concurrent.futures import ThreadPoolExecutor, wait

    package, library = build_core()
    env = make_environment(package, library)
    with tempfile.TemporaryDirectory(prefix="border-") as name, ThreadPoolExecutor(args.jobs) as threads:
        runs = Runs(args, env, Path(name))
        left = {threads.submit(runs.run, seed) for seed in range(args.seed, args.seed + args.jobs)}
        while left:
            ended, left = wait(left, timeout=5.0)
            for one in ended:
                one.result()
            if args.output:
                write_counts(args.output, "guided border", runs.count())  # a run that is cut leaves these
    if args.grow:
        kept = {json.dumps(case): len(case[1]) for one in runs.done for case in one["cases"]}
        lines = sorted(kept, key=lambda text: (kept[text], text))[:MOST_KEPT]
        CORPUS.write_text("\n".join(lines) + "\n", "ascii")
    return runs.count()


def repeat(text: str) -> None:
    """Run one case in a process of its own and show what each step returns or raises."""
    package, library = build_core()
    command = [sys.executable, "-m", "fuzz.border", "--repeat", text]
    sys.exit(subprocess.run(command, check=False, env=make_environment(package, library), cwd=ROOT).returncode)


def _show_case(text: str) -> None:
    from fuzz.changes import change_step

    faulthandler.enable()
    (name, changes), counts = json.loads(text), {"calls": 0, "refused": 0}
    steps = record_sessions()[name]
    for at, place, how in changes:
        print(at % len(steps), change_step(steps[at % len(steps)], place, how, []), flush=True)
    run_case(steps, changes, counts)
    print(counts)


if __name__ == "__main__":
    if sys.argv[1] == "--repeat":
        _show_case(sys.argv[2])
    else:
        seed, cases, until, grow = sys.argv[1:5]
        serve(int(seed), int(cases), float(until), bool(int(grow)), Path(sys.argv[5]), Path(sys.argv[6]))
