// Randomness keyed by what it is for, never by who asks: the same (seed, tree, node, purpose)
// gives the same numbers on any thread, in any order, on any machine.
#pragma once
#include "types.hpp"

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
inline u64 mix_bits(u64 x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

inline u64 combine_keys(u64 a, u64 b) {
  return mix_bits(mix_bits(a) ^ (b + 0x632BE59BD9B4E019ull));
}

// The first half of combine_keys, done once for all the keys that follow the same one.
class KeyPrefix {
 public:
  explicit KeyPrefix(u64 a) : mixed_(mix_bits(a)) {}
  u64 with(u64 b) const { return mix_bits(mixed_ ^ (b + 0x632BE59BD9B4E019ull)); }

 private:
  u64 mixed_;
};

class Rng {
 public:
  // The key of a seed and a tree, with what is left of the other constructor's keys.
  Rng(const KeyPrefix& seed_and_tree, u64 node, Purpose purpose)
      : key_(combine_keys(seed_and_tree.with(node), static_cast<u64>(purpose))) {}
  Rng(u64 seed, u64 tree, u64 node, Purpose purpose)
      : key_(combine_keys(combine_keys(combine_keys(seed, tree), node),
                          static_cast<u64>(purpose))) {}
  u64 next() { return mix_bits(key_ + counter_++ * 0xD1342543DE82EF95ull); }
  // Uniform in {0, .., bound - 1}; bound >= 1. Multiply-shift: bias below 2^-32 for any bound of 32
  // bits.
  u32 below(u32 bound) { return static_cast<u32>(((next() >> 32) * bound) >> 32); }
  // Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  u64 key_;
  u64 counter_ = 0;
};

// A node's key depends on its path from the root alone, so that growth order does not matter.
inline constexpr u64 kRootKey = 1;
inline u64 child_key(u64 parent, bool right) {
  return mix_bits(2 * parent + (right ? 1 : 0));
}

}  // namespace committee
