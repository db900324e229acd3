// Which of the sums left of a column's thresholds may be its best split, decided in single
// precision: most columns are settled by it, and few sums are left for double.
#pragma once
#include "committee/split_gain.hpp"
#include "committee/types.hpp"

namespace committee {

// Where the halves of a sum are, as ints: of a gradient that has more bits than an int the first
// ones.
struct SumHalves {
  int shift = 32;  // of the gradient; at most 32, so that no sign has to be shifted in
  int hessian_mask = -1;
  bool cuts = false;  // bits of the gradient
};

// Be u = 2^-24, the relative error of a float. Of a = H + l2, d = G - ratio a and c = whole - a the
// floats here are off by at most
//
//   a: 2u a                                    (H and l2 converted, one sum)
//   d: u |d| + u |G| + 4u |ratio| a + cut      (G converted or cut; ratio, a, a product; a sum)
//   c: u c + u whole + 2u a <= u c + 3u whole
//
// and |G| <= |d| + |ratio| a, so that |d| <= (1 + 4u) (|d'| + 6u |ratio| a' + cut) with d', a' the
// floats, and c >= (1 - 2u) (c' - 4u whole). A split with d^2 / (a c) >= least then has
//
//   (|d'| + 8u |ratio| a' + cut)^2 >= (1 - 2^-16) least a' (whole' - 8u whole' - a')
//
// also after the roundings of this comparison itself, some dozens of u. No split that reaches
// `least` is lost, and few others stay.
class SumScreen {
 public:
  // `scale`: of the gradients as ints.
  SumScreen(const SplitBalance& balance, double scale, const SumHalves& halves);
  // From here on splits must reach x = d^2 / (a c); zero for what a float has no room for.
  void raise(double x);
  float least() const { return least_; }

  // All of these look at the sums first .. last - 1, and may read seven more.
  // The first eight of which one passes; `last` if none does.
  u32 find_passing(const i64* sums, u32 first, u32 last) const;
  // A split that is about as good as the best; -1: unknown.
  i64 find_good(const i64* sums, u32 first, u32 last) const;
  // Those that pass, ascending; returns how many.
  u32 list_passing(const i64* sums, u32 first, u32 last, u32* found) const;

 private:
  friend class SumForms;
  SumHalves halves_;
  float l2_, whole_, ratio_, error_, least_whole_, least_ = 0.0f;
};

}  // namespace committee
