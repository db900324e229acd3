#include "committee/concordance.hpp"

#include <algorithm>
#include <numeric>

namespace committee {

namespace {

// Sums over the scores at or below one [Fenwick1994].
class RankSums {
 public:
  explicit RankSums(std::size_t n) : sums_(n + 1, 0.0) {}
  void add(std::size_t rank, double value) {
    for (std::size_t i = rank + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += value;
  }
  // Of the ranks below.
  double sum_below(std::size_t rank) const {
    double sum = 0.0;
    for (std::size_t i = rank; i > 0; i &= i - 1) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<double> sums_;
};

std::vector<u32> rank_densely(std::span<const double> score, std::size_t& n_ranks) {
  std::vector<u32> order(score.size()), ranks(score.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return score[a] < score[b]; });
  n_ranks = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && score[order[i]] != score[order[i - 1]]) ++n_ranks;
    ranks[order[i]] = static_cast<u32>(n_ranks);
  }
  ++n_ranks;
  return ranks;
}

}  // namespace

PairSums sum_pairs(const ScoredTimes& rows) {
  const std::size_t n = rows.time.size();
  PairSums sums;
  if (n == 0) return sums;
  std::size_t n_ranks = 0;
  const std::vector<u32> ranks = rank_densely(rows.score, n_ranks);
  // From the last time to the first; of equal times those that are censored come first.
  std::vector<u32> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
    if (rows.time[a] != rows.time[b]) return rows.time[a] > rows.time[b];
    if (rows.event[a] != rows.event[b]) return rows.event[a] < rows.event[b];
    return ranks[a] != ranks[b] ? ranks[a] < ranks[b] : a < b;
  });
  RankSums later(n_ranks);
  double total = 0.0;
  const auto insert = [&](u32 row) {
    later.add(ranks[row], rows.later_part[row]);
    total += rows.later_part[row];
  };
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin, first_event = begin;
    while (end < n && rows.time[order[end]] == rows.time[order[begin]]) ++end;
    while (first_event < end && !rows.event[order[first_event]]) insert(order[first_event++]);
    double before = 0.0;
    for (std::size_t i = first_event; i < end; ++i) {
      const u32 row = order[i];
      const double below = later.sum_below(ranks[row]);
      const double not_above = later.sum_below(ranks[row] + 1);
      const double part = rows.event_part[row];
      sums.concordant += part * below;
      sums.tied_score += part * (not_above - below);
      sums.discordant += part * (total - not_above);
      sums.tied_time += part * before;
      before += rows.later_part[row];
    }
    for (std::size_t i = first_event; i < end; ++i) insert(order[i]);
    begin = end;
  }
  return sums;
}

}  // namespace committee
