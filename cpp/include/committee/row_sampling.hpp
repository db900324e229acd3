// Which rows and features a member of an ensemble sees: drawn from (seed, member) alone, so that a
// sample can be drawn again anywhere (out-of-bag, another machine) instead of being stored.
#pragma once
#include "types.hpp"

namespace committee {

// FIELD(type, name, default, meaning)
#define COMMITTEE_SAMPLING_FIELDS(FIELD)                                               \
  FIELD(bool, replace, true, "draw with replacement (bootstrap) or without (pasting)") \
  FIELD(u32, n_draws, 0, "rows (or groups) drawn for a member; 0: every row once")     \
  FIELD(bool, whole_groups, false, "strata are groups, drawn as a whole")              \
  FIELD(u32, n_features, 0, "features drawn for a member; 0: all")                     \
  FIELD(bool, replace_features, false, "draw features with replacement")

struct RowSampling {
#define COMMITTEE_DECLARE(type, name, value, meaning) type name = value;
  COMMITTEE_SAMPLING_FIELDS(COMMITTEE_DECLARE)
#undef COMMITTEE_DECLARE
  std::vector<u32> strata;  // per row: number of its stratum or group; empty: one stratum
  std::vector<u32>
      stratum_draws;  // rows drawn from each stratum; empty: n_draws from all rows together
  // With replacement the chance of a row is proportional to its weight (in its stratum); without,
  // and of whole groups, all of positive weight are equal. Weight zero: never drawn. Empty: equal.
  std::vector<double> weights;
};

// counts[row] = how often the member's sample holds the row. Throws std::invalid_argument where the
// wish cannot be met (more draws without replacement than rows, strata of the wrong length).
void draw_rows(const RowSampling& sampling, u64 seed, u64 member, std::span<u32> counts);
// The same for rows first .. first + counts.size() - 1 of n_rows: what a block of rows needs. A
// plain bootstrap takes no memory beyond that, since each draw is a row's number by itself. Without
// replacement a draw depends on those before it, and with weights on the sums of all rows before:
// there the counts of all rows are made, four bytes a row, and these are cut out.
void draw_block_rows(const RowSampling& sampling, u64 seed, u64 member, std::size_t n_rows,
                     std::size_t first, std::span<u32> counts);
// Features of a member, ascending, each once.
std::vector<u32> draw_member_features(const RowSampling& sampling, u64 seed, u64 member,
                                      u32 n_features);

// The seed under which tree 0 has the random numbers that tree `tree` has under `seed`: what grows
// a member of a forest again, alone.
u64 find_tree_seed(u64 seed, u64 tree);

}  // namespace committee
