#include "committee/forest.hpp"

#include <algorithm>

#include "forest/grow_together.hpp"
#include "forest/member_input.hpp"
#include "predict/aggregate.hpp"
#include "predict/tree_walk.hpp"
#include "tree/growth_scratch.hpp"

namespace committee {

namespace {

constexpr double kMinThreadWork =
    1e5;  // rows times trees: below, a thread costs more than it saves

// Rows of a block of votes: enough to pay for unfolding a tree, few enough to stay in the cache.
constexpr std::size_t kVoteRows = 16384, kVoteBytes = std::size_t{4} << 20;

}  // namespace

ForestResult grow_forest(const GrowInput& input, const GrowParams& params, const ForestPlan& plan,
                         InterruptWatch& watch, std::atomic<std::size_t>* done) {
  check_growth(input, params);
  const std::size_t n_rows = input.data->n_rows, n_features = input.data->n_cols;
  std::vector<Trees> members(plan.n_trees);
  std::vector<RouteCounts> nodes_by_route(plan.n_trees);
  ForestResult result;
  result.importances.resize(plan.n_trees * n_features);
  ArenaOptions options;
  options.n_features = n_features;
  options.outputs = input.target.n_classes;
  const int n_threads =
      choose_threads(params.n_jobs, static_cast<double>(n_rows) * static_cast<double>(plan.n_trees),
                     kMinThreadWork);
  // A few trees on many rows: threads within a tree instead of over trees.
  const bool over_trees = plan.n_trees > 1;
  const TableCaches caches = make_caches(input, params, n_threads);
  ScratchPool scratches(caches);
  const bool is_fold = is_fold_of(input, plan);
  const auto keep = [&](std::size_t k, const GrowResult& grown, Trees trees) {
    members[k] = std::move(trees);
    nodes_by_route[k] = grown.nodes_by_route;
    std::copy(grown.importances.begin(), grown.importances.end(),
              result.importances.begin() + static_cast<std::ptrdiff_t>(k * n_features));
    if (done) done->fetch_add(1, std::memory_order_relaxed);
  };
  if (may_grow_together(input, params, plan, caches, n_threads)) {
    grow_together(input, params, plan, caches, n_threads, watch,
                  [&](std::size_t k, GrowResult& grown) {
                    keep(k, grown, compact_trees({&grown.tree, 1}, options));
                  });
  } else {
    input.data->make_records(n_threads);
    parallel_for(plan.n_trees, over_trees ? n_threads : 1, [&](std::size_t k) {
      MemberInput member(input, params, plan, plan.first_tree + k, is_fold);
      GrowInput& own = member.input;
      std::unique_ptr<GrowthScratch> scratch = scratches.take();
      own.scratch = scratch.get();
      if (!over_trees) member.params.n_jobs = params.n_jobs;
      GrowResult grown = grow_tree(own, member.params, watch);
      keep(k, grown,
           grown.is_compact ? scratch->compact(own, options)
                            : compact_trees({&grown.tree, 1}, options));
      scratch->tree = std::move(grown.tree);
      scratches.give_back(std::move(scratch));
    });
  }
  for (const RouteCounts& nodes : nodes_by_route) {
    for (std::size_t r = 0; r < kRoutes; ++r) result.nodes_by_route[r] += nodes[r];
  }
  result.trees = concatenate_trees(members, n_threads);
  return result;
}

namespace {

template <class X>
void vote_block(const Trees& trees, const MatrixView& x, std::span<const std::vector<u64>> in_bag,
                std::size_t begin, std::size_t end, double* sums, u32* n_votes) {
  const std::size_t n_cols = x.n_cols;
  const X* data = static_cast<const X*>(x.data);
  std::vector<X> rows((end - begin) * n_cols);
  std::vector<u32> chosen(end - begin), ends(end - begin);
  TreeWalker<X> walker(trees, end - begin, true);
  Terms terms;
  terms.trees = &trees;
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    // Which rows a sample holds cannot be predicted: no branch.
    std::size_t n = 0;
    for (std::size_t row = begin; row < end; ++row) {
      chosen[n] = static_cast<u32>(row);
      n += ~(in_bag[t][row / 64] >> (row % 64)) & 1;
    }
    if (n == 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const X* from = data + static_cast<std::ptrdiff_t>(chosen[i]) * x.row_stride;
      for (std::size_t c = 0; c < n_cols; ++c) {
        rows[i * n_cols + c] = from[static_cast<std::ptrdiff_t>(c) * x.col_stride];
      }
    }
    const TreeWalk<X> walk = walker.take_tree(t);
    walk.end_rows(walk, {rows.data(), static_cast<std::ptrdiff_t>(n_cols)}, Ending::leaf,
                  {ends.data(), n});
    add_leaves_to(terms, t, {ends.data(), n}, chosen.data(), sums);
    for (std::size_t i = 0; i < n; ++i) ++n_votes[chosen[i]];
  }
}

}  // namespace

void add_out_of_bag(const Trees& trees, const MatrixView& x, const ForestPlan& plan, u64 seed,
                    int n_jobs, double* sums, u32* n_votes) {
  if (x.n_cols != trees.n_features)
    throw std::invalid_argument("X has another number of columns than the trees");
  const std::size_t n_table_rows = plan.n_table_rows > 0 ? plan.n_table_rows : x.n_rows;
  if (x.n_rows > n_table_rows || plan.first_row > n_table_rows - x.n_rows)
    throw std::invalid_argument("the rows of x are not in the table");
  const int n_threads = choose_threads(
      n_jobs, static_cast<double>(x.n_rows) * static_cast<double>(trees.n_trees), kMinThreadWork);
  std::vector<std::vector<u64>> in_bag(trees.n_trees);
  parallel_for(trees.n_trees, n_threads, [&](std::size_t t) {
    std::vector<u32> counts(n_table_rows);
    draw_rows(plan.sampling, seed, plan.first_tree + t, counts);
    in_bag[t].assign((x.n_rows + 63) / 64, 0);
    for (std::size_t row = 0; row < x.n_rows; ++row) {
      if (counts[plan.first_row + row] > 0) in_bag[t][row / 64] |= u64{1} << (row % 64);
    }
  });
  const std::size_t fitting = kVoteBytes / (x.n_cols * sizeof(double));
  const std::size_t share = x.n_rows / static_cast<std::size_t>(n_threads) + 1;
  const std::size_t block = std::min(share, std::clamp<std::size_t>(fitting, 256, kVoteRows));
  parallel_for((x.n_rows + block - 1) / block, n_threads, [&](std::size_t b) {
    const std::size_t begin = b * block, end = std::min(x.n_rows, begin + block);
    if (x.is_double) {
      vote_block<double>(trees, x, in_bag, begin, end, sums, n_votes);
    } else {
      vote_block<float>(trees, x, in_bag, begin, end, sums, n_votes);
    }
  });
}

}  // namespace committee
