// Which way a tree is grown, and why. Everything that decides for a whole tree is in choose_route;
// builders read the answer. What a node decides for itself, by its size, it decides by the limits
// below.
#pragma once
#include "split/accumulators.hpp"
#include "tree/growth_plan.hpp"

namespace committee {

// Nodes of at least this many rows keep dense histograms of all features, so that the larger child
// is had by subtraction; below, sparse histograms are cheaper than 256 cells a feature (measured).
inline constexpr std::size_t kDenseRows = 2048;
inline constexpr std::size_t kDenseBytes = std::size_t{256} << 20;  // of all that are alive at once
// Rows that are sorted even where a feature has a single boundary.
inline constexpr std::size_t kFewForSingle = 8;
// Records that are copied for a subtree: half of a first cache.
inline constexpr std::size_t kCopiedBytes = std::size_t{32} << 10;
// Rows of a subtree of exact splits: each value that occurs in it has a bin of its own.
inline constexpr std::size_t kExactRows = kMissingBin;
// Lists of sorted rows of a subtree, both of their buffers.
inline constexpr std::size_t kListBytes = std::size_t{64} << 20;
// Rows of a tree that pay for the tables of random thresholds.
inline constexpr std::size_t kMinExtraTreesRows = 512;
// Class weights whose squares are exact, so that both ways of adding them up give one score.
inline constexpr double kExactSquares = 1 << 26;

// What a route may depend on besides data and parameters.
struct SampleFacts {
  AccumulatorKind kind;
  bool is_wide;      // weights of classes need 64 bits
  bool counts_rows;  // cells carry the number of rows
  u32 n_outputs;
  u32 n_classes;  // of all outputs
  u32 cell_bytes;
  std::size_t n_rows;  // of positive weight
  u64 heaviest;        // weight of a row, accumulator units
  double total;        // weight of all, accumulator units
  double weight_unit;
};

GrowthRoute choose_route(const GrowthPlan& plan, const SampleFacts& sample);

// Of a tree of a forest, whose scratch the input has.
GrowthRoute choose_member_route(const GrowInput& input, const GrowParams& params);

// A bit for each feature of two bins, where they may be split without a histogram.
u64 find_two_valued(const BinnedMatrix& data);

}  // namespace committee
