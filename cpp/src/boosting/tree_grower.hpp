// Grows one boosted tree. Beside tree/builder_loop.hpp, which grows all other trees,
// because a boosted tree lives by what that loop does not have: records of its own that carry the
// gradients, histograms that stay with the open leaves (the smaller child is built, its sibling is
// the parent less it), rows that stay in the order of the leaves, so that scores are updated
// without a tree walk, and histogram entries of one packed word that are scanned four at a time.
// Its rows are behind an interface (leaf_rows.hpp), and may lie elsewhere.
#pragma once
#include <array>
#include <optional>

#include "boosting/leaf_rows.hpp"
#include "committee/parallel.hpp"
#include "committee/tree.hpp"

namespace committee {

// A leaf of the tree grown last.
struct GrownLeaf {
  u32 node = 0, rows = 0;  // number of its rows' leaf, as LeafRows knows it
  std::size_t n_rows = 0;
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  i64 total = 0;  // sum of the words; of vectors the number of rows
  // Where words are updated incrementally: its histogram, or those of parts of it.
  std::vector<const i64*> kept_histograms;
};

// What a grower knows of the table.
struct GrowerTable {
  const std::vector<ColumnBins>* bins = nullptr;
  const RecordLayout* layout = nullptr;
  const WeightFacts* weights = nullptr;  // as the trees of this round see them
};

class BoostingGrower {
 public:
  // `n_scores`: that a tree is grown for; more than one: its leaves are vectors.
  BoostingGrower(const GrowerTable& table, LeafRows& rows, const BoostingParams& params,
                 u32 n_scores, int n_threads);
  // A tree for the scores from `first_score` on. `tree`: its number in the ensemble, for the random
  // keys. Leaf values are left at zero.
  GrownTree grow(std::span<const SearchPlan> scores, u32 first_score, u64 tree,
                 InterruptWatch& watch);

  // Threads of the next trees, at most as many as at first.
  void work_with(int n_threads) {
    n_threads_ = n_threads;
    rows_.work_with(n_threads);
  }

  const std::vector<GrownLeaf>& leaves() const { return leaves_; }
  LeafRows& rows() const { return rows_; }
  // Per node of the tree grown last: the largest bin that goes left (numeric splits).
  const std::vector<u32>& split_bins() const { return split_bins_; }
  std::size_t bytes() const;
  // Where words are updated from tree to tree, so is the histogram of the root: summed up once, and
  // changed by what the words of each leaf's rows were changed by (words without a hessian). Where
  // trees have columns of their own it is summed up anew.
  void forget_root() { root_known_ = false; }
  void update_root(std::span<const i64> changes);
  const std::vector<double>& gains() const { return node_gains_; }  // per node, where it was split

 private:
  struct OpenLeaf : GrownLeaf {
    // Not inlined into itself, level by level.
    COMMITTEE_NOINLINE ~OpenLeaf() = default;

    u32 depth = 0;
    u64 key = kRootKey, order = 0;
    u64 weight = 0;           // of its rows
    std::vector<i64> totals;  // of vectors the sum of each word
    i64* histogram = nullptr;
    bool counted = false;  // the best split is known to leave enough rows on both sides
    bool expanded = false;
    bool recount_due = false;  // its rows have to be counted when it comes next
    BoostSplit best;
    SplitSums sides;
    LeafSplit partition;                             // by which it was expanded
    std::shared_ptr<const std::vector<u64>> groups;  // interaction groups still open
    std::unique_ptr<OpenLeaf> left, right;
  };
  using LeafQueue = std::vector<std::unique_ptr<OpenLeaf>>;
  struct QueuedLeaves;

  void begin_tree(std::span<const SearchPlan> scores, u32 first_score, u64 tree);
  void draw_tree_features();
  bool pays_to_sum_columns() const;
  void list_bundles();
  bool keeps_histograms() const {  // of all leaves, for the next root
    return plan_->incremental && layout_ == &table_layout_;
  }
  std::unique_ptr<OpenLeaf> open_root();
  std::unique_ptr<OpenLeaf> open_incremental_root();
  void sum_root(i64* histogram);
  void search_root(OpenLeaf& root, std::span<i64* const> parts);
  void describe_root(OpenLeaf& root, const RootSums& sums);
  NodeFacts describe_node(const OpenLeaf& leaf) const {
    return {leaf.total, leaf.n_rows, leaf.weight, leaf.lower, leaf.upper, tree_number_, leaf.key};
  }
  u32 add_node(const OpenLeaf& leaf);
  // Symmetric trees (symmetric_growth.cpp).
  struct LevelSplit;
  void grow_levels(std::unique_ptr<OpenLeaf> root, std::size_t most_leaves, InterruptWatch& watch);
  std::vector<u32> list_level_features(std::span<OpenLeaf* const> level) const;
  void split_level(std::span<OpenLeaf* const> level) const;
  LevelSplit search_level(std::span<OpenLeaf* const> level, std::span<const NodeSearch> searches,
                          u32 feature) const;
  std::vector<OpenLeaf*> list_next(const LeafQueue& queue, std::size_t n_left);
  std::pair<Side, double> find_smaller(const OpenLeaf& leaf) const;
  LeafSplit plan_split(const OpenLeaf& leaf, bool builds);
  bool expand(std::span<OpenLeaf* const> batch, bool last);
  void recount_later(std::span<OpenLeaf* const> leaves, bool when_they_come);
  void add_children(const OpenLeaf& leaf);
  void split(std::unique_ptr<OpenLeaf> leaf, LeafQueue& queue);
  std::unique_ptr<OpenLeaf> pop(LeafQueue& queue) const;
  void push(std::unique_ptr<OpenLeaf> leaf, LeafQueue& queue);
  void close(const OpenLeaf& leaf);
  static void collect_histograms(const OpenLeaf& leaf, std::vector<const i64*>& found);
  bool is_worthwhile(const OpenLeaf& leaf) const;
  bool is_too_small(const OpenLeaf& leaf) const;
  bool needs_histograms(const OpenLeaf& leaf, bool last) const;
  double find_priority(const OpenLeaf& leaf) const;
  bool comes_later(const OpenLeaf& a, const OpenLeaf& b) const;

  void make_children(OpenLeaf& leaf);
  struct Siblings {
    OpenLeaf* leaves[2];          // the second may be null
    std::span<i64* const> parts;  // to be added to the first one's histogram
    bool wanted = true;           // histograms are completed in any case
    bool searched[2] = {};
    std::vector<u8> chosen[2] = {};  // features, as choose_features says
  };
  OpenLeaf* pass_histograms(OpenLeaf& leaf, const StepSplit& split, bool searched,
                            std::vector<Siblings>& pairs);
  void search_pairs(std::span<Siblings> pairs);
  void search_columns(std::span<OpenLeaf* const> leaves);
  void search_features(const OpenLeaf& leaf, std::span<const u32> features, const i64* words,
                       BoostSplit& best) const;
  template <class Search>
  void search_bundles(const Siblings& pair, std::size_t begin, std::size_t end,
                      BoostSplit* found) const;
  void start_search(const OpenLeaf& leaf, std::optional<NodeSearch>& search) const {
    search.emplace(*plan_, describe_node(leaf));
  }
  void start_search(const OpenLeaf& leaf, std::optional<VectorSearch>& search) const {
    search.emplace(scores_, leaf.totals);
  }
  using SlotSums = std::array<i64, kHistogramBins + 1>;
  void add_up_slots(const OpenLeaf& leaf, std::size_t bundle, SlotSums& sums) const;
  template <class Search>
  static bool is_hopeless(const SlotSums& sums, const u32* starts, std::size_t column,
                          const Search& search, const BoostSplit& best);
  void complete_bundle(const Siblings& pair, std::size_t bundle) const;
  void find_totals(const Siblings& pair) const;
  ColumnView describe_column(u32 feature) const;
  // What the histogram of a column is added up in, where no part of the leaf's is one.
  struct ColumnRoom {
    alignas(64) i64 bins[kHistogramBins + 8];
    std::vector<i64> levels;  // of a wide category
  };
  ColumnView view_column(const OpenLeaf& leaf, u32 feature, ColumnRoom& room) const;
  void search_feature(const OpenLeaf& leaf, u32 feature, VectorSearch& search,
                      BoostSplit& best) const;
  void search_feature(const OpenLeaf& leaf, u32 feature, NodeSearch& search,
                      BoostSplit& best) const;
  void recount(OpenLeaf& leaf);
  void search_counted(const OpenLeaf& leaf, u32 feature, NodeSearch& search,
                      BoostSplit& best) const;
  bool may_split(const OpenLeaf& leaf) const;
  u32 find_max_depth() const {
    return plan_->symmetric && params_.mixed ? params_.mixed_depth : params_.max_depth;
  }
  std::vector<u8> choose_features(const OpenLeaf& leaf) const;
  bool is_open_to(const OpenLeaf& leaf, u32 feature) const;
  static std::size_t count_drawn(std::size_t n, double share);
  void draw_features(std::vector<u32>& features, double share, u64 node, u64 depth) const;
  void prune();  // after growing: merges leaves whose gain is below ccp_alpha
  GrownTree::Split describe(const OpenLeaf& leaf) const;

  i64* borrow_histogram();
  void return_histogram(i64*& histogram);
  void drop_histogram(i64*& histogram) {  // of a leaf that will not be split
    if (!keeps_histograms()) return_histogram(histogram);
  }
  void reclaim_histograms();

  const std::vector<ColumnBins>& bins_;
  const RecordLayout& table_layout_;  // of all columns
  const WeightFacts& weights_;
  LeafRows& rows_;
  const BoostingParams& params_;
  const u32 n_scores_;
  int n_threads_;
  const u32 width_;  // words of an entry
  std::vector<AlignedBuffer<i64>> histograms_;
  std::size_t histogram_size_ = 0;     // of each, in words
  AlignedBuffer<i64> root_histogram_;  // updated incrementally
  i64 root_total_ = 0;
  bool root_known_ = false;
  std::vector<i64*> free_histograms_;
  std::vector<std::vector<u64>> feature_groups_;

  // Of the tree at hand.
  const RecordLayout* layout_ = nullptr;  // of the columns that it looks at
  std::size_t n_entries_ = 0;             // words of a node
  bool all_features_ = false;             // none of its features was left out
  // Nodes look at few features, whose histograms are made of their rows, for the search alone; no
  // leaf has one.
  bool sums_columns_ = false;
  std::size_t drawn_per_node_ = 0;
  std::vector<std::vector<u32>> bundle_features_;  // of each bundle; the last: wide categories
  std::span<const SearchPlan> scores_;
  const SearchPlan* plan_ = nullptr;  // of the first score
  u32 first_score_ = 0;
  u32 next_rows_ = 0;  // numbers of leaves
  double least_gain_ = 0.0;
  u64 tree_number_ = 0, next_order_ = 0;
  std::vector<u32> tree_features_;
  GrownTree tree_;
  std::vector<u32> split_bins_;
  std::vector<double> node_gains_;
  std::vector<GrownLeaf> node_leaves_;  // per node, if the tree will be pruned
  std::vector<GrownLeaf> leaves_;
  std::vector<u32> unsplit_;  // leaves whose rows lie with children that are none
};

}  // namespace committee
