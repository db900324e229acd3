// Pairs of censored times and the scores that rank them.
#pragma once
#include "types.hpp"

namespace committee {

// One entry a row.
struct ScoredTimes {
  std::span<const u8> event;           // 1: observed, 0: censored
  std::span<const double> time;        // finite
  std::span<const double> score;       // larger: earlier; finite
  std::span<const double> event_part;  // factor of a pair whose earlier row this is
  std::span<const double> later_part;  // factor of a pair whose later row this is
};

struct PairSums {
  double concordant = 0.0;  // the earlier row has the larger score
  double discordant = 0.0;
  double tied_score = 0.0;
  double tied_time = 0.0;  // both observed at the same time: not comparable
};

// Sums over pairs of the product of their factors. A pair is comparable if the earlier time is an
// observed event; at equal times a censored row counts as the later one. O(n log n).
PairSums sum_pairs(const ScoredTimes& rows);

}  // namespace committee
