// The table as boosting reads it: a row's bins and, behind them, its gradient and hessian in one
// word, so that adding a row to a histogram touches one cache line. Private to a fit, because the
// words change with every tree; the shared BinnedMatrix stays as it is.
//
// A byte of a record is a place: the bins of one column, or the number of a combination of the bins
// of several columns of few values (one-hot blocks above all), which costs one update instead of
// one a column and is taken apart again, exactly, before a column is looked at.
#pragma once
#include "boosting/gradients.hpp"
#include "committee/binning.hpp"

namespace committee {

struct ColumnPlace {
  static constexpr u32 kNowhere = 0xFFFFFFFFu;
  u32 slot = kNowhere;       // byte of the record; kNowhere: a constant or wide column
  u32 n_bins = 0;            // cells 0 .. n_bins - 1 hold values
  bool has_missing = false;  // cell n_bins holds the missing ones
  bool joint = false;
  // Joint only: the cell that most combinations have, and (combination, cell) of all others.
  u8 rest = 0;
  std::vector<std::pair<u8, u8>> codes;
  u32 n_cells() const { return n_bins + (has_missing ? 1 : 0); }
};

struct SlotBlock {
  std::size_t stride = 0;  // bytes of a record: 16, 32 or 64
  std::size_t tail = 0;    // where its word begins
  u32 first_slot = 0, n_slots = 0;
  AlignedBuffer<u8> bytes;
};

// A row in the order of the leaves.
struct RowItem {
  u32 row;
};

class Records {
 public:
  struct Layout {
    bool join = true;      // columns of few values may share a place
    bool precise = false;  // words of 8 bytes and as fine, because weights will change
  };
  Records(const BinnedMatrix& data, const RowWeights& weights, const Layout& layout, int n_threads);
  // A copy has words of its own.
  Records(const Records& other);
  Records& operator=(const Records&) = delete;
  const ColumnPlace& place(u32 column) const { return places_[column]; }
  std::size_t n_columns() const { return places_.size(); }
  std::size_t n_slots() const { return n_slots_; }
  std::size_t cells_per_slot() const { return cells_per_slot_; }
  std::size_t n_cells() const { return n_slots_ * cells_per_slot_; }
  std::size_t bytes() const;
  const WordPlan& words() const { return words_; }
  // Other weights for the next trees; words are of 8 bytes.
  void change_weights(const RowWeights& weights) { words_ = plan_words(weights, false); }

  // Writes the words of rows begin .. end - 1 behind their bins: u32 where they are narrow, or i64.
  template <class Word>
  void write_words(std::size_t begin, std::size_t end, const Word* words);
  // The same word, times a row's weight (none: one), added to those of some rows; words are of 8
  // bytes.
  void change_words(std::span<const RowItem> rows, i64 change, std::span<const u32> weights);
  // Adds rows to cells[n_cells()]: those listed, or begin .. end - 1.
  void add_listed(const RowItem* rows, std::size_t n, i64* cells) const;
  void add_range(std::size_t begin, std::size_t end, i64* cells) const;
  // The same for cells of `width` words each, of which those of a row are at words[row * width].
  struct Words {
    const i64* words;
    u32 width;
  };
  void add_listed(const RowItem* rows, std::size_t n, const Words& of_rows, i64* cells) const;
  void add_range(std::size_t begin, std::size_t end, const Words& of_rows, i64* cells) const;
  i64 word(std::size_t row) const;
  // Cells of a column; where it shares its place they are put together in `room` from the node's
  // total.
  const i64* column_cells(u32 column, const i64* cells, i64 total, i64* room) const;
  // The same for cells of several words, total.size() of them.
  const i64* column_cells(u32 column, const i64* cells, std::span<const i64> total,
                          std::vector<i64>& room) const;

 private:
  struct Joint {
    std::vector<u32> columns;
    std::vector<u8> codes;               // per row
    std::vector<u32> n_rows;             // of each code, that weigh something
    std::vector<std::vector<u8>> cells;  // of each code: the cell in every column
  };
  std::vector<Joint> join_columns(const BinnedMatrix& data, const RowWeights& weights) const;
  // False, and nothing done, if more than most_codes combinations would occur.
  bool join_column(Joint& joint, u32 column, const u8* bins, const RowWeights& weights,
                   u32 most_codes) const;
  // Whether that is less work, for so many rows, than a place for every column.
  bool pays_to_join(const BinnedMatrix& data, const std::vector<Joint>& joints,
                    double n_copies) const;
  void place_joint(const Joint& joint, u32 slot);
  void lay_out(const RowWeights& weights, bool precise);
  void copy_bytes(const BinnedMatrix& data, const std::vector<Joint>& joints, int n_threads);

  std::size_t n_rows_ = 0;
  std::vector<ColumnPlace> places_;
  std::size_t n_slots_ = 0, cells_per_slot_ = 0;
  std::vector<SlotBlock> blocks_;
  WordPlan words_;
};

}  // namespace committee
