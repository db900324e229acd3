// Parting a node's rows in place: stable, without branches on the data.
#pragma once
#include <type_traits>

#include "types.hpp"

namespace committee {

// Items that satisfy goes_left(row), or goes_left(index, item), come first, both sides in their old
// order; returns how many. `spare` holds at least n items.
template <class Item, class GoesLeft>
std::size_t partition_items(Item* items, std::size_t n, Item* spare, GoesLeft&& goes_left) {
  std::size_t n_left = 0, n_right = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Item item = items[i];
    bool left;
    if constexpr (std::is_invocable_v<GoesLeft, std::size_t, const Item&>) {
      left = goes_left(i, item);
    } else {
      left = goes_left(item.row);
    }
    items[n_left] = item;
    spare[n_right] = item;
    n_left += left;
    n_right += !left;
  }
  std::memcpy(items + n_left, spare, n_right * sizeof(Item));
  return n_left;
}

}  // namespace committee
