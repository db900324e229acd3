#include "boosting/tree_grower.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "committee/best_first.hpp"

namespace committee {

namespace {

// A gain that rounding alone can make is none; in units of one gradient step squared over one
// hessian step. Gains by values are differences of large numbers.
constexpr double kLeastGain = 1e-12, kLeastGainByValues = 1e-6;
// Gradients that are updated incrementally have finer steps.
constexpr double kLeastGainIncremental = 1.0;

}  // namespace

BoostingGrower::BoostingGrower(const GrowerTable& table, LeafRows& rows,
                               const BoostingParams& params, u32 n_scores, int n_threads)
    : bins_(*table.bins),
      table_layout_(*table.layout),
      weights_(*table.weights),
      rows_(rows),
      params_(params),
      n_scores_(n_scores),
      n_threads_(n_threads),
      width_(n_scores > 1 ? n_scores + 1 : 1) {
  if (!params.interaction_groups.empty()) {
    const std::size_t words = (params.interaction_groups.size() + 63) / 64;
    feature_groups_.assign(bins_.size(), std::vector<u64>(words, 0));
    for (std::size_t g = 0; g < params.interaction_groups.size(); ++g)
      for (const u32 f : params.interaction_groups[g])
        feature_groups_[f][g / 64] |= u64{1} << (g % 64);
  }
}

// The open leaves of a tree that grows, as grow_best_first asks for them.
struct BoostingGrower::QueuedLeaves {
  BoostingGrower& grower;
  LeafQueue& queue;
  const std::size_t most_leaves;
  InterruptWatch& watch;

  std::size_t count_left() const { return most_leaves - grower.leaves_.size() - queue.size(); }
  bool may_split() const {
    watch.poll();
    return grower.leaves_.size() + queue.size() < most_leaves;
  }
  bool find_first() const {
    // One whose rows were counted may have lost its split.
    while (!queue.empty() && !queue.front()->expanded && !grower.is_worthwhile(*queue.front()))
      grower.push(grower.pop(queue), queue);
    return !queue.empty();
  }
  bool is_expanded() const { return queue.front()->expanded; }
  void split_first() const { grower.split(grower.pop(queue), queue); }
};

void BoostingGrower::begin_tree(std::span<const SearchPlan> scores, u32 first_score, u64 tree) {
  scores_ = scores;
  plan_ = &scores[0];
  first_score_ = first_score;
  least_gain_ = 0.0;
  for (const SearchPlan& plan : scores) {
    const double unit = plan.gradient_unit * plan.gradient_unit / plan.hessian_unit;
    const double least = plan.incremental               ? kLeastGainIncremental
                         : plan.by_values || width_ > 1 ? kLeastGainByValues
                                                        : kLeastGain;
    least_gain_ = std::max(least_gain_, least * unit);
  }
  tree_number_ = tree;
  next_order_ = 0;
  next_rows_ = 1;
  tree_ = GrownTree{};
  tree_.width = n_scores_;
  split_bins_.clear();
  node_gains_.clear();
  node_leaves_.clear();
  leaves_.clear();
  draw_tree_features();
}

GrownTree BoostingGrower::grow(std::span<const SearchPlan> scores, u32 first_score, u64 tree,
                               InterruptWatch& watch) {
  begin_tree(scores, first_score, tree);
  std::unique_ptr<OpenLeaf> root = open_root();
  const std::size_t most_leaves =
      params_.max_leaf_nodes == 0 ? root->n_rows : std::max(1u, params_.max_leaf_nodes);
  if (plan_->symmetric) {
    // Before the call: which argument is made first, the moved root or one that reads it, is the
    // compiler's choice.
    const std::size_t most = params_.mixed ? root->n_rows : most_leaves;
    grow_levels(std::move(root), most, watch);
  } else {
    LeafQueue queue;
    push(std::move(root), queue);
    QueuedLeaves leaves{*this, queue, most_leaves, watch};
    while (!grow_best_first(leaves)) {
      const std::size_t n_left = leaves.count_left();
      if (expand(list_next(queue, n_left), n_left == 1))  // the gain of some may have changed
        std::make_heap(queue.begin(), queue.end(),
                       [this](const auto& a, const auto& b) { return comes_later(*a, *b); });
    }
    while (!queue.empty()) close(*pop(queue));
  }
  rows_.unsplit(unsplit_);
  unsplit_.clear();
  reclaim_histograms();
  if (params_.ccp_alpha > 0.0) prune();
  return std::move(tree_);
}

// Best-first by gain, or by depth; equals in the order of creation.
double BoostingGrower::find_priority(const OpenLeaf& leaf) const {
  return params_.level_wise ? 0.0 : leaf.best.gain;
}

bool BoostingGrower::comes_later(const OpenLeaf& a, const OpenLeaf& b) const {
  return is_split_first(find_priority(b), b.order, find_priority(a), a.order);
}

bool BoostingGrower::is_worthwhile(const OpenLeaf& leaf) const {
  return leaf.best.found() && leaf.best.gain > least_gain_;
}

void BoostingGrower::push(std::unique_ptr<OpenLeaf> leaf, LeafQueue& queue) {
  if (!is_worthwhile(*leaf)) {
    close(*leaf);
    drop_histogram(leaf->histogram);
    return;
  }
  queue.push_back(std::move(leaf));
  std::push_heap(queue.begin(), queue.end(),
                 [this](const auto& a, const auto& b) { return comes_later(*a, *b); });
}

std::unique_ptr<BoostingGrower::OpenLeaf> BoostingGrower::pop(LeafQueue& queue) const {
  std::pop_heap(queue.begin(), queue.end(),
                [this](const auto& a, const auto& b) { return comes_later(*a, *b); });
  std::unique_ptr<OpenLeaf> leaf = std::move(queue.back());
  queue.pop_back();
  return leaf;
}

void BoostingGrower::close(const OpenLeaf& leaf) {
  if (leaf.expanded) unsplit_.push_back(leaf.rows);  // ahead of time, and in vain
  leaves_.push_back(leaf);
  if (keeps_histograms()) collect_histograms(leaf, leaves_.back().kept_histograms);
}

// The histogram of a leaf, or those of the children among which it was divided ahead of time.
void BoostingGrower::collect_histograms(const OpenLeaf& leaf, std::vector<const i64*>& found) {
  if (leaf.histogram) {
    found.push_back(leaf.histogram);
  } else if (leaf.expanded) {
    collect_histograms(*leaf.left, found);
    collect_histograms(*leaf.right, found);
  }
}

// Leaves to be expanded, so that the one that comes next has its children. Where threads would wait
// for one another, or rows lie elsewhere, others are expanded with it: should one of them never be
// split, its children are forgotten, and the tree is the same. They are in the order in which they
// would come if those that are not expanded yet were to have no children: the open ones, and the
// children of leaves that were expanded ahead of their time. `n_left`: splits that the tree may
// still have.
std::vector<BoostingGrower::OpenLeaf*> BoostingGrower::list_next(const LeafQueue& queue,
                                                                 std::size_t n_left) {
  OpenLeaf* const next = queue.front().get();
  if (next->expanded || !is_worthwhile(*next)) return {};
  const StepRules rules = rows_.step_rules();
  if (next->recount_due || rules.most_leaves == 1) return {next};
  // What is compared lies side by side: leaves are anywhere.
  struct Waiting {
    double gain;
    u64 order;
    OpenLeaf* leaf;
  };
  const auto waiting = [this](OpenLeaf* leaf) {
    return Waiting{find_priority(*leaf), leaf->order, leaf};
  };
  const auto later = [](const Waiting& a, const Waiting& b) {
    return is_split_first(b.gain, b.order, a.gain, a.order);
  };
  std::vector<Waiting> open;  // a heap, as the queue is
  std::vector<OpenLeaf*> batch;
  for (const auto& leaf : queue) open.push_back(waiting(leaf.get()));
  u64 order = next_order_;
  double work = 0.0;
  while (!open.empty() && batch.size() < rules.most_leaves && work < rules.enough_work &&
         n_left > 0) {
    std::pop_heap(open.begin(), open.end(), later);
    OpenLeaf* const leaf = open.back().leaf;
    open.pop_back();
    if (!is_worthwhile(*leaf)) continue;
    --n_left;
    if (!leaf->expanded) {
      if (leaf->recount_due) continue;
      batch.push_back(leaf);
      work += static_cast<double>(leaf->n_rows) * rules.work_per_row(find_smaller(*leaf).second);
      continue;
    }
    for (OpenLeaf* child : {leaf->left.get(), leaf->right.get()}) {
      child->order = ++order;  // for now; `split` gives it for good
      if (!is_worthwhile(*child)) continue;
      open.push_back(waiting(child));
      std::push_heap(open.begin(), open.end(), later);
    }
  }
  return batch;
}

// Which child is the smaller one is not known before the rows are partitioned: its share of the
// hessians has to tell.
std::pair<Side, double> BoostingGrower::find_smaller(const OpenLeaf& leaf) const {
  const i64 left = plan_->halves.hessian(leaf.best.left), all = plan_->halves.hessian(leaf.total);
  const bool left_first = 2 * left <= all;
  const double share = static_cast<double>(left_first ? left : all - left) /
                       static_cast<double>(std::max<i64>(all, 1));
  return {left_first ? Side::left : Side::right, share};
}

LeafSplit BoostingGrower::plan_split(const OpenLeaf& leaf, bool builds) {
  LeafSplit split;
  split.leaf = leaf.rows;
  split.left = next_rows_;
  split.right = next_rows_ + 1;
  next_rows_ += 2;
  split.by = &leaf.best;
  if (builds) std::tie(split.built, split.built_share) = find_smaller(leaf);
  return split;
}

// Whether the children of a leaf are searched, or their histograms kept.
bool BoostingGrower::needs_histograms(const OpenLeaf& leaf, bool last) const {
  if (sums_columns_) return false;
  return keeps_histograms() || (!last && leaf.depth + 1 < find_max_depth());
}

// Splits the rows of some leaves and looks for the best splits of their children. Returns whether
// the gain of a leaf may have changed, whose best split left too few rows on a side, and which is
// counted now or when it comes next. `last`: the children will not be split.
bool BoostingGrower::expand(std::span<OpenLeaf* const> batch, bool last) {
  if (batch.empty()) return false;
  if (std::exchange(batch[0]->recount_due, false)) {  // it is alone
    recount(*batch[0]);
    return true;
  }
  const StepRules rules = rows_.step_rules();
  std::vector<StepSplit> splits;
  for (OpenLeaf* leaf : batch) {
    leaf->partition = plan_split(*leaf, rules.builds && needs_histograms(*leaf, last));
    i64* const built = leaf->partition.built == Side::none ? nullptr : borrow_histogram();
    splits.push_back({leaf->partition, built, {}, {}});
  }
  rows_.split_leaves(splits);
  std::vector<OpenLeaf*> too_small, alone;
  std::vector<LeafSplit> done;
  std::vector<Siblings> pairs;
  for (std::size_t k = 0; k < batch.size(); ++k) {
    OpenLeaf& leaf = *batch[k];
    leaf.sides = splits[k].sums;
    if (!leaf.counted && is_too_small(leaf)) {
      return_histogram(splits[k].histogram);
      too_small.push_back(&leaf);
      continue;
    }
    make_children(leaf);
    done.push_back(leaf.partition);
    leaf.expanded = true;
    if (sums_columns_) {
      for (OpenLeaf* child : {leaf.left.get(), leaf.right.get()})
        if (!last && may_split(*child)) alone.push_back(child);
    } else if (!needs_histograms(leaf, last)) {
      return_histogram(leaf.histogram);
    } else if (OpenLeaf* const child =
                   pass_histograms(leaf, splits[k], !last && !plan_->symmetric, pairs)) {
      std::fill_n(child->histogram, n_entries_, i64{0});
      rows_.add_rows(child->rows, child->histogram);
    }
  }
  rows_.split_held_out(done);
  recount_later(too_small, rules.counts_late);
  sums_columns_ ? search_columns(alone) : search_pairs(pairs);
  return !too_small.empty();
}

// Leaves that have to be counted get their rows back. Where all nodes of a depth are split alike,
// such a leaf is not.
void BoostingGrower::recount_later(std::span<OpenLeaf* const> leaves, bool when_they_come) {
  if (leaves.empty()) return;
  std::vector<u32> rows;
  for (const OpenLeaf* leaf : leaves) rows.push_back(leaf->rows);
  rows_.unsplit(rows);
  if (plan_->symmetric) {
    for (OpenLeaf* leaf : leaves) leaf->best = BoostSplit{};
  } else if (when_they_come) {
    for (OpenLeaf* leaf : leaves) leaf->recount_due = true;
  } else {
    parallel_for(leaves.size(), n_threads_, [&](std::size_t l) { recount(*leaves[l]); });
  }
}

// Whether a side of the split at hand has too few rows, or too little weight.
bool BoostingGrower::is_too_small(const OpenLeaf& leaf) const {
  const std::size_t fewest = std::min(leaf.sides.n_left, leaf.n_rows - leaf.sides.n_left);
  if (fewest < std::max(1u, params_.min_samples_leaf)) return true;
  if (!(params_.min_weight_leaf > 0.0)) return false;
  const u64 left = leaf.sides.left_weight;
  const double least = find_least_weight(params_.min_weight_leaf, weights_.total);
  return static_cast<double>(std::min(left, leaf.weight - left)) < least;
}

void BoostingGrower::make_children(OpenLeaf& leaf) {
  const u64 left_weight = leaf.sides.left_weight;
  if (!leaf.best.has_missing) leaf.best.missing_left = 2 * left_weight > leaf.weight;
  leaf.left = std::make_unique<OpenLeaf>();
  leaf.right = std::make_unique<OpenLeaf>();
  leaf.left->rows = leaf.partition.left;
  leaf.right->rows = leaf.partition.right;
  leaf.left->n_rows = leaf.sides.n_left;
  leaf.right->n_rows = leaf.n_rows - leaf.sides.n_left;
  leaf.left->weight = left_weight;
  leaf.right->weight = leaf.weight - left_weight;
  leaf.left->total = leaf.best.left;
  leaf.right->total = leaf.total - leaf.best.left;
  for (OpenLeaf* child : {leaf.left.get(), leaf.right.get()}) {
    child->depth = leaf.depth + 1;
    child->counted = width_ > 1;
    child->key = child_key(leaf.key, child == leaf.right.get());
    child->lower = leaf.lower;
    child->upper = leaf.upper;
    child->groups = leaf.groups;
  }
  if (leaf.groups) {
    auto open = std::make_shared<std::vector<u64>>(*leaf.groups);
    for (std::size_t k = 0; k < open->size(); ++k)
      (*open)[k] &= feature_groups_[leaf.best.feature][k];
    leaf.left->groups = leaf.right->groups = open;
  }
  const i32 direction = params_.monotonic.empty() ? 0 : params_.monotonic[leaf.best.feature];
  if (direction != 0) {
    const auto value = [&](const OpenLeaf& child) {
      return find_leaf_value(
          *plan_, static_cast<double>(plan_->halves.gradient(child.total)) * plan_->gradient_unit,
          static_cast<double>(plan_->halves.hessian(child.total)) * plan_->hessian_unit, leaf.lower,
          leaf.upper);
    };
    const double middle = value(*leaf.left) / 2 + value(*leaf.right) / 2;
    (direction > 0 ? leaf.left->upper : leaf.left->lower) = middle;
    (direction > 0 ? leaf.right->lower : leaf.right->upper) = middle;
  }
}

bool BoostingGrower::may_split(const OpenLeaf& leaf) const {
  return leaf.depth < find_max_depth() &&
         leaf.n_rows >= std::max<std::size_t>(2, params_.min_samples_split) &&
         leaf.n_rows >= 2 * static_cast<std::size_t>(params_.min_samples_leaf) &&
         (width_ > 1 ||
          static_cast<double>(plan_->halves.hessian(leaf.total)) * plan_->hessian_unit >=
              2.0 * params_.min_child_weight);
}

// Gives the children their histograms: one is built, its sibling's is the parent's less it. Returns
// the smaller child, whose rows have to be added to its histogram yet; null where one was built
// while the rows were partitioned, or none is needed. `pairs`: children that are to be searched.
BoostingGrower::OpenLeaf* BoostingGrower::pass_histograms(OpenLeaf& leaf, const StepSplit& split,
                                                          bool searched,
                                                          std::vector<Siblings>& pairs) {
  i64* built = split.histogram;
  OpenLeaf& left = *leaf.left;
  OpenLeaf& right = *leaf.right;
  const bool left_first = built ? leaf.partition.built == Side::left : left.n_rows <= right.n_rows;
  OpenLeaf& first = left_first ? left : right;
  OpenLeaf& second = left_first ? right : left;
  if (!may_split(first) && !may_split(second) && !keeps_histograms()) {
    return_histogram(leaf.histogram);
    return_histogram(built);
    return nullptr;
  }
  first.histogram = built ? built : borrow_histogram();
  second.histogram = std::exchange(leaf.histogram, nullptr);
  second.totals = std::move(leaf.totals);  // find_totals takes off those of the first
  pairs.push_back({{&first, &second}, split.parts, searched});
  return built ? nullptr : &first;
}

void BoostingGrower::describe_root(OpenLeaf& root, const RootSums& sums) {
  root.n_rows = sums.n_rows;
  root.weight = sums.weight;
  if (!feature_groups_.empty())
    root.groups = std::make_shared<const std::vector<u64>>(feature_groups_[0].size(), ~u64{0});
  root.node = add_node(root);
}

std::unique_ptr<BoostingGrower::OpenLeaf> BoostingGrower::open_root() {
  if (plan_->incremental) return open_incremental_root();
  auto root = std::make_unique<OpenLeaf>();
  if (!sums_columns_) root->histogram = borrow_histogram();
  root->counted = width_ > 1;
  const RootSums sums = rows_.open_root({first_score_, n_scores_, tree_number_}, root->histogram);
  root->total = sums.total;
  describe_root(*root, sums);
  search_root(*root, rows_.partial_histograms());
  return root;
}

void BoostingGrower::search_root(OpenLeaf& root, std::span<i64* const> parts) {
  OpenLeaf* const leaf = &root;
  if (sums_columns_) {
    if (may_split(root)) search_columns({&leaf, 1});
    return;
  }
  Siblings alone{{leaf, nullptr}, parts, !plan_->symmetric};
  search_pairs({&alone, 1});
}

u32 BoostingGrower::add_node(const OpenLeaf& leaf) {
  const std::vector<double> none(n_scores_, 0.0);
  split_bins_.push_back(0);
  node_gains_.push_back(0.0);
  if (params_.ccp_alpha > 0.0) node_leaves_.push_back(leaf);
  return tree_.add_node(static_cast<u32>(leaf.n_rows), 0.0, 0.0, none);
}

void BoostingGrower::add_children(const OpenLeaf& leaf) {
  tree_.splits[leaf.node] = describe(leaf);
  node_gains_[leaf.node] = leaf.best.gain;
  for (OpenLeaf* child : {leaf.left.get(), leaf.right.get()}) {
    child->node = add_node(*child);
    child->order = ++next_order_;
  }
  split_bins_[leaf.node] = leaf.best.split_bin;
  tree_.left[leaf.node] = leaf.left->node;
  tree_.right[leaf.node] = leaf.right->node;
}

void BoostingGrower::split(std::unique_ptr<OpenLeaf> leaf, LeafQueue& queue) {
  add_children(*leaf);
  push(std::move(leaf->left), queue);
  push(std::move(leaf->right), queue);
}

GrownTree::Split BoostingGrower::describe(const OpenLeaf& leaf) const {
  const ColumnBins& bins = bins_[leaf.best.feature];
  GrownTree::Split split;
  split.feature = leaf.best.feature;
  split.categorical = leaf.best.categorical;
  split.missing_left = leaf.best.missing_left;
  if (split.categorical) {
    split.left_categories = std::make_shared<const std::vector<u32>>(leaf.best.left_codes);
  } else {
    split.threshold = leaf.best.split_bin < bins.thresholds.size()
                          ? bins.thresholds[leaf.best.split_bin]
                          : std::numeric_limits<double>::infinity();
  }
  return split;
}

std::size_t BoostingGrower::bytes() const {
  return histograms_.size() * histogram_size_ * sizeof(i64);
}

i64* BoostingGrower::borrow_histogram() {
  if (free_histograms_.empty()) {
    histograms_.emplace_back(histogram_size_);
    return histograms_.back().data();
  }
  i64* histogram = free_histograms_.back();
  free_histograms_.pop_back();
  return histogram;
}

// Leaves that were left open, and children that were forgotten, keep no histogram beyond their
// tree.
void BoostingGrower::reclaim_histograms() {
  free_histograms_.clear();
  for (AlignedBuffer<i64>& histogram : histograms_) free_histograms_.push_back(histogram.data());
}

void BoostingGrower::return_histogram(i64*& histogram) {
  if (!histogram) return;
  free_histograms_.push_back(std::exchange(histogram, nullptr));
}

}  // namespace committee
