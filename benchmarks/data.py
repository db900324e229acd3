"""The benchmark data. Its code is part of the library, for `committee bench`."""

from committee.cli.bench.tables import N_COLUMNS, Problem, make_problem, make_sparse, make_table, make_wide, score_rows

__all__ = ["N_COLUMNS", "Problem", "make_problem", "make_sparse", "make_table", "make_wide", "score_rows"]
