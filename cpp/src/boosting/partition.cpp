// Steps of a tree's growth: the rows of several leaves, partitioned by the leaves' best splits.
#include "split/partition.hpp"

#include <bit>

#include "base/x86_vectors.hpp"
#include "boosting/local_leaf_rows.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

// Updates of a histogram that take as long as moving a row to its side.
constexpr double kUpdatesPerMove = 4.0;
// Work, in rows that are moved, which is worth a thread: with less a leaf's rows are one thread's,
// and need no histogram of a part of them.
constexpr double kLeastWorkOfBlock = 16'384.0;
// With so much work for each thread a step costs far more than threads that wait for one another at
// its end, and leaves whose time has not come are left alone: some would be split in vain. Of
// leaves with less work there are a few for each thread, because some take longer than others. (16
// threads, a million rows, 255 leaves: 17 steps a tree where an eighth of this makes 70, for 0.1 %
// more rows.)
constexpr double kEnoughWork = 131'072.0;
constexpr std::size_t kLeavesPerThread = 2;
// Blocks for each thread: one that comes late, or is slow, leaves some of its share to the others.
// With more of them more parts of histograms are at work at once.
constexpr std::size_t kStepBlocks = 3;

// The items that go left come first, the others last and in reverse order.
template <class GoesLeft>
std::size_t divide_items(const RowItem* items, std::size_t n, RowItem* to, GoesLeft&& goes_left) {
  RowItem* right = to + n;
  std::size_t n_left = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const RowItem item = items[i];
    const std::size_t left = goes_left(item.row);
    to[n_left] = item;
    right[-1] = item;  // where it does not belong the next item is written over it
    n_left += left;
    right -= 1 - left;
  }
  return n_left;
}

#if defined(COMMITTEE_AVX512)
static_assert(sizeof(RowItem) == sizeof(u32));
constexpr std::size_t kItemsAtOnce = 16;

// Rows whose bin, plus `offset` as a byte, is at most `most` go left.
struct BinTest {
  const u8* column;
  u8 offset, most;
  bool operator()(u32 row) const { return static_cast<u8>(column[row] + offset) <= most; }
};

// Where sixteen items at a time go, those that go left by a bit each. What lies behind those of a
// side is written over by the next ones.
//
// In place, and to the spare list those that go right: partition_items.
struct ItemsInPlace {
  static constexpr std::size_t kRoom = kItemsAtOnce;  // items that are yet to come before a move
  RowItem *items, *spare;
  std::size_t n_left = 0;
  COMMITTEE_AVX512 void move(std::size_t i, __m512i rows, __mmask16 left) {
    _mm512_storeu_si512(items + n_left, _mm512_maskz_compress_epi32(left, rows));
    _mm512_storeu_si512(spare + (i - n_left),
                        _mm512_maskz_compress_epi32(static_cast<__mmask16>(~left), rows));
    n_left += static_cast<std::size_t>(std::popcount(lanes_of(left)));
  }
  // The last ones, and what goes right behind what goes left.
  template <class GoesLeft>
  std::size_t finish(std::size_t i, std::size_t n, const GoesLeft& goes_left) {
    for (; i < n; ++i) {
      const RowItem item = items[i];
      items[n_left] = item;
      spare[i - n_left] = item;
      n_left += goes_left(item.row);
    }
    if (n_left < n) std::memcpy(items + n_left, spare, (n - n_left) * sizeof(RowItem));
    return n_left;
  }
};

// To another list from both of its ends: divide_items. Its middle takes all sixteen twice.
struct ItemsApart {
  static constexpr std::size_t kRoom = 2 * kItemsAtOnce;
  const RowItem* items;
  RowItem *to, *right;  // the first of those that went right
  std::size_t n_left = 0;
  COMMITTEE_AVX512 void move(std::size_t, __m512i rows, __mmask16 left) {
    const __m512i backwards =
        _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    _mm512_storeu_si512(to + n_left, _mm512_maskz_compress_epi32(left, rows));
    _mm512_storeu_si512(
        right - kItemsAtOnce,
        _mm512_permutexvar_epi32(backwards,
                                 _mm512_maskz_compress_epi32(static_cast<__mmask16>(~left), rows)));
    const auto n = static_cast<std::size_t>(std::popcount(lanes_of(left)));
    n_left += n;
    right -= kItemsAtOnce - n;
  }
  template <class GoesLeft>
  std::size_t finish(std::size_t i, std::size_t n, const GoesLeft& goes_left) {
    return n_left + divide_items(items + i, n - i, to + n_left, goes_left);
  }
};

// Two stores for sixteen items. Their bins are read one by one, since processors that gather safely
// do so slowly.
template <class Sides, class GoesLeft>
COMMITTEE_AVX512 std::size_t move_items(Sides sides, std::size_t n, const GoesLeft& goes_left) {
  std::size_t i = 0;
  for (; i + Sides::kRoom <= n; i += kItemsAtOnce) {
    u32 left = 0;
#pragma GCC unroll 16
    for (std::size_t k = 1; k <= kItemsAtOnce; ++k)  // from the last on
      left = 2 * left + static_cast<u32>(goes_left(sides.items[i + kItemsAtOnce - k].row));
    sides.move(i, _mm512_loadu_si512(sides.items + i), static_cast<__mmask16>(left));
  }
  return sides.finish(i, n, goes_left);
}

// Items whose rows are tested together, and how many rows of the column there may be for each of
// them: of fewer, all of these rows are tested at a cost below that of sixteen bytes from anywhere.
constexpr std::size_t kMarkedItems = 1024, kMostRowsPerItem = 6;
constexpr std::size_t kMarkedAhead = 4096;  // rows whose bins are fetched before they are needed

// A bit for each of n rows from `first` on: whether it goes left.
COMMITTEE_AVX512 void mark_left(const BinTest& test, std::size_t first, std::size_t n, u64* bits) {
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(test.offset)),
                most = _mm512_set1_epi8(static_cast<char>(test.most));
  for (std::size_t i = 0; i < n; i += 64) {
    const __mmask64 present = n - i < 64 ? ~u64{0} >> (64 - (n - i)) : ~u64{0};
    prefetch(test.column + first + i + kMarkedAhead);  // pages end sooner
    const __m512i bins = _mm512_maskz_loadu_epi8(present, test.column + first + i);
    bits[i / 64] = _mm512_cmple_epu8_mask(_mm512_add_epi8(bins, offset), most);
  }
}

// The bits of sixteen ascending rows, of which the last is less than 504 behind the first, from the
// 512 bits at hand.
COMMITTEE_AVX512 __mmask16 take_bits(const u64* bits, __m512i rows, u32 first) {
  const u32 byte = (static_cast<u32>(_mm512_cvtsi512_si32(rows)) - first) / 8;
  const __m512i at = _mm512_sub_epi32(rows, _mm512_set1_epi32(static_cast<int>(first + 8 * byte)));
  const __m512i near = _mm512_loadu_si512(reinterpret_cast<const u8*>(bits) + byte);
  const __m512i words = _mm512_permutexvar_epi32(_mm512_srli_epi32(at, 5), near);
  return _mm512_test_epi32_mask(_mm512_rorv_epi32(words, at), _mm512_set1_epi32(1));
}

// The bytes of sixteen rows from anywhere, compared at once.
COMMITTEE_AVX512 __mmask16 test_bytes(const BinTest& test, const RowItem* items) {
  const auto pick = [&](int k) { return static_cast<char>(test.column[items[k].row]); };
  const __m128i bins =
      _mm_setr_epi8(pick(0), pick(1), pick(2), pick(3), pick(4), pick(5), pick(6), pick(7), pick(8),
                    pick(9), pick(10), pick(11), pick(12), pick(13), pick(14), pick(15));
  return _mm_cmple_epu8_mask(_mm_add_epi8(bins, _mm_set1_epi8(static_cast<char>(test.offset))),
                             _mm_set1_epi8(static_cast<char>(test.most)));
}

// The same by a column of bytes. Where a leaf has many of the rows of a stretch, all of these are
// tested, and a bit each is picked.
template <class Sides>
COMMITTEE_AVX512 std::size_t move_by_bins(Sides sides, std::size_t n, const BinTest& test) {
  u64 bits[kMarkedItems * kMostRowsPerItem / 64 + 8];  // as many are read from any byte on
  std::size_t i = 0;
  while (i + Sides::kRoom <= n) {
    const std::size_t n_some =
        std::min(kMarkedItems, n - i - (Sides::kRoom - kItemsAtOnce)) / kItemsAtOnce * kItemsAtOnce;
    const u32 first = sides.items[i].row;
    const std::size_t n_rows = sides.items[i + n_some - 1].row - first + 1;
    const bool marked = n_rows <= kMostRowsPerItem * n_some;
    if (marked) mark_left(test, first, n_rows, bits);
    for (const std::size_t end = i + n_some; i < end; i += kItemsAtOnce) {
      const RowItem* const items = sides.items + i;
      const __m512i rows = _mm512_loadu_si512(items);
      const bool near = items[kItemsAtOnce - 1].row - items[0].row < 504;
      sides.move(i, rows, marked && near ? take_bits(bits, rows, first) : test_bytes(test, items));
    }
  }
  return sides.finish(i, n, test);
}
#endif

}  // namespace

// Which side of a split a row goes to.
class LocalLeafRows::RowTest {
 public:
  RowTest(const BinnedMatrix& data, const BoostSplit& by)
      : split_bin_(by.split_bin), missing_left_(by.missing_left), categorical_(by.categorical) {
    const ColumnBins& bins = (*data.bins)[by.feature];
    if (categorical_ && bins.wide) {
      wide_ = data.wide[by.feature].data();
      left_codes_ = by.left_codes.data();
      return;
    }
    column_ = data.read_column(by.feature, room_);
    for (u32 code = 0; categorical_ && code < bins.n_bins; ++code)
      table_[code] = by.left_codes[code / 32] >> (code % 32) & 1u;
    table_[kMissingBin] = missing_left_;
  }
  // In place, both sides in their old order; returns how many go left.
  std::size_t partition(RowItem* rows, std::size_t n, RowItem* spare) const {
#if defined(COMMITTEE_AVX512)
    if (may_use(Instructions::avx512)) return move(ItemsInPlace{rows, spare}, n);
#endif
    return apply([&](auto&& goes_left) { return partition_items(rows, n, spare, goes_left); });
  }
  // Into another place, those that go right in reverse order.
  std::size_t divide(const RowItem* rows, std::size_t n, RowItem* to) const {
#if defined(COMMITTEE_AVX512)
    if (may_use(Instructions::avx512)) return move(ItemsApart{rows, to, to + n}, n);
#endif
    return apply([&](auto&& goes_left) { return divide_items(rows, n, to, goes_left); });
  }

 private:
  // use(goes_left), where goes_left(row) says it.
  template <class Use>
  std::size_t apply(Use&& use) const {
    const u8* const column = column_;
    const u32 split_bin = split_bin_;
    if (wide_)
      return use([this](u32 row) {
        const u32 code = wide_[row];
        return code == kMissingCode ? missing_left_
                                    : (left_codes_[code / 32] >> (code % 32) & 1u) != 0;
      });
    if (categorical_) {
      const u8* const table = table_;
      return use([=](u32 row) { return table[column[row]] != 0; });
    }
    // Missing is code 255: to the right of every split, or, one further, code 0 and to the left.
    if (!missing_left_) return use([=](u32 row) { return column[row] <= split_bin; });
    return use([=](u32 row) { return static_cast<u8>(column[row] + 1) <= split_bin + 1; });
  }

#if defined(COMMITTEE_AVX512)
  template <class Sides>
  std::size_t move(const Sides& sides, std::size_t n) const {
    if (wide_ || categorical_)
      return apply([&](auto&& goes_left) { return move_items(sides, n, goes_left); });
    const u8 offset = missing_left_ ? 1 : 0;
    return move_by_bins(sides, n, {column_, offset, static_cast<u8>(split_bin_ + offset)});
  }
#endif

  u32 split_bin_;
  bool missing_left_, categorical_;
  const u32* wide_ = nullptr;
  const u32* left_codes_ = nullptr;
  const u8* column_ = nullptr;
  u8 table_[kHistogramBins] = {};
  std::vector<u8> room_;
};

StepRules LocalLeafRows::step_rules() const {
  if (n_threads_ == 1) return {};
  const auto n = static_cast<std::size_t>(n_threads_);
  const double updates = static_cast<double>(records_.chosen_layout().n_bundles()) * width_;
  return {kLeavesPerThread * n, static_cast<double>(n) * kEnoughWork, updates / kUpdatesPerMove,
          true};
}

// Rows of a leaf, by their place in a list.
struct LocalLeafRows::RowsOfLeaf {
  std::size_t begin, end;
  double work_per_row = 1.0;
  double work() const { return work_per_row * static_cast<double>(end - begin); }
};

// Some rows of a leaf, which are one thread's.
struct LocalLeafRows::StepBlock {
  std::size_t split, begin, end;  // place in the list of rows
  double work;
  std::size_t turn;  // in its leaf
  bool alone;        // it has no other block
  SplitSums sums = {};
  std::size_t left_to = 0, right_to = 0;  // where its rows will be
};

// Cuts the rows of some leaves into blocks of about equal work.
std::vector<LocalLeafRows::StepBlock> LocalLeafRows::cut_lists(
    std::span<const RowsOfLeaf> lists) const {
  double total = 0.0;
  for (const RowsOfLeaf& list : lists) total += list.work();
  const double most =
      n_threads_ == 1
          ? total
          : std::max(kLeastWorkOfBlock, total / static_cast<double>(count_blocks(kStepBlocks)));
  std::vector<StepBlock> blocks;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    const auto [begin, end, per_row] = lists[s];
    const std::size_t n = end - begin;
    const double work = lists[s].work();
    const std::size_t n_blocks = work <= most ? 1 : static_cast<std::size_t>(work / most) + 1;
    for (std::size_t b = 0; b < n_blocks; ++b)
      blocks.push_back({s, begin + n * b / n_blocks, begin + n * (b + 1) / n_blocks,
                        work / static_cast<double>(n_blocks), b, n_blocks == 1});
  }
  return blocks;
}

// Partitions the rows of all blocks: in place those that are their leaf's only one, the others
// first into the scratch list, and when all are counted from there to where they belong. use(block,
// rows): looks at the rows of a block while they are in the cache, those that go left first.
template <class Use>
void LocalLeafRows::partition_blocks(std::span<StepBlock> blocks, const RowLists& lists,
                                     std::span<const std::unique_ptr<const RowTest>> tests,
                                     Use&& use) {
  // All threads but one take blocks from the last on: first those of leaves that are shared, of
  // every leaf one in turn, so that few threads at a time need parts of its histogram; then leaves
  // of one block, the largest first.
  std::vector<StepBlock*> order;
  for (StepBlock& block : blocks) order.push_back(&block);
  std::stable_sort(order.begin(), order.end(), [](const StepBlock* a, const StepBlock* b) {
    if (a->alone != b->alone) return a->alone;
    return a->alone ? a->work < b->work : a->turn < b->turn;
  });
  parallel_for(order.size(), n_threads_, [&](std::size_t b) {
    StepBlock& block = *order[b];
    RowItem* const rows = lists.rows + block.begin;
    RowItem* const scratch = lists.scratch + block.begin;
    const std::size_t n = block.end - block.begin;
    const RowTest& test = *tests[block.split];
    block.sums.n_left =
        block.alone ? test.partition(rows, n, scratch) : test.divide(rows, n, scratch);
    use(block, block.alone ? rows : scratch);
  });
  std::erase_if(order, [](const StepBlock* block) { return block->alone; });
  if (order.empty()) return;
  for (std::size_t b = 0, last = 0; b < blocks.size(); b = last) {
    std::size_t left_to = blocks[b].begin, right_to = left_to;
    for (; last < blocks.size() && blocks[last].split == blocks[b].split; ++last)
      right_to += blocks[last].sums.n_left;
    for (StepBlock& block : blocks.subspan(b, last - b)) {
      block.left_to = std::exchange(left_to, left_to + block.sums.n_left);
      block.right_to = right_to;
      right_to += block.end - block.begin - block.sums.n_left;
    }
  }
  parallel_for(order.size(), n_threads_, [&](std::size_t b) {
    const StepBlock& block = *order[b];
    RowItem* const from = lists.scratch + block.begin;
    RowItem* const middle = from + block.sums.n_left;
    std::copy(from, middle, lists.rows + block.left_to);
    std::reverse_copy(middle, lists.scratch + block.end, lists.rows + block.right_to);
  });
}

std::vector<std::unique_ptr<const LocalLeafRows::RowTest>> LocalLeafRows::make_tests(
    std::size_t n, FunctionView<const BoostSplit&(std::size_t)> split) const {
  std::vector<std::unique_ptr<const RowTest>> tests(n);
  const bool dear = shared_.data->entries != nullptr;  // columns have to be written out
  parallel_for(n, dear ? n_threads_ : 1, [&](std::size_t s) {
    tests[s] = std::make_unique<const RowTest>(*shared_.data, split(s));
  });
  return tests;
}

void LocalLeafRows::split_leaves(std::span<StepSplit> splits) {
  const StepRules rules = step_rules();
  std::vector<RowsOfLeaf> lists;
  for (const auto& [how, histogram, sums, parts] : splits)
    lists.push_back({range_of(how.leaf).begin, range_of(how.leaf).end,
                     how.built == Side::none ? 1.0 : rules.work_per_row(how.built_share)});
  std::vector<StepBlock> blocks = cut_lists(lists);
  step_parts_.clear();
  for (const StepSplit& split : splits) step_parts_.push_back({split.histogram, {}});
  n_parts_taken_ = 0;
  const auto tests = make_tests(
      splits.size(), [&](std::size_t s) -> const BoostSplit& { return *splits[s].how.by; });
  partition_blocks(
      blocks, {rows_.data(), scratch_.data()}, tests, [&](StepBlock& block, const RowItem* rows) {
        const std::size_t n_left = block.sums.n_left, n = block.end - block.begin;
        block.sums.left_weight = sum_row_weights({rows, n_left});
        const Side side = splits[block.split].how.built;
        if (side == Side::none) return;
        const bool is_left = side == Side::left;
        const RowsToAdd built{is_left ? rows : rows + n_left, 0, is_left ? n_left : n - n_left};
        i64* const part = take_part(step_parts_[block.split]);
        records_.add_rows(built, words(), part);
        give_part(step_parts_[block.split], part);
      });
  for (std::size_t s = 0; s < splits.size(); ++s) splits[s].parts = step_parts_[s].others;
  for (const StepBlock& block : blocks) {
    splits[block.split].sums.n_left += block.sums.n_left;
    splits[block.split].sums.left_weight += block.sums.left_weight;
  }
  set_children(splits);
}

void LocalLeafRows::set_children(std::span<const StepSplit> splits) {
  for (const StepSplit& split : splits) {
    Range parent = range_of(split.how.leaf);
    const std::size_t middle = parent.begin + split.sums.n_left;
    parent.left = split.how.left;
    parent.right = split.how.right;
    // Until rows that do not grow the tree are partitioned, they count as those of the right side.
    set_range(split.how.leaf, parent);
    set_range(split.how.left, {parent.begin, middle, parent.out_begin, parent.out_begin});
    set_range(split.how.right, {middle, parent.end, parent.out_begin, parent.out_end});
  }
}

void LocalLeafRows::split_held_out(std::span<const LeafSplit> splits) {
  if (n_held_out_ == 0) return;
  std::vector<RowsOfLeaf> lists;
  for (const LeafSplit& how : splits)
    lists.push_back({range_of(how.leaf).out_begin, range_of(how.leaf).out_end});
  std::vector<StepBlock> blocks = cut_lists(lists);
  const auto tests =
      make_tests(splits.size(), [&](std::size_t s) -> const BoostSplit& { return *splits[s].by; });
  partition_blocks(blocks, {held_out_.data(), out_scratch_.data()}, tests,
                   [](StepBlock&, const RowItem*) {});
  std::vector<std::size_t> n_left(splits.size(), 0);
  for (const StepBlock& block : blocks) n_left[block.split] += block.sums.n_left;
  for (std::size_t s = 0; s < splits.size(); ++s)
    ranges_[splits[s].left].out_end = ranges_[splits[s].right].out_begin =
        lists[s].begin + n_left[s];
}

}  // namespace committee
