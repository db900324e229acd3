#include "tree/fast/random_threshold.hpp"

#include <algorithm>
#include <cmath>

namespace committee {

namespace {

constexpr u32 kNoBin = 0xFFFFFFFFu;      // above the key of any value
constexpr double kMostKey = 4294967040;  // below it even after rounding

}  // namespace

bool RandomThresholds::fits(const ColumnBins& bins) {
  const auto grows = [](const std::vector<double>& values) {
    return std::is_sorted(values.begin(), values.end());
  };
  if (bins.categorical || bins.n_bins == 0 || !grows(bins.low) || !grows(bins.high)) return false;
  const double first = bins.low[0];
  return std::isfinite(first) && std::isfinite(bins.high[bins.n_bins - 1] - first) &&
         bins.high[0] >= first;
}

RandomThresholds::RandomThresholds(const ColumnBins& bins)
    : low_(bins.low.data()), high_(bins.high.data()), n_bins_(bins.n_bins), first_(bins.low[0]) {
  const double range = high_[n_bins_ - 1] - first_;
  // A range too small for a scale has one key for all values: then they are compared themselves.
  scale_ = std::isfinite(kMostKey / range) ? kMostKey / range : 0.0;
  std::fill(std::begin(keys_), std::end(keys_), kNoBin);
  for (u32 bin = 0; bin < n_bins_; ++bin) keys_[bin] = key_of(high_[bin]);
  for (u32 run = 0; run < kKeysTogether; ++run)
    last_keys_[run] = keys_[run * kKeysTogether + kKeysTogether - 1];
}

// Bins whose key is the threshold's: their values decide.
u32 RandomThresholds::count_up(u32 n_left, double threshold) const {
  while (n_left < n_bins_ && high_[n_left] <= threshold) ++n_left;
  return n_left;
}

}  // namespace committee
