#include "boosting/tree_grower.hpp"

#include <algorithm>
#include <numeric>

namespace committee {

namespace {

// The threads share a node of more rows; of smaller nodes each thread takes one.
constexpr std::size_t kMaxSerialRows = 4096;
constexpr std::size_t kFillRows =
    512;  // rows between making their words and adding them to the histogram
// A gain that rounding alone can make is none; in units of one gradient step squared over one
// hessian step. Gains by values are differences of large numbers.
constexpr double kLeastGain = 1e-12, kLeastGainByValues = 1e-6;
// Gradients that are updated incrementally have finer steps.
constexpr double kLeastGainIncremental = 1.0;

// Rows that were partitioned into the first n_left and the rest, in ascending order again.
void merge_back(RowItem* rows, std::size_t n_left, std::size_t n) {
  std::inplace_merge(rows, rows + n_left, rows + n,
                     [](const RowItem& a, const RowItem& b) { return a.row < b.row; });
}

}  // namespace

BoostingGrower::BoostingGrower(const BinnedMatrix& data, Records& records,
                               const RowWeights& weights, const BoostingParams& params,
                               u32 n_scores, int n_threads)
    : data_(data),
      records_(records),
      weights_(weights),
      params_(params),
      n_scores_(n_scores),
      n_threads_(n_threads),
      width_(n_scores > 1 ? n_scores + 1 : 1),
      n_entries_(records.n_entries() * width_) {
  if (!params.interaction_groups.empty()) {
    const std::size_t words = (params.interaction_groups.size() + 63) / 64;
    feature_groups_.assign(data.n_cols, std::vector<u64>(words, 0));
    for (std::size_t g = 0; g < params.interaction_groups.size(); ++g)
      for (const u32 f : params.interaction_groups[g])
        feature_groups_[f][g / 64] |= u64{1} << (g % 64);
  }
  if (width_ > 1) vectors_ = VectorWords(data.n_rows, n_scores);
  bundle_features_.resize(records.n_bundles() + 1);
  for (u32 f = 0; f < data.n_cols; ++f) {
    if (records.encoding(f).bundle != ColumnEncoding::kNoBundle) {
      bundle_features_[records.encoding(f).bundle].push_back(f);
    } else if ((*data.bins)[f].wide) {
      bundle_features_.back().push_back(f);
    }
  }
  std::vector<u32> present;
  if (!weights.values.empty() && std::count(weights.values.begin(), weights.values.end(), 0u) > 0) {
    for (u32 row = 0; row < data.n_rows; ++row)
      if (weights.values[row] > 0) present.push_back(row);
  }
  choose_rows(std::move(present), {});
}

void BoostingGrower::choose_rows(std::vector<u32> sample, std::vector<u32> held_out) {
  sample_ = std::move(sample);
  out_sample_ = std::move(held_out);
  n_rows_ = sample_.empty() ? data_.n_rows : sample_.size();
  n_held_out_ = out_sample_.size();
  if (rows_.size() < n_rows_) {
    rows_ = AlignedBuffer<RowItem>(n_rows_);
    scratch_ = AlignedBuffer<RowItem>(n_rows_);
  }
  if (held_out_.size() < n_held_out_) {
    held_out_ = AlignedBuffer<RowItem>(n_held_out_);
    out_scratch_ = AlignedBuffer<RowItem>(n_held_out_);
  }
}

GrownTree BoostingGrower::grow(std::span<const TreeScore> scores, u64 tree, InterruptWatch& watch) {
  scores_ = scores;
  plan_ = &scores[0].plan;
  word_plan_ = records_.words();
  word_plan_.constant_hessian = plan_->constant_hessian;
  least_gain_ = 0.0;
  for (const auto& [gradients, plan] : scores) {
    const double unit = plan.gradient_unit * plan.gradient_unit / plan.hessian_unit;
    const double least = plan.incremental               ? kLeastGainIncremental
                         : plan.by_values || width_ > 1 ? kLeastGainByValues
                                                        : kLeastGain;
    least_gain_ = std::max(least_gain_, least * unit);
  }
  tree_number_ = tree;
  next_order_ = 0;
  tree_ = GrownTree{};
  tree_.width = n_scores_;
  split_bins_.clear();
  node_gains_.clear();
  node_ranges_.clear();
  leaves_.clear();
  tree_features_.resize(data_.n_cols);
  std::iota(tree_features_.begin(), tree_features_.end(), 0u);
  draw_features(tree_features_, params_.colsample_tree, 0, 0);

  const std::size_t most_leaves =
      params_.max_leaf_nodes == 0 ? n_rows_ : std::max(1u, params_.max_leaf_nodes);
  LeafQueue queue;
  push(open_root(), queue);
  while (!queue.empty()) {
    watch.poll();
    const std::size_t n_leaves = leaves_.size() + queue.size();
    if (n_leaves >= most_leaves) {
      close(*pop(queue));
      continue;
    }
    expand_next(queue, most_leaves - n_leaves);
    std::unique_ptr<OpenLeaf> leaf = pop(queue);
    if (!leaf->expanded) {  // its best split left too few rows on a side; it has another one now
      push(std::move(leaf), queue);
      continue;
    }
    split(std::move(leaf), queue);
  }
  reclaim_histograms();
  if (params_.ccp_alpha > 0.0) prune();
  return std::move(tree_);
}

// Best-first by gain, or by depth; equals in the order of creation.
bool BoostingGrower::comes_later(const OpenLeaf& a, const OpenLeaf& b) const {
  if (!params_.level_wise && a.best.gain != b.best.gain) return a.best.gain < b.best.gain;
  return a.order > b.order;
}

bool BoostingGrower::is_shared(const OpenLeaf& leaf) const {
  return n_threads_ > 1 && leaf.size() > kMaxSerialRows;
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
  if (leaf.expanded) {  // ahead of time, and in vain
    merge_back(rows_.data() + leaf.begin, leaf.n_left, leaf.size());
    merge_back(held_out_.data() + leaf.out_begin, leaf.left->out_end - leaf.out_begin,
               leaf.out_end - leaf.out_begin);
  }
  leaves_.push_back(leaf);
  if (leaf.histogram) {
    leaves_.back().kept_histograms = {leaf.histogram, nullptr};
  } else if (leaf.expanded) {
    leaves_.back().kept_histograms = {leaf.left->histogram, leaf.right->histogram};
  }
}

// Makes sure that the leaf that comes next has its children. Small leaves are expanded several at a
// time, one a thread, in the order in which they would come: should one of them never be split, its
// children are forgotten, and the tree is the same.
void BoostingGrower::expand_next(LeafQueue& queue, std::size_t n_left) {
  OpenLeaf& next = *queue.front();
  if (next.expanded || !is_worthwhile(next)) return;
  if (n_threads_ == 1 || is_shared(next)) {
    expand(next, n_left == 1, is_shared(next));
    return;
  }
  std::vector<OpenLeaf*> batch;
  for (const auto& leaf : queue)
    if (!leaf->expanded && !is_shared(*leaf) && is_worthwhile(*leaf)) batch.push_back(leaf.get());
  const std::size_t n = std::min({batch.size(), static_cast<std::size_t>(n_threads_), n_left});
  std::partial_sort(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(n), batch.end(),
                    [this](const OpenLeaf* a, const OpenLeaf* b) { return comes_later(*b, *a); });
  parallel_for(n, n_threads_, [&](std::size_t k) { expand(*batch[k], n_left == 1, false); });
  // Counting rows may have changed the gain of some.
  std::make_heap(queue.begin(), queue.end(),
                 [this](const auto& a, const auto& b) { return comes_later(*a, *b); });
}

void BoostingGrower::expand(OpenLeaf& leaf, bool last, bool parallel) {
  // Which child is the smaller one is not known before the rows are partitioned; in parallel its
  // share of the hessians has to tell, so that a thread can add its rows while it has them.
  const bool left_first =
      2 * plan_->halves.hessian(leaf.best.left) <= plan_->halves.hessian(leaf.total);
  const bool filled = !last || plan_->incremental;
  leaf.built = parallel && filled ? (left_first ? Side::left : Side::right) : Side::none;
  i64* built = leaf.built == Side::none ? nullptr : borrow_histogram();
  leaf.n_left = partition_rows(rows_.data() + leaf.begin, leaf.size(), scratch_.data() + leaf.begin,
                               leaf.best, {parallel, leaf.built, built});
  if (!leaf.counted && is_too_small(leaf)) {
    return_histogram(built);
    merge_back(rows_.data() + leaf.begin, leaf.n_left, leaf.size());
    recount(leaf);
    return;
  }
  make_children(leaf);
  leaf.expanded = true;
  if (filled) {
    fill_children(leaf, built, !last);
  } else {
    return_histogram(leaf.histogram);
  }
}

// Whether a side of the split at hand has too few rows, or too little weight.
bool BoostingGrower::is_too_small(const OpenLeaf& leaf) const {
  const std::size_t fewest = std::min(leaf.n_left, leaf.size() - leaf.n_left);
  if (fewest < std::max(1u, params_.min_samples_leaf)) return true;
  if (!(params_.min_weight_leaf > 0.0)) return false;
  const u64 left = sum_row_weights(leaf.begin, leaf.begin + leaf.n_left);
  const double least = find_least_weight(params_.min_weight_leaf, weights_.total);
  return static_cast<double>(std::min(left, leaf.weight - left)) < least;
}

u64 BoostingGrower::sum_row_weights(std::size_t begin, std::size_t end) const {
  if (weights_.values.empty()) return end - begin;
  u64 weight = 0;
  for (std::size_t i = begin; i < end; ++i) weight += weights_.values[rows_[i].row];
  return weight;
}

void BoostingGrower::make_children(OpenLeaf& leaf) {
  const u64 left_weight = sum_row_weights(leaf.begin, leaf.begin + leaf.n_left);
  if (!leaf.best.has_missing) leaf.best.missing_left = 2 * left_weight > leaf.weight;
  std::size_t n_out_left = 0;
  if (leaf.out_end > leaf.out_begin)
    n_out_left = partition_rows(held_out_.data() + leaf.out_begin, leaf.out_end - leaf.out_begin,
                                out_scratch_.data() + leaf.out_begin, leaf.best, {});
  leaf.left = std::make_unique<OpenLeaf>();
  leaf.right = std::make_unique<OpenLeaf>();
  leaf.left->begin = leaf.begin;
  leaf.left->end = leaf.right->begin = leaf.begin + leaf.n_left;
  leaf.right->end = leaf.end;
  leaf.left->weight = left_weight;
  leaf.right->weight = leaf.weight - left_weight;
  leaf.left->out_begin = leaf.out_begin;
  leaf.left->out_end = leaf.right->out_begin = leaf.out_begin + n_out_left;
  leaf.right->out_end = leaf.out_end;
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
  return leaf.depth < params_.max_depth &&
         leaf.size() >= std::max<std::size_t>(2, params_.min_samples_split) &&
         leaf.size() >= 2 * static_cast<std::size_t>(params_.min_samples_leaf) &&
         (width_ > 1 ||
          static_cast<double>(plan_->halves.hessian(leaf.total)) * plan_->hessian_unit >=
              2.0 * params_.min_child_weight);
}

// Builds the histogram of the smaller child, unless one was built while the rows were partitioned;
// its sibling's is the parent's less it.
void BoostingGrower::fill_children(OpenLeaf& leaf, i64* built, bool searched) {
  OpenLeaf& left = *leaf.left;
  OpenLeaf& right = *leaf.right;
  const bool left_first = built ? leaf.built == Side::left : left.size() <= right.size();
  OpenLeaf& first = left_first ? left : right;
  OpenLeaf& second = left_first ? right : left;
  if (!may_split(first) && !may_split(second) && !plan_->incremental) {
    return_histogram(leaf.histogram);
    return_histogram(built);
    return;
  }
  first.histogram = built ? built : borrow_histogram();
  second.histogram = std::exchange(leaf.histogram, nullptr);
  second.totals = std::move(leaf.totals);  // find_totals takes off those of the first
  if (!built) {
    std::fill_n(first.histogram, n_entries_, i64{0});
    add_rows(rows_.data() + first.begin, first.size(), first.histogram);
  }
  Siblings pair{{&first, &second}};
  pair.wanted = searched;
  search_siblings(std::move(pair), built != nullptr);
}

void BoostingGrower::add_rows(const RowItem* rows, std::size_t n, i64* histogram) const {
  if (width_ > 1) {
    records_.add_listed(rows, n, {vectors_.data(), width_}, histogram);
  } else {
    records_.add_listed(rows, n, histogram);
  }
}

i64 BoostingGrower::fill_root(std::size_t begin, std::size_t end, i64* histogram) {
  // No part of the seed: a seed changes only what is drawn, and rounding draws nothing.
  const u64 key = combine_keys(combine_keys(0, static_cast<u64>(Purpose::rounding)), tree_number_);
  if (width_ > 1) {
    vectors_.write(scores_, weights_, word_plan_, key, begin, end);
    if (histogram) records_.add_range(begin, end, {vectors_.data(), width_}, histogram);
    return static_cast<i64>(end - begin);
  }
  const FixedGradientPair* const gradients = scores_[0].gradients;
  i64 total;
  if (word_plan_.narrow) {
    u32 words[kFillRows];
    total = make_narrow_words(gradients, word_plan_, key, begin, end, words);
    records_.write_words(begin, end, words);
  } else {
    i64 words[kFillRows];
    total = make_words(gradients, weights_, word_plan_, key, begin, end, words);
    records_.write_words(begin, end, words);
  }
  if (histogram) records_.add_range(begin, end, histogram);
  return total;
}

std::unique_ptr<BoostingGrower::OpenLeaf> BoostingGrower::open_root() {
  if (plan_->incremental) return open_incremental_root();
  borrow_thread_histograms();
  auto root = std::make_unique<OpenLeaf>();
  root->end = n_rows_;
  root->out_end = n_held_out_;
  root->histogram = borrow_histogram();
  root->counted = width_ > 1;
  const std::size_t n = data_.n_rows, n_blocks = static_cast<std::size_t>(n_threads_);
  const bool all = sample_.empty();
  std::vector<i64> totals(n_blocks, 0);
  parallel_for(n_blocks, n_threads_, [&](std::size_t block) {
    i64* histogram = block == 0 ? root->histogram : thread_histograms_[block - 1];
    std::fill_n(histogram, n_entries_, i64{0});
    const std::size_t last = n * (block + 1) / n_blocks;
    for (std::size_t begin = n * block / n_blocks; begin < last; begin += kFillRows) {
      const std::size_t end = std::min(last, begin + kFillRows);
      const i64 total = fill_root(begin, end, all ? histogram : nullptr);
      if (!all) continue;
      totals[block] += total;
      for (std::size_t i = begin; i < end; ++i) rows_[i].row = static_cast<u32>(i);
    }
  });
  for (std::size_t i = 0; i < sample_.size(); ++i) rows_[i] = {sample_[i]};
  for (std::size_t i = 0; i < n_held_out_; ++i) held_out_[i] = {out_sample_[i]};
  if (!all) {
    parallel_for(n_blocks, n_threads_, [&](std::size_t block) {
      i64* histogram = block == 0 ? root->histogram : thread_histograms_[block - 1];
      const std::size_t begin = n_rows_ * block / n_blocks, end = n_rows_ * (block + 1) / n_blocks;
      add_rows(rows_.data() + begin, end - begin, histogram);
      for (std::size_t i = begin; i < end; ++i)
        totals[block] += width_ > 1 ? 1 : records_.word(rows_[i].row);
    });
  }
  for (const i64 total : totals) root->total += total;
  root->weight = sum_row_weights(0, n_rows_);
  if (!feature_groups_.empty())
    root->groups = std::make_shared<const std::vector<u64>>(feature_groups_[0].size(), ~u64{0});
  root->node = add_node(*root);
  search_siblings({{root.get(), nullptr}}, n_threads_ > 1);
  return root;
}

u32 BoostingGrower::add_node(const OpenLeaf& leaf) {
  const std::vector<double> none(n_scores_, 0.0);
  split_bins_.push_back(0);
  node_gains_.push_back(0.0);
  if (params_.ccp_alpha > 0.0) node_ranges_.push_back(leaf);
  return tree_.add_node(static_cast<u32>(leaf.size()), 0.0, 0.0, none);
}

void BoostingGrower::split(std::unique_ptr<OpenLeaf> leaf, LeafQueue& queue) {
  tree_.splits[leaf->node] = describe(*leaf);
  node_gains_[leaf->node] = leaf->best.gain;
  for (OpenLeaf* child : {leaf->left.get(), leaf->right.get()}) {
    child->node = add_node(*child);
    child->order = ++next_order_;
  }
  split_bins_[leaf->node] = leaf->best.split_bin;
  tree_.left[leaf->node] = leaf->left->node;
  tree_.right[leaf->node] = leaf->right->node;
  push(std::move(leaf->left), queue);
  push(std::move(leaf->right), queue);
}

GrownTree::Split BoostingGrower::describe(const OpenLeaf& leaf) const {
  const ColumnBins& bins = (*data_.bins)[leaf.best.feature];
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
  return histograms_.size() * n_entries_ * sizeof(i64) + vectors_.bytes() +
         (rows_.size() + scratch_.size() + held_out_.size() + out_scratch_.size()) *
             sizeof(RowItem);
}

i64* BoostingGrower::borrow_histogram() {
  const std::lock_guard lock(histograms_mutex_);
  if (free_histograms_.empty()) {
    histograms_.emplace_back(std::max<std::size_t>(1, n_entries_));
    return histograms_.back().data();
  }
  i64* histogram = free_histograms_.back();
  free_histograms_.pop_back();
  return histogram;
}

void BoostingGrower::borrow_thread_histograms() {
  while (thread_histograms_.size() + 1 < static_cast<std::size_t>(n_threads_))
    thread_histograms_.push_back(borrow_histogram());
}

// Leaves that were left open, and children that were forgotten, keep no histogram beyond their
// tree.
void BoostingGrower::reclaim_histograms() {
  free_histograms_.clear();
  for (AlignedBuffer<i64>& histogram : histograms_)
    if (std::find(thread_histograms_.begin(), thread_histograms_.end(), histogram.data()) ==
        thread_histograms_.end())
      free_histograms_.push_back(histogram.data());
}

void BoostingGrower::return_histogram(i64*& histogram) {
  if (!histogram) return;
  const std::lock_guard lock(histograms_mutex_);
  free_histograms_.push_back(std::exchange(histogram, nullptr));
}

}  // namespace committee
