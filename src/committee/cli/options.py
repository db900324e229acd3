"""The options of the commands; those that several commands share are defined once."""

from __future__ import annotations

import ast
from typing import Annotated, Any, Literal

import typer

from committee.cli.catalog import list_estimators
from committee.cli.config import apply_config
from committee.cli.errors import USAGE, CommandError
from committee.datasets import BUNDLED

__all__ = [
    "AsJsonOption",
    "BenchOutOption",
    "BenchRowsOption",
    "BinsOutOption",
    "CalibratedOption",
    "ConfigOption",
    "CoverageOption",
    "DebugOption",
    "DropOption",
    "EncodingOption",
    "EstimatorOption",
    "EventOption",
    "ExplainCountOption",
    "ExplanationsOutOption",
    "ExportOutOption",
    "FitTableArgument",
    "FoldsOption",
    "GroupsOption",
    "HeaderOption",
    "JobsOption",
    "KeepOption",
    "LevelsOption",
    "LicenceOption",
    "MemoryOption",
    "MetricNameOption",
    "ModelFileArgument",
    "ModelOutOption",
    "NSeedsOption",
    "NewPageOption",
    "NoReportOption",
    "NoSaveOption",
    "OnlyOption",
    "PageOutOption",
    "PredictionsOutOption",
    "ProbabilitiesOption",
    "PythonModuleOption",
    "QueryOption",
    "QuickOption",
    "ReportOutOption",
    "ResultNamesArgument",
    "SampleRowsOption",
    "SecondsOption",
    "SeedOption",
    "SettingsOption",
    "ShufflesOption",
    "SurvivalTimesOption",
    "TableNameArgument",
    "TargetOption",
    "TargetsOption",
    "TaskNameOption",
    "ThreadsOption",
    "TrustOption",
    "TruthOption",
    "WeightsOption",
    "parse_settings",
    "parse_times",
    "set_jobs",
    "split_levels",
]

# Letters of a value of --set that are parsed.
_MOST_LETTERS = 100_000


def _complete_estimator(incomplete: str) -> list[str]:
    return [name for name in sorted(list_estimators()) if name.startswith(incomplete)]


TableNameArgument = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, Feather, Arrow IPC or JSON Lines file, compressed or not, or a bundled table "
        f"({', '.join(BUNDLED)}).",
        metavar="TABLE",
    ),
]
FitTableArgument = Annotated[
    str | None,
    typer.Argument(
        help="A table as for the other commands; without one the bundled breast_cancer, as a demonstration.",
        metavar="[TABLE]",
        show_default=False,
    ),
]
ModelFileArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file, as written by committee fit -o.")
]
TargetOption = Annotated[str | None, typer.Option("--target", "-t", metavar="COL", help="The column to predict.")]
TargetsOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COL",
        help="The column to predict, or several with commas between them.",
    ),
]
EstimatorOption = Annotated[
    str,
    typer.Option(
        "--estimator",
        "-e",
        metavar="NAME",
        autocompletion=_complete_estimator,
        help=f"Estimator to fit: {', '.join(sorted(list_estimators()))}; short names: tree, stump.",
    ),
]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the estimator; repeatable.")
]
MetricNameOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Metric: accuracy, balanced-accuracy, f1, log-loss, roc-auc; r2, mae, rmse, mse; or any "
        "scorer of scikit-learn; of further tasks ndcg, ndcg-10, map; concordance, brier; level-error, kappa; crps.",
        show_default=False,
    ),
]
SecondsOption = Annotated[
    float | None,
    typer.Option(
        "--time",
        metavar="SECONDS",
        min=0.001,
        help="Time budget of the automatic committee; 60 unless n_members is set.",
        show_default=False,
    ),
]
GroupsOption = Annotated[
    str | None,
    typer.Option("--groups", metavar="COL", help="Column of groups, which folds do not divide; not a feature."),
]
WeightsOption = Annotated[
    str | None, typer.Option("--weights", metavar="COL", help="Column of sample weights, 0 or more; not a feature.")
]
DropOption = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COL", help="A column to leave out; repeatable.")
]
TaskNameOption = Annotated[
    Literal["auto", "classification", "regression", "rank", "survival", "ordinal", "distribution"],
    typer.Option(
        "--task",
        metavar="KIND",
        help="Task: auto, classification, regression; rank (with --query), survival (with --event), ordinal (with "
        "--levels), distribution.",
    ),
]
QueryOption = Annotated[
    str | None,
    typer.Option("--query", metavar="COL", help="Column of queries, whose rows are ranked; not a feature."),
]
EventOption = Annotated[
    str | None,
    typer.Option(
        "--event",
        metavar="COL",
        help="Column that says whether the time in --target is that of an event (1) or of censoring (0).",
    ),
]
LevelsOption = Annotated[
    str | None,
    typer.Option("--levels", metavar="A,B,…", help="Levels of an ordinal target, the lowest first."),
]
SurvivalTimesOption = Annotated[
    str | None,
    typer.Option("--times", metavar="T1,T2,…", help="Add the probability to survive each of these times."),
]
FoldsOption = Annotated[int, typer.Option("--folds", metavar="K", min=2, help="Cross-validation folds.")]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Seed of the folds and of the estimator.")
]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", help="Number of threads; automatic by default.")
]
EncodingOption = Annotated[str, typer.Option("--encoding", metavar="NAME", help="Encoding of a text table.")]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        metavar="",
        help="Whether the first line of a text table holds column names; else they are column1, column2, …",
        show_default=False,
    ),
]
AsJsonOption = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON document instead.")]
LicenceOption = Annotated[
    str | None,
    typer.Option("--data-licence", metavar="TEXT", help="Licence of the data, for the model card.", show_default=False),
]
ModelOutOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        help="File for the model, fitted on all rows; by default the table's name with .committee.",
    ),
]
ReportOutOption = Annotated[
    str | None,
    typer.Option("--report", metavar="PAGE", help="File for the report, in HTML; by default beside the model."),
]
NoReportOption = Annotated[bool, typer.Option("--no-report", metavar="", help="Write no report.")]
NoSaveOption = Annotated[
    bool, typer.Option("--no-save", metavar="", help="Write no model, and no report without --report.")
]
NewPageOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="PAGE",
        help="File for the report, in HTML; by default the table's name with .report.html.",
    ),
]
ResultNamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[R1 … R16 | all]", help="Which results; all of them by default.")
]
NSeedsOption = Annotated[int, typer.Option("--seeds", metavar="N", min=2, help="Number of seeds.")]
PageOutOption = Annotated[
    str | None, typer.Option("--out", "-o", metavar="PAGE", help="Write tables and figures to this HTML file.")
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory for the fit, such as 2GB; a Parquet or Arrow table that needs more is read in blocks.",
    ),
]
BinsOutOption = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The file of bins.")]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        callback=apply_config,
        is_eager=True,
        help="A TOML file of options; options on the command line take precedence.",
    ),
]
PredictionsOutOption = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="OUT", help="File for the predictions: .csv, .tsv, .csv.gz or .parquet."),
]
ExplanationsOutOption = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="OUT", help="File for the SHAP values of all rows: .csv, .tsv or .parquet."),
]
ProbabilitiesOption = Annotated[
    bool, typer.Option("--probabilities", "-p", metavar="", help="Add the probability of each class.")
]
CalibratedOption = Annotated[
    bool,
    typer.Option("--calibrated", metavar="", help="The same; an error if they are not calibrated on out-of-bag rows."),
]
CoverageOption = Annotated[
    float | None,
    typer.Option(
        "--interval",
        metavar="SHARE",
        min=0.01,
        max=0.999,
        help="Add a prediction interval of this coverage, for instance 0.9.",
        show_default=False,
    ),
]
ExplainCountOption = Annotated[
    int,
    typer.Option("--explain", metavar="K", min=0, help="Add the K features with the largest SHAP values of each row."),
]
KeepOption = Annotated[
    list[str] | None, typer.Option("--keep", "-k", metavar="COL", help="A column to copy; repeatable.")
]
TruthOption = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COL", help="The target column, if the table has it; or several."),
]
SampleRowsOption = Annotated[
    int, typer.Option("--rows", metavar="N", min=1, help="Number of rows to explain, sampled from the table.")
]
ShufflesOption = Annotated[int, typer.Option("--repeats", metavar="R", min=1, help="Permutations of each feature.")]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="WORD", help="Only cases whose name contains this word; repeatable."),
]
BenchRowsOption = Annotated[
    int, typer.Option("--rows", metavar="N", min=1000, help="Number of training rows, of 28 columns.")
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads", metavar="N", min=1, help="Threads of every library; by default all cores.", show_default=False
    ),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", metavar="", help="Tiny data: a smoke test, times are not meaningful.")
]
BenchOutOption = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FOLDER", help="Write bench.md, bench.json and bench.svg there."),
]
ExportOutOption = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="The file to write: .c, .py or .onnx.")
]
PythonModuleOption = Annotated[
    bool, typer.Option("--python", metavar="", help="Compile a Python module without dependencies.")
]
TrustOption = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="TYPE", help="A type of another library that may be loaded; repeatable."),
]
DebugOption = Annotated[bool, typer.Option("--debug", metavar="", help="Show the traceback of an error.")]


def set_jobs(model: Any, jobs: int | None) -> Any:
    """Set the number of threads of a model.

    Parameters
    ----------
    model : estimator
        Fitted.
    jobs : int or None
        Value of ``--jobs``; None changes nothing.

    Returns
    -------
    estimator
        The same object.
    """
    if jobs is not None and "n_jobs" in model.get_params():
        model.set_params(n_jobs=jobs)
    return model


def split_levels(levels: str | None) -> list[str]:
    """The values of ``--levels``, in their order.

    Parameters
    ----------
    levels : str or None
        Names with commas between them.

    Returns
    -------
    list of str
    """
    if levels is None:
        return []
    names = [name.strip() for name in levels.split(",")]
    if len(set(names)) < max(2, len(names)) or not all(names):
        raise CommandError(
            f"'{levels}' is not a list of levels.",
            "Write each level once, the lowest first: --levels low,mid,high.",
            USAGE,
        )
    return names


def parse_times(times: str | None) -> list[float]:
    """The values of ``--times``.

    Parameters
    ----------
    times : str or None
        Numbers with commas between them.

    Returns
    -------
    list of float
    """
    if times is None:
        return []
    try:
        found = [float(one) for one in times.split(",")]
    except ValueError:
        found = [-1.0]
    if not all(0.0 <= one < float("inf") for one in found) or found != sorted(set(found)):
        raise CommandError(
            f"'{times}' is not a list of times.", "Write ascending numbers with commas: --times 30,90,365.", USAGE
        )
    return found


def parse_settings(settings: list[str] | None) -> dict[str, Any]:
    """Parse the values of ``--set``.

    Parameters
    ----------
    settings : list of str or None
        Each ``name=value``; a value that is not a Python literal is a string.

    Returns
    -------
    dict of str to object
        If a name is repeated, the last value counts.
    """
    parsed: dict[str, Any] = {}
    for setting in settings or []:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise CommandError(
                f"'{setting}' is not a setting.", "Write --set name=value, for instance max_depth=3.", USAGE
            )
        parsed[name.strip()] = _read_literal(name.strip(), text.strip())
    return parsed


def _read_literal(name: str, text: str) -> Any:
    """A Python literal, or the text itself."""
    if len(text) > _MOST_LETTERS:
        raise CommandError(
            f"The value of --set {name} has {len(text):,} letters; at most {_MOST_LETTERS:,} are read.",
            "Pass such a value in Python.",
            USAGE,
        )
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    except (RecursionError, MemoryError) as error:
        raise CommandError(
            f"The value of --set {name} is nested too deeply.", "Write a number, a word or a short list.", USAGE
        ) from error
