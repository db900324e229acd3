"""Fits on a cluster: the context manager, and the rule of what is distributed."""

from __future__ import annotations

import logging
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from committee.constraints import show_value
from committee.data.block_mapping import register_cluster, use_block_map
from committee.data.sources.dask_source import DaskSource
from committee.data.sources.ray_source import RaySource
from committee.data.sources.tables import SequenceSource
from committee.exceptions import DataSizeError, ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from committee import _core
    from committee.data.block_mapping import MappedTable
    from committee.data.sources import BlockSource
    from committee.engines.hosts.recovering import RecoveringHosts
    from committee.engines.hosts.traffic import Traffic

__all__ = [
    "ClusterContext",
    "Workers",
    "check_host_memory",
    "choose_hosts",
    "cluster",
    "find_cluster",
    "refuse_entries",
]

Workers: TypeAlias = "int | str | Executor | Sequence[Executor] | Any"
"""What `cluster` accepts: a number of processes, a Dask client, Ray, or executors."""

_LOG = logging.getLogger("committee")
_LEAST_WORK = 2e8
"""Values read (rows x features x trees) below which a fit stays in this process: it takes a second or so, which is what
sending the bins and starting work elsewhere takes."""
_LEAST_VALUES = 2e7
"""Values of a table in blocks below which this process reads and bins it by itself."""

_ACTIVE: ContextVar[ClusterContext | None] = ContextVar("committee_cluster", default=None)


def cluster(
    workers: Workers,
    *,
    n_workers: int | None = None,
    distribute: Literal["auto", "always"] = "auto",
    time_limit: float = 60.0,
) -> ClusterContext:
    """Fit on the workers of a cluster: fits inside the ``with`` block use them.

    The result has the same bytes as the fit without a cluster, for any number of workers, also if workers are lost
    or come during the fit. Forests, extra-trees and bags are distributed by trees, the members and folds of voting,
    stacking, super learners and ensemble selection by fits, gradient boosting by rows; tables in blocks are read and
    binned by the workers. What is not distributed, and why, is logged (logger "committee", level INFO).

    Parameters
    ----------
    workers : int, distributed.Client, the module ray or "ray", Executor, or sequence of Executors
        Where to fit. A number starts as many processes on this machine. A Dask client uses a host on each of its
        workers; ``ray`` uses an actor for each CPU of the cluster that this process is connected to. An executor of
        ``concurrent.futures`` runs trees and members; one that has several processes cannot hold blocks of rows, a
        sequence of executors with one process each can.
    n_workers : int or None, default=None
        For Ray the number of actors, for Dask the most workers to use; None: all there are.
    distribute : {"auto", "always"}, default="auto"
        ``"auto"``: fits that take a second or so on one machine stay in this process. ``"always"``: whatever can be
        distributed is.
    time_limit : float, default=60.0
        Seconds without an answer after which a worker is given up, or five times the longest step so far if that is
        more. Its work moves to other workers; the result does not change.

    Returns
    -------
    ClusterContext
        A context manager. Its ``traffic`` counts round trips, calls, bytes, and workers that were lost.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from committee import RandomForestClassifier, cluster
    >>> X, y = make_classification(random_state=0)
    >>> with cluster(2, distribute="always"):
    ...     forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> alone = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> bool((forest.predict_proba(X) == alone.predict_proba(X)).all())
    True
    """
    if distribute not in ("auto", "always"):
        raise ParameterError(
            f"The 'distribute' parameter of cluster must be 'auto' or 'always'; got {show_value(distribute)}."
        )
    if not time_limit > 0.0:
        raise ParameterError(
            f"The 'time_limit' parameter of cluster must be a number of seconds > 0; got {show_value(time_limit)}."
        )
    return ClusterContext(workers, n_workers, distribute, float(time_limit))


class ClusterContext:
    """A cluster that fits use inside a ``with`` block, see `cluster`.

    Parameters
    ----------
    workers, n_workers, distribute, time_limit
        As in `cluster`.

    Attributes
    ----------
    hosts : RecoveringHosts
        The workers.
    traffic : Traffic
        Round trips, calls and bytes so far, and workers that were lost.
    """

    def __init__(
        self, workers: Workers, n_workers: int | None, distribute: Literal["auto", "always"], time_limit: float
    ) -> None:
        self._workers, self._n_workers, self.time_limit = workers, n_workers, time_limit
        self.distribute = distribute
        self._hosts: RecoveringHosts | None = None
        self._entered: list[ExitStack] = []

    @property
    def hosts(self) -> RecoveringHosts:
        """The workers; they are started when they are first needed."""
        if self._hosts is None:
            self._hosts = connect_hosts(self._workers, self._n_workers, self.time_limit)
        return self._hosts

    @property
    def traffic(self) -> Traffic:
        """Round trips, calls and bytes so far."""
        return self.hosts.traffic

    def __enter__(self) -> Self:
        stack = ExitStack()
        token = _ACTIVE.set(self)
        stack.callback(_ACTIVE.reset, token)
        stack.enter_context(use_block_map(self._map_blocks))
        self._entered.append(stack)
        return self

    def __exit__(self, *_: object) -> None:
        self._entered.pop().close()
        if not self._entered and self._hosts is not None:
            self._hosts.shutdown()
            self._hosts = None

    def _map_blocks(
        self, X: MappedTable, function: Callable[[Any, Any], Any], items: list[Any], shared: Any
    ) -> list[Any] | None:
        """Work on the blocks of a table, on the workers; None if they are loaded faster than that."""
        if isinstance(X.opened.source, SequenceSource):
            _LOG.info("A list of tables is read by this process, which has them.")
            return None
        n_values = float(X.shape[0]) * X.shape[1]
        if self.distribute != "always" and n_values < _LEAST_VALUES:
            _LOG.info("A table of %.2g values is read by this process: that is faster than a cluster.", n_values)
            return None
        _LOG.info("%d blocks are read on %s; bytes travel.", len(items), self.hosts.pool.description)
        return self.hosts.map(function, items, shared)


def _find_own_cluster(source: BlockSource) -> AbstractContextManager[Any]:
    """The cluster that a Dask collection or a Ray data set lives on, unless another one is in use."""
    if _ACTIVE.get() is None:
        if isinstance(source, DaskSource):
            client = source.find_client()
            if client is not None:
                return cluster(client)
        elif isinstance(source, RaySource):
            return cluster("ray")
    return nullcontext()


register_cluster(_find_own_cluster)


def connect_hosts(workers: Workers, n_workers: int | None, time_limit: float) -> RecoveringHosts:
    """Hosts on what the user calls a cluster."""
    from committee.engines.hosts.executor_hosts import ExecutorHosts

    module = type(workers).__module__.partition(".")[0]
    if isinstance(workers, int) and not isinstance(workers, bool):
        if workers < 1:
            raise ParameterError(f"A cluster needs at least one process; got {workers}.")
        return ExecutorHosts(n_processes=workers, time_limit=time_limit)
    if (isinstance(workers, str) and workers == "ray") or getattr(workers, "__name__", None) == "ray":
        from committee.engines.hosts.ray_hosts import RayHosts

        return RayHosts(n_workers, time_limit)
    if module == "distributed" and hasattr(workers, "scheduler"):
        from committee.engines.hosts.dask_hosts import DaskHosts

        return DaskHosts(workers, n_workers, time_limit)
    executors: list[Any] = list(workers) if isinstance(workers, list | tuple) else [workers]
    if executors and all(isinstance(one, Executor) or hasattr(one, "submit") for one in executors):
        return ExecutorHosts(executors, time_limit=time_limit)
    raise ParameterTypeError(
        "A cluster must be a number of processes, a Dask client, the module ray or 'ray', or executors of "
        f"concurrent.futures; got {show_value(workers)}."
    )


def find_cluster() -> ClusterContext | None:
    """The cluster whose ``with`` block this runs in."""
    return _ACTIVE.get()


def choose_hosts(what: str, n_tasks: int, work: float) -> RecoveringHosts | None:
    """The workers for a fit, or None if it is not to be distributed; the log says why.

    Parameters
    ----------
    what : str
        The fit, in the words of a sentence.
    n_tasks : int
        Into how many tasks it can be divided.
    work : float
        Values that it reads: rows times features times trees.
    """
    active = _ACTIVE.get()
    if active is None:
        return None
    if active.distribute != "always":
        if n_tasks < 2:
            _LOG.info("%s is fitted in this process: it cannot be divided.", what)
            return None
        if work < _LEAST_WORK:
            _LOG.info(
                "%s is fitted in this process: it reads %.2g values, and below %.2g that is faster than a cluster.",
                what,
                work,
                _LEAST_WORK,
            )
            return None
    hosts = active.hosts
    hosts.list_hosts()
    _LOG.info("%s is fitted on %s in %d tasks.", what, hosts.pool.description, n_tasks)
    return hosts


def refuse_entries(what: str, bins: _core.BinnedMatrix) -> bool:
    """Whether a fit stays in this process because its table is kept as entries; the log says so.

    A wide sparse table would travel as a byte a value, whether or not there is an entry.
    """
    if bins.has_entries:
        text = "%s runs in this process: a wide sparse table of %d columns is kept as entries, and does not travel."
        _LOG.info(text, what, bins.n_cols)
    return bins.has_entries


def check_host_memory(hosts: RecoveringHosts, what: str, n_bytes: int) -> None:
    """Refuse to send more to each worker than it may hold."""
    limit = hosts.pool.find_memory()
    _LOG.info("%s: %.1f MB are sent to each worker once.", what, n_bytes / 1e6)
    if limit is not None and n_bytes > limit:
        raise DataSizeError(
            f"{what} needs {n_bytes / 2**30:.2f} GiB on each worker, and a worker of {hosts.pool.description} has "
            f"{limit / 2**30:.2f} GiB. Use workers with more memory, or fewer features."
        )
