// What a leaf of some cells is worth, and whether it may be one. Sums are the fixed numbers as
// doubles, in which they are exact up to 2^53, so that a difference of sums is the sum of the rest.
#pragma once
#include <algorithm>

#include "additive/cell_search.hpp"

namespace committee {

struct LeafSums {
  double gradient = 0.0, hessian = 0.0, count = 0.0;
  LeafSums operator-(const LeafSums& other) const {
    return {gradient - other.gradient, hessian - other.hessian, count - other.count};
  }
};

class LeafRules {
 public:
  LeafRules(const CellUnits& units, const AdditiveParams& params, double rate)
      : rate_(rate),
        largest_step_(units.largest_step),
        step_unit_(units.gradient / units.hessian),
        score_unit_(units.gradient * units.gradient / units.hessian),
        lambda_(params.reg_lambda / units.hessian),
        least_hessian_(kLeastHessian / units.hessian),
        least_count_(params.min_samples_leaf) {}
  bool allows(const LeafSums& s) const {
    return s.count >= least_count_ && s.hessian >= least_hessian_;
  }
  // In units of the fixed numbers; a real one is `score_unit` times as large.
  double score(const LeafSums& s) const {
    const double h = s.hessian + lambda_;
    return h > 0.0 ? s.gradient * s.gradient / h : 0.0;
  }
  double score_unit() const { return score_unit_; }
  // The score of both sides of a cut, with one division; -1 where one may be no leaf. Without
  // branches, so that loops over cuts run in lanes.
  double score_cut(const LeafSums& left, const LeafSums& right) const {
    const double hl = left.hessian + lambda_, hr = right.hessian + lambda_;
    const double above = left.gradient * left.gradient * hr + right.gradient * right.gradient * hl;
    const double score = above / (hl * hr);
    const bool fits = (left.count >= least_count_) & (right.count >= least_count_) &
                      (left.hessian >= least_hessian_) & (right.hessian >= least_hessian_);
    return fits ? score : -1.0;
  }
  double step(const LeafSums& s) const {
    if (!allows(s)) return 0.0;
    const double newton = -s.gradient / (s.hessian + lambda_) * step_unit_;
    return rate_ * std::clamp(newton, -largest_step_, largest_step_);
  }

 private:
  static constexpr double kLeastHessian = 1e-4;
  double rate_, largest_step_, step_unit_, score_unit_, lambda_, least_hessian_, least_count_;
};

// The first of the largest scores, and its place; scores of -1 are of cuts that are not allowed.
struct BestCut {
  double score = -1.0;
  u32 place = 0;
};

inline BestCut find_best(const double* scores, u32 begin, u32 end) {
  BestCut best;
  for (u32 place = begin; place < end; ++place) {
    if (scores[place] > best.score) best = {scores[place], place};
  }
  return best;
}

}  // namespace committee
