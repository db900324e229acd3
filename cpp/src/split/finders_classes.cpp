// Split finders of classification: two classes, and any number of classes and outputs.
#include "committee/random_split.hpp"
#include "split/criterion_finders.hpp"

namespace committee {

u32 draw_split_bin(const FeatureView& view, u32 lo, u32 hi) {
  return find_random_cut(view.low->data(), view.high->data(), view.number, lo, hi);
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
