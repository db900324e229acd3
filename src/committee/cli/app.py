"""The commands and their options; what goes wrong becomes one sentence, one hint and an exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import committee
from committee.cli import options
from committee.cli.errors import DATA, USAGE, CommandError
from committee.cli.output import check_place, show_size, write_model
from committee.cli.problem import pose_problem
from committee.cli.show import make_console, show_findings, show_problem, write_json
from committee.cli.table import read_source

# Typer's root of all errors of usage, by the one road that is public in every version of it.
_UsageError: Any = typer.BadParameter.__bases__[0]
_INTERRUPTED = 130

app = typer.Typer(
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


_FIT_EXAMPLES = """[bold]Examples[/]

  committee fit                                      a bundled table

  committee fit wine -e random-forest                another one, a forest

  committee fit houses.csv --target price            your own

  committee fit people.parquet --target income --set min_samples_leaf=20 --json

  committee fit houses.csv --target price -e extra-trees -o houses.committee

  committee fit --config houses.toml                 all options from a file
"""


@app.command(epilog=_FIT_EXAMPLES)
def fit(
    table: options.TableName = "breast_cancer",
    target: options.Target = None,
    estimator: options.Estimator = "tree",
    settings: options.Settings = None,
    metric: options.MetricName = None,
    drop: options.Drop = None,
    task: options.TaskName = "auto",
    folds: options.Folds = 5,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    encoding: options.Encoding = "utf-8",
    output: options.ModelOut = None,
    config: options.Config = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Fit an estimator to a table, and tell how well it predicts rows it has not seen.

    The depth of a single tree is chosen by cross-validation inside each training part, so that the score is honest.

    Set max_depth, max_leaf_nodes or ccp_alpha yourself and nothing is searched. Nothing is written without -o.
    """
    del config  # has been applied to the others
    del debug  # looked up by `run`, which must know it even where parsing fails
    chosen = options.parse_settings(settings)
    place = None if output is None else check_place(output)
    problem = pose_problem(read_source(table, encoding), target, task, drop or [])
    # scikit-learn takes a second to load; whatever is wrong with the call or the table is told before.
    from committee.cli.study import Plan, Study

    study = Study(problem, Plan(estimator, chosen, folds, seed, jobs, metric))
    console = make_console()
    if not as_json:
        show_problem(console, problem)
    with _show_progress("fitting", study.n_fits) as advance:
        findings = study.run(advance)
    n_bytes = 0 if place is None else write_model(findings.model, place)
    if as_json:
        typer.echo(write_json(problem, findings, output))
        return
    show_findings(console, findings, folds)
    if place is not None:
        console.print(f"\nModel written to [bold]{escape(str(place))}[/] ({show_size(n_bytes)})", soft_wrap=True)


_PREDICT_EXAMPLES = """[bold]Examples[/]

  committee predict houses.committee new.csv                  to the screen

  committee predict houses.committee new.parquet -o answers.parquet

  committee predict churn.committee new.csv.gz --probabilities --keep id -o answers.csv
"""


@app.command(epilog=_PREDICT_EXAMPLES)
def predict(
    model: options.ModelFile,
    table: options.TableName,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="File for the answers: .csv, .tsv, .csv.gz or .parquet."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-p", help="The probability of each class as well.")
    ] = False,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", "-k", metavar="COL", help="A column to copy; repeatable.")
    ] = None,
    jobs: options.Jobs = None,
    encoding: options.Encoding = "utf-8",
    trust: options.Trust = None,
    debug: options.Debug = False,
) -> None:
    """Predict the rows of a table with a model file.

    The table is read piece by piece, so that its size does not matter. Columns are found by name; others may be there.

    Without -o the answers go to the screen as CSV.
    """
    del debug  # looked up by `run`
    from committee.cli.predicting import Predictor, choose_writer, load_model
    from committee.cli.stream import open_stream

    place = None if output is None else check_place(output)
    open_writer = choose_writer(place)
    fitted = load_model(model, trust or [])
    if jobs is not None and "n_jobs" in fitted.get_params():
        fitted.set_params(n_jobs=jobs)
    predictor = Predictor(fitted, open_stream(table, encoding), probabilities, keep or [])
    n_rows = 0
    with open_writer() as write:
        for answers in predictor.predict_chunks():
            write(answers)
            n_rows += answers.num_rows
        if n_rows == 0:
            raise CommandError(f"'{table}' has columns but no rows.", "There is nothing to predict.")
    if place is not None:
        make_console().print(f"{n_rows:,} rows written to [bold]{escape(str(place))}[/]", soft_wrap=True)


_INSPECT_EXAMPLES = """[bold]Examples[/]

  committee inspect houses.committee

  committee inspect houses.committee --json
"""


@app.command(epilog=_INSPECT_EXAMPLES)
def inspect(
    model: options.ModelFile,
    trust: options.Trust = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Tell what a model file holds: its class, parameters, columns and importances."""
    del debug  # looked up by `run`
    from committee.cli.inspecting import inspect_model, show_inspection

    found = inspect_model(model, trust or [])
    if as_json:
        typer.echo(found.write_json())
    else:
        show_inspection(make_console(), found)


_COMPARE_EXAMPLES = """[bold]Examples[/]

  committee compare wine -e tree -e random-forest -e adaboost

  committee compare houses.csv --target price -e random-forest -e extra-trees --metric mae

  committee compare wine -e random-forest -e extra-trees --set n_estimators=300 --set extra-trees.bootstrap=True
"""


@app.command(epilog=_COMPARE_EXAMPLES)
def compare(
    table: options.TableName,
    target: options.Target = None,
    estimators: Annotated[
        list[str] | None,
        typer.Option(
            "--estimator", "-e", metavar="NAME", help="As for fit; repeatable. The others are compared with the first."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[EST.]NAME=VALUE", help="A parameter, of all or of one of them; repeatable."),
    ] = None,
    metric: options.MetricName = None,
    drop: options.Drop = None,
    task: options.TaskName = "auto",
    folds: options.Folds = 5,
    repeats: Annotated[int, typer.Option("--repeats", metavar="R", min=1, help="How often the folds are drawn.")] = 5,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    encoding: options.Encoding = "utf-8",
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Compare estimators on the same folds, and tell whether they differ by more than chance.

    Repeated cross-validation; each estimator is tested against the first one by the corrected paired t-test.
    """
    del debug  # looked up by `run`
    chosen = options.parse_settings(settings)
    problem = pose_problem(read_source(table, encoding), target, task, drop or [])
    from committee.cli.comparing import plan_contest, show_results, write_results
    from committee.cli.study import Plan

    plan = Plan("", {}, folds, seed, jobs, metric)
    contest = plan_contest(problem, estimators or [], chosen, plan, repeats)
    with _show_progress("comparing", contest.n_fits) as advance:
        scores = contest.run(advance)
    if as_json:
        typer.echo(write_results(contest, scores))
    else:
        show_results(make_console(), contest, scores)


@contextmanager
def _show_progress(verb: str, total: int) -> Iterator[Any]:
    """A bar on the error stream if somebody watches it; yields what to call after each step."""
    columns = (TextColumn(verb), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=make_console(stderr=True), transient=True)
    progress.disable = not sys.stderr.isatty()
    with progress:
        bar = progress.add_task(verb, total=total)
        yield lambda: progress.advance(bar)


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
        return _write_sentence(error.format_message()), f"See {_name_command()} --help.", USAGE
    from committee.exceptions import CommitteeError, ModelFileError, ParameterError, ParameterTypeError

    if isinstance(error, (ParameterError, ParameterTypeError)):
        return _write_sentence(str(error)), f"See {_name_command()} --help, or the manual of the estimator.", USAGE
    if isinstance(error, ModelFileError):
        return _write_sentence(str(error)), "A model file is written by committee fit -o, or committee.save.", DATA
    if isinstance(error, CommitteeError):
        return _write_sentence(str(error)), "Correct the table, or --drop the column.", DATA
    if isinstance(error, MemoryError):
        return "The table does not fit in memory.", "Use fewer rows or columns.", DATA
    return f"Unexpected {type(error).__name__}: {error}", "Add --debug for the traceback; please report it.", DATA


def _name_command() -> str:
    known = {command.callback.__name__ for command in app.registered_commands if command.callback}
    return " ".join(["committee", *(word for word in sys.argv[1:2] if word in known)])


def _write_sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _complain(sentence: str, hint: str, code: int) -> int:
    console = make_console(stderr=True)
    console.print(f"[bold red]Error:[/] {escape(sentence)}", soft_wrap=True)
    if hint:
        console.print(f"[bold]Hint:[/] {escape(hint)}", soft_wrap=True)
    return code
