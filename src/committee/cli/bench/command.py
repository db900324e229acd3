"""The work behind ``committee bench``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.markup import escape

from committee.cli.bench.machine import QUIET, list_cores
from committee.cli.bench.suite import QUICK, Sizes, measure_cases, show_report, write_report
from committee.cli.errors import USAGE, CommandError
from committee.cli.progress import watch_fits
from committee.cli.show import make_console

__all__ = ["measure"]


def measure(
    words: Sequence[str], quick: bool, rows: int, threads: int | None, output: str | None, as_json: bool
) -> None:
    """Measure, show and write.

    Parameters
    ----------
    words : sequence of str
        Parts of the names of the cases; empty for all.
    quick : bool
        Tiny data.
    rows : int
        To learn from.
    threads : int or None
        For every library; None for all cores.
    output : str or None
        Folder for the files.
    as_json : bool
        Whether programs read what is printed.
    """
    folder = None if output is None else Path(output)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise CommandError(f"'{output}' is a file, not a folder.", "Name a folder with -o.", USAGE)
    sizes = QUICK if quick else replace(Sizes(), n_rows=rows)
    with watch_fits("measuring", None) as display:
        tell: Any = None

        def advance(done: int, total: int, who: str) -> None:
            nonlocal tell
            tell = tell or display.open("measuring", total)
            tell(done, who)

        report = measure_cases(words, sizes, threads or len(list_cores()), quick, advance)
    written = [] if folder is None else write_report(report, folder)
    if as_json:
        sys.stdout.write(json.dumps(report.tabulate(), indent=2, ensure_ascii=False) + "\n")
        return
    console = make_console()
    show_report(console, report)
    if report.load > QUIET:
        console.print(
            f"\n[yellow]Note:[/] others used {report.load:.0%} of the machine before the start: times may mean little."
        )
    for path in written:
        console.print(f"Written: [bold]{escape(str(path))}[/]", soft_wrap=True)
