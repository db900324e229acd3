#include "tree/builder_search.hpp"

namespace committee {

template class Growth<MomentTally<false>>;
template class Growth<MomentTally<true>>;

}  // namespace committee
