"""Run ``committee reproduce``: choose the results, reproduce them, and print or write them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.markup import escape

from committee.cli.output import show_size
from committee.cli.reproduce import EXPERIMENTS, choose_rows, reproduce_rows
from committee.cli.reproduce.output import show_result_table, write_result_json, write_results_page
from committee.cli.reproduce.results import ReproductionSettings, Result
from committee.cli.show import make_console

__all__ = ["reproduce_results"]


def reproduce_results(
    names: Sequence[str], n_seeds: int, jobs: int | None, page: Path | None, *, as_json: bool
) -> bool:
    """Reproduce results, and print them.

    Parameters
    ----------
    names : sequence of str
        Names of the results, or ``"all"``.
    n_seeds : int
        Number of seeds.
    jobs : int or None
        Number of threads.
    page : pathlib.Path or None
        HTML file for tables and figures.
    as_json : bool
        Whether JSON is printed instead of a table.

    Returns
    -------
    bool
        Whether no check failed.
    """
    keys, settings = choose_rows(names), ReproductionSettings(n_seeds, jobs)
    results = _run_experiments(keys, settings)
    n_bytes = 0 if page is None else write_results_page(results, settings, page)
    if as_json:
        typer.echo(write_result_json(results))
    else:
        console = make_console()
        show_result_table(console, results)
        if page is not None:
            console.print(f"Page written to [bold]{escape(str(page))}[/] ({show_size(n_bytes)})", soft_wrap=True)
    return all(result.status != "FAIL" for result in results)


def _run_experiments(keys: Sequence[str], settings: ReproductionSettings) -> list[Result]:
    """All results; the running one is shown on the error stream if that is a terminal."""
    results: list[Result] = []
    found = reproduce_rows(keys, settings)
    if not sys.stderr.isatty():
        return list(found)
    with make_console(stderr=True).status("") as status:
        for number, key in enumerate(keys, start=1):
            status.update(f"{key}, {number} of {len(keys)}: {EXPERIMENTS[key][0]}")
            results.append(next(found))
    return results
