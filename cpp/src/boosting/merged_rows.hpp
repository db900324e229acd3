// Rows of leaves that were split in vain: the lists of both children become one again.
#pragma once
#include <span>

#include "boosting/row_records.hpp"

namespace committee {

// Two ascending lists, one behind the other; no row is in both.
struct ChildRows {
  RowItem* rows;
  RowItem* scratch;  // as many
  std::size_t n_left, n;
};

// Makes each an ascending list in its place.
void merge_rows(std::span<const ChildRows> lists, int n_threads);

}  // namespace committee
