"""One door for data: any input becomes a frozen :class:`Dataset`, and below it nothing is checked again."""

from __future__ import annotations

from committee.data.dataset import ClassTarget, Dataset, Schema, ValueTarget
from committee.data.intake import note_columns, take_in, take_in_rows

__all__ = ["ClassTarget", "Dataset", "Schema", "ValueTarget", "note_columns", "take_in", "take_in_rows"]
