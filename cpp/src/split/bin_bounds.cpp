#include "split/bin_bounds.hpp"

namespace committee {

BinRanks find_bin_ranks(const ColumnBins& bins, const std::vector<double>& values) {
  BinRanks ranks;
  std::fill(std::begin(ranks.starts), std::end(ranks.starts), static_cast<u32>(values.size()));
  ranks.starts[0] = 0;
  for (std::size_t b = 0; b < bins.thresholds.size(); ++b) {
    const auto from = values.begin() + ranks.starts[b];
    ranks.starts[b + 1] =
        static_cast<u32>(std::upper_bound(from, values.end(), bins.thresholds[b]) - values.begin());
  }
  return ranks;
}

}  // namespace committee
