"""Logarithms and exponentials of one number at a time, by the steps of the engine's loops."""

from __future__ import annotations

from math import frexp, inf, isnan, ldexp, nan, sqrt

# ln 2 in two parts, the first so short that its product with the exponent of a number is exact.
LN_2_HIGH, LN_2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
LOG2_E = 1.4426950408889634
FACTORIALS = (
    1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0, 3628800.0, 39916800.0, 479001600.0
)  # fmt: skip


def find_log(value: float) -> float:
    """``ln(m 2^e) = e ln 2 + 2 atanh((m - 1) / (m + 1))``, by the series of the latter."""
    if value == 0.0:
        return -inf
    if not 0.0 < value < inf:
        return inf if value > 0.0 else nan
    part, power = frexp(value)
    if part < sqrt(0.5):
        part, power = part + part, power - 1
    s = (part - 1.0) / (part + 1.0)
    z = s * s
    series = z * (1.0 / 23.0) + 1.0 / 21.0
    for odd in range(19, 2, -2):
        series = series * z + 1.0 / odd
    twice = 2.0 * s
    return power * LN_2_HIGH + (twice + (twice * z * series + power * LN_2_LOW))


def find_exponential(exponent: float) -> float:
    """``e^x = 2^k e^r``, ``|r| <= ln(2) / 2``, by the series of the latter in pairs of terms."""
    if isnan(exponent):
        return nan
    held = min(max(exponent, -800.0), 800.0)
    k = round(held * LOG2_E)
    r = (held - k * LN_2_HIGH) - k * LN_2_LOW
    c = [1.0 / factorial for factorial in FACTORIALS]
    r2 = r * r
    r4 = r2 * r2
    high = (c[10] + r * c[11]) + r2 * c[12]
    middle = (c[6] + r * c[7]) + r2 * (c[8] + r * c[9])
    low = (c[2] + r * c[3]) + r2 * (c[4] + r * c[5])
    power = 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)))
    try:
        return ldexp(power, k)
    except OverflowError:
        return inf
