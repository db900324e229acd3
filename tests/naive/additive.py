"""Cyclic boosting of tables in NumPy and Python's integers: a twin of cpp/src/additive for one bag."""

from __future__ import annotations

from typing import Any

import numpy as np

BITS, LARGEST, LEAST_HESSIAN = 27, 2.0**30, 1e-4


def find_power(largest: float) -> int:
    return int(np.ceil(np.log2(largest))) if largest > 0 else 0


def round_fixed(x: Any) -> Any:
    return np.rint(x).astype(np.int64)


class Rules:
    def __init__(self, g_unit: float, h_unit: float, params: Any, largest_step: float) -> None:
        self.g_unit, self.h_unit, self.params, self.largest_step = g_unit, h_unit, params, largest_step

    def allows(self, g: int, h: int, count: int) -> bool:
        return count >= self.params.min_samples_leaf and h * self.h_unit >= LEAST_HESSIAN

    def score(self, g: int, h: int, count: int) -> float:
        below = float(h) * self.h_unit + self.params.reg_lambda
        return (float(g) * self.g_unit) ** 2 / below if below > 0 else 0.0

    def step(self, g: int, h: int, count: int) -> float:
        if not self.allows(g, h, count):
            return 0.0
        value = -(float(g) * self.g_unit) / (float(h) * self.h_unit + self.params.reg_lambda)
        return self.params.learning_rate * min(max(value, -self.largest_step), self.largest_step)


def cut_line(sums: Any, rules: Rules, begin: int, end: int) -> tuple[float, int]:
    """Gain and place of the best cut of cells begin .. end - 1, each of (gradient, hessian, count)."""
    best, place = 0.0, 0
    whole = sums[begin:end].sum(axis=0)
    for cut in range(begin + 1, end):
        left = sums[begin:cut].sum(axis=0)
        right = whole - left
        if rules.allows(*left) and rules.allows(*right):
            gain = rules.score(*left) + rules.score(*right) - rules.score(*whole)
            if gain > best:
                best, place = gain, cut
    return best, place


def update_line(sums: Any, n_values: int, rules: Rules, *, categorical: bool, sign: int) -> Any:
    """The steps of the cells of a feature; the last cell is that of missing values."""
    steps = np.zeros(len(sums))
    steps[-1] = rules.step(*sums[-1])
    order = np.arange(n_values)
    if categorical:
        order = np.flatnonzero(sums[:n_values, 2] > 0)
        total = sums[order].sum(axis=0)
        more = 10.0 * float(total[1]) / total[2] if len(order) else 0.0
        below = sums[order, 1].astype(float) + more
        keys = np.where(below > 0, sums[order, 0] / np.where(below > 0, below, 1.0), 0.0)
        order = order[np.argsort(keys, kind="stable")]
    if not len(order):
        return steps
    held = sums[order]
    leaves = [(0, len(order))]
    cuts = [cut_line(held, rules, 0, len(order))]
    while len(leaves) < rules.params.max_leaves:
        k = int(np.argmax([gain for gain, _ in cuts]))
        if not cuts[k][0] > 0.0:
            break
        (begin, end), place = leaves[k], cuts[k][1]
        leaves[k : k + 1] = [(begin, place), (place, end)]
        cuts[k : k + 1] = [cut_line(held, rules, begin, place), cut_line(held, rules, place, end)]
    values = [rules.step(*held[begin:end].sum(axis=0)) for begin, end in leaves]
    if sign:
        weights = [max(held[begin:end, 1].sum() * rules.h_unit, 1e-300) for begin, end in leaves]
        values = pool(values, weights, sign)
    for (begin, end), value in zip(leaves, values, strict=True):
        steps[order[begin:end]] = value
    return steps


def pool(values: list[float], weights: list[float], sign: int) -> list[float]:
    pools: list[list[float]] = []
    for value, weight in zip(values, weights, strict=True):
        pools.append([value * weight, weight, 1])
        while len(pools) > 1 and sign * (pools[-1][0] / pools[-1][1] - pools[-2][0] / pools[-2][1]) < 0:
            last = pools.pop()
            pools[-1] = [pools[-1][k] + last[k] for k in range(3)]
    return [total / weight for total, weight, n in pools for _ in range(int(n))]


def update_grid(sums: Any, rules: Rules) -> Any:
    """The steps of the cells of a pair: four rectangles at most; sums are (rows, columns, 3)."""
    best: tuple[float, Any] = (0.0, None)
    for axis in (0, 1):
        turned = sums if axis == 0 else sums.swapaxes(0, 1)
        whole = rules.score(*turned.sum(axis=(0, 1)))
        for cut in range(1, len(turned)):
            sides = (turned[:cut], turned[cut:])
            if not all(rules.allows(*side.sum(axis=(0, 1))) for side in sides):
                continue
            total, inner = -whole, []
            for side in sides:
                line = side.sum(axis=0)
                score, place = rules.score(*line.sum(axis=0)), 0
                for other in range(1, len(line)):
                    low, high = line[:other].sum(axis=0), line[other:].sum(axis=0)
                    if rules.allows(*low) and rules.allows(*high):
                        own = rules.score(*low) + rules.score(*high)
                        if own > score:
                            score, place = own, other
                total += score
                inner.append(place)
            if total > best[0]:
                best = total, (axis, cut, inner)
    steps = np.zeros(sums.shape[:2])
    if best[1] is None:
        return steps
    axis, cut, inner = best[1]
    turned, turned_steps = (sums, steps) if axis == 0 else (sums.swapaxes(0, 1), steps.T)
    for part, place in ((slice(0, cut), inner[0]), (slice(cut, None), inner[1])):
        for other in (slice(0, place or None), slice(place, None)):
            turned_steps[part, other] = rules.step(*turned[part, other].sum(axis=(0, 1)))
    return steps


def boost(
    codes: list[Any], shapes: list[Any], loss: Any, y: Any, weights: Any, params: Any, n_cycles: int, **options: Any
) -> tuple[Any, Any]:
    """Tables of all terms after some cycles of all of them, and the scores of the rows; every row is learnt from.

    `codes` holds the cell of each row for each term (the last one of a feature is that of missing values), `shapes`
    the number of cells or, of a pair, of both axes. Weights are whole numbers.
    """
    scores = np.full(len(y), options.get("start", loss.find_baseline(y, weights)[0]))
    tables = [np.zeros(np.prod(shape)) for shape in shapes]
    units = weights.astype(np.int64)
    for _ in range(n_cycles):
        g, h = (part[:, 0] for part in loss.find_gradients(y[:, None], scores[:, None]))
        powers = find_power(np.abs(g).max()), find_power(h.max())
        worth = [2.0 ** (power - BITS) for power in powers]
        g, h = round_fixed(g / worth[0]), round_fixed(h / worth[1])
        for t, (own, shape) in enumerate(zip(codes, shapes, strict=True)):
            rules = Rules(*worth, params, options.get("largest_step", np.inf))
            sums = np.zeros((int(np.prod(shape)), 3), dtype=np.int64)
            for k, part in enumerate((units * g, units * h, units)):
                np.add.at(sums[:, k], own, part)
            if np.ndim(shape):
                steps = update_grid(sums.reshape(*shape, 3), rules).ravel()
            else:
                kind, sign = options.get("categorical", {}).get(t, False), options.get("signs", {}).get(t, 0)
                steps = update_line(sums, shape - 1, rules, categorical=kind, sign=sign)
            tables[t] += steps
            scores = scores + steps[own]
            g = round_fixed(np.clip(g + h * (steps[own] * (worth[1] / worth[0])), -LARGEST, LARGEST))
    return tables, scores
