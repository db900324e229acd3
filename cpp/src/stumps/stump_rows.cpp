// Rows and their weights: what a stump splits, and what the next round learns from.
#include "stumps/stump_rows.hpp"

namespace committee {

StumpWeights start_stump_weights(std::span<const double> weights, std::size_t n_rows) {
  StumpWeights start;
  start.total = static_cast<double>(n_rows);
  if (weights.empty()) return start;
  FixedWeights whole = fix_weights(weights, BoostedWeights::kUnitBits);
  if (whole.integral) {
    start.total = static_cast<double>(whole.total);
    start.units = std::move(whole.weights);  // empty: all one
    return start;
  }
  // Not multiples of anything: the weight itself is the level.
  const double heaviest = *std::max_element(weights.begin(), weights.end());
  start.levels.resize(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) start.levels[i] = weights[i] / heaviest;
  ExactSum sum;
  sum.add(start.levels);
  start.total = sum.round();
  return start;
}

void StumpLayout::place_bytes(const std::vector<ColumnBins>& bins) {
  n_apart = columns.size();
  plane_size = n_apart * kColumnSlots;
  for (std::size_t k = 0; k < n_apart; ++k) {
    const ColumnBins& own = bins[columns[k]];
    offsets.push_back(own.wide ? plane_size : k * kColumnSlots);
    if (own.wide) plane_size += own.n_bins + 1;
  }
}

StumpLayout::StumpLayout(const std::vector<ColumnBins>& bins) : columns(bins.size()) {
  for (u32 col = 0; col < bins.size(); ++col) columns[col] = col;
  place_bytes(bins);
}

StumpLayout::StumpLayout(const BinnedMatrix& data) : entries(data.entries.get()) {
  for (u32 col = 0; col < data.n_cols; ++col)
    if (data.has_bytes(col)) columns.push_back(col);
  place_bytes(*data.bins);
  if (!entries) return;
  slots = std::make_shared<const EntrySlots>(data);
  const std::span<const u32> listed = slots->columns(), starts = slots->starts();
  columns.insert(columns.end(), listed.begin(), listed.end());
  for (std::size_t k = 0; k < listed.size(); ++k) offsets.push_back(plane_size + starts[k]);
  plane_size += slots->n_slots() + 1;
}

StumpRows::StumpRows(const StumpInput& input, StumpWeights weights, int n_jobs)
    : data_(*input.data),
      presort_(input.presort),
      n_classes_(input.n_classes),
      threads_(n_jobs),
      layout_(*input.data),
      labels_(input.labels.begin(), input.labels.end()),
      scales_(n_classes_, 1.0),
      weights_(std::move(weights), input.data->n_rows),
      slots_(layout_.plane_size * n_classes_),
      leaf_of_row_(input.data->n_rows) {
  sort_by_class();
  data_.make_records(threads_.most);
  add_all();
}

void StumpRows::sort_by_class() {
  std::vector<std::size_t> next(n_classes_ + 1, 0);
  for (std::size_t i = 0; i < data_.n_rows; ++i) next[labels_[i] + 1] += weights_[i] > 0;
  for (u32 k = 0; k < n_classes_; ++k) next[k + 1] += next[k];
  for (u32 k = 0; k < n_classes_; ++k) {
    for (std::size_t j = next[k]; j < next[k + 1]; j += kChunkRows)
      chunks_.push_back({j, std::min(j + kChunkRows, next[k + 1]), k});
  }
  rows_.resize(next[n_classes_]);
  deltas_.resize(rows_.size());
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (weights_[i] == 0) continue;
    rows_[next[labels_[i]]++] = static_cast<u32>(i);
    n_units_ += weights_.units(i);
  }
  // In the order of the rows, so that chunks of several classes read the same records in turn.
  std::sort(chunks_.begin(), chunks_.end(),
            [&](const Chunk& a, const Chunk& b) { return rows_[a.begin] < rows_[b.begin]; });
  // Until a stump is grown all are in the left leaf.
  leaf_rows_[0] = rows_;
  leaf_rows_[1].resize(rows_.size());
  for (Chunk& chunk : chunks_) chunk.n_rows[0] = chunk.end - chunk.begin;
}

StumpLeaves StumpRows::assign(const Candidate& best) {
  const std::size_t n = data_.n_rows;
  u8* leaf = leaf_of_row_.data();
  n_leaves_ = best.found() ? 2 : 1;
  if (!best.found()) {
    std::fill_n(leaf, n, u8{0});
  } else if (best.categorical && bins(best.feature).wide) {
    std::vector<u8> side(bins(best.feature).n_bins + 1, 1);
    for (const u32 code : best.left_codes) side[code] = 0;
    side.back() = !best.missing_left;
    const u32* codes = data_.wide[best.feature].data();
    for (std::size_t i = 0; i < n; ++i)
      leaf[i] = side[std::min<std::size_t>(codes[i], side.size() - 1)];
  } else if (presort_ && !best.categorical) {
    const u32* rank = presort_->rank.data() + best.feature * n;
    const u32 cut = best.bin;
    const u8 missing = !best.missing_left;
    for (std::size_t i = 0; i < n; ++i)
      leaf[i] = rank[i] == kMissingCode ? missing : static_cast<u8>(rank[i] > cut);
  } else {
    std::vector<u8> room;
    const u8* const column = data_.read_column(best.feature, room);
    const u8 missing = !best.missing_left;
    if (best.categorical) {
      std::array<u8, kHistogramBins> side;
      side.fill(1);
      for (const u32 code : best.left_codes) side[code] = 0;
      side[kMissingBin] = missing;
      for (std::size_t i = 0; i < n; ++i) leaf[i] = side[column[i]];
    } else {
      const u8 cut = static_cast<u8>(best.bin);
      for (std::size_t i = 0; i < n; ++i)
        leaf[i] = column[i] == kMissingBin ? missing : static_cast<u8>(column[i] > cut);
    }
  }
  return part_leaves();
}

StumpLeaves StumpRows::part_leaves() {
  share_chunks([&](Chunk& chunk) {
    const std::span<const u32> rows(rows_.data() + chunk.begin, chunk.end - chunk.begin);
    chunk.n_rows[1] = part_rows(rows, leaf_of_row_, leaf_rows_[0].data() + chunk.begin,
                                leaf_rows_[1].data() + chunk.begin);
    chunk.n_rows[0] = rows.size() - chunk.n_rows[1];
    for (std::size_t leaf = 0; leaf < 2; ++leaf) {
      chunk.units[leaf] = chunk.n_rows[leaf];
      if (weights_.all_one()) continue;
      chunk.units[leaf] = 0;
      for (const u32 row : rows_of(chunk, leaf)) chunk.units[leaf] += weights_.units(row);
    }
  });
  StumpLeaves leaves;
  leaves.n_leaves = n_leaves_;
  leaves.rows.assign(n_leaves_ * n_classes_, 0);
  leaves.units.assign(n_leaves_ * n_classes_, 0);
  for (const Chunk& chunk : chunks_) {
    for (std::size_t leaf = 0; leaf < n_leaves_; ++leaf) {
      leaves.rows[leaf * n_classes_ + chunk.label] += chunk.n_rows[leaf];
      leaves.units[leaf * n_classes_ + chunk.label] += chunk.units[leaf];
    }
  }
  return leaves;
}

void StumpRows::multiply_chunk(Chunk& chunk, std::span<const double> factors, double common) {
  for (std::size_t leaf = 0; leaf < n_leaves_; ++leaf) {
    const double factor = factors[leaf * n_classes_ + chunk.label] / common;
    chunk.changes[leaf] = factor != 1.0;
    if (chunk.changes[leaf])
      weights_.multiply(rows_of(chunk, leaf), factor, deltas_of(chunk, leaf));
  }
}

void StumpRows::multiply(std::span<const double> factors, const StumpStep& step) {
  share_chunks([&](Chunk& chunk) { multiply_chunk(chunk, factors, step.common[chunk.label]); });
  add_changes();
  scales_ = step.scales;
}

std::vector<double> StumpRows::list_weights() const {
  std::vector<double> listed(data_.n_rows, 0.0);
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (weights_[i] > 0) listed[i] = weights_.exact(i) * scales_[labels_[i]];
  return listed;
}

}  // namespace committee
