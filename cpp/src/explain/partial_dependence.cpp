#include "committee/partial_dependence.hpp"

#include <algorithm>

#include "explain/weighted_tree.hpp"

namespace committee {

namespace {

constexpr u32 kNoPlace = 0xFFFFFFFFu;
constexpr double kVisitCost = 5.0;  // nanoseconds
// Sums are made block by block and the blocks added in order, so that threads do not matter; this
// many blocks at most keep their sums at a time.
constexpr std::size_t kMostBlocks = 64;

// One tree, with the place of each feature among those asked about.
struct AskedTree {
  WeightedTree tree;
  std::vector<double> leaves;  // [leaf][width]
  std::size_t first_column;

  AskedTree(const TreeSum& sum, std::size_t t, bool need_weights)
      : tree(sum.trees, t, need_weights),
        leaves(weigh_leaves(sum, t)),
        first_column(committee::first_column(sum, t)) {}
};

std::vector<u32> map_features(const DependenceQuery& query) {
  std::vector<u32> places(query.sum.trees.n_features, kNoPlace);
  for (u32 k = 0; k < query.features.size(); ++k) {
    if (query.features[k] >= places.size() || places[query.features[k]] != kNoPlace)
      throw std::invalid_argument("The features must be columns of X, each at most once.");
    places[query.features[k]] = k;
  }
  if (query.features.empty() || query.points.size() % query.features.size() != 0)
    throw std::invalid_argument("Every point must have a value for each feature.");
  return places;
}

// All points go through a tree together: a split on an asked feature parts the list of them.
class PointWalk {
 public:
  PointWalk(const DependenceQuery& query, std::span<const u32> places, InterruptWatch& watch)
      : query_(query), places_(places), order_(query.n_points()), polls_(watch) {
    for (u32 i = 0; i < order_.size(); ++i) order_[i] = i;
  }

  // choose(node): 0 left, 1 right, 2 both, at a split on a feature that is not asked about.
  // Adds to out: [point][column].
  template <class Choose>
  void add_tree(const AskedTree& asked, Choose&& choose, double* out) {
    open_.assign(1, {0, 0, order_.size(), 1.0});
    while (!open_.empty()) {
      Visit visit = open_.back();
      open_.pop_back();
      polls_.add(kVisitCost * static_cast<double>(visit.last - visit.first + 1));
      while (visit.first < visit.last && !asked.tree[visit.node].is_leaf())
        step(asked, choose, visit);
      if (visit.first < visit.last) add_leaf_values(asked, visit, out);
    }
  }

 private:
  struct Visit {
    u32 node;
    std::size_t first, last;  // points, in order_
    double weight;
  };

  // Goes on with the left side, or the only one, and leaves the right one for later.
  template <class Choose>
  void step(const AskedTree& asked, Choose&& choose, Visit& visit) {
    const WeightedNode& node = asked.tree[visit.node];
    const u32 place = places_[node.feature];
    if (place == kNoPlace) {
      const int side = choose(visit.node);
      if (side == 2) {
        open_.push_back(
            {node.left + 1, visit.first, visit.last, visit.weight * (1.0 - node.share)});
        visit.weight *= node.share;
      }
      visit.node = node.left + (side == 1 ? 1 : 0);
      return;
    }
    const std::size_t width = query_.features.size();
    const auto goes_left = [&](u32 point) {
      return asked.tree.goes_left(node, query_.points[point * width + place]);
    };
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(visit.first);
    const auto last = order_.begin() + static_cast<std::ptrdiff_t>(visit.last);
    const auto middle =
        static_cast<std::size_t>(std::partition(first, last, goes_left) - order_.begin());
    if (middle < visit.last) open_.push_back({node.left + 1, middle, visit.last, visit.weight});
    visit.last = middle;
    visit.node = node.left;
  }

  void add_leaf_values(const AskedTree& asked, const Visit& visit, double* out) const {
    const std::size_t width = query_.sum.trees.width, out_width = query_.sum.out_width;
    const double* const value = &asked.leaves[asked.tree[visit.node].leaf * width];
    for (std::size_t i = visit.first; i < visit.last; ++i) {
      double* const at = out + order_[i] * out_width + asked.first_column;
      for (std::size_t c = 0; c < width; ++c) at[c] += visit.weight * value[c];
    }
  }

  const DependenceQuery& query_;
  std::span<const u32> places_;
  std::vector<u32> order_;
  std::vector<Visit> open_;
  WorkPolls polls_;
};

// Parts n things into at most kMostBlocks blocks, has add(first, last, sums) fill the sums of each,
// and adds these in order to out.
template <class Add>
void add_blocks(std::size_t n, std::size_t size, int n_threads, Add&& add, double* out) {
  const std::size_t per_block = std::max<std::size_t>((n + kMostBlocks - 1) / kMostBlocks, 1);
  const std::size_t n_blocks = (n + per_block - 1) / per_block;
  std::vector<double> sums(n_blocks * size, 0.0);
  parallel_for(n_blocks, n_threads, [&](std::size_t block) {
    add(block * per_block, std::min((block + 1) * per_block, n), sums.data() + block * size);
  });
  std::fill_n(out, size, 0.0);
  for (std::size_t k = 0; k < sums.size(); ++k) out[k % size] += sums[k];
}

}  // namespace

void average_by_weight(const DependenceQuery& query, InterruptWatch& watch, double* out) {
  const TreeSum& sum = query.sum;
  check_sum(sum, sum.trees.n_features);
  const std::vector<u32> places = map_features(query);
  const std::size_t size = query.n_points() * sum.out_width;
  const double nodes = static_cast<double>(sum.trees.node_offsets[sum.trees.n_trees]);
  const double work = kVisitCost * nodes * static_cast<double>(size + 1);
  add_blocks(
      sum.trees.n_trees, size, choose_threads(query.n_jobs, work, kThreadCost),
      [&](std::size_t first, std::size_t last, double* sums) {
        PointWalk walk(query, places, watch);
        for (std::size_t t = first; t < last; ++t) {
          watch.poll();
          walk.add_tree(AskedTree(sum, t, true), [](u32) { return 2; }, sums);
        }
      },
      out);
}

void average_by_rows(const DependenceQuery& query, const DependenceRows& rows,
                     InterruptWatch& watch, double* average, double* individual) {
  const TreeSum& sum = query.sum;
  const MatrixView& x = rows.x;
  check_sum(sum, x.n_cols);
  const std::vector<u32> places = map_features(query);
  const std::size_t size = query.n_points() * sum.out_width;
  double total = rows.weights.empty() ? static_cast<double>(x.n_rows) : 0.0;
  for (const double weight : rows.weights) total += weight;
  if ((!rows.weights.empty() && rows.weights.size() != x.n_rows) || !(total > 0.0))
    throw std::invalid_argument("X must have rows, with weights of a positive sum.");
  std::vector<AskedTree> trees;
  for (std::size_t t = 0; t < sum.trees.n_trees; ++t) {
    watch.poll();
    trees.emplace_back(sum, t, false);
  }
  const double work = kVisitCost * static_cast<double>(x.n_rows) *
                      static_cast<double>(sum.trees.n_trees) * static_cast<double>(size + 10);
  std::vector<double> sums(size);
  add_blocks(
      x.n_rows, size, choose_threads(query.n_jobs, work, kThreadCost),
      [&](std::size_t first, std::size_t last, double* block) {
        PointWalk walk(query, places, watch);
        std::vector<double> own(size);
        for (std::size_t r = first; r < last; ++r) {
          std::fill(own.begin(), own.end(), 0.0);
          for (const AskedTree& asked : trees) {
            const auto choose = [&](u32 k) {
              return asked.tree.goes_left(asked.tree[k], x(r, asked.tree[k].feature)) ? 0 : 1;
            };
            walk.add_tree(asked, choose, own.data());
          }
          if (individual) std::copy(own.begin(), own.end(), individual + r * size);
          const double weight = rows.weights.empty() ? 1.0 : rows.weights[r];
          for (std::size_t k = 0; k < size; ++k) block[k] += weight * own[k];
        }
      },
      sums.data());
  if (!average) return;
  for (std::size_t k = 0; k < size; ++k) average[k] = sums[k] / total;
}

}  // namespace committee
