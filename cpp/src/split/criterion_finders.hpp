// The finder of a criterion, by its name.
#pragma once
#include "split/split_finder.hpp"

namespace committee {

template <class List, class Accumulator>
std::unique_ptr<SplitFinder<Accumulator>> make_criterion_finder(const Accumulator& accumulator,
                                                                const std::string& criterion) {
  std::unique_ptr<SplitFinder<Accumulator>> finder;
  const bool known = with_criterion<List>(criterion, [&](auto measure) {
    finder =
        std::make_unique<CriterionFinder<Accumulator, decltype(measure)>>(accumulator, measure);
  });
  if (!known) throw std::invalid_argument("unknown criterion '" + criterion + "' for this target");
  return finder;
}

}  // namespace committee
