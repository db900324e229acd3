// From the candidate that won to the question that the tree asks.
#pragma once
#include "binning.hpp"
#include "split.hpp"
#include "tree.hpp"

namespace committee {

// Where bins between the two sides are empty in the node, the boundary nearest to the middle of the
// gap is taken, as an exact split would take the middle itself. Binned splits only.
void settle_cut(Candidate& best, const ColumnBins& bins);

// presort: not null for exact splits.
GrownTree::Split describe_split(const Candidate& best, const ColumnBins& bins,
                                const Presort* presort);

}  // namespace committee
