// The best split of a node: what a candidate is, when it is allowed, how ties are broken.
#pragma once
#include <cmath>
#include <stdexcept>

#include "base/rng.hpp"
#include "split/accumulators.hpp"

namespace committee {

inline constexpr u32 kNone = 0xFFFFFFFFu;

// A code is a bin, or with exact splits the rank of a value, or a category. Codes <= bin go left.
struct Candidate {
  double score = -std::numeric_limits<double>::infinity();
  u32 feature = kNone;
  u64 priority = ~u64{0};  // of the feature in the node's order of features
  u32 bin = 0;             // the last code that goes left
  u32 next =
      kNone;  // the next code that occurs in the node; kNone: all values go left, missing right
  bool categorical = false;
  bool missing_left = false;
  bool has_missing = false;  // missing values of the feature occur in the node
  double middle = 0.0;  // between the levels of the two sides, where monotone bounds are in force
  std::vector<u32> left_codes, right_codes;  // categorical only

  bool found() const { return feature != kNone; }
  // A total order, so that the winner does not depend on who looks first: score, then the feature
  // that comes first in the node's order of features, then the lowest bin.
  bool loses_to(double other_score, u64 other_priority, u32 other_bin) const {
    if (other_score != score) return other_score > score;
    if (other_priority != priority) return other_priority < priority;
    return other_bin < bin;
  }
};

// What a split must respect, in the units of the accumulator.
struct NodeLimits {
  u32 min_samples_leaf = 1;
  double min_weight_leaf = 0.0;
  double rare_weight = 0.0;  // of a category; rarer ones may be grouped (categorical_order.hpp)
  bool bounded = false;      // monotone constraints are in force
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

// One feature of the node at hand.
struct FeatureView {
  u32 feature = 0;
  u64 priority = 0;  // in the node's order of features: equal splits go to the first
  i32 monotonic = 0;
  const std::vector<double>* low = nullptr;   // smallest value of each code, for random thresholds
  const std::vector<double>* high = nullptr;  // largest value of each code
  u64 number = 0;                             // the node's random number for this feature
};

// Rows of the node in the order of their codes: code << 32 | index into the items. Missing last.
struct SortedRows {
  std::span<const u64> keyed;
  u32 n_missing = 0;
  u32 only_bin = kNone;  // evaluate the boundary around this code alone (random splits)
  bool only_missing_left = false;
};

template <class Element>
struct CategoryCell {
  u32 code;  // kMissingCode for missing
  const Element* cell;
};

// The last code on the left of a random split between two codes lo < hi: a threshold uniform
// between the extreme values, by the upper 53 bits of the view's number, then the last code whose
// values lie at or below it. Which side missing values take is the number's lowest bit.
u32 draw_split_bin(const FeatureView& view, u32 lo, u32 hi);
inline bool draw_missing_left(const FeatureView& view) {
  return (view.number & 1) != 0;
}

// Rows of a node that scan_few takes at most: an index of one byte, and room on the stack.
inline constexpr std::size_t kMostFew = 256;

// Where a boundary lies: after code `bin`, before `next`, the next one that occurs.
struct Boundary {
  u32 bin, next;
  bool missing_left, has_missing;
};

inline void take_boundary(Candidate& best, double score, const FeatureView& view,
                          const Boundary& at) {
  best.score = score;
  best.feature = view.feature;
  best.priority = view.priority;
  best.bin = at.bin;
  best.next = at.next;
  best.categorical = false;
  best.missing_left = at.missing_left;
  best.has_missing = at.has_missing;
}

// The boundaries between rows that come in the order of their bins (bin << 8 | row), missing ones
// last: start a side that is empty, move a row to it, look at what it is. False: there are none.
template <class Start, class Move, class Look>
bool scan_boundaries(std::span<const u16> keyed, Start start, Move move, Look look) {
  std::size_t n_values = keyed.size();
  while (n_values > 0 && keyed[n_values - 1] >> 8 == kMissingBin) --n_values;
  const bool has_missing = n_values < keyed.size();
  if (n_values == 0) return false;
  const u32 lo = keyed[0] >> 8, hi = keyed[n_values - 1] >> 8;
  if (lo == hi && !has_missing) return false;
  for (int pass = 0; pass < (has_missing ? 2 : 1); ++pass) {
    start();
    for (std::size_t i = n_values; pass == 1 && i < keyed.size(); ++i) move(keyed[i]);
    u32 previous = lo;
    for (std::size_t i = 0; i < n_values; ++i) {
      const u32 bin = keyed[i] >> 8;
      if (bin != previous) look(Boundary{previous, bin, pass == 1, has_missing});
      previous = bin;
      move(keyed[i]);
    }
    if (has_missing && pass == 0) look(Boundary{hi, kNone, false, true});
  }
  return true;
}

// The same for rows that are sorted by any codes; move(index of the row).
template <class Start, class Move, class Look>
bool scan_sorted_boundaries(const SortedRows& rows, Start start, Move move, Look look) {
  const std::size_t n_values = rows.keyed.size() - rows.n_missing;
  const bool has_missing = rows.n_missing > 0;
  if (n_values == 0) return false;
  const u32 lo = static_cast<u32>(rows.keyed[0] >> 32);
  const u32 hi = static_cast<u32>(rows.keyed[n_values - 1] >> 32);
  if (lo == hi && !has_missing) return false;
  for (int pass = 0; pass < (has_missing ? 2 : 1); ++pass) {
    if (rows.only_bin != kNone && (pass == 1) != rows.only_missing_left) continue;
    start();
    for (std::size_t i = n_values; pass == 1 && i < rows.keyed.size(); ++i)
      move(static_cast<u32>(rows.keyed[i]));
    u32 previous = lo;
    for (std::size_t i = 0; i < n_values; ++i) {
      const u32 code = static_cast<u32>(rows.keyed[i] >> 32);
      if (code != previous &&
          (rows.only_bin == kNone || (previous <= rows.only_bin && code > rows.only_bin)))
        look(Boundary{previous, code, pass == 1, has_missing});
      previous = code;
      move(static_cast<u32>(rows.keyed[i]));
    }
    if (has_missing && pass == 0 && (rows.only_bin == kNone || lo == hi))
      look(Boundary{hi, kNone, false, true});
  }
  return true;
}

// The only boundary of a feature that is looked at, and which of some sums belongs to it.
struct SingleBoundary {
  FeatureView view;
  Boundary at{};
  u32 lane = 0;
};

// A feature's position in the node's order of features, where all are searched: by number, or with
// shuffle_ties by a random number, whose low half keeps the order free of ties.
inline u64 tie_priority(const NodeNumbers& numbers, u32 feature, bool shuffle_ties) {
  return feature | (shuffle_ties ? numbers.at(Purpose::tie, feature) >> 32 << 32 : 0);
}

struct RowLists;
template <class Accumulator>
struct BinSums;
template <class Accumulator>
struct MarkedRows;
struct BinRanks;
struct TargetSpan;

// Finds the best split of one node, feature by feature. Each scan returns false if the feature is
// constant in the node. Made by make_finder for an accumulator and the name of a criterion.
template <class Accumulator>
class SplitFinder {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;
  virtual ~SplitFinder() = default;
  virtual void begin_node(const Element* total, const NodeLimits& limits) = 0;
  virtual bool scan_bins(const Element* hist, u64 touched, const FeatureView& view,
                         Candidate& best) = 0;
  // scan_bins of some features, kBatch at most, whose histograms lie one behind the other; clears
  // them.
  virtual void scan_run(Element*, const u64*, std::span<const FeatureView>, Candidate&, u8*) {
    throw std::logic_error("not a finder of histograms");
  }
  // A score that no split of the node exceeds, as computed; infinity: not known.
  virtual double best_possible() const { return std::numeric_limits<double>::infinity(); }
  // Up to how many rows of the node (kMostFew at most) scan_few is the fastest way; 0: never, or
  // not allowed.
  virtual std::size_t most_few() const = 0;
  // As scan_bins, from rows in the order of their bins: bin << 8 | index into the items.
  virtual bool scan_few(std::span<const u16> keyed, const Item* items, const FeatureView& view,
                        Candidate& best) = 0;
  // One boundary for each of some features, by the sums of what lies left of them: sums[lane * cell
  // ..].
  virtual void take_single(std::span<const SingleBoundary> cuts, const Element* sums,
                           Candidate& best) = 0;
  // All features of `varying` at once, by sorted lists of the node's rows (presorted_rows.hpp),
  // where no limit can forbid a boundary; those that turn out constant are taken out.
  virtual void scan_lists(const RowLists&, u64&, Candidate&) {
    throw std::logic_error("lists are for squared error of one output");
  }
  // One boundary for each of some features of two classes, by what lies left of them: the first of
  // the best if its score is larger than `score`, which becomes it; else kNone. A side may be
  // empty: that is no boundary.
  virtual u32 take_best_lane(std::span<const Element>, double&) {
    throw std::logic_error("not a finder of random cuts");
  }
  virtual bool scan_categories(std::span<const CategoryCell<Element>> cells, bool random,
                               const FeatureView& view, Candidate& best) = 0;
  virtual bool scan_sorted(const SortedRows& rows, const Item* items, const FeatureView& view,
                           Candidate& best) = 0;
  // Of bin_bounds.hpp, where no limit can forbid a boundary: the larger of a score and those of the
  // boundaries between bins; which bins may have one of a score or more, and how many; and the
  // boundaries of these.
  virtual double raise_bar(const BinSums<Accumulator>&, double) const { refuse_bounds(); }
  virtual u32 mark_bins(const BinSums<Accumulator>&, const BinRanks&, const TargetSpan&, double,
                        u64*) const {
    refuse_bounds();
  }
  virtual void scan_marked(const MarkedRows<Accumulator>&, const FeatureView&, Candidate&) {
    refuse_bounds();
  }
  // Numbers by whose mean categories are ordered, a row of the node each, times its weight; null:
  // the targets.
  virtual const i64* find_row_scores(const Item*, std::size_t) { return nullptr; }
  // Weighted impurity decrease of the candidate that won since begin_node, in the units of the
  // accumulator.
  virtual double measure_decrease(const Candidate& best) = 0;
  // What lies left of the candidate that won since begin_node.
  virtual const Element* best_left() const = 0;

 private:
  [[noreturn]] static void refuse_bounds() {
    throw std::logic_error("bounds are for Gini of two classes and squared error of one output");
  }
};

// A finder whose score is no function of sums over the left side: it reads rows sorted by code, and
// has no histogram form.
template <class Accumulator>
class SortedRowsFinder : public SplitFinder<Accumulator> {
 public:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;
  bool scan_bins(const Element*, u64, const FeatureView&, Candidate&) final { refuse(); }
  std::size_t most_few() const final { return 0; }
  bool scan_few(std::span<const u16>, const Item*, const FeatureView&, Candidate&) final {
    refuse();
  }
  void take_single(std::span<const SingleBoundary>, const Element*, Candidate&) final { refuse(); }
  bool scan_categories(std::span<const CategoryCell<Element>>, bool, const FeatureView&,
                       Candidate&) final {
    refuse();
  }
  const Element* best_left() const final { refuse(); }

 protected:
  static u32 code_of(const SortedRows& rows, std::size_t i) {
    return static_cast<u32>(rows.keyed[i] >> 32);
  }
  static std::size_t index_of(const SortedRows& rows, std::size_t i) {
    return static_cast<u32>(rows.keyed[i]);
  }

 private:
  [[noreturn]] static void refuse() {
    throw std::logic_error("the criterion has no histogram form");
  }
};

template <class Accumulator>
std::unique_ptr<SplitFinder<Accumulator>> make_finder(const Accumulator& accumulator,
                                                      const std::string& criterion);

}  // namespace committee
