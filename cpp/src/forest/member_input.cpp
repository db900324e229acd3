#include "forest/member_input.hpp"

#include <algorithm>

namespace committee {

namespace {

// Weights under which every class has the same share of a sample, times those that were given.
std::vector<double> balance_weights(const GrowInput& input, std::span<const u32> counts) {
  const Target& target = input.target;
  const std::size_t n = counts.size(), n_outputs = target.n_classes.size();
  std::vector<double> weights(n, 1.0);
  if (!input.weights.empty())
    std::copy(input.weights.begin(), input.weights.end(), weights.begin());
  for (std::size_t o = 0; o < n_outputs; ++o) {
    std::vector<double> totals(target.n_classes[o], 0.0);
    double total = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      totals[target.labels[i * n_outputs + o]] += counts[i];
      total += counts[i];
    }
    const auto n_present =
        std::count_if(totals.begin(), totals.end(), [](double t) { return t > 0.0; });
    for (std::size_t i = 0; i < n; ++i) {
      const double own = totals[target.labels[i * n_outputs + o]];
      if (own > 0.0) weights[i] *= total / (static_cast<double>(n_present) * own);
    }
  }
  return weights;
}

// The mean weight over what was drawn, rows as often as they were.
double measure_mean(std::span<const double> weights, std::span<const u32> counts) {
  double total = 0.0, n_draws = 0.0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += weights[i] * counts[i];
    n_draws += counts[i];
  }
  return total / n_draws;
}

// Weights that leave some rows out, as a fold does, and are one otherwise.
bool are_zeros_and_ones(std::span<const double> weights) {
  return !weights.empty() &&
         std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0.0 || w == 1.0; });
}

// Takes such weights into the counts, whole numbers that need no search for a unit. False: none of
// them is one then, so that a unit may be larger.
bool leave_out(std::span<const double> weights, std::span<u32> counts) {
  bool has_one = false;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = weights[i] != 0.0 ? counts[i] : 0;
    has_one |= counts[i] == 1;
  }
  return has_one;
}

// The params of one member: its number, and its features if it does not see all.
GrowParams choose_params(const GrowParams& params, const ForestPlan& plan, std::size_t member,
                         u32 n_features) {
  GrowParams own = params;
  own.tree = member;
  own.n_jobs = 1;
  if (plan.sampling.n_features > 0) {
    own.member_features = draw_member_features(plan.sampling, params.seed, member, n_features);
  }
  return own;
}

}  // namespace

bool is_fold_of(const GrowInput& input, const ForestPlan& plan) {
  return !plan.balance_classes && are_zeros_and_ones(input.weights);
}

MemberInput::MemberInput(const GrowInput& all, const GrowParams& all_params, const ForestPlan& plan,
                         std::size_t member, bool is_fold)
    : counts(all.data->n_rows),
      input(all),
      params(choose_params(all_params, plan, member, static_cast<u32>(all.data->n_cols))) {
  draw_rows(plan.sampling, params.seed, member, counts);
  input.counts = counts;
  if (is_fold && leave_out(all.weights, counts)) input.weights = {};
  if (!plan.balance_classes) return;
  input.weights = balanced = balance_weights(all, counts);
  // Rows of a class weigh what their number makes of them, and all of them as much as the draws.
  params.row_weight = measure_mean(input.weights, counts);
}

}  // namespace committee
