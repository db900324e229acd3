"""The random numbers of a growth, from the formulas: keyed by seed, tree, node, purpose and index."""

from __future__ import annotations

from dataclasses import dataclass

ALL = 2**64 - 1
ROOT_KEY = 1
FEATURES, THRESHOLD, TIE = 2, 3, 6


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
