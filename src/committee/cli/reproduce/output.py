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
from committee.cli.reproduce.results import ReproductionSettings, Result
from committee.cli.show import make_text_table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["show_result_table", "write_result_json", "write_results_page"]

# Column widths of the text table, 80 together with the space between them; longer text is wrapped.
_WIDTHS = (3, 28, 12, 17, 7)
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
    table = make_text_table("row", "result", ">published", ">ours", "")
    for column, width in zip(table.columns, _WIDTHS, strict=True):
        column.no_wrap, column.overflow, column.max_width = False, "fold", width
    for result in results:
        if result.skipped:
            table.add_row(result.key, escape_markup(result.title), "", "", "[yellow]skipped[/]")
        for k, line in enumerate(result.lines):
            status = "pass" if line.passed else "FAIL"
            cells = (result.key if k == 0 else "", line.what, line.published, line.ours)
            table.add_row(*map(escape_markup, cells), f"[{_STYLES[status]}]{status}[/]")
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
    console.print(f"\n{_count_statuses(results)} ± is the standard deviation over seeds.")


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
        f"{escape(_count_statuses(results))} Random numbers differ from those of the published runs, so published "
        "numbers are compared with the distribution over seeds; each line has its criterion. ± is the standard "
        "deviation over seeds.</p>"
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
            escape(one.ours),
            _mark("pass" if one.passed else "FAIL"),
            escape(one.criterion),
        ]
        for one in result.lines
    ]
    table = make_html_table(["", ">published", ">ours", "check", "criterion"], rows, title)
    figures = f'<div class="figures">{"".join(result.figures)}</div>' if result.figures else ""
    return Section(result.key, title, f"<p>{escape(result.setup)}</p>{table}{figures}")


def _mark(status: str) -> str:
    kind = {"pass": "good", "FAIL": "bad"}.get(status, "absent")
    return f'<span class="{kind}">{status}</span>'
