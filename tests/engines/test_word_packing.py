"""Sums as they travel: few bytes, and to the bit what they were."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import _core
from committee.engines.hosts.reduction import PackedSums, pack_sums, reduce_answers
from committee.engines.partition_bins import group_partitions

LIMIT = np.iinfo(np.int64)


def pack_naively(words: np.ndarray) -> bytes:
    """Upper and lower halves of 256 numbers at a time, each in as few bytes as the largest needs."""
    packed = b""
    for start in range(0, len(words), 256):
        own = [int(word) for word in words[start : start + 256]]
        upper, lower = [word >> 32 for word in own], [word & 0xFFFFFFFF for word in own]
        n_upper = (
            0
            if not any(upper)
            else next(n for n in (1, 2, 3, 4) if all(-(128 << 8 * n - 8) <= u < 128 << 8 * n - 8 for u in upper))
        )
        n_lower = next(n for n in range(5) if all(u < 1 << 8 * n for u in lower))
        packed += bytes([n_upper << 4 | n_lower])
        packed += b"".join(u.to_bytes(n_upper, "little", signed=True) for u in upper if n_upper)
        packed += b"".join(u.to_bytes(n_lower, "little") for u in lower)
    return packed


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(st.integers(LIMIT.min, LIMIT.max), st.integers(-300, 300), st.integers(-(2**40), 2**40)), max_size=600
    )
)
def test_as_the_naive_form(numbers: list[int]) -> None:
    words = np.array(numbers, dtype=np.int64)
    packed = _core.pack_words(words)
    assert packed.tobytes() == pack_naively(words)
    sums = np.full(len(words), 5, dtype=np.int64)
    _core.add_packed_words(packed, sums)
    assert np.array_equal(sums, words + 5)


def test_empty_columns_take_a_byte() -> None:
    assert _core.pack_words(np.zeros(7168, dtype=np.int64)).nbytes == 28


def test_wrong_lengths_are_refused() -> None:
    packed = _core.pack_words(np.arange(300))
    for n in (0, 100, 299, 301, 600):
        with pytest.raises(ValueError, match="not of this length"):
            _core.add_packed_words(packed, np.zeros(n, dtype=np.int64))


def test_answers_of_hosts() -> None:
    sums = np.arange(2000).reshape(2, 1000) - 700
    answer = pack_sums((sums, 3, np.arange(4)))
    assert isinstance(answer[0], PackedSums)
    assert answer[0].nbytes < sums.nbytes / 2
    total, count, few = reduce_answers([answer, answer, (sums, 1, np.arange(4))], "sum")
    assert np.array_equal(total, 3 * sums)
    assert (count, few.tolist()) == (7, [0, 3, 6, 9])
    (alone, *_) = reduce_answers([answer], "sum")
    assert np.array_equal(alone, sums)


@pytest.mark.parametrize("n_groups", [1, 2, 3, 4, 50])
def test_groups_of_partitions(n_groups: int) -> None:
    rng = np.random.default_rng(n_groups)
    for _ in range(30):
        counts = rng.integers(0, 4, rng.integers(1, 12)) * rng.integers(1, 9)
        counts[rng.integers(len(counts))] += 1
        offsets = [0, *np.cumsum(counts).tolist()]
        groups = group_partitions(offsets, n_groups)
        assert 1 <= len(groups) <= n_groups
        assert [first for first, _ in groups] == [0, *(last for _, last in groups[:-1])]
        assert groups[-1][1] == len(counts)
        assert all(offsets[first] < offsets[last] for first, last in groups)
