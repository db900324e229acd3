// The arena as a pickle holds it: without what the order of the nodes says, and in narrow types.
#pragma once
#include <nanobind/nanobind.h>

#include "committee/tree.hpp"

namespace committee {

namespace nb = nanobind;

// Breadth-first nodes need no links: the inner nodes have their children side by side, in their own
// order. What is left is a tag a node, a threshold an inner node, and the values of the leaves. An
// arena in any other order (validated, but not made by compact_trees) is exported as it is.
nb::dict pack_trees(const Trees& trees, nb::handle owner);
// Packed or not, the state that import_arrays takes. ValueError if sizes do not fit one another.
nb::dict unpack_trees(const nb::dict& state);

}  // namespace committee
