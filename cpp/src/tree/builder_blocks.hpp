// Growth over rows that lie in blocks elsewhere: the same nodes, totals and histograms, which come
// as sums over the blocks. Depth-first trees are grown level by level, which gives the same tree in
// a step for each level. Included by builder_<family>.cpp.
#pragma once
#include <algorithm>

#include "tree/builder_search.hpp"
#include "tree/leaf_moments.hpp"
#include "tree/remote_nodes.hpp"

namespace committee {

// Histograms that one answer may hold; more nodes take several steps.
inline constexpr std::size_t kAnswerBytes = std::size_t{16} << 20;

// A node on its way to its children.
template <class Accumulator>
struct TreeBuilder<Accumulator>::DividedNode {
  Node node;
  RemoteSplit split;
  std::vector<Element> left, right;  // totals
  bool left_wanted = false, right_wanted = false, is_left_built = false;
};

// Cells of one child out of its parent's, which are the other child's then.
template <class Element>
void take_cells(std::span<const i64> cells, Element* child, Element* parent) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    child[i] = static_cast<Element>(cells[i]);
    parent[i] -= child[i];
  }
}

template <class Accumulator>
TreePart TreeBuilder<Accumulator>::grow_over(RemoteNodes& blocks) {
  TreePart part;
  PooledWorker pooled(*this);
  Worker& worker = *pooled;
  NodeQueue<Node> queue(params_.max_leaf_nodes > 0);
  Node root = make_root();
  root.name = blocks.make_name();
  const std::vector<i64> cells = blocks.divide({}, {root.name}).histograms;
  root.dense = std::make_unique<AlignedBuffer<Element>>(cells.size());
  std::transform(cells.begin(), cells.end(), root.dense->data(),
                 [](i64 sum) { return static_cast<Element>(sum); });
  root.total.assign(accumulator_.cell(), Element{0});
  for (u32 bin = 0; bin < kHistogramBins; ++bin) {  // every row is in a bin of the first column
    for (u32 s = 0; s < accumulator_.cell(); ++s)
      root.total[s] += root.dense->data()[bin * accumulator_.cell() + s];
  }
  std::vector<Node> opened;
  opened.push_back(std::move(root));
  u32 n_leaves = 1;
  for (;;) {
    open_remote(std::move(opened), part, worker, queue, blocks);
    std::vector<Node> batch = take_batch(queue, n_leaves);
    if (batch.empty()) break;
    opened = divide_remote(std::move(batch), part, worker, blocks);
  }
  close_remote(part, blocks);
  return part;
}

// The nodes that are divided next: the best one, or as many as an answer has room for.
template <class Accumulator>
std::vector<typename TreeBuilder<Accumulator>::Node> TreeBuilder<Accumulator>::take_batch(
    NodeQueue<Node>& queue, u32& n_leaves) const {
  const std::size_t bytes =
      context_.data.n_cols * kHistogramBins * accumulator_.cell() * sizeof(Element);
  const bool best_first = params_.max_leaf_nodes > 0;
  const std::size_t most = best_first ? 1 : std::max<std::size_t>(1, kAnswerBytes / bytes);
  std::vector<Node> batch;
  while (!queue.empty() && batch.size() < most) {
    Node node = queue.pop();
    if (best_first && n_leaves >= params_.max_leaf_nodes) continue;
    batch.push_back(std::move(node));
    ++n_leaves;
  }
  return batch;
}

// Writes nodes whose totals and histograms are known, and searches those that may be split.
template <class Accumulator>
void TreeBuilder<Accumulator>::open_remote(std::vector<Node> nodes, TreePart& part, Worker& worker,
                                           NodeQueue<Node>& queue, RemoteNodes& blocks) {
  std::vector<Node> open;
  std::vector<u32> names;
  std::vector<i64> targets;
  const auto hold_total = [&](const Node& node) {
    std::copy(node.total.begin(), node.total.end(), worker.total.begin());
  };
  for (Node& node : nodes) {
    hold_total(node);
    write_node(node, part, worker);
    blocks.names.push_back(node.name);
    const Element* total = worker.total.data();
    if (worker.writer.is_limited(node, total) || worker.writer.is_one_class(total)) continue;
    if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
      // Rows of one target have this mean, which is a whole number; few others have.
      const i64 weight = total[0] >> Accumulator::kCountBits;
      if (total[1] % weight == 0) {
        names.push_back(node.name);
        targets.push_back(total[1] / weight);
      }
    }
    open.push_back(std::move(node));
  }
  std::vector<u32> pure;
  if (!names.empty()) {
    const std::vector<i64> others = blocks.count_others(names, targets);
    for (std::size_t k = 0; k < names.size(); ++k)
      if (others.at(k) == 0) pure.push_back(names[k]);
  }
  for (Node& node : open) {
    plan_.watch.poll();
    if (std::find(pure.begin(), pure.end(), node.name) != pure.end()) continue;
    hold_total(node);
    if (find_split(node, worker)) queue.push(std::move(node));
  }
}

// Whether a child needs histograms; how many rows it has is not known yet.
template <class Accumulator>
bool TreeBuilder<Accumulator>::may_divide(u32 depth, const std::vector<Element>& total,
                                          Worker& worker) const {
  return depth < params_.max_depth &&
         accumulator_.weight(total.data()) >= 2.0 * plan_.min_weight_leaf &&
         !worker.writer.is_one_class(total.data());
}

// Settles a node's split, and what of it the blocks need to know.
template <class Accumulator>
typename TreeBuilder<Accumulator>::DividedNode TreeBuilder<Accumulator>::plan_division(
    Node node, TreePart& part, RemoteNodes& blocks) const {
  Candidate& best = node.best;
  const ColumnBins& bins = (*context_.data.bins)[best.feature];
  const u32 cell = accumulator_.cell();
  const Element* hist = node.dense->data() + std::size_t{best.feature} * kHistogramBins * cell;
  settle_split_bin(best, bins);
  std::vector<Element> left(cell, Element{0}), right = node.total;
  const auto add_left = [&](u32 bin) {
    for (u32 s = 0; s < cell; ++s) left[s] += hist[std::size_t{bin} * cell + s];
  };
  if (best.categorical) {
    for (const u32 code : best.left_codes) add_left(code);
  } else {
    for (u32 bin = 0; bin <= best.bin; ++bin) add_left(bin);
  }
  if (best.has_missing && best.missing_left) add_left(kMissingBin);
  for (u32 s = 0; s < cell; ++s) right[s] -= left[s];
  if (!best.has_missing)
    best.missing_left =
        2.0 * accumulator_.weight(left.data()) > accumulator_.weight(node.total.data());
  GrownTree::Split& split = part.tree.splits[node.id];
  split = describe_split(best, bins, nullptr);
  // Where only missing values go right, all others go left, those of rows without weight too.
  const u32 bin = !best.categorical && best.next == kNone ? kMissingBin - 1 : best.bin;
  RemoteSplit remote{node.name, blocks.make_name(), blocks.make_name(), best.feature,
                     bin,       best.categorical,   best.missing_left,  {}};
  if (split.left_categories) remote.left_words = *split.left_categories;
  return {std::move(node), std::move(remote), std::move(left), std::move(right)};
}

// One step of all blocks: rows and histograms of the children.
template <class Accumulator>
std::vector<typename TreeBuilder<Accumulator>::Node> TreeBuilder<Accumulator>::divide_remote(
    std::vector<Node> batch, TreePart& part, Worker& worker, RemoteNodes& blocks) {
  std::vector<DividedNode> divided;
  std::vector<RemoteSplit> splits;
  std::vector<u32> wanted;
  for (Node& node : batch) {
    DividedNode own = plan_division(std::move(node), part, blocks);
    const u32 depth = own.node.depth + 1;
    own.left_wanted = may_divide(depth, own.left, worker);
    own.right_wanted = may_divide(depth, own.right, worker);
    // The lighter child is counted, the other one is what remains of the parent.
    own.is_left_built =
        accumulator_.weight(own.left.data()) <= accumulator_.weight(own.right.data());
    if (own.left_wanted || own.right_wanted)
      wanted.push_back(own.is_left_built ? own.split.left : own.split.right);
    splits.push_back(own.split);
    divided.push_back(std::move(own));
  }
  const RemoteNodes::Division found = blocks.divide(splits, wanted);
  const std::size_t n_cells =
      context_.data.n_cols * kHistogramBins * std::size_t{accumulator_.cell()};
  if (found.n_left.size() != splits.size() || found.histograms.size() != wanted.size() * n_cells)
    throw std::invalid_argument("blocks answered for other nodes than were asked for");
  const i64* cells = found.histograms.data();
  std::vector<Node> children;
  for (std::size_t k = 0; k < divided.size(); ++k) {
    DividedNode& own = divided[k];
    Node left, right;
    make_children(own.node, static_cast<std::size_t>(found.n_left[k]), left, right);
    left.name = own.split.left;
    right.name = own.split.right;
    left.total = std::move(own.left);
    right.total = std::move(own.right);
    if (own.left_wanted || own.right_wanted) {
      auto built = std::make_unique<AlignedBuffer<Element>>(n_cells);
      take_cells({cells, n_cells}, built->data(), own.node.dense->data());
      cells += n_cells;
      (own.is_left_built ? left : right).dense = std::move(built);
      (own.is_left_built ? right : left).dense = std::move(own.node.dense);
    }
    children.push_back(std::move(right));
    children.push_back(std::move(left));
  }
  return children;
}

// What only leaves hold: nothing for classes.
template <class Accumulator>
void TreeBuilder<Accumulator>::close_remote(TreePart& part, RemoteNodes& blocks) const {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    std::vector<u32> ids, names;
    for (u32 id = 0; id < part.tree.size(); ++id) {
      if (!part.tree.is_leaf(id)) continue;
      ids.push_back(id);
      names.push_back(blocks.names[id]);
    }
    const double offset = context_.sample.targets.offsets[0];
    const bool is_poisson = params_.criterion == Poisson::kName;
    const std::vector<double> sums = blocks.sum_leaves(names, offset, is_poisson);
    LeafMoments moments(0.0, offset, is_poisson);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      moments.read(sums.data() + k * (LeafMoments::kNumbers + 1) + 1);
      part.moments[2 * ids[k]] = moments.sum;
      part.moments[2 * ids[k] + 1] = moments.second;
      part.tree.values[ids[k]] = moments.value(part.tree.n_samples[ids[k]]);
      part.tree.weight[ids[k]] = moments.weight;
    }
  } else {
    (void)part, (void)blocks;
  }
}

}  // namespace committee
