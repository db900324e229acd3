"""Print problems and results as text, or write them as JSON."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from committee.cli.fit_observer import FitObserver
from committee.cli.output import show_size

if TYPE_CHECKING:
    from committee.cli.fit_places import WrittenFile
    from committee.cli.problem import LearningProblem
    from committee.cli.results import FitResults, Leaderboard, ScoreEstimate

_MOST_ROWS = 12
_BAR = 30
_WIDEST = 100


def make_console(*, stderr: bool = False) -> Console:
    """A console of at most 100 columns, without control codes if piped.

    Parameters
    ----------
    stderr : bool
        Whether it writes to the error stream.

    Returns
    -------
    rich.console.Console
    """
    console = Console(stderr=stderr, highlight=False)
    return console if console.width <= _WIDEST else Console(stderr=stderr, highlight=False, width=_WIDEST)


class ProblemPrinter(FitObserver):
    """Prints the problem before the first fit.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    problem : LearningProblem
        Features and target.
    """

    def __init__(self, console: Console, problem: LearningProblem) -> None:
        self._console = console
        self._problem = problem

    def on_start(self) -> None:
        """Print the problem."""
        show_problem(self._console, self._problem)


def show_problem(console: Console, problem: LearningProblem) -> None:
    """Print the columns of a table, and the target.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    problem : LearningProblem
        Features and target.
    """
    show_head(console, problem)
    columns = make_text_table("feature", "type", ">missing", ">values")
    for column in problem.columns[:_MOST_ROWS]:
        share = f"{column.n_missing / problem.n_rows:.1%}" if column.n_missing else "-"
        columns.add_row(escape(column.name), column.kind, share, f"{column.n_distinct:,}")
    console.print(columns)
    show_omitted(console, len(problem.columns))
    show_target(console, problem)
    for notice in problem.notices:
        console.print(f"[yellow]Note:[/] {escape(notice)}")


def show_target(console: Console, problem: LearningProblem) -> None:
    """Print the distribution of the target.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    problem : LearningProblem
        Features and target.
    """
    if problem.has_classes:
        _show_balance(console, problem)
    else:
        y = problem.values
        console.print(f"target from {y.min():g} to {y.max():g}, mean {y.mean():g}, standard deviation {y.std():g}")
        for sentence in _describe_task(problem):
            console.print(sentence)


def _describe_task(problem: LearningProblem) -> list[str]:
    if problem.task == "rank":
        n_queries = int(problem.y["query"].max()) + 1
        return [f"{n_queries:,} queries of {problem.n_rows / n_queries:.1f} rows on average; folds have whole queries"]
    if problem.task == "survival":
        events = problem.y["event"]
        return [f"{int(events.sum()):,} events; {1.0 - events.mean():.1%} of the rows are censored"]
    return []


def show_head(console: Console, problem: LearningProblem) -> None:
    """Print the name and size of a table, and the target.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    problem : LearningProblem
        Features and target.
    """
    n_features = len(problem.columns)
    size = f"{problem.n_rows:,} rows, {n_features} feature{'s' if n_features != 1 else ''}"
    console.print(f"[bold]{escape(problem.source)}[/]: {size}", soft_wrap=True)
    console.print(f"target [bold]{escape(problem.target)}[/] ({problem.task})", soft_wrap=True)


def show_fit_results(console: Console, results: FitResults, folds: int) -> None:
    """Print scores, the chosen size and the importances.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    results : FitResults
        The results.
    folds : int
        Number of cross-validation folds.
    """
    settings = ", ".join(f"{name}={value!r}" for name, value in results.params.items())
    console.print(f"\n[bold]{results.estimator}[/]({escape(settings)})", end="")
    if results.n_leaves is not None:
        console.print(f": {results.n_leaves} leaves, depth {results.depth}", end="")
    console.print()
    if results.candidates:
        sizes = make_text_table("max_depth", ">score")
        for candidate in results.candidates:
            chosen = " *" if candidate.max_depth == results.params["max_depth"] else "  "
            sizes.add_row(str(candidate.max_depth), _write_estimate(candidate.score) + chosen)
        console.print(sizes)
        console.print("* the smallest depth within one standard error of the best")
    if results.leaderboard is not None:
        _show_leaderboard(console, results.leaderboard)
        console.print("\nThe committee on rows not seen in training (± standard error):")
    else:
        console.print(f"\nScore on rows not seen in training, {folds} folds (± standard error):")
    scores = make_text_table("", ">model", ">naive", ">difference")
    for name, comparison in results.comparisons.items():
        cells = map(_write_estimate, (comparison.model, comparison.baseline))
        scores.add_row(name, *cells, _write_estimate(comparison.difference, sign="+"))
    console.print(scores)
    show_importances(console, results.importances)
    for notice in results.notices:
        console.print(f"[yellow]Note:[/] {escape(notice)}")


def show_files(
    console: Console, model: WrittenFile | None, report: WrittenFile | None, *, demonstration: str | None = None
) -> None:
    """Print where the model and the report are, and after a demonstration what to try next.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    model, report : WrittenFile or None
        None if it was not written.
    demonstration : str or None
        Name of the bundled table that was used because none was named.
    """
    console.print()
    for what, file in (("Model", model), ("Report", report)):
        if file is not None:
            size = show_size(file.n_bytes)
            console.print(f"{what} written to [bold]{escape(str(file.path))}[/] ({size})", soft_wrap=True)
    if demonstration is None or model is None:
        return
    path = shlex.quote(str(model.path))
    console.print("\nTry next:")
    for command in ("predict", "explain", "report"):
        console.print(f"  committee {command} {escape(path)} {demonstration}", soft_wrap=True)


def _show_leaderboard(console: Console, board: Leaderboard) -> None:
    n_members = len([one for one in board.entries if one.name != "prior"])
    summary = f"{n_members} member{'s' if n_members != 1 else ''} in {board.seconds:.1f} s"
    if board.left_out:
        summary += f"; the time was up before {', '.join(board.left_out)}. A larger --time allows more members."
    console.print(summary)
    better = "higher" if board.sign > 0 else "lower"
    console.print(f"\nLeaderboard on rows not seen in training ({better} is better):")
    table = make_text_table("", f">{board.metric}", ">weight", ">seconds")
    table.add_row("[bold]committee[/]", _write_estimate(board.committee), "", f"{board.seconds:.1f}")
    for one in board.entries:
        name = "naive" if one.name == "prior" else one.name
        weight = f"{one.weight:.2f}" if one.weight else "-"
        table.add_row(escape(name), _write_estimate(one.score), weight, f"{one.seconds:.1f}")
    console.print(table)


def write_json(problem: LearningProblem, results: FitResults, output: str | None, report: str | None = None) -> str:
    """The problem and the results as one JSON document.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    results : FitResults
        The results.
    output : str or None
        Path of the model file.
    report : str or None
        Path of the report.

    Returns
    -------
    str
        JSON.
    """

    def estimate(value: ScoreEstimate) -> dict[str, Any]:
        folds = {"folds": list(value.folds)} if value.folds else {}
        return {"mean": value.mean, "standard_error": value.error} | folds

    board = results.leaderboard
    document = {
        "table": problem.source,
        "rows": problem.n_rows,
        "target": problem.target,
        "task": problem.task,
        "classes": problem.count_classes() if problem.has_classes else None,
        "features": [
            {"name": c.name, "type": c.kind, "missing": c.n_missing, "distinct": c.n_distinct} for c in problem.columns
        ],
        "estimator": results.estimator,
        "parameters": results.params,
        "candidates": [{"max_depth": c.max_depth} | estimate(c.score) for c in results.candidates],
        "scores": {
            name: {
                "model": estimate(comparison.model),
                "naive": estimate(comparison.baseline),
                "difference": estimate(comparison.difference),
            }
            for name, comparison in results.comparisons.items()
        },
        "leaderboard": None if board is None else _list_entries(board),
        "leaves": results.n_leaves,
        "depth": results.depth,
        "importances": results.importances,
        "model": output,
        "report": report,
        "notices": [*problem.notices, *results.notices],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=str)


def _list_entries(board: Leaderboard) -> dict[str, Any]:
    """The leaderboard without times, so that the document depends only on the table, the options and the seed."""
    return {
        "metric": board.metric,
        "greater_is_better": board.sign > 0,
        "committee": {"score": board.committee.mean, "standard_error": board.committee.error},
        "members": [
            {"name": one.name, "score": one.score.mean, "standard_error": one.score.error, "weight": one.weight}
            for one in board.entries
        ],
        "left_out": list(board.left_out),
    }


def make_text_table(*headings: str) -> Table:
    """A table without vertical lines.

    Parameters
    ----------
    *headings : str
        One per column; > before a heading aligns the column to the right.

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


def _write_estimate(value: ScoreEstimate, sign: str = "-") -> str:
    return f"{value.mean:{sign}.4f} ± {value.error:.4f}"


def show_omitted(console: Console, n_items: int, most: int = _MOST_ROWS) -> None:
    """Print how many rows of a table are not shown.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    n_items : int
        Number of rows.
    most : int
        Maximum number of rows shown.
    """
    if n_items > most:
        console.print(f"… and {n_items - most} more")


def _show_balance(console: Console, problem: LearningProblem) -> None:
    classes = problem.count_classes()
    table = make_text_table("class", ">rows", ">share")
    for label, count in list(classes.items())[:_MOST_ROWS]:
        table.add_row(escape(label), f"{count:,}", f"{count / problem.n_rows:.1%}")
    console.print(table)
    show_omitted(console, len(classes))


def show_importances(console: Console, importances: dict[str, float]) -> None:
    """Print the most important features, with bars.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    importances : dict of str to float
        By feature, largest first.
    """
    used = [(name, value) for name, value in importances.items() if value > 0]
    if not used:
        return
    console.print("\nFeature importances (model fitted on all rows):")
    table = make_text_table("feature", ">share", "")
    for name, value in used[:_MOST_ROWS]:
        table.add_row(escape(name), f"{value:.3f}", "#" * max(1, round(_BAR * value / used[0][1])))
    console.print(table)
    show_omitted(console, len(used))
