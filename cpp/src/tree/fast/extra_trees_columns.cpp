#include "tree/fast/extra_trees_columns.hpp"

#include <algorithm>

#include "committee/criteria/gini.hpp"

namespace committee {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kCountedVectors = 255;   // that a byte can count
constexpr std::size_t kBufferedVectors = 512;  // of bins, in the first cache
// Rows of a node where a few features often have a split into pure children.
constexpr u32 kFewForPure = 12;
// Features that such a node draws in a turn, and any node that has found none so far.
constexpr u32 kFirstDraws = 8, kMoreDraws = 16, kLateDraws = 64;
constexpr std::size_t kMostDraws = std::size_t{1} << 20;  // of all nodes in a turn
constexpr u32 kPollColumns = 64;
// Draws that nodes and rows are on their way before.
constexpr std::size_t kNodesBefore = 16, kRowsBefore = 8;

constexpr std::size_t count_vectors(std::size_t n_rows) {
  return (n_rows + kRowLanes - 1) / kRowLanes;
}

constexpr u16 kRowBits = ExtraTreesColumns::kMostRows - 1;  // the one above: the row is positive

// Those of sixteen lanes that hold the last rows of n.
RowLanes mask_last(std::size_t n) {
  static constexpr u8 kOnes[2 * kRowLanes] = {255, 255, 255, 255, 255, 255, 255, 255,
                                              255, 255, 255, 255, 255, 255, 255, 255};
  return load_lanes(kOnes + (kRowLanes - n % kRowLanes) % kRowLanes);
}

// The bins of sixteen rows. Their numbers are read four at a time: loads are what takes the time.
[[gnu::always_inline]] inline RowLanes gather_lanes(const u8* column, const u16* rows) {
  u64 words[2];
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    u64 word = 0;
#pragma GCC unroll 2
    for (int quad = 0; quad < 2; ++quad) {
      u64 numbers;
      std::memcpy(&numbers, rows + 8 * half + 4 * quad, sizeof numbers);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k)
        word |= u64{column[numbers >> (16 * k) & (kRowBits)]} << (8 * (4 * quad + k));
    }
    words[half] = word;
  }
  RowLanes lanes;
  std::memcpy(&lanes, words, sizeof lanes);
  return lanes;
}

// 255 for each of sixteen rows that is positive, else 0.
[[gnu::always_inline]] inline RowLanes find_positives(const u16* rows) {
  using Signs [[gnu::vector_size(2 * kRowLanes)]] = short;
  using ByteSigns [[gnu::vector_size(kRowLanes)]] = signed char;
  Signs signs;
  std::memcpy(&signs, rows, sizeof signs);
  return reinterpret_cast<RowLanes>(__builtin_convertvector(signs >> 15, ByteSigns));
}

}  // namespace

ExtraTreesColumns::ExtraTreesColumns(const BinnedMatrix& data, const EndsTable& ends,
                                     InterruptWatch& watch)
    : data_(data), ends_(ends), watch_(watch), order_(data.n_cols), starts_(data.n_cols + 1) {
  for (u32 k = 0; k < order_.size(); ++k) order_[k] = k;
}

void ExtraTreesColumns::add_tree(const GrowInput& input, const GrowParams& params) {
  members_.push_back({KeyPrefix(combine_keys(params.seed, params.tree)),
                      LeafTest(params),
                      params.member_features,
                      0,
                      {}});
  Member& member = members_.back();
  member.n_wanted = std::min(params.max_features, count_pool(member));
  const std::size_t begin = rows_.size();
  u32 n_positive = 0;
  for (std::size_t row = 0; row < data_.n_rows; ++row) {
    if (!input.counts.empty() && input.counts[row] == 0) continue;
    const u32 label = input.target.labels[row];
    rows_.push_back(static_cast<u16>(row | label << 15));
    n_positive += label;
  }
  const u32 n_rows = static_cast<u32>(rows_.size() - begin);
  member.tree.width = 2;
  member.tree.reserve(n_rows, 2);
  open({{.begin = static_cast<u32>(begin),
         .n_rows = n_rows,
         .n_positive = n_positive,
         .numbers = NodeNumbers(member.key, kRootKey)},
        {.member = static_cast<u32>(members_.size() - 1), .key = kRootKey}});
}

// Adds a node to its tree, which stays a leaf or is split in the turns to come.
void ExtraTreesColumns::open(OpenNode open) {
  Member& member = members_[open.place.member];
  const Node& node = open.node;
  const double value[2] = {static_cast<double>(node.n_rows - node.n_positive),
                           static_cast<double>(node.n_positive)};
  open.place.id = member.tree.add_node(node.n_rows, node.n_rows, 0.0, value);
  const bool is_pure = node.n_positive == 0 || node.n_positive == node.n_rows;
  if (!member.leaf_test.is_leaf(node.n_rows, open.place.depth, is_pure)) next_.push_back(open);
}

void ExtraTreesColumns::grow() {
  for (auto* rows : {&rows_, &right_rows_}) rows->resize(rows_.size() + kRowLanes);
  while (!next_.empty()) {
    take_nodes();
    draw();
    sort_draws();
    search();
    settle();
  }
}

// The nodes of a turn: all that are open, as long as what they draw is not too much to keep.
void ExtraTreesColumns::take_nodes() {
  nodes_.clear();
  places_.clear();
  std::size_t n_draws = 0;
  for (; !next_.empty() && n_draws < kMostDraws; next_.pop_back()) {
    nodes_.push_back(next_.back().node);
    places_.push_back(next_.back().place);
    n_draws += std::max(members_[places_.back().member].n_wanted, kLateDraws);
  }
}

void ExtraTreesColumns::draw() {
  draws_.clear();
  drawn_features_.clear();
  for (u32 k = 0; k < nodes_.size(); ++k) draw_features(k);
}

// Draws so many more features as a node wants in this turn.
void ExtraTreesColumns::draw_features(u32 number) {
  const Node& node = nodes_[number];
  Place& place = places_[number];
  const Member& member = members_[place.member];
  const u32 n_pool = count_pool(member), n_before = place.n_drawn;
  const bool is_late = n_before >= member.n_wanted;
  u32 n_drawn = member.n_wanted;
  if (is_late) {
    n_drawn = std::min(n_pool, n_before + kLateDraws);
  } else if (node.n_rows <= kFewForPure) {
    n_drawn = std::min(n_drawn, n_before + (n_before == 0 ? kFirstDraws : kMoreDraws));
  }
  // As FeatureSampler has it: draws swap places of a list, which is put back in order at the end.
  swaps_.resize(n_drawn);
  for (u32 k = 0; k < n_drawn; ++k)
    swaps_[k] = k + scale_below(node.numbers.at(Purpose::features, k), n_pool - k);
  for (u32 k = 0; k < n_drawn; ++k) std::swap(order_[k], order_[swaps_[k]]);
  const std::size_t first = draws_.size();
  draws_.resize(first + n_drawn - n_before);
  drawn_features_.resize(draws_.size());
  for (u32 k = n_before; k < n_drawn; ++k) {
    const u32 at = order_[k];
    drawn_features_[first + k - n_before] = member.pool.empty() ? at : member.pool[at];
    draws_[first + k - n_before] = {number, (k + 1) | (is_late ? kLate : 0)};
  }
  for (u32 k = n_drawn; k-- > 0;) std::swap(order_[k], order_[swaps_[k]]);
  place.n_drawn = n_drawn;
}

// By feature.
void ExtraTreesColumns::sort_draws() {
  std::fill(starts_.begin(), starts_.end(), 0u);
  for (const u32 feature : drawn_features_) ++starts_[feature];
  u32 end = 0;
  for (u32& start : starts_) start = end += start;
  sorted_.resize(draws_.size());
  for (std::size_t k = draws_.size(); k-- > 0;) sorted_[--starts_[drawn_features_[k]]] = draws_[k];
}

// Some lines of the column that comes next, and one of the ends of its bins.
[[gnu::always_inline]] inline void ExtraTreesColumns::prefetch_some() {
  if (coming_ >= n_coming_) return;
  __builtin_prefetch(coming_column_ + coming_);
  __builtin_prefetch(coming_column_ + coming_ + kLine);
  __builtin_prefetch(coming_ends_ + coming_ / 2);
  coming_ += 2 * kLine;
}

void ExtraTreesColumns::search() {
  const std::size_t many = data_.n_rows / kLine / 8 + 1;  // draws that pay for a whole column
  for (u32 feature = 0; feature < data_.n_cols; ++feature) {
    const u32 first = starts_[feature], last = starts_[feature + 1];
    coming_ = n_coming_ = 0;
    if (feature + 1 < data_.n_cols && starts_[feature + 2] - last >= many) {
      coming_column_ = data_.column(feature + 1);
      n_coming_ = data_.n_rows;
      coming_ends_ = ends_.bytes_of(feature + 1);
    }
    if (feature % kPollColumns == 0) watch_.poll();
    if (first == last) continue;
    search_column(feature, {sorted_.data() + first, last - first});
  }
}

// The cuts of a column in all nodes that drew it, some at a time: their bins are in the first
// cache until the rows left of the cuts are counted.
void ExtraTreesColumns::search_column(u32 feature, std::span<const Draw> draws) {
  const u8* const column = data_.column(feature);
  EndsTable::Query queries[EndsTable::kMostQueries];
  Cut cuts[EndsTable::kMostQueries];
  for (std::size_t k = 0; k < draws.size();) {
    std::size_t n = 0, used = 0;
    for (; k < draws.size() && n < EndsTable::kMostQueries && used < kBufferedVectors; ++k) {
      prefetch_some();
      if (k + kNodesBefore < draws.size())
        __builtin_prefetch(&nodes_[draws[k + kNodesBefore].node]);
      if (k + kRowsBefore < draws.size()) prefetch_rows(nodes_[draws[k + kRowsBefore].node]);
      const Node& node = nodes_[draws[k].node];
      const std::size_t n_vectors = count_vectors(node.n_rows);
      if (bins_.size() < used + n_vectors) bins_.resize(used + n_vectors);
      u32 lo, hi;
      gather(column, node, bins_.data() + used, lo, hi);
      if (lo == hi) continue;
      queries[n] = {feature, lo, hi, node.numbers.at(Purpose::threshold, feature), 0};
      cuts[n++] = {draws[k], static_cast<u32>(used), 0, 0, 0.0};
      used += n_vectors;
    }
    ends_.answer_near({queries, n});
    for (std::size_t c = 0; c < n; ++c) count_left(queries[c].cut, cuts[c]);
    for (std::size_t c = 0; c < n; ++c) take_cut(feature, queries[c].cut, cuts[c]);
  }
}

void ExtraTreesColumns::prefetch_rows(const Node& node) const {
  constexpr std::size_t kMostBytes = 1024;
  const u16* const rows = rows_.data() + node.begin;
  const std::size_t n_bytes = std::min(node.n_rows * sizeof(u16), kMostBytes);
  for (std::size_t at = 0; at < n_bytes; at += kLine)
    __builtin_prefetch(reinterpret_cast<const u8*>(rows) + at);
}

// The bins of a node's rows, and the smallest and the largest one.
void ExtraTreesColumns::gather(const u8* column, const Node& node, RowLanes* bins, u32& lo,
                               u32& hi) const {
  const u16* rows = rows_.data() + node.begin;
  const std::size_t last = count_vectors(node.n_rows) - 1;
  RowLanes least = RowLanes{} - 1, largest{};
  for (std::size_t v = 0; v < last; ++v) {
    const RowLanes lanes = gather_lanes(column, rows + v * kRowLanes);
    bins[v] = lanes;
    least = lanes < least ? lanes : least;
    largest = lanes > largest ? lanes : largest;
  }
  // Lanes behind the node hold rows of others.
  const RowLanes own = mask_last(node.n_rows);
  const RowLanes lanes = gather_lanes(column, rows + last * kRowLanes) | ~own;
  bins[last] = lanes;
  least = lanes < least ? lanes : least;
  const RowLanes high = lanes & own;
  largest = high > largest ? high : largest;
  lo = least_lane(least);
  hi = largest_lane(largest);
}

// Counts the rows left of a cut, which a bin behind the node's rows never is: it is the missing
// one. No branch waits for the score here.
void ExtraTreesColumns::count_left(u32 bin, Cut& cut) const {
  const Node& node = nodes_[cut.draw.node];
  const u16* const rows = rows_.data() + node.begin;
  const RowLanes* const bins = bins_.data() + cut.at;
  const RowLanes bar = RowLanes{} + static_cast<u8>(bin);
  const std::size_t n_vectors = count_vectors(node.n_rows);
  for (std::size_t first = 0; first < n_vectors; first += kCountedVectors) {
    const std::size_t last = std::min(n_vectors, first + kCountedVectors);
    RowLanes all{}, positive{};
    for (std::size_t v = first; v < last; ++v) {
      const RowLanes left = reinterpret_cast<RowLanes>(bins[v] <= bar);
      all -= left;
      positive -= left & find_positives(rows + v * kRowLanes);
    }
    cut.n_left += add_lanes(all);
    cut.n_positive += add_lanes(positive);
  }
  cut.score = Gini().score_binary(cut.n_left, cut.n_positive, node.n_rows, node.n_positive);
}

void ExtraTreesColumns::take_cut(u32 feature, u32 bin, const Cut& cut) {
  Node& node = nodes_[cut.draw.node];
  const bool is_first = cut.draw.priority < node.priority;
  const bool is_better = (cut.score > node.score) | ((cut.score == node.score) & is_first);
  if (!((cut.draw.priority & kLate) != 0 ? is_first : is_better)) return;
  node.score = cut.score;
  node.priority = cut.draw.priority;
  Place& place = places_[cut.draw.node];
  place.feature = feature;
  place.bin = bin;
  place.n_left = cut.n_left;
  place.left_positive = cut.n_positive;
}

bool ExtraTreesColumns::is_settled(std::size_t k) const {
  const Node& node = nodes_[k];
  const double enough =
      static_cast<double>(node.n_positive) * static_cast<double>(node.n_rows - node.n_positive);
  return node.priority != kNone &&
         (places_[k].n_drawn >= members_[places_[k].member].n_wanted || node.score >= enough);
}

// What the splits of some nodes to come read lies far apart: it is on its way before.
void ExtraTreesColumns::prefetch_splits(std::size_t k) const {
  constexpr std::size_t kBinsBefore = 12, kThresholdsBefore = 8, kBytesBefore = 4, kMostBytes = 32;
  const std::size_t n = nodes_.size();
  if (k + kBinsBefore < n && is_settled(k + kBinsBefore))
    __builtin_prefetch(&(*data_.bins)[places_[k + kBinsBefore].feature].thresholds);
  if (k + kThresholdsBefore < n && is_settled(k + kThresholdsBefore)) {
    const Place& place = places_[k + kThresholdsBefore];
    __builtin_prefetch(&(*data_.bins)[place.feature].thresholds[place.bin]);
    __builtin_prefetch(&rows_[nodes_[k + kThresholdsBefore].begin]);
  }
  if (k + kBytesBefore < n && is_settled(k + kBytesBefore)) {
    const Node& node = nodes_[k + kBytesBefore];
    const u8* const column = data_.column(places_[k + kBytesBefore].feature);
    for (std::size_t i = 0; i < std::min<std::size_t>(node.n_rows, kMostBytes); ++i)
      __builtin_prefetch(column + (rows_[node.begin + i] & (kRowBits)));
  }
}

// Nodes that have a split are split, others draw again.
void ExtraTreesColumns::settle() {
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    prefetch_splits(k);
    if (is_settled(k)) {
      split(nodes_[k], places_[k]);
    } else if (places_[k].n_drawn < count_pool(members_[places_[k].member])) {
      next_.push_back({nodes_[k], places_[k]});
    }
  }
}

void ExtraTreesColumns::split(const Node& node, const Place& place) {
  partition(node, place);
  const Member& member = members_[place.member];
  GrownTree& tree = members_[place.member].tree;
  GrownTree::Split& split = tree.splits[place.id];
  split.feature = place.feature;
  split.threshold = (*data_.bins)[place.feature].thresholds[place.bin];
  split.missing_left = 2 * place.n_left > node.n_rows;
  tree.left[place.id] = static_cast<u32>(tree.size());
  tree.right[place.id] = static_cast<u32>(tree.size() + 1);
  const u64 left_key = child_key(place.key, false), right_key = child_key(place.key, true);
  open({{.begin = node.begin,
         .n_rows = place.n_left,
         .n_positive = place.left_positive,
         .numbers = NodeNumbers(member.key, left_key)},
        {.member = place.member, .depth = place.depth + 1, .key = left_key}});
  open({{.begin = node.begin + place.n_left,
         .n_rows = node.n_rows - place.n_left,
         .n_positive = node.n_positive - place.left_positive,
         .numbers = NodeNumbers(member.key, right_key)},
        {.member = place.member, .depth = place.depth + 1, .key = right_key}});
}

// Moves the rows that go left before the others, both in their order.
void ExtraTreesColumns::partition(const Node& node, const Place& place) {
  const u8* const column = data_.column(place.feature);
  u16* const rows = rows_.data() + node.begin;
  u32 n_left = 0, n_right = 0;
  for (u32 i = 0; i < node.n_rows; ++i) {
    const u16 row = rows[i];
    const bool is_left = column[row & (kRowBits)] <= place.bin;
    rows[n_left] = row;
    right_rows_[n_right] = row;
    n_left += is_left, n_right += !is_left;
  }
  std::copy_n(right_rows_.data(), n_right, rows + n_left);
}

}  // namespace committee
