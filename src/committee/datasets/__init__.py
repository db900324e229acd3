"""Tables that come with the installed packages; nothing here touches a network."""

from committee.datasets.bundled import BUNDLED, BundledTable, load_table

__all__ = ["BUNDLED", "BundledTable", "load_table"]
