#include "tree/builder_blocks.hpp"

namespace committee {

template class TreeBuilder<ClassAccumulator<u32>>;
template class TreeBuilder<ClassAccumulator<u64>>;

}  // namespace committee
