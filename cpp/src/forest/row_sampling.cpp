#include "committee/row_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"

namespace committee {

namespace {

// Whole weights are laid out place by place if that takes at most this many numbers a row.
constexpr double kMostPlaces = 8.0;

// n_draws different ones from `population`, which is shuffled, into counts.
void draw_different(std::vector<u32> population, u32 n_draws, Rng& rng, std::span<u32> counts) {
  const u32 size = static_cast<u32>(population.size());
  if (size == 0 && n_draws > 0) throw std::invalid_argument("there is nothing to draw from");
  if (n_draws > size) {
    throw std::invalid_argument("cannot draw " + std::to_string(n_draws) + " of " +
                                std::to_string(size) + " rows without replacement");
  }
  // Knuth's selection sampling would read every row; a partial shuffle reads n_draws of them.
  for (u32 k = 0; k < n_draws; ++k) {
    std::swap(population[k], population[k + rng.below(size - k)]);
    counts[population[k]] = 1;
  }
}

// n_draws times from `population`, into counts.
void draw_from(std::span<const u32> population, u32 n_draws, bool replace, Rng& rng,
               std::span<u32> counts) {
  if (!replace) {
    draw_different({population.begin(), population.end()}, n_draws, rng, counts);
    return;
  }
  const u32 size = static_cast<u32>(population.size());
  if (size == 0 && n_draws > 0) throw std::invalid_argument("there is nothing to draw from");
  for (u32 k = 0; k < n_draws; ++k) ++counts[population[rng.below(size)]];
}

// As draw_from, with replacement, a row's chance proportional to its weight. Whole weights are
// drawn as that many places in a row, so that a weight of k gives the sample that the row k times
// gives.
void draw_weighted(std::span<const u32> population, std::span<const double> weights, u32 n_draws,
                   Rng& rng, std::span<u32> counts) {
  std::vector<double> cumulative(population.size());
  double total = 0.0;
  bool whole = true, sound = true;
  for (std::size_t k = 0; k < population.size(); ++k) {
    const double weight = weights[population[k]];
    sound = sound && weight >= 0.0;
    whole = whole && weight == std::floor(weight);
    cumulative[k] = total += weight;
  }
  if (!sound) throw std::invalid_argument("weights must not be negative");
  if (!(total > 0.0)) throw std::invalid_argument("rows to draw from must have a positive weight");
  whole = whole && total < 0x1.0p32;
  if (whole && total <= kMostPlaces * static_cast<double>(population.size())) {
    // Every place by its row: the same draws with one look each instead of a search.
    const std::size_t n_places = static_cast<std::size_t>(total);
    std::vector<u32> places(n_places + 1);
    u32* to = places.data();
    for (const u32 row : population) {
      // Most weights are zero or one, as in a fold: no branch for those.
      const u32 n = static_cast<u32>(weights[row]);
      to[0] = row;
      for (u32 k = 1; k < n; ++k) to[k] = row;
      to += n;
    }
    draw_from({places.data(), n_places}, n_draws, true, rng, counts);
    return;
  }
  for (u32 k = 0; k < n_draws; ++k) {
    const double place = whole ? rng.below(static_cast<u32>(total)) : rng.uniform() * total;
    const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), place);
    std::size_t i = std::min<std::size_t>(static_cast<std::size_t>(at - cumulative.begin()),
                                          population.size() - 1);
    while (weights[population[i]] <= 0.0) --i;  // rounding at the upper end
    ++counts[population[i]];
  }
}

// Rows (or groups) that may be drawn: all, or those of positive weight.
void draw_present(const RowSampling& sampling, std::span<const u32> population, u32 n_draws,
                  Rng& rng, std::span<u32> counts) {
  if (sampling.weights.empty()) {
    draw_from(population, n_draws, sampling.replace, rng, counts);
  } else if (sampling.replace) {
    draw_weighted(population, sampling.weights, n_draws, rng, counts);
  } else {
    std::vector<u32> present;
    for (const u32 row : population) {
      if (sampling.weights[row] > 0.0) present.push_back(row);
    }
    draw_different(std::move(present), n_draws, rng, counts);
  }
}

std::vector<std::vector<u32>> list_strata(const std::vector<u32>& strata) {
  std::vector<std::vector<u32>> rows(
      static_cast<std::size_t>(*std::max_element(strata.begin(), strata.end())) + 1);
  for (u32 row = 0; row < strata.size(); ++row) rows[strata[row]].push_back(row);
  return rows;
}

void draw_strata(const RowSampling& sampling, Rng& rng, std::span<u32> counts) {
  const auto rows = list_strata(sampling.strata);
  if (sampling.whole_groups) {
    std::vector<u32> groups, group_counts(rows.size(), 0);
    for (u32 g = 0; g < rows.size(); ++g) {
      const bool present = std::any_of(rows[g].begin(), rows[g].end(), [&](u32 row) {
        return sampling.weights.empty() || sampling.weights[row] > 0.0;
      });
      if (present) groups.push_back(g);
    }
    draw_from(groups, sampling.n_draws, sampling.replace, rng, group_counts);
    for (std::size_t row = 0; row < counts.size(); ++row)
      counts[row] = group_counts[sampling.strata[row]];
    return;
  }
  if (sampling.stratum_draws.size() != rows.size()) {
    throw std::invalid_argument("stratum_draws must have one entry for each of the " +
                                std::to_string(rows.size()) + " strata; got " +
                                std::to_string(sampling.stratum_draws.size()));
  }
  for (std::size_t s = 0; s < rows.size(); ++s) {
    if (!rows[s].empty() && sampling.stratum_draws[s] > 0)
      draw_present(sampling, rows[s], sampling.stratum_draws[s], rng, counts);
  }
}

}  // namespace

void draw_rows(const RowSampling& sampling, u64 seed, u64 member, std::span<u32> counts) {
  if (sampling.n_draws == 0 && sampling.stratum_draws.empty()) {
    std::fill(counts.begin(), counts.end(), 1u);
    return;
  }
  std::fill(counts.begin(), counts.end(), 0u);
  Rng rng(seed, member, 0, Purpose::bootstrap);
  if (counts.empty() || counts.size() > std::numeric_limits<u32>::max())
    throw std::invalid_argument("the number of rows must be at least 1 and below 2^32");
  const u32 n = static_cast<u32>(counts.size());
  if (!sampling.weights.empty() && sampling.weights.size() != counts.size())
    throw std::invalid_argument("weights must have one entry a row");
  if (!sampling.strata.empty()) {
    if (sampling.strata.size() != counts.size())
      throw std::invalid_argument("strata must have one entry a row");
    draw_strata(sampling, rng, counts);
  } else if (sampling.replace && sampling.weights.empty()) {
    for (u32 k = 0; k < sampling.n_draws; ++k) ++counts[rng.below(n)];
  } else {
    std::vector<u32> all(n);
    std::iota(all.begin(), all.end(), 0u);
    if (sampling.weights.empty()) {
      draw_different(std::move(all), sampling.n_draws, rng, counts);
    } else {
      draw_present(sampling, all, sampling.n_draws, rng, counts);
    }
  }
}

void draw_block_rows(const RowSampling& sampling, u64 seed, u64 member, std::size_t n_rows,
                     std::size_t first, std::span<u32> counts) {
  if (first > n_rows || counts.size() > n_rows - first)
    throw std::invalid_argument("the rows of a block must lie within the table");
  const bool plain = sampling.replace && sampling.n_draws > 0 && sampling.weights.empty() &&
                     sampling.strata.empty();
  if (!plain) {
    std::vector<u32> all(n_rows);
    draw_rows(sampling, seed, member, all);
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), counts.size(), counts.begin());
    return;
  }
  if (n_rows == 0 || n_rows > std::numeric_limits<u32>::max())
    throw std::invalid_argument("the number of rows must be at least 1 and below 2^32");
  std::fill(counts.begin(), counts.end(), 0u);
  Rng rng(seed, member, 0, Purpose::bootstrap);
  const u32 n = static_cast<u32>(n_rows);
  for (u32 k = 0; k < sampling.n_draws; ++k) {
    const std::size_t place = std::size_t{rng.below(n)} - first;  // wraps for rows before the block
    if (place < counts.size()) ++counts[place];
  }
}

std::vector<u32> draw_member_features(const RowSampling& sampling, u64 seed, u64 member,
                                      u32 n_features) {
  std::vector<u32> counts(n_features, 1u);
  if (sampling.n_features > 0) {
    std::fill(counts.begin(), counts.end(), 0u);
    std::vector<u32> all(n_features);
    std::iota(all.begin(), all.end(), 0u);
    Rng rng(seed, member, 0, Purpose::column);
    draw_from(all, sampling.n_features, sampling.replace_features, rng, counts);
  }
  std::vector<u32> features;
  for (u32 f = 0; f < n_features; ++f) {
    if (counts[f] > 0) features.push_back(f);
  }
  return features;
}

u64 find_tree_seed(u64 seed, u64 tree) {
  // combine_keys(found, 0) == combine_keys(seed, tree), solved for `found`; seeds of tree 0 stay.
  return unmix_bits(mix_bits(seed) ^ (tree + kSecondKey) ^ kSecondKey);
}

}  // namespace committee
