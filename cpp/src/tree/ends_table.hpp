// The ends of the bins of many columns, close together in memory: where random thresholds of a node
// fall. A node of a wide table draws a few columns of thousands, and nearly every look at one of
// them waits for memory, so that looks are few here, and those of all columns wait together.
#pragma once
#include <memory>
#include <vector>

#include "base/x86_vectors.hpp"
#include "committee/binning.hpp"

namespace committee {

class EndsTable {
 public:
  // Bins of a column that occur in a node, and the node's number for it.
  struct Query {
    u32 column, lo, hi;
    u64 number;
    u32 cut;  // the answer: as draw_split_bin has it; where lo and hi are one, that
  };
  static constexpr std::size_t kMostQueries = 64;

  // Whether the ends of every column ascend.
  static bool fits(const BinnedMatrix& data);
  // Categories have no ends.
  EndsTable(const std::vector<ColumnBins>& bins, int n_threads);
  // The loads of a later answer.
  void prefetch_bytes(u32 column) const { prefetch(bytes_of(column)); }
  // Where all that answers read of a column begins.
  const u8* bytes_of(u32 column) const {
    return floats_.empty() ? reinterpret_cast<const u8*>(block(doubles_, column))
                           : reinterpret_cast<const u8*>(block(floats_, column));
  }
  // kMostQueries at most.
  void answer(std::span<Query> queries) const { answer_any<false>(queries); }
  // The same for columns that are in the first cache.
  void answer_near(std::span<Query> queries) const { answer_any<true>(queries); }

 private:
  // A block a column: the largest value of each group of bins, then for each group the largest
  // values of its bins and the smallest. Groups are filled up by infinity.
  static constexpr u32 kGroup = 16;
  template <class Value>
  const Value* block(const AlignedBuffer<Value>& values, u32 column) const {
    return values.data() + std::size_t{starts_[column]} * kGroup;
  }
  static std::size_t place(u32 bin) {
    return kGroup + std::size_t{bin / kGroup} * 2 * kGroup + bin % kGroup;
  }
  template <class Value>
  AlignedBuffer<Value> fill(const std::vector<ColumnBins>& bins, int n_threads) const;
  static void set_cut(Query& query, i32 last);
  template <class Value>
  void prefetch_ends(const AlignedBuffer<Value>& values, std::span<const Query> queries) const;
  template <bool kIsNear>
  void answer_any(std::span<Query> queries) const;
  template <bool kIsNear, class Value>
  void answer_in(const AlignedBuffer<Value>& values, std::span<Query> queries) const;
#if defined(COMMITTEE_AVX512)
  template <bool kIsNear, class Value>
  COMMITTEE_AVX512 void answer_wide(const AlignedBuffer<Value>& values,
                                    std::span<Query> queries) const;
#endif

  std::vector<u32> starts_;  // per column, in groups
  // Single precision where no value needs more; the other is empty.
  AlignedBuffer<float> floats_;
  AlignedBuffer<double> doubles_;
};

}  // namespace committee
