// The growing loop: what happens to a node once its best split is known. Included by
// builder_<family>.cpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <compare>

#include "committee/criteria/all.hpp"
#include "split/partition.hpp"
#include "split/threshold.hpp"
#include "tree/growth_scratch.hpp"
#include "tree/tree_builder.hpp"

namespace committee {

// A subtree becomes a task of its own once it holds at most this share of a thread's rows.
inline constexpr std::size_t kTasksPerThread = 8;
inline constexpr std::size_t kMinTaskRows = 512;

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
    if (!worker_) worker_ = builder.make_worker();
  }
  ~PooledWorker() {
    const std::lock_guard lock(builder_.pool_mutex_);
    builder_.pool_.push_back(std::move(worker_));
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
    : plan_(plan),
      params_(plan.params),
      data_(*plan.input.data),
      sample_(sample),
      items_(sample.items.data()),
      takes_medians_(plan.params.criterion == AbsoluteError::kName),
      is_poisson_(plan.params.criterion == Poisson::kName),
      tree_key_(combine_keys(plan.params.seed, plan.params.tree)),
      all_features_(data_.n_cols) {
  for (u32 f = 0; f < data_.n_cols; ++f) all_features_[f] = f;
  const std::size_t share = sample.n / (kTasksPerThread * static_cast<std::size_t>(plan.n_threads));
  defer_rows_ = plan.n_threads > 1 ? std::max(share, kMinTaskRows) : 0;
  limits_.min_samples_leaf = params_.min_samples_leaf;
  limits_.min_weight_leaf = plan_.min_weight_leaf;
  limits_.rare_weight = plan_.rare_weight;
  if (takes(Route::two_valued)) two_valued_ = find_two_valued(data_);
  if (takes(Route::packed_records)) {
    const PackedRecords& packed = *plan_.input.scratch->caches->packed_records;
    block_ = {packed.bytes(), packed.stride(), 0, packed.places()};
  } else if (takes(Route::subtree)) {
    const RecordGroup& group = data_.groups[0];
    block_ = {group.bytes.data(), group.stride, group.first_col};
  }
  if (takes(Route::multiclass_block)) prepare_multiclass();
  if (takes(Route::random_thresholds)) {
    for (const ColumnBins& bins : *data_.bins)
      column_ends_.push_back({bins.low.data(), bins.high.data()});
  }
  if (takes(Route::extra_trees_bitmap)) prepare_extra_trees();
}

template <class Accumulator>
TreePart TreeBuilder<Accumulator>::grow() {
  TreePart part;
  if (plan_.input.scratch) {
    part.tree = std::move(plan_.input.scratch->tree);
    part.tree.clear();
  }
  // A full tree of numbers has two nodes a row, one of classes about one.
  std::size_t n_nodes = sample_.n * (Accumulator::kKind == AccumulatorKind::moments ? 2 : 1);
  if (params_.max_depth < 20) n_nodes = std::min(n_nodes, std::size_t{2} << params_.max_depth);
  if (params_.max_leaf_nodes > 0)
    n_nodes = std::min<std::size_t>(n_nodes, 2 * params_.max_leaf_nodes);
  part.tree.reserve(n_nodes,
                    Accumulator::kKind == AccumulatorKind::binary ? 2 : sample_.accumulator.cell());
  OpenNode root;
  root.end = sample_.n;
  if (!plan_.feature_groups.empty()) {
    const std::size_t words = (params_.interaction_groups.size() + 63) / 64;
    root.groups = std::make_shared<const std::vector<u64>>(words, ~u64{0});
    root.features = allowed_features(*root.groups);
  } else if (!params_.member_features.empty()) {
    root.features = std::make_shared<const std::vector<u32>>(params_.member_features);
  }
  {
    PooledWorker worker(*this);
    run(std::move(root), part, *worker, plan_.n_threads > 1 && params_.max_leaf_nodes == 0);
  }
  // Large subtrees first, so that the last task to finish is a small one.
  std::sort(deferred_.begin(), deferred_.end(), [](const OpenNode& a, const OpenNode& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.begin < b.begin;
  });
  std::vector<TreePart> parts(deferred_.size());
  std::vector<std::pair<u32, bool>> places;
  for (const OpenNode& node : deferred_) places.emplace_back(node.parent, node.is_right);
  parallel_for(deferred_.size(), plan_.n_threads, [&](std::size_t i) {
    PooledWorker worker(*this);
    OpenNode node = std::move(deferred_[i]);
    node.parent = kNone;
    run(std::move(node), parts[i], *worker, false);
  });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    append_part(part, std::move(parts[i]), places[i].first, places[i].second);
  }
  return part;
}

template <class Accumulator>
RouteCounts TreeBuilder<Accumulator>::count_nodes() const {
  RouteCounts nodes{};
  for (const auto& worker : pool_) {
    for (std::size_t r = 0; r < kRoutes; ++r) nodes[r] += worker->nodes[r];
  }
  return nodes;
}

template <class Accumulator>
void TreeBuilder<Accumulator>::run(OpenNode root, TreePart& part, Worker& worker, bool may_defer) {
  NodeQueue<OpenNode> queue(params_.max_leaf_nodes > 0);
  u32 n_leaves = 1;
  open_node(std::move(root), part, worker, queue, may_defer);
  while (!queue.empty()) {
    OpenNode node = queue.pop();
    if (params_.max_leaf_nodes > 0 && n_leaves >= params_.max_leaf_nodes) {
      close_leaf(node, part);
      continue;
    }
    split_node(std::move(node), part, worker, queue, may_defer);
    ++n_leaves;
  }
}

template <class Accumulator>
void TreeBuilder<Accumulator>::open_node(OpenNode node, TreePart& part, Worker& worker,
                                         NodeQueue<OpenNode>& queue, bool may_defer) {
  plan_.watch.poll();
  if (may_defer && node.parent != kNone && node.size() <= defer_rows_) {
    node.dense.reset();
    deferred_.push_back(std::move(node));
    return;
  }
  if (takes(Route::subtree) && !may_defer && !fits_dense(node.size())) {
    finish_subtree(node, part, worker);
    return;
  }
  sum_items(node, worker);
  node.id = add_to_tree(node, part, worker);
  if (plan_.bounded) {
    part.lower.push_back(node.lower * plan_.value_unit + plan_.value_offset);
    part.upper.push_back(node.upper * plan_.value_unit + plan_.value_offset);
  }
  node.order = next_order_;
  if (params_.max_leaf_nodes > 0) ++next_order_;
  if (is_terminal(node, worker) || !find_split(node, worker)) {
    close_leaf(node, part);
    return;
  }
  if (!fits_dense(node.size())) node.dense.reset();
  queue.push(std::move(node));
}

template <class Accumulator>
void TreeBuilder<Accumulator>::split_node(OpenNode node, TreePart& part, Worker& worker,
                                          NodeQueue<OpenNode>& queue, bool may_defer) {
  const ColumnBins& bins = (*data_.bins)[node.best.feature];
  if (!params_.exact) settle_split_bin(node.best, bins);
  const std::size_t n_left = partition_rows(node, worker);
  if (!node.best.has_missing) node.best.missing_left = is_left_heavier(node, n_left);
  part.tree.splits[node.id] =
      describe_split(node.best, bins, params_.exact ? plan_.input.presort : nullptr);

  OpenNode left, right;
  left.begin = node.begin;
  left.end = right.begin = node.begin + n_left;
  right.end = node.end;
  for (OpenNode* child : {&left, &right}) {
    child->is_right = child == &right;
    child->parent = node.id;
    child->depth = node.depth + 1;
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
  if (node.dense) share_histograms(node, left, right);
  open_node(std::move(right), part, worker, queue, may_defer);
  open_node(std::move(left), part, worker, queue, may_defer);
}

template <class Accumulator>
u32 TreeBuilder<Accumulator>::add_to_tree(const NodePlace& node, TreePart& part, Worker& worker) {
  const double unit = sample_.weight_unit;
  const Element* total = worker.total.data();
  u32 id;
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    const double w = sample_.accumulator.weight(total), p = sample_.accumulator.positive(total);
    const double value[2] = {(w - p) * unit, p * unit};
    part.tree.width = 2;
    id = part.tree.add_node(static_cast<u32>(node.size()), w * unit, 0.0, value);
  } else if constexpr (Accumulator::kKind == AccumulatorKind::classes) {
    std::vector<double>& value = worker.value;
    value.resize(sample_.accumulator.n_elements);
    for (u32 k = 0; k < sample_.accumulator.n_elements; ++k)
      value[k] = static_cast<double>(total[k]) * unit;
    part.tree.width = sample_.accumulator.n_elements;
    id = part.tree.add_node(static_cast<u32>(node.size()), sample_.accumulator.weight(total) * unit,
                            0.0, value);
  } else {
    part.tree.width = sample_.accumulator.n_outputs;
    worker.value.assign(part.tree.width, 0.0);
    id = part.tree.add_node(static_cast<u32>(node.size()), sample_.accumulator.weight(total) * unit,
                            0.0, worker.value);
    part.moments.resize(part.moments.size() + 2 * part.tree.width, 0.0);
    if (takes_medians_) summarise_medians(node, part, id);
  }
  if (node.parent != kNone) (node.is_right ? part.tree.right : part.tree.left)[node.parent] = id;
  return id;
}

// Weighted median of each output and the mean absolute deviation from it. Where the weight is cut
// in equal halves between two values the median is their middle; which weights in fixed point tell
// whatever they were multiplied by.
template <class Accumulator>
void TreeBuilder<Accumulator>::summarise_medians(const NodePlace& node, TreePart& part, u32 id)
  requires(Accumulator::kKind == AccumulatorKind::moments)
{
  const u32 n_outputs = part.tree.width;
  struct Weighed {
    double y;
    u64 fixed;
    double weight;
    auto operator<=>(const Weighed&) const = default;
  };
  std::vector<Weighed> rows(node.size());
  double deviation = 0.0, total = 0.0;
  for (u32 o = 0; o < n_outputs; ++o) {
    total = 0.0;
    u64 whole = 0, below = 0;
    for (std::size_t i = 0; i < node.size(); ++i) {
      const auto& item = items_[node.begin + i];
      const std::size_t row = item.row;
      rows[i] = {plan_.input.target.values[row * n_outputs + o], item.weight,
                 plan_.input.weight(row)};
      whole += item.weight;
      total += rows[i].weight;
    }
    std::sort(rows.begin(), rows.end());
    std::size_t at = 0;
    while (at + 1 < rows.size() && 2 * (below + rows[at].fixed) < whole) below += rows[at++].fixed;
    const bool halved = 2 * (below + rows[at].fixed) == whole && at + 1 < rows.size();
    const double median = halved ? rows[at].y / 2 + rows[at + 1].y / 2 : rows[at].y;
    for (const Weighed& row : rows) deviation += row.weight * std::abs(row.y - median);
    part.tree.values[static_cast<std::size_t>(id) * n_outputs + o] = median;
  }
  part.tree.weight[id] = total;
  part.tree.impurity[id] = deviation / total / n_outputs;
}

template <class Accumulator>
bool TreeBuilder<Accumulator>::is_terminal(const NodePlace& node, const Worker& worker,
                                           const u32* copied_rows) const {
  const std::size_t n = node.size();
  return node.depth >= params_.max_depth || n < params_.min_samples_split ||
         n < 2 * static_cast<std::size_t>(params_.min_samples_leaf) ||
         sample_.accumulator.weight(worker.total.data()) < 2.0 * plan_.min_weight_leaf ||
         is_pure(node, worker, copied_rows);
}

template <class Accumulator>
bool TreeBuilder<Accumulator>::is_pure(const NodePlace& node, const Worker& worker,
                                       [[maybe_unused]] const u32* copied_rows) const {
  const Element* total = worker.total.data();
  if constexpr (Accumulator::kKind == AccumulatorKind::binary) {
    const double p = sample_.accumulator.positive(total);
    return p == 0.0 || p == sample_.accumulator.weight(total);
  } else if constexpr (Accumulator::kKind == AccumulatorKind::classes) {
    const Element weight = sample_.accumulator.total(total);
    for (std::size_t o = 0; o < sample_.accumulator.outputs.size(); ++o) {
      const Element* c = total + sample_.accumulator.offsets[o];
      if (std::find(c, c + sample_.accumulator.outputs[o], weight) ==
          c + sample_.accumulator.outputs[o])
        return false;
    }
    return true;
  } else {
    if constexpr (Accumulator::kFixedCell > 0) {
      // What the items say of two targets that differ, modulo 2^64, spares a look at the targets.
      const Item &a = items_[node.begin], &b = items_[node.begin + 1];
      if (node.size() > 1 && static_cast<u64>(a.wy) * b.weight != static_cast<u64>(b.wy) * a.weight)
        return false;
    }
    const u32 n_outputs = sample_.accumulator.n_outputs;
    const i64* targets = sample_.targets.values.data();
    const auto target = [&](std::size_t i) {
      const u32 row = items_[i].row;
      return targets + static_cast<std::size_t>(copied_rows ? copied_rows[row] : row) * n_outputs;
    };
    const i64* first = target(node.begin);
    for (std::size_t i = node.begin + 1; i < node.end; ++i) {
      const i64* other = target(i);
      if (*first != *other || !std::equal(first, first + n_outputs, other)) return false;
    }
    return true;
  }
}

// Leaf values come from the targets themselves in the rows' own order, not from the fixed-point
// sums; as distances from the first row's, so that a leaf of equal targets predicts just that.
template <class Accumulator>
void TreeBuilder<Accumulator>::close_leaf(const NodePlace& node, TreePart& part) {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    if (takes_medians_) return;
    const u32 n_outputs = sample_.accumulator.n_outputs;
    const double* y = plan_.input.target.values.data();
    double* out = part.moments.data() + static_cast<std::size_t>(node.id) * 2 * n_outputs;
    double* value = part.tree.values.data() + static_cast<std::size_t>(node.id) * n_outputs;
    const double* first = y + std::size_t{items_[node.begin].row} * n_outputs;
    double weight = 0.0;
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const std::size_t row = items_[i].row;
      const double w = plan_.input.weight(row);
      weight += w;
      for (u32 o = 0; o < n_outputs; ++o) {
        const double centred = y[row * n_outputs + o] - sample_.targets.offsets[o];
        out[2 * o] += w * centred;
        out[2 * o + 1] += w * (is_poisson_ ? x_ln_x(centred) : centred * centred);
        value[o] += w * (y[row * n_outputs + o] - first[o]);
      }
    }
    for (u32 o = 0; o < n_outputs; ++o) value[o] = first[o] + value[o] / weight;
    part.tree.weight[node.id] = weight;
  }
}

template <class Accumulator>
bool TreeBuilder<Accumulator>::is_left_heavier(const OpenNode& node, std::size_t n_left) const {
  if (!sample_.weighted) return 2 * n_left > node.size();
  u64 left = 0, total = 0;
  for (std::size_t i = node.begin; i < node.end; ++i) {
    total += Accumulator::weight_of(items_[i]);
    if (i + 1 == node.begin + n_left) left = total;
  }
  return 2 * left > total;
}

template <class Accumulator>
std::size_t TreeBuilder<Accumulator>::partition_rows(OpenNode& node, Worker& worker) {
  const Candidate& best = node.best;
  Item* items = items_ + node.begin;
  if (worker.spare.size() < node.size()) worker.spare = AlignedBuffer<Item>(node.size());
  const ColumnBins& bins = (*data_.bins)[best.feature];
  const bool missing_left = best.missing_left;
  if (bins.wide) {
    std::vector<u8> is_left(bins.n_bins, 0);
    for (const u32 code : best.left_codes) is_left[code] = 1;
    const u32* codes = data_.wide[best.feature].data();
    return partition_items(items, node.size(), worker.spare.data(), [&](u32 row) {
      return codes[row] == kMissingCode ? missing_left : is_left[codes[row]] != 0;
    });
  }
  if (params_.exact && !best.categorical) {
    const u32* rank =
        plan_.input.presort->rank.data() + static_cast<std::size_t>(best.feature) * data_.n_rows;
    const u32 cut = best.cut;
    return partition_items(items, node.size(), worker.spare.data(), [=](u32 row) {
      return rank[row] <= cut || (missing_left && rank[row] == kMissingCode);
    });
  }
  return partition_range(node, best, {data_.column(best.feature), 1}, worker);
}

template <class Accumulator>
std::size_t TreeBuilder<Accumulator>::partition_range(const NodePlace& node, const Candidate& best,
                                                      const RowBytes& codes, Worker& worker) {
  Item* items = items_ + node.begin;
  if (worker.spare.size() < node.size()) worker.spare = AlignedBuffer<Item>(node.size());
  const u8* bytes = codes.bytes;
  const std::size_t stride = codes.stride;
  if (!best.categorical && !best.has_missing) {
    // A bit of its byte goes left where it is not set, whatever its place: it is cut at zero.
    const u32 cut = best.cut, mask = codes.mask;
    return partition_items(items, node.size(), worker.spare.data(),
                           [=](u32 row) { return (bytes[row * stride] & mask) <= cut; });
  }
  u8 is_left[kHistogramBins] = {};
  if (best.categorical) {
    for (const u32 code : best.left_codes) is_left[code] = 1;
  } else {
    for (u32 bin = 0; bin <= best.cut && bin < kMissingBin; ++bin) is_left[bin] = 1;
  }
  is_left[kMissingBin] = best.missing_left;
  return partition_items(items, node.size(), worker.spare.data(),
                         [&](u32 row) { return is_left[bytes[row * stride]] != 0; });
}

// A monotone split partitions the range of values at the middle of its children's levels.
template <class Accumulator>
void TreeBuilder<Accumulator>::bound_children(const OpenNode& node, OpenNode& left,
                                              OpenNode& right) const {
  const i32 direction = params_.monotonic[node.best.feature];
  if (direction == 0) return;
  (direction > 0 ? left.upper : left.lower) = node.best.middle;
  (direction > 0 ? right.lower : right.upper) = node.best.middle;
}

template <class Accumulator>
void TreeBuilder<Accumulator>::append_part(TreePart& part, TreePart&& grown, u32 parent,
                                           bool is_right) const {
  const u32 offset = static_cast<u32>(part.tree.size());
  (is_right ? part.tree.right : part.tree.left)[parent] = offset;
  auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (auto* children : {&grown.tree.left, &grown.tree.right}) {
    for (u32& child : *children) child += child == GrownTree::kNoChild ? 0 : offset;
  }
  append(part.tree.left, grown.tree.left);
  append(part.tree.right, grown.tree.right);
  std::move(grown.tree.splits.begin(), grown.tree.splits.end(),
            std::back_inserter(part.tree.splits));
  append(part.tree.n_samples, grown.tree.n_samples);
  append(part.tree.weight, grown.tree.weight);
  append(part.tree.impurity, grown.tree.impurity);
  append(part.tree.values, grown.tree.values);
  append(part.moments, grown.moments);
  append(part.lower, grown.lower);
  append(part.upper, grown.upper);
}

}  // namespace committee
