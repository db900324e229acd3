// What only the whole tree knows: values and impurities of inner nodes, pruning, importances.
#pragma once
#include "tree/growth_context.hpp"

namespace committee {

// The tree of the part is moved into the result.
void finish_tree(TreePart& part, const GrowInput& input, const GrowParams& params,
                 GrowResult& result);

}  // namespace committee
