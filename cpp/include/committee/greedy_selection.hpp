// Greedy forward selection, with replacement, of the members of a mean of probabilities.
#pragma once
#include <span>

#include "committee/types.hpp"

namespace committee {

// How often each member is in the mean with the least log-loss of all on the path: in each round
// the member is added that makes the sum of logarithms largest, the first of equals. A mean must
// be better by more than a relative `least_gain`. `likelihoods` holds a row of each member, the
// probabilities of the true classes, at least 1e-15; rows count the same.
std::vector<i64> select_by_likelihood(std::span<const double> likelihoods, std::size_t n_members,
                                      std::size_t n_rounds, double least_gain);

}  // namespace committee
