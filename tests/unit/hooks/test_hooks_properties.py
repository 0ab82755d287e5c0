"""Order and abort, for any chain of hooks."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.hooks import Abort, Aborted, Hook, HookContext, HookFailed, Hooks, PreRoute, hook
from sylk_ray.messaging import Address

PAYLOAD = PreRoute(session="s-1", sender=Address("s-1", "user", "me"), text="")


class Link(NamedTuple):
    """A hook of a chain, as the test knows it."""

    does: str
    priority: int
    on_failure: str
    on: bool
    plain: bool


links = st.lists(
    st.builds(
        Link,
        st.sampled_from(["look", "change", "change", "abort", "raise", "mistype"]),
        st.integers(0, 3),
        st.sampled_from(["open", "closed"]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=8,
)


def hook_of(number: int, link: Link, ran: list[int]) -> Hook[PreRoute]:
    def plain(payload: PreRoute, ctx: HookContext) -> object:
        ran.append(number)
        if link.does == "abort":
            raise Abort(f"reason {number}")
        if link.does == "raise":
            raise RuntimeError
        if link.does == "mistype":
            return "text"
        return None if link.does == "look" else msgspec.structs.replace(payload, text=f"{payload.text},{number}")

    async def waiting(payload: PreRoute, ctx: HookContext) -> object:
        await asyncio.sleep(0)
        return plain(payload, ctx)

    made = hook(PreRoute, name=str(number), priority=link.priority, on_failure=link.on_failure)
    return made(plain if link.plain else waiting)


def expected(chain: list[Link]) -> tuple[list[int], str]:
    """Which run, and how it ends, told without a chain."""
    ran: list[int] = []
    text = ""
    for number, link in sorted(enumerate(chain), key=lambda each: (each[1].priority, each[0])):
        if not link.on:
            continue
        ran.append(number)
        if link.does == "abort":
            return ran, f"reason {number}"
        if link.does in ("raise", "mistype") and link.on_failure == "closed":
            return ran, f"failed {number}"
        if link.does == "change":
            text += f",{number}"
    return ran, text


@given(links)
def test_any_chain_runs_in_order_up_to_the_first_that_says_no(chain):
    ran: list[int] = []
    hooks = Hooks({str(number): link.on for number, link in enumerate(chain)})
    for number, link in enumerate(chain):
        hooks.add(hook_of(number, link, ran))

    async def run() -> str:
        try:
            return (await hooks.run(PAYLOAD)).text
        except Aborted as aborted:
            return aborted.message
        except HookFailed as failed:
            return f"failed {failed.message.split()[2].strip(chr(39))}"

    assert (asyncio.run(run()), ran) == tuple(reversed(expected(chain)))
    for each in hooks.statistics():
        link = chain[int(each.name)]
        ran_it = int(each.name) in ran
        assert each.count == ran_it
        assert each.aborts == (ran_it and link.does == "abort")
        assert each.errors == (ran_it and link.does in ("raise", "mistype"))
        assert each.changed == (ran_it and link.does == "change")
