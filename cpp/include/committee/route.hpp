// The fast paths of tree growth, their names, and which of them a fit takes. The general loop is
// always possible; every route gives the same tree.
#pragma once
#include <array>

#include "grower.hpp"

namespace committee {

// A route's number is its bit in GrowParams::routes.
enum class Route : u32 {
  dense_histograms,
  subtree,
  presorted_rows,
  few_rows,
  two_valued,
  packed_records,
  random_thresholds,
  multiclass_block,
  extra_trees_bitmap,
  compact_tree,
  sorted_lists,
  trees_together,
  bin_bounds,
  extra_trees_values,
};

struct RouteInfo {
  const char* name;
  const char* what;
  const char* when;
};
// In the order of Route.
std::span<const RouteInfo, kRoutes> list_routes();

// Which routes a tree may take, and for each other one the reason.
struct GrowthRoute {
  u32 allowed = 0;
  std::array<const char*, kRoutes> refusals{};  // null: the route is allowed
  bool allows(Route route) const { return (allowed >> static_cast<u32>(route) & 1) != 0; }
};

// What grow_tree, or grow_forest for one of its trees, would choose; nothing is grown.
GrowthRoute describe_route(const GrowInput& input, const GrowParams& params, bool in_forest);

}  // namespace committee
