"""Hosts in this process: sums over blocks, and blocks that are lost."""

import numpy as np
import pytest

from committee.engines.hosts import Command, LocalHosts, reduce_answers


class Counter:
    def __init__(self, block: int) -> None:
        self.values = np.array([block, 10 * block])

    def run(self, name: str, args: tuple) -> tuple:
        if name == "add":
            self.values = self.values + sum(args)
        return (self.values, int(self.values[0]))


@pytest.mark.parametrize(("how", "expected"), [("sum", ([3, 30], 3)), ("max", ([2, 20], 2))])
def test_answers_are_reduced_elementwise(how, expected):
    hosts = LocalHosts()
    hosts.open("fit", Counter, 3)
    array, number = hosts.call("fit", "read", reduce=how, changes=False)
    assert (array.tolist(), number) == expected
    assert isinstance(number, int)


def test_list_keeps_the_order_of_blocks():
    assert reduce_answers([(1,), (2,)], "list") == [(1,), (2,)]


def test_a_lost_block_is_made_again_from_the_log():
    hosts = LocalHosts()
    hosts.open("one", Counter, 2)
    hosts.open("other", Counter, 2)
    hosts.call("one", "add", (5,), reduce="list", changes=True, by_block=[(1,), (2,)])
    hosts.drop("one", 1)
    assert [first for _, first in hosts.call("one", "read", reduce="list", changes=False)] == [6, 8]
    assert [first for _, first in hosts.call("other", "read", reduce="list", changes=False)] == [0, 1]


def test_a_shorter_log_takes_the_place_of_the_steps():
    hosts = LocalHosts()
    hosts.open("fit", Counter, 2)
    for _ in range(3):
        hosts.call("fit", "add", (1,), reduce="list", changes=True)
    hosts.compact("fit", [Command("add", (3,))])
    hosts.drop("fit", 0)
    assert [first for _, first in hosts.call("fit", "read", reduce="list", changes=False)] == [3, 4]


def test_map_gives_shared_data_to_each_task():
    hosts = LocalHosts()
    assert hosts.map(lambda item: item + 1, [1, 2]) == [2, 3]
    assert hosts.map(lambda item, shared: item * shared, [1, 2], 10) == [10, 20]
