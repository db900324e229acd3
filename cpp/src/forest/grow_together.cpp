#include "forest/grow_together.hpp"

#include <algorithm>

#include "forest/member_input.hpp"
#include "tree/fast/extra_trees_columns.hpp"
#include "tree/finish_tree.hpp"
#include "tree/route.hpp"

namespace committee {

namespace {

// Trees of a thread that are grown together: fewer share too few columns, four cost as much as they
// do alone (measured); more have no more to share, or too many rows to keep close.
constexpr std::size_t kLeastTogether = 6, kMostTogether = 64;
constexpr std::size_t kMostRowsTogether = std::size_t{1} << 19;

// About as many on each thread.
std::size_t count_together(std::size_t n_trees, std::size_t n_rows, int n_threads) {
  const auto n = static_cast<std::size_t>(n_threads);
  const std::size_t most =
      std::min(kMostTogether, std::max<std::size_t>(kMostRowsTogether / n_rows, 1));
  const std::size_t turns = (n_trees + n * most - 1) / (n * most);
  return (n_trees + n * turns - 1) / (n * turns);
}

void grow_some(const GrowInput& input, const GrowParams& params, const ForestPlan& plan,
               std::size_t first, std::size_t last, ExtraTreesColumns& growth,
               const FunctionView<void(std::size_t, GrowResult&)>& keep) {
  const bool is_fold = is_fold_of(input, plan);
  for (std::size_t k = first; k < last; ++k) {
    const MemberInput member(input, params, plan, plan.first_tree + k, is_fold);
    growth.add_tree(member.input, member.params);
  }
  growth.grow();
  for (std::size_t k = first; k < last; ++k) {
    TreePart part;
    part.tree = std::move(growth.tree(k - first));
    GrowResult grown;
    grown.nodes_by_route[static_cast<u32>(Route::trees_together)] = part.tree.size();
    finish_tree(part, input, params, grown);
    keep(k, grown);
  }
}

}  // namespace

bool may_grow_together(const GrowInput& input, const GrowParams& params, const ForestPlan& plan,
                       const TableCaches& caches, int n_threads) {
  if (count_together(plan.n_trees, input.data->n_rows, n_threads) < kLeastTogether ||
      plan.balance_classes || plan.sampling.n_draws > 0 || !plan.sampling.stratum_draws.empty() ||
      !caches.is_complete)
    return false;
  MemberInput member(input, params, plan, plan.first_tree, is_fold_of(input, plan));
  GrowthScratch scratch;
  scratch.caches = &caches;
  member.input.scratch = &scratch;
  return choose_member_route(member.input, member.params).allows(Route::trees_together);
}

void grow_together(const GrowInput& input, const GrowParams& params, const ForestPlan& plan,
                   const TableCaches& caches, int n_threads, InterruptWatch& watch,
                   FunctionView<void(std::size_t, GrowResult&)> keep) {
  const std::size_t n = count_together(plan.n_trees, input.data->n_rows, n_threads);
  parallel_for((plan.n_trees + n - 1) / n, n_threads, [&](std::size_t b) {
    ExtraTreesColumns growth(*input.data, *caches.ends, watch);
    grow_some(input, params, plan, b * n, std::min(plan.n_trees, (b + 1) * n), growth, keep);
  });
}

}  // namespace committee
