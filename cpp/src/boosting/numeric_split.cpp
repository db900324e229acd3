#include "committee/numeric_split.hpp"

#include <numeric>

#include "boosting/split_search.hpp"

namespace committee {

NumericSplit find_numeric_split(const NumericColumn& column, const BoostingParams& params) {
  SearchPlan plan;
  plan.params = &params;
  plan.gradient_unit = column.gradient_unit;
  plan.hessian_unit = column.hessian_unit;
  plan.halves.hessian_bits = column.hessian_bits;
  plan.incremental = column.hessian_bits != WordHalves{}.hessian_bits;
  plan.largest_gradient = column.largest_gradient;
  NodeFacts node;
  node.total = std::accumulate(column.histogram.begin(), column.histogram.end(), i64{0});
  node.n_rows = column.n_rows;
  node.weight = column.n_rows;
  ColumnView view;
  view.n_bins = static_cast<u32>(column.histogram.size()) - (column.has_missing ? 1 : 0);
  view.has_missing = column.has_missing;
  view.histogram = column.histogram.data();
  BoostSplit best;
  NodeSearch(plan, node).scan(view, best);
  return {best.gain, best.split_bin, best.found(), best.missing_left, best.left};
}

}  // namespace committee
