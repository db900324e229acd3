// Parts of a tree become one, and what only the whole tree knows: values and impurities of inner
// nodes, pruning, importances.
#pragma once
#include "tree/growth_context.hpp"

namespace committee {

// Nodes whose subtrees are tasks: large ones first, so that the last task to finish is a small one.
std::vector<std::size_t> order_by_size(std::span<const NodePosition> tasks);

// Makes a part of the tree that was grown by itself the child of a node.
void append_part(TreePart& part, TreePart&& grown, u32 parent, bool is_right);

// The tree of the part is moved into the result.
void finish_tree(TreePart& part, const GrowInput& input, const GrowParams& params,
                 GrowResult& result);

}  // namespace committee
