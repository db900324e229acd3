"""Tables in blocks of rows: agreement of the blocks, encoding, and the table that stands where an array stands."""

from committee.data.blocks.binned_file import BinnedFile, BinnedRows
from committee.data.blocks.block_table import BlockTable
from committee.data.blocks.opened import OpenedSource

__all__ = ["BinnedFile", "BinnedRows", "BlockTable", "OpenedSource"]
