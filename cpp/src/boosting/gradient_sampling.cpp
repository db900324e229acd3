#include "boosting/gradient_sampling.hpp"

#include <algorithm>

namespace committee {

GradientSample sample_by_gradient(std::span<const double> sizes, const RowWeights& weights,
                                  const BoostingParams& params, u64 tree) {
  const double top = params.goss_top, other = params.goss_other;
  GradientSample drawn;
  std::vector<u32> present;
  for (u32 row = 0; row < sizes.size(); ++row)
    if (weights[row] > 0) present.push_back(row);
  const auto n_top = static_cast<std::size_t>(top * static_cast<double>(present.size()));
  std::vector<u32> order = present;
  // Equal sizes in the order of the rows.
  std::nth_element(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_top), order.end(),
      [&](u32 a, u32 b) { return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b; });
  drawn.factors.assign(sizes.size(), 0.0);
  for (std::size_t i = 0; i < n_top; ++i) drawn.factors[order[i]] = 1.0;
  for (const u32 row : present) {
    double& factor = drawn.factors[row];
    Rng rng(params.seed, tree, row, Purpose::subsample);
    if (factor == 0.0 && rng.uniform() < other / (1.0 - top)) factor = (1.0 - top) / other;
    (factor > 0.0 ? drawn.sample : drawn.held_out).push_back(row);
  }
  if (drawn.sample.empty()) {
    drawn.sample.push_back(order[0]);
    drawn.held_out.erase(std::find(drawn.held_out.begin(), drawn.held_out.end(), order[0]));
    drawn.factors[order[0]] = 1.0;
  }
  return drawn;
}

}  // namespace committee
