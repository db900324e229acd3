#include "boosting/incremental_residuals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "boosting/entry_sums.hpp"

namespace committee {

namespace {

// Few rows are not worth it; of many too few bits of a gradient would be left.
constexpr std::size_t kLeastRows = 4096, kMostRows = std::size_t{1} << 18;
// Updating the next root by a leaf costs as much as adding so many rows; bytes of the leaves'
// histograms.
constexpr std::size_t kRowsPerLeaf = 256, kMostKept = std::size_t{16} << 20;
constexpr int kMostBits = 30;
// Entries of the leaves' histograms that pay for waking the threads.
constexpr std::size_t kMinParallelEntries = 60'000;

}  // namespace

bool Residuals::suit(const Loss& loss, const WeightFacts& weights, const BoostingParams& params,
                     const RecordLayout& layout) {
  const std::size_t n_leaves = params.max_leaf_nodes, n_rows = weights.total;
  return params.follow_residuals && loss.shape().residual && loss.n_scores() == 1 &&
         !layout.words().coarse && n_rows >= kLeastRows && n_rows <= kMostRows && n_leaves > 0 &&
         n_leaves * kRowsPerLeaf <= n_rows &&
         n_leaves * layout.n_planned_entries() * sizeof(i64) <= kMostKept &&
         params.subsample >= 1.0 && !(params.goss_other > 0.0) && !(params.ccp_alpha > 0.0) &&
         params.learning_rate <= 1.0;
}

void Residuals::prepare() {
  if (current_ && bound_ > i64{1} << gradient_bits_) {
    bound_ = grower_.rows().find_largest_word(halves_);
    // New words also where they have become small for their unit.
    current_ = bound_ <= i64{3} << (gradient_bits_ - 2) && bound_ >= i64{1} << (gradient_bits_ - 3);
  }
  if (!current_) start();
}

void Residuals::start() {
  const int row_bits = std::bit_width(weights_.total - 1);
  halves_.hessian_bits = row_bits + 1;
  // A tree may double what is at the bound, which is noticed before the next one: one bit for that.
  gradient_bits_ = std::min(kMostBits, 62 - halves_.hessian_bits - row_bits);
  int power = 0;
  std::frexp(grower_.rows().find_largest_residual(), &power);
  unit_ = std::ldexp(1.0, power - (gradient_bits_ - 1));
  grower_.rows().write_residuals({halves_, std::ldexp(1.0, gradient_bits_ - 1 - power)});
  bound_ = grower_.rows().find_largest_word(halves_);
  grower_.forget_root();
  current_ = true;
}

void Residuals::plan(SearchPlan& plan) const {
  plan.gradient_unit = unit_ * weights_.unit;
  plan.hessian_unit = weights_.unit;
  plan.constant_hessian = !weights_.weighted;
  plan.halves = halves_;
  plan.incremental = true;
  plan.largest_gradient = bound_;
}

void Residuals::settle(const SearchPlan& plan, double learning_rate, GrownTree& tree) {
  const std::vector<GrownLeaf>& leaves = grower_.leaves();
  std::vector<u32> rows(leaves.size());
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
    rows[l] = leaf.rows;
    values[l] = static_cast<double>(steps) * unit_;
    changes[l] = static_cast<i64>(static_cast<u64>(steps) << halves_.hessian_bits);
    tree.values[leaf.node] = values[l];
    tree.weight[leaf.node] = weight;
  }
  grower_.rows().settle(rows, values, changes);
  grower_.update_root(changes);
  bound_ += largest;
}

// The root's histogram, where it has one, and its total, from the words of all rows.
void BoostingGrower::sum_root(i64* histogram) {
  root_total_ = rows_.sum_words(histogram);
  root_known_ = keeps_histograms();
  if (!histogram) return;
  for (const i64* part : rows_.partial_histograms()) add_entries(part, n_entries_, histogram);
  if (!root_known_) return;
  if (root_histogram_.empty())
    root_histogram_ = AlignedBuffer<i64>(std::max<std::size_t>(1, n_entries_));
  std::copy_n(histogram, n_entries_, root_histogram_.data());
}

std::unique_ptr<BoostingGrower::OpenLeaf> BoostingGrower::open_incremental_root() {
  auto root = std::make_unique<OpenLeaf>();
  if (!sums_columns_) root->histogram = borrow_histogram();
  if (root_known_ && keeps_histograms()) {
    std::copy_n(root_histogram_.data(), n_entries_, root->histogram);
  } else {
    sum_root(root->histogram);
  }
  root->total = root_total_;
  describe_root(*root, rows_.reopen_root());
  search_root(*root, {});
  return root;
}

void BoostingGrower::update_root(std::span<const i64> changes) {
  if (!keeps_histograms()) return forget_root();
  const WordHalves halves = plan_->halves;
  const auto mask = static_cast<i32>(halves.hessian(-1));
  const int n_threads = leaves_.size() * n_entries_ > kMinParallelEntries ? n_threads_ : 1;
  parallel_for(layout_->n_bundles(), n_threads, [&](std::size_t bundle) {
    const auto [begin, end] = layout_->entries_of(bundle);
    const std::size_t n = end - begin;
    i64 sums[kHistogramBins] = {};
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      const auto steps = static_cast<i32>(halves.gradient(changes[l]));
      if (steps == 0) continue;
      for (const i64* histogram : leaves_[l].kept_histograms)
        add_counts(histogram + begin, n, mask, steps, sums);
    }
    i64* const root = root_histogram_.data() + begin;
    for (std::size_t i = 0; i < n; ++i)
      root[i] += static_cast<i64>(static_cast<u64>(sums[i]) << halves.hessian_bits);
  });
  for (std::size_t l = 0; l < leaves_.size(); ++l)
    root_total_ += changes[l] * halves.hessian(leaves_[l].total);
}

}  // namespace committee
