"""What a boosting fit on a cluster costs, by simulation: `python benchmarks/sizing.py --nodes 100 --rows 1e10`.

Each tree is grown in steps. In a step the driver sends the splits of a few leaves to every worker, each worker reads
the rows of the smaller children and sends their histograms, and the driver adds them. A step ends when the slowest
worker's histograms are added, so that the time of workers is drawn with a spread. The link of the driver takes one
message at a time. Round trips and bytes of a tree were counted, latencies were measured on loopback (docs/sizing.md);
the speed of the link and of the kernels, of adding and the spread are assumptions. All are options. Nothing here needs
the library.
"""

from __future__ import annotations

import argparse
import heapq
import random
from dataclasses import dataclass, replace

#: Steps of a tree and leaves that are expanded, by leaves and by leaves ahead (best-first order replayed exactly):
#: counted by ``BlockBoosting.traffic`` on 60,000 rows of 28 features.
STEPS = {(31, 1): (30, 30), (31, 4): (9.8, 32.5), (31, 16): (9.1, 49)}
STEPS |= {(255, 1): (255, 255), (255, 4): (67, 256), (255, 16): (23, 272), (255, 24): (19, 285), (255, 64): (18.5, 449)}


@dataclass(frozen=True)
class Cluster:
    """A fit and the machines that it runs on.

    Attributes
    ----------
    nodes, cores : int
        Workers, and threads of each.
    rows, features, trees, leaves, ahead : number
        The fit; ``ahead`` leaves are expanded in a step.
    latency : float
        Seconds of a round trip with one worker.
    per_call : float
        Seconds of the driver for each worker in a step.
    bandwidth : float
        Bytes a second of the driver's link.
    adding : float
        Bytes of histograms that the driver adds in a second.
    per_value : float
        Seconds for a core to add one value to a histogram.
    spread : float
        Standard deviation of the logarithm of a worker's time in a step.
    bin_bytes : int
        Bytes of a bin of a histogram: the sums of gradients and hessians in one word.
    further : float
        Round trips of a tree besides the steps: gradients, the root, leaf values.
    """

    nodes: int = 100
    cores: int = 16
    rows: float = 1e10
    features: int = 28
    trees: int = 500
    leaves: int = 255
    ahead: int = 24
    latency: float = 0.0015
    per_call: float = 0.0008
    bandwidth: float = 1.25e9
    adding: float = 4.0e9
    per_value: float = 0.9e-9
    spread: float = 0.1
    bin_bytes: int = 8
    further: float = 2.0

    @property
    def steps(self) -> tuple[float, float]:
        """Steps of a tree, and leaves that are expanded in it; between measured points, the nearest."""
        known = min(STEPS, key=lambda pair: (abs(pair[0] - self.leaves), abs(pair[1] - self.ahead)))
        steps, expanded = STEPS[known]
        scale = self.leaves / known[0]
        return max(1.0, steps * scale), expanded * scale

    @property
    def histogram_bytes(self) -> int:
        """Bytes that travel for one leaf that is expanded."""
        return self.features * 256 * self.bin_bytes

    @property
    def node_bytes(self) -> float:
        """Memory of a worker: bins by column and by record with the gradient, scores, target, rows in order."""
        record = 8 * -(-(self.features + 8) // 8)
        return self.rows / self.nodes * (self.features + record + 8 + 8 + 4)


def simulate_tree(setup: Cluster, rng: random.Random) -> dict[str, float]:
    """Seconds and bytes of one tree."""
    steps, expanded = setup.steps
    # Every level reads about half of the rows once, the smaller children; the root reads all of them.
    levels = max(1.0, (expanded / 2) ** 0.5 if setup.leaves < 8 else setup.leaves.bit_length())
    rows_read = setup.rows / setup.nodes * (1.0 + 0.5 * levels)
    kernel = rows_read * setup.features * setup.per_value / setup.cores / steps
    size = setup.histogram_bytes * expanded / steps
    seconds = setup.further * (setup.latency + setup.per_call * setup.nodes)
    kernels = 0.0
    for _ in range(round(steps)):
        sent = [k * setup.per_call for k in range(setup.nodes)]
        done = [at + setup.latency + kernel * rng.lognormvariate(0.0, setup.spread) for at in sent]
        kernels += kernel
        heapq.heapify(done)
        free = 0.0
        while done:  # one message at a time on the driver's link, then it is added
            free = max(free, heapq.heappop(done)) + size / setup.bandwidth + size / setup.adding
        seconds += free
    return {
        "seconds": seconds,
        "kernel": kernels,
        "to driver": size * steps * setup.nodes,
        "to workers": setup.nodes * setup.leaves * 12.0 * 2,
        "round trips": round(steps) + setup.further,
    }


def describe(setup: Cluster, seed: int = 0) -> dict[str, float]:
    """The mean of some trees, and the whole fit."""
    rng = random.Random(seed)
    trees = [simulate_tree(setup, rng) for _ in range(5)]
    mean = {name: sum(tree[name] for tree in trees) / len(trees) for name in trees[0]}
    alone = simulate_tree(replace(setup, nodes=1, latency=0.0, per_call=0.0, bandwidth=1e15, adding=1e15), rng)
    mean["speedup"] = alone["seconds"] / mean["seconds"]
    mean["fit hours"] = mean["seconds"] * setup.trees / 3600
    mean["node GB"] = setup.node_bytes / 1e9
    return mean


def print_table(base: Cluster) -> None:
    """Clusters of several sizes, with the rows of the given one."""
    head = ["nodes", "s a tree", "kernel s", "round trips", "MB to driver", "speed-up", "GB a node", "hours"]
    print(f"{base.rows:.3g} rows x {base.features} features, {base.leaves} leaves, {base.ahead} leaves ahead\n")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for nodes in sorted({1, 4, 16, 64, base.nodes}):
        found = describe(replace(base, nodes=nodes))
        row = [found["seconds"], found["kernel"], found["round trips"], found["to driver"] / 1e6, found["speedup"]]
        cells = [str(nodes), *(f"{value:.3g}" for value in (*row, found["node GB"], found["fit hours"]))]
        print("| " + " | ".join(cells) + " |")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in vars(Cluster()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value) if name != "rows" else float, default=value)
    print_table(Cluster(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
