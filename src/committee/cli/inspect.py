"""The work behind ``committee inspect``: the contents of a model file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from committee.cli.model_rows import load_model, read_categories
from committee.cli.output import show_size
from committee.cli.show import make_text_table, show_importances, show_omitted
from committee.data.inputs import describe_kind

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Inspection", "inspect_model", "show_inspection"]

_MOST_COLUMNS = 30
_SCORES = ("oob_score_", "score_estimate_", "score_error_")


@dataclass(frozen=True)
class Inspection:
    """The contents of a model file.

    Parameters
    ----------
    estimator : str
        Name of the class.
    parameters : dict
        All parameters.
    columns : dict of str to str
        Names and types of the columns that it was fitted on; empty if unknown.
    n_features : int or None
        Number of features; None if it is not fitted.
    classes : tuple of str
        The classes; empty for a regressor.
    importances : dict of str to float
        By column, largest first; empty if it has none.
    scores : dict of str to float
        Scores from the fit: the out-of-bag score, or the score estimate of AutoML.
    members : list of dict
        The leaderboard of an AutoML model; empty for others.
    library : dict
        Versions that it was written with.
    stripped : bool
        Whether it was saved for prediction only.
    n_bytes : int
        Size of the file.
    """

    estimator: str
    parameters: dict[str, Any]
    columns: dict[str, str]
    n_features: int | None
    classes: tuple[str, ...]
    importances: dict[str, float]
    scores: dict[str, float]
    members: list[dict[str, Any]]
    library: dict[str, Any]
    stripped: bool
    n_bytes: int

    def write_json(self) -> str:
        """The contents as one JSON document."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False, default=str)


def inspect_model(name: str, trusted: Sequence[str]) -> Inspection:
    """Read a model file and describe it.

    Parameters
    ----------
    name : str
        Its path.
    trusted : sequence of str
        Types of other libraries that may be loaded.

    Returns
    -------
    Inspection
        The contents.
    """
    from committee.io import describe_file

    model = load_model(name, trusted)
    about = describe_file(name)
    columns = _describe_columns(model)
    importances = getattr(model, "feature_importances_", None)
    ranked: dict[str, float] = {}
    if importances is not None and len(importances) == len(columns):
        pairs = zip(columns, map(float, importances), strict=True)
        ranked = dict(sorted(pairs, key=lambda pair: -pair[1]))
    return Inspection(
        estimator=about.name or type(model).__name__,
        parameters=about.params,
        columns=columns,
        n_features=about.n_features,
        classes=_list_classes(getattr(model, "classes_", ())),
        importances=ranked,
        scores=_list_scores(model),
        members=[_name_member(dict(row)) for row in getattr(model, "leaderboard_", ())],
        library=about.library,
        stripped=about.stripped,
        n_bytes=about.n_bytes,
    )


def _list_classes(classes: Any) -> tuple[str, ...]:
    """The classes, of several targets with the number of the target before them."""
    if not isinstance(classes, list):
        return tuple(map(str, classes))
    return tuple(f"{k}: {label}" for k, own in enumerate(classes) for label in own)


def _list_scores(model: Any) -> dict[str, float]:
    """Scores of the fit; of several targets one for each."""
    found: dict[str, float] = {}
    for name in _SCORES:
        value = getattr(model, name, None)
        if isinstance(value, float):
            found[name] = value
        elif value is not None:
            found |= {f"{name}of_target_{k}": float(own) for k, own in enumerate(value)}
    return found


def _name_member(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a leaderboard, with its target, if there are several, in the name."""
    return row if "target" not in row else {**row, "name": f"{row['target']}: {row['name']}"}


def _describe_columns(model: Any) -> dict[str, str]:
    width = getattr(model, "n_features_in_", 0)
    names = [str(name) for name in getattr(model, "feature_names_in_", range(width))]
    categories = read_categories(model) or [None] * len(names)
    kinds = ["number" if known is None else f"category of {len(known)} levels" for known in categories]
    inputs = getattr(getattr(model, "_schema", None), "inputs", None)
    if inputs is not None:
        for column, (kind, parts) in enumerate(zip(inputs.kinds, inputs.parts, strict=True)):
            if kind != "number":
                kinds[column] = describe_kind(kind, len(parts))
    return dict(zip(names, kinds, strict=False))


def show_inspection(console: Console, found: Inspection) -> None:
    """Print the contents of a model file.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    found : Inspection
        The contents.
    """
    made = ", ".join(f"{name} {version}" for name, version in found.library.items())
    console.print(f"[bold]{escape(found.estimator)}[/], {show_size(found.n_bytes)}; written with {escape(made)}")
    if found.stripped:
        console.print("Saved for prediction only: no importances and no row counts.")
    if found.n_features is None:
        console.print("The model is not fitted.")
    if found.classes:
        shown = ", ".join(found.classes[:_MOST_COLUMNS]) + (", …" if len(found.classes) > _MOST_COLUMNS else "")
        console.print(f"{len(found.classes)} classes: {escape(shown)}")
    for name, value in found.scores.items():
        console.print(f"{name.rstrip('_').replace('_', ' ')}: {value:.4f}")
    if found.members:
        members = make_text_table("member", ">score, larger is better", ">weight")
        for row in found.members:
            members.add_row(escape(row["name"]), f"{row['score']:.4f} ± {row['error']:.4f}", f"{row['weight']:.2f}")
        console.print()
        console.print(members)
    parameters = make_text_table("parameter", "value")
    for name, value in found.parameters.items():
        parameters.add_row(escape(name), escape(repr(value)))
    console.print()
    console.print(parameters)
    if found.columns:
        columns = make_text_table("column", "type")
        for name, kind in list(found.columns.items())[:_MOST_COLUMNS]:
            columns.add_row(escape(name), kind)
        console.print()
        console.print(columns)
        show_omitted(console, len(found.columns), _MOST_COLUMNS)
    show_importances(console, found.importances)
