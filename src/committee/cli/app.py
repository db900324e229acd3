"""The commands and their options; what goes wrong becomes one sentence, one hint and an exit code."""

import ast
import sys
from typing import Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import committee
from committee.cli.errors import DATA, USAGE, CommandError
from committee.cli.problem import pose_problem
from committee.cli.show import make_console, show_findings, show_problem, write_json
from committee.cli.table import read_source
from committee.datasets import BUNDLED

# Typer's root of all errors of usage, by the one road that is public in every version of it.
_UsageError: Any = typer.BadParameter.__bases__[0]
_INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"committee {committee.__version__}")
        raise typer.Exit


@app.callback()
def _describe(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Ensemble learning on one fast engine."""


_EXAMPLES = """[bold]Examples[/]

  committee fit                                      a bundled table

  committee fit wine --estimator extra-tree          another one

  committee fit houses.csv --target price            your own

  committee fit people.parquet --target income --set min_samples_leaf=20 --json
"""


@app.command(epilog=_EXAMPLES)
def fit(
    table: Annotated[
        str,
        typer.Argument(
            help=f"CSV, TSV, Parquet, Feather or JSON-lines file, or a bundled table ({', '.join(BUNDLED)}).",
            metavar="TABLE",
        ),
    ] = "breast_cancer",
    target: Annotated[str | None, typer.Option(metavar="COL", help="The column to predict.")] = None,
    estimator: Annotated[Literal["tree", "extra-tree", "stump"], typer.Option(help="What to fit.")] = "tree",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the estimator; repeatable.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="COL", help="A column to leave out; repeatable.")] = None,
    task: Annotated[
        Literal["auto", "classification", "regression"], typer.Option(help="What kind of target it is.")
    ] = "auto",
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the folds and of the estimator.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Threads; by default as many as help.", show_default=False)
    ] = None,
    encoding: Annotated[str, typer.Option(help="Encoding of a text table.")] = "utf-8",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Fit a tree to a table, and tell how well it predicts rows it has not seen.

    The depth is chosen by cross-validation inside each training part, so that the score is honest;
    set max_depth, max_leaf_nodes or ccp_alpha yourself and nothing is searched.
    """
    del debug  # looked up by `run`, which must know it even where parsing fails
    chosen = _parse_settings(settings or [])
    problem = pose_problem(read_source(table, encoding), target, task, drop or [])
    # scikit-learn takes a second to load; whatever is wrong with the call or the table is told before.
    from committee.cli.study import Plan, Study

    study = Study(problem, Plan(estimator, chosen, folds, seed, jobs))
    console = make_console()
    if not as_json:
        show_problem(console, problem)
    progress = Progress(
        TextColumn("fitting"), BarColumn(), MofNCompleteColumn(), console=make_console(stderr=True), transient=True
    )
    progress.disable = not sys.stderr.isatty()
    with progress:
        bar = progress.add_task("fitting", total=study.n_fits)
        findings = study.run(lambda: progress.advance(bar))
    if as_json:
        typer.echo(write_json(problem, findings))
    else:
        show_findings(console, findings, folds)


def _parse_settings(settings: list[str]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise CommandError(
                f"'{setting}' is no setting.", "Write --set name=value, for instance max_depth=3.", USAGE
            )
        try:
            parsed[name.strip()] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            parsed[name.strip()] = text
    return parsed


def run() -> int:
    """Parse the command line, do the work, and turn whatever happens into an exit code.

    Returns
    -------
    int
        0 done, 1 bad data, 2 bad usage, 130 interrupted.
    """
    try:
        code = app(prog_name="committee", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _complain("Interrupted.", "", _INTERRUPTED)
    except BrokenPipeError:
        # The reader has seen enough (`committee fit | head`); keep the interpreter from flushing into nothing.
        sys.stdout = None
        return 0
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        if isinstance(error, _UsageError) and not error.format_message():
            return USAGE  # `committee` alone: the help has been printed
        return _complain(*_explain(error))


def _explain(error: Exception) -> tuple[str, str, int]:
    if isinstance(error, CommandError):
        return error.sentence, error.hint, error.code
    if isinstance(error, _UsageError):
        return _write_sentence(error.format_message()), "See committee fit --help.", USAGE
    from committee.exceptions import CommitteeError, ParameterError, ParameterTypeError

    if isinstance(error, (ParameterError, ParameterTypeError)):
        return _write_sentence(str(error)), "See committee fit --help, or the manual of the estimator.", USAGE
    if isinstance(error, CommitteeError):
        return _write_sentence(str(error)), "Correct the table, or --drop the column.", DATA
    if isinstance(error, MemoryError):
        return "The table does not fit in memory.", "Use fewer rows or columns.", DATA
    return f"Unexpected {type(error).__name__}: {error}", "Add --debug for the traceback; please report it.", DATA


def _write_sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _complain(sentence: str, hint: str, code: int) -> int:
    console = make_console(stderr=True)
    console.print(f"[bold red]Error:[/] {escape(sentence)}", soft_wrap=True)
    if hint:
        console.print(f"[bold]Hint:[/] {escape(hint)}", soft_wrap=True)
    return code
