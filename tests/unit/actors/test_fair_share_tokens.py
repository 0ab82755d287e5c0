"""Tokens between cells: charged as they become known, counted once whatever dies, refused and waited for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from actors import fair_share as fair_share_module
from sylk_ray.config import Model, Provider, Settings, load_settings
from sylk_ray.errors import InputError
from sylk_ray.fairness import Group, SessionView
from sylk_ray.llm import Models, Request, User
from sylk_ray.runtime import leases as leases_module
from sylk_ray.runtime.leases import FAIR_SHARE, CloseShare, ModelCall, SetShare, TokenBudgetSpent
from tests.models import ModelServer
from tests.unit.actors.test_fair_share import ME, Cells, FakeFleet


@pytest.fixture
async def cells(tmp_path, monkeypatch) -> AsyncIterator[Cells]:
    monkeypatch.setattr(leases_module, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(fair_share_module, "SETTLE_S", 0.3)
    monkeypatch.setattr(fair_share_module, "TICK_S", 0.05)
    FakeFleet.sessions = []
    (tmp_path / "sessions" / "s").mkdir(parents=True)
    providers = {"fast": Provider(calls=4, tokens_per_minute=6_000)}
    models = {"small": Model(model="m", concurrency=3, tokens_per_minute=900), "free": Model(model="n")}
    made = Cells(Settings(home=tmp_path, cpu_slots=2, providers=providers, models=models))
    for name in ("system", "a", "b"):
        made.start(name)
    yield made
    for host in made.hosts.values():
        await host.stop(grace_s=0)


class Call:
    """A model call of the session ``s`` that goes on until it is told to end."""

    def __init__(self, cells: Cells, cell: str, key: str, estimate: float = 10) -> None:
        self._leases = cells.hosts[cell].leases
        self._key, self._estimate = key, estimate
        self.call: ModelCall | None = None
        self.begun, self._end = asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with self._leases.model_call(self._key, "s", "fast", estimate=self._estimate) as self.call:
            self.begun.set()
            await self._end.wait()

    async def charge(self, **tokens: float) -> None:
        async with asyncio.timeout(5):
            await self.begun.wait()
        assert self.call is not None
        self.call.charge(**tokens)

    async def end(self) -> None:
        self._end.set()
        await self.task


async def set_share(cells: Cells, **group: float) -> None:
    await cells.hosts["system"].tell(ME, FAIR_SHARE, SetShare("s", Group(**group)), timeout=5)


async def used(cells: Cells) -> float:
    return sum(view.tokens_used for view in (await cells.shares()).sessions)


async def until_used(cells: Cells, tokens: float) -> None:
    seen = None
    try:
        async with asyncio.timeout(5):
            while (seen := await used(cells)) != tokens:
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"{seen} tokens, not {tokens}") from None


async def start_system_anew(cells: Cells) -> None:
    cells.die("system")
    FakeFleet.sessions = ["s"]
    cells.start("system")
    await set_share(cells, token_budget=1_000)


async def until_kept(tmp_path, tokens: float) -> None:
    path = tmp_path / "sessions" / "s" / "tokens.json"
    async with asyncio.timeout(5):
        while not path.exists() or sum(json.loads(path.read_text()).values()) != tokens:
            await asyncio.sleep(0.01)


async def test_tokens_are_charged_while_a_call_goes_on_and_the_estimate_corrected_at_its_end(cells):
    await set_share(cells)
    call = Call(cells, "a", "s/model/1", estimate=100)
    await call.charge(input=40)
    await until_used(cells, 100)
    await call.charge(output=90)
    await until_used(cells, 130)
    await call.charge(output=30)
    await call.end()
    await until_used(cells, 130)
    short = Call(cells, "b", "s/model/2", estimate=100)
    await short.charge(input=5)
    await short.end()
    await until_used(cells, 135)
    assert (await cells.shares()).token_levels["fast"] < 6_000


async def test_a_fair_share_that_died_counts_no_token_twice_and_forgets_none(cells, tmp_path):
    await set_share(cells, token_budget=1_000)
    ended, going_on = Call(cells, "a", "s/model/1"), Call(cells, "b", "s/model/2")
    await ended.charge(input=50, output=50)
    await going_on.charge(input=200)
    await ended.end()
    await until_used(cells, 300)
    await until_kept(tmp_path, 300)
    await start_system_anew(cells)
    await until_used(cells, 300)
    await going_on.charge(output=40)
    await until_used(cells, 340)
    await going_on.end()
    await until_used(cells, 340)


async def test_what_was_used_while_there_was_no_fair_share_is_counted_when_there_is_one_again(cells):
    await set_share(cells, token_budget=1_000)
    ended, going_on = Call(cells, "a", "s/model/1"), Call(cells, "b", "s/model/2")
    await ended.begun.wait()
    await going_on.begun.wait()
    cells.die("system")
    await ended.charge(input=50)
    await ended.end()
    await going_on.charge(input=200)
    FakeFleet.sessions = ["s"]
    cells.start("system")
    await set_share(cells, token_budget=1_000)
    await until_used(cells, 250)
    await going_on.end()


async def test_a_call_that_is_made_again_elsewhere_adds_to_what_its_dead_cell_has_used(cells):
    await set_share(cells)
    doomed = Call(cells, "a", "s/model/1")
    await doomed.charge(input=100)
    await until_used(cells, 100)
    cells.die("a")
    again = Call(cells, "b", "s/model/1")
    await again.charge(input=70)
    await until_used(cells, 170)
    await again.end()
    await until_used(cells, 170)
    doomed.task.cancel()


async def test_a_budget_outlives_the_whole_runtime(cells, tmp_path):
    await set_share(cells, token_budget=1_000)
    call = Call(cells, "a", "s/model/1")
    await call.charge(input=600, output=500)
    await call.end()
    await until_kept(tmp_path, 1_100)
    for name in list(cells.hosts):
        cells.die(name)
    for name in ("system", "a"):
        cells.start(name)
    await set_share(cells, token_budget=1_000)
    with pytest.raises(TokenBudgetSpent) as refused:
        await asyncio.wait_for(Call(cells, "a", "s/model/2").task, 5)
    assert refused.value.message == 'the session "s" has used 1,100 of its 1,000 tokens'
    assert "sylk session set s token_budget=N" in (refused.value.hint or "")


async def test_a_larger_budget_lets_the_session_go_on(cells):
    await set_share(cells, token_budget=100)
    call = Call(cells, "a", "s/model/1")
    await call.charge(input=100)
    await until_used(cells, 100)
    with pytest.raises(TokenBudgetSpent):
        await asyncio.wait_for(Call(cells, "a", "s/model/2").task, 5)
    await set_share(cells, token_budget=200)
    more = Call(cells, "a", "s/model/3")
    await asyncio.wait_for(more.begun.wait(), 5)
    await more.end()
    await call.end()


async def test_a_session_over_its_tokens_a_minute_waits_and_is_seen_to(cells):
    await set_share(cells, tokens_per_minute=6_000)
    call = Call(cells, "a", "s/model/1", estimate=6_020)
    await asyncio.wait_for(call.begun.wait(), 5)
    waiting = Call(cells, "a", "s/model/2")

    async def view() -> SessionView:
        (session,) = (await cells.shares()).sessions
        return session

    async with asyncio.timeout(5):
        while not (seen := await view()).waiting:
            await asyncio.sleep(0.001)
    assert seen.waits_for_tokens is not None
    await asyncio.wait_for(waiting.begun.wait(), 5)
    await waiting.end()
    await call.end()


async def test_a_closed_sessions_tokens_are_on_disk_and_it_is_seen_no_more(cells, tmp_path):
    await set_share(cells)
    call = Call(cells, "a", "s/model/1")
    await call.charge(input=70)
    await call.end()
    await until_used(cells, 70)
    await cells.hosts["system"].tell(ME, FAIR_SHARE, CloseShare("s"), timeout=5)
    await until_kept(tmp_path, 70)
    assert (await cells.shares()).sessions == []


async def test_what_a_provider_bears_comes_from_the_settings(cells):
    shares = await cells.shares()
    assert shares.capacity["model:fast"] == 4
    assert shares.capacity["model:small"] == 3
    assert "model:free" not in shares.capacity
    assert shares.token_levels == {"fast": 6_000, "small": 900}


@pytest.mark.parametrize(
    "providers",
    [{"fast": {"calls": 0}}, {"fast": {"tokens_per_minute": -1}}, {"fast": {"calls_a_day": 1}}, {"no name": {}}],
)
def test_limits_of_a_provider_that_make_no_sense_are_named(providers):
    with pytest.raises(InputError, match="providers"):
        load_settings(providers=providers)


async def test_a_model_call_that_the_settings_know_no_provider_of_is_let_in(cells):
    async with asyncio.timeout(5), cells.hosts["a"].leases.model_call("s/model/1", "s", "other") as call:
        call.charge(input=7)
    await set_share(cells)
    await until_used(cells, 7)


async def test_calls_of_models_are_let_in_and_charged_and_a_spent_budget_ends_them(cells):
    await set_share(cells, token_budget=150)

    def admit(limits, tokens):
        return cells.hosts["a"].leases.model_call("s/model/1", "s", limits, estimate=tokens)

    with ModelServer() as server:
        models = Models({"small": Model(base_url=server.url, model="m")})
        ask = Request(messages=(User("hello?"),))
        for _ in range(2):
            reply = await models.call("small", ask, admit=admit)
            assert reply.usage.input + reply.usage.output == 110
        await until_used(cells, 220)
        with pytest.raises(TokenBudgetSpent, match="s"):
            await models.call("small", ask, admit=admit)
        assert len(server.asked) == 2
        await models.aclose()
