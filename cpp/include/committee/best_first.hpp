// Best-first growth of a tree: the rule and the loop of both engines.
#pragma once
#include "scalar.hpp"

namespace committee {

// Whether an open leaf is split before another one: by its gain, equals in the order of their
// creation.
template <class Gain, class Order>
COMMITTEE_HD inline bool is_split_first(Gain gain, Order order, Gain other_gain,
                                        Order other_order) {
  return gain != other_gain ? gain > other_gain : order < other_order;
}

// Splits leaves as far as their children are known: leaves may be expanded ahead of time, and in
// vain. True: the tree is finished; false: the leaf that comes first has to be expanded. `Leaves`:
//   bool may_split()    the tree may have another leaf
//   bool find_first()   finds the open leaf that is split first, if any is worth it
//   bool is_expanded()  its children are known
//   void split_first()  its children are open leaves in its stead
template <class Leaves>
COMMITTEE_HD inline bool grow_best_first(Leaves& leaves) {
  for (;;) {
    if (!leaves.may_split() || !leaves.find_first()) return true;
    if (!leaves.is_expanded()) return false;
    leaves.split_first();
  }
}

}  // namespace committee
