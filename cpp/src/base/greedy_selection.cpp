#include "committee/greedy_selection.hpp"

#include <algorithm>
#include <cmath>

#include "committee/elementary.hpp"

namespace committee {

namespace {

// Probabilities of at least 1e-15 whose product is a number above zero: of equal rows the
// logarithm of a product is taken, a row of each of sixteen parts; ones fill the last part.
constexpr std::size_t kFactors = 16;
constexpr std::size_t kSums = 8;

class LikelihoodSums {
 public:
  LikelihoodSums(std::span<const double> likelihoods, std::size_t n_members)
      : n_rows_(likelihoods.size() / n_members),
        n_blocks_((n_rows_ + kFactors - 1) / kFactors),
        values_(n_members * width(), 1.0),
        total_(width(), 0.0),
        products_(n_blocks_) {
    for (std::size_t k = 0; k < n_members; ++k)
      std::copy_n(likelihoods.data() + k * n_rows_, n_rows_, values_.data() + k * width());
  }

  void add(std::size_t member) {
    const double* value = values_.data() + member * width();
    for (std::size_t i = 0; i < width(); ++i) total_[i] += value[i];
  }

  // The mean logarithm with this member as the last of `size`.
  double score(std::size_t member, double log_size) {
    const double* value = values_.data() + member * width();
    std::ranges::fill(products_, 1.0);
    for (std::size_t part = 0; part < width(); part += n_blocks_)
      for (std::size_t b = 0; b < n_blocks_; ++b)
        products_[b] *= total_[part + b] + value[part + b];
    find_logs(products_, products_.data());
    const double factors = static_cast<double>(width());
    return (sum_products() - factors * log_size) / static_cast<double>(n_rows_);
  }

 private:
  std::size_t width() const { return kFactors * n_blocks_; }

  // In an order that no processor changes.
  double sum_products() const {
    double sums[kSums] = {};
    std::size_t b = 0;
    for (; b + kSums <= n_blocks_; b += kSums)
      for (std::size_t s = 0; s < kSums; ++s) sums[s] += products_[b + s];
    for (; b < n_blocks_; ++b) sums[b % kSums] += products_[b];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }

  std::size_t n_rows_, n_blocks_;
  std::vector<double> values_, total_, products_;
};

}  // namespace

std::vector<i64> select_by_likelihood(std::span<const double> likelihoods, std::size_t n_members,
                                      std::size_t n_rounds, double least_gain) {
  LikelihoodSums sums(likelihoods, n_members);
  std::vector<i64> counts(n_members, 0);
  std::vector<i64> best_counts = counts;
  double best = 0.0;
  for (std::size_t size = 1; size <= n_rounds; ++size) {
    double log_size = static_cast<double>(size);
    find_logs({&log_size, 1}, &log_size);
    std::size_t added = 0;
    double highest = 0.0;
    for (std::size_t k = 0; k < n_members; ++k) {
      const double score = sums.score(k, log_size);
      if (k > 0 && !(score > highest)) continue;
      highest = score;
      added = k;
    }
    sums.add(added);
    ++counts[added];
    if (size > 1 && !(highest > best + least_gain * std::abs(best))) continue;
    best = highest;
    best_counts = counts;
  }
  return best_counts;
}

}  // namespace committee
