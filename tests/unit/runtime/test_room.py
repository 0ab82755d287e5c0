from __future__ import annotations

import pytest

from sylk_ray.runtime.room import NodeRoom, Room, can_ever_hold, emptiest_node, missing

SMALL = NodeRoom("small", Room(2, 4000), Room(2, 4000))
SCARCE_MEMORY = (
    "it wants 1 CPU and 20000 MB of memory on one node; the best of 2 nodes has 1 CPU and 15000 MB of memory "
    "free now, of 8 CPU and 16000 MB of memory in all"
)
BUSY = NodeRoom("busy", Room(8, 16000), Room(1, 15000))


@pytest.mark.parametrize(
    ("wanted", "possible"),
    [(Room(2), True), (Room(8, 16000), True), (Room(9), False), (Room(1, 16001), False), (Room(0.01), True)],
)
def test_a_request_is_possible_when_one_node_alone_has_it_in_all(wanted, possible):
    assert can_ever_hold(wanted, [SMALL, BUSY]) == possible


def test_nothing_is_possible_without_a_node():
    assert not can_ever_hold(Room(0.01), [])
    assert missing(Room(0.01), []) == "it wants 0.01 CPU, and no node is there that can hold cells"


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Room(10), "it wants 10 CPU on one node; the best of 2 nodes has 1 CPU free now, of 8 CPU in all"),
        (Room(2.5), "it wants 2.5 CPU on one node; the best of 2 nodes has 1 CPU free now, of 8 CPU in all"),
        (
            Room(1, 20000),
            SCARCE_MEMORY,
        ),
    ],
    ids=["never", "not now", "memory"],
)
def test_what_is_missing_is_told_of_the_best_node(wanted, told):
    assert missing(wanted, [SMALL, BUSY]) == told


@pytest.mark.parametrize(
    ("cells", "chosen"),
    [({}, "busy"), ({"busy": 4}, "small"), ({"busy": 2, "small": 1}, "busy"), ({"busy": 7, "small": 1}, "small")],
)
def test_the_next_cell_goes_where_there_are_fewest_a_cpu(cells, chosen):
    assert emptiest_node([SMALL, BUSY], cells, Room(0.01)) == chosen


def test_a_full_node_gets_no_cell_while_another_has_room():
    full = NodeRoom("full", Room(8), Room(0))
    assert emptiest_node([full, SMALL], {"small": 50}, Room(0.01)) == "small"
    assert emptiest_node([full], {}, Room(0.01)) == ""
