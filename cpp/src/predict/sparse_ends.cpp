#include "predict/sparse_ends.hpp"

#include <algorithm>
#include <bit>

#include "committee/parallel.hpp"
#include "committee/predict.hpp"

namespace committee {

namespace {

constexpr u64 kFreeSlot = ~u64{0};
constexpr double kMinRowsPerThread = 4096;
constexpr std::size_t kRowsPerTask = 1024;

// Calls use(nodes) with the nodes of a tree in their type.
template <class Use>
void with_nodes(const Trees& trees, std::size_t tree, Use&& use) {
  const u64 first = trees.node_offsets[tree];
  if (trees.double_thresholds) {
    use(static_cast<const Node<double>*>(trees.nodes) + first);
  } else {
    use(static_cast<const Node<float>*>(trees.nodes) + first);
  }
}

}  // namespace

ZeroChains::ZeroChains(const Trees& trees, std::size_t tree)
    : trees_(trees), questions_(trees.n_nodes(tree)), ends_(trees.n_nodes(tree)) {
  const std::size_t n_nodes = questions_.size();
  std::vector<u32> chain_of(n_nodes, 0);
  bits_ = static_cast<u32>(std::bit_width(n_nodes)) + 1;
  table_.assign(std::size_t{1} << bits_, {kFreeSlot, 0});
  with_nodes(trees, tree, [&](const auto* nodes) {
    // Children come after their parents.
    for (u32 k = 0; k < n_nodes; ++k) {
      const auto& node = nodes[k];
      if (node.is_leaf()) {
        ends_[chain_of[k]] = k;
        continue;
      }
      Question& own = questions_[k];
      own = {static_cast<double>(node.threshold),
             node.feature(),
             node.left,
             kMissingCode,
             node.is_categorical() ? node.category_set() : kMissingCode,
             node.missing_left(),
             false};
      own.zero_right = goes_right(own, 0.0);
      const u32 same = node.left + (own.zero_right ? 1 : 0);
      const u32 other = node.left + (own.zero_right ? 0 : 1);
      chain_of[same] = chain_of[k];
      chain_of[other] = other;
    }
    for (u32 k = static_cast<u32>(n_nodes); k-- > 0;) {
      if (nodes[k].is_leaf()) continue;
      auto& [key, first] = table_[find_slot(chain_of[k], nodes[k].feature())];
      if (key != kFreeSlot) questions_[k].next = first;
      key = u64{chain_of[k]} << 32 | nodes[k].feature();
      first = k;
    }
  });
}

bool ZeroChains::goes_right(const Question& question, double x) const {
  if (x != x) return !question.missing_left;
  if (question.set != kMissingCode) return !holds_code(trees_.category_set(question.set), x);
  return x > question.threshold;
}

std::size_t ZeroChains::find_slot(u32 chain, u32 feature) const {
  const u64 key = u64{chain} << 32 | feature;
  std::size_t at = (key * 0x9E3779B97F4A7C15ull) >> (64 - bits_);
  while (table_[at].first != kFreeSlot && table_[at].first != key)
    at = (at + 1) & (table_.size() - 1);
  return at;
}

template <class X, class I>
u32 ZeroChains::find_end(std::span<const I> columns, const X* values) const {
  for (u32 chain = 0;;) {
    u32 leaves_at = kMissingCode;
    for (std::size_t e = 0; e < columns.size(); ++e) {
      const auto& [key, first] = table_[find_slot(chain, static_cast<u32>(columns[e]))];
      if (key == kFreeSlot) continue;
      for (u32 k = first; k < leaves_at; k = questions_[k].next) {
        const Question& question = questions_[k];
        if (goes_right(question, static_cast<double>(values[e])) != question.zero_right) {
          leaves_at = k;
          break;
        }
      }
    }
    if (leaves_at == kMissingCode) return ends_[chain];
    chain = questions_[leaves_at].left + (questions_[leaves_at].zero_right ? 0 : 1);
  }
}

namespace {

template <class X, class I>
void find_ends(const Trees& trees, const SparseView& x, int n_jobs, u32* ends,
               InterruptWatch* watch) {
  const auto* const data = static_cast<const X*>(x.data);
  const auto* const indices = static_cast<const I*>(x.indices);
  const auto* const indptr = static_cast<const I*>(x.indptr);
  const std::size_t n_tasks = (x.n_rows + kRowsPerTask - 1) / kRowsPerTask;
  const int n_threads =
      choose_threads(n_jobs, static_cast<double>(x.n_rows) * static_cast<double>(trees.n_trees),
                     kMinRowsPerThread);
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    const ZeroChains chains(trees, t);
    parallel_for(n_tasks, n_threads, [&](std::size_t task) {
      if (watch) watch->poll();
      const std::size_t last = std::min(x.n_rows, (task + 1) * kRowsPerTask);
      for (std::size_t row = task * kRowsPerTask; row < last; ++row) {
        const auto begin = static_cast<std::size_t>(indptr[row]),
                   end = static_cast<std::size_t>(indptr[row + 1]);
        ends[row * trees.n_trees + t] =
            chains.find_end(std::span<const I>(indices + begin, end - begin), data + begin);
      }
    });
  }
}

template <class I>
void check_indptr(const SparseView& x, std::size_t n_features) {
  const auto* const indptr = static_cast<const I*>(x.indptr);
  bool sound =
      x.n_cols == n_features && indptr[0] == 0 && static_cast<u64>(indptr[x.n_rows]) <= x.n_entries;
  for (std::size_t r = 0; r < x.n_rows; ++r) sound &= indptr[r] <= indptr[r + 1];
  if (!sound)
    throw std::invalid_argument("Rows must be compressed, with as many columns as the trees.");
}

}  // namespace

void Predictor::apply_sparse(const SparseView& rows, int n_jobs, u32* nodes,
                             InterruptWatch* watch) const {
  if (rows.wide_indices) {
    check_indptr<i64>(rows, trees_.n_features);
    rows.is_double ? find_ends<double, i64>(trees_, rows, n_jobs, nodes, watch)
                   : find_ends<float, i64>(trees_, rows, n_jobs, nodes, watch);
  } else {
    check_indptr<i32>(rows, trees_.n_features);
    rows.is_double ? find_ends<double, i32>(trees_, rows, n_jobs, nodes, watch)
                   : find_ends<float, i32>(trees_, rows, n_jobs, nodes, watch);
  }
}

double Predictor::measure_mean_depth() const {
  double sum = 0.0;
  for (std::size_t t = 0; t < trees_.n_trees; ++t) {
    with_nodes(trees_, t, [&](const auto* nodes) {
      std::vector<u32> depths(trees_.n_nodes(t), 0);
      for (std::size_t k = 0; k < depths.size(); ++k) {
        if (nodes[k].is_leaf()) {
          sum += depths[k];
        } else {
          depths[nodes[k].left] = depths[nodes[k].left + 1] = depths[k] + 1;
        }
      }
    });
  }
  const auto n_leaves = static_cast<double>(trees_.leaf_offsets[trees_.n_trees]);
  return n_leaves > 0.0 ? sum / n_leaves : 0.0;
}

}  // namespace committee
