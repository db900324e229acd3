"""The benchmark data. Its code is part of the library, for `committee bench`."""

from committee.cli.bench.tables import N_COLUMNS, make_problem, make_sparse, make_wide, score_rows
from committee.cli.bench.tables import BenchmarkData as Problem
from committee.cli.bench.tables import make_feature_table as make_table

__all__ = ["N_COLUMNS", "Problem", "make_problem", "make_sparse", "make_table", "make_wide", "score_rows"]
