"""The options that several commands share, each told once."""

from __future__ import annotations

import ast
from typing import Annotated, Any, Literal

import typer

from committee.cli.catalog import list_estimators
from committee.cli.config import apply_config
from committee.cli.errors import USAGE, CommandError
from committee.datasets import BUNDLED

__all__ = [
    "AnswersOut",
    "AsJson",
    "BenchOut",
    "BenchRows",
    "Calibrated",
    "Config",
    "Coverage",
    "Debug",
    "Drop",
    "Encoding",
    "Estimator",
    "Folds",
    "Groups",
    "Jobs",
    "Keep",
    "MetricName",
    "ModelFile",
    "ModelOut",
    "NSeeds",
    "NoReport",
    "Only",
    "PageOut",
    "Probabilities",
    "Quick",
    "Reasons",
    "ReasonsOut",
    "ReportOut",
    "ResultNames",
    "SampleRows",
    "Seconds",
    "Seed",
    "Settings",
    "Shuffles",
    "TableName",
    "Target",
    "TaskName",
    "Threads",
    "Trust",
    "Truth",
    "Weights",
    "parse_settings",
    "set_jobs",
]


def _complete_estimator(incomplete: str) -> list[str]:
    return [name for name in sorted(list_estimators()) if name.startswith(incomplete)]


TableName = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, Feather, Arrow IPC or JSON-lines file, compressed or not, or a bundled table "
        f"({', '.join(BUNDLED)}).",
        metavar="TABLE",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, as written by committee fit -o.")]
Target = Annotated[str | None, typer.Option("--target", "-t", metavar="COL", help="The column to predict.")]
Estimator = Annotated[
    str,
    typer.Option(
        "--estimator",
        "-e",
        metavar="NAME",
        autocompletion=_complete_estimator,
        help=f"What to fit: {', '.join(sorted(list_estimators()))}; tree and stump for short.",
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the estimator; repeatable.")
]
MetricName = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="What to score by: accuracy, balanced-accuracy, f1, log-loss, roc-auc; r2, mae, rmse, mse; or any "
        "scorer of scikit-learn.",
        show_default=False,
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        "--time",
        metavar="SECONDS",
        min=0.001,
        help="After this the automatic committee begins no further member; 60 unless n_members is set.",
        show_default=False,
    ),
]
Groups = Annotated[
    str | None,
    typer.Option("--groups", metavar="COL", help="Rows that are alike here stay together; no feature."),
]
Weights = Annotated[
    str | None, typer.Option("--weights", metavar="COL", help="How much each row counts, from 0 on; no feature.")
]
Drop = Annotated[list[str] | None, typer.Option("--drop", metavar="COL", help="A column to leave out; repeatable.")]
TaskName = Annotated[
    Literal["auto", "classification", "regression"],
    typer.Option("--task", metavar="KIND", help="What the target is: auto, classification or regression."),
]
Folds = Annotated[int, typer.Option("--folds", metavar="K", min=2, help="Parts of the cross-validation.")]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Of the folds and of the estimator.")
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="Threads; by default as many as help.")]
Encoding = Annotated[str, typer.Option("--encoding", metavar="NAME", help="Encoding of a text table.")]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON document instead.")]
ModelOut = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="MODEL", help="Write the model, fitted on all rows, to this file."),
]
ReportOut = Annotated[
    str | None,
    typer.Option("--report", metavar="PAGE", help="Write a report, one HTML file; by default beside the model of -o."),
]
NoReport = Annotated[bool, typer.Option("--no-report", metavar="", help="Write no report.")]
ResultNames = Annotated[
    list[str] | None, typer.Argument(metavar="[R1 … R13 | all]", help="Which results; all of them by default.")
]
NSeeds = Annotated[int, typer.Option("--seeds", metavar="N", min=2, help="Repetitions of what is random.")]
PageOut = Annotated[
    str | None, typer.Option("--out", "-o", metavar="PAGE", help="Write tables and pictures to this HTML file.")
]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        callback=apply_config,
        is_eager=True,
        help="A TOML file of options; what is given here goes before it.",
    ),
]
AnswersOut = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="OUT", help="File for the answers: .csv, .tsv, .csv.gz or .parquet."),
]
ReasonsOut = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="OUT", help="File for the reasons of every row: .csv, .tsv or .parquet."),
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", "-p", metavar="", help="The probability of each class as well.")
]
Calibrated = Annotated[
    bool,
    typer.Option(
        "--calibrated", metavar="", help="The same, if the model has calibrated them on out-of-bag rows; else an error."
    ),
]
Coverage = Annotated[
    float | None,
    typer.Option(
        "--interval",
        metavar="SHARE",
        min=0.01,
        max=0.999,
        help="Ends of an interval that holds this share of the targets, for instance 0.9.",
        show_default=False,
    ),
]
Reasons = Annotated[
    int,
    typer.Option("--explain", metavar="K", min=0, help="The K features that move each prediction most, and how much."),
]
Keep = Annotated[list[str] | None, typer.Option("--keep", "-k", metavar="COL", help="A column to copy; repeatable.")]
Truth = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COL", help="The column that the model predicts, if there.")
]
SampleRows = Annotated[
    int, typer.Option("--rows", metavar="N", min=1, help="Rows to look at, drawn at random from the table.")
]
Shuffles = Annotated[int, typer.Option("--repeats", metavar="R", min=1, help="How often each feature is shuffled.")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="WORD", help="Only cases whose name holds this word; repeatable."),
]
BenchRows = Annotated[int, typer.Option("--rows", metavar="N", min=1000, help="Rows to learn from, of 28 columns.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="For every library; by default all cores.", show_default=False),
]
Quick = Annotated[
    bool, typer.Option("--quick", metavar="", help="Tiny data: shows that everything runs, times mean nothing.")
]
BenchOut = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FOLDER", help="Write bench.md, bench.json and bench.svg there."),
]
Trust = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="TYPE", help="A type of another library that the model may hold; repeatable."),
]
Debug = Annotated[bool, typer.Option("--debug", metavar="", help="Show the traceback of an error.")]


def set_jobs(model: Any, jobs: int | None) -> Any:
    """A model with as many threads as ``--jobs`` says.

    Parameters
    ----------
    model : estimator
        Fitted.
    jobs : int or None
        None changes nothing.

    Returns
    -------
    estimator
        The same one.
    """
    if jobs is not None and "n_jobs" in model.get_params():
        model.set_params(n_jobs=jobs)
    return model


def parse_settings(settings: list[str] | None) -> dict[str, Any]:
    """Values by name, of what ``--set`` was given.

    Parameters
    ----------
    settings : list of str or None
        Each ``name=value``; a value that is no Python literal is text.

    Returns
    -------
    dict of str to object
        The last one of a name counts.
    """
    parsed: dict[str, Any] = {}
    for setting in settings or []:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise CommandError(
                f"'{setting}' is no setting.", "Write --set name=value, for instance max_depth=3.", USAGE
            )
        try:
            parsed[name.strip()] = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            parsed[name.strip()] = text.strip()
    return parsed
