// The list of split criteria. To add one:
//   1. write criteria/<name>.hpp with impurity_term() (copy gini.hpp or squared_error.hpp),
//   2. include it here and add it to ClassCriteria or MomentCriteria.
// The finder, the binding and the tests follow the list.
#pragma once
#include <tuple>

#include "absolute_error.hpp"
#include "entropy.hpp"
#include "error.hpp"
#include "friedman_mse.hpp"
#include "gain_ratio.hpp"
#include "gini.hpp"
#include "log_rank.hpp"
#include "poisson.hpp"
#include "squared_error.hpp"

namespace committee {

using ClassCriteria = std::tuple<Gini, Entropy, GainRatio, ZeroOneError>;
using MomentCriteria = std::tuple<SquaredError, FriedmanMse, Poisson>;

// Criteria that look at sorted rows instead of sums over bins.
inline bool has_no_histograms(const std::string& criterion) {
  return criterion == AbsoluteError::kName || criterion == LogRank::kName;
}

// Calls act(criterion) with the criterion of that name; false if the list has none.
template <class List, class Act>
bool with_criterion(const std::string& name, Act&& act) {
  bool found = false;
  auto try_one = [&](auto criterion) {
    if (!found && name == criterion.kName) {
      found = true;
      act(criterion);
    }
  };
  std::apply([&](auto... criterion) { (try_one(criterion), ...); }, List{});
  return found;
}

// Impurities of nodes from their class weights [node][class], averaged over the outputs.
void measure_class_impurities(const std::string& criterion, std::span<const double> class_weights,
                              std::span<const u32> outputs, std::span<double> impurities);
// The same of one node.
double measure_class_impurity(const std::string& criterion, std::span<const double> class_weights,
                              std::span<const u32> outputs);

}  // namespace committee
