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
    "AsJson",
    "Config",
    "Debug",
    "Drop",
    "Encoding",
    "Estimator",
    "Folds",
    "Jobs",
    "MetricName",
    "ModelFile",
    "ModelOut",
    "Seed",
    "Settings",
    "TableName",
    "Target",
    "TaskName",
    "Trust",
    "parse_settings",
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
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
ModelOut = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="MODEL", help="Write the model, fitted on all rows, to this file."),
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
Trust = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="TYPE", help="A type of another library that the model may hold; repeatable."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


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
