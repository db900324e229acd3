// Split finders of regression: criteria over moments, absolute error over medians, log-rank over
// risk tables.
#include "split/absolute_error_finder.hpp"
#include "split/criterion_finders.hpp"
#include "split/log_rank_finder.hpp"

namespace committee {

template <bool kMulti>
std::unique_ptr<SplitFinder<MomentAccumulator<kMulti>>> make_moment_finder(
    const MomentAccumulator<kMulti>& accumulator, const std::string& criterion) {
  if (criterion == AbsoluteError::kName)
    return std::make_unique<AbsoluteErrorFinder<kMulti>>(accumulator);
  return make_criterion_finder<MomentCriteria>(accumulator, criterion);
}

template <>
std::unique_ptr<SplitFinder<MomentAccumulator<false>>> make_finder(
    const MomentAccumulator<false>& accumulator, const std::string& criterion) {
  if (criterion == LogRank::kName) return std::make_unique<LogRankFinder>(accumulator);
  return make_moment_finder<false>(accumulator, criterion);
}

template <>
std::unique_ptr<SplitFinder<MomentAccumulator<true>>> make_finder(
    const MomentAccumulator<true>& accumulator, const std::string& criterion) {
  return make_moment_finder<true>(accumulator, criterion);
}

}  // namespace committee
