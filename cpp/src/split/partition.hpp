// Partitioning a node's rows in place: stable, without branches on the data.
#pragma once
#include <algorithm>
#include <type_traits>

#include "committee/types.hpp"

namespace committee {

// Items that satisfy goes_left(row), or goes_left(index, item), come first, both sides in their old
// order; returns how many. `spare` holds at least n items. Four at a time: where each of them goes
// is then known after one step instead of four.
template <class Item, class GoesLeft>
std::size_t partition_items(Item* items, std::size_t n, Item* spare, GoesLeft&& goes_left) {
  const auto count_left = [&](std::size_t i, const Item& item) -> std::size_t {
    if constexpr (std::is_invocable_v<GoesLeft, std::size_t, const Item&>) {
      return goes_left(i, item);
    } else {
      return goes_left(item.row);
    }
  };
  std::size_t n_left = 0, i = 0;
  const auto put = [&](std::size_t at, std::size_t to, const Item& item) {
    items[to] = item;
    spare[at - to] = item;
  };
  for (; i + 4 <= n; i += 4) {
    const Item a = items[i], b = items[i + 1], c = items[i + 2], d = items[i + 3];
    const std::size_t to_b = n_left + count_left(i, a), to_c = to_b + count_left(i + 1, b),
                      to_d = to_c + count_left(i + 2, c), next = to_d + count_left(i + 3, d);
    put(i, n_left, a);
    put(i + 1, to_b, b);
    put(i + 2, to_c, c);
    put(i + 3, to_d, d);
    n_left = next;
  }
  for (; i < n; ++i) {
    const Item item = items[i];
    const std::size_t left = count_left(i, item);
    put(i, n_left, item);
    n_left += left;
  }
  if (n_left < n) std::memcpy(items + n_left, spare, (n - n_left) * sizeof(Item));
  return n_left;
}

// The same where few items are moved, all of them to the left or all to the right of the others.
// Items and those that are moved are ascending by row.
template <class Item>
std::size_t move_items(std::span<Item> items, std::span<const Item> moved, bool to_left) {
  const auto find = [&](Item* from, Item* end, u32 row) {
    return std::lower_bound(from, end, row, [](const Item& a, u32 b) { return a.row < b; });
  };
  if (moved.empty()) return to_left ? 0 : items.size();
  Item* const begin = items.data();
  Item* const end = begin + items.size();
  if (to_left) {
    Item* to = end;  // what lies behind it is in place
    Item* until = end;
    for (std::size_t k = moved.size(); k-- > 0;) {
      Item* const at = find(begin, until, moved[k].row);
      to = std::move_backward(at + 1, until, to);
      until = at;
    }
    std::move_backward(begin, until, to);
    std::copy(moved.begin(), moved.end(), begin);
    return moved.size();
  }
  Item* from = begin;
  Item* to = begin;
  for (const Item& item : moved) {
    Item* const at = find(from, end, item.row);
    to = std::move(from, at, to);
    from = at + 1;
  }
  to = std::move(from, end, to);
  std::copy(moved.begin(), moved.end(), to);
  return static_cast<std::size_t>(to - begin);
}

}  // namespace committee
