#include "network/products.hpp"

#include "base/x86_vectors.hpp"

namespace committee {

namespace {

using Four [[gnu::vector_size(16)]] = float;

// Vectors of a panel, and rows that a tile takes at once: their sums fill the registers.
constexpr std::size_t kVectors = 4, kWide = kVectors * kFloatLanes;
#if defined(__aarch64__)
constexpr std::size_t kRows = 4;
#else
constexpr std::size_t kRows = 2;
#endif

// What a tile is computed from: rows of a, and columns of b that lie side by side in a panel.
struct Tile {
  const float* a;
  std::size_t row_step, inner_step, n_inner;
  const float* panel;
  float* c;
  std::size_t c_step;
};

// One by one: arrays of vectors that are copied as bytes stay in memory.
Four load_four(const float* at) {
  Four loaded;
  std::memcpy(&loaded, at, sizeof loaded);
  return loaded;
}
void store_four(Four x, float* at) {
  std::memcpy(at, &x, sizeof x);
}

template <std::size_t kTall, std::size_t kAcross>
void multiply_tile(const Tile& tile) {
  Four sums[kTall][kAcross] = {};
  const float *a = tile.a, *b = tile.panel;
  for (std::size_t k = 0; k < tile.n_inner; ++k) {
    Four across[kAcross];
    for (std::size_t v = 0; v < kAcross; ++v) across[v] = load_four(b + v * kFloatLanes);
    for (std::size_t r = 0; r < kTall; ++r)
      for (std::size_t v = 0; v < kAcross; ++v) sums[r][v] += a[r * tile.row_step] * across[v];
    a += tile.inner_step;
    b += kAcross * kFloatLanes;
  }
  for (std::size_t r = 0; r < kTall; ++r)
    for (std::size_t v = 0; v < kAcross; ++v)
      store_four(sums[r][v], tile.c + r * tile.c_step + v * kFloatLanes);
}

template <std::size_t kAcross>
void multiply_panel(Tile tile, std::size_t n_rows) {
  std::size_t r = 0;
  for (; r + kRows <= n_rows; r += kRows) {
    multiply_tile<kRows, kAcross>(tile);
    tile.a += kRows * tile.row_step;
    tile.c += kRows * tile.c_step;
  }
  for (; r < n_rows; ++r) {
    multiply_tile<1, kAcross>(tile);
    tile.a += tile.row_step;
    tile.c += tile.c_step;
  }
}

#if defined(COMMITTEE_AVX2)
// Four rows of a wide panel.
COMMITTEE_AVX2 void multiply_four_avx2(const Tile& tile) {
  __m256 sums[4][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_ps();
  const float *a = tile.a, *b = tile.panel;
  for (std::size_t k = 0; k < tile.n_inner; ++k) {
    const __m256 left = _mm256_loadu_ps(b), right = _mm256_loadu_ps(b + 8);
    for (std::size_t r = 0; r < 4; ++r) {
      const __m256 x = _mm256_broadcast_ss(a + r * tile.row_step);
      sums[r][0] = _mm256_add_ps(sums[r][0], _mm256_mul_ps(x, left));
      sums[r][1] = _mm256_add_ps(sums[r][1], _mm256_mul_ps(x, right));
    }
    a += tile.inner_step;
    b += kWide;
  }
  for (std::size_t r = 0; r < 4; ++r) {
    _mm256_storeu_ps(tile.c + r * tile.c_step, sums[r][0]);
    _mm256_storeu_ps(tile.c + r * tile.c_step + 8, sums[r][1]);
  }
}

void multiply_panel_avx2(Tile tile, std::size_t n_rows) {
  std::size_t r = 0;
  for (; r + 4 <= n_rows; r += 4) {
    multiply_four_avx2(tile);
    tile.a += 4 * tile.row_step;
    tile.c += 4 * tile.c_step;
  }
  multiply_panel<kVectors>(tile, n_rows - r);
}
#endif

// Some columns of b, row after row.
void pack(const FloatView& b, std::size_t n_inner, std::size_t first, std::size_t n_columns,
          float* panel) {
  for (std::size_t k = 0; k < n_inner; ++k)
    for (std::size_t j = 0; j < n_columns; ++j)
      *panel++ = b.data[k * b.row_step + (first + j) * b.column_step];
}

}  // namespace

void multiply_floats(const FloatView& a, const FloatView& b, std::size_t n_rows,
                     std::size_t n_inner, std::size_t n_columns, float* c,
                     std::vector<float>& panel) {
  if (panel.size() < n_inner * kWide) panel.resize(n_inner * kWide);
  auto multiply_wide = &multiply_panel<kVectors>;
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx2)) multiply_wide = &multiply_panel_avx2;
#endif
  std::size_t j = 0;
  while (j < n_columns) {
    const bool is_wide = j + kWide <= n_columns;
    const std::size_t width = is_wide ? kWide : kFloatLanes;
    pack(b, n_inner, j, width, panel.data());
    const Tile tile{a.data, a.row_step, a.column_step, n_inner, panel.data(), c + j, n_columns};
    if (is_wide) {
      multiply_wide(tile, n_rows);
    } else {
      multiply_panel<1>(tile, n_rows);
    }
    j += width;
  }
}

}  // namespace committee
