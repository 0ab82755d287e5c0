"""What a hook may do to a payload, and what it cannot do to its caller."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from sylk_ray.hooks import (
    POINTS,
    Abort,
    Aborted,
    Hook,
    HookContext,
    HookFailed,
    Hooks,
    InvalidHook,
    Payload,
    PreRoute,
    ToolBefore,
    UnknownHook,
    hook,
)
from sylk_ray.hooks.hooks import MAX_STUCK
from sylk_ray.messaging import Address
from sylk_ray.runtime.clock import ManualClock

PAYLOAD = PreRoute(session="s-1", sender=Address("s-1", "user", "me"), text="hi")


def saying(text: str, **options) -> Hook[PreRoute]:
    """A hook that adds ``text`` to what was said."""

    async def function(payload: PreRoute, ctx: HookContext) -> PreRoute:
        return msgspec.structs.replace(payload, text=payload.text + text)

    return hook(PreRoute, name=options.pop("name", text), **options)(function)


def hooks_of(*hooks: Hook, switches: dict[str, bool] | None = None) -> tuple[Hooks, ManualClock]:
    clock = ManualClock()
    made = Hooks(switches, clock=clock, timer=clock.now)
    for each in hooks:
        made.add(each)
    return made, clock


async def settle() -> None:
    """Let every task run until it waits for the clock."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_there_is_a_point_for_every_moment_of_the_spec():
    assert set(POINTS) == {
        "pre_route",
        "post_route",
        "pre_dispatch",
        "post_dispatch",
        "prompt.before",
        "prompt.after",
        "tool.before",
        "tool.after",
        "session.create",
        "session.compaction",
        "context.inject",
        "agent.delegate",
    }


async def test_without_hooks_a_payload_comes_back_as_it_was():
    hooks, _ = hooks_of()
    assert await hooks.run(PAYLOAD) is PAYLOAD


async def test_hooks_run_by_priority_and_then_in_the_order_they_were_added():
    hooks, _ = hooks_of(saying("c"), saying("a", priority=1), saying("d"), saying("b", priority=2))
    assert (await hooks.run(PAYLOAD)).text == "hiabcd"


async def test_a_hook_runs_at_its_point_only():
    hooks, _ = hooks_of(saying("a"))
    other = ToolBefore(session="s-1", agent=PAYLOAD.sender, tool="write", arguments={})
    assert await hooks.run(other) is other


async def test_none_leaves_the_payload_and_a_plain_function_is_a_hook_too():
    seen: list[str] = []

    @hook(PreRoute)
    def look_at_it(payload: PreRoute, ctx: HookContext) -> None:
        seen.append(f"{ctx.hook} at {ctx.point}: {payload.text}")

    hooks, _ = hooks_of(look_at_it)
    assert await hooks.run(PAYLOAD) is PAYLOAD
    assert seen == ["look-at-it at pre_route: hi"]
    (statistics,) = hooks.statistics()
    assert (statistics.count, statistics.changed) == (1, 0)


@pytest.mark.parametrize("on_failure", ["open", "closed"])
async def test_the_reason_of_an_abort_reaches_the_caller_and_the_rest_do_not_run(on_failure):
    @hook(PreRoute, name="gate", priority=1, on_failure=on_failure)
    async def gate(payload: PreRoute, ctx: HookContext) -> None:
        raise Abort("not on Sundays")

    hooks, _ = hooks_of(gate, saying("a"))
    with pytest.raises(Aborted, match=r"\Anot on Sundays\Z") as aborted:
        await hooks.run(PAYLOAD)
    assert aborted.value.hint == "the hook 'gate' at pre_route said no"
    assert [(each.count, each.aborts, each.errors) for each in hooks.statistics()] == [(1, 1, 0), (0, 0, 0)]


async def hangs(payload: PreRoute, ctx: HookContext) -> None:
    await asyncio.Event().wait()


async def raises(payload: PreRoute, ctx: HookContext) -> None:
    raise ValueError("no")


async def returns_another(payload: PreRoute, ctx: HookContext) -> Payload:
    return ToolBefore(session="s-1", agent=payload.sender, tool="", arguments={})


async def cancels_itself(payload: PreRoute, ctx: HookContext) -> None:
    raise asyncio.CancelledError


def cancels(payload: PreRoute, ctx: HookContext) -> None:
    raise asyncio.CancelledError


FAILURES = [
    (hangs, "it did not end within 2 s"),
    (raises, "ValueError: no"),
    (returns_another, "it returned a ToolBefore instead of a PreRoute"),
    (cancels_itself, "it was cancelled"),
    (cancels, "it was cancelled"),
]


@pytest.mark.parametrize(("function", "told"), FAILURES)
async def test_a_hook_that_fails_open_is_recorded_and_passed_over(function, told):
    hooks, clock = hooks_of(hook(PreRoute, name="bad", deadline_s=2)(function), saying("a"))
    run = asyncio.create_task(hooks.run(PAYLOAD))
    await settle()
    await clock.advance(2)
    assert (await run).text == "hia"
    bad = hooks.statistics()[0]
    assert (bad.count, bad.errors, bad.last_error, bad.stuck) == (1, 1, told, 0)


@pytest.mark.parametrize(("function", "told"), FAILURES)
async def test_a_hook_that_fails_closed_refuses_with_its_failure(function, told):
    hooks, clock = hooks_of(hook(PreRoute, name="bad", deadline_s=2, on_failure="closed")(function), saying("a"))
    run = asyncio.create_task(hooks.run(PAYLOAD))
    await settle()
    await clock.advance(2)
    with pytest.raises(HookFailed) as failed:
        await run
    assert failed.value.message == f"the hook 'bad' at pre_route failed: {told}"
    assert "switch off 'bad'" in failed.value.hint


async def test_a_hook_that_cannot_be_cancelled_is_left_behind_and_after_some_no_longer_called():
    release = asyncio.Event()

    async def stubborn(payload: PreRoute, ctx: HookContext) -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    hooks, clock = hooks_of(hook(PreRoute, name="stubborn", deadline_s=1)(stubborn))
    for _ in range(MAX_STUCK):
        run = asyncio.create_task(hooks.run(PAYLOAD))
        await settle()
        await clock.advance(1)
        assert await run is PAYLOAD
    assert hooks.statistics()[0].stuck == MAX_STUCK
    assert await hooks.run(PAYLOAD) is PAYLOAD
    assert "is not called" in hooks.statistics()[0].last_error
    release.set()
    await settle()
    assert hooks.statistics()[0].stuck == 0


async def test_cancelling_the_caller_cancels_the_hook():
    ended = asyncio.Event()

    async def waits(payload: PreRoute, ctx: HookContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    hooks, _ = hooks_of(hook(PreRoute)(waits))
    run = asyncio.create_task(hooks.run(PAYLOAD))
    await settle()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await ended.wait()


async def test_hooks_are_timed():
    clock = ManualClock()
    hooks = Hooks(clock=clock, timer=clock.now)

    async def slow(payload: PreRoute, ctx: HookContext) -> None:
        await clock.sleep(float(payload.text))

    hooks.add(hook(PreRoute, deadline_s=10)(slow))
    for seconds in (3, 1):
        run = asyncio.create_task(hooks.run(msgspec.structs.replace(PAYLOAD, text=str(seconds))))
        await settle()
        await clock.advance(seconds)
        await run
    (statistics,) = hooks.statistics()
    assert (statistics.count, statistics.total_s, statistics.max_s) == (2, 4.0, 3.0)


async def test_settings_switch_hooks_on_and_off_at_any_time():
    switches = {"a": False, "b": True}
    hooks, _ = hooks_of(saying("a"), saying("b", enabled=False), saying("c", enabled=False), switches=switches)
    assert (await hooks.run(PAYLOAD)).text == "hib"
    switches["a"] = True
    assert (await hooks.run(PAYLOAD)).text == "hiab"
    assert [each.enabled for each in hooks.statistics()] == [True, True, False]


def test_a_switch_of_a_hook_that_is_not_there_is_told():
    hooks, _ = hooks_of(saying("context-injector"), switches={"context_injectr": False})
    with pytest.raises(UnknownHook) as unknown:
        hooks.check_switches()
    assert unknown.value.hint == 'did you mean "context-injector"?'


async def test_a_hook_can_be_removed():
    hooks, _ = hooks_of(saying("a"), saying("b"))
    hooks.remove("a")
    assert (await hooks.run(PAYLOAD)).text == "hib"
    with pytest.raises(UnknownHook):
        hooks.remove("a")


def test_two_hooks_of_one_name_are_refused():
    hooks, _ = hooks_of(saying("a"))
    with pytest.raises(InvalidHook, match="two hooks called 'a'"):
        hooks.add(saying("a"))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"deadline_s": 0}, "deadline"),
        ({"deadline_s": float("inf")}, "deadline"),
        ({"on_failure": "ajar"}, "'ajar'"),
        ({"point": Payload}, "at no point"),
        ({"point": str}, "at no point"),
    ],
)
def test_a_hook_that_makes_no_sense_is_refused(wrong, told):
    options = {"point": PreRoute, **wrong}
    with pytest.raises(InvalidHook, match=told):
        hook(options.pop("point"), **options)(raises)
