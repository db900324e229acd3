#include "split/threshold.hpp"

#include <algorithm>

namespace committee {

void settle_split_bin(Candidate& best, const ColumnBins& bins) {
  if (best.categorical || best.next == kNone) return;
  best.bin = settle_split_bin(best.bin, best.next, bins);
}

u32 settle_split_bin(u32 cut, u32 next, const ColumnBins& bins) {
  if (next == cut + 1) return cut;
  const double middle = bins.high[cut] / 2 + bins.low[next] / 2;
  // The first threshold that is not below the middle, or the last: halving without a branch.
  const double* const begin = bins.thresholds.data();
  const double* from = begin + cut;
  for (std::size_t n = next - cut; n > 1;) {
    const std::size_t half = n / 2;
    from += half & (std::size_t{0} - std::size_t{from[half - 1] < middle});
    n -= half;
  }
  // The one before it, if that is no farther; there always is one, of which the first is not meant.
  const u32 at = static_cast<u32>(from - begin);
  const double below = begin[at - (at > cut ? 1 : 0)];
  return at - static_cast<u32>((at > cut) & (middle - below <= begin[at] - middle));
}

GrownTree::Split describe_split(const Candidate& best, const ColumnBins& bins,
                                const Presort* presort) {
  GrownTree::Split split;
  split.feature = best.feature;
  split.categorical = best.categorical;
  split.missing_left = best.missing_left;
  if (best.categorical) {
    // Levels that do not occur in the node follow the missing values.
    std::vector<u32> left((bins.n_bins + 31) / 32, best.missing_left ? ~0u : 0u);
    for (const u32 code : best.left_codes) left[code / 32] |= 1u << (code % 32);
    for (const u32 code : best.right_codes) left[code / 32] &= ~(1u << (code % 32));
    const u32 spare = bins.n_bins % 32;
    if (spare != 0) left.back() &= (1u << spare) - 1;
    split.left_categories = std::make_shared<const std::vector<u32>>(std::move(left));
  } else if (presort && best.next != kNone) {
    const auto& values = presort->values[best.feature];
    split.threshold = choose_threshold(values[best.bin], values[best.next]);
  } else {
    split.threshold = threshold_of(best, bins);
  }
  return split;
}

}  // namespace committee
