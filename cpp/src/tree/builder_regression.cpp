#include "tree/builder_search.hpp"

namespace committee {

template class TreeBuilder<MomentAccumulator<false>>;
template class TreeBuilder<MomentAccumulator<true>>;

}  // namespace committee
