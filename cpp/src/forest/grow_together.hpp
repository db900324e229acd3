// Trees of a forest that are grown together (Route::trees_together).
#pragma once
#include "committee/forest.hpp"
#include "committee/function_view.hpp"
#include "tree/growth_scratch.hpp"

namespace committee {

// Whether the trees of a plan are grown so.
bool may_grow_together(const GrowInput& input, const GrowParams& params, const ForestPlan& plan,
                       const TableCaches& caches, int n_threads);

// All trees of a plan, some on each thread. keep(k, grown) takes tree k, on any of the threads.
void grow_together(const GrowInput& input, const GrowParams& params, const ForestPlan& plan,
                   const TableCaches& caches, int n_threads, InterruptWatch& watch,
                   FunctionView<void(std::size_t, GrowResult&)> keep);

}  // namespace committee
