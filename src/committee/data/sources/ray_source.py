"""Ray data sets as sources: each block of the data set is a block, read from the object store where it is needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from committee.data.sources.protocol import PlainKind

__all__ = ["RaySource", "carry_references", "is_ray"]

_CARRIED = threading.local()


@contextmanager
def carry_references(references: list[Any]) -> Iterator[None]:
    """Pickles made or read inside the ``with`` block keep references to Ray's objects in this list, beside the pickle.

    Ray has to see the references that travel: one that is hidden in bytes has no owner where it arrives.
    """
    before = getattr(_CARRIED, "references", None)
    _CARRIED.references = references
    try:
        yield
    finally:
        _CARRIED.references = before


def is_ray(X: Any) -> bool:
    """Whether X is a data set of Ray."""
    return type(X).__module__.startswith("ray.data") and hasattr(X, "to_arrow_refs")


class RaySource:
    """The blocks of a Ray data set.

    Parameters
    ----------
    dataset : ray.data.Dataset
        Is materialized: its blocks are in the object store of the cluster, which computes a lost one again.
    """

    names: tuple[str, ...] | None
    row_counts: Sequence[int] | None = None

    def __init__(self, dataset: Any) -> None:
        whole = _materialize(dataset)
        self.names = tuple(str(name) for name in whole.columns() or ())
        self._references = whole.to_arrow_refs()
        self.n_blocks = len(self._references)
        if not self.n_blocks:
            raise DataError("X gives no table; a source for fit must give at least one.")

    def load(self, block: int, columns: Sequence[str] | None = None) -> Any:
        """The rows of a block as a table of Arrow; columns are selected where it is."""
        import ray

        reference = self._references[block]
        if columns is not None and tuple(columns) != self.names:
            reference = ray.remote(_select_columns).options(num_cpus=0).remote(reference, list(columns))
        try:
            return ray.get(reference)
        except Exception as error:  # of what computes the block, or of Ray, which has lost it
            where = f"Block {block} of X ({self.name_block(block)})"
            raise DataError(f"{where} cannot be loaded: {_show_cause(error)}") from error

    def name_block(self, block: int) -> str:
        """The number of the block."""
        return f"block {block} of the Ray data set"

    def find_plain_kind(self, column: str) -> PlainKind | None:
        """The blocks say it."""
        return None

    def find_version(self, block: int) -> Hashable:
        """Objects in the store never change."""
        return str(self._references[block].hex())

    def close(self) -> None:
        """The data set belongs to the caller."""

    def __getstate__(self) -> dict[str, Any]:
        carried = getattr(_CARRIED, "references", None)
        if carried is None:
            raise TypeError("A Ray data set can be sent to the workers of its Ray cluster only.")
        first = len(carried)
        carried.extend(self._references)
        return {"names": self.names, "n_blocks": self.n_blocks, "first": first}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.names, self.n_blocks, first = state["names"], state["n_blocks"], state["first"]
        self._references = _CARRIED.references[first : first + self.n_blocks]


@contextmanager
def _set_attributes(owner: Any, **values: Any) -> Iterator[None]:
    """Attributes of an object for the time of the ``with`` block; those that it does not have are left out."""
    before = {name: getattr(owner, name) for name in values if hasattr(owner, name)}
    for name in before:
        setattr(owner, name, values[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


def _materialize(dataset: Any) -> Any:
    """The data set with all its blocks in the object store, in the order of the rows."""
    try:
        # Otherwise blocks come in the order in which they are ready, and a fit draws rows by their numbers.
        with _set_attributes(dataset.context.execution_options, preserve_order=True):
            return dataset.materialize()
    except Exception as error:  # of reading, or of a function of the user
        found = _find_failed_block(dataset)
        where = "The Ray data set" if found is None else f"Block {found} of X (block {found} of the Ray data set)"
        raise DataError(f"{where} cannot be loaded: {_show_cause(error)}") from error


def _show_cause(error: Exception) -> str:
    """The error of the user's function, which Ray hands on as text: the last line of the first traceback."""
    import ray

    first, _, _ = str(error).partition("The above exception was the direct cause")
    lines = [line.strip() for line in first.splitlines() if line.strip()] or [""]
    is_task = isinstance(error, ray.exceptions.RayTaskError)
    return lines[-1] if is_task else f"{type(error).__name__}: {lines[0]}"


def _find_failed_block(dataset: Any) -> int | None:
    """The first block that cannot be computed; None if that cannot be said.

    The others are computed once more, and give the numbers of their tasks. That says something only if the function
    that asks for the number runs in the tasks that compute the blocks.
    """
    asking = dataset.map_batches(_number_task, batch_size=None, batch_format="pyarrow")
    with _set_attributes(asking.context, max_errored_blocks=-1):
        try:
            rows = asking.take_all()
        except Exception:
            return None
    if not all(row["fused"] for row in rows):
        return None
    numbers = {int(row["number"]) for row in rows}
    return next(number for number in range(len(numbers) + 1) if number not in numbers)


def _number_task(_: Any) -> Any:
    """The number of the task that this runs in, and whether it is the task that made the block."""
    import pyarrow as pa
    from ray.data._internal.execution.interfaces import TaskContext

    task = TaskContext.get_current()
    return pa.table({"number": [task.task_idx], "fused": ["->" in task.op_name]})


def _select_columns(table: Any, columns: list[str]) -> Any:
    return table.select(columns)
