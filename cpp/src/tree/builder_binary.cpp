#include "tree/builder_search.hpp"

namespace committee {

template class TreeBuilder<BinaryAccumulator>;

}  // namespace committee
