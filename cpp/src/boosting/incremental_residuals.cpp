#include "boosting/incremental_residuals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace committee {

namespace {

// Few rows are not worth it; of many too few bits of a gradient would be left.
constexpr std::size_t kLeastRows = 4096, kMostRows = std::size_t{1} << 18;
// Updating the next root by a leaf costs as much as adding so many rows; bytes of the leaves'
// histograms.
constexpr std::size_t kRowsPerLeaf = 256, kMostKept = std::size_t{16} << 20;
constexpr int kMostBits = 30;
constexpr std::size_t kBlockRows = 512;
// Entries of the leaves' histograms that pay for waking the threads.
constexpr std::size_t kMinParallelEntries = 60'000;

}  // namespace

bool Residuals::suit(const Loss& loss, const RowWeights& weights, const BoostingParams& params,
                     const Records& records) {
  const std::size_t n_leaves = params.max_leaf_nodes, n_rows = weights.total;
  return params.follow_residuals && loss.shape().residual && loss.n_scores() == 1 &&
         !records.words().coarse && n_rows >= kLeastRows && n_rows <= kMostRows && n_leaves > 0 &&
         n_leaves * kRowsPerLeaf <= n_rows &&
         n_leaves * records.n_entries() * sizeof(i64) <= kMostKept && params.subsample >= 1.0 &&
         !(params.goss_other > 0.0) && !(params.ccp_alpha > 0.0) && params.learning_rate <= 1.0;
}

double Residuals::find_largest(const ScoreView& view) const {
  double largest = 0.0;
  for (std::size_t i = 0; i < n_rows_; ++i)
    if (weights_[i] > 0) largest = std::max(largest, std::abs(view.scores[i] - view.y[i]));
  return largest;
}

// The bound as the words have it.
void Residuals::find_bound() {
  bound_ = 0;
  for (std::size_t i = 0; i < n_rows_; ++i) {
    const i64 weight = std::max(1u, weights_[i]);
    bound_ = std::max(bound_, std::abs(halves_.gradient(records_.word(i))) / weight);
  }
}

void Residuals::prepare(const ScoreView& view) {
  n_rows_ = view.stride;
  if (current_ && bound_ > i64{1} << gradient_bits_) {
    find_bound();
    // New words also where they have become small for their unit.
    current_ = bound_ <= i64{3} << (gradient_bits_ - 2) && bound_ >= i64{1} << (gradient_bits_ - 3);
  }
  if (!current_) start(view);
}

void Residuals::start(const ScoreView& view) {
  const int row_bits = std::bit_width(weights_.total - 1);
  halves_.hessian_bits = row_bits + 1;
  // A tree may double what is at the bound, which is noticed before the next one: one bit for that.
  gradient_bits_ = std::min(kMostBits, 62 - halves_.hessian_bits - row_bits);
  int power = 0;
  std::frexp(find_largest(view), &power);
  unit_ = std::ldexp(1.0, power - (gradient_bits_ - 1));
  const double scale = std::ldexp(1.0, gradient_bits_ - 1 - power);
  parallel_for((n_rows_ + kBlockRows - 1) / kBlockRows, n_threads_, [&](std::size_t block) {
    i64 words[kBlockRows];
    const std::size_t begin = block * kBlockRows, end = std::min(n_rows_, begin + kBlockRows);
    for (std::size_t i = begin; i < end; ++i) {
      const double gradient = std::nearbyint((view.scores[i] - view.y[i]) * scale);
      words[i - begin] = static_cast<i64>(
          ((static_cast<u64>(static_cast<i64>(gradient)) << halves_.hessian_bits) + 1) *
          weights_[i]);
    }
    records_.write_words(begin, end, words);
  });
  find_bound();
  grower_.sum_root();
  current_ = true;
}

void Residuals::plan(SearchPlan& plan) const {
  plan.gradient_unit = unit_ * weights_.unit;
  plan.hessian_unit = weights_.unit;
  plan.constant_hessian = weights_.values.empty();
  plan.halves = halves_;
  plan.incremental = true;
  plan.largest_gradient = bound_;
}

void Residuals::settle(const SearchPlan& plan, double learning_rate, GrownTree& tree,
                       double* scores) {
  const std::vector<GrownLeaf>& leaves = grower_.leaves();
  std::vector<double> values(leaves.size());
  std::vector<i64> changes(leaves.size());
  i64 largest = 0;
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    const GrownLeaf& leaf = leaves[l];
    const double weight = static_cast<double>(halves_.hessian(leaf.total)) * plan.hessian_unit;
    const double gradient = static_cast<double>(halves_.gradient(leaf.total)) * plan.gradient_unit;
    const double value =
        learning_rate * find_leaf_value(plan, gradient, weight, leaf.lower, leaf.upper);
    const auto steps = static_cast<i64>(std::nearbyint(value / unit_));
    largest = std::max(largest, std::abs(steps));
    values[l] = static_cast<double>(steps) * unit_;
    changes[l] = static_cast<i64>(static_cast<u64>(steps) << halves_.hessian_bits);
    tree.values[leaf.node] = values[l];
    tree.weight[leaf.node] = weight;
  }
  const int n_threads = n_rows_ >= kMinParallelRows ? n_threads_ : 1;
  const auto n_blocks = static_cast<std::size_t>(n_threads);
  parallel_for(n_blocks, n_threads, [&](std::size_t block) {
    const std::size_t begin = n_rows_ * block / n_blocks, end = n_rows_ * (block + 1) / n_blocks;
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      if (changes[l] == 0) continue;
      const auto rows = n_blocks == 1 ? grower_.rows_of(leaves[l])
                                      : select_block(grower_.rows_of(leaves[l]), begin, end);
      for (const RowItem& item : rows) scores[item.row] += values[l];
      records_.change_words(rows, changes[l], weights_.values);
    }
  });
  grower_.update_root(changes);
  bound_ += largest;
}

// The root's histogram, and its total, from the words of all rows.
void BoostingGrower::sum_root() {
  if (root_histogram_.size() == 0)
    root_histogram_ = AlignedBuffer<i64>(std::max<std::size_t>(1, n_entries_));
  borrow_thread_histograms();
  const std::size_t n = data_.n_rows, n_blocks = static_cast<std::size_t>(n_threads_);
  std::vector<i64> totals(n_blocks, 0);
  parallel_for(n_blocks, n_threads_, [&](std::size_t block) {
    i64* histogram = block == 0 ? root_histogram_.data() : thread_histograms_[block - 1];
    std::fill_n(histogram, n_entries_, i64{0});
    const std::size_t begin = n * block / n_blocks, end = n * (block + 1) / n_blocks;
    records_.add_range(begin, end, histogram);
    for (std::size_t i = begin; i < end; ++i) totals[block] += records_.word(i);
  });
  root_total_ = std::accumulate(totals.begin(), totals.end(), i64{0});
  for (const i64* histogram : thread_histograms_)
    for (std::size_t i = 0; i < n_entries_; ++i) root_histogram_[i] += histogram[i];
}

std::unique_ptr<BoostingGrower::OpenLeaf> BoostingGrower::open_incremental_root() {
  auto root = std::make_unique<OpenLeaf>();
  root->end = n_rows_;
  root->histogram = borrow_histogram();
  std::copy_n(root_histogram_.data(), n_entries_, root->histogram);
  for (std::size_t i = 0; i < n_rows_; ++i)
    rows_[i].row = sample_.empty() ? static_cast<u32>(i) : sample_[i];
  root->total = root_total_;
  root->weight = sum_row_weights(0, n_rows_);
  if (!feature_groups_.empty())
    root->groups = std::make_shared<const std::vector<u64>>(feature_groups_[0].size(), ~u64{0});
  root->node = add_node(*root);
  search_siblings({{root.get(), nullptr}}, false);
  return root;
}

void BoostingGrower::update_root(std::span<const i64> changes) {
  const WordHalves halves = plan_->halves;
  const std::size_t step = records_.entries_per_bundle();
  const auto mask = static_cast<i32>(halves.hessian(-1));
  const int n_threads = leaves_.size() * n_entries_ > kMinParallelEntries ? n_threads_ : 1;
  parallel_for(records_.n_bundles(), n_threads, [&](std::size_t bundle) {
    i64 sums[kHistogramBins] = {};
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      const auto steps = static_cast<i32>(halves.gradient(changes[l]));
      for (const i64* histogram : leaves_[l].kept_histograms) {
        if (!histogram || steps == 0) continue;
        const i64* const own = histogram + bundle * step;
        // Numbers of rows, which are ints, times steps, which are ints.
        for (std::size_t i = 0; i < step; ++i)
          sums[i] += static_cast<i64>(static_cast<i32>(own[i]) & mask) * steps;
      }
    }
    i64* const root = root_histogram_.data() + bundle * step;
    for (std::size_t i = 0; i < step; ++i)
      root[i] += static_cast<i64>(static_cast<u64>(sums[i]) << halves.hessian_bits);
  });
  for (std::size_t l = 0; l < leaves_.size(); ++l)
    root_total_ += changes[l] * halves.hessian(leaves_[l].total);
}

}  // namespace committee
