// Steps of a tree's growth: the rows of several leaves, partitioned by the leaves' best splits.
#include "split/partition.hpp"

#include "boosting/local_leaf_rows.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

// Rows that are worth a thread: of fewer each leaf's are one thread's.
constexpr std::size_t kLeastBlock = 4096;
// With so many rows for each thread a step costs far more than what waking the threads does, and
// leaves whose time has not come are left alone: some of them would be split in vain.
constexpr std::size_t kEnoughRows = 4096;

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

 private:
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
  return {n, n * kEnoughRows, true};
}

// Some rows of a leaf, which are one thread's.
struct LocalLeafRows::StepBlock {
  std::size_t split, begin, end;  // place in the list of rows
  i64* histogram;                 // of the child that is wanted
  bool alone;                     // the leaf has no other block
  SplitSums sums = {};
  std::size_t left_to = 0, right_to = 0;  // where its rows will be
};

// Blocks of about equal size, and of each split the parts of its histogram: those of all of its
// blocks but the first.
std::vector<LocalLeafRows::StepBlock> LocalLeafRows::cut_step(std::span<StepSplit> splits) {
  std::size_t n_rows = 0;
  for (const StepSplit& split : splits) n_rows += range_of(split.how.leaf).size();
  const std::size_t most =
      n_threads_ == 1 ? n_rows
                      : std::max(kLeastBlock, n_rows / static_cast<std::size_t>(n_threads_) + 1);
  std::vector<StepBlock> blocks;
  std::vector<std::size_t> n_parts(splits.size(), 0);
  std::size_t n_used = 0;
  for (std::size_t s = 0; s < splits.size(); ++s) {
    const Range range = range_of(splits[s].how.leaf);
    const std::size_t n_blocks = std::max<std::size_t>(1, (range.size() + most - 1) / most);
    const bool built = splits[s].how.built != Side::none;
    for (std::size_t b = 0; b < n_blocks; ++b) {
      i64* histogram = built ? splits[s].histogram : nullptr;
      if (built && b > 0) histogram = part_histogram(n_used + n_parts[s]++);
      blocks.push_back({s, range.begin + range.size() * b / n_blocks,
                        range.begin + range.size() * (b + 1) / n_blocks, histogram, n_blocks == 1});
    }
    n_used += n_parts[s];
  }
  for (std::size_t s = 0, first = 0; s < splits.size(); first += n_parts[s++])
    splits[s].parts = std::span(thread_histograms_).subspan(first, n_parts[s]);
  return blocks;
}

i64* LocalLeafRows::part_histogram(std::size_t part) {
  while (thread_histograms_.size() <= part)
    thread_histograms_.push_back(
        thread_buffers_.emplace_back(std::max<std::size_t>(1, n_entries_)).data());
  return thread_histograms_[part];
}

// Partitions the rows of a block: in place where it is its leaf's only one, else into the scratch
// list. Those of the wanted child are added to its histogram while they are in the cache.
void LocalLeafRows::split_block(const RowTest& test, Side built, StepBlock& block) {
  RowItem* const rows = rows_.data() + block.begin;
  RowItem* const scratch = scratch_.data() + block.begin;
  const std::size_t n = block.end - block.begin;
  const std::size_t n_left = test.apply([&](auto&& goes_left) {
    return block.alone ? partition_items(rows, n, scratch, goes_left)
                       : divide_items(rows, n, scratch, goes_left);
  });
  const RowItem* const from = block.alone ? rows : scratch;
  block.sums = {n_left, sum_row_weights({from, n_left})};
  if (built == Side::none) return;
  std::fill_n(block.histogram, n_entries_, i64{0});
  if (built == Side::left) {
    add_listed(from, n_left, block.histogram);
  } else {
    add_listed(from + n_left, n - n_left, block.histogram);
  }
}

// From the scratch list to where the rows belong.
void LocalLeafRows::place_block(const StepBlock& block) {
  const RowItem* const from = scratch_.data() + block.begin;
  const std::size_t n = block.end - block.begin, n_left = block.sums.n_left;
  std::copy_n(from, n_left, rows_.data() + block.left_to);
  std::reverse_copy(from + n_left, from + n, rows_.data() + block.right_to);
}

void LocalLeafRows::split_leaves(std::span<StepSplit> splits) {
  std::vector<StepBlock> blocks = cut_step(splits);
  std::vector<std::unique_ptr<const RowTest>> tests(splits.size());
  const bool dear = shared_.data->entries != nullptr;  // columns have to be written out
  parallel_for(splits.size(), dear ? n_threads_ : 1, [&](std::size_t s) {
    tests[s] = std::make_unique<const RowTest>(*shared_.data, *splits[s].how.by);
  });
  // The largest are begun first: all threads but one take blocks from the last on.
  std::vector<StepBlock*> order;
  for (StepBlock& block : blocks) order.push_back(&block);
  std::stable_sort(order.begin(), order.end(), [](const StepBlock* a, const StepBlock* b) {
    return a->end - a->begin < b->end - b->begin;
  });
  parallel_for(order.size(), n_threads_, [&](std::size_t b) {
    split_block(*tests[order[b]->split], splits[order[b]->split].how.built, *order[b]);
  });
  for (const StepBlock& block : blocks) {
    splits[block.split].sums.n_left += block.sums.n_left;
    splits[block.split].sums.left_weight += block.sums.left_weight;
  }
  set_children(splits);
  std::erase_if(order, [](const StepBlock* block) { return block->alone; });
  if (order.empty()) return;
  std::size_t left_to = 0, right_to = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    StepBlock& block = blocks[b];
    if (b == 0 || blocks[b - 1].split != block.split) {
      left_to = block.begin;
      right_to = block.begin + splits[block.split].sums.n_left;
    }
    block.left_to = left_to;
    block.right_to = right_to;
    left_to += block.sums.n_left;
    right_to += block.end - block.begin - block.sums.n_left;
  }
  parallel_for(order.size(), n_threads_, [&](std::size_t b) { place_block(*order[b]); });
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
  parallel_for(splits.size(), n_threads_, [&](std::size_t s) {
    const LeafSplit& how = splits[s];
    const Range& parent = ranges_[how.leaf];
    const RowTest test(*shared_.data, *how.by);
    const std::size_t n_left = test.apply([&](auto&& goes_left) {
      return partition_items(held_out_.data() + parent.out_begin, parent.out_end - parent.out_begin,
                             out_scratch_.data() + parent.out_begin, goes_left);
    });
    ranges_[how.left].out_end = ranges_[how.right].out_begin = parent.out_begin + n_left;
  });
}

}  // namespace committee
