"""Tasks without state over a group of hosts: each host takes the next one, and a lost host's task is run elsewhere.

A task is a function of its item and of what all tasks share, so that it may be run twice; whichever copy answers first
counts. So a host that hangs delays nothing for long: once all other tasks are done, idle hosts run its task as well.
"""

from __future__ import annotations

import pickle
import threading
import time
import uuid
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from committee.engines.hosts.host import TaskReply, TaskRequest, dump_object, pack_object
from committee.engines.hosts.pool import HostLostError
from committee.exceptions import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.engines.hosts.host import HostFailure
    from committee.engines.hosts.pool import HostHandle
    from committee.engines.hosts.recovering import RecoveringHosts

__all__ = ["TaskRun"]

_SLICE = 0.25
"""Seconds between two looks of a waiting thread at whether all is done."""
_LONG = 60.0
"""Time limits after which a host that works on one task is given up; a task may be a long fit."""
_MOST_ATTEMPTS = 4
"""Workers that may be lost over one task before it is the task's fault."""


class TaskRun:
    """The tasks of one `map`.

    Parameters
    ----------
    group : RecoveringHosts
        The hosts.
    function : callable
        Takes an item, and what the tasks share unless that is None.
    items : list
        One for each task.
    shared : object
        Sent to each host once.
    on_done : callable or None
        Called with the number of tasks that are done, in the thread of the caller.
    """

    def __init__(
        self,
        group: RecoveringHosts,
        function: Callable[..., Any],
        items: list[Any],
        shared: Any,
        on_done: Callable[[int], None] | None,
    ) -> None:
        self._group, self._items, self._on_done = group, items, on_done
        self._function = dump_object(function)
        self._key = "" if shared is None else uuid.uuid4().hex
        packed = pack_object(shared)
        self._n_shared = len(packed.data)
        self._shared = group.pool.share(packed) if self._key else None
        self._todo = deque(range(len(items)))
        self._answers: dict[int, Any] = {}
        self._running: dict[int, float] = {}
        self._attempts: Counter[int] = Counter()
        self._served: set[str] = set()
        self._having: set[str] = set()
        self._n_threads = 0
        self._longest = 0.0
        self._failure: HostFailure | BaseException | None = None
        self._closed = False
        self._news = threading.Condition()

    def run(self) -> list[Any]:
        """All answers, in the order of the items."""
        self._group.traffic.rounds += 1
        shown = 0
        try:
            while True:
                with self._news:
                    done, failed = len(self._answers), self._failure is not None
                if self._on_done is not None and done > shown:
                    shown = done
                    self._on_done(done)
                if failed or done == len(self._items):
                    break
                self._serve_hosts()
                with self._news:
                    if len(self._answers) == done and self._failure is None:
                        self._news.wait(_SLICE)
        finally:
            with self._news:
                self._closed = True
            self._forget_shared()
        if self._failure is not None:
            self._raise()
        return [self._answers[k] for k in range(len(self._items))]

    def _raise(self) -> None:
        from committee.engines.hosts.recovering import raise_failure

        if isinstance(self._failure, BaseException):
            raise self._failure
        assert self._failure is not None
        raise_failure(self._failure, str)

    def _serve_hosts(self) -> None:
        """A thread for each host that has none; waits for a host if there is none at all."""
        with self._news:
            idle = self._n_threads == 0
        hosts = self._group.list_hosts(wait=idle)
        if idle and not hosts:
            raise self._group.report_none()
        for handle in hosts:
            if handle.name not in self._served:
                self._served.add(handle.name)
                with self._news:
                    self._n_threads += 1
                threading.Thread(target=self._serve, args=(handle,), daemon=True).start()

    def _serve(self, handle: HostHandle) -> None:
        """Give a host one task after another."""
        try:
            while True:
                task = self._next_task()
                if task is None:
                    return
                self._run_task(handle, task)
        except HostLostError as error:
            self._group.lose(handle.name, error)
        except BaseException as error:  # a thread must not fail in silence
            with self._news:
                self._failure = self._failure or error
        finally:
            with self._news:
                self._n_threads -= 1
                self._news.notify_all()

    def _next_task(self) -> int | None:
        """The next task; a copy of one that takes long if there is no other; None when all is done."""
        with self._news:
            while not (self._closed or self._failure is not None or len(self._answers) == len(self._items)):
                if self._todo:
                    task = self._todo.popleft()
                    self._running[task] = time.monotonic()
                    return task
                late = time.monotonic() - max(self._group.time_limit, 3.0 * self._longest)
                for task, since in self._running.items():
                    if since < late:
                        self._running[task] = time.monotonic()
                        return task
                self._news.wait(_SLICE)
        return None

    def _run_task(self, handle: HostHandle, task: int) -> None:
        start = time.monotonic()
        try:
            item = dump_object(self._items[task])
            shared = None if not self._key or handle.name in self._having else self._shared
            reply = self._call(handle, item, shared)
            if reply is not None and reply.lacks_shared:
                # An executor of several processes gave the task to one that has not had it yet.
                reply = self._call(handle, item, self._shared)
        except HostLostError as error:
            with self._news:
                self._attempts[task] += 1
                if self._attempts[task] >= _MOST_ATTEMPTS:
                    self._failure = self._failure or ClusterError(
                        f"Task {task} was given to {_MOST_ATTEMPTS} workers of {self._group.pool.description}, and all "
                        f"of them were lost; the last reason: {error}. Perhaps it needs more memory than a worker has."
                    )
                elif task not in self._answers:
                    self._todo.appendleft(task)
            raise
        if reply is None:
            return
        with self._news:
            self._having.add(handle.name)
            self._longest = max(self._longest, time.monotonic() - start)
            if reply.failure is not None:
                self._failure = self._failure or reply.failure
            elif task not in self._answers:
                assert reply.answer is not None
                self._answers[task] = pickle.loads(reply.answer)
                self._group.traffic.received += len(reply.answer)
            self._running.pop(task, None)
            self._news.notify_all()

    def _call(self, handle: HostHandle, item: bytes, shared: Any) -> TaskReply | None:
        """The host's reply; None if it is no longer needed."""
        traffic = self._group.traffic
        traffic.calls += 1
        traffic.sent += len(item) + len(self._function) + (0 if shared is None else self._n_shared)
        start = time.monotonic()
        pending = handle.submit("run_task", TaskRequest(self._function, self._key, item), shared)
        while True:
            try:
                reply: TaskReply = pending.result(_SLICE)
                return reply
            except TimeoutError:
                with self._news:
                    if self._closed or self._failure is not None or len(self._answers) == len(self._items):
                        return None
                    limit = max(_LONG * self._group.time_limit, 20.0 * self._longest)
                if time.monotonic() - start > limit:
                    raise HostLostError(f"no answer within {limit:g} seconds") from None

    def _forget_shared(self) -> None:
        for handle in self._group.list_hosts(wait=False) if self._key else []:
            if handle.name in self._having:
                try:
                    handle.submit("forget", self._key)
                except HostLostError as error:
                    self._group.lose(handle.name, error)
