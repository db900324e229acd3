#include "tree/builder_search.hpp"

namespace committee {

template class Growth<BinaryTally>;

}  // namespace committee
