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
    """Sums are whole numbers, of which one is worth `g_unit` or `h_unit`; scores are in these units."""

    def __init__(self, g_unit: float, h_unit: float, params: Any, largest_step: float, rate: float) -> None:
        self.params, self.rate, self.largest_step = params, rate, largest_step
        self.step_unit, self.score_unit = g_unit / h_unit, g_unit * g_unit / h_unit
        self.lam, self.least = params.reg_lambda / h_unit, LEAST_HESSIAN / h_unit

    def allows(self, g: int, h: int, count: int) -> bool:
        return count >= self.params.min_samples_leaf and h >= self.least

    def score(self, g: int, h: int, count: int) -> float:
        below = float(h) + self.lam
        return float(g) * float(g) / below if below > 0 else 0.0

    def score_cut(self, left: Any, right: Any) -> float:
        if not (self.allows(*left) and self.allows(*right)):
            return -1.0
        hl, hr = float(left[1]) + self.lam, float(right[1]) + self.lam
        gl, gr = float(left[0]), float(right[0])
        return (gl * gl * hr + gr * gr * hl) / (hl * hr)

    def step(self, g: int, h: int, count: int) -> float:
        if not self.allows(g, h, count):
            return 0.0
        value = -float(g) / (float(h) + self.lam) * self.step_unit
        return self.rate * min(max(value, -self.largest_step), self.largest_step)


def cut_line(sums: Any, rules: Rules, begin: int, end: int) -> tuple[float, int]:
    """Gain and place of the best cut of cells begin .. end - 1, each of (gradient, hessian, count)."""
    best, place = -1.0, 0
    whole = sums[begin:end].sum(axis=0)
    for cut in range(begin + 1, end):
        left = sums[begin:cut].sum(axis=0)
        score = rules.score_cut(left, whole - left)
        if score > best:
            best, place = score, cut
    return (best - rules.score(*whole), place) if place else (0.0, 0)


def order_cells(sums: Any, n_values: int, categorical: bool) -> Any:
    if not categorical:
        return np.arange(n_values)
    order = np.flatnonzero(sums[:n_values, 2] > 0)
    total = sums[order].sum(axis=0)
    more = 10.0 * float(total[1]) / total[2] if len(order) else 0.0
    below = sums[order, 1].astype(float) + more
    keys = np.where(below > 0, sums[order, 0] / np.where(below > 0, below, 1.0), 0.0)
    return order[np.argsort(keys, kind="stable")]


def update_line(sums: Any, n_values: int, rules: Rules, *, categorical: bool, sign: int) -> tuple[Any, float]:
    """The steps of the cells of a feature, whose last cell is that of missing values, and their worth."""
    steps = np.zeros(len(sums))
    steps[-1] = rules.step(*sums[-1])
    worth = rules.score(*sums[-1]) if rules.allows(*sums[-1]) else 0.0
    order = order_cells(sums, n_values, categorical)
    if not len(order):
        return steps, worth * rules.score_unit
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
    worth += sum(rules.score(*held[begin:end].sum(axis=0)) for begin, end in leaves)
    if sign:
        values = pool(values, [max(float(held[begin:end, 1].sum()), 1e-300) for begin, end in leaves], sign)
    for (begin, end), value in zip(leaves, values, strict=True):
        steps[order[begin:end]] = value
    return steps, worth * rules.score_unit


def smooth_line(sums: Any, n_values: int, rules: Rules, *, categorical: bool, sign: int) -> Any:
    """The mean of the steps of every cut."""
    steps = np.zeros(len(sums))
    steps[-1] = rules.step(*sums[-1])
    order = order_cells(sums, n_values, categorical)
    held = sums[order]
    made = []
    for cut in range(1, len(order)):
        sides = [part.sum(axis=0) for part in (held[:cut], held[cut:])]
        if all(rules.allows(*side) for side in sides):
            made.append(np.repeat([rules.step(*side) for side in sides], [cut, len(order) - cut]))
    values = np.mean(made, axis=0) if made else np.full(len(order), rules.step(*held.sum(axis=0)))
    if sign:
        values = pool(list(values), [max(float(h), 1e-300) for h in held[:, 1]], sign)
    steps[order] = values
    return steps


def pool(values: list[float], weights: list[float], sign: int) -> list[float]:
    pools: list[list[float]] = []
    for value, weight in zip(values, weights, strict=True):
        pools.append([value * weight, weight, 1])
        while len(pools) > 1 and sign * (pools[-1][0] / pools[-1][1] - pools[-2][0] / pools[-2][1]) < 0:
            last = pools.pop()
            pools[-1] = [pools[-1][k] + last[k] for k in range(3)]
    return [total / weight for total, weight, n in pools for _ in range(int(n))]


def update_grid(sums: Any, rules: Rules) -> tuple[Any, float]:
    """The steps of the cells of a pair, four rectangles at most, and their gain; sums are (rows, columns, 3)."""
    best: tuple[float, Any] = (0.0, None)
    for axis in (0, 1):
        turned = sums if axis == 0 else sums.swapaxes(0, 1)
        whole = rules.score(*turned.sum(axis=(0, 1)))
        for cut in range(1, len(turned)):
            sides = (turned[:cut], turned[cut:])
            if not all(rules.allows(*side.sum(axis=(0, 1))) for side in sides):
                continue
            scores, inner = [], []
            for side in sides:
                line = side.sum(axis=0)
                score, place = rules.score(*line.sum(axis=0)), 0
                for other in range(1, len(line)):
                    own = rules.score_cut(line[:other].sum(axis=0), line[other:].sum(axis=0))
                    if own > score:
                        score, place = own, other
                scores.append(score)
                inner.append(place)
            total = scores[0] + scores[1] - whole
            if total > best[0]:
                best = total, (axis, cut, inner)
    steps = np.zeros(sums.shape[:2])
    if best[1] is None:
        return steps, 0.0
    axis, cut, inner = best[1]
    turned, turned_steps = (sums, steps) if axis == 0 else (sums.swapaxes(0, 1), steps.T)
    for part, place in ((slice(0, cut), inner[0]), (slice(cut, None), inner[1])):
        for other in (slice(0, place or None), slice(place, None)):
            turned_steps[part, other] = rules.step(*turned[part, other].sum(axis=(0, 1)))
    return steps, best[0] * rules.score_unit


def smooth_grid(sums: Any, rules: Rules) -> Any:
    """The mean of the four steps of every pair of cuts that have rows on both sides."""
    counts = sums[:, :, 2]
    cuts = [
        [cut for cut in range(1, sums.shape[axis]) if 0 < counts.sum(axis=1 - axis)[:cut].sum() < counts.sum()]
        for axis in (0, 1)
    ]
    steps = np.zeros(sums.shape[:2])
    for a in cuts[0]:
        for b in cuts[1]:
            for rows in (slice(0, a), slice(a, None)):
                for columns in (slice(0, b), slice(b, None)):
                    steps[rows, columns] += rules.step(*sums[rows, columns].sum(axis=(0, 1)))
    return steps / max(len(cuts[0]) * len(cuts[1]), 1)


def update_term(sums: Any, shape: Any, rules: Rules, smooth: bool, **kind: Any) -> tuple[Any, float]:
    """The steps of the cells of a term, and their worth; a smooth step has none."""
    if np.ndim(shape):
        grid = sums.reshape(*shape, 3)
        steps, worth = (smooth_grid(grid, rules), 0.0) if smooth else update_grid(grid, rules)
        return steps.ravel(), worth
    if smooth:
        return smooth_line(sums, shape - 1, rules, **kind), 0.0
    return update_line(sums, shape - 1, rules, **kind)


def boost(
    codes: list[Any], shapes: list[Any], loss: Any, y: Any, weights: Any, params: Any, n_cycles: int, **options: Any
) -> tuple[Any, Any]:
    """Tables of all terms, (score, cell), and the scores of the rows after some cycles; every row is learnt from.

    `codes` holds the cell of each row for each term (the last one of a feature is that of missing values), `shapes`
    the number of cells or, of a pair, of both axes. Weights are whole numbers. Terms are all features or all pairs.
    """
    n_scores = loss.n_scores
    scores = np.tile(options.get("start", loss.find_baseline(y, weights)), (len(y), 1))
    tables = [np.zeros((n_scores, int(np.prod(shape)))) for shape in shapes]
    units, worths = weights.astype(np.int64), np.zeros(len(shapes))
    pairs = bool(np.ndim(shapes[0]))
    n_smooth = params.smooth_pair_cycles if pairs else params.smooth_cycles
    period = 1 + (params.greedy_pair_cycles if pairs else params.greedy_cycles)
    for cycle in range(n_cycles):
        smooth, greedy = cycle < n_smooth, cycle >= n_smooth and (cycle - n_smooth) % period != 0
        if not greedy:
            real = loss.find_gradients(y[:, None], scores)
            powers = [[find_power(np.abs(part[:, k]).max()) for part in real] for k in range(n_scores)]
            worth = [[2.0 ** (power - BITS) for power in own] for own in powers]
            g, h = (
                [round_fixed(part[:, k] / worth[k][which]) for k in range(n_scores)] for which, part in enumerate(real)
            )
        chosen = [t for t in range(len(shapes)) if not greedy or worths[t] >= params.greedy_share * worths.max()]
        for t in chosen:
            own, found = codes[t], 0.0
            kind = {} if pairs else {"categorical": options.get("categorical", {}).get(t, False)}
            kind |= {} if pairs else {"sign": options.get("signs", {}).get(t, 0)}
            for k in range(n_scores):
                rate = params.smooth_rate if smooth else params.learning_rate
                rules = Rules(*worth[k], params, options.get("largest_step", np.inf), rate)
                sums = np.zeros((tables[t].shape[1], 3), dtype=np.int64)
                for place, part in enumerate((units * g[k], units * h[k], units)):
                    np.add.at(sums[:, place], own, part)
                steps, value = update_term(sums, shapes[t], rules, smooth, **kind)
                found += value
                tables[t][k] += steps
                scores[:, k] += steps[own]
                moved = g[k] + h[k] * (steps[own] * (worth[k][1] / worth[k][0]))
                g[k] = round_fixed(np.clip(moved, -LARGEST, LARGEST))
            worths[t] = found
    return tables, scores


def find_pair_gain(first: Any, second: Any, gradients: Any, least: int) -> float:
    """What four quarters of a grid, cut right through, are worth more than the whole; hessians are one, 0: no cut."""
    best = 0.0
    for a in range(1, int(first.max()) + 1):
        for b in range(1, int(second.max()) + 1):
            quarters = [gradients[((first < a) == i) & ((second < b) == j)] for i in (0, 1) for j in (0, 1)]
            if min(map(len, quarters)) >= least:
                worth = sum(own.sum() ** 2 / len(own) for own in quarters)
                best = max(best, worth - gradients.sum() ** 2 / len(gradients))
    return float(best)


def weigh_terms(slots: list[Any], tables: list[Any], scores: Any, loss: Any, y: Any, held_out: Any) -> list[float]:
    """By term, how much larger the loss of the rows held out is without its table, (score, slot).

    `scores`, (row, score), are those of all other terms; `held_out` says as how many rows each row is held out.
    """

    def measure(terms: Any) -> float:
        moved = scores + sum((tables[t][:, slots[t]].T for t in terms), np.zeros_like(scores))
        return float(np.average(loss.find_values(y[:, None], moved), weights=held_out))

    every = range(len(tables))
    return [measure(t for t in every if t != out) - measure(every) for out in every]
