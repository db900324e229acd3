"""Tables in blocks of rows that are read again and again: files, folders, lazy frames, iterators."""

from committee.data.sources.protocol import BlockSource
from committee.data.sources.recognition import is_source, open_blocks

__all__ = ["BlockSource", "is_source", "open_blocks"]
