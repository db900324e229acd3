"""What ``committee reproduce`` does, from the names of rows to a verdict."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.markup import escape

from committee.cli.output import show_size
from committee.cli.reproduce import EXPERIMENTS, choose_rows, reproduce_rows
from committee.cli.reproduce.output import show_results, write_results, write_results_page
from committee.cli.reproduce.results import Result, Setting
from committee.cli.show import make_console

__all__ = ["reproduce_results"]


def reproduce_results(
    names: Sequence[str], n_seeds: int, jobs: int | None, page: Path | None, *, as_json: bool
) -> bool:
    """Do experiments, and tell what came of them.

    Parameters
    ----------
    names : sequence of str
        Of the rows, or ``"all"``.
    n_seeds : int
        Repetitions.
    jobs : int or None
        Threads.
    page : pathlib.Path or None
        Where tables and pictures go.
    as_json : bool
        Whether JSON is printed instead of a table.

    Returns
    -------
    bool
        Whether no row failed.
    """
    keys, setting = choose_rows(names), Setting(n_seeds, jobs)
    results = _work(keys, setting)
    n_bytes = 0 if page is None else write_results_page(results, setting, page)
    if as_json:
        typer.echo(write_results(results))
    else:
        console = make_console()
        show_results(console, results)
        if page is not None:
            console.print(f"Page written to [bold]{escape(str(page))}[/] ({show_size(n_bytes)})", soft_wrap=True)
    return all(result.verdict != "FAIL" for result in results)


def _work(keys: Sequence[str], setting: Setting) -> list[Result]:
    """All results; who watches the error stream sees which one is being worked on."""
    results: list[Result] = []
    found = reproduce_rows(keys, setting)
    if not sys.stderr.isatty():
        return list(found)
    with make_console(stderr=True).status("") as status:
        for number, key in enumerate(keys, start=1):
            status.update(f"{key}, {number} of {len(keys)}: {EXPERIMENTS[key][0]}")
            results.append(next(found))
    return results
