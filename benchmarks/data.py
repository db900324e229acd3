"""The tables to measure on; what makes them ships with the library, for `committee bench`."""

from committee.cli.bench.tables import N_COLUMNS, Problem, make_problem, make_sparse, make_table, make_wide, score_rows

__all__ = ["N_COLUMNS", "Problem", "make_problem", "make_sparse", "make_table", "make_wide", "score_rows"]
