"""Reproduced results as a text table, as JSON, and as an HTML page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape as escape_markup

import committee
from committee.cli.report.markup import Section, escape, make_html_table
from committee.cli.report.page import render_page, write_page
from committee.cli.reproduce.results import AGREES, ReproductionSettings, Result
from committee.cli.show import make_text_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["show_result_table", "write_result_json", "write_results_page"]

# Column widths of the text tables, 80 together with the space between them; longer text is wrapped.
_WIDTHS = (3, 28, 12, 17, 7)
_PEER_WIDTHS = (3, 23, 9, 13, 13, 4)
_STYLES = {"pass": "green", "FAIL": "bold red", "skipped": "yellow"}


def show_result_table(console: Console, results: Sequence[Result]) -> None:
    """Print a line for each check.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    results : sequence of Result
        The results.
    """
    compared: list[tuple[str, ...]] = []
    others: list[tuple[str, ...]] = []
    for result in results:
        if result.skipped:
            others.append((result.key, escape_markup(result.title), "", "", "[yellow]skipped[/]"))
        for line in result.lines:
            status = "pass" if line.passed else "FAIL"
            numbers = [line.published, *filter(None, [line.scikit_learn]), line.ours]
            cells = [result.key, *map(escape_markup, (line.what, *numbers)), f"[{_STYLES[status]}]{status}[/]"]
            (compared if line.scikit_learn else others).append(tuple(cells))
    if compared:
        console.print("Published figures of one run, beside scikit-learn and this library over seeds")
        headings = ("row", "result", ">published", ">scikit-learn", ">ours", "")
        console.print(_make_result_table(headings, _PEER_WIDTHS, compared))
    if others:
        console.print("\nOther results" if compared else "Results")
        console.print(_make_result_table(("row", "result", ">published", ">ours", ""), _WIDTHS, others))
    for result in results:
        if result.skipped:
            console.print(f"[yellow]{result.key} skipped:[/] {escape_markup(result.skipped)}.")
    for result in results:
        for line in result.lines:
            if not line.passed:
                console.print(
                    f"[bold red]{result.key} failed:[/] {escape_markup(line.what)}: {escape_markup(line.criterion)}."
                )
    console.print(f"\n{_count_statuses(results)} ± is the standard deviation over seeds.")
    if compared:
        console.print(f"Check of the first table: {AGREES}.")


def _make_result_table(headings: Sequence[str], widths: Sequence[int], rows: Sequence[tuple[str, ...]]) -> Table:
    table, last = make_text_table(*headings), ""
    for column, width in zip(table.columns, widths, strict=True):
        column.no_wrap, column.overflow, column.max_width = False, "fold", width
    for key, *cells in rows:
        table.add_row("" if key == last else key, *cells)
        last = key
    return table


def _count_statuses(results: Sequence[Result]) -> str:
    statuses = [result.status for result in results]
    seconds = sum(result.seconds for result in results)
    counts = [f"{statuses.count('pass')} reproduced", f"{statuses.count('FAIL')} failed"]
    return ", ".join([*counts, f"{statuses.count('skipped')} skipped"]) + f" ({seconds:.0f} s)."


def write_result_json(results: Sequence[Result]) -> str:
    """The results as one JSON document.

    Parameters
    ----------
    results : sequence of Result
        The results.

    Returns
    -------
    str
        JSON.
    """
    entries = []
    for result in results:
        fields = {key: value for key, value in asdict(result).items() if key != "figures"}
        entries.append({**fields, "verdict": result.status})
    return json.dumps({"version": committee.__version__, "results": entries}, indent=2, ensure_ascii=False)


def write_results_page(results: Sequence[Result], settings: ReproductionSettings, path: Path) -> int:
    """Write the results with figures as a self-contained HTML page.

    Parameters
    ----------
    results : sequence of Result
        The results.
    settings : ReproductionSettings
        Seeds and threads.
    path : pathlib.Path
        The file.

    Returns
    -------
    int
        Bytes of the file.
    """
    rows = [
        [f'<a href="#{one.key}">{one.key}</a>', escape(one.title), _mark(one.status), f"{one.seconds:.1f}"]
        for one in results
    ]
    lead = (
        f"<p>Published results on ensembles, reproduced with {settings.n_seeds} seeds. "
        f"{escape(_count_statuses(results))} A published number is one run with other random numbers, so our mean "
        "over seeds is compared with the mean of scikit-learn over as many; each line has its criterion. ± is the "
        "standard deviation over seeds.</p>"
    )
    overview = Section(
        "overview", "Overview", make_html_table(["row", "result", "check", ">seconds"], rows, "All results")
    )
    sections = [overview, *(_render_result(result) for result in results)]
    page = render_page("Reproduced textbook results", lead, sections, f"Written by committee {committee.__version__}.")
    return write_page(page, path)


def _render_result(result: Result) -> Section:
    title = f"{result.key}: {result.title}"
    if result.skipped:
        return Section(result.key, title, f'<p class="absent">Skipped: {escape(result.skipped)}.</p>')
    rows = [
        [
            escape(one.what),
            escape(one.published),
            escape(one.scikit_learn or "–"),
            escape(one.ours),
            _mark("pass" if one.passed else "FAIL"),
            escape(one.criterion),
        ]
        for one in result.lines
    ]
    table = make_html_table(["", ">published", ">scikit-learn", ">ours", "check", "criterion"], rows, title)
    figures = f'<div class="figures">{"".join(result.figures)}</div>' if result.figures else ""
    return Section(result.key, title, f"<p>{escape(result.setup)}</p>{table}{figures}")


def _mark(status: str) -> str:
    kind = {"pass": "good", "FAIL": "bad"}.get(status, "absent")
    return f'<span class="{kind}">{status}</span>'
