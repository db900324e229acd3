// The best split of a node of a boosted tree: gain = [G_L^2 / (H_L + lambda) + G_R^2 / (H_R +
// lambda) - G^2 / (H + lambda)] / 2 - gamma [ChenGuestrin2016, eq. 7], over histograms of packed
// words.
#pragma once
#include <algorithm>

#include "boosting/row_records.hpp"
#include "boosting/sum_screen.hpp"
#include "committee/boosting_params.hpp"
#include "committee/random_keys.hpp"
#include "committee/split_gain.hpp"
#include "split/split_candidate.hpp"

namespace committee {

// The gradient above and the hessian below, which is never negative: so both are exact.
struct WordHalves {
  int hessian_bits = 32;
  i64 gradient(i64 word) const { return word >> hessian_bits; }
  i64 hessian(i64 word) const { return word & ((i64{1} << hessian_bits) - 1); }
};
// Of words that are made anew each round.
inline i64 gradient_of(i64 word) {
  return WordHalves{}.gradient(word);
}
inline i64 hessian_of(i64 word) {
  return WordHalves{}.hessian(word);
}

struct BoostSplit {
  double gain = -std::numeric_limits<double>::infinity();
  u32 feature = kNone, split_bin = 0;  // bins <= split_bin go left
  bool categorical = false, missing_left = false, has_missing = false;
  i64 left = 0;                 // sum of the words of the left child
  std::vector<u32> left_codes;  // categorical: bit set
  bool found() const { return feature != kNone; }
  // By category: these go left (n_bins: missing values), if no other split is better.
  void take_categories(double found, u32 of_feature, i64 left_sum, std::span<const u32> categories,
                       u32 n_bins);
  // A total order, so that the winner does not depend on the order of the search.
  bool beats(const BoostSplit& other) const {
    return gain != other.gain ? gain > other.gain : feature < other.feature;
  }
};

struct SearchPlan;
struct ColumnView;
// The categories of some rows that are ordered, with their keys: by gradient over hessian, in which
// the best subset is a prefix [Fisher1958]; towards zero for categories of few rows, whose ratio is
// mostly noise. Categories of fewer rows than min_samples_level, and categories that do not occur,
// stay together on the right. `total`: sum of the words of these rows. `n_copies`: rows that their
// weight counts as, so that a weight means repetition.
std::vector<std::pair<double, u32>> key_categories(const SearchPlan& plan, const ColumnView& column,
                                                   i64 total, double n_copies);

// Calls scan(order) with the categories in the order of their keys, and in the opposite one.
template <class Scan>
void scan_both_ways(std::vector<std::pair<double, u32>>& keyed, Scan&& scan) {
  std::sort(keyed.begin(), keyed.end());
  std::vector<u32> order;
  order.reserve(keyed.size());
  for (const auto& [key, category] : keyed) order.push_back(category);
  scan(std::span<const u32>(order));
  std::reverse(order.begin(), order.end());
  scan(std::span<const u32>(order));
}

// What stays the same while a tree grows.
struct SearchPlan {
  const BoostingParams* params = nullptr;
  double gradient_unit = 1.0, hessian_unit = 1.0;  // of the halves of a word
  double weight_unit = 1.0;                        // rows that a row of weight one counts as
  double largest_step = std::numeric_limits<double>::infinity();
  // Leaf values are bounded or soft-thresholded, so that a gain has to be taken from the values.
  bool by_values = false;
  bool constant_hessian = false;  // all rows have the same
  bool symmetric = false;         // one split for all nodes of a depth
  WordHalves halves;
  // Words are kept from round to round, and so are the histograms of leaves; none of their
  // gradients is larger than this.
  bool incremental = false;
  i64 largest_gradient = 0;
};

struct NodeFacts {
  i64 total = 0;
  std::size_t n_rows = 0;
  u64 weight = 0;                                           // of its rows
  double lower = -std::numeric_limits<double>::infinity();  // monotone bounds of the leaf's value
  double upper = std::numeric_limits<double>::infinity();
  u64 tree = 0, key = kRootKey;  // of what is drawn for it
};

struct ColumnView {
  u32 feature = 0, n_bins = 0;
  bool has_missing = false, categorical = false;
  i32 monotonic = 0;
  const i64* histogram = nullptr;
  const u32* counts = nullptr;  // rows of each bin; null: estimated by their share of the hessians
  // Weight of each bin's rows (null: one each), and what a side of a split must have of the
  // node's.
  const u64* weights = nullptr;
  double least_weight = 0.0;
  u64 total_weight = 0;
};

// Value of a leaf before shrinkage: -S(G, alpha) / (H + lambda), S the soft threshold, held within
// the largest step and the bounds.
double find_leaf_value(const SearchPlan& plan, double gradient, double hessian, double lower,
                       double upper);

// Numeric columns: of the splits that leave enough on both sides the one with the largest gain, as
// computed in double; of equal ones the lowest feature, then missing values right before left, then
// the lowest bin. Of gains that are not positive any, or none, is found: none of them is taken.
// With random thresholds one is drawn for each column, of those between the least and the largest
// bin that occurs [Geurts2006], and of categories how many go left, of either end of their order.
class NodeSearch {
 public:
  NodeSearch(const SearchPlan& plan, const NodeFacts& node);
  // Takes the best split of the column into `best` if it is better.
  void scan(const ColumnView& column, BoostSplit& best);
  // Whether rows of that sum, and fewer of them, are too few for a side of a split.
  bool is_too_light(i64 sum) const {
    return plan_.halves.hessian(sum) < std::max(least_hessian_, least_for_rows_);
  }
  // Whether the split of rows of that sum from all others is surely worse than `best`.
  bool is_beaten(i64 sum, const BoostSplit& best) const;

  // For a split that several nodes share. The sum of some bins, and what is gained if they go left:
  // 0 where that is not allowed, or not more than `least`.
  struct SharedGain {
    i64 left = 0;
    double gain = 0.0;
  };
  SharedGain measure_shared(const ColumnView& column, std::span<const u32> bins,
                            double least) const;
  // Adds to totals[k] what is gained if the first k + 1 of the bins go left.
  void add_gains(const ColumnView& column, std::span<const u32> bins, double least,
                 double* totals) const;

 private:
  SplitBalance make_balance(double l2) const;  // l2 includes what categories add
  void scan_numeric(const ColumnView& column, BoostSplit& best);
  // The sums left of the thresholds that differ from the one before.
  u32 list_sums(const ColumnView& column, i64 base, u32 n_thresholds);
  void scan_fast(const ColumnView& column, i64 base, u32 n_thresholds, bool missing_left,
                 BoostSplit& best);
  struct FoundSum {
    double gain;
    i64 at = -1;  // -1: none yet
  };
  void screen_sums(const SumHalves& halves, u32 first, u32 last, double scale, FoundSum& found);
  double measure(i64 left) const;  // gain of a split, in double
  // The left side of a split.
  struct Side {
    i64 sum = 0;
    u64 n_rows = 0, weight = 0;
    void add(const ColumnView& column, u32 bin) {
      sum += column.histogram[bin];
      if (column.counts) n_rows += column.counts[bin];
      if (column.weights) weight += column.weights[bin];
    }
  };
  void scan_random(const ColumnView& column, bool occurs, BoostSplit& best);
  void try_threshold(const ColumnView& column, const Side& left, u32 split_bin, bool missing_left,
                     BoostSplit& best) const;
  u32 draw_below(const ColumnView& column, u32 bound) const {
    return scale_below(numbers_.at(Purpose::threshold, column.feature), bound);
  }
  void scan_by_values(const ColumnView& column, Side left, u32 n_thresholds, bool missing_left,
                      BoostSplit& best);
  void scan_categories(const ColumnView& column, BoostSplit& best);
  void scan_prefixes(const ColumnView& column, std::span<const u32> order, std::size_t shortest,
                     BoostSplit& best);
  double measure_by_values(i64 left, i32 direction) const;
  double measure_side(const ColumnView& column, const SplitBalance& balance, const Side& left,
                      double least) const;
  SplitBalance choose_balance(const ColumnView& column) const;
  bool is_allowed(const ColumnView& column, const Side& left) const;
  double objective(double gradient, double hessian, double value) const;
  void take(const ColumnView& column, double gain, i64 left, u32 split_bin, bool missing_left,
            BoostSplit& best) const;

  const SearchPlan& plan_;
  const BoostingParams& params_;
  NodeFacts node_;
  NodeNumbers numbers_;
  double n_copies_;     // rows that the node's weight counts as
  double gain_unit_;    // of a Balance's gain
  i64 least_hessian_;   // that a child needs for min_child_weight
  i64 least_for_rows_;  // and, by its share of the hessians, for min_samples_leaf
  SplitBalance balance_;
  double parent_objective_ = 0.0;
  int shift_ = 32;               // of a word, so that its gradient fits into an int
  double gradient_scale_ = 1.0;  // of that int
  alignas(64) i64 sums_[kHistogramBins + 16];
  u32 positions_[kHistogramBins + 16];  // bins of the sums, where empty ones are left out
};

}  // namespace committee
