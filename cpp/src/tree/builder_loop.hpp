// The growing loop: what happens to a node once its best split is known. Included by
// builder_<family>.cpp.
#pragma once
#include <algorithm>
#include <new>
#include <optional>

#include "split/feature_sampler.hpp"
#include "split/threshold.hpp"
#include "tree/fast/subtree_builder.hpp"
#include "tree/finish_tree.hpp"
#include "tree/tree_builder.hpp"

namespace committee {

// A subtree becomes a task of its own once it holds at most this share of a thread's rows.
inline constexpr std::size_t kTasksPerThread = 8;
inline constexpr std::size_t kMinTaskRows = 512;

template <class Accumulator>
struct GrowthWorker {
  static constexpr bool kGrowsSubtrees = GrowthContext<Accumulator>::may_take(Route::subtree);

  explicit GrowthWorker(const GrowthContext<Accumulator>& context)
      : search(context), partition(context), writer(context), total(context.accumulator.cell()) {
    if constexpr (kGrowsSubtrees) {
      if (context.takes(Route::subtree)) subtree.emplace(context, search, partition, writer);
    }
  }
  // The subtree of a node whose total is at hand, by features that may vary in it; only where that
  // route is taken.
  void grow_subtree(const NodePosition& node, std::span<const u32> features, TreePart& part) {
    if constexpr (kGrowsSubtrees) subtree->grow(node, features, total.data(), part);
  }

  TreeNodeSearch<Accumulator> search;
  NodePartition<Accumulator> partition;
  NodeWriter<Accumulator> writer;
  std::optional<SubtreeBuilder<Accumulator>> subtree;  // where that route is taken
  std::vector<typename Accumulator::Element> total;    // of the node at hand
  std::vector<u8> varies;                              // per feature that was searched
  std::vector<u32> permutation, drawn;
  // Subtrees whose rows are sorted together, when the tree above them is there.
  std::vector<OpenNode<typename Accumulator::Element>> postponed;
  // Of a table of entries.
  SwappedPlaces swapped;
  NodeColumns columns;
};

// A worker borrowed from the builder's pool, given back at the end of the scope.
template <class Accumulator>
class TreeBuilder<Accumulator>::PooledWorker {
 public:
  explicit PooledWorker(TreeBuilder& builder) : builder_(builder) {
    {
      const std::lock_guard lock(builder.pool_mutex_);
      if (!builder.pool_.empty()) {
        worker_ = std::move(builder.pool_.back());
        builder.pool_.pop_back();
      }
    }
    if (!worker_) worker_ = std::make_unique<Worker>(builder.context_);
  }
  ~PooledWorker() {
    const std::lock_guard lock(builder_.pool_mutex_);
    // Where there is no memory to keep it, the worker is gone, and the next one is made anew.
    try {
      builder_.pool_.push_back(std::move(worker_));
    } catch (const std::bad_alloc&) {
    }
  }
  PooledWorker(const PooledWorker&) = delete;
  PooledWorker& operator=(const PooledWorker&) = delete;
  Worker& operator*() { return *worker_; }

 private:
  TreeBuilder& builder_;
  std::unique_ptr<Worker> worker_;
};

template <class Accumulator>
TreeBuilder<Accumulator>::TreeBuilder(const GrowthPlan& plan, Sample<Accumulator>& sample)
    : context_(plan, sample), plan_(plan), params_(plan.params), accumulator_(sample.accumulator) {
  const std::size_t share = sample.n / (kTasksPerThread * static_cast<std::size_t>(plan.n_threads));
  defer_rows_ = plan.n_threads > 1 ? std::max(share, kMinTaskRows) : 0;
}

template <class Accumulator>
TreeBuilder<Accumulator>::~TreeBuilder() = default;

template <class Accumulator>
TreePart TreeBuilder<Accumulator>::grow() {
  TreePart part;
  if (plan_.input.scratch) {
    part.tree = std::move(plan_.input.scratch->tree);
    part.tree.clear();
  }
  // A full tree of numbers has two nodes a row, one of classes about one.
  std::size_t n_nodes =
      context_.sample.n * (Accumulator::kKind == AccumulatorKind::moments ? 2 : 1);
  if (params_.max_depth < 20) n_nodes = std::min(n_nodes, std::size_t{2} << params_.max_depth);
  if (params_.max_leaf_nodes > 0)
    n_nodes = std::min<std::size_t>(n_nodes, 2 * params_.max_leaf_nodes);
  part.tree.reserve(n_nodes,
                    Accumulator::kKind == AccumulatorKind::binary ? 2 : accumulator_.cell());
  if (context_.keeps_numbers()) plan_.input.scratch->numbers.begin(context_.sample.n);
  {
    PooledWorker worker(*this);
    const bool may_defer = plan_.n_threads > 1 && params_.max_leaf_nodes == 0;
    Node root = make_root();
    if (is_subtree(root, may_defer)) {
      sum_items(root, *worker);
      (*worker).grow_subtree(root, features_of(root), part);
    } else {
      run(std::move(root), part, *worker, may_defer);
    }
    if (context_.keeps_numbers()) (*worker).search.count(Route::compact_tree, part.tree.size());
  }
  grow_deferred(part);
  if (context_.keeps_numbers()) {
    plan_.input.scratch->numbers.join({part.tree, part.moments}, *context_.data.bins);
    plan_.input.scratch->kept = GrowthScratch::Kept::numbers;
    part.is_compact = true;
  }
  return part;
}

template <class Accumulator>
typename TreeBuilder<Accumulator>::Node TreeBuilder<Accumulator>::make_root() const {
  Node root;
  root.end = context_.sample.n;
  if (!plan_.feature_groups.empty()) {
    const std::size_t words = (params_.interaction_groups.size() + 63) / 64;
    root.groups = std::make_shared<const std::vector<u64>>(words, ~u64{0});
    root.features = allowed_features(*root.groups);
  } else if (!params_.member_features.empty()) {
    root.features = std::make_shared<const std::vector<u32>>(params_.member_features);
  } else if (context_.data.entries && !plan_.draws_features) {
    // Most columns of a wide table may be constant. Drawing counts them, a search need not.
    root.features = std::make_shared<const std::vector<u32>>(context_.entry_columns->list_all());
  }
  return root;
}

template <class Accumulator>
RouteCounts TreeBuilder<Accumulator>::count_nodes() const {
  RouteCounts nodes{};
  for (const auto& worker : pool_) {
    for (std::size_t r = 0; r < kRoutes; ++r) nodes[r] += worker->search.nodes()[r];
  }
  return nodes;
}

template <class Accumulator>
void TreeBuilder<Accumulator>::run(Node root, TreePart& part, Worker& worker, bool may_defer) {
  NodeQueue<Node> queue(params_.max_leaf_nodes > 0);
  u32 n_leaves = 1;
  open_node(std::move(root), part, worker, queue, may_defer);
  while (!queue.empty()) {
    Node node = queue.pop();
    if (params_.max_leaf_nodes > 0 && n_leaves >= params_.max_leaf_nodes) {
      worker.writer.close_leaf(node, part);
      continue;
    }
    split_node(std::move(node), part, worker, queue, may_defer);
    ++n_leaves;
  }
  grow_postponed(part, worker);
}

// Subtrees of exact splits, as many at a time as have room for their sorted rows.
template <class Accumulator>
void TreeBuilder<Accumulator>::grow_postponed(TreePart& part, Worker& worker) {
  std::vector<Node> tops = std::move(worker.postponed);
  worker.postponed.clear();
  const std::size_t most = DealtRows::most_rows(context_.features.size());
  for (std::size_t first = 0, end = 0; first < tops.size(); first = end) {
    std::size_t n_rows = 0;
    while (end < tops.size() && (end == first || n_rows + tops[end].size() <= most))
      n_rows += tops[end++].size();
    worker.search.deal_rows(std::span(tops).subspan(first, end - first));
    for (std::size_t k = first; k < end; ++k) {
      plan_.watch.poll();
      worker.search.take_dealt(k - first);
      sum_items(tops[k], worker);
      worker.grow_subtree(tops[k], features_of(tops[k]), part);
    }
  }
}

template <class Accumulator>
void TreeBuilder<Accumulator>::open_node(Node node, TreePart& part, Worker& worker,
                                         NodeQueue<Node>& queue, bool may_defer) {
  plan_.watch.poll();
  if (may_defer && node.parent != kNone && node.size() <= defer_rows_) {
    node.dense.reset();
    deferred_.push_back(std::move(node));
    return;
  }
  if (node.total.empty()) {
    sum_items(node, worker);
    if (context_.entry_rows) node.total = worker.total;
  } else {
    std::copy(node.total.begin(), node.total.end(), worker.total.begin());
  }
  const Element* total = worker.total.data();
  if (is_subtree(node, may_defer)) {
    if (context_.takes(Route::bin_bounds) && !node.has_lists()) {
      worker.postponed.push_back(std::move(node));
      return;
    }
    return worker.grow_subtree(node, features_of(node), part);
  }
  write_node(node, part, worker);
  if (worker.writer.is_leaf(node, total) || !find_split(node, worker))
    return worker.writer.close_leaf(node, part);
  if (!context_.fits_dense(node.size())) node.dense.reset();
  queue.push(std::move(node));
}

// Adds the node at hand to its tree, as a leaf.
template <class Accumulator>
void TreeBuilder<Accumulator>::write_node(Node& node, TreePart& part, Worker& worker) {
  node.id = worker.writer.add_node(node, worker.total.data(), part);
  if (plan_.bounded) {
    part.lower.push_back(node.lower * plan_.value_unit + plan_.value_offset);
    part.upper.push_back(node.upper * plan_.value_unit + plan_.value_offset);
  }
  node.order = next_order_;
  if (params_.max_leaf_nodes > 0) ++next_order_;
}

// The children of a node that is split by its best split.
template <class Accumulator>
void TreeBuilder<Accumulator>::make_children(const Node& node, std::size_t n_left, Node& left,
                                             Node& right) const {
  left.begin = node.begin;
  left.end = right.begin = node.begin + n_left;
  right.end = node.end;
  for (Node* child : {&left, &right}) {
    child->is_right = child == &right;
    child->parent = node.id;
    child->depth = node.depth + 1;
    child->name = node.name;
    child->lists = node.child_lists();
    child->key = child_key(node.key, child->is_right);
    child->lower = node.lower;
    child->upper = node.upper;
    child->features = node.features;
    child->groups = node.groups;
  }
  if (node.groups) {
    auto open = std::make_shared<std::vector<u64>>(*node.groups);
    const auto& own = plan_.feature_groups[node.best.feature];
    for (std::size_t k = 0; k < open->size(); ++k) (*open)[k] &= own[k];
    left.groups = right.groups = open;
    left.features = right.features = allowed_features(*open);
  }
  if (plan_.bounded) bound_children(node, left, right);
}

template <class Accumulator>
void TreeBuilder<Accumulator>::split_node(Node node, TreePart& part, Worker& worker,
                                          NodeQueue<Node>& queue, bool may_defer) {
  const ColumnBins& bins = (*context_.data.bins)[node.best.feature];
  if (!params_.exact) settle_split_bin(node.best, bins);
  // Children that are put aside for other threads have no lists.
  if (!may_defer) worker.search.open_lists(node, features_of(node));
  const std::size_t n_left = worker.partition.partition_by_table(node, node.best);
  worker.search.partition_lists(node, n_left, features_of(node));
  Node left, right;
  make_children(node, n_left, left, right);
  if (context_.entry_rows) {
    const bool is_left_smaller = left.size() <= right.size();
    Node& smaller = is_left_smaller ? left : right;
    smaller.name = context_.entry_rows->rename({context_.items + smaller.begin, smaller.size()});
    share_total(node, smaller, is_left_smaller ? right : left, worker);
  }
  if (!node.best.has_missing) {
    node.best.missing_left = context_.entry_rows ? 2.0 * accumulator_.weight(left.total.data()) >
                                                       accumulator_.weight(node.total.data())
                                                 : is_left_heavier(node, n_left);
  }
  part.tree.splits[node.id] =
      describe_split(node.best, bins, params_.exact ? plan_.input.presort : nullptr);
  if (node.dense) share_histograms(node, left, right);
  open_node(std::move(right), part, worker, queue, may_defer);
  open_node(std::move(left), part, worker, queue, may_defer);
}

// Subtrees that were put aside for other threads.
template <class Accumulator>
void TreeBuilder<Accumulator>::grow_deferred(TreePart& part) {
  const std::vector<NodePosition> tasks(deferred_.begin(), deferred_.end());
  const std::vector<std::size_t> order = order_by_size(tasks);
  std::vector<TreePart> parts(tasks.size());
  parallel_for(tasks.size(), plan_.n_threads, [&](std::size_t i) {
    PooledWorker worker(*this);
    Node node = std::move(deferred_[order[i]]);
    node.parent = kNone;
    run(std::move(node), parts[i], *worker, false);
  });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const NodePosition& task = tasks[order[i]];
    append_part(part, std::move(parts[i]), task.parent, task.is_right);
  }
}

template <class Accumulator>
void TreeBuilder<Accumulator>::sum_items(const NodePosition& node, Worker& worker) const {
  CellSum<Accumulator> sum(accumulator_, worker.total);
  sum.set(accumulator_, nullptr);
  for (std::size_t i = node.begin; i < node.end; ++i)
    accumulator_.add(sum.data(), context_.items[i]);
  if constexpr (Accumulator::kFixedCell > 0)
    std::copy_n(sum.data(), Accumulator::kFixedCell, worker.total.data());
}

// Totals of two children at the cost of the smaller one, exactly: they are integers.
template <class Accumulator>
void TreeBuilder<Accumulator>::share_total(const Node& node, Node& smaller, Node& larger,
                                           Worker& worker) const {
  sum_items(smaller, worker);
  smaller.total = worker.total;
  larger.total = node.total;
  for (std::size_t k = 0; k < smaller.total.size(); ++k) larger.total[k] -= smaller.total[k];
}

template <class Accumulator>
bool TreeBuilder<Accumulator>::is_left_heavier(const Node& node, std::size_t n_left) const {
  if (!context_.sample.weighted) return 2 * n_left > node.size();
  u64 left = 0, total = 0;
  for (std::size_t i = node.begin; i < node.end; ++i) {
    total += Accumulator::weight_of(context_.items[i]);
    if (i + 1 == node.begin + n_left) left = total;
  }
  return 2 * left > total;
}

// A monotone split partitions the range of values at the middle of its children's values.
template <class Accumulator>
void TreeBuilder<Accumulator>::bound_children(const Node& node, Node& left, Node& right) const {
  const i32 direction = params_.monotonic[node.best.feature];
  if (direction == 0) return;
  (direction > 0 ? left.upper : left.lower) = node.best.middle;
  (direction > 0 ? right.lower : right.upper) = node.best.middle;
}

template <class Accumulator>
std::shared_ptr<const std::vector<u32>> TreeBuilder<Accumulator>::allowed_features(
    const std::vector<u64>& groups) const {
  auto features = std::make_shared<std::vector<u32>>();
  const auto& candidates =
      params_.member_features.empty() ? context_.all_features : params_.member_features;
  for (const u32 f : candidates) {
    const auto& own = plan_.feature_groups[f];
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (own[k] & groups[k]) {
        features->push_back(f);
        break;
      }
    }
  }
  return features;
}

}  // namespace committee
