// Where bins end: the training rows that are sampled, the sharing of bins by weight, the threshold.
#include <cmath>
#include <numeric>

#include "base/fixed_weights.hpp"
#include "base/rng.hpp"
#include "binning/find_bins.hpp"
#include "binning/training_rows.hpp"

namespace committee {
namespace {

constexpr std::size_t kSampleRows =
    200'000;  // quantiles of more rows move by less than a bin's width

// One row from each of kSampleRows equal stretches; which one is drawn, lest a period in the data
// that divides the stride show up in the sample.
std::size_t draw_sample_row(std::size_t k, u64 n) {
  const u64 begin = static_cast<u64>(k) * n / kSampleRows;
  const u64 end = static_cast<u64>(k + 1) * n / kSampleRows;
  return static_cast<std::size_t>(begin + (((mix_bits(k) >> 32) * (end - begin)) >> 32));
}

bool takes_part(double weight) {
  return weight > 0.0 && weight <= std::numeric_limits<double>::max();
}

// Integers in proportion to the weights of the rows.
FixedWeights fix_row_weights(std::span<const double> weights, const RowSet& rows) {
  constexpr WeightBits kBits{52, 52, 52};  // times the number of bins below 2^61
  std::vector<double> own(rows.size);
  for (std::size_t k = 0; k < rows.size; ++k) own[k] = weights[rows[k]];
  return fix_weights(own, kBits);
}

// The sample that copies of the rows, each as often as it weighs, would give: a row weighs as many
// copies as were drawn of it.
void sample_copies(const FixedWeights& copies, TrainingRows& chosen) {
  std::size_t at = 0;
  u64 end = copies[0];
  for (std::size_t k = 0; k < kSampleRows; ++k) {
    const u64 place = draw_sample_row(k, copies.total);
    while (place >= end) end += copies[++at];
    if (chosen.weights.empty() || chosen.sample.rows.back() != chosen.all[at]) {
      chosen.sample.rows.push_back(chosen.all[at]);
      chosen.weights.push_back(0);
    }
    ++chosen.weights.back();
  }
  chosen.sample.size = chosen.sample.rows.size();
  chosen.total_weight = kSampleRows;
}

}  // namespace

TrainingRows choose_training_rows(std::size_t n_rows, std::span<const double> weights) {
  TrainingRows chosen;
  chosen.all.size = n_rows;
  bool equal = true;
  if (!weights.empty()) {
    double least = std::numeric_limits<double>::infinity(), most = 0.0;
    std::size_t positive = 0;
    for (const double w : weights) {
      if (!takes_part(w)) continue;
      ++positive;
      least = std::min(least, w);
      most = std::max(most, w);
    }
    equal = least >= most;
    if (positive < n_rows) {
      chosen.all.size = positive;
      chosen.all.rows.reserve(positive);
      for (std::size_t i = 0; i < n_rows; ++i) {
        if (takes_part(weights[i])) chosen.all.rows.push_back(i);
      }
    }
  }
  if (!equal) {
    const FixedWeights fixed = fix_row_weights(weights, chosen.all);
    if (fixed.counts && fixed.total > kSampleRows) {
      sample_copies(fixed, chosen);
      return chosen;
    }
  }
  const std::size_t n = chosen.all.size;
  if (n <= kSampleRows) {
    chosen.sample = chosen.all;
  } else {
    chosen.sample.size = kSampleRows;
    chosen.sample.rows.resize(kSampleRows);
    for (std::size_t k = 0; k < kSampleRows; ++k) {
      chosen.sample.rows[k] = chosen.all[draw_sample_row(k, n)];
    }
  }
  if (!equal) chosen.weights = fix_row_weights(weights, chosen.sample).weights;
  chosen.total_weight = chosen.weights.empty() ? chosen.sample.size : 0;
  for (const u64 w : chosen.weights) chosen.total_weight += w;
  return chosen;
}

namespace {

// The ends of a column get narrow bins, one value each at first; each weighs about an eighth of
// what lies beyond it, until that is a fair share. Forests need them: a node that drew nothing but
// noise does least harm if it cuts off a row or two at an end, and with bins of equal weight it
// has to cut off a whole bin [Ishwaran2015].
class TailBins {
 public:
  TailBins(std::span<const u64> cumulative, std::size_t max_bins)
      : cumulative_(cumulative), max_bins_(max_bins) {}

  // The number of values in each bin, the outermost first.
  std::vector<std::size_t> cut(bool upper) const {
    std::vector<std::size_t> sizes;
    u64 beyond = 0;
    const std::size_t most = max_bins_ < kFewBins ? 0 : max_bins_ / kTailShare;
    for (std::size_t at = 0; sizes.size() < most;) {
      u64 weight = weight_of(at, upper);
      std::size_t size = 1;
      while (weight * kTailGrowth < beyond) weight += weight_of(at + size++, upper);
      if (weight * max_bins_ >= cumulative_.back()) break;
      sizes.push_back(size);
      at += size;
      beyond += weight;
    }
    return sizes;
  }

 private:
  static constexpr std::size_t kTailShare = 6;  // of all bins, so much at most in each tail
  static constexpr u64 kTailGrowth = 8;
  static constexpr std::size_t kFewBins = 128;  // below, the others need all of them

  u64 weight_of(std::size_t from_end, bool upper) const {
    const std::size_t i = upper ? cumulative_.size() - 1 - from_end : from_end;
    return cumulative_[i] - (i ? cumulative_[i - 1] : 0);
  }

  std::span<const u64> cumulative_;
  std::size_t max_bins_;
};

// A stretch of neighbouring values without a heavy one.
struct Stretch {
  std::size_t begin, end;
  u64 weight;
  std::size_t bins = 0;
};

class BinSharing {
 public:
  // `before`: what is part of all sums, and weighs nothing here.
  BinSharing(std::span<const u64> cumulative, u64 before, std::size_t max_bins)
      : cumulative_(cumulative),
        before_(before),
        bins_left_(max_bins),
        weight_left_(cumulative.back() - before) {}

  std::vector<std::size_t> share() {
    find_heavy();
    list_stretches();
    give_bins();
    std::size_t next = 0;
    for (const std::size_t heavy : heavy_) {
      if (next < stretches_.size() && stretches_[next].begin < heavy) partition(stretches_[next++]);
      ends_.push_back(heavy + 1);
    }
    if (next < stretches_.size()) {
      partition(stretches_[next]);
      ends_.back() = cumulative_.size();  // a last stretch without a bin joins its neighbour
    }
    return std::move(ends_);
  }

 private:
  u64 weight_before(std::size_t i) const { return i ? cumulative_[i - 1] : before_; }
  u64 weight_of(std::size_t i) const { return cumulative_[i] - weight_before(i); }

  // Most columns have no heavy value, which a loop without a branch tells.
  bool may_have_heavy() const {
    if (bins_left_ == 0 || weight_left_ == 0) return true;
    u64 most = weight_of(0);
    for (std::size_t i = 1; i < cumulative_.size(); ++i)
      most = std::max(most, cumulative_[i] - cumulative_[i - 1]);
    return most * bins_left_ >= weight_left_;
  }

  // A value that outweighs a fair share gets a bin of its own; what is left is then shared by fewer
  // bins, so the fair share falls and more values may outweigh it. Products stay below 2^61.
  void find_heavy() {
    while (may_have_heavy()) {
      const std::size_t before = heavy_.size();
      const u64 bins = bins_left_, weight = weight_left_;
      std::vector<std::size_t> found;
      for (std::size_t i = 0, h = 0; i < cumulative_.size(); ++i) {
        if (weight_of(i) * bins < weight) continue;
        while (h < before && heavy_[h] < i) ++h;
        if (h < before && heavy_[h] == i) continue;
        found.push_back(i);
        --bins_left_;
        weight_left_ -= weight_of(i);
      }
      if (found.empty()) return;
      heavy_.insert(heavy_.end(), found.begin(), found.end());
      std::inplace_merge(heavy_.begin(), heavy_.begin() + static_cast<std::ptrdiff_t>(before),
                         heavy_.end());
    }
  }

  void list_stretches() {
    std::size_t begin = 0;
    const auto close = [&](std::size_t end) {
      if (begin < end)
        stretches_.push_back({begin, end, cumulative_[end - 1] - weight_before(begin)});
    };
    for (const std::size_t heavy : heavy_) {
      close(heavy);
      begin = heavy + 1;
    }
    close(cumulative_.size());
  }

  // One bin each, the heaviest stretches first if they do not suffice; then the next bin always to
  // the stretch with the most weight a bin. Ties: the lowest.
  void give_bins() {
    if (stretches_.size() == 1) {
      stretches_[0].bins = bins_left_;
      return;
    }
    for (; bins_left_ > 0; --bins_left_) {
      Stretch* neediest = nullptr;
      for (Stretch& s : stretches_) {
        if (s.bins == s.end - s.begin) continue;
        if (!neediest || needs_more(s, *neediest)) neediest = &s;
      }
      if (!neediest) return;
      ++neediest->bins;
    }
  }

  static bool needs_more(const Stretch& a, const Stretch& b) {
    if ((a.bins == 0) != (b.bins == 0)) return a.bins == 0;
    return a.weight * std::max<std::size_t>(b.bins, 1) >
           b.weight * std::max<std::size_t>(a.bins, 1);
  }

  // Each bin takes the values that bring it nearest to an even share of what is left; later bins
  // get one value at least.
  void partition(const Stretch& s) {
    std::size_t begin = s.begin;
    for (std::size_t left = s.bins; left > 0; --left) {
      const u64 base = weight_before(begin), weight = cumulative_[s.end - 1] - base;
      const auto reaches = [&](u64 sum) { return (sum - base) * left >= weight; };
      const auto from = cumulative_.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = cumulative_.begin() + static_cast<std::ptrdiff_t>(s.end - left);
      std::size_t at = static_cast<std::size_t>(
          std::partition_point(from, last, [&](u64 sum) { return !reaches(sum); }) -
          cumulative_.begin());
      if (at > begin && reaches(cumulative_[at])) {
        const u64 above = (cumulative_[at] - base) * left - weight;
        const u64 below = weight - (cumulative_[at - 1] - base) * left;
        if (below <= above) --at;
      }
      begin = at + 1;
      ends_.push_back(begin);
    }
  }

  std::span<const u64> cumulative_;
  u64 before_, bins_left_, weight_left_;
  std::vector<std::size_t> heavy_, ends_;
  std::vector<Stretch> stretches_;
};

}  // namespace

std::vector<std::size_t> share_bins(std::span<const u64> cumulative, std::size_t max_bins) {
  const TailBins tails(cumulative, max_bins);
  const std::vector<std::size_t> lower = tails.cut(false), upper = tails.cut(true);
  const std::size_t begin = std::accumulate(lower.begin(), lower.end(), std::size_t{0});
  const std::size_t end =
      cumulative.size() - std::accumulate(upper.begin(), upper.end(), std::size_t{0});
  const std::size_t n_inner = max_bins - lower.size() - upper.size();
  // Values of the tails must not share bins that the others do not need.
  if (end - begin <= n_inner) return BinSharing(cumulative, 0, max_bins).share();
  BinSharing inner(cumulative.subspan(begin, end - begin), begin > 0 ? cumulative[begin - 1] : 0,
                   n_inner);
  std::vector<std::size_t> ends;
  std::size_t at = 0;
  for (const std::size_t size : lower) ends.push_back(at += size);
  for (const std::size_t inner_end : inner.share()) ends.push_back(begin + inner_end);
  at = end;
  for (std::size_t k = upper.size(); k-- > 0;) ends.push_back(at += upper[k]);
  return ends;
}

double choose_threshold(double a, double b) {
  const auto fits = [&](double t) { return t >= a && t < b; };
  const double middle = a / 2 + b / 2;
  const float nearest = static_cast<float>(middle);
  if (fits(nearest)) return static_cast<double>(nearest) + 0.0;
  const float infinity = std::numeric_limits<float>::infinity();
  // No other float32 number can lie in [a, b) if neither the nearest one nor its neighbours do.
  for (const float t : {std::nextafter(nearest, -infinity), std::nextafter(nearest, infinity)}) {
    if (fits(t)) return static_cast<double>(t) + 0.0;
  }
  return fits(middle) ? middle : a;
}

}  // namespace committee
