// Split finders of classification: two classes, and any number of classes and outputs.
#include "split/split_finder.hpp"

namespace committee {

u32 draw_split_bin(const FeatureView& view, u32 lo, u32 hi) {
  const std::vector<double>&low = *view.low, &high = *view.high;
  const double a = low[lo], b = high[hi];
  const double t = a + (b - a) * scale_unit(view.number);
  // The last code whose largest value is at most t; at least lo, below hi.
  // By halves without a branch: the answer is a coin toss at every step.
  const double* from = high.data() + lo;
  for (u32 n = hi - lo; n > 1;) {
    const u32 half = n / 2;
    from += from[half] <= t ? half : 0;
    n -= half;
  }
  return static_cast<u32>(from - high.data());
}

template <>
std::unique_ptr<SplitFinder<BinaryAccumulator>> make_finder(const BinaryAccumulator& accumulator,
                                                            const std::string& criterion) {
  return make_criterion_finder<ClassCriteria>(accumulator, criterion);
}

template <>
std::unique_ptr<SplitFinder<ClassAccumulator<u32>>> make_finder(
    const ClassAccumulator<u32>& accumulator, const std::string& criterion) {
  return make_criterion_finder<ClassCriteria>(accumulator, criterion);
}

template <>
std::unique_ptr<SplitFinder<ClassAccumulator<u64>>> make_finder(
    const ClassAccumulator<u64>& accumulator, const std::string& criterion) {
  return make_criterion_finder<ClassCriteria>(accumulator, criterion);
}

}  // namespace committee
