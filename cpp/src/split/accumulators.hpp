// What a node knows of its rows, in integers: sums are exact, so their order never matters.
// A tally defines the row as it is kept during growth (Item), the cell of a histogram (some Slots)
// and how a row adds to a cell. Three families: two classes, any classes, moments of numbers.
#pragma once
#include <array>

#include "committee/types.hpp"

namespace committee {

enum class TallyKind { binary, classes, moments };

// Two classes, one output, small integer weights: one word a cell, weight | weight of class 1
// << 32.
struct BinaryTally {
  static constexpr TallyKind kKind = TallyKind::binary;
  using Slot = u64;
  struct Item {
    u32 row;
    u32 pack;  // weight | weight * label << 16
  };
  bool counted = false;  // all weights are one: the weight is the number of rows

  static constexpr u32 kFixedCell = 1;
  static constexpr u32 cell() { return kFixedCell; }
  static void add(Slot* cell, const Item& item) {
    *cell += static_cast<u64>(item.pack & 0xFFFFu) | static_cast<u64>(item.pack >> 16) << 32;
  }
  // Adds nothing unless `wanted`, without a branch.
  static void add_if(Slot* cell, const Item& item, bool wanted) {
    const u64 both = static_cast<u64>(item.pack & 0xFFFFu) | static_cast<u64>(item.pack >> 16)
                                                                 << 32;
    *cell += both & (u64{0} - u64{wanted});
  }
  static u64 weight_of(const Item& item) { return item.pack & 0xFFFFu; }
  static bool is_empty(const Slot* cell) { return *cell == 0; }
  static double weight(const Slot* cell) { return static_cast<double>(static_cast<u32>(*cell)); }
  static double positive(const Slot* cell) { return static_cast<double>(*cell >> 32); }
  static u32 count(const Slot* cell) { return static_cast<u32>(*cell); }
};

// Any number of classes and outputs: a slot a class, and the number of rows behind them if asked
// for.
template <class S>
struct ClassTally {
  static constexpr TallyKind kKind = TallyKind::classes;
  using Slot = S;
  struct SmallItem {
    u32 row;
    u16 label, weight;
  };
  struct LargeItem {
    u32 row;
    u32 label;
    u64 weight;
  };
  using Item = std::conditional_t<sizeof(S) == 4, SmallItem, LargeItem>;
  u32 n_slots = 0;              // classes over all outputs
  u32 n_spare = 0;              // slots behind them that stay zero: whole vectors (ClassQuads)
  bool counted = false;         // cells carry the number of rows in slot n_slots
  std::vector<u32> outputs;     // classes of each output
  std::vector<u32> offsets;     // first slot of each output
  const u32* labels = nullptr;  // [row][output], read where there are several outputs

  static constexpr u32 kFixedCell = 0;  // known at run time only
  u32 cell() const { return n_slots + n_spare + (counted ? 1 : 0); }
  // Cells of one output are filled up to whole vectors of four.
  void fill_up() { n_spare = counted || outputs.size() > 1 ? 0 : (4 - n_slots % 4) % 4; }
  [[gnu::always_inline]] void add(Slot* cell, const Item& item) const {
    if (outputs.size() == 1) [[likely]] {
      cell[item.label] += item.weight;
    } else {
      const u32* row = labels + static_cast<std::size_t>(item.row) * outputs.size();
      for (std::size_t o = 0; o < outputs.size(); ++o) cell[offsets[o] + row[o]] += item.weight;
    }
    if (counted) cell[n_slots] += 1;
  }
  void add_if(Slot* cell, Item item, bool wanted) const {
    if (outputs.size() == 1 && !counted) {
      cell[item.label] += static_cast<Slot>(item.weight) & (Slot{0} - Slot{wanted});
    } else if (wanted) {
      add(cell, item);
    }
  }
  static u64 weight_of(const Item& item) { return item.weight; }
  Slot total(const Slot* cell) const {
    Slot sum = 0;
    for (u32 k = 0; k < outputs[0]; ++k) sum += cell[k];
    return sum;
  }
  bool is_empty(const Slot* cell) const { return counted ? cell[n_slots] == 0 : total(cell) == 0; }
  double weight(const Slot* cell) const { return static_cast<double>(total(cell)); }
  u32 count(const Slot* cell) const { return static_cast<u32>(cell[n_slots]); }
};

// Weight, number of rows and weighted target sums, in fixed point. kMulti: several outputs.
template <bool kMulti>
struct MomentTally {
  static constexpr TallyKind kKind = TallyKind::moments;
  static constexpr int kCountBits = 28;  // rows: below 2^28; weight: below 2^35
  using Slot = i64;
  struct SingleItem {
    u32 row;
    u32 weight;
    i64 wy;  // weight * target
  };
  struct MultiItem {
    u32 row;
    u32 weight;
  };
  using Item = std::conditional_t<kMulti, MultiItem, SingleItem>;
  static constexpr bool counted = true;
  u32 n_outputs = 1;
  const i64* targets =
      nullptr;  // [row][output] in fixed point, read where there are several outputs

  static constexpr u32 kFixedCell = kMulti ? 0 : 2;
  constexpr u32 cell() const { return kMulti ? 1 + n_outputs : kFixedCell; }
  void add(Slot* cell, const Item& item) const {
    cell[0] += (static_cast<i64>(item.weight) << kCountBits) + 1;
    if constexpr (kMulti) {
      const i64* row = targets + static_cast<std::size_t>(item.row) * n_outputs;
      for (u32 o = 0; o < n_outputs; ++o) cell[1 + o] += static_cast<i64>(item.weight) * row[o];
    } else {
      cell[1] += item.wy;
    }
  }
  void add_if(Slot* cell, const Item& item, bool wanted) const {
    if constexpr (kMulti) {
      if (wanted) add(cell, item);
    } else {
      const i64 all = -static_cast<i64>(wanted);
      cell[0] += ((static_cast<i64>(item.weight) << kCountBits) + 1) & all;
      cell[1] += item.wy & all;
    }
  }
  static u64 weight_of(const Item& item) { return item.weight; }
  static bool is_empty(const Slot* cell) { return cell[0] == 0; }
  static double weight(const Slot* cell) { return static_cast<double>(cell[0] >> kCountBits); }
  static u32 count(const Slot* cell) {
    return static_cast<u32>(cell[0] & ((i64{1} << kCountBits) - 1));
  }
};

// A running sum of cells: in registers where the size of a cell is known, else in borrowed memory.
template <class Tally>
class CellSum {
  using Slot = typename Tally::Slot;

 public:
  CellSum(const Tally& tally, std::vector<Slot>& memory) {
    if constexpr (Tally::kFixedCell == 0) {
      memory.resize(tally.cell());
      slots_ = memory.data();
    }
    (void)tally;
  }
  Slot* data() {
    if constexpr (Tally::kFixedCell == 0) {
      return slots_;
    } else {
      return slots_.data();
    }
  }
  void set(const Tally& tally, const Slot* from) {
    for (u32 s = 0; s < tally.cell(); ++s) data()[s] = from ? from[s] : Slot{0};
  }
  void add(const Tally& tally, const Slot* cell) {
    for (u32 s = 0; s < tally.cell(); ++s) data()[s] += cell[s];
  }

 private:
  std::conditional_t<Tally::kFixedCell == 0, Slot*,
                     std::array<Slot, Tally::kFixedCell == 0 ? 1 : Tally::kFixedCell>>
      slots_{};
};

}  // namespace committee
