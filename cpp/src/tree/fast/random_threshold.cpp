#include "tree/fast/random_threshold.hpp"

#include <algorithm>
#include <cmath>

namespace committee {

namespace {

constexpr u32 kNoBin = 0xFFFFFFFFu;      // above the key of any value
constexpr double kMostKey = 4294967040;  // below it even after rounding

}  // namespace

RandomThresholds::RandomThresholds(const ColumnBins& bins)
    : low_(bins.low.data()), high_(bins.high.data()), n_bins_(bins.n_bins) {
  const auto grows = [](const std::vector<double>& values) {
    return std::is_sorted(values.begin(), values.end());
  };
  if (bins.categorical || n_bins_ == 0 || !grows(bins.low) || !grows(bins.high)) return;
  first_ = low_[0];
  const double range = high_[n_bins_ - 1] - first_;
  if (!std::isfinite(first_) || !std::isfinite(range) || high_[0] < first_) return;
  is_usable_ = true;
  // A range too small for a scale has one key for all values: then they are compared themselves.
  scale_ = std::isfinite(kMostKey / range) ? kMostKey / range : 0.0;
  std::fill(std::begin(keys_), std::end(keys_), kNoBin);
  for (u32 bin = 0; bin < n_bins_; ++bin) keys_[bin] = key_of(high_[bin]);
  for (u32 run = 0; run < kWidth; ++run) last_keys_[run] = keys_[run * kWidth + kWidth - 1];
}

// Bins whose key is the threshold's: their values decide.
u32 RandomThresholds::count_up(u32 n_left, double threshold) const {
  while (n_left < n_bins_ && high_[n_left] <= threshold) ++n_left;
  return n_left;
}

}  // namespace committee
