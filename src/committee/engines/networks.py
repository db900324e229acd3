"""Training of feed-forward networks by the engine: the schedule of learning rates, and one epoch after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from committee import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["Layers", "NetworkParams", "plan_rates", "train_network"]

NetworkParams = _core.NetworkParams

Layers: TypeAlias = "list[NDArray[np.float32]]"
"""Of each layer the weights, (inputs, outputs), and below them its intercepts."""

_WARM_UP = 0.05
"""Part of the steps in which the learning rate rises."""


def plan_rates(highest: float, n_steps: int) -> NDArray[np.float32]:
    """Learning rates of all steps: they rise in a line at first, and fall to zero.

    The fall is the cubic that has the ends of a cosine, level there as it is, which every machine computes alike.

    Examples
    --------
    >>> plan_rates(1.0, 20).round(2)[[0, 1, 10, 19]]
    array([0.99, 0.97, 0.43, 0.  ], dtype=float32)
    """
    steps = np.arange(1, n_steps + 1, dtype=np.float64)
    done = steps / n_steps
    rise = np.minimum(1.0, steps / (_WARM_UP * n_steps))
    return np.asarray(highest * rise * (1.0 - done * done * (3.0 - 2.0 * done)), dtype=np.float32)


def train_network(
    table: FloatArray,
    target: FloatArray,
    counts: FloatArray,
    hidden: Sequence[int],
    *,
    n_classes: int,
    n_epochs: int,
    batch_rows: int,
    rate: float,
    params: _core.NetworkParams,
) -> Layers:
    """The layers of a trained network of rectified linear units.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_inputs)
        Numbers of about the size of one.
    target : ndarray of shape (n_rows,)
        Indices of classes, or values of mean zero and variance one.
    counts : ndarray of shape (n_rows,)
        How many rows each counts as.
    hidden : sequence of int
        Units of the hidden layers, multiples of four.
    n_classes : int
        Number of classes; 0 for values.
    n_epochs : int
        How often each row is used.
    batch_rows : int
        The most rows of a step.
    rate : float
        The highest learning rate.
    params : NetworkParams
        Seed, dropout and weight decay.
    """
    network = _core.Network([table.shape[1], *hidden, n_classes or 1], n_classes > 0, params)
    rows = np.ascontiguousarray(table, dtype=np.float32)
    goal, weights = target.astype(np.float32), (counts / counts.mean()).astype(np.float32)
    n_batches = -(-len(rows) // batch_rows)
    rates = plan_rates(rate, n_epochs * n_batches).reshape(n_epochs, n_batches)
    for epoch in range(n_epochs):
        network.run_epoch(rows, goal, weights, epoch, rates[epoch])
    return [network.copy_layer(k) for k in range(len(hidden) + 1)]
