#include "tree/builder_search.hpp"

namespace committee {

template class Growth<ClassTally<u32>>;
template class Growth<ClassTally<u64>>;

}  // namespace committee
