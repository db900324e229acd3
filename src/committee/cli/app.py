"""The commands and their options; what goes wrong becomes one sentence, one hint and an exit code."""

import sys
from typing import Annotated, Any

import typer
from rich.markup import escape

import committee
from committee.cli import options
from committee.cli.errors import DATA, USAGE, CommandError
from committee.cli.output import check_place, choose_report_place, show_size, write_model
from committee.cli.problem import Roles, pose_problem
from committee.cli.progress import watch_fits
from committee.cli.show import make_console, show_findings, show_problem, write_json
from committee.cli.table import read_source

# Typer's root of all errors of usage, by the one road that is public in every version of it.
_UsageError: Any = typer.BadParameter.__bases__[0]
_INTERRUPTED = 130

_EXAMPLES = """[bold]Examples[/]

  committee fit                                                 try it

  committee fit houses.csv --target price -o houses.committee   your own table

  committee predict houses.committee new.csv -o answers.csv

  committee COMMAND --help                                      more of them
"""

app = typer.Typer(
    no_args_is_help=True,
    epilog=_EXAMPLES,
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
        bool,
        typer.Option(
            "--version", metavar="", callback=_print_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Ensemble learning on one fast engine."""


_FIT_EXAMPLES = """[bold]Examples[/]

  committee fit                                      a bundled table

  committee fit houses.csv --target price            your own

  committee fit houses.csv --target price --time 300 -o houses.committee

  committee fit wine -e random-forest --set n_estimators=500

  committee fit visits.parquet -t outcome --groups patient --metric roc-auc

  committee fit --config houses.toml                 all options from a file
"""


@app.command(epilog=_FIT_EXAMPLES)
def fit(
    context: typer.Context,
    table: options.TableName = "breast_cancer",
    target: options.Target = None,
    estimator: options.Estimator = "committee",
    settings: options.Settings = None,
    metric: options.MetricName = None,
    seconds: options.Seconds = None,
    groups: options.Groups = None,
    weights: options.Weights = None,
    drop: options.Drop = None,
    task: options.TaskName = "auto",
    folds: options.Folds = 5,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    encoding: options.Encoding = "utf-8",
    output: options.ModelOut = None,
    report: options.ReportOut = None,
    no_report: options.NoReport = False,
    config: options.Config = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Fit a committee to a table, and tell how well it predicts rows it has not seen.

    Without --estimator members of several kinds are fitted within --time, and weighed by how well they do on such rows.

    Nothing is written without -o, which writes the model and a report of it, or --report.
    """
    del debug  # looked up by `run`, which must know it even where parsing fails
    chosen = options.parse_settings(settings)
    place = None if output is None else check_place(output, table, config)
    page = choose_report_place(report, no_report, place, table, config)
    problem = pose_problem(read_source(table, encoding), Roles(target, groups, weights, drop or ()), task)
    # scikit-learn takes a second to load; whatever is wrong with the call or the table is told before.
    from committee.cli.cross_validation import Plan
    from committee.cli.fit import fit_problem
    from committee.cli.report import Witness, read_recipe, write_report

    plan = Plan(estimator, chosen, folds, seed, jobs, metric, seconds)
    console = make_console()
    witness = None if page is None else Witness(problem, plan)
    findings = fit_problem(problem, plan, lambda: None if as_json else show_problem(console, problem), witness)
    n_bytes = 0 if place is None else write_model(findings.model, place)
    n_page = 0 if page is None or witness is None else write_report(witness, findings, read_recipe(context), page)
    if as_json:
        typer.echo(write_json(problem, findings, output, None if page is None else str(page)))
        return
    show_findings(console, findings, folds)
    if place is not None:
        console.print(f"\nModel written to [bold]{escape(str(place))}[/] ({show_size(n_bytes)})", soft_wrap=True)
    if page is not None:
        console.print(f"Report written to [bold]{escape(str(page))}[/] ({show_size(n_page)})", soft_wrap=True)


_PREDICT_EXAMPLES = """[bold]Examples[/]

  committee predict houses.committee new.csv                  to the screen

  committee predict houses.committee new.parquet --interval 0.9 -o out.parquet

  committee predict churn.committee new.csv.gz -p --keep id -o answers.csv

  committee predict churn.committee new.csv --explain 3       and the reasons
"""


@app.command(epilog=_PREDICT_EXAMPLES)
def predict(
    model: options.ModelFile,
    table: options.TableName,
    output: options.AnswersOut = None,
    probabilities: options.Probabilities = False,
    calibrated: options.Calibrated = False,
    interval: options.Coverage = None,
    explain: options.Reasons = 0,
    keep: options.Keep = None,
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
    from committee.cli.model_rows import load_model
    from committee.cli.predict import Predictor, Wanted
    from committee.cli.prediction_writer import choose_writer, write_chunks
    from committee.cli.stream import open_stream

    place = None if output is None else check_place(output, model, table)
    open_writer = choose_writer(place)
    fitted = options.set_jobs(load_model(model, trust or []), jobs)
    wanted = Wanted(probabilities, calibrated, interval, explain)
    predictor = Predictor(fitted, open_stream(table, encoding), wanted, keep or [])
    n_rows = write_chunks(open_writer, predictor.predict_chunks(), table)
    if place is not None:
        make_console().print(f"{n_rows:,} rows written to [bold]{escape(str(place))}[/]", soft_wrap=True)


_EXPLAIN_EXAMPLES = """[bold]Examples[/]

  committee explain houses.committee new.csv --target price   what it rests on

  committee explain houses.committee new.csv -o reasons.csv --keep id

  committee explain houses.committee new.csv --json
"""


@app.command(epilog=_EXPLAIN_EXAMPLES)
def explain(
    model: options.ModelFile,
    table: options.TableName,
    target: options.Truth = None,
    output: options.ReasonsOut = None,
    keep: options.Keep = None,
    metric: options.MetricName = None,
    rows: options.SampleRows = 1000,
    repeats: options.Shuffles = 20,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    encoding: options.Encoding = "utf-8",
    trust: options.Trust = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Tell what a model rests on: what is lost when a feature is shuffled, and how much each moves predictions.

    The first needs the --target, and is best judged by rows that the model was not fitted on.

    -o writes what each feature adds to the prediction of every row (Shapley values).
    """
    del debug  # looked up by `run`
    from committee.cli.explain import Question, explain_model, explain_rows, show_account
    from committee.cli.model_rows import ModelRows, load_model
    from committee.cli.prediction_writer import choose_writer, write_chunks
    from committee.cli.stream import open_stream

    place = None if output is None else check_place(output, model, table)
    open_writer = None if place is None else choose_writer(place)
    fitted, stream = options.set_jobs(load_model(model, trust or []), jobs), open_stream(table, encoding)
    truth = target or stream.target
    question = Question(rows, repeats, metric, seed, jobs)
    account = explain_model(ModelRows(fitted, stream, [] if truth is None else [truth]), truth, question)
    n_rows = 0
    if open_writer is not None:
        n_rows = write_chunks(open_writer, explain_rows(ModelRows(fitted, stream, keep or [])), table)
    if as_json:
        typer.echo(account.write_json())
        return
    console = make_console()
    show_account(console, account)
    if place is not None:
        console.print(f"\nReasons of {n_rows:,} rows written to [bold]{escape(str(place))}[/]", soft_wrap=True)


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
    from committee.cli.inspect import inspect_model, show_inspection

    found = inspect_model(model, trust or [])
    if as_json:
        typer.echo(found.write_json())
    else:
        show_inspection(make_console(), found)


_COMPARE_EXAMPLES = """[bold]Examples[/]

  committee compare wine                                one of each family

  committee compare wine -e tree -e random-forest -e adaboost

  committee compare houses.csv -t price -e random-forest -e extra-trees

  committee compare wine -e tree -e extra-trees --set extra-trees.bootstrap=True
"""


@app.command(epilog=_COMPARE_EXAMPLES)
def compare(
    table: options.TableName,
    target: options.Target = None,
    estimators: Annotated[
        list[str] | None,
        typer.Option(
            "--estimator",
            "-e",
            metavar="NAME",
            help="As for fit; repeatable. The others are compared with the first; by default one of each family.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[EST.]NAME=VALUE", help="A parameter, of all or of one of them; repeatable."),
    ] = None,
    metric: options.MetricName = None,
    groups: options.Groups = None,
    weights: options.Weights = None,
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
    problem = pose_problem(read_source(table, encoding), Roles(target, groups, weights, drop or ()), task)
    from committee.cli.compare import plan_contest, show_results, write_results
    from committee.cli.cross_validation import Plan

    plan = Plan("", {}, folds, seed, jobs, metric)
    contest = plan_contest(problem, estimators or [], chosen, plan, repeats)
    with watch_fits("comparing", contest.n_fits) as display:
        scores = contest.run(display.advance, display.note)
    if as_json:
        typer.echo(write_results(contest, scores))
    else:
        show_results(make_console(), contest, scores)


_BENCH_EXAMPLES = """[bold]Examples[/]

  committee bench                              a few minutes, every case

  committee bench --only boosting --rows 100000

  committee bench -o times                     also a page, data and a picture
"""


@app.command(epilog=_BENCH_EXAMPLES)
def bench(
    only: options.Only = None,
    rows: options.BenchRows = 20_000,
    threads: options.Threads = None,
    quick: options.Quick = False,
    output: options.BenchOut = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Measure forests, AdaBoost and boosting beside the libraries that are installed.

    Every library gets a process of its own, the same table and the same threads; the best run counts.
    """
    del debug  # looked up by `run`
    from committee.cli.bench.command import measure

    measure(only or [], quick, rows, threads, output, as_json)


_REPRODUCE_EXAMPLES = """[bold]Examples[/]

  committee reproduce R9                             three stumps, in a second

  committee reproduce R1 R2 R3 --seeds 20

  committee reproduce all --out textbook.html        minutes; with pictures
"""


@app.command(epilog=_REPRODUCE_EXAMPLES)
def reproduce(
    rows: options.ResultNames = None,
    seeds: options.NSeeds = 10,
    jobs: options.Jobs = None,
    page: options.PageOut = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Do published results of the textbooks again, and compare.

    Each figure is shown as mean and spread over seeds beside the published one, with a verdict.

    The exit code is 1 if a row fails.

    Tables that are not part of scikit-learn are looked for where COMMITTEE_DATA points; nothing is fetched.
    """
    del debug  # looked up by `run`
    place = None if page is None else check_place(page)
    from committee.cli.reproduce.command import reproduce_results

    if not reproduce_results(rows or [], seeds, jobs, place, as_json=as_json):
        raise typer.Exit(DATA)


def run() -> int:
    """Parse the command line, do the work, and turn whatever happens into an exit code.

    Returns
    -------
    int
        0 done, 1 bad data, 2 bad usage, 130 interrupted.
    """
    try:
        code = app(prog_name="committee", standalone_mode=False)
        if code == _INTERRUPTED:  # some versions of Typer catch the interrupt themselves
            return _complain("Interrupted.", "", _INTERRUPTED)
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
