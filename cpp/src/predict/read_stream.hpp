// Memory that is about to be read here and there is read from end to end first.
#pragma once
#include "committee/types.hpp"

namespace committee {

// Brings a tree, or its values, into the caches before rows ask for n_asked of its lines: a stream
// comes ten times as fast as the nodes that a walk waits for one by one. Reads nothing that has
// more lines than that. Hints to prefetch are dropped when there are so many.
inline void read_stream(const void* first, std::size_t n_bytes, std::size_t n_asked) {
  constexpr std::size_t kLine = 64;
  if (n_bytes > kLine * n_asked) return;
  const volatile u8* const at = static_cast<const u8*>(first);
  for (std::size_t i = 0; i < n_bytes; i += kLine) static_cast<void>(at[i]);
}

}  // namespace committee
