#include "boosting/local_rows.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "boosting/gradient_sampling.hpp"

namespace committee {

namespace {

constexpr std::size_t kMeasuredRows = 8 * kLossBlock;  // of a task

// Up to kLossBlock rows from anywhere, side by side.
class GatheredRows {
 public:
  GatheredRows(std::size_t n_scores, std::size_t n_targets)
      : scores_(n_scores * kLossBlock), targets_(n_targets * kLossBlock) {}
  ScoreView take(const ScoreView& view, std::span<const u32> rows) {
    gather(view.scores, view.stride, rows, scores_);
    gather(view.y, view.stride, rows, targets_);
    return {targets_.data(), scores_.data(), kLossBlock};
  }
  // Empty where there are none.
  std::span<const double> take(std::span<const double> weights, std::span<const u32> rows) {
    if (weights.empty()) return weights;
    for (std::size_t i = 0; i < rows.size(); ++i) weights_[i] = weights[rows[i]];
    return {weights_, rows.size()};
  }

 private:
  static void gather(const double* from, std::size_t stride, std::span<const u32> rows,
                     std::vector<double>& to) {
    for (std::size_t at = 0; at < to.size(); at += kLossBlock, from += stride)
      for (std::size_t i = 0; i < rows.size(); ++i) to[at + i] = from[rows[i]];
  }
  std::vector<double> scores_, targets_;  // [score][row]
  double weights_[kLossBlock];
};

bool draws_columns(const BoostingParams& params) {
  return std::min({params.colsample_tree, params.colsample_level, params.colsample_node}) < 1.0;
}

}  // namespace

LocalRows::LocalRows(const BoostingInput& input, const RowWeights& weights, Loss& loss,
                     const BoostingParams& params, int n_threads)
    : LocalRows(input, weights, loss, params,
                Records(*input.data, weights,
                        {params.joint_columns, params.goss_other > 0.0, draws_columns(params)},
                        n_threads),
                n_threads) {}

LocalRows::LocalRows(const BoostingInput& input, const RowWeights& weights, Loss& loss,
                     const BoostingParams& params, std::shared_ptr<const RecordLayout> layout,
                     int n_threads)
    : LocalRows(input, weights, loss, params, Records(*input.data, std::move(layout), n_threads),
                n_threads) {}

LocalRows::LocalRows(const BoostingInput& input, const RowWeights& weights, Loss& loss,
                     const BoostingParams& params, Records&& records, int n_threads)
    : input_(input),
      weights_(weights),
      loss_(loss),
      params_(params),
      n_threads_(n_threads),
      drawn_(weights),
      records_(std::move(records)),
      gradients_(input.data->n_rows, loss.n_scores()),
      scores_(input.data->n_rows * loss.n_scores()),
      shared_{input.data, &drawn_, &gradients_, &loss, input.target.data(), scores_.data()},
      leaves_(shared_, records_,
              params.vector_leaves && loss.n_scores() > 1 ? loss.n_scores() + 1 : 1, n_threads) {
  for_score_blocks([&](u32 k, std::size_t begin, std::size_t end) {
    std::fill_n(scores_.data() + k * n_rows() + begin, end - begin, 0.0);
  });
}

std::vector<LeafRows*> LocalRows::make_leaves_apart(std::size_t n_trees, std::size_t most_bytes) {
  std::vector<LeafRows*> made;
  // As much as if trees drew all columns, which they may come to do.
  if (n_trees == 0 || n_trees * n_rows() * records_.layout().bytes_per_row() > most_bytes)
    return made;
  made.push_back(&leaves_);
  for (std::size_t k = 1; k < n_trees; ++k) {
    apart_.push_back(std::make_unique<Apart>(shared_, records_, 1));
    made.push_back(&apart_.back()->leaves);
  }
  return made;
}

void LocalRows::add_leaves_apart(std::size_t n_trees) {
  for (std::size_t k = 0; k < n_trees; ++k)
    apart_.push_back(std::make_unique<Apart>(shared_, records_, n_threads_));
}

std::size_t LocalRows::bytes() const {
  std::size_t bytes = records_.bytes() + leaves_.bytes();
  for (const auto& apart : apart_) bytes += apart->records.bytes() + apart->leaves.bytes();
  return bytes + scores_.size() * (sizeof(double) + sizeof(FixedGradientPair));
}

// use(score, begin, end): each thread has the same rows each time, which it is the first to touch.
template <class Use>
void LocalRows::for_score_blocks(Use&& use) {
  const auto n_blocks = static_cast<std::size_t>(n_threads_);
  parallel_for(n_blocks, n_threads_, [&](std::size_t block) {
    for (u32 k = 0; k < loss_.n_scores(); ++k)
      use(k, n_rows() * block / n_blocks, n_rows() * (block + 1) / n_blocks);
  });
}

void LocalRows::set_scores(const double* scores) {
  for_score_blocks([&](u32 k, std::size_t begin, std::size_t end) {
    std::copy_n(scores + k * n_rows() + begin, end - begin, scores_.data() + k * n_rows() + begin);
  });
}

void LocalRows::add_constant(std::span<const double> per_score) {
  for_score_blocks([&](u32 k, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) scores_[k * n_rows() + i] += per_score[k];
  });
}

void LocalRows::add_tree(const StoredTree& stored, double factor) {
  add_stored_tree(stored, *input_.data, factor, n_threads_,
                  scores_.data() + stored.slot * n_rows());
}

void LocalRows::adapt_loss() {
  loss_.adapt(view(), n_rows(), weights_.values);
}

void LocalRows::compute_gradients() {
  gradients_.compute(loss_, view(), weights_, n_threads_);
}

void LocalRows::take_gradients(const double* gradients, const double* hessians) {
  gradients_.take(gradients, hessians, weights_, n_threads_);
}

void LocalRows::choose_rows(std::vector<u32> sample, const std::vector<u32>& held_out) {
  for (const auto& apart : apart_) apart->leaves.choose_rows(sample, held_out);
  leaves_.choose_rows(std::move(sample), held_out);
}

std::vector<double> LocalRows::measure_gradients() const {
  std::vector<double> sizes(n_rows(), 0.0);
  for (u32 row = 0; row < sizes.size(); ++row) {
    for (u32 k = 0; weights_[row] > 0 && k < loss_.n_scores(); ++k)
      sizes[row] += std::abs(static_cast<double>(gradients_.pairs(k)[row].gradient)) *
                    gradients_.facts().gradient_unit(k) * weights_[row];
  }
  return sizes;
}

void LocalRows::multiply_weights(std::span<const double> factors, u64 total) {
  drawn_ = weights_.multiplied(factors);
  drawn_.total = total;
  records_.change_weights(drawn_);
  for (const auto& apart : apart_) apart->records.change_weights(drawn_);
}

std::vector<u32> LocalRows::draw_by_gradient(u64 tree) {
  const GradientSample drawn = sample_by_gradient(measure_gradients(), weights_, params_, tree);
  multiply_weights(drawn.factors, weights_.multiplied(drawn.factors).total);
  choose_rows(drawn.sample, drawn.held_out);
  return drawn.held_out;
}

double LocalRows::measure_loss(std::span<const u32> rows) {
  return sum_losses(rows).find();
}

std::pair<double, double> LocalRows::measure_losses(std::span<const u32> held_out) {
  ExactMean all, some;
  sum_losses(all, held_out, &some);
  return {all.find(), some.find()};
}

ExactMean LocalRows::sum_losses(std::span<const u32> rows) const {
  ExactMean mean;
  if (rows.empty()) {
    sum_losses(mean, {}, nullptr);
    return mean;
  }
  std::mutex mutex;
  parallel_for((rows.size() + kMeasuredRows - 1) / kMeasuredRows, n_threads_, [&](std::size_t t) {
    ExactMean own;
    GatheredRows gathered(loss_.n_scores(), input_.target.size() / n_rows());
    const auto task = rows.subspan(t * kMeasuredRows);
    for (std::size_t begin = 0; begin < std::min(task.size(), kMeasuredRows); begin += kLossBlock) {
      const auto block = task.subspan(begin, std::min(task.size() - begin, kLossBlock));
      double values[kLossBlock];
      loss_.find_values(gathered.take(view(), block), 0, block.size(), values);
      own.add({values, block.size()}, gathered.take(input_.weights, block));
    }
    const std::lock_guard lock(mutex);
    mean.add(own);
  });
  return mean;
}

// Of all rows, and of some that ascend, whose losses are then computed once.
void LocalRows::sum_losses(ExactMean& all, std::span<const u32> rows, ExactMean* some) const {
  const std::size_t n = n_rows();
  const std::span<const double> weights(input_.weights);
  if (!weight_total_) {
    weight_total_.emplace(u64{weights.empty() ? n : 0});
    weight_total_->add(weights);
  }
  std::mutex mutex;
  parallel_for((n + kMeasuredRows - 1) / kMeasuredRows, n_threads_, [&](std::size_t task) {
    ExactMean own, own_some;
    const std::size_t first = task * kMeasuredRows, last = std::min(n, first + kMeasuredRows);
    auto row = std::lower_bound(rows.begin(), rows.end(), first);
    for (std::size_t begin = first; begin < last; begin += kLossBlock) {
      double values[kLossBlock], chosen[kLossBlock], chosen_weights[kLossBlock];
      const std::size_t size = std::min(last - begin, kLossBlock);
      loss_.find_values(view(), begin, begin + size, values);
      own.add_terms({values, size}, weights.empty() ? weights : weights.subspan(begin, size));
      std::size_t n_chosen = 0;
      for (; row != rows.end() && *row < begin + size; ++row, ++n_chosen) {
        chosen[n_chosen] = values[*row - begin];
        if (!weights.empty()) chosen_weights[n_chosen] = weights[*row];
      }
      own_some.add({chosen, n_chosen},
                   weights.empty() ? weights : std::span<const double>(chosen_weights, n_chosen));
    }
    const std::lock_guard lock(mutex);
    all.sum.add(own.sum);
    if (some) some->add(own_some);
  });
  all.total = *weight_total_;
}

}  // namespace committee
