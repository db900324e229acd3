"""Where the threads of a fit wait: `python -m benchmarks.timeline`.

Every call of the core's loop over tasks is timed, by its place in the source, in a fit with one thread and in one with
all of them: gradient boosting of 1,000,000 rows and 28 columns with 31 and with 255 leaves. "CPU" is the time in tasks,
all threads together. It is larger with many threads where cores share execution units or wait for memory, which no
division of the work can change; what remains of "wall" is spent waiting. The page is written to
``results/timeline_<processor>.md``.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import data
from benchmarks.machine import list_cores, measure_cores, measure_load, name_processor, show_machine
from benchmarks.report import OURS, RESULTS
from benchmarks.scaling_jobs import Work
from committee._core import testing

NOTE = """Times are in milliseconds. "before": one thread's work since the call before; "starting": until the other
threads have the call; "waiting": since the caller found no more tasks; "CPU": in tasks, all threads together, and how
many times that of one thread; "use": CPU as a share of what the threads had."""
LEAVES, ROUNDS, WARM_UPS = (31, 255), 10, 4
HEAD = ("function", "calls", "tasks", "before", "wall", "starting", "waiting", "CPU", "of one thread", "use")
Places = list[dict[str, Any]]


def trace_fit(work: Work, found: data.Problem, threads: int) -> tuple[float, Places]:
    """Seconds of a fit without the trace, the best of some, and the costs of one with it."""
    best = float("inf")
    for _ in range(WARM_UPS):
        model = work.make_model(OURS, threads)
        start = time.perf_counter()
        model.fit(found.X, found.y)
        best = min(best, time.perf_counter() - start)
    model = work.make_model(OURS, threads)
    testing.start_call_trace()
    try:
        model.fit(found.X, found.y)
    finally:
        places = testing.end_call_trace()
    return best, places


def show_places(places: Places, alone: Places, threads: int) -> str:
    """A row for every place, the longest first, and their sum."""
    busy_alone = {(place["function"], place["line"]): place["busy"] for place in alone}
    rows = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    names = ("before", "wall", "starting", "waiting", "busy")
    for place in sorted(places, key=lambda place: -place["wall"] - place["before"]):
        busy = busy_alone.get((place["function"], place["line"]))
        times = [f"{place[name] * 1e3:.2f}" for name in names]
        use = place["busy"] / (place["wall"] * threads) if place["wall"] > 0 else 1.0
        gain = f"{place['busy'] / busy:.2f} x" if busy else ""
        counts = [str(place["calls"]), str(place["tasks"])]
        name = place["function"].split("<")[0]  # without what a template was made for
        rows.append("| " + " | ".join([name, *counts, *times, gain, f"{use:.0%}"]) + " |")
    sums = {name: sum(place[name] for place in places) for name in names}
    of_one = sum(place["wall"] + place["before"] for place in alone)
    total = [f"{sums[name] * 1e3:.2f}" for name in names]
    use = sums["busy"] / ((sums["wall"] + sums["before"]) * threads)
    rows.append("| " + " | ".join(["all", "", "", *total, f"{sums['busy'] / of_one:.2f} x", f"{use:.0%}"]) + " |")
    return "\n".join(rows)


def write_page(n_rows: int, threads: int, path: Path) -> None:
    """Trace the fits and write the page."""
    remark = f"Measured on {datetime.now(UTC):%Y-%m-%d}; others used {measure_load():.0%} of the machine."
    parts = [
        f"# Where threads wait, {name_processor()}",
        f"{show_machine()}.",
        f"{remark} {measure_cores((1, threads))}",
    ]
    parts.append(NOTE)
    found = data.make_problem("binary", n_rows, 1_000)
    for leaves in LEAVES:
        work = Work("boosting", n_rows, ROUNDS, leaves)
        alone_seconds, alone = trace_fit(work, found, 1)
        seconds, places = trace_fit(work, found, threads)
        parts.append(f"## {work.title}, {threads} threads")
        parts.append(
            f"Without the trace {seconds * 1e3:.1f} ms, by one thread {alone_seconds * 1e3:.1f} ms: "
            f"{alone_seconds / seconds:.1f} x."
        )
        parts.append(show_places(places, alone, threads))
        print("\n\n".join(parts[-3:]), flush=True)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table")
    parser.add_argument("--threads", type=int, default=len(list_cores()), help="threads beside one")
    options = parser.parse_args()
    path = RESULTS / f"timeline_{name_processor()}.md"
    write_page(options.rows, options.threads, path)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
