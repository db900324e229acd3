#include "boosting/gradient_sampling.hpp"

#include <algorithm>
#include <cmath>

#include "committee/parallel.hpp"
#include "committee/row_sampling.hpp"

namespace committee {

namespace {

// Bytes that draws which are made side by side may need meanwhile, and those of a row.
constexpr std::size_t kMostDrawing = std::size_t{64} << 20, kDrawingRow = 12;
constexpr std::size_t kListedRows = 1 << 14;  // of a task, a multiple of 64

// Of the rows, or of the groups.
RowSampling plan_draw(const RowPool& pool, const BoostingParams& params) {
  RowSampling sampling;
  sampling.replace = false;
  std::size_t n_there = pool.n_rows;
  if (!pool.groups.empty()) {
    sampling.weights.assign(*std::max_element(pool.groups.begin(), pool.groups.end()) + 1, 0.0);
    for (std::size_t row = 0; row < pool.n_rows; ++row)
      if (pool.weights[row] > 0) sampling.weights[pool.groups[row]] = 1.0;
    n_there =
        static_cast<std::size_t>(std::count(sampling.weights.begin(), sampling.weights.end(), 1.0));
  } else {
    const std::vector<u32>& weights = pool.weights.values;
    sampling.weights.assign(pool.given.begin(), pool.given.end());
    n_there -= static_cast<std::size_t>(std::count(weights.begin(), weights.end(), 0u));
  }
  sampling.n_draws =
      static_cast<u32>(std::max(1.0, std::floor(params.subsample * static_cast<double>(n_there))));
  return sampling;
}

// counts[row] > 0: the row is drawn.
std::vector<u32> draw_round(const RowSampling& sampling, const RowPool& pool,
                            const BoostingParams& params, u64 tree) {
  std::vector<u32> counts(pool.groups.empty() ? pool.n_rows : sampling.weights.size());
  draw_rows(sampling, combine_keys(params.seed, static_cast<u64>(Purpose::subsample)), tree,
            counts);
  if (pool.groups.empty()) return counts;
  std::vector<u32> of_rows(pool.n_rows);
  for (std::size_t row = 0; row < pool.n_rows; ++row)
    of_rows[row] = pool.weights[row] > 0 ? counts[pool.groups[row]] : 0;
  return of_rows;
}

// Both lists, block by block: counted first, then written.
RowSample list_drawn(std::span<const u64> bits, const RowWeights& weights, std::size_t n_rows,
                     int n_threads) {
  const std::size_t n_tasks = (n_rows + kListedRows - 1) / kListedRows;
  std::vector<std::size_t> n_drawn(n_tasks + 1, 0), n_out(n_tasks + 1, 0);
  // use(row, whether it was drawn, whether it was left out).
  const auto visit = [&](std::size_t task, auto&& use) {
    const std::size_t last = std::min(n_rows, (task + 1) * kListedRows);
    for (std::size_t row = task * kListedRows; row < last; ++row) {
      const bool drawn = (bits[row / 64] >> (row % 64) & 1) != 0;
      use(static_cast<u32>(row), drawn, !drawn && weights[row] > 0);
    }
  };
  parallel_for(n_tasks, n_threads, [&](std::size_t task) {
    std::size_t own = 0, out = 0;
    visit(task, [&](u32, bool drawn, bool left_out) {
      own += drawn;
      out += left_out;
    });
    n_drawn[task + 1] = own;
    n_out[task + 1] = out;
  });
  for (std::size_t task = 0; task < n_tasks; ++task) {
    n_drawn[task + 1] += n_drawn[task];
    n_out[task + 1] += n_out[task];
  }
  RowSample drawn{std::vector<u32>(n_drawn.back()), std::vector<u32>(n_out.back())};
  parallel_for(n_tasks, n_threads, [&](std::size_t task) {
    // A place more: rows are written before it is known whether they stay.
    u32 own[kListedRows + 1], out[kListedRows + 1];
    std::size_t n_own = 0, n_left_out = 0;
    visit(task, [&](u32 row, bool is_drawn, bool left_out) {
      own[n_own] = out[n_left_out] = row;
      n_own += is_drawn;
      n_left_out += left_out;
    });
    std::copy_n(own, n_own, drawn.sample.data() + n_drawn[task]);
    std::copy_n(out, n_left_out, drawn.held_out.data() + n_out[task]);
  });
  return drawn;
}

}  // namespace

RowSample RowDrawsAhead::take(const RowPool& pool, const BoostingParams& params, u64 tree,
                              u64 n_trees, int n_threads) {
  if (n_threads == 1) return sample_rows(pool, params, tree);
  const bool same = subsample_ == params.subsample && seed_ == params.seed;
  if (!same || draws_.empty() || draws_.front().tree != tree) {
    draws_.clear();
    subsample_ = params.subsample;
    seed_ = params.seed;
    // Twice as many each time: a fit of a few rounds makes few in vain.
    const std::size_t most = std::max<std::size_t>(1, kMostDrawing / (kDrawingRow * pool.n_rows));
    n_ahead_ = std::min({2 * n_ahead_, most, static_cast<std::size_t>(n_threads)});
    for (std::size_t k = 0; k < n_ahead_; ++k) draws_.push_back({tree + k * n_trees, {}});
    draw(pool, params, n_threads);
  }
  RowSample drawn = list_drawn(draws_.front().bits, pool.weights, pool.n_rows, n_threads);
  draws_.erase(draws_.begin());
  return drawn;
}

void RowDrawsAhead::draw(const RowPool& pool, const BoostingParams& params, int n_threads) {
  const RowSampling sampling = plan_draw(pool, params);
  parallel_for(draws_.size(), n_threads, [&](std::size_t k) {
    const std::vector<u32> counts = draw_round(sampling, pool, params, draws_[k].tree);
    draws_[k].bits.assign((pool.n_rows + 63) / 64, 0);
    for (std::size_t row = 0; row < pool.n_rows; ++row)
      draws_[k].bits[row / 64] |= u64{counts[row] > 0} << (row % 64);
  });
}

RowSample sample_rows(const RowPool& pool, const BoostingParams& params, u64 tree) {
  const std::vector<u32> counts = draw_round(plan_draw(pool, params), pool, params, tree);
  const auto n_rows = static_cast<u32>(pool.n_rows);
  RowSample drawn{std::vector<u32>(n_rows), std::vector<u32>(n_rows)};
  std::size_t n_sampled = 0, n_held_out = 0;
  for (u32 row = 0; row < n_rows; ++row) {
    drawn.sample[n_sampled] = drawn.held_out[n_held_out] = row;
    n_sampled += counts[row] > 0;
    n_held_out += counts[row] == 0 && pool.weights[row] > 0;
  }
  drawn.sample.resize(n_sampled);
  drawn.held_out.resize(n_held_out);
  return drawn;
}

GradientSample sample_at_border(std::span<const double> sizes, const RowWeights& weights,
                                const GradientBorder& border, const BoostingParams& params,
                                u64 tree, std::size_t first) {
  const double top = params.goss_top, other = params.goss_other;
  GradientSample drawn;
  drawn.factors.assign(sizes.size(), 0.0);
  std::size_t n_equal = border.n_equal;
  for (u32 row = 0; row < sizes.size(); ++row) {
    if (weights[row] == 0) continue;
    double& factor = drawn.factors[row];
    if (sizes[row] > border.size) {
      factor = 1.0;
    } else if (sizes[row] == border.size && n_equal > 0) {
      factor = 1.0;
      --n_equal;
    } else {
      Rng rng(params.seed, tree, first + row, Purpose::subsample);
      if (rng.uniform() < other / (1.0 - top)) factor = (1.0 - top) / other;
    }
    (factor > 0.0 ? drawn.sample : drawn.held_out).push_back(row);
  }
  return drawn;
}

GradientSample sample_by_gradient(std::span<const double> sizes, const RowWeights& weights,
                                  const BoostingParams& params, u64 tree) {
  std::vector<double> present;
  for (u32 row = 0; row < sizes.size(); ++row)
    if (weights[row] > 0) present.push_back(sizes[row]);
  const auto find_border = [&](std::size_t n_top) {
    GradientBorder border;
    if (n_top == 0) return border;
    const auto last = present.begin() + static_cast<std::ptrdiff_t>(n_top - 1);
    std::nth_element(present.begin(), last, present.end(), std::greater<>());
    border.size = *last;
    border.n_equal = static_cast<std::size_t>(std::count(present.begin(), last + 1, border.size));
    return border;
  };
  const auto n_top =
      static_cast<std::size_t>(params.goss_top * static_cast<double>(present.size()));
  GradientSample drawn = sample_at_border(sizes, weights, find_border(n_top), params, tree, 0);
  if (!drawn.sample.empty()) return drawn;
  BoostingParams largest = params;
  largest.goss_other = 0.0;
  return sample_at_border(sizes, weights, find_border(1), largest, tree, 0);
}

}  // namespace committee
