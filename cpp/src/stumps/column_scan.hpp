// The best boundary of one numeric column from class weights by bin; with a presort also within the
// bins. Included by stump_search.hpp.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>

#include "committee/binning.hpp"
#include "committee/criteria/all.hpp"
#include "split/split_candidate.hpp"
#include "stumps/boosted_weights.hpp"
#include "stumps/class_scales.hpp"

namespace committee {

// A candidate, and the class weights left of it, not scaled.
struct FoundSplit {
  Candidate best;
  std::vector<u64> left;
  bool beats(const FoundSplit& other) const {
    return best.found() && other.best.loses_to(best.score, best.priority, best.bin);
  }
};

// The histogram of a column: the weight of class k in bin b is slots[k * stride + b].
struct ColumnHistogram {
  const u64* slots = nullptr;
  std::size_t stride = 0;
  u32 n_bins = 0;
};

// The rows of a column by value. Rows of bin b are order[starts[b] .. starts[b + 1]), each with
// kNewValue set if its value is not that of the row before it.
struct ColumnOrder {
  static constexpr u32 kNewValue = 1u << 31;
  const u32* order = nullptr;
  const u32* starts = nullptr;
  const u32* rank = nullptr;  // by row
  const BoostedWeights* weights = nullptr;
  const u32* labels = nullptr;  // by row
};

// A score less what rounding may have added to it: whatever is behind by more is truly behind.
inline double discount_rounding(double score) {
  constexpr double kRounding = 1e-12;
  return score - kRounding * std::abs(score);
}

class ColumnSearch {
 public:
  virtual ~ColumnSearch() = default;
  // `total`: of all rows, scaled; the histograms are not.
  virtual void begin_round(const u64* total, const ClassScales& scales) = 0;
  // The best boundary between bins; the cut is a bin.
  virtual void scan_bins(const ColumnHistogram& histogram, u32 feature, FoundSplit& found) = 0;
  // The best boundary within the bins that may hide one of `least`, if it beats what was found; the
  // cut is a rank. `least` rises as better ones are found.
  virtual void scan_within(const ColumnHistogram& histogram, const ColumnOrder& rows, u32 feature,
                           double& least, FoundSplit& found) = 0;
};

// kFixed: the number of classes where it is known when compiling, else 0.
template <class Criterion, u32 kFixed>
class CriterionSearch final : public ColumnSearch {
 public:
  CriterionSearch(const Criterion& criterion, u32 n_classes)
      : criterion_(criterion),
        n_classes_(n_classes),
        total_(n_classes),
        left_(n_classes),
        scaled_(n_classes),
        right_(n_classes),
        entry_(n_classes),
        corner_(n_classes),
        missing_(n_classes) {}

  void begin_round(const u64* total, const ClassScales& scales) override {
    scales_ = &scales;
    std::copy_n(total, size(), total_.begin());
    weight_ = static_cast<double>(sum(total));
    impurity_term_ = criterion_.impurity_term(total, size(), weight_);
  }

  void scan_bins(const ColumnHistogram& histogram, u32 feature, FoundSplit& found) override {
    const bool has_missing = read_entry(histogram, kMissingBin, missing_);
    for (int pass = 0; pass < (has_missing ? 2 : 1); ++pass) {
      start_left(pass == 1);
      u32 previous = kNone;
      for (u32 bin = 0; bin < histogram.n_bins; ++bin) {
        if (!read_entry(histogram, bin, entry_)) continue;
        const Cut at{feature, previous, bin, pass == 1, has_missing};
        if (previous != kNone) consider(at, score(left_), found);
        for (u32 k = 0; k < size(); ++k) left_[k] += entry_[k];
        previous = bin;
      }
      if (has_missing && pass == 0 && previous != kNone)
        consider({feature, previous, kNone, false, true}, score(left_), found);
    }
  }

  void scan_within(const ColumnHistogram& histogram, const ColumnOrder& rows, u32 feature,
                   double& least, FoundSplit& found) override {
    const bool has_missing = read_entry(histogram, kMissingBin, missing_);
    for (int pass = 0; pass < (has_missing ? 2 : 1); ++pass) {
      start_left(pass == 1);
      for (u32 bin = 0; bin < histogram.n_bins; ++bin) {
        if (!read_entry(histogram, bin, entry_)) continue;
        if (may_hide(least)) {
          scan_rows(rows, bin, {feature, kNone, kNone, pass == 1, has_missing}, least, found);
        } else {
          for (u32 k = 0; k < size(); ++k) left_[k] += entry_[k];
        }
      }
    }
  }

 private:
  using Sums = std::conditional_t<kFixed == 0, std::vector<u64>, std::array<u64, kFixed + 1>>;
  struct Cut {
    u32 feature, cut, next;
    bool missing_left, has_missing;
  };
  // Room for a constructor with a size, whichever Sums is.
  struct Held : Sums {
    explicit Held(u32 n) {
      if constexpr (kFixed == 0) {
        this->resize(n);
      } else {
        this->fill(0);
        (void)n;
      }
    }
  };
  static constexpr double kForbidden = -std::numeric_limits<double>::infinity();
  static constexpr u32 kMostCorners = 4;  // classes whose subsets are looked at one by one

  u32 size() const { return kFixed == 0 ? n_classes_ : kFixed; }
  u64 sum(const u64* counts) const {
    u64 all = 0;
    for (u32 k = 0; k < size(); ++k) all += counts[k];
    return all;
  }
  // False if the entry is empty.
  bool read_entry(const ColumnHistogram& histogram, u32 bin, Held& entry) const {
    u64 any = 0;
    for (u32 k = 0; k < size(); ++k) any |= entry[k] = histogram.slots[k * histogram.stride + bin];
    return any != 0;
  }
  void start_left(bool with_missing) {
    for (u32 k = 0; k < size(); ++k) left_[k] = with_missing ? missing_[k] : 0;
  }

  const Held& scale(const Held& sums) {
    for (u32 k = 0; k < size(); ++k) scaled_[k] = scales_->apply(k, sums[k]);
    return scaled_;
  }

  double score(const Held& unscaled) {
    const Held& left = scale(unscaled);
    const u64 weight = sum(left.data());
    const double wl = static_cast<double>(weight), wr = weight_ - wl;
    if (weight == 0 || !(wr > 0.0)) return kForbidden;
    for (u32 k = 0; k < size(); ++k) right_[k] = total_[k] - left[k];
    const double a = criterion_.impurity_term(left.data(), size(), wl);
    const double b = criterion_.impurity_term(right_.data(), size(), wr);
    return criterion_.score(a, b, impurity_term_, wl, wr);
  }

  // Whether a boundary within the bin may score `least`. Class weights left of it lie in the box
  // that the bin's entry spans, and a convex score is below the highest at the box's corners;
  // strictly so below that of the two corners which are the bin's own boundaries, unless another is
  // as high.
  bool may_hide(double least) {
    if (size() > kMostCorners || std::is_same_v<Criterion, GainRatio>) return true;
    for (u32 corner = 1; corner + 1 < (1u << size()); ++corner) {
      for (u32 k = 0; k < size(); ++k) corner_[k] = left_[k] + ((corner >> k & 1) ? entry_[k] : 0);
      if (may_reach(corner_, least)) return true;
    }
    return false;
  }

  // The rows of a bin in order: every boundary between different values. left_ ends behind the bin.
  void scan_rows(const ColumnOrder& rows, u32 bin, Cut at, double& least, FoundSplit& found) {
    u32 previous = kNone;
    bool is_new = false;
    for (u32 i = rows.starts[bin]; i < rows.starts[bin + 1]; ++i) {
      const u32 row = rows.order[i] & ~ColumnOrder::kNewValue;
      is_new |= (rows.order[i] & ColumnOrder::kNewValue) != 0;
      const u64 weight = (*rows.weights)[row];
      if (weight == 0) continue;
      if (is_new && previous != kNone && may_reach(left_, least)) {
        at.cut = rows.rank[previous];
        at.next = rows.rank[row];
        consider(at, score(left_), found);
        if (found.best.score > least) least = discount_rounding(found.best.score);
      }
      left_[rows.labels[row]] += weight;
      previous = row;
      is_new = false;
    }
  }

  // Whether the score of what is on the left may be `least`: for Gini without a division.
  bool may_reach(const Held& unscaled, double least) {
    if constexpr (std::is_same_v<Criterion, Gini>) {
      const Held& left = scale(unscaled);
      double wl = 0.0, wr = 0.0, left_squares = 0.0, right_squares = 0.0;
      for (u32 k = 0; k < size(); ++k) {
        const double l = static_cast<double>(left[k]), r = static_cast<double>(total_[k] - left[k]);
        wl += l;
        wr += r;
        left_squares += l * l;
        right_squares += r * r;
      }
      return left_squares * wr + right_squares * wl >= discount_rounding(least) * (wl * wr);
    } else {
      return score(unscaled) >= least;
    }
  }

  void consider(const Cut& at, double score, FoundSplit& found) {
    if (!(score > kForbidden) || !found.best.loses_to(score, at.feature, at.cut)) return;
    found.best.score = score;
    found.best.feature = at.feature;
    found.best.priority = at.feature;
    found.best.bin = at.cut;
    found.best.next = at.next;
    found.best.categorical = false;
    found.best.missing_left = at.missing_left;
    found.best.has_missing = at.has_missing;
    found.left.assign(left_.begin(), left_.begin() + size());
  }

  const Criterion criterion_;
  u32 n_classes_;
  const ClassScales* scales_ = nullptr;
  Held total_, left_, scaled_, right_, entry_, corner_, missing_;
  double weight_ = 0.0, impurity_term_ = 0.0;
};

inline std::unique_ptr<ColumnSearch> make_column_search(const std::string& criterion,
                                                        u32 n_classes) {
  std::unique_ptr<ColumnSearch> search;
  const bool known = with_criterion<ClassCriteria>(criterion, [&](auto measure) {
    using Criterion = decltype(measure);
    if (n_classes == 2) {
      search = std::make_unique<CriterionSearch<Criterion, 2>>(measure, n_classes);
    } else {
      search = std::make_unique<CriterionSearch<Criterion, 0>>(measure, n_classes);
    }
  });
  if (!known) throw std::invalid_argument("unknown criterion '" + criterion + "' for classes");
  return search;
}

}  // namespace committee
