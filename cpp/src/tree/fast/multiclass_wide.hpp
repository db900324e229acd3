// The rows of multiclass_rows.hpp by AVX-512, four records of 16 bytes a register.
#pragma once
#include "base/x86_vectors.hpp"
#include "committee/packed_counts_simd.hpp"

namespace committee {

// A split by a byte of the records: what is not above the bin goes left.
struct ByteSplit {
  u32 byte, mask, bin;
};

#if defined(COMMITTEE_AVX512)
// Records and weights, in the order of their rows.
template <class Byte, class Pack>
struct RowArrays {
  Byte* records;
  Pack* packs;
};
using ReadRows = RowArrays<const u8, const PackedCounts8>;
using WrittenRows = RowArrays<u8, PackedCounts8>;

// How far a partition has come: the rows looked at, those of them that went left, and the last
// place that is free.
struct PartitionProgress {
  u64 n, n_left, last;
};

struct MulticlassWide {
  // Fewer rows are not worth the call.
  static constexpr u32 kFewest = 16;

  // Partitions as many of n rows as whole registers hold, from both ends of `to`.
  COMMITTEE_AVX512 static PartitionProgress partition(const ByteSplit& by, const ReadRows& from,
                                                      const WrittenRows& to, u32 n);
  // Moves those of the rows to the begin that go left, or right; `last` has no meaning.
  COMMITTEE_AVX512 static PartitionProgress keep_some(const ByteSplit& by, bool keeps_left,
                                                      const WrittenRows& rows, u32 n);
  // Bits that are not the same in all of n records.
  COMMITTEE_AVX512 static void find_differences(const u8* records, u32 n, u8* differ);
  // PackedCountsSimd::add_unset of the byte of a record.
  COMMITTEE_AVX512 static PackedCounts8 add_unset(const ByteSplit& by, const ReadRows& rows, u32 n,
                                                  PackedCounts8);
  COMMITTEE_AVX512 static PackedCounts16 add_unset(const ByteSplit& by, const ReadRows& rows, u32 n,
                                                   PackedCounts16);
};

#endif

}  // namespace committee
