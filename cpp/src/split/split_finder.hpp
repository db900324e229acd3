// The split finder for criteria that are sums over children: one template over accumulator and
// criterion, instantiated in finders_<family>.cpp.
#pragma once
#include <algorithm>

#include "base/recompiled.hpp"
#include "committee/criteria/all.hpp"
#include "committee/entropy_screen.hpp"
#include "split/bin_boundaries.hpp"
#include "split/bin_bounds.hpp"
#include "split/categorical_order.hpp"
#include "split/gini_binary_simd.hpp"
#include "split/gini_multiclass.hpp"
#include "split/histogram.hpp"
#include "split/listed_boundaries.hpp"
#include "split/sorted_sweep.hpp"
#include "split/split_candidate.hpp"
#include "split/tiny_nodes.hpp"

namespace committee {

template <class Accumulator, class Criterion>
class CriterionFinder final
    : public BoundsFinder<CriterionFinder<Accumulator, Criterion>, Accumulator, Criterion> {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;
  using Cells = std::span<const CategoryCell<Element>>;

  CriterionFinder(const Accumulator& accumulator, const Criterion& criterion)
      : accumulator_(accumulator),
        criterion_(criterion),
        left_(accumulator.cell()),
        right_(accumulator.cell()),
        total_(accumulator.cell()),
        best_left_(accumulator.cell()),
        order_(accumulator),
        gini_multiclass_(accumulator) {}

  void begin_node(const Element* total, const NodeLimits& limits) override {
    std::copy_n(total, accumulator_.cell(), total_.begin());
    limits_ = limits;
    order_.set_rare_weight(limits.rare_weight);
    total_weight_ = accumulator_.weight(total);
    if constexpr (kUsesGiniMulticlass) gini_multiclass_.begin_node(total_.data(), total_weight_);
    if constexpr (kTakesLogs) is_small_ = total_weight_ <= SmallLogs::kMost;
    if constexpr (kScreens) {
      screens_ =
          !is_small_ && total_weight_ < EntropyScreen::kMostWeight && accumulator_.fits_screen();
      if (screens_)
        error_ = EntropyScreen::error(total_weight_,
                                      Accumulator::kFixedCell > 0 ? 2 : accumulator_.cell());
    }
    total_impurity_term_ = measure_impurity_term(total, total_weight_);
    if (accumulator_.counted) total_count_ = accumulator_.count(total);
    // Weights are integers >= 1, so every boundary between bins that occur satisfies these limits.
    unlimited_ = !limits.bounded && limits.min_samples_leaf <= 1 && limits.min_weight_leaf <= 1.0;
  }

  // Not inlined into scan_run: it would be compiled twice for each criterion.
  COMMITTEE_NOINLINE bool scan_bins(const Element* hist, u64 touched, const FeatureView& view,
                                    Candidate& best) override {
    const Element* missing = hist + static_cast<std::size_t>(kMissingBin) * accumulator_.cell();
    const bool has_missing = (touched >> 63) != 0 && !accumulator_.is_empty(missing);
    if constexpr (Accumulator::kFixedCell > 0) {
      if (unlimited_) return scan_all_boundaries(hist, touched, has_missing, view, best);
    }
    if constexpr (kUsesGiniMulticlass) {
      if (unlimited_ && accumulator_.outputs.size() == 1)
        return gini_multiclass_.scan_bins({hist, touched, has_missing}, view, best,
                                          best_left_.data());
    }
    if constexpr (kScreens && Accumulator::kKind == AccumulatorKind::classes) {
      if (unlimited_ && screens_) return scan_screened(hist, touched, has_missing, view, best);
    }
    return visit_bins(hist, touched, has_missing, [&](const Element* left, const Boundary& at) {
      consider(left, view, at, best);
    });
  }

  void scan_run(Element* hist, const u64* touched, std::span<const FeatureView> views,
                Candidate& best, u8* varies) override {
    const std::size_t feature_cells =
        static_cast<std::size_t>(kHistogramBins) * accumulator_.cell();
    if constexpr (kUsesGiniSimd) {
      const auto score = [this](const Element* left) { return score_boundary(left); };
      if (unlimited_ && gini_simd_.knows({hist, touched}, views.size(), total_weight_))
        return call_recompiled([&] {
          gini_simd_.scan({hist, touched}, views, total_[0], score, {best, best_left_.data()},
                          varies);
        });
    }
    for (std::size_t k = 0; k < views.size(); ++k, hist += feature_cells) {
      varies[k] = scan_bins(hist, touched[k], views[k], best);
      clear_touched(hist, touched[k], accumulator_.cell());
    }
  }

  // Of splits into pure children, while all that is divided is a whole number below 2^53.
  double best_possible() const override {
    const double w = total_weight_;
    if constexpr (kUsesGiniSimd) {
      const double p = accumulator_.positive(total_.data());
      if (!limits_.bounded && w < 0x1.0p13) return p * (w - p);
    } else if constexpr (kUsesGiniMulticlass) {
      if (!limits_.bounded && w < 0x1.0p26 && accumulator_.outputs.size() == 1) return w;
    }
    return -kForbidden;
  }

  std::size_t most_few() const override {
    if (!unlimited_) return 0;
    if constexpr (kUsesGiniMulticlass && !kSweepsClasses) return 0;
    if constexpr (Accumulator::kKind == AccumulatorKind::classes)
      return accumulator_.outputs.size() == 1 && !accumulator_.counted ? kFewClassRows : 0;
    return Accumulator::kFixedCell > 0 ? kFewRows : 0;
  }

  bool scan_few(std::span<const u16> keyed, const Item* items, const FeatureView& view,
                Candidate& best) override {
    if constexpr (kSweepsClasses) {
      return gini_multiclass_.scan_few(keyed, items, view, best, best_left_.data());
    } else {
      CellSum<Accumulator> sum(accumulator_, left_);
      Element* const left = sum.data();
      [[maybe_unused]] double bar = set_bar(best.score);
      return scan_boundaries(
          keyed, [&] { sum.set(accumulator_, nullptr); },
          [&](u16 key) { accumulator_.add(left, items[key & 0xFF]); },
          [&](const Boundary& at) {
            if (falls_short(left, bar)) return;
            const double score = score_boundary(left);
            if (!(score > kForbidden) || !best.loses_to(score, view.priority, at.bin)) return;
            std::copy_n(left, accumulator_.cell(), best_left_.begin());
            take_boundary(best, score, view, at);
            bar = set_bar(score);
          });
    }
  }

  void take_single(std::span<const SingleBoundary> cuts, const Element* sums,
                   Candidate& best) override {
    for (const SingleBoundary& cut : cuts)
      consider(sums + cut.lane * accumulator_.cell(), cut.view, cut.at, best);
  }

  void scan_lists(const RowLists& lists, u64& varying, Candidate& best) override {
    if constexpr (kScoresSums) {
      const auto score = [this](const Element* left) { return score_boundary(left); };
      if (lists.n <= RowLists::kFewRows)
        return FewRowsScan(lists, total_.data(), score, best_left_.data()).scan(best);
      call_recompiled(
          [&] { ListScan(lists, total_.data(), score, best_left_.data()).scan(varying, best); });
    } else {
      SplitFinder<Accumulator>::scan_lists(lists, varying, best);
    }
  }

  u32 take_best_lane(std::span<const Element> sums, double& score) override {
    if constexpr (kHasRatios) {
      const double total_p = accumulator_.positive(total_.data());
      double scores[kBatch];
      for (std::size_t k = 0; k < sums.size(); ++k) {
        scores[k] = criterion_.score_binary(
            accumulator_.weight(&sums[k]), accumulator_.positive(&sums[k]), total_weight_, total_p);
      }
      u32 lane = kNone;
      for (u32 k = 0; k < sums.size(); ++k) {
        // An empty side has no score (0 / 0), which is not larger.
        const bool is_larger = scores[k] > score;
        lane = is_larger ? k : lane;
        score = is_larger ? scores[k] : score;
      }
      if (lane != kNone) best_left_[0] = sums[lane];
      return lane;
    } else {
      return SplitFinder<Accumulator>::take_best_lane(sums, score);
    }
  }

  bool scan_sorted(const SortedRows& rows, const Item* items, const FeatureView& view,
                   Candidate& best) override {
    if constexpr (kSweepsClasses) {
      if (unlimited_ && accumulator_.outputs.size() == 1 && !accumulator_.counted)
        return gini_multiclass_.scan_sorted(rows, items, view, best, best_left_.data());
    }
    double bar = unlimited_ ? set_bar(best.score) : kForbidden;
    const auto look = [&](const Element* sum, const Boundary& at) {
      if (falls_short(sum, bar)) return;
      consider(sum, view, at, best);
      if (unlimited_) bar = set_bar(best.score);
    };
    if constexpr (kSweepsBlocks) {
      if (unlimited_ && rows.n_missing == 0 && rows.only_bin == kNone)
        return sweep_sorted(
            accumulator_, rows.keyed, items,
            [&](const auto& block, std::size_t n) { return may_win(block, n, bar); }, look);
    }
    CellSum<Accumulator> left(accumulator_, left_);
    return scan_sorted_boundaries(
        rows, [&] { left.set(accumulator_, nullptr); },
        [&](u32 row) { accumulator_.add(left.data(), items[row]); },
        [&](const Boundary& at) { look(left.data(), at); });
  }

  bool scan_categories(Cells cells, bool random, const FeatureView& view,
                       Candidate& best) override {
    if (cells.size() < 2) return false;
    if (random) {
      order_.shuffle(cells, view.number);
    } else {
      order_.sort(cells, total_.data());
    }
    CellSum<Accumulator> left(accumulator_, left_);
    left.set(accumulator_, nullptr);
    for (std::size_t k = 0; k + 1 < order_.size(); ++k) {
      left.add(accumulator_, cells[order_[k]].cell);
      if (random ? k + 1 != order_.random_size() : !order_.cuts_after(k)) continue;
      const double score = evaluate(left.data(), 0);
      if (score > kForbidden && best.loses_to(score, view.priority, static_cast<u32>(k))) {
        std::copy_n(left.data(), accumulator_.cell(), best_left_.begin());
        order_.take_prefix(cells, k, score, view, best);
      }
    }
    return true;
  }

  double measure_decrease(const Candidate&) override {
    const Element* left = best_left_.data();
    for (u32 s = 0; s < accumulator_.cell(); ++s) right_[s] = total_[s] - left[s];
    const double decrease =
        measure_impurity_term(left, accumulator_.weight(left)) +
        measure_impurity_term(right_.data(), accumulator_.weight(right_.data())) -
        total_impurity_term_;
    return decrease > 0.0 ? decrease : 0.0;
  }

  const Element* best_left() const override { return best_left_.data(); }

 private:
  friend BoundsFinder<CriterionFinder, Accumulator, Criterion>;
  static constexpr bool kUsesGiniMulticlass =
      Accumulator::kKind == AccumulatorKind::classes && std::is_same_v<Criterion, Gini>;
  // Gini over the classes of one output, whose squares are exact integers.
  static constexpr bool kSweepsClasses = Accumulator::kKind == AccumulatorKind::classes &&
                                         sizeof(Element) == 4 && std::is_same_v<Criterion, Gini>;
  // Gini over two classes, by GiniBinarySimd.
  static constexpr bool kUsesGiniSimd =
      Accumulator::kKind == AccumulatorKind::binary && std::is_same_v<Criterion, Gini>;
  // Sums of x log2 x over whole weights, which SmallLogs has where they are small; and no other
  // function of them.
  static constexpr bool kTakesLogs = (Accumulator::kKind == AccumulatorKind::binary ||
                                      std::is_same_v<Accumulator, ClassAccumulator<u32>>) &&
                                     std::is_base_of_v<Entropy, Criterion>;
  static constexpr bool kScreens = kTakesLogs && std::is_same_v<Criterion, Entropy>;
  // Measured: below, sorting rows beats histograms of their bins.
  static constexpr std::size_t kFewClassRows = kSweepsClasses ? 256 : 64,
                               kFewRows = kUsesGiniSimd ? 8 : 16;
  static_assert(kFewClassRows <= kMostFew && kFewRows <= kMostFew);

  // Calls look(sum on the left, boundary) for all boundaries of a histogram; false: there are none.
  template <class Look>
  bool visit_bins(const Element* hist, u64 touched, bool has_missing, Look&& look) {
    CellSum<Accumulator> left(accumulator_, left_);
    return visit_bin_boundaries(accumulator_, hist, touched, has_missing, left, look);
  }

  // scan_bins by EntropyScreen: most features have no boundary that may win.
  bool scan_screened(const Element* hist, u64 touched, bool has_missing, const FeatureView& view,
                     Candidate& best) {
    u32 n = 0;
    float most = std::numeric_limits<float>::lowest();
    visit_bins(hist, touched, has_missing, [&](const Element* left, const Boundary&) {
      estimates_[n] = EntropyScreen::estimate(left, total_.data(), accumulator_.cell() / 4);
      most = std::max(most, estimates_[n++]);
    });
    const float bound = EntropyScreen::bound(best.score, most, error_);
    if (n == 0 || most < bound) return n > 0;
    n = 0;
    return visit_bins(hist, touched, has_missing, [&](const Element* left, const Boundary& at) {
      if (estimates_[n++] >= bound) consider(left, view, at, best);
    });
  }

  // scan_bins where no limit can forbid a boundary.
  bool scan_all_boundaries(const Element* hist, u64 touched, bool has_missing,
                           const FeatureView& view, Candidate& best) {
    const Element* missing = hist + static_cast<std::size_t>(kMissingBin) * Accumulator::kFixedCell;
    u32 n = list_.fill(hist, touched);
    if (has_missing) --n;  // the missing bin comes last; its entry is the sum of all values
    bool varies = n > 1;
    if (n > 1) take_best_listed(1, n, nullptr, has_missing, view, best);
    if (has_missing && n > 0) {
      varies = true;
      take_best_listed(n, n + 1, nullptr, true, view, best);
      if (n > 1) take_best_listed(1, n, missing, true, view, best);
    }
    return varies;
  }

  // Scores the listed boundaries [from, to), with the missing cell, if any, on the left.
  void take_best_listed(u32 from, u32 to, const Element* missing, bool has_missing,
                        const FeatureView& view, Candidate& best) {
    const auto score = [this](const Element* left) { return score_boundary(left); };
    u32 at = from;
    double most = kForbidden;
    list_.choose(from, to, missing);
    if constexpr (kHasRatios) {
      most = list_.find_best_ratio(criterion_, total_[0], best.score, at);
    } else if constexpr (kScreens) {
      most = screens_ ? list_.find_best_screened(score, total_[0], error_, best.score, at)
                      : list_.find_best(score, at);
    } else {
      most = list_.find_best(score, at);
    }
    if (!(most > kForbidden) || most < best.score) return;
    const u32 cut = list_.bin(at - 1);
    if (!best.loses_to(most, view.priority, cut)) return;
    list_.copy_left(at, best_left_.data());
    const bool values_left = has_missing && missing == nullptr && list_.bin(at) == kMissingBin;
    take_boundary(best, most, view,
                  {cut, values_left ? kNone : list_.bin(at), missing != nullptr, has_missing});
  }

  // Two classes, and a criterion that is one quotient.
  static constexpr bool kHasRatios =
      Accumulator::kKind == AccumulatorKind::binary &&
      requires(const Criterion& c) { c.ratio_binary(0.0, 0.0, 0.0, 0.0); };

  // One output, and a criterion that scores both sides at once.
  static constexpr bool kScoresSums =
      Accumulator::kKind == AccumulatorKind::moments && Accumulator::kFixedCell > 0 &&
      requires(const Criterion& c) { c.score_sums(0.0, 0.0, 0.0, 0.0); };

  double score_sums(const Element* left, double wl, double wr) const {
    return criterion_.score_sums(static_cast<double>(left[1]),
                                 static_cast<double>(total_[1] - left[1]), wl, wr);
  }

  static constexpr bool kSweepsBlocks =
      kHasRatios || kScoresSums || (kScreens && Accumulator::kKind == AccumulatorKind::binary);

  // Whether a product or an estimate shows that a split that no limit forbids cannot win.
  bool falls_short(const Element* left, double bar) const {
    if constexpr (kHasRatios) {
      const auto ratio =
          criterion_.ratio_binary(accumulator_.weight(left), accumulator_.positive(left),
                                  total_weight_, accumulator_.positive(total_.data()));
      return ratio.dividend < bar * ratio.divisor;
    }
    if constexpr (kScoresSums) {
      const double wl = accumulator_.weight(left), wr = total_weight_ - wl;
      return criterion_.dividend_sums(static_cast<double>(left[1]),
                                      static_cast<double>(total_[1] - left[1]), wl,
                                      wr) < bar * (wl * wr);
    }
    if constexpr (kScreens && Accumulator::kKind == AccumulatorKind::classes) {
      return screens_ &&
             EntropyScreen::estimate(left, total_.data(), accumulator_.cell() / 4) <
                 EntropyScreen::bound(bar, std::numeric_limits<float>::lowest(), error_);
    }
    (void)left, (void)bar;
    return false;
  }

  // Whether any of some does not.
  bool may_win(const SweptBlock<Accumulator>& block, std::size_t n, double bar) const {
    if constexpr (kScreens) {
      return !screens_ || EntropyScreen::may_reach({block.sums[0], n}, total_[0], error_, bar);
    } else {
      return block.any_of(n, [&](const Element* left) { return !falls_short(left, bar); });
    }
  }

  // Score of a split that no limit forbids.
  double score_boundary(const Element* left) {
    const double wl = accumulator_.weight(left), wr = total_weight_ - wl;
    if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
      if constexpr (requires { criterion_.score_binary(wl, wl, wl, wl); }) {
        return criterion_.score_binary(wl, accumulator_.positive(left), total_weight_,
                                       accumulator_.positive(total_.data()));
      }
    }
    if constexpr (kScoresSums) return score_sums(left, wl, wr);
    Element own[Accumulator::kFixedCell == 0 ? 1 : Accumulator::kFixedCell];
    Element* const right = Accumulator::kFixedCell == 0 ? right_.data() : own;
    for (u32 s = 0; s < accumulator_.cell(); ++s) right[s] = total_[s] - left[s];
    const double a = measure_impurity_term(left, wl), b = measure_impurity_term(right, wr);
    if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
      return a + b;
    } else {
      return criterion_.score(a, b, total_impurity_term_, wl, wr);
    }
  }

  double measure_impurity_term(const Element* sum, double weight) const {
    if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
      const double p = accumulator_.positive(sum);
      if constexpr (kTakesLogs) {
        if (is_small_) {
          const double* logs = small_logs_ + SmallLogs::row_of(static_cast<u32>(*sum));
          return logs[static_cast<u32>(*sum) - (*sum >> 32)] + logs[*sum >> 32];
        }
      }
      const double counts[2] = {weight - p, p};
      return criterion_.impurity_term(counts, 2, weight);
    } else if constexpr (Accumulator::kKind == AccumulatorKind::classes) {
      double term = 0.0;
      if constexpr (kTakesLogs) {
        if (is_small_ && accumulator_.outputs.size() == 1) {
          const double* logs = small_logs_ + SmallLogs::row_of(static_cast<u32>(weight));
          for (u32 k = 0; k < accumulator_.n_elements; ++k) term += logs[sum[k]];
          return term;
        }
      }
      for (std::size_t o = 0; o < accumulator_.outputs.size(); ++o) {
        term += criterion_.impurity_term(sum + accumulator_.offsets[o], accumulator_.outputs[o],
                                         weight);
      }
      return term / static_cast<double>(accumulator_.outputs.size());
    } else {
      double term = 0.0;
      for (u32 o = 1; o < accumulator_.cell(); ++o) {
        term += criterion_.impurity_term(static_cast<double>(sum[o]), weight);
      }
      return term;
    }
  }

  bool is_monotone(const Element* left, double left_weight, double right_weight,
                   i32 direction) const {
    const double a = measure_level(accumulator_, left, left_weight);
    const double b = measure_level(accumulator_, right_.data(), right_weight);
    return a >= limits_.lower && a <= limits_.upper && b >= limits_.lower && b <= limits_.upper &&
           (b - a) * direction >= 0.0;
  }

  // Score of the split with that sum on the left; kForbidden if the limits do not allow it.
  double evaluate(const Element* left_sum, i32 direction) {
    const double wl = accumulator_.weight(left_sum), wr = total_weight_ - wl;
    if (wl < limits_.min_weight_leaf || wr < limits_.min_weight_leaf) return kForbidden;
    if (limits_.min_samples_leaf > 1) {
      const u32 count = accumulator_.count(left_sum);
      if (count < limits_.min_samples_leaf || total_count_ - count < limits_.min_samples_leaf) {
        return kForbidden;
      }
    }
    if (!limits_.bounded) return score_boundary(left_sum);
    for (u32 s = 0; s < accumulator_.cell(); ++s) right_[s] = total_[s] - left_sum[s];
    if (!is_monotone(left_sum, wl, wr, direction)) return kForbidden;
    if constexpr (kScoresSums) return score_sums(left_sum, wl, wr);
    const double left = measure_impurity_term(left_sum, wl),
                 right = measure_impurity_term(right_.data(), wr);
    if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
      return left + right;
    } else {
      return criterion_.score(left, right, total_impurity_term_, wl, wr);
    }
  }

  void consider(const Element* left, const FeatureView& view, const Boundary& at, Candidate& best) {
    const double score = evaluate(left, view.monotonic);
    if (!(score > kForbidden) || !best.loses_to(score, view.priority, at.bin)) return;
    std::copy_n(left, accumulator_.cell(), best_left_.begin());
    take_boundary(best, score, view, at);
    if (limits_.bounded) {
      const double wl = accumulator_.weight(left);
      best.middle = measure_level(accumulator_, left, wl) / 2 +
                    measure_level(accumulator_, right_.data(), total_weight_ - wl) / 2;
    }
  }

  const Accumulator& accumulator_;
  const Criterion criterion_;
  NodeLimits limits_;
  std::vector<Element> left_, right_, total_, best_left_;
  bool unlimited_ = false;
  // kTakesLogs: whether all weights of the node are in the table; kScreens: whether larger ones are
  // estimated, and how far off that may be.
  bool is_small_ = false, screens_ = false;
  const double* small_logs_ = kTakesLogs ? SmallLogs::get() : nullptr;
  float error_ = 0.0f;
  float estimates_[kScreens && Accumulator::kFixedCell == 0 ? 2 * kHistogramBins : 1];
  struct NoList {};
  std::conditional_t<(Accumulator::kFixedCell > 0), ListedBoundaries<Accumulator>, NoList> list_;
  double total_weight_ = 0.0, total_impurity_term_ = 0.0;
  u32 total_count_ = 0;
  CategoryOrder<Accumulator> order_;
  std::conditional_t<kUsesGiniMulticlass, GiniMulticlass<Element>, NoGiniMulticlass>
      gini_multiclass_;
  struct NoGiniSimd {};
  std::conditional_t<kUsesGiniSimd, GiniBinarySimd, NoGiniSimd> gini_simd_;
};

}  // namespace committee
