// Which side of a split a row goes to, by the code of its value: a bin, the rank of a value, or a
// category. Built once for a split; the test itself is a comparison or a look-up.
#pragma once
#include <algorithm>

#include "committee/binning.hpp"
#include "split/split_candidate.hpp"

namespace committee {

class SplitPredicate {
 public:
  // is_rank: codes are ranks of values (exact splits). Codes of wide categories and ranks mark
  // missing values by kMissingCode, bins by kMissingBin.
  SplitPredicate(const Candidate& best, const ColumnBins& bins, bool is_rank)
      : bin_(best.bin), missing_left_(best.missing_left) {
    if (best.categorical) {
      form_ = bins.wide ? Form::codes : Form::bins;
    } else if (is_rank) {
      form_ = Form::ranks;
      return;
    } else {
      form_ = best.has_missing ? Form::bins : Form::threshold;
    }
    if (form_ == Form::threshold) return;
    if (bins.wide) {
      wide_.assign(bins.n_bins, 0);
      for (const u32 code : best.left_codes) wide_[code] = 1;
      return;
    }
    for (u32 bin = 0; bin < kMissingBin; ++bin) narrow_[bin] = !best.categorical && bin <= best.bin;
    if (best.categorical) {
      for (const u32 code : best.left_codes) narrow_[code] = 1;
    }
    narrow_[kMissingBin] = best.missing_left;
  }

  // Calls use(goes_left), where goes_left(code) is the shortest test that does: of bytes, which are
  // bins, and of codes of four bytes, which are ranks or wide categories.
  template <class Use>
  auto visit_bins(Use&& use) const {
    const u32 bin = bin_;
    const u8* const is_left = narrow_;
    if (form_ == Form::bins) return use([=](u32 code) { return is_left[code] != 0; });
    return use([=](u32 code) { return code <= bin; });
  }
  template <class Use>
  auto visit_codes(Use&& use) const {
    const u32 bin = bin_;
    const bool missing_left = missing_left_;
    const u8* const is_left = wide_.data();
    if (form_ == Form::codes)
      return use(
          [=](u32 code) { return code == kMissingCode ? missing_left : is_left[code] != 0; });
    return use([=](u32 rank) { return rank <= bin || (missing_left && rank == kMissingCode); });
  }

 private:
  enum class Form { threshold, bins, ranks, codes };
  Form form_;
  u32 bin_;
  bool missing_left_;
  // Of every code, but for comparisons: whether it goes left.
  u8 narrow_[kHistogramBins];
  std::vector<u8> wide_;
};

}  // namespace committee
