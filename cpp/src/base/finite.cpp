#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "committee/predict.hpp"

namespace committee {

namespace {

// Infinity is the one number whose bits without the sign are those of the exponent alone: integers
// compare faster than numbers.
template <class X>
bool finite_or_missing(const MatrixView& x) {
  using Bits = std::conditional_t<sizeof(X) == 8, u64, u32>;
  constexpr Bits kInfinite = std::bit_cast<Bits>(std::numeric_limits<X>::infinity()) << 1;
  const auto look = [](const X* values, std::size_t n, std::ptrdiff_t stride) {
    Bits infinite = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Bits bits;
      std::memcpy(&bits, values + static_cast<std::ptrdiff_t>(i) * stride, sizeof bits);
      infinite |= static_cast<Bits>(static_cast<Bits>(bits << 1) == kInfinite);
    }
    return infinite == 0;
  };
  const X* data = static_cast<const X*>(x.data);
  constexpr std::size_t kLook = 4096;  // values between two chances to stop
  if (x.col_stride == 1 && x.row_stride == static_cast<std::ptrdiff_t>(x.n_cols)) {
    const std::size_t n = x.n_rows * x.n_cols;
    for (std::size_t at = 0; at < n; at += kLook) {
      if (!look(data + at, std::min(kLook, n - at), 1)) return false;
    }
    return true;
  }
  for (std::size_t r = 0; r < x.n_rows; ++r) {
    const X* row = data + static_cast<std::ptrdiff_t>(r) * x.row_stride;
    if (x.col_stride == 1 ? !look(row, x.n_cols, 1) : !look(row, x.n_cols, x.col_stride))
      return false;
  }
  return true;
}

}  // namespace

bool all_finite_or_missing(const MatrixView& x) {
  MatrixView lines = x;  // along the shorter stride
  if (std::abs(x.row_stride) < std::abs(x.col_stride)) {
    std::swap(lines.n_rows, lines.n_cols);
    std::swap(lines.row_stride, lines.col_stride);
  }
  return x.is_double ? finite_or_missing<double>(lines) : finite_or_missing<float>(lines);
}

}  // namespace committee
