from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.runtime.placement import Packing


@pytest.fixture
def packing() -> Packing:
    packing = Packing(most_cells=2, slack=3)
    packing.add_cell("a")
    packing.add_cell("b")
    return packing


def test_sessions_go_to_the_emptiest_cell(packing):
    assert [packing.open_session(name) for name in ("s", "t", "u")] == ["a", "b", "a"]


def test_a_sessions_main_agents_and_its_first_groups_are_at_home(packing):
    home = packing.open_session("s")
    assert packing.place("s", "main") == home
    assert packing.place("s", "task_1") == home


def test_groups_beyond_the_slack_go_elsewhere_and_stay_where_they_are(packing):
    packing.open_session("s")
    places = [packing.place("s", f"task_{number}") for number in range(6)]
    assert set(places) == {"a", "b"}
    assert [packing.place("s", f"task_{number}") for number in range(6)] == places
    assert packing.cells_of("s") == ["a", "b"]


def test_a_group_of_a_cell_that_was_lost_is_placed_afresh(packing):
    packing.open_session("s")
    away = next(name for name in (f"task_{number}" for number in range(6)) if packing.place("s", name) == "b")
    packing.release("s", away)
    assert packing.lose_cell("b") == []
    assert packing.place("s", away) == "a"


def test_a_new_cell_is_wanted_while_there_may_be_more_and_none_is_empty():
    packing = Packing(most_cells=2, slack=3)
    assert packing.wants_cell()
    packing.add_cell("a")
    assert not packing.wants_cell()
    packing.open_session("s")
    assert packing.wants_cell()
    packing.add_cell("b")
    packing.open_session("t")
    assert not packing.wants_cell()


def test_a_dead_cell_gives_the_sessions_that_it_hits(packing):
    packing.open_session("s")
    packing.open_session("t")
    for number in range(6):
        packing.place("s", f"task_{number}")
    assert packing.lose_cell("b") == ["s", "t"]
    assert packing.cells == ["a"]


@given(st.lists(st.tuples(st.sampled_from(["open", "close", "place"]), st.integers(0, 5), st.integers(0, 9))))
def test_load_is_given_back_whatever_happens(steps):
    packing = Packing(most_cells=3, slack=2)
    for cell in "abc":
        packing.add_cell(cell)
    opened: set[str] = set()
    for what, session_number, group in steps:
        session = f"s{session_number}"
        if what == "open":
            packing.open_session(session)
            opened.add(session)
        elif what == "close":
            packing.close_session(session)
            opened.discard(session)
        elif session in opened:
            assert packing.place(session, f"g{group}") in "abc"
    for session in opened:
        packing.close_session(session)
    assert all(load == 0 for load in packing._load.values())


def test_a_home_that_dies_leaves_the_sessions_groups_on_other_cells_where_they_are():
    packing = Packing(most_cells=3, slack=1)
    for cell in ("a", "b", "c"):
        packing.add_cell(cell, "node")
    packing.restore("s", "a", {"p1": "b", "p2": "b", "p3": "gone"})
    assert packing.lose_cell("a") == ["s"]
    assert packing.open_session("s") in ("b", "c")
    assert packing.lose_cell("c") in (["s"], [])
    assert packing.open_session("s") == "b"
    assert [packing.place("s", name) for name in ("p1", "p2")] == ["b", "b"]


def test_a_session_whose_home_died_with_the_fleet_keeps_its_groups():
    packing = Packing(most_cells=2, slack=1)
    packing.add_cell("b", "node")
    packing.restore("s", "dead", {"p1": "b"})
    assert packing.open_session("s") == "b"
    assert packing.place("s", "p1") == "b"
