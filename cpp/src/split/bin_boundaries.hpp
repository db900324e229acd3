// The boundaries of a histogram one by one, for any accumulator.
#pragma once
#include <bit>

#include "split/histogram.hpp"
#include "split/split_candidate.hpp"

namespace committee {

// Calls look(sum on the left, boundary) for all boundaries, with missing values on the right and
// then on the left; false: there are none. left: room for the sum.
template <class Accumulator, class Look>
bool visit_bin_boundaries(const Accumulator& accumulator, const typename Accumulator::Element* hist,
                          u64 touched, bool has_missing, CellSum<Accumulator>& left, Look&& look) {
  using Element = typename Accumulator::Element;
  const Element* missing = hist + static_cast<std::size_t>(kMissingBin) * accumulator.cell();
  bool varies = false;
  for (int pass = 0; pass < (has_missing ? 2 : 1); ++pass) {
    left.set(accumulator, pass == 1 ? missing : nullptr);
    u32 previous = kNone;
    for (u64 groups = touched; groups; groups &= groups - 1) {
      const u32 first = static_cast<u32>(std::countr_zero(groups)) * 4;
      for (u32 bin = first; bin < first + 4 && bin < kMissingBin; ++bin) {
        const Element* cell = hist + static_cast<std::size_t>(bin) * accumulator.cell();
        if (accumulator.is_empty(cell)) continue;
        if (previous != kNone) {
          varies = true;
          look(left.data(), Boundary{previous, bin, pass == 1, has_missing});
        }
        left.add(accumulator, cell);
        previous = bin;
      }
    }
    if (has_missing && pass == 0 && previous != kNone) {
      varies = true;
      look(left.data(), Boundary{previous, kNone, false, true});
    }
  }
  return varies;
}

}  // namespace committee
