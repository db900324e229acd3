// Split finders of regression: criteria over moments, and absolute error over medians.
#include "split/absolute_error_finder.hpp"
#include "split/split_finder.hpp"

namespace committee {

template <bool kMulti>
std::unique_ptr<SplitFinder<MomentTally<kMulti>>> make_moment_finder(
    const MomentTally<kMulti>& tally, const std::string& criterion) {
  if (criterion == AbsoluteError::kName) return std::make_unique<MedianFinder<kMulti>>(tally);
  return make_criterion_finder<MomentCriteria>(tally, criterion);
}

template <>
std::unique_ptr<SplitFinder<MomentTally<false>>> make_finder(const MomentTally<false>& tally,
                                                             const std::string& criterion) {
  return make_moment_finder<false>(tally, criterion);
}

template <>
std::unique_ptr<SplitFinder<MomentTally<true>>> make_finder(const MomentTally<true>& tally,
                                                            const std::string& criterion) {
  return make_moment_finder<true>(tally, criterion);
}

}  // namespace committee
