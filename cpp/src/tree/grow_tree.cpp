// From data and parameters to a finished tree: pick the accumulator, grow, fill in what only the
// whole tree knows.
#include <algorithm>
#include <cmath>
#include <functional>
#include <variant>

#include "committee/criteria/all.hpp"
#include "committee/grower.hpp"
#include "tree/complete_plan.hpp"
#include "tree/finish_tree.hpp"
#include "tree/growth_scratch.hpp"
#include "tree/sample_kind.hpp"
#include "tree/tree_builder.hpp"

namespace committee {

namespace {

constexpr double kMinThreadWork = 4e6;  // row-features over all depths that pay for a thread

void check_features(std::span<const u32> features, std::size_t n_features, const char* sentence) {
  if (std::any_of(features.begin(), features.end(), [&](u32 f) { return f >= n_features; }))
    throw std::invalid_argument(sentence);
}

bool is_bounded(const GrowParams& params) {
  return std::any_of(params.monotonic.begin(), params.monotonic.end(),
                     [](i32 m) { return m != 0; });
}

void check_row_count(std::size_t n) {
  if (n == 0 || n >= (std::size_t{1} << MomentAccumulator<false>::kCountBits)) {
    throw std::invalid_argument("the number of rows must be at least 1 and below 2^28; got " +
                                std::to_string(n));
  }
}

// Against the columns and the kind of the target.
void check_params(const GrowInput& input, const GrowParams& params) {
  const std::size_t n_features = input.data->n_cols;
  if (!params.monotonic.empty() && params.monotonic.size() != n_features) {
    throw std::invalid_argument("monotonic must have one entry a feature");
  }
  const bool one_value = is_classification(input.target)
                             ? input.target.n_classes == std::vector<u32>{2}
                             : input.target.n_outputs == 1;
  if (is_bounded(params) && !one_value)
    throw std::invalid_argument("monotonic needs two classes or one output");
  for (const auto& group : params.interaction_groups)
    check_features(group, n_features, "interaction group names an unknown feature");
  const std::vector<u32>& members = params.member_features;
  check_features(members, n_features, "member_features names an unknown feature");
  if (std::adjacent_find(members.begin(), members.end(), std::greater_equal()) != members.end())
    throw std::invalid_argument("member_features must be ascending, each once");
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

GrowthPlan::GrowthPlan(const GrowInput& grow_input, const GrowParams& grow_params,
                       InterruptWatch& interrupts)
    : input(grow_input), params(grow_params), watch(interrupts) {
  check_growth(input, params);
  prepare(input.data->n_rows);
  input.data->make_records(n_threads);
}

GrowthPlan::GrowthPlan(const GrowInput& grow_input, const GrowParams& grow_params,
                       InterruptWatch& interrupts, std::size_t n_rows)
    : input(grow_input), params(grow_params), watch(interrupts) {
  check_row_count(n_rows);
  check_params(input, params);
  prepare(n_rows);
}

void GrowthPlan::prepare(std::size_t n_rows) {
  const std::size_t n_features = input.data->n_cols;
  const std::size_t n_own =
      params.member_features.empty() ? n_features : params.member_features.size();
  draws_features = params.max_features < n_own;
  sorts_rows = params.exact || has_no_histograms(params.criterion);
  bounded = is_bounded(params);
  feature_groups = index_groups(params, n_features);
  const double depth = std::log2(static_cast<double>(n_rows) + 1.0);
  const double work = static_cast<double>(n_rows) * depth *
                      std::min<double>(static_cast<double>(n_features), params.max_features);
  n_threads = choose_threads(params.n_jobs, work, kMinThreadWork);
}

void check_growth(const GrowInput& input, const GrowParams& params) {
  const std::size_t n = input.data->n_rows;
  check_row_count(n);
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
  check_params(input, params);
}

namespace {

using AnySample = std::variant<Sample<BinaryAccumulator>, Sample<ClassAccumulator<u32>>,
                               Sample<ClassAccumulator<u64>>, Sample<MomentAccumulator<false>>,
                               Sample<MomentAccumulator<true>>>;

// The weight of all rows, in units of the accumulator.
template <class Accumulator>
double add_items(const Sample<Accumulator>& sample) {
  std::vector<typename Accumulator::Element> sum(sample.accumulator.cell(), 0);
  for (std::size_t i = 0; i < sample.n; ++i) sample.accumulator.add(sum.data(), sample.items[i]);
  return sample.accumulator.weight(sum.data());
}

// The sample over the narrowest accumulator that holds the target and the weights.
AnySample make_sample(const GrowthPlan& plan) {
  const GrowInput& input = plan.input;
  if (!is_classification(input.target)) {
    const FixedWeights weights = fix_weights(input, kMomentWeightBits);
    const SampleSource source{input.target, weights, input.data->n_rows, true};
    const bool centre = plan.params.criterion != Poisson::kName;
    FixedTargets targets =
        fix_targets(input.target.values, input.target.n_outputs, weights, centre);
    if (input.target.n_outputs == 1) return make_moment_sample<false>(source, std::move(targets));
    return make_moment_sample<true>(source, std::move(targets));
  }
  const FixedWeights weights = fix_weights(input, kClassWeightBits);
  const bool counted = counts_rows(input.target, plan.params);
  const SampleSource source{input.target, weights, input.data->n_rows, counted};
  const SampleKind kind = choose_kind(input.target, weights, counted);
  if (kind == SampleKind::binary) return make_binary_sample(source);
  if (kind == SampleKind::classes) return make_class_sample<u32>(source);
  return make_class_sample<u64>(source);
}

}  // namespace

GrowResult grow_tree(const GrowInput& input, const GrowParams& params, InterruptWatch& watch) {
  GrowthPlan plan(input, params, watch);
  GrowResult result;
  AnySample sample = make_sample(plan);
  TreePart part = std::visit(
      [&]<class Accumulator>(Sample<Accumulator>& own) {
        complete_plan(plan, own, add_items(own));
        TreeBuilder<Accumulator> builder(plan, own);
        TreePart grown = builder.grow();
        grown.offsets = own.targets.offsets;
        result.nodes_by_route = builder.count_nodes();
        return grown;
      },
      sample);
  result.is_compact = part.is_compact;
  if (part.is_compact) {
    result.tree = std::move(part.tree);
    result.importances = input.scratch->take_importances(input.data->n_cols);
    return result;
  }
  finish_tree(part, input, params, result);
  return result;
}

GrowthRoute choose_member_route(const GrowInput& input, const GrowParams& params) {
  InterruptWatch watch;
  GrowthPlan plan(input, params, watch, input.data->n_rows);
  std::visit([&](const auto& sample) { complete_plan(plan, sample, add_items(sample)); },
             make_sample(plan));
  return plan.route;
}

GrowthRoute describe_route(const GrowInput& input, const GrowParams& params, bool in_forest) {
  GrowInput own = input;
  TableCaches caches;
  GrowthScratch scratch;
  check_growth(input, params);
  input.data->make_records(1);
  if (in_forest) {
    caches = make_caches(input, params, 1);
    scratch.caches = &caches;
    own.scratch = &scratch;
  }
  return choose_member_route(own, params);
}

}  // namespace committee
