// The order of every column and the table in bins, from one sort.
#pragma once
#include "binning.hpp"

namespace committee {

struct SortedTable {
  std::shared_ptr<const Presort> presort;
  std::shared_ptr<const BinnedMatrix> bins;
};

// As presort_columns, and the bins that a BinMapper learns from the table without weights; where it
// learns them from all rows both come from one sort.
SortedTable sort_and_bin(const MatrixView& x, std::span<const u32> n_levels, int max_bins,
                         int n_jobs, InterruptWatch& watch);

}  // namespace committee
