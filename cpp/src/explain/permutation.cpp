#include "committee/permutation.hpp"

#include <algorithm>
#include <array>

#include "explain/weighted_tree.hpp"

namespace committee {

namespace {

constexpr int kStepsPerCheck = 2;     // between two looks at whether all walks have ended
constexpr std::size_t kInFlight = 8;  // walks under way at a time
// Rows of a task: many share what is read of a tree, few let every thread have some.
constexpr std::size_t kFewestRows = 512, kMostRows = 4096;
constexpr double kWalkCost = 10.0;  // nanoseconds
constexpr u32 kNowhere = 0xFFFFFFFFu;

// Rows of a block, and the values that the feature gets.
struct PermutedRows {
  std::span<const double> rows;  // [row][feature]
  std::size_t n_cols, n_repeats;
  std::vector<double> values;  // [row][repeat]

  const double* row(std::size_t r) const { return rows.data() + r * n_cols; }
  double value(std::size_t r, std::size_t repeat) const { return values[r * n_repeats + repeat]; }
};

// The way of a row through one tree, as far as it concerns one feature.
template <class T, bool kCategories>
class Rewalk {
 public:
  Rewalk(const Trees& trees, std::size_t tree, u32 feature)
      : trees_(trees),
        nodes_(static_cast<const Node<T>*>(trees.nodes) + trees.node_offsets[tree]),
        feature_(feature) {}

  // For each node the first question about the feature on the way to it, with kMore if it is not
  // the only one; kNowhere if there is none. False if the tree does not ask at all.
  static constexpr u32 kMore = 1u << 31;
  bool find_questions(std::span<u32> found) const {
    found[0] = kNowhere;
    bool any = false;
    for (u32 k = 0; k < found.size(); ++k) {
      const Node<T>& node = nodes_[k];
      if (node.is_leaf()) continue;
      u32 below = found[k];
      if (node.feature() == feature_) {
        any = true;
        below = below == kNowhere ? k : below | kMore;
      }
      found[node.left] = found[node.left + 1] = below;
    }
    return any;
  }

  struct Start {
    u32 node;
    u32 row;  // in the block
    u32 repeat;
  };
  // Walks from every start; end(number of the start, node) is called where the walk ends: in a leaf
  // or, with kStop, at a question about the feature, whose value is values[row][repeat] otherwise.
  // Eight at a time, since a walk is a chain of loads; one that has ended waits for the others.
  template <bool kStop, class End>
  void walk(std::span<const Start> starts, const PermutedRows& rows, End&& end) const {
    for (std::size_t first = 0; first < starts.size(); first += kInFlight) {
      u32 at[kInFlight];
      const double* row[kInFlight];
      double value[kInFlight];
      for (std::size_t i = 0; i < kInFlight; ++i) {
        const Start& start = starts[std::min(first + i, starts.size() - 1)];
        at[i] = start.node;
        row[i] = rows.row(start.row);
        value[i] = kStop ? 0.0 : rows.value(start.row, start.repeat);
      }
      for (u32 moved = 1; moved;) {
        moved = 0;
        for (int steps = 0; steps < kStepsPerCheck; ++steps) {
#pragma GCC unroll 8
          for (std::size_t i = 0; i < kInFlight; ++i) {
            const Node<T>& node = nodes_[at[i]];
            const u32 asked = node.feature();
            const u32 asks = asked == feature_;
            const double x = !kStop && asks ? value[i] : row[i][asked];
            const u32 next = node.left + goes_right(node, x);
            const u32 goes_on = (node.tag >> 31 | (kStop ? asks : 0)) - 1;  // all bits, or none
            const u32 change = (next ^ at[i]) & goes_on;
            at[i] ^= change;
            moved |= change;
          }
        }
      }
      const std::size_t last = std::min(first + kInFlight, starts.size());
      for (std::size_t k = first; k < last; ++k) end(static_cast<u32>(k), at[k - first]);
    }
  }
  bool is_leaf(u32 node) const { return nodes_[node].is_leaf(); }
  u32 child(u32 node, u32 right) const { return nodes_[node].left + right; }
  u32 answer(u32 node, double x) const { return goes_right(nodes_[node], x); }
  u32 leaf(u32 node) const { return nodes_[node].left; }

 private:
  u32 goes_right(const Node<T>& node, double x) const {
    if (kCategories && node.is_categorical()) {
      if (x != x) return !node.missing_left();
      return !holds_code(trees_.category_set(node.category_set()), x);
    }
    const u32 above = x > static_cast<double>(node.threshold);
    const u32 missing = x != x;
    return above | (missing & ~(node.tag >> 29));
  }

  const Trees& trees_;
  const Node<T>* nodes_;
  u32 feature_;
};

// One block of rows, one feature, all repeats.
class PermutedBlock {
 public:
  PermutedBlock(const TreeSum& sum, PermutedRows rows, std::size_t n_rows)
      : sum_(sum),
        rows_(std::move(rows)),
        n_rows_(n_rows),
        width_(sum.trees.width),
        sums_(n_rows * rows_.n_repeats * sum.out_width, 0.0) {}

  // ends: the node of each row as it is; terms: what leaves add.
  template <class T, bool kCategories>
  void add_tree(std::size_t tree, u32 feature, const u32* ends, std::span<const double> terms,
                std::span<const u32> questions) {
    using Start = typename Rewalk<T, kCategories>::Start;
    const Rewalk<T, kCategories> rewalk(sum_.trees, tree, feature);
    const std::size_t column = first_column(sum_, tree);
    const auto add = [&](u32 row, u32 repeat, u32 node) {
      add_leaf_terms(row, repeat, column, &terms[rewalk.leaf(node) * width_]);
    };
    const u32 n_repeats = static_cast<u32>(rows_.n_repeats);
    std::vector<Start> aside,
        again;  // down the side that the row itself does not take; with a value
    for (u32 r = 0; r < n_rows_; ++r) {
      u32 node = questions.empty() ? kNowhere : questions[ends[r]];
      if (node == kNowhere) {
        add_to_repeats(r, column, &terms[rewalk.leaf(ends[r]) * width_]);
      } else {
        node &= ~rewalk.kMore;
        aside.push_back({rewalk.child(node, 1 - rewalk.answer(node, rows_.row(r)[feature])), r, 0});
      }
    }
    rewalk.template walk<true>(aside, rows_, [&](u32 start, u32 end) {
      const u32 r = aside[start].row;
      const u32 question = questions[ends[r]] & ~rewalk.kMore;
      const bool only = question == questions[ends[r]];
      const u32 own = rewalk.answer(question, rows_.row(r)[feature]);
      for (u32 k = 0; k < n_repeats; ++k) {
        const u32 side = rewalk.answer(question, rows_.value(r, k));
        if (side == own && only) {
          add(r, k, ends[r]);
        } else if (side != own && rewalk.is_leaf(end)) {
          add(r, k, end);
        } else {
          again.push_back({side == own ? rewalk.child(question, side) : end, r, k});
        }
      }
    });
    rewalk.template walk<false>(
        again, rows_, [&](u32 start, u32 end) { add(again[start].row, again[start].repeat, end); });
  }

  std::span<const double> sums() const { return sums_; }  // [row][repeat][column]

 private:
  void add_leaf_terms(std::size_t row, std::size_t repeat, std::size_t column,
                      const double* terms) {
    double* const to = sums_.data() + (row * rows_.n_repeats + repeat) * sum_.out_width + column;
    to[0] += terms[0];
    for (std::size_t c = 1; c < width_; ++c) to[c] += terms[c];
  }

  void add_to_repeats(std::size_t row, std::size_t column, const double* terms) {
    const std::size_t n = rows_.n_repeats, stride = sum_.out_width;
    double* const to = sums_.data() + row * n * stride + column;
    if (width_ == 2 && stride == 2) {  // two classes: one run of numbers
      const double first = terms[0], second = terms[1];
      for (std::size_t k = 0; k < n; ++k) to[2 * k] += first, to[2 * k + 1] += second;
      return;
    }
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t c = 0; c < width_; ++c) to[k * stride + c] += terms[c];
    }
  }

  const TreeSum& sum_;
  PermutedRows rows_;
  std::size_t n_rows_, width_;
  std::vector<double> sums_;
};

}  // namespace

PermutationStudy::PermutationStudy(const TreeSum& sum, const MatrixView& x, int n_jobs,
                                   InterruptWatch& watch)
    : sum_(sum), x_(x), n_jobs_(n_jobs), rows_(x.n_rows * x.n_cols), terms_(sum.trees.n_trees) {
  check_sum(sum, x.n_cols);
  for (std::size_t r = 0; r < x.n_rows; ++r) {
    for (std::size_t c = 0; c < x.n_cols; ++c) rows_[r * x.n_cols + c] = x(r, c);
  }
  const std::size_t n_trees = sum.trees.n_trees;
  std::vector<u32> ends(x.n_rows * n_trees);
  apply_trees(sum.trees, x, n_jobs, ends.data(), &watch);
  ends_.resize(ends.size());
  for (std::size_t r = 0; r < x.n_rows; ++r) {
    for (std::size_t t = 0; t < n_trees; ++t) ends_[t * x.n_rows + r] = ends[r * n_trees + t];
  }
  for (std::size_t t = 0; t < n_trees; ++t) {
    watch.poll();
    terms_[t] = tabulate_leaves(sum, t);
  }
}

namespace {

// Calls use.operator()<T, kCategories>() for the nodes that the trees have.
template <class Use>
void with_nodes(const Trees& trees, Use&& use) {
  const bool categories = !trees.category_offsets.empty();
  if (trees.double_thresholds) {
    categories ? use.template operator()<double, true>() : use.template operator()<double, false>();
  } else {
    categories ? use.template operator()<float, true>() : use.template operator()<float, false>();
  }
}

// The questions about one feature on the way to every node of every tree.
struct QuestionTable {
  std::vector<u32> found;  // [node of the arena]
  std::vector<u8> asks;    // [tree]

  QuestionTable(const Trees& trees, u32 feature, int n_threads, InterruptWatch& watch)
      : found(trees.node_offsets[trees.n_trees] - trees.node_offsets[0]), asks(trees.n_trees) {
    parallel_for(trees.n_trees, n_threads, [&](std::size_t t) {
      watch.poll();
      with_nodes(trees, [&]<class T, bool kCategories>() {
        const std::span<u32> own(&found[trees.node_offsets[t] - trees.node_offsets[0]],
                                 trees.n_nodes(t));
        asks[t] = Rewalk<T, kCategories>(trees, t, feature).find_questions(own) ? 1 : 0;
      });
    });
  }
  std::span<const u32> of(const Trees& trees, std::size_t t) const {
    if (!asks[t]) return {};
    return {&found[trees.node_offsets[t] - trees.node_offsets[0]], trees.n_nodes(t)};
  }
};

}  // namespace

void PermutationStudy::predict(u32 feature, std::span<const u32> orders, double* out,
                               InterruptWatch& watch) const {
  const Trees& trees = sum_.trees;
  const std::size_t n = x_.n_rows, n_repeats = n ? orders.size() / n : 0;
  if (feature >= x_.n_cols || n_repeats * n != orders.size())
    throw std::invalid_argument("Orders must have an entry a row, for a column of X.");
  for (const u32 row : orders) {
    if (row >= n) throw std::invalid_argument("An order names a row that does not exist.");
  }
  const double divisor = find_divisor(sum_);
  const double work = kWalkCost * static_cast<double>(trees.n_trees * orders.size());
  const int n_threads = choose_threads(n_jobs_, work, kThreadCost);
  const QuestionTable questions(trees, feature, n_threads, watch);
  const std::size_t share = n / static_cast<std::size_t>(n_threads) + 1;
  const std::size_t block_rows = std::clamp(share, kFewestRows, kMostRows);
  parallel_for((n + block_rows - 1) / block_rows, n_threads, [&](std::size_t b) {
    WorkPolls polls(watch);
    const std::size_t first = b * block_rows, size = std::min(block_rows, n - first);
    PermutedRows rows{std::span(rows_).subspan(first * x_.n_cols, size * x_.n_cols), x_.n_cols,
                      n_repeats, std::vector<double>(n_repeats * size)};
    for (std::size_t k = 0; k < n_repeats; ++k) {
      for (std::size_t r = 0; r < size; ++r)
        rows.values[r * n_repeats + k] = rows_[orders[k * n + first + r] * x_.n_cols + feature];
    }
    PermutedBlock block(sum_, std::move(rows), size);
    with_nodes(trees, [&]<class T, bool kCategories>() {
      for (std::size_t t = 0; t < trees.n_trees; ++t) {
        polls.add(kWalkCost * static_cast<double>(size * n_repeats));
        block.add_tree<T, kCategories>(t, feature, &ends_[t * n + first], terms_[t],
                                       questions.of(trees, t));
      }
    });
    const double* from = block.sums().data();
    for (std::size_t r = 0; r < size; ++r) {
      for (std::size_t k = 0; k < n_repeats; ++k) {
        double* const to = out + (k * n + first + r) * sum_.out_width;
        for (std::size_t c = 0; c < sum_.out_width; ++c) to[c] = *from++ / divisor;
      }
    }
  });
}

}  // namespace committee
