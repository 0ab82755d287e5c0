"""What progressive skills and hooks cost: loading, calling, and a hook on the way of a message."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from benchmarks.table import Row
from sylk_ray.hooks import Hook, HookContext, Hooks, PreDispatch, hook
from sylk_ray.messaging import Address, Message
from sylk_ray.skills import CONTROL, Change, Disclosure, Registry, Skill, SkillLoader, count_tokens, skill, tokens_of

SKILLS = 200
WORDS = ("import", "test", "route", "session", "metric", "file", "search", "plan", "review", "merge", "lint", "cache")
TEXT = "please look at the merge of the session and plan a review of what the lint found in that file. " * 20
"""About 2,000 characters, in which two fifths of the words are keywords."""


def made(number: int) -> Skill:
    """A skill with parameters of the usual kinds."""

    async def function(
        ctx: Any, target: Literal["a", "b"], message: str, limit: int = 20, context: dict[str, str] | None = None
    ) -> str:
        """Do what such a skill does, with a line or two for the model.

        Args:
            target: Whom it is for.
            message: What it is about.
            limit: How many at most.
        """
        return message

    word = WORDS[number % len(WORDS)]
    return skill(name=f"skill_{number}", domain=word, keywords=[word, f"{word} {number}"])(function)


def first_count() -> Row:
    """Must come before anything else is counted."""
    started = time.perf_counter()
    count_tokens("hello")
    return Row("first count of tokens in a process: the vocabulary", (time.perf_counter() - started) * 1e3, "ms", None)


def loading() -> list[Row]:
    """Each load of a skill whose tokens were not counted before."""
    started = time.perf_counter()
    skills = [made(number) for number in range(SKILLS)]
    defined = (time.perf_counter() - started) / SKILLS
    registry, disclosure = Registry([*CONTROL, *skills]), Disclosure(max_tokens=2_000)
    by_name: list[float] = []
    by_text: list[float] = []
    mentioned = Change()
    for _ in range(20):
        loader = SkillLoader(registry, disclosure)
        tokens_of.cache_clear()
        for each in skills:
            started = time.perf_counter()
            loader.load(each.name)
            by_name.append(time.perf_counter() - started)
        loader = SkillLoader(registry, disclosure)
        tokens_of.cache_clear()
        started = time.perf_counter()
        mentioned = loader.load_for(TEXT)
        by_text.append(time.perf_counter() - started)
    found = len(mentioned.loaded) + len(mentioned.left_out)
    load = "a skill loaded by name, the least used unloaded for it"
    text = f"{found} of {SKILLS} skills mentioned in 2,000 characters, {len(mentioned.loaded)} of them loaded"
    return [
        Row(f"{load}, median", statistics.median(by_name) * 1e3, "ms", 20),
        Row(f"{load}, p99", sorted(by_name)[len(by_name) * 99 // 100] * 1e3, "ms", 20),
        Row(f"{text}, median", statistics.median(by_text) * 1e3, "ms", 20),
        Row("a skill defined, when its module is imported", defined * 1e3, "ms", None),
    ]


async def calling() -> Row:
    """Arguments as JSON, validated; the result as JSON."""
    loader = SkillLoader(Registry([made(0)]))
    loader.load("skill_0")
    arguments = b'{"target": "a", "message": "hi", "context": {"k": "v"}}'
    return Row("a skill called", await median_us(lambda: loader.call("skill_0", arguments, None)), "us", None)


def look(number: int) -> Hook[PreDispatch]:
    @hook(PreDispatch, name=f"look-{number}")
    def function(payload: PreDispatch, ctx: HookContext) -> None:
        return None

    return function


def wait(number: int) -> Hook[PreDispatch]:
    @hook(PreDispatch, name=f"wait-{number}")
    async def function(payload: PreDispatch, ctx: HookContext) -> None:
        return None

    return function


async def hooking() -> list[Row]:
    """What a message pays at one point."""
    me = Address("s", "small", "me")
    payload = PreDispatch(session="s", sender=me, target=me, message=Message())
    rows: list[Row] = []
    for what, added, bar in [
        ("no hook", [], 1.0),
        ("a plain hook", [look(0)], 5.0),
        ("4 plain hooks", [look(number) for number in range(4)], None),
        ("an async hook, with its deadline", [wait(0)], 100.0),
        ("4 async hooks", [wait(number) for number in range(4)], None),
    ]:
        hooks = Hooks()
        for each in added:
            hooks.add(each)
        rows.append(Row(f"a point with {what}", await median_us(lambda hooks=hooks: hooks.run(payload)), "us", bar))
    return rows


async def median_us(call: Callable[[], Awaitable[Any]], times: int = 5_000) -> float:
    """Microseconds a call."""
    taken: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1e6


async def measure() -> list[Row]:
    """All rows."""
    return [first_count(), *loading(), await calling(), *await hooking()]
