"""Tables that come with the installed packages, and public ones in a folder; nothing here touches a network."""

from committee.datasets.bundled import BUNDLED, BundledTable, load_table
from committee.datasets.stored import STORED, FeatureTable, StoredTable, find_table_file, load_stored_table

__all__ = [
    "BUNDLED",
    "STORED",
    "BundledTable",
    "FeatureTable",
    "StoredTable",
    "find_table_file",
    "load_stored_table",
    "load_table",
]
