// From data and parameters to a finished tree: pick the accumulator, grow, fill in what only the
// whole tree knows.
#include <algorithm>
#include <cmath>
#include <functional>

#include "committee/criteria/all.hpp"
#include "committee/grower.hpp"
#include "split/categorical_order.hpp"
#include "tree/fast/extra_trees_levels.hpp"
#include "tree/tree_builder.hpp"

namespace committee {

namespace {

constexpr WeightBits kClassWeightBits{52, 52, 52};   // sums stay exact in a double
constexpr WeightBits kMomentWeightBits{35, 32, 32};  // as MomentAccumulator has room for
constexpr double kMinThreadWork = 4e6;  // row-features over all levels that are worth a thread

bool is_classification(const Target& target) {
  return !target.labels.empty();
}

void check_features(std::span<const u32> features, std::size_t n_features, const char* sentence) {
  if (std::any_of(features.begin(), features.end(), [&](u32 f) { return f >= n_features; }))
    throw std::invalid_argument(sentence);
}

bool is_bounded(const GrowParams& params) {
  return std::any_of(params.monotonic.begin(), params.monotonic.end(),
                     [](i32 m) { return m != 0; });
}

}  // namespace

void check_growth(const GrowInput& input, const GrowParams& params) {
  const std::size_t n = input.data->n_rows;
  if (n == 0 || n >= (std::size_t{1} << MomentAccumulator<false>::kCountBits)) {
    throw std::invalid_argument("the number of rows must be at least 1 and below 2^28; got " +
                                std::to_string(n));
  }
  if (params.exact && input.presort == nullptr)
    throw std::invalid_argument("exact splits need a presort");
  if (input.presort && (input.presort->n_rows != n || input.presort->n_cols != input.data->n_cols))
    throw std::invalid_argument("the presort must be that of the table");
  if (!input.weights.empty() && input.weights.size() != n) {
    throw std::invalid_argument("weights must have one entry a row");
  }
  if (!input.counts.empty() && input.counts.size() != n) {
    throw std::invalid_argument("counts must have one entry a row");
  }
  if (is_classification(input.target)) {
    if (input.target.labels.size() != n * input.target.n_classes.size()) {
      throw std::invalid_argument("labels must have one entry a row and output");
    }
  } else if (input.target.values.size() != n * input.target.n_outputs) {
    throw std::invalid_argument("values must have one entry a row and output");
  }
  if (!params.monotonic.empty() && params.monotonic.size() != input.data->n_cols) {
    throw std::invalid_argument("monotonic must have one entry a feature");
  }
  const bool one_value = is_classification(input.target)
                             ? input.target.n_classes == std::vector<u32>{2}
                             : input.target.n_outputs == 1;
  if (is_bounded(params) && !one_value)
    throw std::invalid_argument("monotonic needs two classes or one output");
  const std::size_t n_features = input.data->n_cols;
  for (const auto& group : params.interaction_groups)
    check_features(group, n_features, "interaction group names an unknown feature");
  const std::vector<u32>& members = params.member_features;
  check_features(members, n_features, "member_features names an unknown feature");
  if (std::adjacent_find(members.begin(), members.end(), std::greater_equal()) != members.end())
    throw std::invalid_argument("member_features must be ascending, each once");
}

namespace {

// How much one unit of a finder's decrease is, in the units of weight times impurity.
double measure_decrease_unit(const std::string& criterion, double weight_unit, double target_unit,
                             u32 n_outputs) {
  const double per_output = weight_unit / n_outputs;
  if (criterion == SquaredError::kName || criterion == FriedmanMse::kName) {
    return per_output * target_unit * target_unit;
  }
  return per_output * target_unit;  // Poisson, absolute error
}

template <class Accumulator>
TreePart grow_sample(GrowthPlan& plan, Sample<Accumulator>& sample) {
  if constexpr (Accumulator::kKind == AccumulatorKind::moments) {
    plan.decrease_unit = measure_decrease_unit(plan.params.criterion, sample.weight_unit,
                                               sample.targets.unit, sample.accumulator.n_outputs);
    plan.level_unit = sample.targets.unit;
    plan.level_offset = sample.targets.offsets[0];
  } else {
    plan.decrease_unit = sample.weight_unit;
  }
  double total = 0.0;
  std::vector<typename Accumulator::Element> sum(sample.accumulator.cell(), 0);
  for (std::size_t i = 0; i < sample.n; ++i) sample.accumulator.add(sum.data(), sample.items[i]);
  total = sample.accumulator.weight(sum.data());
  plan.total_weight = total * sample.weight_unit;
  plan.min_weight_leaf = plan.params.min_weight_leaf / sample.weight_unit;
  // A weight that can mean repetition does, whatever all are multiplied by; others count in rows of
  // average weight.
  plan.rare_weight = kRareRows * (sample.counts ? 1.0 : total / static_cast<double>(sample.n));
  TreeBuilder<Accumulator> builder(plan, sample);
  TreePart part = builder.grow();
  part.offsets = sample.targets.offsets;
  return part;
}

TreePart grow_classes(GrowthPlan& plan) {
  const GrowInput& input = plan.input;
  const FixedWeights weights = fix_weights(input, kClassWeightBits);
  const bool counted = plan.params.min_samples_leaf > 1;
  const SampleSource source{input.target, weights, input.data->n_rows, counted};
  const auto& n_classes = input.target.n_classes;
  const u32 most_classes = *std::max_element(n_classes.begin(), n_classes.end());
  const bool small = weights.integral && weights.largest < (1u << 16) &&
                     weights.total < (u64{1} << 32) && most_classes < (1u << 16);
  if (small && n_classes.size() == 1 && n_classes[0] == 2 &&
      (!counted || weights.weights.empty())) {
    auto sample = make_binary_sample(source);
    return grow_sample(plan, sample);
  }
  if (small) {
    auto sample = make_class_sample<u32>(source);
    return grow_sample(plan, sample);
  }
  auto sample = make_class_sample<u64>(source);
  return grow_sample(plan, sample);
}

TreePart grow_values(GrowthPlan& plan) {
  const GrowInput& input = plan.input;
  const FixedWeights weights = fix_weights(input, kMomentWeightBits);
  const SampleSource source{input.target, weights, input.data->n_rows, true};
  const bool centre = plan.params.criterion != Poisson::kName;
  if (input.target.n_outputs == 1) {
    auto sample = make_moment_sample<false>(source, centre);
    return grow_sample(plan, sample);
  }
  auto sample = make_moment_sample<true>(source, centre);
  return grow_sample(plan, sample);
}

void clip_values(TreePart& part, bool classes) {
  GrownTree& tree = part.tree;
  for (u32 node = 0; node < tree.size() && !part.lower.empty(); ++node) {
    double* value = tree.values.data() + static_cast<std::size_t>(node) * tree.width;
    if (classes) {
      const double w = value[0] + value[1];
      const double p = std::clamp(value[1] / w, part.lower[node], part.upper[node]);
      if (p != value[1] / w) value[1] = p * w, value[0] = w - value[1];
    } else {
      value[0] = std::clamp(value[0], part.lower[node], part.upper[node]);
    }
  }
}

// Values and impurities of a regression tree from the moments of its leaves, children before
// parents.
void fill_values(TreePart& part, const GrowParams& params) {
  GrownTree& tree = part.tree;
  const u32 n_outputs = tree.width;
  const bool poisson = params.criterion == Poisson::kName;
  for (u32 node = static_cast<u32>(tree.size()); node-- > 0;) {
    double* own = part.moments.data() + static_cast<std::size_t>(node) * 2 * n_outputs;
    if (!tree.is_leaf(node)) {
      const u32 left = tree.left[node], right = tree.right[node];
      tree.weight[node] = tree.weight[left] + tree.weight[right];
      for (u32 k = 0; k < 2 * n_outputs; ++k) {
        own[k] = part.moments[static_cast<std::size_t>(left) * 2 * n_outputs + k] +
                 part.moments[static_cast<std::size_t>(right) * 2 * n_outputs + k];
      }
    }
    const double w = tree.weight[node];
    double impurity = 0.0;
    for (u32 o = 0; o < n_outputs; ++o) {
      double& value = tree.values[static_cast<std::size_t>(node) * n_outputs + o];
      const double sum = own[2 * o], second = own[2 * o + 1];
      if (!tree.is_leaf(node)) value = sum / w + part.offsets[o];
      impurity += poisson ? (sum > 0.0 ? (second - sum * natural_log(sum / w)) / w : 0.0)
                          : second / w - (sum / w) * (sum / w);
    }
    tree.impurity[node] = std::max(0.0, impurity / n_outputs);
  }
}

// Sums of weighted impurity decreases, over the nodes depth-first: an order that depends on the
// tree alone.
std::vector<double> measure_importances(const GrownTree& tree, std::size_t n_features) {
  std::vector<double> importances(n_features, 0.0);
  const auto add = [&](u32 node) {
    const u32 left = tree.left[node], right = tree.right[node];
    const double decrease = tree.weight[node] * tree.impurity[node] -
                            tree.weight[left] * tree.impurity[left] -
                            tree.weight[right] * tree.impurity[right];
    importances[tree.splits[node].feature] += std::max(0.0, decrease);
  };
  if (tree.depth_first) {
    for (u32 node = 0; node < tree.size(); ++node)
      if (!tree.is_leaf(node)) add(node);
    return importances;
  }
  for (std::vector<u32> open{0}; !open.empty();) {
    const u32 node = open.back();
    open.pop_back();
    if (tree.is_leaf(node)) continue;
    add(node);
    open.push_back(tree.right[node]);
    open.push_back(tree.left[node]);
  }
  return importances;
}

std::vector<std::vector<u64>> index_groups(const GrowParams& params, std::size_t n_features) {
  if (params.interaction_groups.empty()) return {};
  const std::size_t words = (params.interaction_groups.size() + 63) / 64;
  std::vector<std::vector<u64>> groups(n_features, std::vector<u64>(words, 0));
  for (std::size_t g = 0; g < params.interaction_groups.size(); ++g) {
    for (const u32 feature : params.interaction_groups[g])
      groups[feature][g / 64] |= u64{1} << (g % 64);
  }
  return groups;
}

}  // namespace

GrowResult grow_tree(const GrowInput& input, const GrowParams& params, InterruptWatch& watch) {
  check_growth(input, params);
  const std::size_t n_features = input.data->n_cols;
  GrowthPlan plan(input, params, watch);
  const std::size_t n_own =
      params.member_features.empty() ? n_features : params.member_features.size();
  plan.draws_features = params.max_features < n_own;
  plan.sorts_rows = params.exact || params.criterion == AbsoluteError::kName;
  plan.bounded = is_bounded(params);
  plan.feature_groups = index_groups(params, n_features);
  const double depth = std::log2(static_cast<double>(input.data->n_rows) + 1.0);
  const double work = static_cast<double>(input.data->n_rows) * depth *
                      std::min<double>(static_cast<double>(n_features), params.max_features);
  plan.n_threads = choose_threads(params.n_jobs, work, kMinThreadWork);
  input.data->make_records(plan.n_threads);

  const bool classes = is_classification(input.target);
  TreePart part = classes ? grow_classes(plan) : grow_values(plan);
  GrowResult result;
  if (part.is_counted) {
    result.is_counted = true;
    result.tree = std::move(part.tree);
    result.importances = input.levels->tree().importances();
    return result;
  }
  GrownTree& tree = part.tree;
  if (classes) {
    measure_class_impurities(params.criterion, tree.values, input.target.n_classes, tree.impurity);
  } else if (params.criterion != AbsoluteError::kName) {
    fill_values(part, params);
  }
  clip_values(part, classes);
  if (params.ccp_alpha > 0.0) prune_tree(tree, params.ccp_alpha);
  result.importances = measure_importances(tree, n_features);
  result.tree = std::move(tree);
  return result;
}

}  // namespace committee
