// Changes of bytes that a reader may stumble over, the same for every program here.
#pragma once
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "committee/types.hpp"

namespace fuzz {

using namespace committee;

inline u32 below(std::mt19937& draw, u32 n) {
  return draw() % n;
}

inline u64 draw_odd(std::mt19937& draw) {
  constexpr u64 kOdd[] = {0,
                          1,
                          2,
                          0x7F,
                          0xFF,
                          0xFFFF,
                          0x7FFFFFFF,
                          0x80000000,
                          0xFFFFFFFF,
                          0x0FFFFFFF,
                          0x20000000,
                          0x40000000,
                          0x7FF0000000000000,
                          0xFFF8000000000001,
                          0x7FC00000,
                          0x8000000000000000,
                          ~u64{0}};
  return below(draw, 3) ? kOdd[below(draw, std::size(kOdd))] : u64{draw() % 64};
}

// One change; `n_fields` numbers of four bytes at the beginning are changed more often.
inline void change_bytes(std::vector<u8>& bytes, u32 n_fields, std::mt19937& draw) {
  if (bytes.empty()) return;
  const auto place = [&](std::size_t size) {
    return draw() % std::max<std::size_t>(1, (bytes.size() - size + 1) / size) * size;
  };
  const u64 odd = draw_odd(draw);
  switch (below(draw, 7)) {
    case 0:
      bytes[draw() % bytes.size()] ^= static_cast<u8>(1u << below(draw, 8));
      break;
    case 1:
    case 2:
      if (bytes.size() >= 4) std::memcpy(&bytes[place(4)], &odd, 4);
      break;
    case 3:
      if (bytes.size() >= 8) std::memcpy(&bytes[place(8)], &odd, 8);
      break;
    case 4: {  // one more or less of a number
      if (bytes.size() < 4) break;
      const std::size_t at = place(4);
      u32 number;
      std::memcpy(&number, &bytes[at], 4);
      number += below(draw, 2) ? 1 : -1;
      std::memcpy(&bytes[at], &number, 4);
      break;
    }
    case 5: {  // a piece of it elsewhere
      const std::size_t size = std::min<std::size_t>(bytes.size(), 4u << below(draw, 4));
      std::memmove(&bytes[draw() % (bytes.size() - size + 1)],
                   &bytes[draw() % (bytes.size() - size + 1)], size);
      break;
    }
    default:  // a field of the header
      if (bytes.size() >= 4 * n_fields) std::memcpy(&bytes[4 * below(draw, n_fields)], &odd, 4);
  }
  if (below(draw, 40) == 0) bytes.resize(draw() % bytes.size());
}

}  // namespace fuzz
