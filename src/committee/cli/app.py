"""The commands and their options; `committee.cli.call` runs them."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import typer
from rich.markup import escape

import committee
from committee.cli import options
from committee.cli.export import EXPORT_EXAMPLES
from committee.cli.fit_observer import FitObserver, FitObserverGroup
from committee.cli.fit_places import DEMONSTRATION, FitPlaces, OutputOptions, choose_page, choose_places
from committee.cli.output import check_output_path
from committee.cli.plan import Plan
from committee.cli.problem import LearningProblem, Roles, define_problem
from committee.cli.progress import watch_fits
from committee.cli.several_targets import define_problems, show_problems, split_targets
from committee.cli.show import ProblemPrinter, make_console, show_files, show_fit_results, write_json
from committee.cli.table import may_be_large, read_source
from committee.cli.tasks import TASKS, TaskKind
from committee.cli.text_format import TextReading

_EXAMPLES = """[bold]Examples[/]

  committee fit                                                 bundled data

  committee fit houses.csv --target price                       your data

  committee predict houses.committee new.csv -o predictions.csv

  committee COMMAND --help                                      more examples
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
def _read_global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Ensemble learning."""


_FIT_EXAMPLES = """[bold]Examples[/]

  committee fit                                      bundled data

  committee fit houses.csv --target price            your data

  committee fit houses.csv --target price --time 300 -o houses.committee

  committee fit wine -e random-forest --set n_estimators=500

  committee fit visits.parquet -t outcome --groups patient --metric roc-auc

  committee fit flats.csv --target price,rent        several targets

  committee fit clicks.csv -t relevance --query search --task rank

  committee fit patients.csv -t days --event died --task survival

  committee fit --config houses.toml                 all options from a file
"""


@app.command(epilog=_FIT_EXAMPLES)
def fit(
    context: typer.Context,
    table: options.FitTableArgument = None,
    target: options.TargetsOption = None,
    estimator: options.EstimatorOption = "committee",
    settings: options.SettingsOption = None,
    metric: options.MetricNameOption = None,
    seconds: options.SecondsOption = None,
    groups: options.GroupsOption = None,
    weights: options.WeightsOption = None,
    drop: options.DropOption = None,
    task: options.TaskNameOption = "auto",
    query: options.QueryOption = None,
    event: options.EventOption = None,
    levels: options.LevelsOption = None,
    folds: options.FoldsOption = 5,
    seed: options.SeedOption = 0,
    jobs: options.JobsOption = None,
    encoding: options.EncodingOption = "utf-8",
    header: options.HeaderOption = None,
    output: options.ModelOutOption = None,
    report: options.ReportOutOption = None,
    no_report: options.NoReportOption = False,
    no_save: options.NoSaveOption = False,
    config: options.ConfigOption = None,
    memory: options.MemoryOption = None,
    licence: options.LicenceOption = None,
    as_json: options.AsJsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Fit a model to a table and estimate its score on unseen rows.

    Without --estimator, models of several kinds are fitted within --time and weighted by their out-of-fold scores; for
    --task rank, survival, ordinal or distribution one boosted model.

    A Parquet or Arrow file that does not fit in memory, or a folder of such files, is read in blocks: one model is
    fitted with its large buffers in temporary files, and scored on rows that are held out.

    The model and a report of it are written to the current folder under the name of the table; -o and --report name
    other files. No file is written over unless it is named: a number is added.
    """
    del debug  # read from sys.argv by `run`, also if parsing fails
    plan = Plan(estimator, options.parse_settings(settings), folds, seed, jobs, metric, seconds)
    asked = Roles(target, groups, weights, drop or (), query, event, options.split_levels(levels))
    places = choose_places(table, config, OutputOptions(output, report, no_report, no_save))
    if table is not None and may_be_large(table):
        from committee.cli.large_fit import fit_large, is_too_large

        if is_too_large(table, memory):
            fit_large(table, asked, task, plan, places, memory, as_json=as_json)
            return
    source = read_source(DEMONSTRATION if table is None else table, encoding, header)
    if len(targets := split_targets(target, source.table.column_names)) > 1:
        problems = define_problems(source, asked, targets, task)
        if not as_json:
            show_problems(make_console(), problems)
        from committee.cli.joint_fit import fit_and_write_targets

        fit_and_write_targets(context, problems, plan, places, asked, licence, as_json=as_json)
        return
    problem = define_problem(source, asked, task)
    plan = replace(plan, estimator=choose_estimator(context, estimator, problem.task))
    _fit_one(context, problem, plan, places, asked, licence, as_json=as_json)


def _fit_one(
    context: typer.Context,
    problem: LearningProblem,
    plan: Plan,
    places: FitPlaces,
    roles: Roles,
    licence: str | None,
    *,
    as_json: bool,
) -> None:
    """Fit a model to one target of a table in memory, print its scores and write its files."""
    # scikit-learn takes a second to import; errors in the arguments or the table are reported before.
    from committee.cli.fit import fit_problem
    from committee.cli.fit_output import write_fit
    from committee.cli.report import FoldObserver, read_reproduction

    console = make_console()
    printers: list[FitObserver] = [] if as_json else [ProblemPrinter(console, problem)]
    observer = None if places.report is None else FoldObserver(problem, plan)
    results = fit_problem(problem, plan, FitObserverGroup([*printers, *([] if observer is None else [observer])]))
    if not as_json:
        show_fit_results(console, results, plan.folds)
    files = write_fit(places, problem, results, observer, read_reproduction(context), roles, licence)
    if as_json:
        typer.echo(write_json(problem, results, *(None if file is None else str(file.path) for file in files)))
    else:
        show_files(console, *files, demonstration=DEMONSTRATION if context.params["table"] is None else None)


def choose_estimator(context: typer.Context, estimator: str, task: TaskKind) -> str:
    """The ``--estimator``; if none is named, that of the task."""
    source = context.get_parameter_source("estimator")
    return TASKS[task].estimator if source is not None and source.name == "DEFAULT" else estimator


_PREDICT_EXAMPLES = """[bold]Examples[/]

  committee predict houses.committee new.csv                  to the screen

  committee predict houses.committee new.parquet --interval 0.9 -o out.parquet

  committee predict churn.committee new.csv.gz -p --keep id -o predictions.csv

  committee predict churn.committee new.csv --explain 3       with explanations

  committee predict patients.committee new.csv --times 30,365 survival
"""


@app.command(epilog=_PREDICT_EXAMPLES)
def predict(
    model: options.ModelFileArgument,
    table: options.TableNameArgument,
    output: options.PredictionsOutOption = None,
    probabilities: options.ProbabilitiesOption = False,
    calibrated: options.CalibratedOption = False,
    interval: options.CoverageOption = None,
    times: options.SurvivalTimesOption = None,
    explain: options.ExplainCountOption = 0,
    keep: options.KeepOption = None,
    jobs: options.JobsOption = None,
    encoding: options.EncodingOption = "utf-8",
    header: options.HeaderOption = None,
    trust: options.TrustOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Predict the rows of a table with a model file.

    The table is read in chunks and may be larger than memory. Columns are matched by name; other columns are ignored.

    Without -o the predictions are printed as CSV.
    """
    del debug  # read from sys.argv by `run`
    from committee.cli.certificates import read_targets
    from committee.cli.model_rows import load_model
    from committee.cli.predict import PredictOptions, Predictor
    from committee.cli.prediction_writer import choose_writer, write_chunks
    from committee.cli.stream import open_stream

    path = None if output is None else check_output_path(output, model, table)
    open_writer = choose_writer(path)
    fitted = options.set_jobs(load_model(model, trust or []), jobs)
    several = read_targets(model, fitted)
    requested = PredictOptions(probabilities, calibrated, interval, explain, options.parse_times(times), several)
    predictor = Predictor(fitted, open_stream(table, encoding, header), requested, keep or [])
    n_rows = write_chunks(open_writer, predictor.predict_chunks(), table)
    if path is not None:
        make_console().print(f"{n_rows:,} rows written to [bold]{escape(str(path))}[/]", soft_wrap=True)


_BIN_EXAMPLES = """[bold]Examples[/]

  committee bin sales.parquet --target price -o sales.bins

  committee bin sales/ --target price --weights amount -o sales.bins
"""


@app.command("bin", epilog=_BIN_EXAMPLES)
def bin_file(
    table: options.TableNameArgument,
    output: options.BinsOutOption,
    target: options.TargetOption = None,
    weights: options.WeightsOption = None,
    jobs: options.JobsOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Bin a table into a file that fits from Python read in its place: committee.BinnedFile.

    The table is a Parquet or Arrow file or a folder of them, and may be larger than memory. The target and the weights
    are kept beside the bins.
    """
    del debug  # read from sys.argv by `run`
    path = check_output_path(output, table)
    from committee.cli.large_fit import write_bins

    write_bins(make_console(), table, target, weights, path, jobs)


_EXPLAIN_EXAMPLES = """[bold]Examples[/]

  committee explain houses.committee new.csv --target price   importances

  committee explain houses.committee new.csv -o reasons.csv --keep id

  committee explain houses.committee new.csv --json
"""


@app.command(epilog=_EXPLAIN_EXAMPLES)
def explain(
    model: options.ModelFileArgument,
    table: options.TableNameArgument,
    target: options.TruthOption = None,
    output: options.ExplanationsOutOption = None,
    keep: options.KeepOption = None,
    metric: options.MetricNameOption = None,
    rows: options.SampleRowsOption = 1000,
    repeats: options.ShufflesOption = 20,
    seed: options.SeedOption = 0,
    jobs: options.JobsOption = None,
    encoding: options.EncodingOption = "utf-8",
    header: options.HeaderOption = None,
    trust: options.TrustOption = None,
    as_json: options.AsJsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Report feature importances and SHAP values.

    Permutation importance needs the --target, and rows that the model was not fitted on.

    -o writes the SHAP values of every row.
    """
    del debug  # read from sys.argv by `run`
    from committee.cli.certificates import read_targets
    from committee.cli.explain import (
        ExplainOptions,
        explain_model,
        explain_rows,
        explain_targets,
        show_explanations,
        write_explanations,
    )
    from committee.cli.model_rows import ModelRows, load_model
    from committee.cli.prediction_writer import choose_writer, write_chunks
    from committee.cli.stream import open_stream

    path = None if output is None else check_output_path(output, model, table)
    open_writer = None if path is None else choose_writer(path)
    fitted, stream = options.set_jobs(load_model(model, trust or []), jobs), open_stream(table, encoding, header)
    targets, requested = read_targets(model, fitted), ExplainOptions(rows, repeats, metric, seed, jobs)
    if targets:
        found = explain_targets(fitted, partial(open_stream, table, encoding, header), targets, target, requested)
    else:
        column = target or stream.target
        given = ModelRows(fitted, stream, [] if column is None else [column])
        found = {"": explain_model(given, column, requested)}
    n_rows = 0
    if open_writer is not None:
        n_rows = write_chunks(open_writer, explain_rows(ModelRows(fitted, stream, keep or []), targets), table)
    if as_json:
        typer.echo(write_explanations(found) if targets else found[""].write_json())
        return
    console = make_console()
    show_explanations(console, found)
    if path is not None:
        console.print(f"\nSHAP values of {n_rows:,} rows written to [bold]{escape(str(path))}[/]", soft_wrap=True)


_REPORT_EXAMPLES = """[bold]Examples[/]

  committee report houses.committee new.csv              drift; scores if possible

  committee report houses.committee new.csv --target price -o new.html
"""


@app.command(epilog=_REPORT_EXAMPLES)
def report(
    model: options.ModelFileArgument,
    table: options.TableNameArgument,
    target: options.TruthOption = None,
    output: options.NewPageOption = None,
    metric: options.MetricNameOption = None,
    seed: options.SeedOption = 0,
    jobs: options.JobsOption = None,
    encoding: options.EncodingOption = "utf-8",
    header: options.HeaderOption = None,
    trust: options.TrustOption = None,
    as_json: options.AsJsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Report on a model and a new table: scores there, and drift of the columns against the training table.

    Scores need the target column; without --target it is that of the fit, if the table has it.

    The page is written to the current folder under the name of the table; -o names another file.
    """
    del debug  # read from sys.argv by `run`
    place = choose_page(model, table, output)
    from committee.cli.new_data import show_findings, write_findings
    from committee.cli.report import write_model_report

    with place.reserve() as path:
        found = write_model_report(
            model,
            table,
            target,
            path,
            metric=metric,
            reading=TextReading(encoding, header),
            trusted=trust or [],
            seed=seed,
            jobs=jobs,
        )
    if as_json:
        typer.echo(write_findings(found, path))
    else:
        show_findings(make_console(), found, path)


_INSPECT_EXAMPLES = """[bold]Examples[/]

  committee inspect houses.committee

  committee inspect houses.committee --json
"""


@app.command(epilog=_INSPECT_EXAMPLES)
def inspect(
    model: options.ModelFileArgument,
    trust: options.TrustOption = None,
    as_json: options.AsJsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Show the contents of a model file: class, parameters, columns and importances."""
    del debug  # read from sys.argv by `run`
    from committee.cli.inspect import inspect_model, show_inspection

    found = inspect_model(model, trust or [])
    if as_json:
        typer.echo(found.write_json())
    else:
        show_inspection(make_console(), found)


@app.command(epilog=EXPORT_EXAMPLES)
def export(
    model: options.ModelFileArgument,
    output: options.ExportOutOption,
    python: options.PythonModuleOption = False,
    trust: options.TrustOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Write a model as C, as a compiled Python module or as ONNX; the ending of the output says which."""
    del debug  # read from sys.argv by `run`
    from committee.cli.export import export_model

    for path in export_model(model, output, trust or [], python=python):
        typer.echo(str(path))


_COMPARE_EXAMPLES = """[bold]Examples[/]

  committee compare wine                                one of each family

  committee compare wine -e tree -e random-forest -e adaboost

  committee compare houses.csv -t price -e random-forest -e extra-trees

  committee compare wine -e tree -e extra-trees --set extra-trees.bootstrap=True
"""


@app.command(epilog=_COMPARE_EXAMPLES)
def compare(
    table: options.TableNameArgument,
    target: options.TargetOption = None,
    estimators: Annotated[
        list[str] | None,
        typer.Option(
            "--estimator",
            "-e",
            metavar="NAME",
            help="As in fit; repeatable. The others are compared with the first; by default one of each family.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[EST.]NAME=VALUE", help="A parameter of all estimators or of one; repeatable."),
    ] = None,
    metric: options.MetricNameOption = None,
    groups: options.GroupsOption = None,
    weights: options.WeightsOption = None,
    drop: options.DropOption = None,
    task: options.TaskNameOption = "auto",
    query: options.QueryOption = None,
    event: options.EventOption = None,
    levels: options.LevelsOption = None,
    folds: options.FoldsOption = 5,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="R", min=1, help="Repetitions of the cross-validation.")
    ] = 5,
    seed: options.SeedOption = 0,
    jobs: options.JobsOption = None,
    encoding: options.EncodingOption = "utf-8",
    header: options.HeaderOption = None,
    as_json: options.AsJsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Compare estimators on the same folds and test their differences for significance.

    Repeated cross-validation; each estimator is tested against the first by the corrected paired t-test.
    """
    del debug  # read from sys.argv by `run`
    chosen = options.parse_settings(settings)
    roles = Roles(target, groups, weights, drop or (), query, event, options.split_levels(levels))
    problem = define_problem(read_source(table, encoding, header), roles, task)
    from committee.cli.compare import plan_comparison, show_comparison, write_comparison

    plan = Plan("", {}, folds, seed, jobs, metric)
    comparison = plan_comparison(problem, estimators or [], chosen, plan, repeats)
    with watch_fits("comparing", comparison.n_fits) as display:
        scores = comparison.run(display)
    if as_json:
        typer.echo(write_comparison(comparison, scores))
    else:
        show_comparison(make_console(), comparison, scores)
