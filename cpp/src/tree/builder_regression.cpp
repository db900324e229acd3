#include "tree/builder_blocks.hpp"

namespace committee {

template class TreeBuilder<MomentAccumulator<false>>;
template class TreeBuilder<MomentAccumulator<true>>;

}  // namespace committee
