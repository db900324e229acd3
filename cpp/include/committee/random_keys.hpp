// Randomness keyed by what it is for, never by who asks: the same (seed, tree, node, purpose)
// gives the same numbers on any thread, in any order, on any machine.
#pragma once
#include "scalar.hpp"

namespace committee {

enum class Purpose : u64 {
  bootstrap = 1,
  features = 2,
  threshold = 3,
  permutation = 4,
  column = 5,
  tie = 6,
  rounding = 7,
  subsample = 8
};

// The finaliser of SplitMix64 [Steele2014]: a bijection of 64 bits that passes BigCrush as a
// counter hash.
COMMITTEE_HD inline u64 mix_bits(u64 x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

inline constexpr u64 kSecondKey = 0x632BE59BD9B4E019ull;  // keeps a second key of 0 from vanishing
COMMITTEE_HD inline u64 combine_keys(u64 a, u64 b) {
  return mix_bits(mix_bits(a) ^ (b + kSecondKey));
}

// mix_bits backwards: its shifts and products, each undone.
COMMITTEE_HD inline u64 unmix_bits(u64 x) {
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642B2D24D8EC3ull;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96DE1B173F119089ull;
  x ^= (x >> 30) ^ (x >> 60);
  return x - 0x9E3779B97F4A7C15ull;
}

// The first half of combine_keys, done once for all the keys that follow the same one.
class KeyPrefix {
 public:
  COMMITTEE_HD explicit KeyPrefix(u64 a) : mixed_(mix_bits(a)) {}
  COMMITTEE_HD u64 with(u64 b) const { return mix_bits(mixed_ ^ (b + kSecondKey)); }

 private:
  u64 mixed_;
};

// A 64-bit random number as one of {0, .., bound - 1}; bound >= 1. Multiply-shift: bias below 2^-32
// for any bound of 32 bits.
COMMITTEE_HD inline u32 scale_below(u64 number, u32 bound) {
  return static_cast<u32>(((number >> 32) * bound) >> 32);
}
// A 64-bit random number as one of [0, 1), by its upper 53 bits.
COMMITTEE_HD inline double scale_unit(u64 number) {
  return static_cast<double>(number >> 11) * 0x1.0p-53;
}

// The numbers of one node: its key is mixed once, then every number costs one mix and can be had
// alone. The streams of the purposes start far apart on one orbit of SplitMix64.
class NodeNumbers {
 public:
  COMMITTEE_HD NodeNumbers(const KeyPrefix& seed_and_tree, u64 node)
      : key_(seed_and_tree.with(node)) {}
  COMMITTEE_HD u64 at(Purpose purpose, u64 index) const {
    return mix_bits(key_ + static_cast<u64>(purpose) * 0xDA942042E4DD58B5ull +
                    index * 0xD1342543DE82EF95ull);
  }

 private:
  u64 key_;
};

class Rng {
 public:
  // From a number that is random itself.
  COMMITTEE_HD explicit Rng(u64 number) : key_(number) {}
  COMMITTEE_HD Rng(u64 seed, u64 tree, u64 node, Purpose purpose)
      : key_(combine_keys(combine_keys(combine_keys(seed, tree), node),
                          static_cast<u64>(purpose))) {}
  COMMITTEE_HD u64 next() { return mix_bits(key_ + counter_++ * 0xD1342543DE82EF95ull); }
  COMMITTEE_HD u32 below(u32 bound) { return scale_below(next(), bound); }
  COMMITTEE_HD double uniform() { return scale_unit(next()); }

 private:
  u64 key_;
  u64 counter_ = 0;
};

// A node's key depends on its path from the root alone, so that growth order does not matter.
inline constexpr u64 kRootKey = 1;
COMMITTEE_HD inline u64 child_key(u64 parent, bool right) {
  return mix_bits(2 * parent + (right ? 1 : 0));
}

}  // namespace committee
