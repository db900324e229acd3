// One grower for all trees: pop a node, find its best split, partition its rows, push the children.
#pragma once
#include <array>

#include "binning.hpp"
#include "parallel.hpp"
#include "tree.hpp"
#include "tree_params.hpp"

namespace committee {

struct GrowthScratch;

// Nodes by the route that grew or searched them (route.hpp); a node may count in several.
inline constexpr std::size_t kRoutes = 14;
using RouteCounts = std::array<u64, kRoutes>;

// What the tree is to predict. Exactly one of `labels` and `values` is set, none where the rows lie
// in blocks elsewhere.
struct Target {
  std::span<const u32> labels;     // [row][output], class numbers
  std::vector<u32> n_classes;      // per output; empty: values
  std::span<const double> values;  // [row][output]
  u32 n_outputs = 1;
};

struct GrowInput {
  const BinnedMatrix* data = nullptr;  // always
  const Presort* presort = nullptr;    // exact only
  GrowthScratch* scratch = nullptr;    // of a forest; null: a single tree
  Target target;
  std::span<const double> weights;  // per row, >= 0; empty: all one. Zero: the row is absent.
  std::span<const u32>
      counts;  // per row: how often it is there; empty: once. Multiplies the weight.
  double weight(std::size_t row) const {
    return (weights.empty() ? 1.0 : weights[row]) * (counts.empty() ? 1.0 : counts[row]);
  }
};

struct GrowResult {
  GrownTree tree;
  bool is_compact = false;  // the tree lies in the scratch, as counts
  std::vector<double>
      importances;  // per feature: sum of weighted impurity decreases (not normalised)
  RouteCounts nodes_by_route{};
};

// Throws std::invalid_argument with a sentence where sizes, rows or features do not go together.
void check_growth(const GrowInput& input, const GrowParams& params);

GrowResult grow_tree(const GrowInput& input, const GrowParams& params, InterruptWatch& watch);

}  // namespace committee
