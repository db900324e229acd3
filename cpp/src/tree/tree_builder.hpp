// The growing of one tree over one accumulator: pop a node, partition its rows, open its children.
// Declared here; defined in tree/builder_loop.hpp and tree/builder_search.hpp, compiled in
// builder_<family>.cpp.
#pragma once
#include <bit>
#include <mutex>

#include "split/histogram.hpp"
#include "split/presorted_rows.hpp"
#include "split/split_candidate.hpp"
#include "split/threshold.hpp"
#include "tree/node_queue.hpp"
#include "tree/route.hpp"
#include "tree/training_sample.hpp"

namespace committee {

struct ExtraTreesRules;
struct ExtraTreesTable;
class ExtraTreesLevels;
struct MulticlassRules;
class MulticlassSubtree;

// A part of a tree under construction; a parallel task grows one of its own.
struct TreePart {
  GrownTree tree;
  bool is_compact = false;  // the whole tree lies in the scratch instead
  // Per node, filled in leaves: for each output the sum of w (y - offset), then of its second
  // moment (w (y - offset)^2, or w y ln y for Poisson). Inner nodes are summed from their children.
  std::vector<double> moments;
  std::vector<double> offsets;       // of the targets, per output (whole trees only)
  std::vector<double> lower, upper;  // monotone bounds of the node's value, in target units
};

// A lane a feature.
using BinLanes [[gnu::vector_size(kBatch)]] = u8;

// The range of the bins of up to kBatch features over some rows. Missing is the largest code; a
// step up wraps it to zero, so that it does not count as the largest bin.
struct BinRange {
  BinLanes lo = BinLanes{} - 1, hi_next = BinLanes{}, lo_next = BinLanes{} - 1;

  void take(BinLanes bins) {
    const BinLanes next = bins + 1;
    lo = bins < lo ? bins : lo;
    hi_next = next > hi_next ? next : hi_next;
    lo_next = next < lo_next ? next : lo_next;
  }
};

// A lane a feature, wide enough for the weight of some rows.
using CountLanes [[gnu::vector_size(2 * kBatch)]] = u16;

template <class Accumulator>
class TreeBuilder {
 public:
  TreeBuilder(const GrowthPlan& plan, Sample<Accumulator>& sample);
  TreePart grow();
  RouteCounts count_nodes() const;

 private:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;

  // Where a node lies: among the rows, and in the tree.
  struct NodePlace {
    std::size_t begin = 0, end = 0;  // rows: items [begin, end)
    u32 id = 0, depth = 0;
    u32 parent = kNone;
    bool is_right = false;
    u64 key = kRootKey;
    std::size_t size() const { return end - begin; }
  };

  struct OpenNode : NodePlace {
    u64 order = 0;
    double decrease = 0.0;
    double lower = -std::numeric_limits<double>::infinity();  // bounds in the units of the finder
    double upper = std::numeric_limits<double>::infinity();
    Candidate best;
    std::shared_ptr<const std::vector<u32>> features;  // worth looking at; null: all
    std::shared_ptr<const std::vector<u64>> groups;  // interaction groups still open; null: no rule
    std::unique_ptr<AlignedBuffer<Element>>
        dense;  // histograms of all features; null: build on demand
  };

  // A node's rows and where their bins lie.
  struct NodeRows {
    RecordBlock block;
    std::span<const Item> items;
    NodeNumbers numbers;  // of the node
  };

  // A node of a subtree that is finished in one go (tree/fast/subtree_builder.hpp); its total lies
  // beside it.
  struct SmallNode : NodePlace {
    u64 varying = ~u64{0};       // a bit a feature that may vary here
    bool is_copied = false;      // rows are numbers of copied records
    bool may_list = true;        // no value of theirs is missing, as far as known
    bool is_listed = false;      // and there are sorted lists of them,
    bool is_second = false;      // the ones that count in the second buffer
    std::size_t block_rows = 0;  // up to how many rows it may be finished in a block
  };

  // Cuts of a run of features.
  struct SingleCuts {
    SingleCut list[kBatch];
    std::size_t n = 0;
    u32 has_more = 0;        // a bit a feature that has other cuts besides
    u8 limits[kBatch] = {};  // per feature: one above the last bin that goes left; 0: none
  };

  // What a leaf of numbers wants of a row.
  struct LeafRow {
    double value, weight;
  };

  // Scratch memory of one thread at a time.
  struct Worker {
    RouteCounts nodes{};  // since the worker was made
    u32 used = 0;         // routes that searched the node at hand
    void count(Route route, std::size_t n) { nodes[static_cast<u32>(route)] += n; }
    void use(Route route) { used |= 1u << static_cast<u32>(route); }
    void count_used() {
      for (; used; used &= used - 1) ++nodes[static_cast<u32>(std::countr_zero(used))];
    }
    std::unique_ptr<SplitFinder<Accumulator>> finder;
    AlignedBuffer<Element> hist;  // kBatch features, all zero between uses
    AlignedBuffer<Item> spare;
    std::vector<Element> total;
    std::vector<u64> keyed, keyed_spare;
    std::vector<u32> permutation, drawn;
    std::vector<u32> places;  // per feature that was drawn: when
    std::vector<CategoryCell<Element>> cells;
    std::vector<Element> wide_cells;
    std::vector<u32> wide_codes;
    std::vector<u8> varies;
    std::vector<double> value;  // of a node
    // A word a row: the bins of the run of features that was looked at last.
    AlignedBuffer<u64> run_bins;
    u32 run[kBatch];
    u32 n_run = 0;
    std::vector<Element> run_sums;  // kBatch cells
    std::vector<CountLanes> lanes;
    SingleCuts cuts;
    // Of tree/fast/subtree_builder.hpp: open nodes and their totals, a copy of some records, their
    // rows.
    std::vector<SmallNode> open;
    std::vector<Element> open_totals;
    AlignedBuffer<u8> copied;
    std::vector<u32> copied_rows;
    std::shared_ptr<ExtraTreesLevels> extra_trees;
    std::shared_ptr<MulticlassSubtree> multiclass_subtree;
    std::vector<LeafRow> copied_leaf_rows;  // where leaves hold numbers
    // Of tree/fast/presorted_subtree.hpp.
    struct Lists {
      AlignedBuffer<u32> entries[2];  // a node's lists in one, its children's in the other
      std::vector<Element> cells;     // of each row
      std::vector<u8> sides;          // of each row: 0 left, 32 right
      std::vector<u64> pool;          // a byte a feature: 255 where it may be split by
      ListEstimates estimates;
      std::size_t begin = 0;  // of the node whose rows are listed
    } lists;
  };
  class PooledWorker;  // a worker borrowed from the pool

  struct Found {
    Candidate best;
    double decrease = 0.0;
  };

  // The loop.
  void run(OpenNode root, TreePart& part, Worker& worker, bool may_defer);
  void open_node(OpenNode node, TreePart& part, Worker& worker, NodeQueue<OpenNode>& queue,
                 bool may_defer);
  void split_node(OpenNode node, TreePart& part, Worker& worker, NodeQueue<OpenNode>& queue,
                  bool may_defer);
  void close_leaf(const NodePlace& node, TreePart& part);
  u32 add_to_tree(const NodePlace& node, TreePart& part, Worker& worker);
  void summarise_medians(const NodePlace& node, TreePart& part, u32 id)
    requires(Accumulator::kKind == AccumulatorKind::moments);
  // copied_rows: null where the items' rows are the table's.
  bool is_pure(const NodePlace& node, const Worker& worker, const u32* copied_rows) const;
  bool is_terminal(const NodePlace& node, const Worker& worker,
                   const u32* copied_rows = nullptr) const;
  std::size_t partition_rows(OpenNode& node, Worker& worker);
  // One byte a row, `stride` bytes apart, and which of its bits count.
  struct RowBytes {
    const u8* bytes;
    std::size_t stride;
    u8 mask = 255;
  };
  std::size_t partition_range(const NodePlace& node, const Candidate& best, const RowBytes& codes,
                              Worker& worker);
  bool is_left_heavier(const OpenNode& node, std::size_t n_left) const;
  void bound_children(const OpenNode& node, OpenNode& left, OpenNode& right) const;
  void share_histograms(OpenNode& node, OpenNode& left, OpenNode& right);
  void append_part(TreePart& part, TreePart&& grown, u32 parent, bool is_right) const;
  u64 next_order_ = 0;

  // Subtrees that need nothing rare.
  void finish_subtree(const OpenNode& top, TreePart& part, Worker& worker);
  void copy_records(SmallNode& node, Worker& worker) const;
  void prepare_lists(typename Worker::Lists& lists) const;
  void close_copied_leaf(const SmallNode& node, TreePart& part, const Worker& worker) const;
  void make_lists(SmallNode& node, Worker& worker) const;
  void search_lists(SmallNode& node, Worker& worker, Candidate& best) const;
  std::size_t partition_lists(SmallNode& node, const Candidate& best, Worker& worker) const;
  bool take_open(SmallNode& node, Worker& worker) const;
  SmallNode descend(SmallNode& node, Candidate& best, TreePart& part, Worker& worker);
  bool search_small(SmallNode& node, const NodeNumbers& numbers, Worker& worker, Candidate& best);
  std::size_t partition_small(SmallNode& node, const Candidate& best, Worker& worker);
  void scan_histograms(const NodeRows& rows, std::span<const u32> features, Worker& worker,
                       Candidate& best, u8* varies);
  std::size_t scan_small(const NodeRows& rows, std::span<const u32> features, Worker& worker,
                         Candidate& best, u64& varying);

  // The search in a node.
  void sum_items(const OpenNode& node, Worker& worker) const;
  bool find_split(OpenNode& node, Worker& worker);
  void search_all(OpenNode& node, Worker& worker, Found& found);
  void search_drawn(OpenNode& node, Worker& worker, Found& found);
  std::size_t scan_features(const OpenNode& node, std::span<const u32> features, Worker& worker,
                            Candidate& best, u8* varies);
  u32 scan_single_cuts(const NodeRows& rows, std::span<const u32> features, Worker& worker,
                       Candidate& best, u8* varies);
  void scan_bits(const NodeRows& rows, std::span<const u32> features, Worker& worker,
                 Candidate& best, u8* varies);
  void prepare_extra_trees();
  bool finish_extra_trees(SmallNode& node, TreePart& part, Worker& worker);
  void prepare_multiclass();
  bool finish_multiclass(SmallNode& node, TreePart& part, Worker& worker) const;
  bool prefers_columns(const NodeRows& rows, std::size_t n_features) const;
  BinRange gather_run_bins(const NodeRows& rows, std::span<const u32> features,
                           Worker& worker) const;
  void scan_random_thresholds(const NodeRows& rows, std::span<const u32> features, Worker& worker,
                              Candidate& best, u8* varies);
  std::size_t scan_few_rows(const NodeRows& rows, std::span<const u32> features, Worker& worker,
                            Candidate& best, u8* varies);
  void list_cuts(const NodeRows& rows, std::span<const u32> features, const BinRange& range,
                 const Worker& worker, SingleCuts& cuts, u8* varies) const;
  void sum_left(std::span<const Item> items, const u64* words, const u8* limits,
                std::size_t n_features, Worker& worker) const;
  bool scan_filled(const NodeNumbers& numbers, u32 feature, const Element* hist, u64 touched,
                   Worker& worker, Candidate& best);
  bool scan_in_order(const OpenNode& node, u32 feature, Worker& worker, Candidate& best);
  bool scan_wide(const OpenNode& node, u32 feature, Worker& worker, Candidate& best);
  bool scan_categories_in_order(const OpenNode& node, u32 feature, Worker& worker, Candidate& best);
  void collect_category_cells(u32 feature, const Element* hist, u64 touched, Worker& worker) const;
  void accumulate_wide(const OpenNode& node, u32 feature, Worker& worker) const;
  SortedRows sort_rows(const OpenNode& node, u32 feature, Worker& worker) const;
  void build_dense(OpenNode& node);
  FeatureView view_feature(const NodeNumbers& numbers, u32 feature, const Worker& worker) const;
  void fill_view(const NodeNumbers& numbers, u32 feature, const Worker& worker,
                 FeatureView& view) const;
  NodeNumbers numbers_of(const NodePlace& node) const { return {tree_key_, node.key}; }
  NodeRows rows_of(const OpenNode& node, u32 feature) const;
  NodeLimits limits_of(const OpenNode& node) const;
  u64 dense_groups(u32 feature) const;
  bool fits_dense(std::size_t n_rows) const;
  std::size_t batch_size() const;
  bool is_numeric(u32 feature) const { return !(*data_.bins)[feature].categorical; }
  std::shared_ptr<const std::vector<u32>> allowed_features(const std::vector<u64>& groups) const;

  std::unique_ptr<Worker> make_worker() const;

  bool takes(Route route) const { return plan_.route.allows(route); }

  const GrowthPlan& plan_;
  const GrowParams& params_;
  const BinnedMatrix& data_;
  Sample<Accumulator>& sample_;
  Item* items_;
  const bool takes_medians_, is_poisson_;  // what leaves hold
  const KeyPrefix tree_key_;
  std::vector<u32> all_features_;
  RecordBlock block_{};  // what a plain subtree reads
  u64 two_valued_ = 0;   // a bit a feature of two bins, where a subtree may take their cuts alone
  // The smallest and the largest value of each bin of a column.
  struct ColumnEnds {
    const double *low, *high;
  };
  std::vector<ColumnEnds> column_ends_;               // per feature, of random_thresholds
  std::shared_ptr<const ExtraTreesTable> own_table_;  // where the input has none
  std::shared_ptr<const ExtraTreesRules>
      extra_trees_rules_;  // where subtrees may be finished in blocks
  std::shared_ptr<const MulticlassRules> multiclass_rules_;  // the same, for any classes
  NodeLimits limits_;                                        // of a node without bounds
  std::vector<OpenNode> deferred_;
  std::size_t defer_rows_ = 0;
  std::mutex pool_mutex_;
  std::vector<std::unique_ptr<Worker>> pool_;
};

}  // namespace committee
