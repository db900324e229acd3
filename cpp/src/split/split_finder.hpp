// The split finder for criteria that are sums over children: one template over tally and criterion,
// instantiated in finders_<family>.cpp.
#pragma once
#include <algorithm>

#include "committee/criteria/all.hpp"
#include "split/categorical_order.hpp"
#include "split/gini_binary_simd.hpp"
#include "split/gini_multiclass.hpp"
#include "split/histogram.hpp"
#include "split/split_candidate.hpp"
#include "split/tiny_nodes.hpp"

namespace committee {

template <class Tally, class Criterion>
class CriterionFinder final : public SplitFinder<Tally> {
 public:
  using Slot = typename Tally::Slot;
  using Item = typename Tally::Item;
  using Cells = std::span<const CategoryCell<Slot>>;

  CriterionFinder(const Tally& tally, const Criterion& criterion)
      : tally_(tally),
        criterion_(criterion),
        left_(tally.cell()),
        right_(tally.cell()),
        total_(tally.cell()),
        best_left_(tally.cell()),
        order_(tally),
        classes_(tally) {}

  void begin_node(const Slot* total, const NodeLimits& limits) override {
    std::copy_n(total, tally_.cell(), total_.begin());
    limits_ = limits;
    order_.set_rare_weight(limits.rare_weight);
    total_weight_ = tally_.weight(total);
    if constexpr (kScansClasses) classes_.begin_node(total_.data(), total_weight_);
    total_worth_ = measure_worth(total, total_weight_);
    if (tally_.counted) total_count_ = tally_.count(total);
    // Weights are integers >= 1, so every boundary between bins that occur satisfies these limits.
    unlimited_ = !limits.bounded && limits.min_samples_leaf <= 1 && limits.min_weight_leaf <= 1.0;
  }

  bool scan_bins(const Slot* hist, u64 touched, const FeatureView& view, Candidate& best) override {
    const Slot* missing = hist + static_cast<std::size_t>(kMissingBin) * tally_.cell();
    const bool has_missing = (touched >> 63) != 0 && !tally_.is_empty(missing);
    if constexpr (Tally::kFixedCell > 0) {
      if (unlimited_) return scan_all_boundaries(hist, touched, has_missing, view, best);
    }
    if constexpr (kScansClasses) {
      if (unlimited_ && tally_.outputs.size() == 1)
        return classes_.scan_bins({hist, touched, has_missing}, view, best, best_left_.data());
    }
    bool varies = false;
    CellSum<Tally> left(tally_, left_);
    for (int pass = 0; pass < (has_missing ? 2 : 1); ++pass) {
      left.set(tally_, pass == 1 ? missing : nullptr);
      u32 previous = kNone;
      for (u64 groups = touched; groups; groups &= groups - 1) {
        const u32 first = static_cast<u32>(__builtin_ctzll(groups)) * 4;
        for (u32 bin = first; bin < first + 4 && bin < kMissingBin; ++bin) {
          const Slot* cell = hist + static_cast<std::size_t>(bin) * tally_.cell();
          if (tally_.is_empty(cell)) continue;
          if (previous != kNone) {
            varies = true;
            consider(left.data(), view, {previous, bin, pass == 1, has_missing}, best);
          }
          left.add(tally_, cell);
          previous = bin;
        }
      }
      if (has_missing && pass == 0 && previous != kNone) {
        varies = true;
        consider(left.data(), view, {previous, kNone, false, true}, best);
      }
    }
    return varies;
  }

  void scan_run(Slot* hist, const u64* touched, std::span<const FeatureView> views, Candidate& best,
                u8* varies) override {
    const std::size_t feature_cells = static_cast<std::size_t>(kHistogramBins) * tally_.cell();
    if constexpr (kRunsLanes) {
      const auto score = [this](const Slot* left) { return score_boundary(left); };
      if (unlimited_ && run_.knows({hist, touched}, views.size(), total_weight_))
        return run_.scan({hist, touched}, views, total_[0], score, {best, best_left_.data()},
                         varies);
    }
    for (std::size_t k = 0; k < views.size(); ++k, hist += feature_cells) {
      varies[k] = scan_bins(hist, touched[k], views[k], best);
      clear_touched(hist, touched[k], tally_.cell());
    }
  }

  std::size_t most_few() const override {
    if (!unlimited_) return 0;
    if constexpr (kSweepsClasses)
      return tally_.outputs.size() == 1 && !tally_.counted ? kFewClassRows : 0;
    return Tally::kFixedCell > 0 ? kFewRows : 0;
  }

  bool scan_few(std::span<const u16> keyed, const Item* items, const FeatureView& view,
                Candidate& best) override {
    if constexpr (kSweepsClasses) {
      return classes_.scan_few(keyed, items, view, best, best_left_.data());
    } else if constexpr (Tally::kFixedCell > 0) {
      Slot left[Tally::kFixedCell];
      [[maybe_unused]] double bar = set_bar(best.score);
      return scan_boundaries(
          keyed, [&] { std::fill_n(left, Tally::kFixedCell, Slot{0}); },
          [&](u16 key) { tally_.add(left, items[key & 0xFF]); },
          [&](const Cut& at) {
            if constexpr (kHasRatios) {
              const auto ratio =
                  criterion_.ratio_binary(tally_.weight(left), tally_.positive(left), total_weight_,
                                          tally_.positive(total_.data()));
              if (ratio.dividend < bar * ratio.divisor) return;
            }
            const double score = score_boundary(left);
            if (!(score > kForbidden) || !best.loses_to(score, view.place, at.cut)) return;
            std::copy_n(left, Tally::kFixedCell, best_left_.begin());
            take_cut(best, score, view, at);
            bar = set_bar(score);
          });
    } else {
      throw std::logic_error("most_few says never");
    }
  }

  void take_single(std::span<const SingleCut> cuts, const Slot* sums, Candidate& best) override {
    for (const SingleCut& cut : cuts)
      consider(sums + cut.lane * tally_.cell(), cut.view, cut.at, best);
  }

  void scan_lists(const RowLists& lists, u64& varying, Candidate& best) override {
    if constexpr (kScoresSums) {
      const auto score = [this](const Slot* left) { return score_boundary(left); };
      if (lists.n <= RowLists::kFewRows)
        return FewRowsScan(lists, total_.data(), score, best_left_.data()).scan(best);
      ListScan(lists, total_.data(), score, best_left_.data()).scan(varying, best);
    } else {
      SplitFinder<Tally>::scan_lists(lists, varying, best);
    }
  }

  u32 take_best_lane(std::span<const Slot> sums, double& score) override {
    if constexpr (kHasRatios) {
      const double total_p = tally_.positive(total_.data());
      double scores[kBatch];
      for (std::size_t k = 0; k < sums.size(); ++k) {
        scores[k] = criterion_.score_binary(tally_.weight(&sums[k]), tally_.positive(&sums[k]),
                                            total_weight_, total_p);
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
      return SplitFinder<Tally>::take_best_lane(sums, score);
    }
  }

  bool scan_sorted(const SortedRows& rows, const Item* items, const FeatureView& view,
                   Candidate& best) override {
    const std::size_t n_values = rows.keyed.size() - rows.n_missing;
    const bool has_missing = rows.n_missing > 0;
    if (n_values == 0) return false;
    const u32 lo = static_cast<u32>(rows.keyed[0] >> 32);
    const u32 hi = static_cast<u32>(rows.keyed[n_values - 1] >> 32);
    if (lo == hi && !has_missing) return false;
    CellSum<Tally> left(tally_, left_);
    for (int pass = 0; pass < (has_missing ? 2 : 1); ++pass) {
      if (rows.only_cut != kNone && (pass == 1) != rows.only_missing_left) continue;
      left.set(tally_, nullptr);
      for (std::size_t i = n_values; pass == 1 && i < rows.keyed.size(); ++i) {
        tally_.add(left.data(), items[static_cast<u32>(rows.keyed[i])]);
      }
      u32 previous = lo;
      for (std::size_t i = 0; i < n_values; ++i) {
        const u32 code = static_cast<u32>(rows.keyed[i] >> 32);
        if (code != previous) {
          if (rows.only_cut == kNone || (previous <= rows.only_cut && code > rows.only_cut)) {
            consider(left.data(), view, {previous, code, pass == 1, has_missing}, best);
          }
          previous = code;
        }
        tally_.add(left.data(), items[static_cast<u32>(rows.keyed[i])]);
      }
      if (has_missing && pass == 0 && (rows.only_cut == kNone || lo == hi)) {
        consider(left.data(), view, {hi, kNone, false, true}, best);
      }
    }
    return true;
  }

  bool scan_categories(Cells cells, bool random, const FeatureView& view,
                       Candidate& best) override {
    if (cells.size() < 2) return false;
    if (random) {
      order_.shuffle(cells, view.number);
    } else {
      order_.sort(cells, total_.data());
    }
    CellSum<Tally> left(tally_, left_);
    left.set(tally_, nullptr);
    for (std::size_t k = 0; k + 1 < order_.size(); ++k) {
      left.add(tally_, cells[order_[k]].cell);
      if (random ? k + 1 != order_.random_size() : !order_.cuts_after(k)) continue;
      const double score = evaluate(left.data(), 0);
      if (score > kForbidden && best.loses_to(score, view.place, static_cast<u32>(k))) {
        std::copy_n(left.data(), tally_.cell(), best_left_.begin());
        take_categories(cells, k, score, view, best);
      }
    }
    return true;
  }

  double measure_decrease(const Candidate&) override {
    const Slot* left = best_left_.data();
    for (u32 s = 0; s < tally_.cell(); ++s) right_[s] = total_[s] - left[s];
    const double decrease = measure_worth(left, tally_.weight(left)) +
                            measure_worth(right_.data(), tally_.weight(right_.data())) -
                            total_worth_;
    return decrease > 0.0 ? decrease : 0.0;
  }

  const Slot* best_left() const override { return best_left_.data(); }

 private:
  static constexpr bool kScansClasses =
      Tally::kKind == TallyKind::classes && std::is_same_v<Criterion, Gini>;
  // Gini over the classes of one output, whose squares are exact integers.
  static constexpr bool kSweepsClasses =
      Tally::kKind == TallyKind::classes && sizeof(Slot) == 4 && std::is_same_v<Criterion, Gini>;
  // Gini over two classes, by BinaryRun.
  static constexpr bool kRunsLanes =
      Tally::kKind == TallyKind::binary && std::is_same_v<Criterion, Gini>;
  // Measured: below, sorting rows beats histograms of their bins.
  static constexpr std::size_t kFewClassRows = 256, kFewRows = kRunsLanes ? 8 : 16;
  static_assert(kFewClassRows <= kMostFew && kFewRows <= kMostFew);

  // scan_bins where no limit can forbid a boundary: the sums left of every bin that occurs are
  // listed without branches, scored in one vector loop, and only then looked at for the best.
  bool scan_all_boundaries(const Slot* hist, u64 touched, bool has_missing, const FeatureView& view,
                           Candidate& best) {
    constexpr u32 kCell = Tally::kFixedCell;
    const Slot* missing = hist + static_cast<std::size_t>(kMissingBin) * kCell;
    Slot sum[kCell] = {};
    u32 n = 0;
    for (u64 groups = touched; groups; groups &= groups - 1) {
      const u32 first = static_cast<u32>(__builtin_ctzll(groups)) * 4;
      for (u32 bin = first; bin < first + 4; ++bin) {
        const Slot* cell = hist + bin * kCell;
        listed_bins_[n] = static_cast<u8>(bin);
        for (u32 s = 0; s < kCell; ++s) {
          listed_sums_[s][n] = sum[s];
          sum[s] += cell[s];
        }
        n += !tally_.is_empty(cell);
      }
    }
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

  // Scores the listed boundaries [from, to), with the missing cell added to the left if there is
  // one.
  void take_best_listed(u32 from, u32 to, const Slot* missing, bool has_missing,
                        const FeatureView& view, Candidate& best) {
    constexpr u32 kCell = Tally::kFixedCell;
    u32 at = from;
    double most = kForbidden;
    if constexpr (kHasRatios) {
      most = find_best_ratio(from, to, missing ? *missing : 0, best.score, at);
    } else {
      for (u32 k = from; k < to; ++k) {
        Slot left[kCell];
        for (u32 s = 0; s < kCell; ++s)
          left[s] = listed_sums_[s][k] + (missing ? missing[s] : Slot{0});
        scores_[k] = score_boundary(left);
      }
      for (u32 k = from; k < to; ++k) most = scores_[k] > most ? scores_[k] : most;
    }
    if (!(most > kForbidden) || most < best.score) return;
    if constexpr (!kHasRatios) {
      while (scores_[at] != most) ++at;
    }
    const u32 cut = listed_bins_[at - 1];
    if (!best.loses_to(most, view.place, cut)) return;
    for (u32 s = 0; s < kCell; ++s)
      best_left_[s] = listed_sums_[s][at] + (missing ? missing[s] : Slot{0});
    const bool values_left = has_missing && missing == nullptr && listed_bins_[at] == kMissingBin;
    take_cut(best, most, view,
             {cut, values_left ? kNone : listed_bins_[at], missing != nullptr, has_missing});
  }

  // The first of the largest scores, if any reaches `best`: dividends and divisors in one vector
  // loop, quotients only where a product does not show that they lose.
  double find_best_ratio(u32 from, u32 to, u64 missing, double best, u32& at) {
    const double w = total_weight_, total_p = tally_.positive(total_.data());
    const u64* sums = listed_sums_[0];
    for (u32 k = from; k < to; ++k) {
      const u64 left = sums[k] + missing;
      const auto ratio =
          criterion_.ratio_binary(tally_.weight(&left), tally_.positive(&left), w, total_p);
      scores_[k] = ratio.dividend;
      divisors_[k] = ratio.divisor;
    }
    const u32 middle = from + (to - from) / 2;
    double bar = set_bar(std::max(best, scores_[middle] / divisors_[middle])), most = kForbidden;
    for (u32 k = from; k < to; ++k) {
      if (scores_[k] < bar * divisors_[k]) continue;
      const double score = scores_[k] / divisors_[k];
      if (!(score > most)) continue;
      most = score;
      at = k;
      bar = std::max(bar, set_bar(score));
    }
    return most;
  }

  // Two classes, and a criterion that is one quotient.
  static constexpr bool kHasRatios =
      Tally::kKind == TallyKind::binary &&
      requires(const Criterion& c) { c.ratio_binary(0.0, 0.0, 0.0, 0.0); };

  // One output, and a criterion that scores both sides at once.
  static constexpr bool kScoresSums =
      Tally::kKind == TallyKind::moments && Tally::kFixedCell > 0 &&
      requires(const Criterion& c) { c.score_sums(0.0, 0.0, 0.0, 0.0); };

  double score_sums(const Slot* left, double wl, double wr) const {
    return criterion_.score_sums(static_cast<double>(left[1]),
                                 static_cast<double>(total_[1] - left[1]), wl, wr);
  }

  // Score of a split that no limit forbids.
  double score_boundary(const Slot* left) const {
    const double wl = tally_.weight(left), wr = total_weight_ - wl;
    if constexpr (Tally::kKind == TallyKind::binary) {
      if constexpr (requires { criterion_.score_binary(wl, wl, wl, wl); }) {
        return criterion_.score_binary(wl, tally_.positive(left), total_weight_,
                                       tally_.positive(total_.data()));
      }
    }
    if constexpr (kScoresSums) return score_sums(left, wl, wr);
    Slot right[Tally::kFixedCell == 0 ? 1 : Tally::kFixedCell];
    for (u32 s = 0; s < Tally::kFixedCell; ++s) right[s] = total_[s] - left[s];
    const double a = measure_worth(left, wl), b = measure_worth(right, wr);
    if constexpr (Tally::kKind == TallyKind::moments) {
      return a + b;
    } else {
      return criterion_.score(a, b, total_worth_, wl, wr);
    }
  }

  double measure_worth(const Slot* sum, double weight) const {
    if constexpr (Tally::kKind == TallyKind::binary) {
      const double p = tally_.positive(sum);
      const double counts[2] = {weight - p, p};
      return criterion_.worth(counts, 2, weight);
    } else if constexpr (Tally::kKind == TallyKind::classes) {
      double worth = 0.0;
      for (std::size_t o = 0; o < tally_.outputs.size(); ++o) {
        worth += criterion_.worth(sum + tally_.offsets[o], tally_.outputs[o], weight);
      }
      return worth / static_cast<double>(tally_.outputs.size());
    } else {
      double worth = 0.0;
      for (u32 o = 1; o < tally_.cell(); ++o) {
        worth += criterion_.worth(static_cast<double>(sum[o]), weight);
      }
      return worth;
    }
  }

  bool is_monotone(const Slot* left, double left_weight, double right_weight, i32 direction) const {
    const double a = measure_level(tally_, left, left_weight);
    const double b = measure_level(tally_, right_.data(), right_weight);
    return a >= limits_.lower && a <= limits_.upper && b >= limits_.lower && b <= limits_.upper &&
           (b - a) * direction >= 0.0;
  }

  static constexpr double kForbidden = -std::numeric_limits<double>::infinity();

  // Score of the split with that sum on the left; kForbidden if the limits do not allow it.
  double evaluate(const Slot* left_sum, i32 direction) {
    const double wl = tally_.weight(left_sum), wr = total_weight_ - wl;
    if (wl < limits_.min_weight_leaf || wr < limits_.min_weight_leaf) return kForbidden;
    if (limits_.min_samples_leaf > 1) {
      const u32 count = tally_.count(left_sum);
      if (count < limits_.min_samples_leaf || total_count_ - count < limits_.min_samples_leaf) {
        return kForbidden;
      }
    }
    if constexpr (Tally::kKind == TallyKind::binary) {
      if constexpr (requires { criterion_.score_binary(wl, wl, wl, wl); }) {
        if (!limits_.bounded) {
          return criterion_.score_binary(wl, tally_.positive(left_sum), total_weight_,
                                         tally_.positive(total_.data()));
        }
      }
    }
    for (u32 s = 0; s < tally_.cell(); ++s) right_[s] = total_[s] - left_sum[s];
    if (limits_.bounded && !is_monotone(left_sum, wl, wr, direction)) return kForbidden;
    if constexpr (kScoresSums) return score_sums(left_sum, wl, wr);
    const double left = measure_worth(left_sum, wl), right = measure_worth(right_.data(), wr);
    if constexpr (Tally::kKind == TallyKind::moments) {
      return left + right;
    } else {
      return criterion_.score(left, right, total_worth_, wl, wr);
    }
  }

  void consider(const Slot* left, const FeatureView& view, const Cut& at, Candidate& best) {
    const double score = evaluate(left, view.monotonic);
    if (!(score > kForbidden) || !best.loses_to(score, view.place, at.cut)) return;
    std::copy_n(left, tally_.cell(), best_left_.begin());
    take_cut(best, score, view, at);
    if (limits_.bounded) {
      const double wl = tally_.weight(left);
      best.middle = measure_level(tally_, left, wl) / 2 +
                    measure_level(tally_, right_.data(), total_weight_ - wl) / 2;
    }
  }

  void take_categories(Cells cells, std::size_t last, double score, const FeatureView& view,
                       Candidate& best) {
    best = Candidate{};
    best.score = score;
    best.feature = view.feature;
    best.place = view.place;
    best.cut = static_cast<u32>(last);
    best.categorical = true;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const u32 code = cells[order_[k]].code;
      if (code == kMissingCode) {
        best.has_missing = true;
        best.missing_left = k <= last;
      } else {
        (k <= last ? best.left_codes : best.right_codes).push_back(code);
      }
    }
  }

  const Tally& tally_;
  const Criterion criterion_;
  NodeLimits limits_;
  std::vector<Slot> left_, right_, total_, best_left_;
  bool unlimited_ = false;
  // Boundaries of the feature at hand (tallies of fixed size).
  alignas(64) Slot listed_sums_[Tally::kFixedCell == 0 ? 1 : Tally::kFixedCell][kHistogramBins + 1];
  alignas(64) double scores_[kHistogramBins + 1];
  alignas(64) double divisors_[kHasRatios ? kHistogramBins + 1 : 1];
  u8 listed_bins_[kHistogramBins + 1];
  double total_weight_ = 0.0, total_worth_ = 0.0;
  u32 total_count_ = 0;
  CategoryOrder<Tally> order_;
  std::conditional_t<kScansClasses, ClassScan<Slot>, NoClassScan> classes_;
  struct NoRun {};
  std::conditional_t<kRunsLanes, BinaryRun, NoRun> run_;
};

template <class List, class Tally>
std::unique_ptr<SplitFinder<Tally>> make_criterion_finder(const Tally& tally,
                                                          const std::string& criterion) {
  std::unique_ptr<SplitFinder<Tally>> finder;
  const bool known = with_criterion<List>(criterion, [&](auto measure) {
    finder = std::make_unique<CriterionFinder<Tally, decltype(measure)>>(tally, measure);
  });
  if (!known) throw std::invalid_argument("unknown criterion '" + criterion + "' for this target");
  return finder;
}

}  // namespace committee
