"""Data intake: any supported input becomes an immutable :class:`Dataset`; the layers below do not check it again."""

from __future__ import annotations

from committee.data.checks import note_columns
from committee.data.dataset import ClassTarget, Dataset, Schema, ValueTarget
from committee.data.intake import take_in, take_in_rows

__all__ = ["ClassTarget", "Dataset", "Schema", "ValueTarget", "note_columns", "take_in", "take_in_rows"]
