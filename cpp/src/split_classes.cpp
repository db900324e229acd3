// Split finders of classification: two classes, and any number of classes and outputs.
#include "committee/finder.hpp"

namespace committee {

u32 draw_cut(const FeatureView& view, u32 lo, u32 hi, Rng& rng) {
  const std::vector<double>&low = *view.low, &high = *view.high;
  const double a = low[lo], b = high[hi];
  const double t = a + (b - a) * rng.uniform();
  // The last code whose largest value is at most t; at least lo, below hi.
  const auto first_above = std::upper_bound(high.begin() + lo, high.begin() + hi, t);
  const u32 n_below = static_cast<u32>(first_above - high.begin());
  return std::clamp(n_below == 0 ? 0 : n_below - 1, lo, hi - 1);
}

template <>
std::unique_ptr<SplitFinder<BinaryTally>> make_finder(const BinaryTally& tally,
                                                      const std::string& criterion,
                                                      const FinderOptions& options) {
  return make_criterion_finder<ClassCriteria>(tally, criterion, options);
}

template <>
std::unique_ptr<SplitFinder<ClassTally<u32>>> make_finder(const ClassTally<u32>& tally,
                                                          const std::string& criterion,
                                                          const FinderOptions& options) {
  return make_criterion_finder<ClassCriteria>(tally, criterion, options);
}

template <>
std::unique_ptr<SplitFinder<ClassTally<u64>>> make_finder(const ClassTally<u64>& tally,
                                                          const std::string& criterion,
                                                          const FinderOptions& options) {
  return make_criterion_finder<ClassCriteria>(tally, criterion, options);
}

}  // namespace committee
