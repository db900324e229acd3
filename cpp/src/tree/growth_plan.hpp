// What stays the same during a growth.
#pragma once
#include "committee/grower.hpp"
#include "committee/route.hpp"

namespace committee {

struct GrowthScratch;

struct GrowthPlan {
  GrowthPlan(const GrowInput& grow_input, const GrowParams& grow_params,
             InterruptWatch& interrupts);
  // Of rows that lie elsewhere, so many: the table of the input has columns only.
  GrowthPlan(const GrowInput& grow_input, const GrowParams& grow_params, InterruptWatch& interrupts,
             std::size_t n_rows);
  const GrowInput& input;
  const GrowParams& params;
  InterruptWatch& watch;
  GrowthRoute route;
  double total_weight = 0.0;                    // of the root, original units
  double decrease_unit = 1.0;                   // a finder's decrease in original units
  double min_weight_leaf = 0.0;                 // accumulator units
  double rare_weight = 0.0;                     // of a category, accumulator units
  double value_unit = 1.0, value_offset = 0.0;  // a finder's node value in target units
  bool draws_features = false;                  // fewer than all at each node
  bool sorts_rows = false;                      // exact splits, absolute error or log-rank
  bool bounded = false;                         // monotone constraints
  int n_threads = 1;
  // Per feature: bit set of its interaction groups; empty: none.
  std::vector<std::vector<u64>> feature_groups;

 private:
  void prepare(std::size_t n_rows);
};

}  // namespace committee
