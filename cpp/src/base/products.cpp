#include "base/products.hpp"

#include <algorithm>

#include "base/x86_vectors.hpp"
#include "committee/row_products.hpp"

namespace committee {

namespace {

template <class Number>
struct ProductLanes;
template <>
struct ProductLanes<float> {
  using Vector COMMITTEE_VECTOR(16) = float;
};
template <>
struct ProductLanes<double> {
  using Vector COMMITTEE_VECTOR(16) = double;
};

// Vectors of a panel, and rows that a tile takes at once: their sums fill the registers.
constexpr std::size_t kPanelVectors = 4;
template <class Number>
constexpr std::size_t kTileLanes = 16 / sizeof(Number);
template <class Number>
constexpr std::size_t kPanelWidth = kPanelVectors * kTileLanes<Number>;
#if defined(__aarch64__)
constexpr std::size_t kTileRows = 4;
#else
constexpr std::size_t kTileRows = 2;
#endif

// They stay in the cache while all panels go over them.
constexpr std::size_t kProductRows = 256;

// What a tile is computed from: rows of a, and columns of b that lie side by side in a panel.
template <class Number>
struct ProductTile {
  const Number* a;
  std::size_t row_step, inner_step, n_inner;
  const Number* panel;
  Number* c;
  std::size_t c_step;

  void skip_rows(std::size_t n) {
    a += n * row_step;
    c += n * c_step;
  }
};

// One by one: arrays of vectors that are copied as bytes stay in memory.
template <class Vector, class Number>
Vector load_vector(const Number* at) {
  Vector loaded;
  std::memcpy(&loaded, at, sizeof loaded);
  return loaded;
}
template <class Vector, class Number>
void store_vector(Vector x, Number* at) {
  std::memcpy(at, &x, sizeof x);
}

template <class Number, std::size_t kTall, std::size_t kAcross>
void multiply_tile(const ProductTile<Number>& tile) {
  using Vector = typename ProductLanes<Number>::Vector;
  Vector sums[kTall][kAcross] = {};
  const Number *a = tile.a, *b = tile.panel;
  for (std::size_t k = 0; k < tile.n_inner; ++k) {
    Vector across[kAcross];
    for (std::size_t v = 0; v < kAcross; ++v)
      across[v] = load_vector<Vector>(b + v * kTileLanes<Number>);
    for (std::size_t r = 0; r < kTall; ++r)
      for (std::size_t v = 0; v < kAcross; ++v) sums[r][v] += a[r * tile.row_step] * across[v];
    a += tile.inner_step;
    b += kAcross * kTileLanes<Number>;
  }
  for (std::size_t r = 0; r < kTall; ++r)
    for (std::size_t v = 0; v < kAcross; ++v)
      store_vector(sums[r][v], tile.c + r * tile.c_step + v * kTileLanes<Number>);
}

template <class Number, std::size_t kAcross>
void multiply_panel(ProductTile<Number> tile, std::size_t n_rows) {
  std::size_t r = 0;
  for (; r + kTileRows <= n_rows; r += kTileRows) {
    multiply_tile<Number, kTileRows, kAcross>(tile);
    tile.skip_rows(kTileRows);
  }
  for (; r < n_rows; ++r) {
    multiply_tile<Number, 1, kAcross>(tile);
    tile.skip_rows(1);
  }
}

#if defined(COMMITTEE_AVX2)
// Four rows of a wide panel.
COMMITTEE_AVX2 void multiply_four_avx2(const ProductTile<float>& tile) {
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
    b += kPanelWidth<float>;
  }
  for (std::size_t r = 0; r < 4; ++r) {
    _mm256_storeu_ps(tile.c + r * tile.c_step, sums[r][0]);
    _mm256_storeu_ps(tile.c + r * tile.c_step + 8, sums[r][1]);
  }
}

COMMITTEE_AVX2 void multiply_four_avx2(const ProductTile<double>& tile) {
  __m256d sums[4][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_pd();
  const double *a = tile.a, *b = tile.panel;
  for (std::size_t k = 0; k < tile.n_inner; ++k) {
    const __m256d left = _mm256_loadu_pd(b), right = _mm256_loadu_pd(b + 4);
    for (std::size_t r = 0; r < 4; ++r) {
      const __m256d x = _mm256_broadcast_sd(a + r * tile.row_step);
      sums[r][0] = _mm256_add_pd(sums[r][0], _mm256_mul_pd(x, left));
      sums[r][1] = _mm256_add_pd(sums[r][1], _mm256_mul_pd(x, right));
    }
    a += tile.inner_step;
    b += kPanelWidth<double>;
  }
  for (std::size_t r = 0; r < 4; ++r) {
    _mm256_storeu_pd(tile.c + r * tile.c_step, sums[r][0]);
    _mm256_storeu_pd(tile.c + r * tile.c_step + 4, sums[r][1]);
  }
}

template <class Number>
void multiply_panel_avx2(ProductTile<Number> tile, std::size_t n_rows) {
  std::size_t r = 0;
  for (; r + 4 <= n_rows; r += 4) {
    multiply_four_avx2(tile);
    tile.skip_rows(4);
  }
  multiply_panel<Number, kPanelVectors>(tile, n_rows - r);
}

// Eight rows of a wide panel, which is one vector.
constexpr std::size_t kTallRows = 8;
COMMITTEE_AVX512 void multiply_eight_avx512(const ProductTile<float>& tile) {
  __m512 sums[kTallRows];
  for (auto& sum : sums) sum = _mm512_setzero_ps();
  const float *a = tile.a, *b = tile.panel;
  for (std::size_t k = 0; k < tile.n_inner; ++k) {
    const __m512 across = _mm512_loadu_ps(b);
    for (std::size_t r = 0; r < kTallRows; ++r)
      sums[r] = _mm512_add_ps(sums[r], _mm512_mul_ps(_mm512_set1_ps(a[r * tile.row_step]), across));
    a += tile.inner_step;
    b += kPanelWidth<float>;
  }
  for (std::size_t r = 0; r < kTallRows; ++r) _mm512_storeu_ps(tile.c + r * tile.c_step, sums[r]);
}

COMMITTEE_AVX512 void multiply_eight_avx512(const ProductTile<double>& tile) {
  __m512d sums[kTallRows];
  for (auto& sum : sums) sum = _mm512_setzero_pd();
  const double *a = tile.a, *b = tile.panel;
  for (std::size_t k = 0; k < tile.n_inner; ++k) {
    const __m512d across = _mm512_loadu_pd(b);
    for (std::size_t r = 0; r < kTallRows; ++r)
      sums[r] = _mm512_add_pd(sums[r], _mm512_mul_pd(_mm512_set1_pd(a[r * tile.row_step]), across));
    a += tile.inner_step;
    b += kPanelWidth<double>;
  }
  for (std::size_t r = 0; r < kTallRows; ++r) _mm512_storeu_pd(tile.c + r * tile.c_step, sums[r]);
}

template <class Number>
void multiply_panel_avx512(ProductTile<Number> tile, std::size_t n_rows) {
  std::size_t r = 0;
  for (; r + kTallRows <= n_rows; r += kTallRows) {
    multiply_eight_avx512(tile);
    tile.skip_rows(kTallRows);
  }
  multiply_panel_avx2(tile, n_rows - r);
}
#endif

template <class Number>
void multiply_wide(const ProductTile<Number>& tile, std::size_t n_rows) {
#if defined(COMMITTEE_AVX2)
  if (may_use(Instructions::avx512)) return multiply_panel_avx512(tile, n_rows);
  if (may_use(Instructions::avx2)) return multiply_panel_avx2(tile, n_rows);
#endif
  multiply_panel<Number, kPanelVectors>(tile, n_rows);
}

// The last columns, in a panel of fewer vectors, of which the last may have lanes without a column.
template <class Number, std::size_t kAcross>
void multiply_last(ProductTile<Number> tile, std::size_t n_rows, std::size_t n_columns) {
  constexpr std::size_t width = kAcross * kTileLanes<Number>;
  if (n_columns == width) return multiply_panel<Number, kAcross>(tile, n_rows);
  Number sums[kTileRows * width], *c = tile.c;
  const std::size_t c_step = tile.c_step;
  tile.c_step = width;
  for (std::size_t first = 0; first < n_rows; first += kTileRows) {
    const std::size_t n = std::min(kTileRows, n_rows - first);
    tile.c = sums;
    multiply_panel<Number, kAcross>(tile, n);
    tile.a += n * tile.row_step;
    for (std::size_t r = 0; r < n; ++r, c += c_step) std::copy_n(sums + r * width, n_columns, c);
  }
}

// Some columns of b, row after row; zeros behind them up to `width`.
template <class Number, class Stored>
void pack_columns(const FactorView<Stored>& b, std::size_t n_inner, std::size_t n_columns,
                  std::size_t width, Number* panel) {
  for (std::size_t k = 0; k < n_inner; ++k) {
    for (std::size_t j = 0; j < n_columns; ++j)
      panel[j] = static_cast<Number>(b.data[k * b.row_step + j * b.column_step]);
    std::fill(panel + n_columns, panel + width, Number{0});
    panel += width;
  }
}

}  // namespace

template <class Number, class Stored>
void multiply_matrices(const FactorView<Number>& a, const FactorView<Stored>& b, std::size_t n_rows,
                       std::size_t n_inner, std::size_t n_columns, Number* c,
                       std::vector<Number>& panel) {
  if (panel.size() < n_inner * kPanelWidth<Number>) panel.resize(n_inner * kPanelWidth<Number>);
  for (std::size_t j = 0; j < n_columns; j += kPanelWidth<Number>) {
    constexpr std::size_t lanes = kTileLanes<Number>;
    const std::size_t taken = std::min(n_columns - j, kPanelWidth<Number>);
    const std::size_t n_vectors = (taken + lanes - 1) / lanes;
    pack_columns<Number, Stored>({b.data + j * b.column_step, b.row_step, b.column_step}, n_inner,
                                 taken, n_vectors * lanes, panel.data());
    const ProductTile<Number> tile{a.data,       a.row_step, a.column_step, n_inner,
                                   panel.data(), c + j,      n_columns};
    if (taken == kPanelWidth<Number>) {
      multiply_wide(tile, n_rows);
    } else if (n_vectors == 1) {
      multiply_last<Number, 1>(tile, n_rows, taken);
    } else if (n_vectors == 2) {
      multiply_last<Number, 2>(tile, n_rows, taken);
    } else if (n_vectors == 3) {
      multiply_last<Number, 3>(tile, n_rows, taken);
    } else {
      multiply_last<Number, kPanelVectors>(tile, n_rows, taken);
    }
  }
}

template void multiply_matrices(const FactorView<float>&, const FactorView<float>&, std::size_t,
                                std::size_t, std::size_t, float*, std::vector<float>&);

template <class Stored>
void multiply_rows(std::span<const double> rows, std::span<const Stored> others,
                   std::size_t n_columns, double* products, InterruptWatch* watch) {
  const std::size_t n_rows = rows.size() / n_columns, n_others = others.size() / n_columns;
  std::vector<double> panel;
  for (std::size_t first = 0; first < n_rows; first += kProductRows) {
    if (watch) watch->poll();
    const std::size_t n = std::min(kProductRows, n_rows - first);
    multiply_matrices<double, Stored>({rows.data() + first * n_columns, n_columns, 1},
                                      {others.data(), 1, n_columns}, n, n_columns, n_others,
                                      products + first * n_others, panel);
  }
}

template void multiply_rows(std::span<const double>, std::span<const double>, std::size_t, double*,
                            InterruptWatch*);
template void multiply_rows(std::span<const double>, std::span<const float>, std::size_t, double*,
                            InterruptWatch*);

}  // namespace committee
