#include "tree/builder_blocks.hpp"

namespace committee {

template class TreeBuilder<BinaryAccumulator>;

}  // namespace committee
