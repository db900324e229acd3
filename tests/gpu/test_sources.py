"""Programs in parts: every kernel is in one of them, whose text has it as a kernel; others are functions, if there."""

from __future__ import annotations

import re

import pytest

from committee.engines.gpu.sources import list_parts, read_program


@pytest.mark.parametrize(
    ("name", "n_parts"), [("boosting.cu", 11), ("binning.cu", 5), ("forest.cu", 4), ("stumps.cu", 1)]
)
def test_each_part_has_its_own_kernels(name: str, n_parts: int) -> None:
    parts = list_parts(name)
    assert len(parts) == n_parts
    kernels = sorted(kernel for own in parts for kernel in own)
    assert len(kernels) == len(set(kernels)) == read_program(name).count("__global__")
    for own, text in parts.items():
        assert text.count("__global__") == len(own)
        assert len(text) <= len(read_program(name)) + text.count("__device__")
        for kernel in kernels:
            found = re.search(rf"(__global__|static __device__) void[^;{{]*?\b{kernel}\(", text)
            if found is None:
                assert kernel not in own, kernel
            else:
                assert (found[1] == "__global__") == (kernel in own), kernel


def test_a_part_has_no_more_files_than_its_kernels_need() -> None:
    (partition,) = (text for own, text in list_parts("boosting.cu").items() if "partition_rows" in own)
    assert "find_least_key" not in partition
    assert "softmax" not in partition
    assert len(partition) < len(read_program("boosting.cu")) / 2
