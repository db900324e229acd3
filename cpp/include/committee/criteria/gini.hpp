// Gini index [Breiman1984]: 1 - sum of squared class shares.
#pragma once
#include "../scalar.hpp"

namespace committee {

struct Gini {
  static constexpr const char* kName = "gini";
  // A node of weight w has impurity kBase - impurity_term / w; a split is judged by the
  // impurity_term of its children.
  static constexpr double kBase = 1.0;
  template <class Counts>
  COMMITTEE_HD double impurity_term(const Counts& c, u32 n_classes, double w) const {
    double squares = 0.0;
    for (u32 k = 0; k < n_classes; ++k) {
      squares += static_cast<double>(c[k]) * static_cast<double>(c[k]);
    }
    return squares / w;
  }
  COMMITTEE_HD double score(double left, double right, double, double, double) const {
    return left + right;
  }
  // Two classes: the decrease is proportional to (p W - P l)^2 / (l r), one division.
  struct Ratio {
    double dividend, divisor;
  };
  COMMITTEE_HD Ratio ratio_binary(double l, double p, double w, double total_p) const {
    const double d = p * w - total_p * l;
    return {d * d, l * (w - l)};
  }
  COMMITTEE_HD double score_binary(double l, double p, double w, double total_p) const {
    const Ratio ratio = ratio_binary(l, p, w, total_p);
    return ratio.dividend / ratio.divisor;
  }
};

}  // namespace committee
