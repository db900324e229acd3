"""The work behind ``committee bench``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from committee.cli.bench.machine import QUIET, list_cores
from committee.cli.bench.suite import QUICK, Sizes, measure_cases, show_bench_report, write_bench_report
from committee.cli.errors import USAGE, CommandError
from committee.cli.progress import watch_fits
from committee.cli.show import make_console

if TYPE_CHECKING:
    from committee.ensembles.progress import ProgressCallback

__all__ = ["run_benchmark"]


def run_benchmark(
    words: Sequence[str], quick: bool, rows: int, threads: int | None, output: str | None, as_json: bool
) -> None:
    """Run the benchmark, and print or write the results.

    Parameters
    ----------
    words : sequence of str
        Words in the names of the cases; empty for all cases.
    quick : bool
        Whether to use tiny data.
    rows : int
        Number of training rows.
    threads : int or None
        Threads of every library; None for all cores.
    output : str or None
        Folder for the files.
    as_json : bool
        Whether to print JSON.
    """
    folder = None if output is None else Path(output)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise CommandError(f"'{output}' is a file, not a folder.", "Name a folder with -o.", USAGE)
    sizes = QUICK if quick else replace(Sizes(), n_rows=rows)
    with watch_fits("measuring", None) as display:
        on_progress: ProgressCallback | None = None

        def on_job_end(done: int, total: int, contender: str) -> None:
            nonlocal on_progress
            on_progress = on_progress or display.open("measuring", total)
            on_progress(done, contender)

        report = measure_cases(words, sizes, threads or len(list_cores()), quick, on_job_end)
    written = [] if folder is None else write_bench_report(report, folder)
    if as_json:
        sys.stdout.write(json.dumps(report.tabulate(), indent=2, ensure_ascii=False) + "\n")
        return
    console = make_console()
    show_bench_report(console, report)
    if report.load > QUIET:
        console.print(
            f"\n[yellow]Note:[/] other processes used {report.load:.0%} of the machine: times are not reliable."
        )
    for path in written:
        console.print(f"Written: [bold]{escape(str(path))}[/]", soft_wrap=True)
