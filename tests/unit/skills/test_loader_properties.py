"""What holds after any calls in any order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.skills import Change, OverBudget, SkillNotLoaded
from tests.unit.skills.samples import loader_of, names, sample

NAMES = "abcdefgh"
DOMAINS = ("even", "odd")
SKILLS = [sample("core", tier="core")] + [
    sample(
        name,
        domain=DOMAINS[number % 2],
        keywords=(f"group{number % 3}",),
        tier="specialised" if number > 5 else "domain",
    )
    for number, name in enumerate(NAMES)
]
calls = st.lists(
    st.one_of(
        st.tuples(st.just("load"), st.sampled_from(NAMES)),
        st.tuples(st.just("load_for"), st.sampled_from(["group0", "group1 group2", "a b c d e f g h"])),
        st.tuples(st.just("load_domain"), st.sampled_from(DOMAINS)),
        st.tuples(st.just("unload"), st.sampled_from(NAMES)),
        st.tuples(st.just("next_turn")),
    ),
    max_size=40,
)
costs = st.fixed_dictionaries({"core": st.integers(0, 40), **{name: st.integers(1, 60) for name in NAMES}})
nears = st.sampled_from([0.3, 0.7, 1.0])


@given(calls, costs, nears, st.integers(0, 3))
def test_the_budget_holds_core_stays_and_changes_tell_all(calls, costs, near, unused_turns):
    loader = loader_of(costs, *SKILLS, max_tokens=60, near=near, unused_turns=unused_turns)
    for what, *arguments in calls:
        before = names(loader)
        try:
            change = getattr(loader, what)(*arguments)
        except (OverBudget, SkillNotLoaded):
            change = Change()
        after = names(loader)
        assert sum(costs[name] for name in after) == loader.token_budget().used <= 60
        assert after[0] == "core"
        assert after == [name for name in before if name not in change.unloaded] + list(change.loaded)
        assert not set(change.unloaded) & set(change.loaded)


@given(st.lists(st.sampled_from(NAMES), max_size=60), st.integers(1, 6))
def test_with_equal_costs_the_last_used_are_what_is_loaded(loads, room):
    loader = loader_of({}, *SKILLS[1:], max_tokens=room * 10, unused_turns=1_000)
    for name in loads:
        loader.load(name)
    latest = list(dict.fromkeys(reversed(loads)))
    assert set(names(loader)) == set(latest[:room])


@given(calls, costs, nears)
def test_what_is_unloaded_for_room_was_used_before_what_stays(calls, costs, near):
    loader = loader_of(costs, *SKILLS, max_tokens=60, near=near, unused_turns=1_000)
    used: dict[str, int] = {}
    for number, (what, *arguments) in enumerate(calls):
        if what != "load":
            continue
        try:
            change = loader.load(*arguments)
        except OverBudget:
            continue
        used[arguments[0]] = number
        stayed = set(names(loader)) - {"core", arguments[0]}
        assert all(used[gone] < used[here] for gone in change.unloaded for here in stayed)


@given(costs, st.lists(st.sampled_from(NAMES), max_size=20))
def test_nothing_stays_longer_than_its_turns(costs, loads):
    loader = loader_of(costs, *SKILLS, max_tokens=100, unused_turns=2)
    for name in loads:
        loader.load(name)
    for _ in range(3):
        loader.next_turn()
    assert names(loader) == ["core"]
