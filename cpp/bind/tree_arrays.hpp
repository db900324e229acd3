// Trees as NumPy arrays and back: for views, pickles, files and tests.
#pragma once
#include <nanobind/nanobind.h>

#include "bound_trees.hpp"
#include "committee/tree_summary.hpp"

namespace committee {

namespace nb = nanobind;

// The version of a state whose arrays are the arena's own.
inline constexpr int kFlatVersion = 1;
nb::object node_dtype(bool double_thresholds);
// ValueError if there is no such entry.
nb::object get_item(const nb::dict& state, const char* key);

// The arena as a dict of read-only views and numbers; `owner` is the Python object that keeps it
// alive.
nb::dict export_arrays(const Trees& trees, nb::handle owner);
// One of these views by name.
nb::object view_tree_array(const Trees& trees, const std::string& name, nb::handle owner);
// The way back, validated. Read-only arrays are kept and viewed, writable ones copied. ValueError
// if anything is out of place.
Trees import_arrays(const nb::dict& state);

// A grown tree as a dict of arrays with scikit-learn's names, one entry a node: children_left,
// children_right (-1 in leaves), feature, threshold, n_node_samples, weighted_n_node_samples,
// impurity, value (2-d) and, if wanted, missing_go_to_left and left_categories (dict node -> list
// of codes).
GrownTree import_grown(const nb::dict& state);
nb::dict export_grown(const GrownTree& tree);
nb::dict export_description(const TreeDescription& tree, u32 width);

}  // namespace committee
