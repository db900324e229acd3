"""The random numbers of a growth, from the formulas: keyed by seed, tree, node, purpose and index."""

from __future__ import annotations

from dataclasses import dataclass

ALL = 2**64 - 1
ROOT_KEY = 1
BOOTSTRAP, FEATURES, THRESHOLD, TIE, SUBSAMPLE = 1, 2, 3, 6, 8


def mix_bits(x: int) -> int:
    """The finaliser of SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) & ALL
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & ALL
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & ALL
    return x ^ (x >> 31)


def combine_keys(a: int, b: int) -> int:
    return mix_bits(mix_bits(a) ^ ((b + 0x632BE59BD9B4E019) & ALL))


def child_key(parent: int, right: bool) -> int:
    return mix_bits((2 * parent + right) & ALL)


def scale_below(number: int, bound: int) -> int:
    return ((number >> 32) * bound) >> 32


def scale_unit(number: int) -> float:
    return (number >> 11) * 2.0**-53


@dataclass
class NodeNumbers:
    """Numbers of one node, each to be had alone."""

    seed: int
    tree: int
    node: int

    def at(self, purpose: int, index: int) -> int:
        key = combine_keys(combine_keys(self.seed, self.tree), self.node)
        return mix_bits((key + purpose * 0xDA942042E4DD58B5 + index * 0xD1342543DE82EF95) & ALL)

    def shuffle(self, n: int) -> list[int]:
        """A permutation of 0 .. n - 1, whose places are settled one after the other."""
        places = list(range(n))
        for k in range(n):
            other = k + scale_below(self.at(FEATURES, k), n - k)
            places[k], places[other] = places[other], places[k]
        return places


def draw_stream(number: int, n: int) -> list[int]:
    """Numbers that follow from one."""
    return [mix_bits((number + k * 0xD1342543DE82EF95) & ALL) for k in range(n)]


def draw_whole_groups(groups: list[int], weights: list[float], share: float, seed: int, tree: int) -> set[int]:
    """The groups that grow a boosted tree: a share of those with a row of positive weight, without replacement."""
    present = sorted({group for group, weight in zip(groups, weights, strict=True) if weight > 0.0})
    n_drawn = max(1, int(share * len(present)))
    key = combine_keys(combine_keys(combine_keys(combine_keys(seed, SUBSAMPLE), tree), 0), BOOTSTRAP)
    for k, number in enumerate(draw_stream(key, n_drawn)):
        other = k + scale_below(number, len(present) - k)
        present[k], present[other] = present[other], present[k]
    return set(present[:n_drawn])
