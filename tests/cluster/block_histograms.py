"""A true state over blocks in miniature: rows are partitioned by splits that depend on integer histograms so far."""

import hashlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from committee.engines.hosts import HostGroup

cloudpickle = pytest.importorskip("cloudpickle", reason="comes with joblib 1.6, Dask and Ray")

# Workers need not be able to import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

N_FEATURES, N_BINS = 5, 16


class HistogramState:
    """One block: the bins of its rows, and the node of each row."""

    def __init__(self, block: int, n_rows: int, marker: str, trap: str) -> None:
        rng = np.random.default_rng(block)
        self.block, self.marker, self.trap = block, marker, trap
        self.bins = rng.integers(0, N_BINS, size=(n_rows, N_FEATURES))
        self.nodes = np.zeros(n_rows, dtype=np.int64)
        self.n_steps = 0

    def run(self, name: str, args: tuple[Any, ...]) -> Any:
        if name == "split":
            return self.split(*args)
        if name == "count":
            return (np.bincount(self.nodes, minlength=64),)
        if name == "largest":
            return (int(self.nodes.max()),)
        if name == "where":
            return os.getpid(), len(self.nodes)
        raise ValueError(f"there is no {name!r}")

    def split(self, step: int, feature: int, threshold: int, extra: int = 0) -> Any:
        self.n_steps += 1
        right = self.bins[:, feature] > threshold
        self.nodes = (2 * self.nodes + right) % 64
        if self.marker and step == 6 and self.block % 2 == 0 and self.spring():
            if self.trap == "kill":  # in mid-step: the state is changed, and no answer was given
                os.kill(os.getpid(), signal.SIGKILL)
            if self.trap == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
        sums = np.zeros((N_FEATURES, 64, N_BINS), dtype=np.int64)
        for k in range(N_FEATURES):
            np.add.at(sums[k], (self.nodes, self.bins[:, k]), 1 + extra)
        return sums, int(right.sum())

    def spring(self) -> bool:
        """Whether this is the first state to get here."""
        try:
            Path(f"{self.marker}-{self.n_traps()}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def n_traps(self) -> str:
        return "all" if self.trap != "each" else str(self.block)


class MakeHistograms:
    """Loads blocks; a pickle of it travels."""

    def __init__(self, n_rows: int = 400, marker: str = "", trap: str = "kill", bad: int = -1) -> None:
        self.n_rows, self.marker, self.trap, self.bad = n_rows, marker, trap, bad

    def __call__(self, block: int) -> HistogramState:
        if block == self.bad:
            raise OSError("the file is damaged")
        if self.trap == "everyone" and self.marker:
            return _Mortal(block, self.n_rows, self.marker, "everyone")
        return HistogramState(block, self.n_rows, self.marker, self.trap)

    def name_block(self, block: int) -> str:
        return f"part-{block}.parquet"


class _Mortal(HistogramState):
    """Kills each process that gets to step 6 while it has not been killed as often as there are workers."""

    def split(self, step: int, feature: int, threshold: int, extra: int = 0) -> Any:
        if step == 6:
            for number in range(2):
                try:
                    Path(f"{self.marker}-{number}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return super().split(step, feature, threshold, extra)


def digest_fit(hosts: HostGroup, key: str, make: MakeHistograms, n_blocks: int = 4, n_steps: int = 12) -> str:
    """A fit of some steps, each of which depends on the sums of the last; the digest of all sums."""
    digest = hashlib.sha256()
    hosts.open(key, make, n_blocks)
    try:
        feature, threshold = 0, 7
        for step in range(n_steps):
            extra = [(block + 1,) for block in range(n_blocks)] if step % 3 == 0 else None
            args = (step, feature, threshold)
            sums, n_right = hosts.call(key, "split", args, reduce="sum", changes=True, by_block=extra)
            (counts,) = hosts.call(key, "count", reduce="sum", changes=False)
            (largest,) = hosts.call(key, "largest", reduce="max", changes=False)
            digest.update(sums.tobytes() + counts.tobytes() + str((n_right, largest)).encode())
            feature, threshold = int(sums.sum() % N_FEATURES), int(sums.argmax() % N_BINS)
        rows = [n for _, n in hosts.call(key, "where", reduce="list", changes=False)]
        assert rows == [make.n_rows] * n_blocks
    finally:
        hosts.close(key)
    return digest.hexdigest()
