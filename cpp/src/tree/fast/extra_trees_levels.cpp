#include "tree/fast/extra_trees_levels.hpp"

#include <algorithm>

#include "committee/criteria/gini.hpp"
#include "tree/fast/extra_trees_wide_lanes.hpp"

namespace committee {

namespace {

constexpr std::size_t kRowsAhead = 32;     // whose records are on their way
constexpr std::size_t kLaneVectors = 255;  // that a byte can count
constexpr std::size_t kShare = 3;          // of a level that a set fills at least

// Columns that are read side by side, so that what all of them want is read once.
template <std::size_t kColumns>
void find_ends(const RowLanes* const* columns, const RowLanes* set, std::size_t n_vectors, u32* los,
               u32* his) {
  RowLanes lo[kColumns], hi[kColumns];
  for (std::size_t k = 0; k < kColumns; ++k) lo[k] = RowLanes{} - 1, hi[k] = RowLanes{};
  for (std::size_t v = 0; v < n_vectors; ++v) {
    const RowLanes rows = set[v];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kColumns; ++k) {
      const RowLanes low = columns[k][v] | ~rows, high = columns[k][v] & rows;
      lo[k] = low < lo[k] ? low : lo[k];
      hi[k] = high > hi[k] ? high : hi[k];
    }
  }
  for (std::size_t k = 0; k < kColumns; ++k)
    los[k] = least_lane(lo[k]), his[k] = largest_lane(hi[k]);
}

// Rows of a set left of the cut of each column, and the positive ones among them.
template <std::size_t kColumns>
void count_left(const RowLanes* const* columns, const RowLanes* set, const RowLanes* positives,
                std::size_t n_vectors, const u32* cuts, u32* n_rows, u32* n_positive) {
  for (std::size_t k = 0; k < kColumns; ++k) n_rows[k] = n_positive[k] = 0;
  for (std::size_t first = 0; first < n_vectors; first += kLaneVectors) {
    RowLanes all[kColumns], positive[kColumns];
    for (std::size_t k = 0; k < kColumns; ++k) all[k] = positive[k] = RowLanes{};
    const std::size_t last = std::min(n_vectors, first + kLaneVectors);
    for (std::size_t v = first; v < last; ++v) {
      const RowLanes rows = set[v], kept = positives[v];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kColumns; ++k) {
        const RowLanes left = find_left(columns[k][v], rows, cuts[k]);
        all[k] -= left;
        positive[k] -= left & kept;
      }
    }
    for (std::size_t k = 0; k < kColumns; ++k) {
      n_rows[k] += add_lanes(all[k]);
      n_positive[k] += add_lanes(positive[k]);
    }
  }
}

// Calls use with a number of columns that is known when it is compiled.
template <class Use>
void with_columns(std::size_t n, Use&& use) {
  static_assert(kThresholdsTogether == 8);
  switch (n) {
    case 1:
      return use.template operator()<1>();
    case 2:
      return use.template operator()<2>();
    case 3:
      return use.template operator()<3>();
    case 4:
      return use.template operator()<4>();
    case 5:
      return use.template operator()<5>();
    case 6:
      return use.template operator()<6>();
    case 7:
      return use.template operator()<7>();
    default:
      return use.template operator()<8>();
  }
}

u32 name_row(const BinaryAccumulator::Item& item) {
  return item.row | (item.pack >> 16 != 0 ? kPositive : 0);
}

// Some rows at a time: missing values are often found soon.
bool has_missing(const ExtraTreesRecords& records, std::span<const BinaryAccumulator::Item> items) {
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t first = 0; first < items.size(); first += kAtOnce) {
    RowLanes missing{};
    for (std::size_t i = first; i < std::min(items.size(), first + kAtOnce); ++i) {
      const u8* record = records.find(items[i].row);
      for (std::size_t byte = 0; byte < records.stride; byte += kRowLanes)
        missing |=
            reinterpret_cast<RowLanes>(load_lanes(record + byte) == RowLanes{} + kMissingBin);
    }
    if (largest_lane(missing) != 0) return true;
  }
  return false;
}

}  // namespace

// The best of the cuts that were looked at; equal ones go to the feature that was drawn first.
struct ExtraTreesLevels::Best {
  double score = -std::numeric_limits<double>::infinity();
  ExtraTreesSide side{};

  bool found() const { return side.n_rows > 0; }
  ExtraTreesSide left() const { return side; }
  // An empty side has no score (0 / 0), which is not larger.
  void take(const ExtraTreesNode& node, const ExtraTreesSide& other) {
    const double own =
        Gini().score_binary(other.n_rows, other.n_positive, node.n_rows, node.n_positive);
    if (!(own > score)) return;
    score = own;
    side = other;
  }
};

bool ExtraTreesLevels::finish(const ExtraTreesNode& top, const ExtraTreesRecords& records,
                              std::span<const BinaryAccumulator::Item> items) {
  if (rules_->table->has_missing && has_missing(records, items)) return false;
  records_ = records;
  tree_.begin(items.size(), rules_->table->data->n_cols, top.depth);
  Node node;
  static_cast<ExtraTreesNode&>(node) = top;
  listed_.clear();
  const BinnedMatrix& data = *rules_->table->data;
  if (records.bytes == data.groups[0].bytes.data() && items.size() * kShare >= data.n_rows &&
      items.size() > ExtraTreesBlocks::kMostRows) {
    spread(node, items);
  } else {
    for (const BinaryAccumulator::Item& item : items) listed_.push_back(name_row(item));
    if (items.size() > ExtraTreesBlocks::kMostRows) fill(node);
  }
  grow_depth_first(
      *rules_, tree_, std::move(node), open_,
      [&](const Node& small) {
        watch_->poll();
        if (small.n_rows > ExtraTreesBlocks::kMostRows) return false;
        finish_listed(small);
        return true;
      },
      [&](Node& own, u32 id, Node& right) {
        if (own.set.empty()) fill(own);
        return split_node<Best>(
            *rules_, tree_, own, id, right,
            [&](std::span<const u8> features, const NodeNumbers& numbers, Best& best) {
              look_at(own, features, numbers, best);
            },
            [&](const ExtraTreesSide& best) { partition(own, best, right); });
      });
  return true;
}

// Grows the subtree of the last of the listed rows in a block.
void ExtraTreesLevels::finish_listed(const ExtraTreesNode& node) {
  const std::size_t first = listed_.size() - node.n_rows;
  const std::span<const u32> rows(listed_.data() + first, node.n_rows);
#if defined(COMMITTEE_AVX512)
  if (is_wide_) {
    wide_.finish(node, *rules_, records_, rows, tree_);
  } else {
    blocks_.finish(node, *rules_, records_, rows, tree_);
  }
#else
  blocks_.finish(node, *rules_, records_, rows, tree_);
#endif
  listed_.resize(first);
}

ExtraTreesLevels::Level& ExtraTreesLevels::open_level(const Node& node, std::size_t n_rows) {
  if (levels_.size() <= node.level) levels_.resize(node.level + 1);
  Level& level = levels_[node.level];
  level.n_rows = n_rows;
  // Whole groups of 64 rows; those beyond the rows are in no set.
  level.n_vectors = (n_rows + 63) / 64 * (64 / kRowLanes);
  if (level.positives.size() < level.n_vectors)
    level.positives = AlignedBuffer<RowLanes>(level.n_vectors);
  level.rows.resize(level.n_vectors * kRowLanes);
  return level;
}

// Makes most of the table's rows a set of them all: its columns need no copy.
void ExtraTreesLevels::spread(Node& node, std::span<const BinaryAccumulator::Item> items) {
  const BinnedMatrix& data = *rules_->table->data;
  Level& level = open_level(node, data.n_rows);
  level.columns = reinterpret_cast<const RowLanes*>(data.columns.data());
  level.step = data.column_stride / kRowLanes;
  node.set = AlignedBuffer<RowLanes>(level.n_vectors, RowLanes{});
  std::fill_n(level.positives.data(), level.n_vectors, RowLanes{});
  u8* const set = reinterpret_cast<u8*>(node.set.data());
  u8* const positives = reinterpret_cast<u8*>(level.positives.data());
  for (const BinaryAccumulator::Item& item : items) {
    set[item.row] = 255;
    level.rows[item.row] = name_row(item);
    positives[item.row] = static_cast<u8>(0 - (level.rows[item.row] >> 31));
  }
}

void ExtraTreesLevels::fill_columns(Level& level, RowLanes* columns) const {
  const u32* const rows = level.rows.data();
#if defined(COMMITTEE_AVX512)
  if (is_wide_)
    return fill_level_wide(records_, level.rows, columns, level.step, level.positives.data());
#endif
  for (std::size_t v = 0; v < level.n_vectors; ++v) {
    const std::size_t first = v * kRowLanes;
    for (std::size_t i = first + kRowsAhead;
         i < std::min(level.n_rows, first + kRowsAhead + kRowLanes); ++i)
      prefetch(records_.find(rows[i]));
    load_columns(records_, rows + first, [&](std::size_t feature, RowLanes lanes) {
      columns[feature * level.step + v] = lanes;
    });
    u8 positives[kRowLanes];
    for (std::size_t i = 0; i < kRowLanes; ++i)
      positives[i] = static_cast<u8>(0 - (rows[first + i] >> 31));
    level.positives[v] = load_lanes(positives);
  }
}

// Turns the last of the listed rows into a set of a level.
void ExtraTreesLevels::fill(Node& node) {
  const std::size_t n = node.n_rows;
  Level& level = open_level(node, n);
  // Columns that are a power of two apart would share their places in the cache.
  level.step = (level.n_vectors + 7) / 8 * 8 + 4;
  if (level.own_columns.size() < level.step * records_.stride)
    level.own_columns = AlignedBuffer<RowLanes>(level.step * records_.stride);
  RowLanes* const columns = level.own_columns.data();
  level.columns = columns;
  u32* const rows = level.rows.data();
  std::copy(listed_.end() - static_cast<std::ptrdiff_t>(n), listed_.end(), rows);
  std::fill(rows + n, rows + level.n_vectors * kRowLanes, rows[0]);
  fill_columns(level, columns);
  listed_.resize(listed_.size() - n);
  node.set = AlignedBuffer<RowLanes>(level.n_vectors, RowLanes{} - 1);
  u8* const bytes = reinterpret_cast<u8*>(node.set.data());
  std::fill(bytes + n, bytes + level.n_vectors * kRowLanes, u8{0});
}

void ExtraTreesLevels::look_at(const Node& node, std::span<const u8> features,
                               const NodeNumbers& numbers, Best& best) const {
  const Level& level = levels_[node.level];
  const RowLanes* set = node.set.data();
  const RowLanes* columns[kThresholdsTogether];
  for (std::size_t k = 0; k < features.size(); ++k)
    columns[k] = level.columns + features[k] * level.step;
  u32 n_rows[kThresholdsTogether], n_positive[kThresholdsTogether];
  ExtraTreesThresholds cuts;
  const auto find_all_ends = [&]<std::size_t kColumns>() {
#if defined(COMMITTEE_AVX512)
    if (is_wide_) return find_ends_wide<kColumns>(columns, set, level.n_vectors, cuts.lo, cuts.hi);
#endif
    find_ends<kColumns>(columns, set, level.n_vectors, cuts.lo, cuts.hi);
  };
  const auto count_all = [&]<std::size_t kColumns>() {
#if defined(COMMITTEE_AVX512)
    if (is_wide_)
      return count_left_wide<kColumns>(columns, set, level.positives.data(), level.n_vectors,
                                       cuts.cuts, n_rows, n_positive);
#endif
    count_left<kColumns>(columns, set, level.positives.data(), level.n_vectors, cuts.cuts, n_rows,
                         n_positive);
  };
  with_columns(features.size(), find_all_ends);
  cuts.draw(*rules_, features, numbers);
  with_columns(features.size(), count_all);
  for (std::size_t k = 0; k < features.size(); ++k)
    best.take(node, {features[k], cuts.cuts[k], n_rows[k], n_positive[k]});
}

bool ExtraTreesLevels::stays(const ExtraTreesNode& node, const Level& level) const {
  return node.n_rows > ExtraTreesBlocks::kMostRows && node.n_rows * kShare >= level.n_rows;
}

// Partitions the set of a node that has become its left child. What does not stay in the level is
// listed, the right side first: the left one is next.
void ExtraTreesLevels::partition(Node& node, const ExtraTreesSide& best, Node& right) {
  const Level& level = levels_[node.level];
  const RowLanes* column = level.columns + best.feature * level.step;
  right.level = node.level;
  right.set = AlignedBuffer<RowLanes>(level.n_vectors);
  for (std::size_t v = 0; v < level.n_vectors; ++v) {
    const RowLanes left = find_left(column[v], node.set[v], best.bin);
    right.set[v] = node.set[v] & ~left;
    node.set[v] = left;
  }
  for (Node* child : {&right, &node}) {
    if (!stays(*child, level)) list(*child, level);
  }
}

void ExtraTreesLevels::list_set(const Node& node, const Level& level, u32* to) const {
#if defined(COMMITTEE_AVX512)
  if (is_wide_) {
    list_set_wide(node.set.data(), level.n_vectors, level.rows.data(), to);
    return;
  }
#endif
  for (std::size_t v = 0; v < level.n_vectors; ++v)
    to = list_rows(node.set[v], level.rows.data() + v * kRowLanes, to);
}

void ExtraTreesLevels::list(Node& node, const Level& level) {
  if (!rules_->is_leaf(node.n_rows, node.n_positive, node.depth)) {
    const std::size_t first = listed_.size();
    listed_.resize(first + node.n_rows + kRowLanes);
    list_set(node, level, listed_.data() + first);
    listed_.resize(first + node.n_rows);
  }
  node.set = {};
  ++node.level;
}

}  // namespace committee
