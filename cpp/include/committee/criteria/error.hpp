// Weighted 0/1 error: the stump's criterion in the lectures on boosting [FreundSchapire1997].
#pragma once
#include "../scalar.hpp"

namespace committee {

struct ZeroOneError {
  static constexpr const char* kName = "error";
  static constexpr double kBase = 1.0;
  template <class Counts>
  COMMITTEE_HD double impurity_term(const Counts& c, u32 n_classes, double) const {
    auto most = c[0];
    for (u32 k = 1; k < n_classes; ++k) most = c[k] > most ? c[k] : most;
    return static_cast<double>(most);
  }
  COMMITTEE_HD double score(double left, double right, double, double, double) const {
    return left + right;
  }
};

}  // namespace committee
