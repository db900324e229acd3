// Predictions of rows in which one feature has the values of other rows, as often as wanted.
#pragma once
#include "shap.hpp"

namespace committee {

// Rows and trees made ready: where every row ends in every tree is found once. For a permuted
// feature only those walks are made anew whose path asks for it, from that question on.
class PermutationStudy {
 public:
  // The sum, its trees and x must outlive the study.
  PermutationStudy(const TreeSum& sum, const MatrixView& x, int n_jobs, InterruptWatch& watch);

  // orders: [repeat][row], rows whose value of the feature a row gets. out: [repeat][row][column],
  // the same bytes as predicting the permuted table.
  void predict(u32 feature, std::span<const u32> orders, double* out, InterruptWatch& watch) const;

 private:
  TreeSum sum_;
  MatrixView x_;
  int n_jobs_;
  std::vector<double> rows_;                // [row][feature]
  std::vector<u32> ends_;                   // [tree][row]: the node
  std::vector<std::vector<double>> terms_;  // [tree][leaf][width]: what a leaf adds, not divided
};

}  // namespace committee
