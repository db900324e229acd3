"""Description and load of the machine. The code is part of the library, for `committee bench`."""

from committee.cli.bench.machine import QUIET, describe_machine, list_cores, measure_load, occupy_core

__all__ = ["QUIET", "describe_machine", "list_cores", "measure_load", "occupy_core", "show_machine"]


def show_machine() -> str:
    """The description in a line of text."""
    return ", ".join(f"{name} {value}" for name, value in describe_machine().items())
