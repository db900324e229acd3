#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"
#include "committee/isolation.hpp"
#include "committee/math.hpp"

namespace committee {

namespace {

constexpr double kEulerGamma = 0.57721566490153286061;
constexpr double kRowNs = 20.0;  // a row at a level of a tree, measured

// The places that rows have in a table, and samples of them.
class RowDrawer {
 public:
  RowDrawer(const RowSampling& sampling, std::size_t n_rows) : sampling_(sampling) {
    if (n_rows == 0 || n_rows >= std::numeric_limits<u32>::max())
      throw std::invalid_argument("the number of rows must be at least 1 and below 2^32");
    const std::vector<double>& weights = sampling.weights;
    if (!weights.empty() && weights.size() != n_rows)
      throw std::invalid_argument("weights must have one entry a row");
    total_ = static_cast<double>(n_rows);
    if (!weights.empty()) {
      if (std::any_of(weights.begin(), weights.end(), [](double w) { return !(w >= 0.0); }))
        throw std::invalid_argument("weights must not be negative");
      ends_.resize(n_rows);
      std::partial_sum(weights.begin(), weights.end(), ends_.begin());
      total_ = ends_.back();
      whole_ =
          total_ < 0x1p32 &&
          std::all_of(weights.begin(), weights.end(), [](double w) { return w == std::floor(w); });
    }
    if (!(total_ > 0.0)) throw std::invalid_argument("a row must have a positive weight");
    if (sampling.n_draws == 0) throw std::invalid_argument("a tree needs a row");
    if (whole_ && !sampling.replace && sampling.n_draws > total_)
      throw std::invalid_argument("more rows cannot be drawn without replacement than there are");
  }

  std::vector<u32> draw(u64 seed, u64 tree) const {
    Rng rng(seed, tree, 0, Purpose::bootstrap);
    std::vector<u32> rows(sampling_.n_draws);
    if (!whole_) {
      for (u32& row : rows) row = find_row(rng.uniform() * total_);
      std::sort(rows.begin(), rows.end());
      return rows;
    }
    const u32 n_places = static_cast<u32>(total_);
    if (sampling_.replace) {
      for (u32& place : rows) place = rng.below(n_places);
    } else {
      draw_distinct(n_places, rng, rows);
    }
    std::sort(rows.begin(), rows.end());
    if (!ends_.empty()) {
      for (u32& row : rows) row = find_row(row);
    }
    return rows;
  }

 private:
  // Floyd's algorithm [Bentley1987]: as many steps as draws, whatever there is to draw from.
  static void draw_distinct(u32 n_places, Rng& rng, std::vector<u32>& places) {
    std::vector<bool> drawn(n_places);
    u32 last = n_places - static_cast<u32>(places.size());
    for (u32& place : places) {
      const u32 wish = rng.below(last + 1);
      place = drawn[wish] ? last : wish;
      drawn[place] = true;
      ++last;
    }
  }
  u32 find_row(double place) const {
    auto at = std::upper_bound(ends_.begin(), ends_.end(), place);
    if (at == ends_.end()) --at;  // rounding at the upper end
    std::size_t row = static_cast<std::size_t>(at - ends_.begin());
    while (sampling_.weights[row] <= 0.0) --row;
    return static_cast<u32>(row);
  }

  const RowSampling& sampling_;
  std::vector<double> ends_;  // of each row's places; empty: one place a row
  double total_ = 0.0;
  bool whole_ = true;
};

// A node that is not split yet: its rows, and how many features may still vary in it.
struct IsolationNode {
  std::size_t begin = 0, end = 0;
  u32 parent = GrownTree::kNoChild, depth = 0, n_varying = 0;
  bool is_right = false;
  u64 key = kRootKey;
};

// The growing of one tree. Constant features are moved behind those that may vary: a feature that
// is constant in a node is so below it, and the features before them stay the same ones.
class IsolationTreeGrower {
 public:
  IsolationTreeGrower(const ColumnReader& x, std::span<const u32> n_levels, u32 max_depth,
                      InterruptWatch& watch)
      : x_(x), n_levels_(n_levels), max_depth_(max_depth), watch_(watch) {}

  const GrownTree& grow(u64 seed, u64 tree, std::vector<u32> rows, std::vector<u32> features) {
    tree_.clear();
    tree_.depth_first = true;
    rows_ = std::move(rows);
    features_ = std::move(features);
    values_.resize(rows_.size());
    spare_.resize(rows_.size());
    const KeyPrefix tree_key(combine_keys(seed, tree));
    IsolationNode root;
    root.end = rows_.size();
    root.n_varying = static_cast<u32>(features_.size());
    for (open_.assign(1, root); !open_.empty();) {
      const IsolationNode node = open_.back();
      open_.pop_back();
      watch_.poll();
      grow_node(node, NodeNumbers(tree_key, node.key));
    }
    return tree_;
  }

 private:
  std::span<const u32> rows_of(const IsolationNode& node) const {
    return {rows_.data() + node.begin, node.end - node.begin};
  }

  void grow_node(IsolationNode node, const NodeNumbers& numbers) {
    const std::size_t n = node.end - node.begin;
    const double value = node.depth + average_path_length(static_cast<double>(n));
    const u32 id = tree_.add_node(static_cast<u32>(n), static_cast<double>(n), 0.0, {&value, 1});
    if (node.parent != GrownTree::kNoChild)
      (node.is_right ? tree_.right : tree_.left)[node.parent] = id;
    if (n < 2 || node.depth >= max_depth_) return;
    u64 draws = 0;
    while (node.n_varying > 0) {
      const u32 at = scale_below(numbers.at(Purpose::features, draws++), node.n_varying);
      const u32 feature = features_[at];
      x_.read(feature, rows_of(node), values_.data());
      const bool varies = n_levels_[feature] > 0 ? draw_categories(feature, n, numbers)
                                                 : draw_threshold(feature, n, numbers);
      if (varies) return split(node, id);
      std::swap(features_[at], features_[--node.n_varying]);
    }
  }

  // A threshold uniform between the smallest and the largest value, at or above the former and
  // below the latter; missing values take a side by a coin. Where values differ in nothing but that
  // some are missing these go right alone. False: the feature is constant.
  bool draw_threshold(u32 feature, std::size_t n, const NodeNumbers& numbers) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    std::size_t n_missing = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double x = values_[k];
      n_missing += x != x;
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
    if (n_missing == n || (low == high && n_missing == 0)) return false;
    split_ = {};
    split_.feature = feature;
    const u64 number = numbers.at(Purpose::threshold, 0);
    split_.threshold = std::numeric_limits<double>::infinity();
    if (low < high) {
      split_.threshold = place_between(low, high, scale_unit(number));
      split_.missing_left = (number & 1) != 0;
    }
    has_missing_ = n_missing > 0;
    return true;
  }

  // As a float32 number where that lies in [low, high), so that nodes stay small. Written so that
  // the range may be larger than the largest number.
  static double place_between(double low, double high, double share) {
    const double exact = low * (1.0 - share) + high * share;
    const double rounded = static_cast<double>(static_cast<float>(exact));
    if (rounded >= low && rounded < high) return rounded;
    return exact >= low && exact < high ? exact : low;
  }

  // Every category takes a side by a coin, missing values as one of their own, whether the node has
  // them or not. If all that it has took the same side one of them is moved. False: there is one.
  bool draw_categories(u32 feature, std::size_t n, const NodeNumbers& numbers) {
    const u32 n_levels = n_levels_[feature];
    codes_.clear();
    for (std::size_t k = 0; k < n; ++k)
      codes_.push_back(values_[k] == values_[k] ? static_cast<u32>(values_[k]) : n_levels);
    std::sort(codes_.begin(), codes_.end());
    codes_.erase(std::unique(codes_.begin(), codes_.end()), codes_.end());
    if (codes_.size() < 2) return false;
    auto sides = std::make_shared<std::vector<u32>>(n_levels / 32 + 1);
    for (std::size_t w = 0; w < sides->size(); ++w)
      (*sides)[w] = static_cast<u32>(numbers.at(Purpose::threshold, w));
    const auto is_left = [&](u32 code) { return ((*sides)[code / 32] >> (code % 32) & 1) != 0; };
    const auto n_left =
        static_cast<std::size_t>(std::count_if(codes_.begin(), codes_.end(), is_left));
    if (n_left == 0 || n_left == codes_.size()) {
      const u32 moved =
          codes_[scale_below(numbers.at(Purpose::tie, 0), static_cast<u32>(codes_.size()))];
      (*sides)[moved / 32] ^= u32{1} << (moved % 32);
    }
    split_ = {};
    split_.feature = feature;
    split_.categorical = true;
    split_.missing_left = is_left(n_levels);
    if (n_levels % 32 != 0)
      sides->back() &= (u32{1} << (n_levels % 32)) - 1;
    else
      sides->pop_back();
    split_.left_categories = std::move(sides);
    has_missing_ = true;  // its side is settled
    return true;
  }

  bool goes_left(double x) const {
    if (x != x) return split_.missing_left;
    return split_.categorical ? holds_code(*split_.left_categories, x) : x <= split_.threshold;
  }

  void split(const IsolationNode& node, u32 id) {
    const std::span<const u32> rows = rows_of(node);
    std::size_t n_left = 0, n_right = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const u32 row = rows[k];
      const bool left = goes_left(values_[k]);
      rows_[node.begin + n_left] = row;  // at or before the one that was read
      spare_[n_right] = row;
      n_left += left;
      n_right += !left;
    }
    std::copy_n(spare_.begin(), n_right,
                rows_.begin() + static_cast<std::ptrdiff_t>(node.begin + n_left));
    if (!has_missing_) split_.missing_left = n_left > n_right;
    tree_.splits[id] = std::move(split_);
    for (const bool is_right : {true, false}) {  // the left one is the next to be grown
      IsolationNode child = node;
      child.begin += is_right ? n_left : 0;
      child.end -= is_right ? 0 : n_right;
      child.parent = id;
      child.depth = node.depth + 1;
      child.is_right = is_right;
      child.key = child_key(node.key, is_right);
      open_.push_back(child);
    }
  }

  const ColumnReader& x_;
  std::span<const u32> n_levels_;
  const u32 max_depth_;
  InterruptWatch& watch_;
  GrownTree tree_;
  std::vector<IsolationNode> open_;
  std::vector<u32> rows_, spare_, features_, codes_;
  std::vector<double> values_;  // of the feature at hand, in the rows of the node
  GrownTree::Split split_;
  bool has_missing_ = false;
};

}  // namespace

std::vector<u32> draw_isolation_rows(const RowSampling& sampling, u64 seed, u64 tree,
                                     std::size_t n_rows) {
  return RowDrawer(sampling, n_rows).draw(seed, tree);
}

double average_path_length(double n_rows) {
  if (n_rows < 2.0) return 0.0;
  if (n_rows == 2.0) return 1.0;
  return 2.0 * (natural_log(n_rows - 1.0) + kEulerGamma) - 2.0 * (n_rows - 1.0) / n_rows;
}

Trees grow_isolation_forest(const ColumnReader& x, std::span<const u32> n_levels,
                            const IsolationPlan& plan, u64 seed, int n_jobs, InterruptWatch& watch,
                            std::atomic<std::size_t>* done) {
  if (n_levels.size() != x.n_cols || x.n_cols == 0)
    throw std::invalid_argument("n_levels must have one entry a column, and there must be one");
  const RowDrawer drawer(plan.sampling, x.n_rows);
  ArenaOptions options;
  options.n_features = x.n_cols;
  const double rows = static_cast<double>(plan.sampling.n_draws);
  const double work = kRowNs * rows * (plan.max_depth + 1.0) * static_cast<double>(plan.n_trees);
  const int n_threads = choose_threads(n_jobs, work, kThreadCost);
  std::vector<Trees> members(plan.n_trees);
  // A few trees a task: they share the memory of one grower.
  constexpr std::size_t kTreesPerTask = 4;
  parallel_for((plan.n_trees + kTreesPerTask - 1) / kTreesPerTask, n_threads,
               [&](std::size_t task) {
                 IsolationTreeGrower grower(x, n_levels, plan.max_depth, watch);
                 const std::size_t end = std::min(plan.n_trees, (task + 1) * kTreesPerTask);
                 for (std::size_t k = task * kTreesPerTask; k < end; ++k) {
                   const std::size_t tree = plan.first_tree + k;
                   std::vector<u32> features =
                       draw_member_features(plan.sampling, seed, tree, static_cast<u32>(x.n_cols));
                   const GrownTree& grown =
                       grower.grow(seed, tree, drawer.draw(seed, tree), std::move(features));
                   members[k] = compact_trees({&grown, 1}, options);
                   if (done) done->fetch_add(1, std::memory_order_relaxed);
                 }
               });
  return concatenate_trees(members, n_threads);
}

}  // namespace committee
