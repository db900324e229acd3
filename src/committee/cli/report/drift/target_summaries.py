"""Summaries of the training table of a model of several targets: the columns once, the rest for each target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from committee.cli.report.drift.training_summary import NOTES_KEY, TrainingSummary, read_summary
from committee.exceptions import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["read_target_summaries", "write_target_notes"]

_SEVERAL_KEY = "training table of several targets"


def write_target_notes(summaries: Sequence[TrainingSummary]) -> dict[str, Any]:
    """The summaries as notes of a model file.

    Parameters
    ----------
    summaries : sequence of TrainingSummary
        One for each target, of the same columns.

    Returns
    -------
    dict
    """
    tables = [one.write_notes()[NOTES_KEY] for one in summaries]
    for table in tables[1:]:
        table["importances"] = [feature["importance"] for feature in table.pop("features")]
    return {_SEVERAL_KEY: tables}


def read_target_summaries(notes: Mapping[str, Any], n_targets: int) -> list[TrainingSummary | None]:
    """The summaries in the notes of a model file.

    Parameters
    ----------
    notes : mapping
        Of the file.
    n_targets : int
        Targets of the model.

    Returns
    -------
    list of TrainingSummary or None
        One for each target; None if there is none, or one of a later version.
    """
    if n_targets == 1:
        return [read_summary(notes)]
    tables = notes.get(_SEVERAL_KEY)
    if tables is None:
        return [None] * n_targets
    try:
        if len(tables) != n_targets:
            raise ValueError(f"it has {len(tables)} targets, and the model {n_targets}")
        features = tables[0]["features"]
        whole = [tables[0], *(_add_features(table, features) for table in tables[1:])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"The summary of the training table in the file cannot be read: {error}.") from None
    return [read_summary({NOTES_KEY: table}) for table in whole]


def _add_features(table: Mapping[str, Any], features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summary of a further target with the columns of the first, and importances of its own."""
    pairs = zip(features, table["importances"], strict=True)
    return {**table, "features": [{**feature, "importance": own} for feature, own in pairs]}
