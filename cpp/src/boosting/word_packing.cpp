// Histograms on their way: most of a word's eight bytes say nothing, since few rows are in a bin.
#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "committee/block_boosting.hpp"

namespace committee {

namespace {

constexpr std::size_t kGroup = 256;

// Bytes of a number of two's complement whose bits, less those of the sign, are these.
int count_signed_bytes(u32 magnitudes) {
  return magnitudes == 0 ? 0 : std::bit_width(magnitudes) / 8 + 1;
}
int count_bytes(u32 values) {
  return (std::bit_width(values) + 7) / 8;
}

i32 upper_half(i64 word) {
  return static_cast<i32>(word >> 32);
}
u32 lower_half(i64 word) {
  return static_cast<u32>(word);
}

// The lowest bytes of each number, written as whole numbers: the excess is overwritten by the next.
template <class Half>
void write_halves(std::span<const i64> words, int n_bytes, std::vector<u8>& packed, Half&& half) {
  if (n_bytes == 0) return;
  const std::size_t at = packed.size(), size = static_cast<std::size_t>(n_bytes);
  packed.resize(at + words.size() * size + sizeof(u32));
  u8* place = packed.data() + at;
  for (const i64 word : words) {
    const auto value = static_cast<u32>(half(word));
    for (int byte = 0; byte < 4; ++byte) place[byte] = static_cast<u8>(value >> (8 * byte));
    place += size;
  }
  packed.resize(at + words.size() * size);
}

u32 read_number(const u8* place, int n_bytes) {
  u32 value = 0;
  for (int byte = 0; byte < n_bytes; ++byte) value |= u32{place[byte]} << (8 * byte);
  return value;
}

// The halves of a word are added one after the other: only both together are sure to fit.
i64 add_words(i64 sum, u64 half) {
  return static_cast<i64>(static_cast<u64>(sum) + half);
}

}  // namespace

std::vector<u8> pack_words(std::span<const i64> words) {
  std::vector<u8> packed;
  packed.reserve(words.size() * 4);
  for (std::size_t begin = 0; begin < words.size(); begin += kGroup) {
    const auto own = words.subspan(begin, std::min(kGroup, words.size() - begin));
    u32 upper = 0, lower = 0;
    for (const i64 word : own) {
      const i32 high = upper_half(word);
      upper |= static_cast<u32>(high ^ (high >> 31));
      upper |= high < 0 ? 1u : 0u;  // minus one has no other bit
      lower |= lower_half(word);
    }
    const int n_upper = count_signed_bytes(upper), n_lower = count_bytes(lower);
    packed.push_back(static_cast<u8>(n_upper << 4 | n_lower));
    write_halves(own, n_upper, packed, upper_half);
    write_halves(own, n_lower, packed, lower_half);
  }
  return packed;
}

void add_packed_words(std::span<const u8> packed, std::span<i64> sums) {
  const u8* place = packed.data();
  const u8* const end = place + packed.size();
  const auto fail = [] { throw std::invalid_argument("packed sums are not of this length"); };
  for (std::size_t begin = 0; begin < sums.size(); begin += kGroup) {
    const auto own = sums.subspan(begin, std::min(kGroup, sums.size() - begin));
    if (place == end) fail();
    const int n_upper = *place >> 4, n_lower = *place & 15;
    ++place;
    if (n_upper > 4 || n_lower > 4 ||
        static_cast<std::size_t>(end - place) <
            own.size() * static_cast<std::size_t>(n_upper + n_lower))
      fail();
    if (n_upper > 0) {
      const int shift = 32 - 8 * n_upper;  // brings the sign to the top
      for (i64& sum : own) {
        const auto high = static_cast<i32>(read_number(place, n_upper) << shift) >> shift;
        sum = add_words(sum, static_cast<u64>(static_cast<i64>(high)) << 32);
        place += n_upper;
      }
    }
    if (n_lower > 0)
      for (i64& sum : own) {
        sum = add_words(sum, read_number(place, n_lower));
        place += n_lower;
      }
  }
  if (place != end) fail();
}

}  // namespace committee
