// From the values of a column to its bins; shared by dense and sparse tables.
#pragma once
#include "base/radix_sort.hpp"
#include "binning/integer_bins.hpp"
#include "committee/binning.hpp"

namespace committee {

// Categories of a column: a number one larger must not wrap.
inline constexpr u32 kMaxLevels = 0x7FFFFFFFu;

// Throws std::invalid_argument with a sentence.
void check_fit_arguments(std::size_t n_rows, std::size_t n_cols, std::size_t n_weights,
                         std::span<const u32> n_levels, int max_bins);

ColumnBins describe_categories(u32 n_levels, bool has_missing);
// The category code in a value, or kMissingCode.
template <class T>
inline u32 read_code(T x, u32 n_levels) {
  if (!(x >= T(0)) || !(static_cast<double>(x) < static_cast<double>(n_levels))) {
    return kMissingCode;
  }
  const u32 code = static_cast<u32>(x);
  return static_cast<T>(code) == x ? code : kMissingCode;
}

// Shares at most max_bins (< m) bins among m distinct values: of about equal weight, but narrow
// ones at the ends. `cumulative[i]` is the weight of values 0 .. i. Returns where each bin ends
// (exclusive).
std::vector<std::size_t> share_bins(std::span<const u64> cumulative, std::size_t max_bins);

// Bins of n distinct values, value(i) the i-th of them; `ends` empty: one bin a value.
template <class Value>
ColumnBins bound_bins(std::size_t n, const std::vector<std::size_t>& ends, bool has_missing,
                      Value value) {
  ColumnBins bins;
  bins.has_missing = has_missing;
  bins.n_bins = static_cast<u32>(ends.empty() ? n : ends.size());
  bins.low.resize(bins.n_bins);
  bins.high.resize(bins.n_bins);
  for (std::size_t b = 0, start = 0; b < bins.n_bins; ++b) {
    const std::size_t end = ends.empty() ? b + 1 : ends[b];
    bins.low[b] = value(start);
    bins.high[b] = value(end - 1);
    start = end;
  }
  bins.thresholds.resize(bins.n_bins ? bins.n_bins - 1 : 0);
  for (std::size_t b = 0; b < bins.thresholds.size(); ++b) {
    bins.thresholds[b] = choose_threshold(bins.high[b], bins.low[b + 1]);
  }
  return bins;
}

// The distinct values of one column after another, sorted, with their cumulative weights.
template <class T>
class DistinctValues {
 public:
  using K = KeyOf<T>;
  DistinctValues(std::size_t capacity, bool weighted)
      : sorter_(capacity + 1, weighted), cumulative_(capacity + 1 + kKeySlack) {}

  // weights: fixed point, or null for one each.
  void collect(const T* values, const u64* weights, std::size_t n) {
    if (!weights && n > 0 && whole_.count(values, n)) {
      list_counted();
      return;
    }
    std::size_t seen = 0;
    if (weights) {
      for (std::size_t i = 0; i < n; ++i) {
        sorter_.keys()[seen] = make_key(values[i]);
        sorter_.rows()[seen] = static_cast<u32>(i);
        seen += values[i] == values[i];
      }
    } else {
      seen = list_keys(values, n, sorter_.keys());
    }
    has_missing_ = seen < n;
    sorter_.sort(seen);
    weights ? merge_weighted(weights, seen) : merge_equal(seen);
  }

  // Zeros that a sparse column does not spell out.
  void add_zeros(u64 weight) {
    if (weight == 0) return;
    if (are_single_) count_single();
    are_single_ = false;
    K* keys = sorter_.keys();
    const K zero = make_key(T(0));
    const std::size_t at =
        static_cast<std::size_t>(std::lower_bound(keys, keys + size_, zero) - keys);
    if (at == size_ || keys[at] != zero) {
      std::copy_backward(keys + at, keys + size_, keys + size_ + 1);
      std::copy_backward(cumulative_.data() + at, cumulative_.data() + size_,
                         cumulative_.data() + size_ + 1);
      keys[at] = zero;
      cumulative_[at] = at ? cumulative_[at - 1] : 0;
      ++size_;
    }
    for (std::size_t i = at; i < size_; ++i) cumulative_[i] += weight;
  }

  std::size_t size() const { return size_; }
  std::span<const K> keys() { return {sorter_.keys(), size_}; }

  ColumnBins make_bins(int max_bins) {
    const std::size_t most = static_cast<std::size_t>(max_bins);
    if (size_ <= most) return make_bins_of(keys(), {}, has_missing_);
    if (!are_single_)
      return make_bins_of(keys(), share_bins({cumulative_.data(), size_}, most), has_missing_);
    if (single_size_ != size_ || single_most_ != most) {
      count_single();
      single_ends_ = share_bins({cumulative_.data(), size_}, most);
      single_size_ = size_, single_most_ = most;
    }
    return make_bins_of(keys(), single_ends_, has_missing_);
  }

  static ColumnBins make_bins_of(std::span<const K> keys, const std::vector<std::size_t>& ends,
                                 bool has_missing) {
    return bound_bins(keys.size(), ends, has_missing,
                      [&](std::size_t i) { return read_key(keys[i]); });
  }

 private:
  void list_counted() {
    has_missing_ = whole_.n_missing() > 0;
    are_single_ = false;
    u64 sum = 0;
    size_ = 0;
    for (std::size_t place = 0; place < whole_.size(); ++place) {
      if (whole_[place] == 0) continue;
      sorter_.keys()[size_] = make_key(whole_.value(place));
      cumulative_[size_++] = sum += whole_[place];
    }
  }

  void merge_weighted(const u64* weights, std::size_t n) {
    K* keys = sorter_.keys();
    u64 sum = 0;
    size_ = 0;
    are_single_ = false;
    for (std::size_t i = 0; i < n; ++i) {
      const K key = keys[i];
      sum += weights[sorter_.rows()[i]];
      keys[size_] = key;
      cumulative_[size_] = sum;
      size_ += i + 1 == n || keys[i + 1] != key;
    }
  }

  // Often each value occurs once, which a loop without a branch tells.
  void merge_equal(std::size_t n) {
    K* keys = sorter_.keys();
    K n_equal = 0;
    for (std::size_t i = 1; i < n; ++i) n_equal += keys[i - 1] == keys[i];
    are_single_ = n_equal == 0;
    size_ = are_single_ ? n : list_distinct(keys, n, cumulative_.data());
  }

  void count_single() {
    for (std::size_t i = 0; i < size_; ++i) cumulative_[i] = i + 1;
  }

  WholeCounts<T> whole_;
  KeySorter<K> sorter_;
  ReturnedBuffer<u64> cumulative_;  // not filled where are_single_
  std::size_t size_ = 0;
  bool has_missing_ = false;
  // Whether each value weighs one; where bins of the last column of such values end, and how many
  // values and bins there were: columns of one table mostly have the same.
  bool are_single_ = false;
  std::vector<std::size_t> single_ends_;
  std::size_t single_size_ = 0, single_most_ = 0;
};

// What a pass over every row of a column adds to its sample: missing values, the ends of its range,
// and whether its distinct values are few enough for a bin each.
template <class T>
class FullScan {
 public:
  using K = KeyOf<T>;
  // `keys`: the sample's distinct values; more than max_bins of them settle that bins are shared.
  FullScan(std::span<const K> keys, int max_bins) : most_(static_cast<std::size_t>(max_bins)) {
    if (keys.size() > most_) return;
    counting_ = true;
    for (const K key : keys) insert(key);
  }

  void add(const T* values, std::size_t n) {
    if (n == 0) return;
    using Lanes COMMITTEE_VECTOR(16) = T;
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    Lanes low[2], high[2];
    for (int k = 0; k < 2; ++k) low[k] = Lanes{} + kInfinity, high[k] = Lanes{} - kInfinity;
    auto missing = Lanes{} != Lanes{};
    const auto add_lanes = [&](const T* from) {
      for (int k = 0; k < 2; ++k) {
        Lanes some;
        std::memcpy(&some, from + k * kLanes / 2, sizeof some);
        low[k] = some < low[k] ? some : low[k];
        high[k] = some > high[k] ? some : high[k];
        missing |= some != some;
      }
    };
    const std::size_t whole = n / kLanes * kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) add_lanes(values + i);
    T tail[kLanes];
    std::fill(tail, tail + kLanes, values[n - 1]);
    std::copy(values + whole, values + n, tail);
    add_lanes(tail);
    for (std::size_t l = 0; l < kLanes; ++l) {
      low_ = std::min(low_, static_cast<double>(low[2 * l / kLanes][l % (kLanes / 2)]));
      high_ = std::max(high_, static_cast<double>(high[2 * l / kLanes][l % (kLanes / 2)]));
      has_missing_ |= missing[l % (kLanes / 2)] != 0;
    }
    if (counting_) count_distinct(values, n);
  }

  // What another pass found in other rows.
  void merge(const FullScan& other) {
    has_missing_ |= other.has_missing_;
    low_ = std::min(low_, other.low_);
    high_ = std::max(high_, other.high_);
    counting_ = counting_ && other.counting_;
    for (std::size_t i = 0; i < other.keys_.size() && counting_; ++i) {
      counting_ = insert(other.keys_[i]);
    }
  }

  void finish(ColumnBins& bins) const {
    if (counting_ && keys_.size() > bins.n_bins) {
      std::vector<K> keys = keys_;
      std::sort(keys.begin(), keys.end());
      bins = DistinctValues<T>::make_bins_of(keys, {}, bins.has_missing);
    }
    bins.has_missing |= has_missing_;
    if (bins.n_bins == 0) {  // the sample was all missing, and the rest has too many values
      if (low_ > high_) return;
      bins.n_bins = 1;
      bins.low = {low_};
      bins.high = {high_};
    }
    bins.low.front() = std::min(bins.low.front(), low_ + 0.0);
    bins.high.back() = std::max(bins.high.back(), high_ + 0.0);
  }

  // The state, for another process. `restore` expects a new scan with the same max_bins.
  struct State {
    bool counting, has_missing;
    double low, high;
    std::vector<K> keys;
  };
  State state() const {
    return {counting_, has_missing_, low_, high_, counting_ ? keys_ : std::vector<K>()};
  }
  void restore(const State& state) {
    counting_ = true;
    for (const K key : state.keys) counting_ = counting_ && insert(key);
    counting_ = counting_ && state.counting;
    has_missing_ = state.has_missing;
    low_ = state.low;
    high_ = state.high;
  }

 private:
  static constexpr std::size_t kLanes = 32 / sizeof(T);
  static constexpr std::size_t kSlots = 1024;  // at least four times the 255 values it may hold

  static std::size_t slot_of(K key) {
    return static_cast<std::size_t>((static_cast<u64>(key) * 0x9E3779B97F4A7C15ull) >> 54);
  }

  // False if the value is one too many.
  bool insert(K key) {
    std::size_t slot = slot_of(key);
    for (; used_[slot]; slot = (slot + 1) % kSlots) {
      if (table_[slot] == key) return true;
    }
    if (keys_.size() == most_) return false;
    used_[slot] = 1;
    table_[slot] = key;
    keys_.push_back(key);
    return true;
  }

  void count_distinct(const T* values, std::size_t n) {
    for (std::size_t i = 0; i < n && counting_; ++i) {
      if (values[i] == values[i]) counting_ = insert(make_key(values[i]));
    }
  }

  std::size_t most_;
  bool counting_ = false, has_missing_ = false;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  std::vector<K> keys_;
  K table_[kSlots];
  u8 used_[kSlots] = {};
};

}  // namespace committee
