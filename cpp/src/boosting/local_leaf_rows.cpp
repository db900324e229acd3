#include "boosting/local_leaf_rows.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "boosting/merged_rows.hpp"
#include "committee/boosting_plan.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

constexpr std::size_t kFillRows =
    512;  // rows between making their words and adding them to the histogram
// The same of rows with several words: their histogram is large, and each time goes through the
// cache.
constexpr std::size_t kFillVectors = 8192;
// Blocks of all rows for each thread, which has one part of the root's histogram for all of its
// own.
constexpr std::size_t kRootBlocks = 8;

}  // namespace

LocalLeafRows::LocalLeafRows(const SharedRows& shared, Records& records, u32 width, int n_threads)
    : shared_(shared),
      records_(records),
      width_(width),
      n_threads_(n_threads),
      most_entries_(records.layout().n_entries() * width),
      n_entries_(records.chosen_layout().n_entries() * width) {
  if (width_ > 1) vectors_ = VectorWords(shared.data->n_rows, width - 1);
  const std::vector<u32>& weights = shared.weights->values;
  if (std::count(weights.begin(), weights.end(), 0u) == 0) {
    choose_all_rows();
  } else {
    std::vector<u32> present;
    for (u32 row = 0; row < weights.size(); ++row)
      if (weights[row] > 0) present.push_back(row);
    choose_rows(std::move(present), {});
  }
  for (int t = 1; t < n_threads; ++t)
    thread_histograms_.push_back(
        thread_buffers_.emplace_back(std::max<std::size_t>(1, most_entries_)).data());
}

void LocalLeafRows::choose_all_rows() {
  all_ = true;
  sample_.clear();
  out_sample_.clear();
  reserve_rows();
}

void LocalLeafRows::choose_rows(std::vector<u32> sample, std::vector<u32> held_out) {
  all_ = false;
  sample_ = std::move(sample);
  out_sample_ = std::move(held_out);
  reserve_rows();
}

void LocalLeafRows::reserve_rows() {
  n_rows_ = all_ ? shared_.data->n_rows : sample_.size();
  n_held_out_ = out_sample_.size();
  if (rows_.size() < n_rows_) {
    rows_ = AlignedBuffer<RowItem>(n_rows_);
    scratch_ = AlignedBuffer<RowItem>(n_rows_);
  }
  if (held_out_.size() < n_held_out_) {
    held_out_ = AlignedBuffer<RowItem>(n_held_out_);
    out_scratch_ = AlignedBuffer<RowItem>(n_held_out_);
  }
}

std::size_t LocalLeafRows::bytes() const {
  return thread_histograms_.size() * most_entries_ * sizeof(i64) + vectors_.bytes() +
         (rows_.size() + scratch_.size() + held_out_.size() + out_scratch_.size()) *
             sizeof(RowItem) +
         residuals_.size() * sizeof(double);
}

void LocalLeafRows::set_range(u32 leaf, const Range& range) {
  if (ranges_.size() <= leaf) ranges_.resize(2 * leaf + 1);
  ranges_[leaf] = range;
}

std::span<const RowItem> LocalLeafRows::rows_of(u32 leaf) const {
  const Range range = range_of(leaf);
  return {rows_.data() + range.begin, range.size()};
}

std::span<const RowItem> LocalLeafRows::held_out_of(u32 leaf) const {
  const Range range = range_of(leaf);
  return {held_out_.data() + range.out_begin, range.out_end - range.out_begin};
}

u64 LocalLeafRows::sum_row_weights(std::span<const RowItem> rows) const {
  const std::vector<u32>& values = shared_.weights->values;
  if (values.empty()) return rows.size();
  u64 weight = 0;
  for (const RowItem& item : rows) weight += values[item.row];
  return weight;
}

const RecordLayout& LocalLeafRows::choose_columns(const ColumnChoice& choice) {
  records_.choose_columns(choice, sample_, n_threads_);
  n_entries_ = records_.chosen_layout().n_entries() * width_;
  return records_.chosen_layout();
}

// --- the root ---------------------------------------------------------------------------------

i64 LocalLeafRows::fill_root(const TreeStart& start, std::size_t begin, std::size_t end,
                             i64* histogram) {
  const u64 key = rounding_key(start.tree);
  const Gradients& gradients = *shared_.gradients;
  WordPlan plan = records_.words();
  plan.constant_hessian = gradients.facts().constant_hessian;
  if (width_ > 1) {
    vectors_.write(gradients, start.first_score, *shared_.weights, plan, key, begin, end);
    if (histogram) records_.add_rows({nullptr, begin, end - begin}, words(), histogram);
    return static_cast<i64>(end - begin);
  }
  const FixedGradientPair* const pairs = gradients.pairs(start.first_score);
  const auto write = [&](const auto* words) {
    if (histogram) {
      records_.write_and_add(begin, end, words, histogram);
    } else {
      records_.write_words(begin, end, words);
    }
  };
  i64 total;
  if (plan.narrow) {
    u32 words[kFillRows];
    total = make_narrow_words(pairs, *shared_.weights, plan, key, begin, end, words);
    write(words);
  } else {
    i64 words[kFillRows];
    total = make_words(pairs, *shared_.weights, plan, key, begin, end, words);
    write(words);
  }
  return total;
}

std::size_t LocalLeafRows::count_blocks(std::size_t per_thread) const {
  return n_threads_ == 1 ? 1 : per_thread * static_cast<std::size_t>(n_threads_);
}

i64* LocalLeafRows::part_histogram(std::size_t part) {
  while (thread_histograms_.size() <= part)
    thread_histograms_.push_back(
        thread_buffers_.emplace_back(std::max<std::size_t>(1, most_entries_)).data());
  return thread_histograms_[part];
}

i64* LocalLeafRows::take_part(HistogramParts& parts) {
  i64* part;
  {
    const std::lock_guard lock(parts_mutex_);
    if (!parts.free.empty()) {
      part = parts.free.back();
      parts.free.pop_back();
      return part;
    }
    part = parts.begun ? parts.others.emplace_back(part_histogram(n_parts_taken_++)) : parts.whole;
    parts.begun = true;
  }
  std::fill_n(part, n_entries_, i64{0});
  return part;
}

void LocalLeafRows::give_part(HistogramParts& parts, i64* part) {
  const std::lock_guard lock(parts_mutex_);
  parts.free.push_back(part);
}

// Words of all rows and, where all of them grow the tree, their list, histogram and sum.
i64 LocalLeafRows::fill_all(const TreeStart& start, i64* histogram) {
  const std::size_t n = shared_.data->n_rows, n_blocks = count_blocks(kRootBlocks);
  std::vector<i64> totals(n_blocks, 0);
  HistogramParts parts{histogram, {}};
  n_parts_taken_ = 0;
  parallel_for(n_blocks, n_threads_, [&](std::size_t block) {
    i64* const own = all_ && histogram ? take_part(parts) : nullptr;
    const std::size_t last = n * (block + 1) / n_blocks;
    const std::size_t at_once = width_ > 1 ? kFillVectors : kFillRows;
    for (std::size_t begin = n * block / n_blocks; begin < last; begin += at_once) {
      const std::size_t end = std::min(last, begin + at_once);
      const i64 total = fill_root(start, begin, end, own);
      if (!all_) continue;
      totals[block] += total;
      for (std::size_t i = begin; i < end; ++i) rows_[i].row = static_cast<u32>(i);
    }
    if (own) give_part(parts, own);
  });
  for (i64* const unused : partial_histograms().subspan(n_parts_taken_))
    std::fill_n(unused, n_entries_, i64{0});
  return std::accumulate(totals.begin(), totals.end(), i64{0});
}

i64 LocalLeafRows::add_sample(i64* histogram) {
  const std::size_t n_blocks = static_cast<std::size_t>(n_threads_);
  std::vector<i64> totals(n_blocks, 0);
  parallel_for(n_blocks, n_threads_, [&](std::size_t block) {
    const std::size_t begin = n_rows_ * block / n_blocks, end = n_rows_ * (block + 1) / n_blocks;
    for (std::size_t i = begin; i < end; ++i) rows_[i] = {sample_[i]};
    const std::size_t out_end = n_held_out_ * (block + 1) / n_blocks;
    for (std::size_t i = n_held_out_ * block / n_blocks; i < out_end; ++i)
      held_out_[i] = {out_sample_[i]};
    if (histogram) {
      i64* const own = block == 0 ? histogram : thread_histograms_[block - 1];
      std::fill_n(own, n_entries_, i64{0});
      records_.add_rows({rows_.data() + begin, 0, end - begin}, words(), own);
    }
    for (std::size_t i = begin; i < end; ++i)
      totals[block] += width_ > 1 ? 1 : records_.word(rows_[i].row);
  });
  return std::accumulate(totals.begin(), totals.end(), i64{0});
}

RootSums LocalLeafRows::describe_root(i64 total) {
  ranges_.clear();
  set_range(0, {0, n_rows_, 0, n_held_out_});
  return {n_rows_, sum_row_weights({rows_.data(), n_rows_}), total};
}

RootSums LocalLeafRows::open_root(const TreeStart& start, i64* histogram) {
  const i64 all = fill_all(start, histogram);
  return describe_root(all_ ? all : add_sample(histogram));
}

RootSums LocalLeafRows::reopen_root() {
  for (std::size_t i = 0; i < n_rows_; ++i) rows_[i].row = all_ ? static_cast<u32>(i) : sample_[i];
  return describe_root(0);
}

// Leaves that were split in vain; each has rows of its own. The deepest are merged first.
void LocalLeafRows::unsplit(std::span<const u32> leaves) {
  std::vector<std::vector<u32>> depths;
  const auto list_splits = [&](auto&& list, u32 leaf, std::size_t depth) -> void {
    const Range& range = range_of(leaf);
    if (range.left == range.right) return;
    if (depths.size() <= depth) depths.resize(depth + 1);
    depths[depth].push_back(leaf);
    list(list, range.left, depth + 1);
    list(list, range.right, depth + 1);
  };
  for (const u32 leaf : leaves) list_splits(list_splits, leaf, 0);
  for (const std::vector<u32>& depth : depths | std::views::reverse) merge_children(depth);
}

void LocalLeafRows::merge_children(std::span<const u32> leaves) {
  std::vector<ChildRows> lists;
  for (const u32 leaf : leaves) {
    Range& range = ranges_[leaf];
    const Range& left = ranges_[range.left];
    lists.push_back(
        {rows_.data() + range.begin, scratch_.data() + range.begin, left.size(), range.size()});
    lists.push_back({held_out_.data() + range.out_begin, out_scratch_.data() + range.out_begin,
                     left.out_end - left.out_begin, range.out_end - range.out_begin});
    range.left = range.right = 0;
  }
  merge_rows(lists, n_threads_);
}

// --- sums over the rows of a leaf -------------------------------------------------------------

void LocalLeafRows::add_rows(u32 leaf, i64* histogram) {
  const std::span<const RowItem> rows = rows_of(leaf);
  records_.add_rows({rows.data(), 0, rows.size()}, words(), histogram);
}

void LocalLeafRows::count_bins(u32 leaf, u32 feature, std::vector<u32>& counts,
                               std::vector<u64>& weights) {
  const ColumnEncoding& encoding = records_.layout().encoding(feature);
  const std::vector<u32>& values = shared_.weights->values;
  counts.assign(std::max<std::size_t>(kHistogramBins, encoding.n_bins + 1), 0);
  weights.assign(values.empty() ? 0 : counts.size(), 0);
  const auto count_rows = [&](auto&& bin_of) {
    for (const RowItem& item : rows_of(leaf)) ++counts[bin_of(item.row)];
    if (values.empty()) return;
    for (const RowItem& item : rows_of(leaf)) weights[bin_of(item.row)] += values[item.row];
  };
  if ((*shared_.data->bins)[feature].wide) {
    const u32* codes = shared_.data->wide[feature].data();
    count_rows([&](u32 row) { return codes[row] == kMissingCode ? encoding.n_bins : codes[row]; });
    return;
  }
  std::vector<u8> room;
  const u8* column = shared_.data->read_column(feature, room);
  count_rows([&](u32 row) { return column[row]; });
  if (!encoding.has_missing) return;
  counts[encoding.n_bins] = counts[kMissingBin];
  if (!weights.empty()) weights[encoding.n_bins] = weights[kMissingBin];
}

void LocalLeafRows::sum_levels(u32 leaf, u32 feature, std::vector<i64>& histogram) {
  const u32 n_levels = records_.layout().encoding(feature).n_bins;
  histogram.assign((n_levels + 1) * width_, 0);
  const u32* codes = shared_.data->wide[feature].data();
  for (const RowItem& item : rows_of(leaf)) {
    const u32 level = codes[item.row] == kMissingCode ? n_levels : codes[item.row];
    if (width_ == 1) {
      histogram[level] += records_.word(item.row);
    } else {
      const i64* const words = vectors_.row(item.row);
      for (u32 k = 0; k < width_; ++k) histogram[level * width_ + k] += words[k];
    }
  }
}

void LocalLeafRows::sum_vectors(u32 leaf, std::vector<i64>& totals) {
  totals.assign(width_, 0);
  for (const RowItem& item : rows_of(leaf)) {
    const i64* const words = vectors_.row(item.row);
    for (u32 k = 0; k < width_; ++k) totals[k] += words[k];
  }
}

}  // namespace committee
