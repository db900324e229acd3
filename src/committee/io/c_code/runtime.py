"""Functions in C that the written models call: the engine's own exponentials and the order of NumPy's sums."""

from __future__ import annotations

__all__ = ["list_runtime"]

_BITS = """\
static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
"""

_EXP = """\
/* e^x within about one unit in the last place; x is held in [-708, 709]. */
static double exponential(double x) {
  const double shift = 0x1.8p52, ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
  double shifted, k, r, r2, r4, high, middle, upper, low;
  x = x < -708.0 ? -708.0 : x;
  x = x > 709.0 ? 709.0 : x;
  shifted = x * 1.4426950408889634074 + shift;
  k = shifted - shift;
  r = (x - k * ln2_high) - k * ln2_low;
  r2 = r * r;
  r4 = r2 * r2;
  high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0);
  middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  upper = middle + r4 * high;
  low = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  return from_bits(bits_of(1.0 + (r + r2 * (low + r4 * upper))) + (bits_of(shifted) << 52));
}
"""

_EXP2 = """\
/* 2^x, exact for whole numbers. */
static double power_of_two(double x) {
  const double whole = round_half_even(x);
  double result = exponential((x - whole) * 0.6931471805599453);
  int k = (int)whole;
  for (; k > 0; --k) result *= 2.0;
  for (; k < 0; ++k) result *= 0.5;
  return result;
}
"""

_LOG = """\
/* Natural logarithm of a finite x > 0, within about one unit in the last place. */
static double natural_log(double x) {
  const uint64_t hidden = (uint64_t)1 << 52, half = (uint64_t)1022 << 52;
  uint64_t bits = bits_of(x);
  int exponent = -1022, odd;
  double m, s, z, series, tail;
  if (bits < hidden) {
    bits = bits_of(x * 0x1p54);
    exponent -= 54;
  }
  exponent += (int)(bits >> 52);
  m = from_bits((bits & (hidden - 1)) | half);
  if (m < 0.70710678118654752440) {
    m *= 2.0;
    --exponent;
  }
  s = (m - 1.0) / (m + 1.0);
  z = s * s;
  series = 1.0 / 23.0;
  for (odd = 21; odd >= 3; odd -= 2) series = series * z + 1.0 / odd;
  tail = 2.0 * s * z * series;
  return exponent * 0x1.62e42fee00000p-1 + (2.0 * s + (tail + exponent * 0x1.a39ef35793c76p-33));
}
"""

_SOFTPLUS = """\
/* ln(1 + e^x). */
static double log_one_plus_exp(double x) {
  const double small = exponential(x > 0.0 ? -x : x), y = 1.0 + small;
  const double rest = natural_log(y) + (small - (y - 1.0)) / y;
  return x > 0.0 ? x + rest : rest;
}
"""

_ROUND = """\
/* To the nearest whole number, half to even; for numbers below 2^51. */
static double round_half_even(double x) {
  const double shift = 0x1.8p52;
  return (x + shift) - shift;
}
"""

_SUM = """\
/* The sum of a row, in the order of NumPy's pairwise summation. */
static double sum_row(const double *a, size_t n) {
  size_t i, k, half;
  double r[8], total = -0.0;
  if (n < 8) {
    for (i = 0; i < n; ++i) total += a[i];
    return total;
  }
  if (n > 128) {
    half = n / 2;
    half -= half % 8;
    return sum_row(a, half) + sum_row(a + half, n - half);
  }
  for (k = 0; k < 8; ++k) r[k] = a[k];
  for (i = 8; i < n - n % 8; i += 8)
    for (k = 0; k < 8; ++k) r[k] += a[i + k];
  total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (; i < n; ++i) total += a[i];
  return total;
}
"""

_SOFTMAX = """\
static void softmax(const double *x, double *out, size_t n) {
  double largest = x[0], sum, factor;
  size_t k;
  for (k = 1; k < n; ++k) largest = x[k] > largest ? x[k] : largest;
  sum = out[0] = exponential(x[0] - largest);
  for (k = 1; k < n; ++k) {
    out[k] = exponential(x[k] - largest);
    sum = sum + out[k];
  }
  factor = 1.0 / sum;
  for (k = 0; k < n; ++k) out[k] = out[k] * factor;
}
"""

_SORT = """\
/* Ascending; equal numbers keep their order, and so do the weights beside them. */
static void sort_pairs(double *values, double *weights, size_t n) {
  size_t i, j;
  for (i = 1; i < n; ++i) {
    const double value = values[i], weight = weights[i];
    for (j = i; j > 0 && values[j - 1] > value; --j) {
      values[j] = values[j - 1];
      weights[j] = weights[j - 1];
    }
    values[j] = value;
    weights[j] = weight;
  }
}
"""

_MEDIAN = """\
/* The first value, ascending, with which the weights reach a share of their sum; both arrays are sorted. */
static double weighted_median(double *values, double *weights, size_t n, double share) {
  size_t i;
  sort_pairs(values, weights, n);
  for (i = 1; i < n; ++i) weights[i] = weights[i - 1] + weights[i];
  for (i = 0; i + 1 < n && !(weights[i] >= share * weights[n - 1]); ++i) {
  }
  return values[i];
}
"""

_CURVE = """\
static double interpolate(double x, const double *places, const double *heights, size_t n) {
  size_t left = 0;
  double rise;
  if (x < places[0]) return heights[0];
  if (x >= places[n - 1]) return heights[n - 1];
  while (left + 1 < n && places[left + 1] <= x) ++left;
  rise = (heights[left + 1] - heights[left]) / (places[left + 1] - places[left]);
  return rise * (x - places[left]) + heights[left];
}
"""

_LARGEST = """\
/* The place of the largest number, the first of equals. */
static size_t find_largest(const double *x, size_t n) {
  size_t best = 0, k;
  for (k = 1; k < n; ++k) best = x[k] > x[best] ? k : best;
  return best;
}
"""

_RECODE = """\
static double recode(double code, const double *table, size_t n) {
  return code >= 0.0 && code < (double)n ? table[(size_t)code] : NAN;
}
"""

_PLACE = """\
/* The row of a table that a number names; the last one if it names none. */
static size_t find_place(double number, size_t last) {
  return number >= 0.0 && number < (double)last ? (size_t)number : last;
}
"""

_HOLDS = """\
static int holds_code(const uint32_t *words, uint32_t n_words, double x) {
  uint32_t code;
  if (!(x >= 0.0 && x < 32.0 * (double)n_words)) return 0;
  code = (uint32_t)x;
  return (int)(words[code / 32] >> (code % 32) & 1u);
}
"""

#: By name: the code, and the functions that it calls. In the order in which they are written.
_FUNCTIONS = {
    "bits": (_BITS, ()),
    "round": (_ROUND, ()),
    "exp": (_EXP, ("bits",)),
    "exp2": (_EXP2, ("exp", "round")),
    "log": (_LOG, ("bits",)),
    "softplus": (_SOFTPLUS, ("exp", "log")),
    "sum": (_SUM, ()),
    "softmax": (_SOFTMAX, ("exp",)),
    "sort": (_SORT, ()),
    "median": (_MEDIAN, ("sort",)),
    "curve": (_CURVE, ()),
    "argmax": (_LARGEST, ()),
    "recode": (_RECODE, ()),
    "place": (_PLACE, ()),
    "holds": (_HOLDS, ()),
}


def list_runtime(wanted: set[str]) -> list[str]:
    """The code of the wanted functions and of those that they call, in an order in which C can read them.

    Examples
    --------
    >>> [code.split("(")[0].split()[-1] for code in list_runtime({"exp"})]
    ['bits_of', 'exponential']
    """
    needed, pending = set(), list(wanted)
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += _FUNCTIONS[name][1]
    return [code for name, (code, _) in _FUNCTIONS.items() if name in needed]
