"""How problems and findings look: as text for people, as JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from committee.cli.problem import Problem
    from committee.cli.results import Estimate, Findings, Leaderboard

_MOST_ROWS = 12
_BAR = 30
_WIDEST = 100


def make_console(*, stderr: bool = False) -> Console:
    """A console that is tidy in 80 columns and plain when piped.

    Parameters
    ----------
    stderr : bool
        Where it writes.

    Returns
    -------
    rich.console.Console
        Ready to print to.
    """
    console = Console(stderr=stderr, highlight=False)
    return console if console.width <= _WIDEST else Console(stderr=stderr, highlight=False, width=_WIDEST)


def show_problem(console: Console, problem: Problem) -> None:
    """Print what was understood of the table.

    Parameters
    ----------
    console : rich.console.Console
        Where to.
    problem : Problem
        What.
    """
    show_head(console, problem)
    columns = make_table("feature", "type", ">missing", ">values")
    for column in problem.columns[:_MOST_ROWS]:
        share = f"{column.n_missing / problem.n_rows:.1%}" if column.n_missing else "-"
        columns.add_row(escape(column.name), column.kind, share, f"{column.n_distinct:,}")
    console.print(columns)
    tell_rest(console, len(problem.columns))
    if problem.task == "classification":
        _show_balance(console, problem)
    else:
        y = problem.y
        console.print(f"target from {y.min():g} to {y.max():g}, mean {y.mean():g}, standard deviation {y.std():g}")
    for notice in problem.notices:
        console.print(f"[yellow]Note:[/] {escape(notice)}")


def show_head(console: Console, problem: Problem) -> None:
    """Print the name and size of a table, and what is to be predicted.

    Parameters
    ----------
    console : rich.console.Console
        Where to.
    problem : Problem
        What.
    """
    n_features = len(problem.columns)
    size = f"{problem.n_rows:,} rows, {n_features} feature{'s' if n_features != 1 else ''}"
    console.print(f"[bold]{escape(problem.source)}[/]: {size}", soft_wrap=True)
    console.print(f"target [bold]{escape(problem.target)}[/] ({problem.task})", soft_wrap=True)


def show_findings(console: Console, findings: Findings, folds: int) -> None:
    """Print scores, the chosen size and the importances.

    Parameters
    ----------
    console : rich.console.Console
        Where to.
    findings : Findings
        What.
    folds : int
        Of the cross-validation.
    """
    settings = ", ".join(f"{name}={value!r}" for name, value in findings.params.items())
    console.print(f"\n[bold]{findings.estimator}[/]({escape(settings)})", end="")
    if findings.n_leaves is not None:
        console.print(f": {findings.n_leaves} leaves, depth {findings.depth}", end="")
    console.print()
    if findings.candidates:
        sizes = make_table("max_depth", ">score")
        for candidate in findings.candidates:
            chosen = " *" if candidate.max_depth == findings.params["max_depth"] else "  "
            sizes.add_row(str(candidate.max_depth), _write_estimate(candidate.score) + chosen)
        console.print(sizes)
        console.print("* the smallest depth within one standard error of the best")
    if findings.leaderboard is not None:
        _show_leaderboard(console, findings.leaderboard)
        console.print("\nThe committee on rows not seen in training (± standard error):")
    else:
        console.print(f"\nScore on rows not seen in training, {folds} folds (± standard error):")
    scores = make_table("", ">model", ">naive", ">difference")
    for name, comparison in findings.comparisons.items():
        cells = map(_write_estimate, (comparison.model, comparison.baseline))
        scores.add_row(name, *cells, _write_estimate(comparison.difference, sign="+"))
    console.print(scores)
    show_importances(console, findings.importances)
    for notice in findings.notices:
        console.print(f"[yellow]Note:[/] {escape(notice)}")


def _show_leaderboard(console: Console, board: Leaderboard) -> None:
    n_members = len([one for one in board.standings if one.name != "prior"])
    summary = f"{n_members} member{'s' if n_members != 1 else ''} in {board.seconds:.1f} s"
    if board.left_out:
        summary += f"; the time was up before {', '.join(board.left_out)}. A larger --time lets them in."
    console.print(summary)
    better = "higher" if board.sign > 0 else "lower"
    console.print(f"\nLeaderboard on rows not seen in training ({better} is better):")
    table = make_table("", f">{board.metric}", ">weight", ">seconds")
    table.add_row("[bold]committee[/]", _write_estimate(board.committee), "", f"{board.seconds:.1f}")
    for one in board.standings:
        name = "naive" if one.name == "prior" else one.name
        weight = f"{one.weight:.2f}" if one.weight else "-"
        table.add_row(escape(name), _write_estimate(one.score), weight, f"{one.seconds:.1f}")
    console.print(table)


def write_json(problem: Problem, findings: Findings, output: str | None, report: str | None = None) -> str:
    """The same facts as one JSON document.

    Parameters
    ----------
    problem : Problem
        What was understood.
    findings : Findings
        What was found.
    output : str or None
        Where the model was written.
    report : str or None
        Where the report was written.

    Returns
    -------
    str
        JSON.
    """

    def estimate(value: Estimate) -> dict[str, Any]:
        folds = {"folds": list(value.folds)} if value.folds else {}
        return {"mean": value.mean, "standard_error": value.error} | folds

    board = findings.leaderboard
    document = {
        "table": problem.source,
        "rows": problem.n_rows,
        "target": problem.target,
        "task": problem.task,
        "classes": problem.count_classes() if problem.task == "classification" else None,
        "features": [
            {"name": c.name, "type": c.kind, "missing": c.n_missing, "distinct": c.n_distinct} for c in problem.columns
        ],
        "estimator": findings.estimator,
        "parameters": findings.params,
        "candidates": [{"max_depth": c.max_depth} | estimate(c.score) for c in findings.candidates],
        "scores": {
            name: {
                "model": estimate(comparison.model),
                "naive": estimate(comparison.baseline),
                "difference": estimate(comparison.difference),
            }
            for name, comparison in findings.comparisons.items()
        },
        "leaderboard": None if board is None else _list_standings(board),
        "leaves": findings.n_leaves,
        "depth": findings.depth,
        "importances": findings.importances,
        "model": output,
        "report": report,
        "notices": [*problem.notices, *findings.notices],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=str)


def _list_standings(board: Leaderboard) -> dict[str, Any]:
    """All but the seconds, so that the document depends on nothing but the table, the options and the seed."""
    return {
        "metric": board.metric,
        "greater_is_better": board.sign > 0,
        "committee": {"score": board.committee.mean, "standard_error": board.committee.error},
        "members": [
            {"name": one.name, "score": one.score.mean, "standard_error": one.score.error, "weight": one.weight}
            for one in board.standings
        ],
        "left_out": list(board.left_out),
    }


def make_table(*headings: str) -> Table:
    """A table without vertical lines.

    Parameters
    ----------
    *headings : str
        One a column; that of a column of numbers starts with >.

    Returns
    -------
    rich.table.Table
        Without rows.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        numeric = heading.startswith(">")
        table.add_column(
            heading.removeprefix(">"), justify="right" if numeric else "left", no_wrap=True, overflow="ellipsis"
        )
    return table


def _write_estimate(value: Estimate, sign: str = "-") -> str:
    return f"{value.mean:{sign}.4f} ± {value.error:.4f}"


def tell_rest(console: Console, n_items: int, most: int = _MOST_ROWS) -> None:
    """Say how many rows of a table were not shown.

    Parameters
    ----------
    console : rich.console.Console
        Where to.
    n_items : int
        How many there are.
    most : int
        How many were shown at most.
    """
    if n_items > most:
        console.print(f"… and {n_items - most} more")


def _show_balance(console: Console, problem: Problem) -> None:
    classes = problem.count_classes()
    table = make_table("class", ">rows", ">share")
    for label, count in list(classes.items())[:_MOST_ROWS]:
        table.add_row(escape(label), f"{count:,}", f"{count / problem.n_rows:.1%}")
    console.print(table)
    tell_rest(console, len(classes))


def show_importances(console: Console, importances: dict[str, float]) -> None:
    """Print the features that matter most, with bars.

    Parameters
    ----------
    console : rich.console.Console
        Where to.
    importances : dict of str to float
        By feature, largest first.
    """
    used = [(name, value) for name, value in importances.items() if value > 0]
    if not used:
        return
    console.print("\nImportance of the features (model fitted on all rows):")
    table = make_table("feature", ">share", "")
    for name, value in used[:_MOST_ROWS]:
        table.add_row(escape(name), f"{value:.3f}", "#" * max(1, round(_BAR * value / used[0][1])))
    console.print(table)
    tell_rest(console, len(used))
