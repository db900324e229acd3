#include "committee/forest_import.hpp"

#include <algorithm>
#include <mutex>

#include "forest/member_input.hpp"
#include "split/threshold.hpp"
#include "tree/finish_tree.hpp"
#include "tree/leaf_moments.hpp"
#include "tree/sample_kind.hpp"
#include "tree/training_sample.hpp"

namespace committee {

namespace {

constexpr double kRowsOfThread = 1e5;  // rows times trees that pay for a thread

int choose_member_threads(const GrowInput& input, const GrowParams& params,
                          const ForestPlan& plan) {
  const double work = static_cast<double>(input.data->n_rows) * static_cast<double>(plan.n_trees);
  return choose_threads(params.n_jobs, work, kRowsOfThread);
}

u64 count_present(const FixedWeights& weights, std::size_t n_rows) {
  if (weights.weights.empty()) return n_rows;
  return static_cast<u64>(
      std::count_if(weights.weights.begin(), weights.weights.end(), [](u64 w) { return w > 0; }));
}

constexpr u64 kSmallWeight = 0xFF, kNarrowWeight = 0xFFFFFFFFu;

// Weights of all trees in words of one size: bytes, into which those of most forests fit, or
// larger.
class SampleWeights {
 public:
  SampleWeights(std::size_t n_trees, std::size_t n_rows)
      : n_rows_(n_rows), bytes_(n_trees * n_rows), large_(n_trees), largest_(n_trees, 0) {}

  // Each tree once, by any thread.
  void store(std::size_t tree, FixedWeights&& weights) {
    largest_[tree] = weights.weights.empty() ? 0 : weights.largest;
    u8* const to = bytes_.data() + tree * n_rows_;
    if (weights.largest > kSmallWeight) {
      large_[tree] = std::move(weights.weights);
    } else if (weights.weights.empty()) {
      std::fill_n(to, n_rows_, u8{1});
    } else {
      for (std::size_t row = 0; row < n_rows_; ++row)
        to[row] = static_cast<u8>(weights.weights[row]);
    }
  }
  void finish(ForestSample& sample) {
    const u64 largest = *std::max_element(largest_.begin(), largest_.end());
    if (largest == 0) return;  // all rows weigh one
    if (largest > kNarrowWeight) return widen<u64>(sample);
    if (largest > kSmallWeight) return widen<u32>(sample);
    sample.weight_bytes = 1;
    sample.weights = std::move(bytes_);
  }

 private:
  template <class Word>
  void widen(ForestSample& sample) const {
    sample.weight_bytes = sizeof(Word);
    sample.weights = AlignedBuffer<u8>(bytes_.size() * sizeof(Word));
    Word* to = reinterpret_cast<Word*>(sample.weights.data());
    for (std::size_t tree = 0; tree < large_.size(); ++tree) {
      const std::vector<u64>& own = large_[tree];
      for (std::size_t row = 0; row < n_rows_; ++row)
        *to++ = own.empty() ? bytes_[tree * n_rows_ + row] : static_cast<Word>(own[row]);
    }
  }

  std::size_t n_rows_;
  AlignedBuffer<u8> bytes_;              // [tree][row]
  std::vector<std::vector<u64>> large_;  // of trees whose weights are larger
  std::vector<u64> largest_;             // 0: all rows weigh one
};

// Memory that one tree leaves to the next: fresh pages cost as much as writing nodes into them.
class TreePool {
 public:
  TreePart take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return {};
    TreePart part = std::move(free_.back());
    free_.pop_back();
    return part;
  }
  void give_back(GrownTree&& tree, std::vector<double>&& moments) {
    TreePart part;
    part.tree = std::move(tree);
    part.tree.clear();
    part.moments = std::move(moments);
    part.moments.clear();
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(part));
  }

 private:
  std::mutex mutex_;
  std::vector<TreePart> free_;
};

// A tree under construction from nodes by bins.
class TreeAssembly {
 public:
  TreeAssembly(const GrowInput& input, const GrowParams& params, const ForestNodes& grown,
               std::size_t tree)
      : input_(input),
        params_(params),
        grown_(grown),
        tree_(tree),
        first_(grown.node_offsets[tree]),
        nodes_(grown.nodes.subspan(first_, grown.node_offsets[tree + 1] - first_)) {}

  // Depth-first, left before right, as most of a tree is grown on the CPU.
  void build(TreePart& part) {
    struct Waiting {
      u32 node, parent;
    };
    part.tree.depth_first = true;
    part.tree.width = is_classes() ? input_.target.n_classes[0] : 1;
    part.tree.reserve(nodes_.size(), part.tree.width);
    std::vector<Waiting> open;
    u32 node = 0, parent = GrownTree::kNoChild;
    for (bool is_right = false;;) {
      const u32 id = add_node(node, part);
      if (parent != GrownTree::kNoChild) (is_right ? part.tree.right : part.tree.left)[parent] = id;
      const ForestNode& own = nodes_[node];
      if (own.left != 0) {
        check_split(node);
        part.tree.splits[id] = describe(own);
        open.push_back({own.left + 1, id});
        node = own.left;
        parent = id;
        is_right = false;
        continue;
      }
      if (!is_classes()) close_leaf(own, id, part);
      if (open.empty()) return;
      node = open.back().node;
      parent = open.back().parent;
      open.pop_back();
      is_right = true;
    }
  }

 private:
  bool is_classes() const { return grown_.kind != SampleKind::moments; }

  u32 add_node(u32 node, TreePart& part) {
    values_.assign(part.tree.width, 0.0);
    double weight = 0.0;
    if (grown_.kind == SampleKind::wide_classes) {
      weight = sum_classes(static_cast<const u64*>(grown_.totals), node);
    } else if (grown_.kind == SampleKind::classes) {
      weight = sum_classes(static_cast<const u32*>(grown_.totals), node);
    } else if (grown_.kind == SampleKind::binary) {
      const u32* total = static_cast<const u32*>(grown_.totals) + 2 * (first_ + node);
      const double unit = grown_.weight_unit[tree_], w = total[0], p = total[1];
      values_[0] = (w - p) * unit;
      values_[1] = p * unit;
      weight = w * unit;
    } else {
      part.moments.resize(part.moments.size() + 2, 0.0);
    }
    return part.tree.add_node(nodes_[node].n_rows, weight, 0.0, values_);
  }

  template <class Element>
  double sum_classes(const Element* totals, u32 node) {
    const double unit = grown_.weight_unit[tree_];
    const Element* total = totals + (first_ + node) * grown_.n_elements;
    Element sum = 0;
    for (std::size_t k = 0; k < values_.size(); ++k) {
      values_[k] = static_cast<double>(total[k]) * unit;
      sum += total[k];
    }
    return static_cast<double>(sum) * unit;
  }

  void check_split(u32 node) const {
    const ForestNode& own = nodes_[node];
    const u32 feature = own.split & ~ForestNode::kMissingLeft;
    const bool sound = own.left > node && own.left + 1 < nodes_.size() &&
                       feature < input_.data->n_cols &&
                       (own.bins & 0xFFFF) < (*input_.data->bins)[feature].n_bins &&
                       (own.bins >> 16 == ForestNode::kNoBin ||
                        own.bins >> 16 < (*input_.data->bins)[feature].n_bins);
    if (!sound) throw std::invalid_argument("a node of a forest is out of place");
  }

  GrownTree::Split describe(const ForestNode& node) const {
    const u32 feature = node.split & ~ForestNode::kMissingLeft;
    const ColumnBins& bins = (*input_.data->bins)[feature];
    const u32 next = node.bins >> 16, cut = node.bins & 0xFFFF;
    GrownTree::Split split;
    split.feature = feature;
    split.missing_left = (node.split & ForestNode::kMissingLeft) != 0;
    split.threshold = next == ForestNode::kNoBin
                          ? threshold_of(bins, cut, kNone)
                          : threshold_of(bins, settle_split_bin(cut, next, bins), next);
    return split;
  }

  void close_leaf(const ForestNode& node, u32 id, TreePart& part) {
    const u64 first = grown_.row_offsets[tree_], n = grown_.row_offsets[tree_ + 1] - first;
    if (node.n_rows == 0 || node.begin > n || node.n_rows > n - node.begin)
      throw std::invalid_argument("a leaf of a forest has no rows of its tree");
    const auto rows = grown_.rows.subspan(first + node.begin, node.n_rows);
    rows_.assign(rows.begin(), rows.end());
    std::sort(rows_.begin(), rows_.end());
    if (rows_.back() >= input_.data->n_rows)
      throw std::invalid_argument("a leaf of a forest has a row that is not in the table");
    const double* y = input_.target.values.data();
    LeafMoments moments(y[rows_[0]], grown_.offset[tree_], params_.criterion == Poisson::kName);
    for (const u32 row : rows_) moments.add(y[row], input_.weight(row));
    part.moments[2 * std::size_t{id}] = moments.sum;
    part.moments[2 * std::size_t{id} + 1] = moments.second;
    part.tree.weight[id] = moments.weight;
    part.tree.values[id] = moments.value(rows_.size());
  }

  const GrowInput& input_;
  const GrowParams& params_;
  const ForestNodes& grown_;
  const std::size_t tree_;
  const u64 first_;
  const std::span<const ForestNode> nodes_;
  std::vector<double> values_;
  std::vector<u32> rows_;
};

void check_nodes(const GrowInput& input, const ForestPlan& plan, const ForestNodes& grown) {
  const auto is_ascending = [&](std::span<const u64> offsets, std::size_t end) {
    return offsets.size() == plan.n_trees + 1 && offsets.front() == 0 && offsets.back() == end &&
           std::is_sorted(offsets.begin(), offsets.end());
  };
  bool sound = is_ascending(grown.node_offsets, grown.nodes.size()) &&
               grown.weight_unit.size() == plan.n_trees && input.target.n_outputs == 1;
  for (std::size_t t = 0; t < plan.n_trees && sound; ++t)
    sound = grown.node_offsets[t] < grown.node_offsets[t + 1];
  if (grown.kind == SampleKind::moments) {
    sound = sound && is_ascending(grown.row_offsets, grown.rows.size()) &&
            grown.offset.size() == plan.n_trees;
  } else {
    const u32 n_least = grown.kind == SampleKind::binary ? 2 : input.target.n_classes[0];
    sound = sound && grown.n_elements >= n_least;
  }
  if (!sound) throw std::invalid_argument("the nodes of a forest do not go with its plan");
}

}  // namespace

ForestSample sample_forest(const GrowInput& input, const GrowParams& params, const ForestPlan& plan,
                           InterruptWatch& watch) {
  check_growth(input, params);
  if (input.target.n_outputs != 1) throw std::invalid_argument("there are several outputs");
  const bool classes = is_classification(input.target);
  ForestSample sample;
  sample.n_rows = input.data->n_rows;
  sample.counted = counts_rows(input.target, params);
  sample.kinds.resize(plan.n_trees);
  sample.n_items.resize(plan.n_trees);
  for (auto* column : {&sample.weight_unit, &sample.offset, &sample.target_unit,
                       &sample.total_weight, &sample.min_weight_leaf, &sample.decrease_unit})
    column->assign(plan.n_trees, 0.0);
  SampleWeights all(plan.n_trees, sample.n_rows);
  const bool is_fold = is_fold_of(input, plan);
  parallel_for(plan.n_trees, choose_member_threads(input, params, plan), [&](std::size_t k) {
    watch.poll();
    const MemberInput member(input, params, plan, plan.first_tree + k, is_fold);
    FixedWeights weights =
        fix_weights(member.input, classes ? kClassWeightBits : kMomentWeightBits);
    const double unit = weights.unit;
    sample.kinds[k] = choose_kind(input.target, weights, sample.counted);
    sample.n_items[k] = count_present(weights, sample.n_rows);
    sample.weight_unit[k] = unit;
    sample.total_weight[k] = static_cast<double>(weights.total) * unit;
    sample.min_weight_leaf[k] = params.min_weight_leaf / unit * kWeightRounding;
    sample.decrease_unit[k] = unit;
    if (classes) return all.store(k, std::move(weights));
    const FixedTargets targets =
        fix_targets(input.target.values, 1, weights, params.criterion != Poisson::kName);
    sample.offset[k] = targets.offsets[0];
    sample.target_unit[k] = targets.unit;
    sample.decrease_unit[k] = measure_decrease_unit(params.criterion, unit, targets.unit, 1);
    all.store(k, std::move(weights));
  });
  all.finish(sample);
  return sample;
}

AssembledForest assemble_forest(const GrowInput& input, const GrowParams& params,
                                const ForestPlan& plan, const ForestNodes& grown,
                                InterruptWatch& watch) {
  check_growth(input, params);
  check_nodes(input, plan, grown);
  const std::size_t n_features = input.data->n_cols;
  const int n_threads = choose_member_threads(input, params, plan);
  ArenaOptions options;
  options.n_features = n_features;
  options.outputs = input.target.n_classes;
  TreePool pool;
  AssembledForest result;
  result.members.resize(plan.n_trees);
  result.importances.resize(plan.n_trees * n_features);
  const bool is_fold = is_fold_of(input, plan);
  parallel_for(plan.n_trees, n_threads, [&](std::size_t k) {
    watch.poll();
    // Leaves of numbers need the weights of their rows.
    std::optional<MemberInput> member;
    if (grown.kind == SampleKind::moments)
      member.emplace(input, params, plan, plan.first_tree + k, is_fold);
    const GrowInput& own = member ? member->input : input;
    TreePart part = pool.take();
    TreeAssembly(own, params, grown, k).build(part);
    part.offsets.assign(1, grown.offset.empty() ? 0.0 : grown.offset[k]);
    GrowResult finished;
    finish_tree(part, own, params, finished);
    result.members[k] = compact_trees({&finished.tree, 1}, options);
    pool.give_back(std::move(finished.tree), std::move(part.moments));
    std::copy(finished.importances.begin(), finished.importances.end(),
              result.importances.begin() + static_cast<std::ptrdiff_t>(k * n_features));
  });
  return result;
}

}  // namespace committee
