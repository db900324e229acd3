// Random cuts of one column in the nodes of extra-trees of two classes that drew it, for
// extra_trees_columns.hpp.
#pragma once
#include <vector>

#include "base/rng.hpp"
#include "base/u8x16.hpp"
#include "base/x86_vectors.hpp"
#include "committee/binning.hpp"
#include "tree/ends_table.hpp"

namespace committee {

// A node without a split so far: what all draws look at, in one line of the cache. Its rows are
// rows[begin .. begin + n_rows), the positive ones first.
struct alignas(64) ColumnNode {
  static constexpr u32 kNone = ~u32{0};
  u32 begin, n_rows, n_positive;
  u32 priority = kNone;  // of the best cut so far; kNone: there is none
  double score = -1.0;   // of that cut
  NodeNumbers numbers;
  // The cut itself. Which rows are left of it is a bit a row, so that they are partitioned without
  // another look at the column: a word, or for more than 64 rows where the words begin.
  u64 left = 0;
  u32 feature = 0, bin = 0, n_left = 0, left_positive = 0;
  u32 sets = kNone;  // where its sets begin, if it has some; the words of the cut are a set then
};

// A node that has drawn a feature, as the priority-th. kLate: nothing varied among those that it
// wanted, and the next one that varies wins.
struct ColumnDraw {
  static constexpr u32 kLate = u32{1} << 31;
  u32 node, priority;
};

class ColumnCuts {
 public:
  // Rows and nodes of a turn.
  struct Turn {
    const u16* rows = nullptr;  // and a vector of others behind the last node
    ColumnNode* nodes = nullptr;
    const u64* sets = nullptr;
    u64* left = nullptr;
  };

  ColumnCuts(const BinnedMatrix& data, const EndsTable& ends);
  // Whether a node of so many rows is looked at by sets, which have a bit for every row of the
  // table: one of its rows, and one of the positive ones.
  bool wants_sets(u32 n_rows) const {
    return is_wide_ && n_rows > 64 && n_rows * kShare >= data_.n_rows;
  }
  std::size_t count_set_words() const { return (data_.n_rows + 63) / 64; }
  // Words for the rows left of a cut.
  std::size_t count_left_words(u32 n_rows) const {
    return n_rows <= 64 ? 0 : wants_sets(n_rows) ? count_set_words() : (n_rows + 63) / 64;
  }
  // Both sets, one behind the other.
  void write_sets(std::span<const u16> rows, u32 n_positive, u64* sets);

  void begin(const Turn& turn) { turn_ = turn; }
  // The cuts of a feature in the nodes that drew it, while that column is on its way which comes
  // next; kNone: none.
  void search(u32 feature, std::span<const ColumnDraw> draws, u32 coming);
  // Moves the rows that go left before the others, both in their order; room for as many.
  void partition(ColumnNode& node, u16* rows, u16* room) const;

 private:
  // Rows of a table over those of a node that has sets, at most: from four to ten it makes no
  // difference (measured).
  static constexpr std::size_t kShare = 6;
  struct Plain;
  struct Wide;
  // Cuts that are found together: their bins are in the first cache until the rows left of them are
  // counted.
  struct Batch {
    static constexpr std::size_t kMost = EndsTable::kMostQueries, kVectors = 512;
    std::size_t n = 0;
    EndsTable::Query queries[kMost];
    ColumnDraw draws[kMost];
    u32 at[kMost];  // where the bins begin
  };

  template <class Form>
  void search_in(u32 feature, std::span<const ColumnDraw> draws);
  template <class Form>
  std::size_t gather_some(u32 feature, std::span<const ColumnDraw> draws);
  template <class Form>
  void take_cuts(u32 feature);
#if defined(COMMITTEE_AVX512)
  COMMITTEE_AVX512 void search_wide(u32 feature, std::span<const ColumnDraw> draws);
  COMMITTEE_AVX512 void partition_wide(ColumnNode& node, u16* rows, u16* room) const;
#endif
  u64* left_of(ColumnNode& node) const {
    return node.n_rows <= 64 ? &node.left : turn_.left + node.left;
  }
  void prefetch_some();
  void prefetch_rows(const ColumnNode& node) const;

  const BinnedMatrix& data_;
  const EndsTable& ends_;
  const bool is_wide_;
  Turn turn_;
  const u8* column_ = nullptr;
  Batch batch_;
  AlignedBuffer<RowLanes> bins_;
  std::vector<u8> marks_;  // of rows, while sets are written
  // The column that comes next, the ends of its bins, and how many of its bytes were prefetched.
  const u8 *coming_column_ = nullptr, *coming_ends_ = nullptr;
  std::size_t coming_ = 0, n_coming_ = 0;
};

}  // namespace committee
