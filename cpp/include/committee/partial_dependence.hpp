// How a prediction depends on a few features, on average over the others or row by row.
#pragma once
#include "shap.hpp"

namespace committee {

// Points in the space of a few features at which the sum of the trees is wanted.
struct DependenceQuery {
  TreeSum sum;
  std::span<const u32> features;   // each at most once
  std::span<const double> points;  // [point][feature of `features`]
  int n_jobs = 0;

  std::size_t n_points() const { return features.empty() ? 0 : points.size() / features.size(); }
};

// Weighted traversal [Friedman2001]: at a split on another feature both sides are taken, in
// proportion to the training weights of the children. No data needed. out: [point][column].
void average_by_weight(const DependenceQuery& query, InterruptWatch& watch, double* out);

// By brute force: every row with its features replaced by those of every point. A tree is walked
// once for all points of a row. individual: [row][point][column], or null. average:
// [point][column], weighted (weights empty: equal), or null.
struct DependenceRows {
  MatrixView x;
  std::span<const double> weights;
};
void average_by_rows(const DependenceQuery& query, const DependenceRows& rows,
                     InterruptWatch& watch, double* average, double* individual);

}  // namespace committee
