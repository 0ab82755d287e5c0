"""Keys and their holders: taking over, falling silent, starting again."""

from __future__ import annotations

from sylk_ray.fairness import LEASE_S, Capacity, FairShare, Granted, Group, Lane, Returned
from tests.unit.fairness.driven import fair, said, want


def test_a_leased_key_moves_to_whoever_asks_for_it_without_a_new_charge():
    share = fair(cpu=1)
    share.request(want("a/1", cpu=1), "old", 0.0)
    before = share.snapshot(0.0).sessions[0].counter
    assert share.request(want("a/1", cpu=1), "new", 0.5) == [Granted("a/1", "new")]
    snapshot = share.snapshot(0.5)
    assert [(lease.key, lease.holder) for lease in snapshot.leases] == [("a/1", "new")]
    assert (snapshot.sessions[0].counter, snapshot.totals.granted) == (before, 1)


def test_a_waiting_key_moves_and_keeps_its_age():
    share = fair(cpu=1)
    share.request(want("a/0", cpu=1), "cell", 0.0)
    share.request(want("a/1", cpu=1, at=1.0), "old", 1.0)
    share.request(want("a/2", cpu=1, at=2.0), "cell", 2.0)
    assert share.request(want("a/1", cpu=1, at=3.0), "new", 3.0) == []
    assert share.release("a/0", 4.0) == [Granted("a/1", "new")]


def test_a_holder_that_was_taken_over_from_cannot_end_the_lease_of_its_successor():
    share = fair(cpu=1)
    share.request(want("a/1", cpu=1), "old", 0.0)
    share.request(want("a/1", cpu=1), "new", 1.0)
    assert share.release("a/1", 2.0, holder="old") == []
    assert share.heartbeat("old", [want("a/1", cpu=1)], [], 2.0) == [Returned("a/1", "old", "new has taken it over")]
    assert share.snapshot(2.0).held == {"cpu": 1}
    share.release("a/1", 3.0, holder="new")
    assert share.snapshot(3.0).held == {}


def test_releasing_an_unknown_key_changes_nothing():
    share = fair(cpu=1)
    before = share.snapshot(0.0)
    assert (share.release("a/1", 0.0), share.withdraw("a/1", 0.0), share.close_session("a", 0.0)) == ([], [], [])
    assert share.snapshot(0.0) == before


def test_withdrawing_what_was_granted_meanwhile_gives_it_back():
    share = fair(cpu=1)
    share.request(want("a/1", cpu=1), "cell", 0.0)
    share.request(want("a/2", cpu=1), "cell", 0.0)
    assert said(share.withdraw("a/1", 1.0)) == ["a/2"]


def test_a_dead_holders_leases_are_back_within_five_seconds():
    share = fair(cpu=1)
    share.request(want("a/1", cpu=1), "dead", 0.3)
    share.request(want("a/2", cpu=1), "dead", 0.3)
    share.request(want("b/1", cpu=1), "alive", 0.4)
    for second in range(1, 5):
        share.heartbeat("alive", [], [want("b/1", cpu=1)], float(second))
        assert share.tick(float(second)) == []
    assert share.next_wakeup(4.0) == 0.3 + LEASE_S
    gone = share.tick(5.0)
    assert said(gone) == ["Returned a/1", "Returned a/2", "b/1"]
    assert share.snapshot(5.0).totals.returned == 2
    assert share.place("a/2", 5.0) == "neither held nor waiting"


def test_a_heartbeat_is_all_that_a_holder_has():
    share = fair(cpu=2)
    for n in range(4):
        share.request(want(f"a/{n}", cpu=1), "cell", 0.0)
    decisions = share.heartbeat("cell", [want("a/0", cpu=1)], [want("a/3", cpu=1)], 1.0)
    assert said(decisions) == ["a/3"], "a/1 was given back and a/2 withdrawn, so a/3 runs"


def test_a_grant_whose_answer_was_lost_is_said_again():
    share = fair(cpu=1)
    share.request(want("a/1", cpu=1), "cell", 0.0)
    assert share.heartbeat("cell", [], [want("a/1", cpu=1)], 1.0) == [Granted("a/1", "cell")]


def test_a_restarted_share_rebuilds_itself_before_it_grants():
    share = FairShare(Capacity({"cpu": 2}), now=100.0, settle_s=2.5)
    share.set_group("a", Group(cpu_slots=1), 100.0)
    held = [want(f"a/{n}", cpu=1) for n in range(3)]
    waiting = [want("b/low", Lane.LOW, at=50.0, cpu=1), want("b/new", at=99.0, cpu=1)]
    assert share.request(want("b/other", at=100.0, cpu=1), "cell-2", 100.0) == []
    assert share.heartbeat("cell-1", held, waiting, 101.0) == []
    snapshot = share.snapshot(101.0)
    assert (snapshot.held, snapshot.totals.restored) == ({"cpu": 3}, 3)
    assert snapshot.sessions[0].counter > 0
    assert "until the holders have reported" in share.place("b/low", 101.0)
    assert share.next_wakeup(101.0) == 102.5
    assert said(share.tick(102.5)) == []
    assert said(share.release("a/0", 103.0)) == [], "still as much as there is"
    assert said(share.release("a/1", 103.0)) == ["b/low"], "its age was kept: it has been promoted"


def test_what_a_restarted_share_hears_of_from_its_old_holder_goes_to_the_one_who_asked_since():
    share = FairShare(Capacity({"cpu": 1}), now=0.0, settle_s=2.5)
    share.request(want("a/1", cpu=1), "new", 0.0)
    assert share.heartbeat("old", [want("a/1", cpu=1)], [], 1.0) == [
        Granted("a/1", "new"),
        Returned("a/1", "old", "new has taken it over"),
    ]


def test_a_smaller_capacity_revokes_nothing_and_grants_nothing_until_it_fits():
    share = fair(cpu=4)
    for n in range(6):
        share.request(want(f"a/{n}", cpu=1), "cell", 0.0)
    assert share.set_capacity(Capacity({"cpu": 2}), 1.0) == []
    assert share.snapshot(1.0).held == {"cpu": 4}
    assert [said(share.release(f"a/{n}", 2.0)) for n in range(3)] == [[], [], ["a/4"]]
    assert said(share.set_capacity(Capacity({"cpu": 3}), 3.0)) == ["a/5"]


def test_what_can_never_be_met_is_refused_at_once_and_says_what_there_is():
    share = fair(cpu=4)
    share.set_group("a", Group(max_engineers=2), 0.0)
    share.request(want("a/0", cpu=3, engineers=1), "cell", 0.0)
    (refused,) = share.request(want("a/1", cpu=6), "cell", 0.0)
    assert refused.reason == "it wants 6 cpu; 1 are free now and the system has 4 at best"
    (refused,) = share.request(want("a/2", engineers=3), "cell", 0.0)
    assert refused.reason == "it wants 3 engineers; its session may take 1 more now and 2 at best"
    share.request(want("a/3", cpu=4), "cell", 0.0)
    assert said(share.set_capacity(Capacity({"cpu": 3}), 1.0)) == ["Refused a/3"]
    share.request(want("a/4", engineers=2), "cell", 1.0)
    assert said(share.set_group("a", Group(max_engineers=1), 2.0)) == ["Refused a/4"]


def test_a_larger_group_lets_its_session_go_on():
    share = fair(pipelines=200)
    share.set_group("a", Group(max_pipelines=1), 0.0)
    for n in range(3):
        share.request(want(f"a/{n}", pipelines=1), "cell", 0.0)
    assert share.place("a/2", 1.0) == "2nd in line in its session; its session holds 1 of 1 pipelines"
    assert said(share.set_group("a", Group(max_pipelines=3), 1.0)) == ["a/1", "a/2"]


def test_a_closed_session_leaves_nothing_behind():
    share = fair(cpu=1)
    share.request(want("a/1", cpu=1), "cell", 0.0)
    share.request(want("a/2", cpu=1), "cell", 0.0)
    share.request(want("b/1", cpu=1), "cell", 0.0)
    assert said(share.close_session("a", 1.0)) == ["Returned a/1", "Returned a/2", "b/1"]
    assert [view.session for view in share.snapshot(1.0).sessions] == ["b"]


def test_a_session_that_nobody_opened_is_forgotten_when_it_is_long_idle():
    share = fair(cpu=1)
    share.request(want("a/1", cpu=1), "cell", 0.0)
    share.release("a/1", 1.0)
    share.set_group("b", Group(), 1.0)
    share.tick(60.0)
    assert [view.session for view in share.snapshot(60.0).sessions] == ["a", "b"]
    share.tick(61.0)
    assert [view.session for view in share.snapshot(61.0).sessions] == ["b"]
