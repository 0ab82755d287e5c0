"""The real server on a real port, and the real client."""

from __future__ import annotations

import asyncio
import gc
import socket
import stat
import threading

import pytest

from sylk_ray.config import Settings
from sylk_ray.errors import InputError, RuntimeNotReachable
from sylk_ray.gateway.app import PortTaken, serve
from sylk_ray.gateway.client import GatewayClient, RuntimeEnded
from sylk_ray.gateway.door import Door, announce, ensure_token, find_door, token_path, withdraw
from sylk_ray.sessions import JobState

from .conftest import a_job
from .fake_gateway import FakeGateway
from .test_stream import publish


@pytest.fixture
async def served(runtime):
    stop = await serve(runtime.hosts["gateway"])
    yield runtime
    await stop()


async def test_the_gateway_says_where_it_listens_and_takes_it_back(runtime):
    stop = await serve(runtime.hosts["gateway"])
    client = GatewayClient(runtime.home)
    assert (await asyncio.to_thread(client.get, "/health"))["ok"] is True
    await stop()
    assert find_door(runtime.home) is None
    with pytest.raises(RuntimeNotReachable):
        await asyncio.to_thread(client.get, "/health")


async def test_an_error_arrives_with_its_code_exit_code_and_problems(served):
    client = GatewayClient(served.home)
    with pytest.raises(InputError) as caught:
        await asyncio.to_thread(client.post, "/jobs", {"job": "name: 1", "repo": "/r"})
    assert (caught.value.code, caught.value.exit_code) == ("job_problems", 2)
    with pytest.raises(Exception, match="no job 'x'") as other:
        await asyncio.to_thread(client.get, "/jobs/x")
    assert other.value.exit_code == 2


async def test_the_client_follows_a_job_to_its_end(served):
    job = await served.open(a_job())
    await publish(served, job, "one")
    client = GatewayClient(served.home)
    following = asyncio.create_task(asyncio.to_thread(lambda: [e.kind for e in client.events("j-1")]))
    await publish(served, job, "two", "job.finished")
    assert await following == ["one", "two", "job.finished"]
    assert [e.kind for e in await asyncio.to_thread(client.kept_events, "j-1")] == ["one", "two", "job.finished"]


async def test_the_client_comes_back_with_its_cursor_when_its_stream_is_ended(served):
    job = await served.open(a_job())
    await publish(served, job, "one")
    client = GatewayClient(served.home)
    seen: list[int] = []
    first = threading.Event()

    def follow():
        for event in client.events("j-1"):
            seen.append(event.sequence)
            first.set()

    following = asyncio.create_task(asyncio.to_thread(follow))
    await asyncio.to_thread(first.wait, 10)
    served.front.hub.close()
    await publish(served, job, "two", "job.finished")
    await following
    assert seen == [1, 2, 3]


async def test_whoever_follows_a_job_while_the_runtime_is_ended_is_told_at_once(runtime):
    stop = await serve(runtime.hosts["gateway"])
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    client = GatewayClient(runtime.home)
    seen = threading.Event()

    def follow():
        for _ in client.events("j-1"):
            seen.set()

    following = asyncio.create_task(asyncio.to_thread(follow))
    await asyncio.to_thread(seen.wait, 10)
    await stop()
    with pytest.raises(RuntimeEnded, match="j-1") as caught:
        await asyncio.wait_for(following, 10)
    assert caught.value.exit_code == 1
    assert "sylk resume j-1" in caught.value.hint


async def test_a_job_that_is_over_is_told_without_its_runtime_knowing_the_session(served, guide):
    guide.jobs["j-1"] = a_job(status=JobState.CANCELLED)
    events = await asyncio.to_thread(lambda: list(GatewayClient(served.home).events("j-1")))
    assert [event.data["status"] for event in events] == ["cancelled"]


async def test_a_taken_port_is_an_error_that_says_so(runtime):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        host = runtime.hosts["gateway"]
        host.settings = Settings(home=runtime.home, gateway_port=taken.getsockname()[1])
        with pytest.raises(PortTaken, match="another program"):
            await serve(host)


def test_the_token_is_private_and_stays(tmp_path):
    tokens = {ensure_token(tmp_path) for _ in range(3)}
    assert len(tokens) == 1
    assert stat.S_IMODE(token_path(tmp_path).stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "token"]


def test_another_gateways_announcement_is_left_alone(tmp_path):
    announce(tmp_path, Door("http://127.0.0.1:1", 10, "1"))
    withdraw(tmp_path, 11)
    assert find_door(tmp_path) is not None
    withdraw(tmp_path, 10)
    assert find_door(tmp_path) is None


def test_without_a_runtime_there_is_no_client(tmp_path):
    with pytest.raises(RuntimeNotReachable, match="no runtime runs") as caught:
        GatewayClient(tmp_path)
    assert "sylk up" in caught.value.hint


async def test_an_answer_that_is_not_the_gateways_means_that_it_is_not_there(tmp_path):
    gateway = FakeGateway(tmp_path)
    try:
        gateway.replies["GET", "/jobs"] = (500, "Internal Server Error")
        gateway.replies["GET", "/status"] = "<html>"
        client = GatewayClient(tmp_path)
        for path in ("/jobs", "/status"):
            with pytest.raises(RuntimeNotReachable):
                await asyncio.to_thread(client.get, path)
    finally:
        gateway.close()


async def test_an_answer_on_a_kept_connection_does_not_wait_for_an_acknowledgement(served):
    door = find_door(served.home)
    assert door is not None
    port = int(door.url.rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    theirs = writer.get_extra_info("sockname")
    accepted: list[socket.socket] = []
    async with asyncio.timeout(10):
        while not accepted:
            await asyncio.sleep(0.005)
            sockets = [each for each in gc.get_objects() if isinstance(each, socket.socket) and each.fileno() >= 0]
            accepted = [each for each in sockets if each.family == socket.AF_INET and _peer(each) == theirs]
    assert [each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in accepted] == [1]
    writer.close()


def _peer(connection: socket.socket) -> object:
    try:
        return connection.getpeername()
    except OSError:
        return None
