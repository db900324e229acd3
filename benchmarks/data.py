"""The tables to measure on; what makes them ships with the library, for `committee bench`."""

from committee.cli.bench.tables import (
    N_COLUMNS,
    BenchmarkData,
    make_feature_table,
    make_problem,
    make_sparse,
    make_wide,
    score_rows,
)

__all__ = ["N_COLUMNS", "BenchmarkData", "make_feature_table", "make_problem", "make_sparse", "make_wide", "score_rows"]
