"""Training of a network in NumPy, in single precision and with the sums of the engine in their order."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from committee.losses import apply_exp
from tests.naive.randomness import combine_keys, draw_stream, scale_below, scale_unit

f32 = np.float32
COLUMN, PERMUTATION = 5, 4
MEAN_DECAY, SQUARE_DECAY = f32(0.9), f32(0.95)


def make_stream(seed: int, number: int, purpose: int, n: int) -> list[int]:
    return draw_stream(combine_keys(combine_keys(combine_keys(seed, number), 0), purpose), n)


def multiply(a: Any, b: Any) -> Any:
    """Products of matrices, the terms of each entry added one after the other."""
    total = np.zeros((a.shape[0], b.shape[1]), dtype=f32)
    for k in range(a.shape[1]):
        total += a[:, k : k + 1] * b[k]
    return total


class NaiveNetwork:
    def __init__(self, widths: list[int], classify: bool, seed: int, dropout: float, weight_decay: float) -> None:
        self.classify, self.seed = classify, seed
        self.dropout, self.weight_decay = f32(dropout), f32(weight_decay)
        self.layers, self.step = [], 0
        for k, (n_in, n_out) in enumerate(pairwise(widths)):
            bound = np.sqrt((3.0 if k + 2 == len(widths) else 6.0) / n_in)
            units = [bound * (2.0 * scale_unit(u) - 1.0) for u in make_stream(seed, k, COLUMN, n_in * n_out)]
            weights = np.array(units, dtype=f32).reshape(n_in, n_out)
            self.layers.append(np.vstack([weights, np.zeros((1, n_out), dtype=f32)]))
        self.means, self.squares = ([np.zeros_like(layer) for layer in self.layers] for _ in range(2))
        self.left = [1.0, 1.0]

    def run_epoch(self, table: Any, target: Any, weights: Any, epoch: int, rates: Any) -> None:
        n = len(table)
        order = list(range(n))
        for i, number in zip(range(n, 1, -1), make_stream(self.seed, epoch, PERMUTATION, n), strict=False):
            other = scale_below(number, i)
            order[i - 1], order[other] = order[other], order[i - 1]
        for b, rate in enumerate(rates):
            rows = order[n * b // len(rates) : n * (b + 1) // len(rates)]
            self.update(self.find_gradients(table[rows], target[rows], weights[rows]), rate)

    def find_gradients(self, table: Any, target: Any, weights: Any) -> list[Any]:
        units, scale = [table], f32(1.0) / (f32(1.0) - self.dropout)
        for k, layer in enumerate(self.layers):
            sums = multiply(units[-1], layer[:-1]) + layer[-1]
            if k + 1 < len(self.layers):
                sums = np.maximum(sums, f32(0.0)) * np.where(self.keep_units(k, *sums.shape), scale, f32(0.0))
            units.append(sums)
        scores, factor = units[-1].astype(np.float64), weights.astype(np.float64)[:, None] / len(table)
        wanted = target[:, None].astype(np.float64)
        if self.classify:
            parts = apply_exp(scores - scores.max(axis=1, keepdims=True))
            scores = parts / np.cumsum(parts, axis=1)[:, -1:]
            wanted = np.eye(scores.shape[1])[target.astype(int)]
        signals, found = ((scores - wanted) * factor).astype(f32), []
        ones = np.ones((1, len(table)), dtype=f32)
        for k in reversed(range(len(self.layers))):
            found.insert(0, np.vstack([multiply(units[k].T, signals), multiply(ones, signals)]))
            signals = np.where(units[k] > 0, multiply(signals, self.layers[k][:-1].T) * scale, f32(0.0))
        return found

    def keep_units(self, layer: int, n_rows: int, width: int) -> Any:
        """Which units stay, a number for four of them."""
        if not self.dropout:
            return np.ones((n_rows, width), dtype=bool)
        key = combine_keys(combine_keys(self.seed, self.step), layer)
        numbers = [combine_keys(key, i) for i in range(0, n_rows * width, 4)]
        kept = [
            (number >> (16 * j)) & 0xFFFF >= int(self.dropout * f32(65536.0)) for number in numbers for j in range(4)
        ]
        return np.array(kept).reshape(n_rows, width)

    def update(self, gradients: list[Any], rate: Any) -> None:
        self.step += 1
        self.left = [self.left[0] * float(MEAN_DECAY), self.left[1] * float(SQUARE_DECAY)]
        mean_rate, square_factor = f32(float(rate) / (1.0 - self.left[0])), f32(1.0 / (1.0 - self.left[1]))
        for k, gradient in enumerate(gradients):
            kept = np.ones_like(gradient)
            kept[:-1] = f32(1.0) - rate * self.weight_decay
            mean = MEAN_DECAY * self.means[k] + (f32(1.0) - MEAN_DECAY) * gradient
            square = SQUARE_DECAY * self.squares[k] + (f32(1.0) - SQUARE_DECAY) * (gradient * gradient)
            self.means[k] = np.where(np.abs(mean) < f32(1e-30), f32(0.0), mean)
            self.squares[k] = np.where(square < f32(1e-30), f32(0.0), square)
            root = np.sqrt(self.squares[k] * square_factor) + f32(1e-8)
            self.layers[k] = self.layers[k] * kept - mean_rate * self.means[k] / root
