// What a node knows of its rows, in integers: sums are exact, so their order never matters.
// An accumulator defines the row as it is kept during growth (Item), the cell of a histogram (some
// Elements) and how a row adds to a cell. Three families: two classes, any classes, moments of
// numbers.
#pragma once
#include <array>

#include "committee/types.hpp"

namespace committee {

enum class AccumulatorKind { binary, classes, moments };

// Two classes, one output, small integer weights: one word a cell, weight | weight of class 1
// << 32.
struct BinaryAccumulator {
  static constexpr AccumulatorKind kKind = AccumulatorKind::binary;
  using Element = u64;
  struct Item {
    u32 row;
    u32 pack;  // weight | weight * label << 16
  };
  bool counted = false;  // all weights are one: the weight is the number of rows

  static constexpr u32 kFixedCell = 1;
  static constexpr u32 cell() { return kFixedCell; }
  static void add(Element* cell, const Item& item) {
    *cell += static_cast<u64>(item.pack & 0xFFFFu) | static_cast<u64>(item.pack >> 16) << 32;
  }
  // Adds nothing unless `wanted`, without a branch.
  static void add_if(Element* cell, const Item& item, bool wanted) {
    const u64 both = static_cast<u64>(item.pack & 0xFFFFu) | static_cast<u64>(item.pack >> 16)
                                                                 << 32;
    *cell += both & (u64{0} - u64{wanted});
  }
  static u64 weight_of(const Item& item) { return item.pack & 0xFFFFu; }
  static bool fits_screen() { return true; }  // whether EntropyScreen can read a cell
  static bool is_empty(const Element* cell) { return *cell == 0; }
  static double weight(const Element* cell) { return static_cast<double>(static_cast<u32>(*cell)); }
  static double positive(const Element* cell) { return static_cast<double>(*cell >> 32); }
  static u32 count(const Element* cell) { return static_cast<u32>(*cell); }
};

struct SmallClassItem {
  u32 row;
  u16 label, weight;
};
struct LargeClassItem {
  u32 row;
  u32 label;
  u64 weight;
};

// What adds rows to cells where there is one output. kCounts: the last element is the number of
// rows.
template <class S, bool kCounts>
struct ClassAdder {
  using Element = S;
  using Item = std::conditional_t<sizeof(S) == 4, SmallClassItem, LargeClassItem>;
  static constexpr u32 kFixedCell = 0;
  u32 size;
  u32 cell() const { return size; }
  void add(Element* cell, const Item& item) const {
    cell[item.label] += item.weight;
    if constexpr (kCounts) cell[size - 1] += 1;
  }
  void add_if(Element* cell, const Item& item, bool wanted) const {
    const Element all = Element{0} - Element{wanted};
    cell[item.label] += static_cast<Element>(item.weight) & all;
    if constexpr (kCounts) cell[size - 1] += wanted;
  }
};

// Any number of classes and outputs: a slot a class, and the number of rows behind them where it
// is needed.
template <class S>
struct ClassAccumulator {
  static constexpr AccumulatorKind kKind = AccumulatorKind::classes;
  using Element = S;
  using Item = typename ClassAdder<S, false>::Item;
  u32 n_elements = 0;           // classes over all outputs
  u32 n_spare = 0;              // elements behind them that stay zero: whole vectors (ClassQuads)
  bool counted = false;         // cells carry the number of rows in element n_elements
  std::vector<u32> outputs;     // classes of each output
  std::vector<u32> offsets;     // first slot of each output
  const u32* labels = nullptr;  // [row][output], read where there are several outputs

  static constexpr u32 kFixedCell = 0;  // known at run time only
  u32 cell() const { return n_elements + n_spare + (counted ? 1 : 0); }
  // Cells of one output are filled up to whole vectors of four.
  void fill_up() { n_spare = counted || outputs.size() > 1 ? 0 : (4 - n_elements % 4) % 4; }
  void add(Element* cell, const Item& item) const {
    if (outputs.size() == 1) [[likely]] {
      cell[item.label] += item.weight;
    } else {
      const u32* row = labels + static_cast<std::size_t>(item.row) * outputs.size();
      for (std::size_t o = 0; o < outputs.size(); ++o) cell[offsets[o] + row[o]] += item.weight;
    }
    if (counted) cell[n_elements] += 1;
  }
  void add_if(Element* cell, Item item, bool wanted) const {
    if (wanted) add(cell, item);
  }
  static u64 weight_of(const Item& item) { return item.weight; }
  bool fits_screen() const { return outputs.size() == 1 && !counted; }
  Element total(const Element* cell) const {
    Element sum = 0;
    for (u32 k = 0; k < outputs[0]; ++k) sum += cell[k];
    return sum;
  }
  bool is_empty(const Element* cell) const {
    return counted ? cell[n_elements] == 0 : total(cell) == 0;
  }
  double weight(const Element* cell) const { return static_cast<double>(total(cell)); }
  u32 count(const Element* cell) const { return static_cast<u32>(cell[n_elements]); }
};

// Weight, number of rows and weighted target sums, in fixed point. kMulti: several outputs.
template <bool kMulti>
struct MomentAccumulator {
  static constexpr AccumulatorKind kKind = AccumulatorKind::moments;
  static constexpr int kCountBits = 28;  // rows: below 2^28; weight: below 2^35
  using Element = i64;
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
  const double* values = nullptr;  // [row][output] as they were given

  static constexpr u32 kFixedCell = kMulti ? 0 : 2;
  constexpr u32 cell() const { return kMulti ? 1 + n_outputs : kFixedCell; }
  void add(Element* cell, const Item& item) const {
    cell[0] += (static_cast<i64>(item.weight) << kCountBits) + 1;
    if constexpr (kMulti) {
      const i64* row = targets + static_cast<std::size_t>(item.row) * n_outputs;
      for (u32 o = 0; o < n_outputs; ++o) cell[1 + o] += static_cast<i64>(item.weight) * row[o];
    } else {
      cell[1] += item.wy;
    }
  }
  void add_if(Element* cell, const Item& item, bool wanted) const {
    if constexpr (kMulti) {
      if (wanted) add(cell, item);
    } else {
      const i64 all = -static_cast<i64>(wanted);
      cell[0] += ((static_cast<i64>(item.weight) << kCountBits) + 1) & all;
      cell[1] += item.wy & all;
    }
  }
  static u64 weight_of(const Item& item) { return item.weight; }
  static bool is_empty(const Element* cell) { return cell[0] == 0; }
  static double weight(const Element* cell) { return static_cast<double>(cell[0] >> kCountBits); }
  static u32 count(const Element* cell) {
    return static_cast<u32>(cell[0] & ((i64{1} << kCountBits) - 1));
  }
};

// A running sum of cells: in registers where the size of a cell is known, else in borrowed memory.
template <class Accumulator>
class CellSum {
  using Element = typename Accumulator::Element;

 public:
  CellSum(const Accumulator& accumulator, std::vector<Element>& memory) {
    if constexpr (Accumulator::kFixedCell == 0) {
      memory.resize(accumulator.cell());
      slots_ = memory.data();
    }
    (void)accumulator;
  }
  Element* data() {
    if constexpr (Accumulator::kFixedCell == 0) {
      return slots_;
    } else {
      return slots_.data();
    }
  }
  void set(const Accumulator& accumulator, const Element* from) {
    for (u32 s = 0; s < accumulator.cell(); ++s) data()[s] = from ? from[s] : Element{0};
  }
  void add(const Accumulator& accumulator, const Element* cell) {
    for (u32 s = 0; s < accumulator.cell(); ++s) data()[s] += cell[s];
  }

 private:
  std::conditional_t<
      Accumulator::kFixedCell == 0, Element*,
      std::array<Element, Accumulator::kFixedCell == 0 ? 1 : Accumulator::kFixedCell>>
      slots_{};
};

}  // namespace committee
