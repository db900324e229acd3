"""The machine; what reads it ships with the library, for `committee bench`."""

from committee.cli.bench.machine import QUIET, describe_machine, list_cores, measure_load, occupy_core

__all__ = ["QUIET", "describe_machine", "list_cores", "measure_load", "occupy_core"]
