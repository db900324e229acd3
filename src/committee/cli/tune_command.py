"""The command tune; importing this module adds it to the command."""

import json
from typing import Annotated, Literal

import typer

from committee.cli import options
from committee.cli.app import app
from committee.cli.fit_places import OutputOptions, choose_places
from committee.cli.plan import Plan
from committee.cli.problem import Roles
from committee.cli.several_targets import define_problems, split_targets
from committee.cli.show import make_console, show_files, show_fit_results, write_json
from committee.cli.table import read_source

_EstimatorOption = Annotated[
    str, typer.Option("--estimator", "-e", metavar="NAME", help="What is tuned, as in committee fit.")
]
_BudgetOption = Annotated[
    float, typer.Option("--budget", "-b", metavar="SECONDS", min=0.001, help="Time of the search.")
]
_CandidatesOption = Annotated[
    int | None,
    typer.Option("--candidates", metavar="N", min=1, help="The most candidates; by default only time ends it."),
]
_MethodOption = Annotated[
    Literal["tpe", "halving", "random"], typer.Option("--method", help="Who proposes the candidates.")
]
_OutOfBagOption = Annotated[
    bool, typer.Option("--oob", metavar="", help="Score bags and forests by out-of-bag rows, without folds.")
]

_TUNE_EXAMPLES = """[bold]Examples[/]

  committee tune houses.csv --target price                      a minute

  committee tune houses.csv -t price --budget 600 --metric mae

  committee tune wine -e random-forest --oob --method halving

  committee tune churn.csv -t left --set learning_rate=0.1      one parameter is fixed

  committee tune patients.csv -t days --event died --task survival
"""


@app.command(epilog=_TUNE_EXAMPLES)
def tune(
    context: typer.Context,
    table: options.TableNameArgument,
    target: options.TargetsOption = None,
    estimator: _EstimatorOption = "gradient-boosting",
    settings: options.SettingsOption = None,
    metric: options.MetricNameOption = None,
    budget: _BudgetOption = 60.0,
    candidates: _CandidatesOption = None,
    method: _MethodOption = "tpe",
    oob: _OutOfBagOption = False,
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
    licence: options.LicenceOption = None,
    as_json: options.AsJsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Search the parameters of an estimator, then fit it as committee fit does.

    The estimator as given, with what --set sets, is the first candidate. All candidates and folds share one set of
    bins. Where the estimator chooses its number of rounds, the folds choose it instead.

    The winner is fitted and scored in the folds, and the model and a report of it are written under the name of the
    table. No file is written over unless it is named: a number is added.
    """
    del debug  # read from sys.argv by `run`
    places = choose_places(table, None, OutputOptions(output, report, no_report, no_save))
    roles = Roles(target, groups, weights, drop or (), query, event, options.split_levels(levels))
    source = read_source(table, encoding, header)
    targets = split_targets(target, source.table.column_names)
    problem, *others = problems = define_problems(source, roles, targets, task)
    # scikit-learn takes a second to import; errors in the arguments or the table are reported before.
    from committee.cli.fit import fit_problem
    from committee.cli.fit_output import write_fit
    from committee.cli.joint_fit import fit_and_write_targets
    from committee.cli.report import FoldObserver, read_reproduction
    from committee.cli.tuning import TuningOptions, tune_and_show, write_candidates

    plan = Plan(estimator, options.parse_settings(settings), folds, seed, jobs, metric)
    console, wanted = make_console(), TuningOptions(method, budget, candidates, oob)
    tuned = tune_and_show(None if as_json else console, problems, plan, wanted)
    more = {"tuning": write_candidates(tuned)}
    if others:
        fit_and_write_targets(context, problems, tuned.plan, places, roles, licence, as_json=as_json, more=more)
        return
    observer = None if places.report is None else FoldObserver(problem, tuned.plan)
    results = fit_problem(problem, tuned.plan, observer)
    if not as_json:
        show_fit_results(console, results, folds)
    files = write_fit(places, problem, results, observer, read_reproduction(context), roles, licence)
    if as_json:
        written = write_json(problem, results, *(None if file is None else str(file.path) for file in files))
        typer.echo(json.dumps({**json.loads(written), **more}, indent=2))
    else:
        show_files(console, *files)
