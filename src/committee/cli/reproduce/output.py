"""Reproduced results as a table for a terminal, as JSON, and as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape as escape_markup

import committee
from committee.cli.report.markup import Section, escape, make_table
from committee.cli.report.page import render_page, write_page
from committee.cli.reproduce.results import Result, Setting
from committee.cli.show import make_table as make_rich_table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["show_results", "write_results", "write_results_page"]

# Of the columns in a terminal: 80 together with the space between them. Words go on in the next line.
_WIDTHS = (3, 28, 12, 17, 7)
_STYLES = {"pass": "green", "FAIL": "bold red", "skipped": "yellow"}


def show_results(console: Console, results: Sequence[Result]) -> None:
    """Print a line for each figure.

    Parameters
    ----------
    console : rich.console.Console
        Where to.
    results : sequence of Result
        What was found.
    """
    table = make_rich_table("row", "result", ">published", ">ours", "")
    for column, width in zip(table.columns, _WIDTHS, strict=True):
        column.no_wrap, column.overflow, column.max_width = False, "fold", width
    for result in results:
        if result.skipped:
            table.add_row(result.key, escape_markup(result.title), "", "", "[yellow]skipped[/]")
        for k, line in enumerate(result.lines):
            verdict = "pass" if line.passed else "FAIL"
            cells = (result.key if k == 0 else "", line.what, line.published, line.ours)
            table.add_row(*map(escape_markup, cells), f"[{_STYLES[verdict]}]{verdict}[/]")
    console.print(table)
    for result in results:
        if result.skipped:
            console.print(f"[yellow]{result.key} skipped:[/] {escape_markup(result.skipped)}.")
    for result in results:
        for line in result.lines:
            if not line.passed:
                console.print(
                    f"[bold red]{result.key} failed:[/] {escape_markup(line.what)}: {escape_markup(line.criterion)}."
                )
    console.print(f"\n{_count(results)} ± is the spread over seeds.")


def _count(results: Sequence[Result]) -> str:
    verdicts = [result.verdict for result in results]
    seconds = sum(result.seconds for result in results)
    counts = [f"{verdicts.count('pass')} reproduced", f"{verdicts.count('FAIL')} failed"]
    return ", ".join([*counts, f"{verdicts.count('skipped')} skipped"]) + f" ({seconds:.0f} s)."


def write_results(results: Sequence[Result]) -> str:
    """The same facts as one JSON document.

    Parameters
    ----------
    results : sequence of Result
        What was found.

    Returns
    -------
    str
        JSON.
    """
    told = []
    for result in results:
        facts = {key: value for key, value in asdict(result).items() if key != "figures"}
        told.append({**facts, "verdict": result.verdict})
    return json.dumps({"version": committee.__version__, "results": told}, indent=2, ensure_ascii=False)


def write_results_page(results: Sequence[Result], setting: Setting, path: Path) -> int:
    """All of it with pictures, as a page that stands alone.

    Parameters
    ----------
    results : sequence of Result
        What was found.
    setting : Setting
        How.
    path : pathlib.Path
        Where to.

    Returns
    -------
    int
        Bytes of the file.
    """
    rows = [
        [f'<a href="#{one.key}">{one.key}</a>', escape(one.title), _mark(one.verdict), f"{one.seconds:.1f}"]
        for one in results
    ]
    lead = (
        f"<p>Published results on ensembles, done again with {setting.n_seeds} seeds. {escape(_count(results))} Random "
        "numbers are the library's own, so that published figures are compared with the spread over seeds; what counts "
        "as reproduced is written beside each line. ± is the standard deviation over seeds.</p>"
    )
    overview = Section(
        "overview", "Overview", make_table(["row", "result", "verdict", ">seconds"], rows, "All results")
    )
    sections = [overview, *(_describe(result) for result in results)]
    page = render_page("The textbook, reproduced", lead, sections, f"Written by committee {committee.__version__}.")
    return write_page(page, path)


def _describe(result: Result) -> Section:
    title = f"{result.key}: {result.title}"
    if result.skipped:
        return Section(result.key, title, f'<p class="absent">Skipped: {escape(result.skipped)}.</p>')
    rows = [
        [
            escape(one.what),
            escape(one.published),
            escape(one.ours),
            _mark("pass" if one.passed else "FAIL"),
            escape(one.criterion),
        ]
        for one in result.lines
    ]
    table = make_table(["", ">published", ">ours", "verdict", "criterion"], rows, title)
    figures = f'<div class="figures">{"".join(result.figures)}</div>' if result.figures else ""
    return Section(result.key, title, f"<p>{escape(result.setup)}</p>{table}{figures}")


def _mark(verdict: str) -> str:
    kind = {"pass": "good", "FAIL": "bad"}.get(verdict, "absent")
    return f'<span class="{kind}">{verdict}</span>'
