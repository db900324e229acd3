#include <numeric>

#include "committee/predict.hpp"
#include "predict/aggregate.hpp"
#include "predict/row_blocks.hpp"

namespace committee {

namespace {

template <class X>
void apply_block(const Trees& trees, const MatrixView& x, std::size_t first_row, std::size_t n_rows,
                 u32* leaves, InterruptWatch* watch) {
  const RowBlock<X> block(x, first_row, n_rows);
  const bool missing = trees.n_trees < kTreesToCheckMissing || block.has_missing();
  TreeWalker<X> walker(trees, n_rows, missing);
  std::array<u32, kEnds> nodes;
  for (std::size_t t = 0; t < trees.n_trees; ++t) {
    if (watch) watch->poll();
    const TreeWalk<X> walk = walker.take_tree(t);
    for (std::size_t r = 0; r < n_rows; r += kEnds) {
      const std::span<u32> ends(nodes.data(), std::min(kEnds, n_rows - r));
      walk.end_rows(walk, block.rows(r), Ending::node, ends);
      u32* at = leaves + (first_row + r) * trees.n_trees + t;
      for (const u32 node : ends) {
        *at = node;
        at += trees.n_trees;
      }
    }
  }
}

}  // namespace

void Predictor::apply(const MatrixView& x, int n_jobs, u32* leaves, InterruptWatch* watch) const {
  check_width(trees_, x);
  for_row_blocks(x.n_rows, block_rows(x), threads_for(x, trees_.n_trees, n_jobs),
                 [&](std::size_t first, std::size_t n) {
                   x.is_double ? apply_block<double>(trees_, x, first, n, leaves, watch)
                               : apply_block<float>(trees_, x, first, n, leaves, watch);
                 });
}

namespace {

// The class of each leaf in each output: the first of those with the largest share.
void label_leaves(const Terms& terms, std::span<const u32> leaves, std::int64_t* labels) {
  const Trees& trees = *terms.trees;
  std::vector<double> shares(leaves.size() * trees.width, 0.0);
  add_leaves(terms, 0, leaves, shares.data(), trees.width);
  const double* share = shares.data();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    for (const u32 n_classes : trees.outputs) {
      u32 best = 0;
      for (u32 c = 1; c < n_classes; ++c) best = share[c] > share[best] ? c : best;
      *labels++ = best;
      share += n_classes;
    }
  }
}

template <class X>
void label_block(const Terms& terms, const MatrixView& x, std::size_t first_row, std::size_t n_rows,
                 std::span<const std::int64_t> label_of_leaf, std::int64_t* labels) {
  const Trees& trees = *terms.trees;
  const std::size_t n_outputs = trees.outputs.size();
  const RowBlock<X> block(x, first_row, n_rows);
  TreeWalker<X> walker(trees, n_rows, true);
  const TreeWalk<X> walk = walker.take_tree(0);
  std::array<u32, kEnds> leaves;
  for (std::size_t r = 0; r < n_rows; r += kEnds) {
    const std::span<u32> ends(leaves.data(), std::min(kEnds, n_rows - r));
    walk.end_rows(walk, block.rows(r), Ending::leaf, ends);
    std::int64_t* to = labels + (first_row + r) * n_outputs;
    if (label_of_leaf.empty()) {
      label_leaves(terms, ends, to);
      continue;
    }
    for (const u32 leaf : ends) {
      const std::int64_t* const from = label_of_leaf.data() + leaf * n_outputs;
      for (std::size_t o = 0; o < n_outputs; ++o) *to++ = from[o];
    }
  }
}

}  // namespace

void Predictor::label(const MatrixView& x, int n_jobs, std::int64_t* labels,
                      InterruptWatch* watch) const {
  if (trees_.n_trees != 1 || trees_.outputs.empty())
    throw std::invalid_argument("Labels are the business of one tree with class weights.");
  check_width(trees_, x);
  const Terms terms{&trees_, Combine::mean, {}, {}};
  const std::size_t n_outputs = trees_.outputs.size();
  std::vector<std::int64_t> label_of_leaf;
  if (x.n_rows >= trees_.n_leaves(0)) {
    std::vector<u32> leaves(trees_.n_leaves(0));
    std::iota(leaves.begin(), leaves.end(), 0u);
    label_of_leaf.resize(leaves.size() * n_outputs);
    label_leaves(terms, leaves, label_of_leaf.data());
  }
  for_row_blocks(x.n_rows, block_rows(x), threads_for(x, 1, n_jobs),
                 [&](std::size_t first, std::size_t n) {
                   if (watch) watch->poll();
                   const auto label = x.is_double ? label_block<double> : label_block<float>;
                   label(terms, x, first, n, label_of_leaf, labels);
                 });
}

void apply_trees(const Trees& trees, const MatrixView& x, int n_jobs, u32* leaves,
                 InterruptWatch* watch) {
  Predictor(trees).apply(x, n_jobs, leaves, watch);
}

}  // namespace committee
