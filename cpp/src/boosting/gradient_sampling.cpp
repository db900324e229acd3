#include "boosting/gradient_sampling.hpp"

#include <algorithm>
#include <cmath>

#include "committee/row_sampling.hpp"

namespace committee {

RowSample sample_rows(std::span<const double> given, const RowWeights& weights, std::size_t n_rows,
                      const BoostingParams& params, u64 tree) {
  RowSampling sampling;
  sampling.replace = false;
  sampling.weights.assign(given.begin(), given.end());
  const auto there = static_cast<double>(
      weights.values.empty() ? n_rows
                             : n_rows - static_cast<std::size_t>(std::count(
                                            weights.values.begin(), weights.values.end(), 0u)));
  sampling.n_draws = static_cast<u32>(std::max(1.0, std::floor(params.subsample * there)));
  std::vector<u32> counts(n_rows);
  draw_rows(sampling, combine_keys(params.seed, static_cast<u64>(Purpose::subsample)), tree,
            counts);
  RowSample drawn{std::vector<u32>(n_rows), std::vector<u32>(n_rows)};
  std::size_t n_sampled = 0, n_held_out = 0;
  for (u32 row = 0; row < n_rows; ++row) {
    drawn.sample[n_sampled] = drawn.held_out[n_held_out] = row;
    n_sampled += counts[row] > 0;
    n_held_out += counts[row] == 0 && weights[row] > 0;
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
