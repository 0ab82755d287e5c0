"""FairShare between cells: what is granted, what is lost and found again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from actors import fair_share as fair_share_module
from actors.fair_share import FairShareAgent
from sylk_ray.config import Settings
from sylk_ray.fairness import Group, Request, Snapshot
from sylk_ray.messaging import SHARED, Address, MailboxFull, begin_trace, current_trace
from sylk_ray.runtime import Agent, Context, Host, LocalTransport, MemoryJournals, Roles, SystemClock, handler
from sylk_ray.runtime import leases as leases_module
from sylk_ray.runtime.fleet_messages import GetResources, Resources
from sylk_ray.runtime.leases import FAIR_SHARE, GetShares, LeaseDesk, NotGranted, SetShare, Wanted

ME = Address(SHARED, "operator", "me")


class FakeFleet(Agent[None]):
    role = "fleet"
    sessions: list[str] = []

    @handler(concurrent=True)
    async def resources(self, message: GetResources, ctx: Context) -> Resources:
        return Resources(1.0, self.sessions)


class Cells:
    """A system cell with FairShare, and cells that hold leases."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._transport = LocalTransport()
        self.hosts: dict[str, Host] = {}

    def start(self, name: str) -> Host:
        host = Host(
            name,
            roles=Roles({"fleet": FakeFleet, "fair_share": FairShareAgent, "leases": LeaseDesk}),
            transport=self._transport,
            journals=MemoryJournals(),
            clock=SystemClock(),
            settings=self._settings,
        )
        self.hosts[name] = host
        self._transport.join(name, host.receive)
        return host

    def die(self, name: str) -> None:
        host = self.hosts.pop(name)
        self._transport.leave(name)
        host.leases.close()
        for slot in list(host._slots.values()):
            for task in slot.tasks():
                task.cancel()
        for other in self.hosts.values():
            other.peer_lost(name)

    async def shares(self) -> Snapshot:
        return await self.hosts["system"].ask(ME, FAIR_SHARE, GetShares(), timeout=5)

    async def until_held(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len((await self.shares()).leases) != count:
                await asyncio.sleep(0.01)


@pytest.fixture
async def cells(tmp_path, monkeypatch) -> AsyncIterator[Cells]:
    monkeypatch.setattr(leases_module, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(fair_share_module, "SETTLE_S", 0.3)
    monkeypatch.setattr(fair_share_module, "TICK_S", 0.05)
    FakeFleet.sessions = []
    made = Cells(Settings(home=tmp_path, cpu_slots=2))
    for name in ("system", "a", "b"):
        made.start(name)
    yield made
    for host in made.hosts.values():
        await host.stop(grace_s=0)


def slot(key: str, session: str = "s", cpu: float = 1.0) -> Request:
    return Request(key, session, {"cpu": cpu})


async def hold(host: Host, request: Request, gate: asyncio.Event) -> str:
    async with host.leases.held(request):
        await gate.wait()
        return request.key


async def test_what_there_is_goes_to_those_who_ask_and_the_rest_wait_for_it(cells):
    gates = [asyncio.Event() for _ in range(3)]
    tasks = [
        asyncio.create_task(hold(cells.hosts["ab"[number % 2]], slot(f"k{number}"), gate))
        for number, gate in enumerate(gates)
    ]
    await cells.until_held(2)
    held = {lease.key for lease in (await cells.shares()).leases}
    (waiting,) = {"k0", "k1", "k2"} - held
    first = next(iter(held))
    gates[int(first[1])].set()
    assert await tasks[int(first[1])] == first
    async with asyncio.timeout(5):
        while waiting not in {lease.key for lease in (await cells.shares()).leases}:
            await asyncio.sleep(0.01)
    for gate in gates:
        gate.set()
    assert await asyncio.gather(*tasks) == ["k0", "k1", "k2"]
    await cells.until_held(0)


async def test_who_waited_goes_on_in_the_trace_in_which_it_asked(cells):
    gate, leases = asyncio.Event(), cells.hosts["a"].leases
    holder = asyncio.create_task(hold(cells.hosts["a"], slot("all", cpu=2.0), gate))
    await cells.until_held(1)
    let_in: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    asked: dict[str, str] = {}
    for key in ("k0", "k1"):
        with begin_trace() as asked[key]:
            leases.want(slot(key), lambda _, key=key: let_in.put_nowait((key, current_trace())))
    gate.set()
    await holder
    async with asyncio.timeout(5):
        assert dict([await let_in.get(), await let_in.get()]) == asked


async def test_a_dead_cells_leases_return(cells, monkeypatch):
    gate = asyncio.Event()
    doomed = [asyncio.create_task(hold(cells.hosts["a"], slot(f"k{n}"), gate)) for n in range(2)]
    await cells.until_held(2)
    waiting = asyncio.create_task(hold(cells.hosts["b"], slot("k2"), gate))
    cells.die("a")
    started = asyncio.get_running_loop().time()
    gate.set()
    assert await asyncio.wait_for(waiting, 10) == "k2"
    assert asyncio.get_running_loop().time() - started < 5.0
    for task in doomed:
        task.cancel()


async def test_work_that_came_back_elsewhere_takes_its_lease_over_at_once(cells):
    gate = asyncio.Event()
    doomed = [asyncio.create_task(hold(cells.hosts["a"], slot(f"k{n}"), gate)) for n in range(2)]
    await cells.until_held(2)
    cells.die("a")
    again = asyncio.create_task(hold(cells.hosts["b"], slot("k0"), gate))
    async with asyncio.timeout(2):
        while {lease.holder for lease in (await cells.shares()).leases if lease.key == "k0"} != {"b"}:
            await asyncio.sleep(0.01)
    gate.set()
    assert await again == "k0"
    for task in doomed:
        task.cancel()


async def test_a_fair_share_that_died_learns_from_the_cells_what_they_hold(cells):
    gate = asyncio.Event()
    tasks = [asyncio.create_task(hold(cells.hosts["a"], slot(f"k{n}"), gate)) for n in range(3)]
    await cells.until_held(2)
    cells.die("system")
    FakeFleet.sessions = ["s"]
    cells.start("system")
    await cells.until_held(2)
    assert sum((await cells.shares()).queue_depth.values()) == 1
    gate.set()
    assert sorted(await asyncio.gather(*tasks)) == ["k0", "k1", "k2"]


async def test_what_can_never_be_met_is_refused_with_a_reason(cells):
    with pytest.raises(NotGranted, match="cpu"):
        await asyncio.wait_for(hold(cells.hosts["a"], slot("k", cpu=3), asyncio.Event()), 5)


async def test_a_limit_that_is_lifted_lets_the_waiting_go_on(cells):
    system = cells.hosts["system"]
    await system.tell(ME, FAIR_SHARE, SetShare("s", Group(cpu_slots=1)), timeout=5)
    gate = asyncio.Event()
    tasks = [asyncio.create_task(hold(cells.hosts["a"], slot(f"k{n}"), gate)) for n in range(2)]
    await cells.until_held(1)
    await system.tell(ME, FAIR_SHARE, SetShare("s", Group()), timeout=5)
    await cells.until_held(2)
    gate.set()
    await asyncio.gather(*tasks)


async def test_whoever_gives_up_waiting_leaves_the_line(cells):
    gate = asyncio.Event()
    tasks = [asyncio.create_task(hold(cells.hosts["a"], slot(f"k{n}"), gate)) for n in range(3)]
    await cells.until_held(2)
    tasks[2].cancel()
    async with asyncio.timeout(5):
        while sum((await cells.shares()).queue_depth.values()):
            await asyncio.sleep(0.01)
    gate.set()
    await asyncio.gather(*tasks[:2])


async def test_a_cell_that_does_not_answer_holds_up_no_other(cells):
    async def never(*_: object) -> bytes:
        await asyncio.Event().wait()
        return b""

    cells._transport.join("stuck", never)
    wanted = Wanted("stuck", [slot("k0")], [])
    await cells.hosts["system"].tell(ME, FAIR_SHARE, wanted, timeout=5)
    gate = asyncio.Event()
    gate.set()
    assert await asyncio.wait_for(hold(cells.hosts["a"], slot("k1"), gate), 0.9) == "k1"


async def test_time_goes_on_after_a_moment_was_not_taken(cells, monkeypatch):
    said, told = Context.tell, asyncio.Event()
    failures = iter(range(2))

    async def tell(self, target, message, **how):
        if isinstance(message, fair_share_module.TimePassed):
            if next(failures, None) is not None:
                raise MailboxFull("it is full")
            told.set()
        await said(self, target, message, **how)

    monkeypatch.setattr(Context, "tell", tell)
    await cells.shares()
    await asyncio.wait_for(told.wait(), 5)
