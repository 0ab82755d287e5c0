"""Two nodes, of which one dies, or does not see the state directory."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from sylk_ray.runtime.cluster.head import ray_environment
from tests.integration.command import until

from .conftest import OwnRay
from .waiting_job import WaitingJob

NODE = """
import sys, time
from ray._private.node import Node
from ray._private.parameter import RayParams

address, cpus = sys.argv[1:]
ports = {"min_worker_port": 0, "max_worker_port": 0, "node_manager_port": 0}
given = RayParams(gcs_address=address, num_cpus=int(cpus), node_ip_address="127.0.0.1", **ports)
given.update_if_absent(object_store_memory=100 << 20, include_log_monitor=False)
given.dashboard_agent_listen_port = None
Node(given, head=False, shutdown_at_exit=False, spawn_reaper=False)
time.sleep(3600)
"""
"""What `ray start --address` does; that one insists on the machine's own address, and this head is on loopback."""


@dataclass(frozen=True)
class Budget:
    """From the kill of a node until its work is taken up on the other: to notice it alone takes some 5 s."""

    noticed_s: float = 8.0
    recovery_s: float = 14.0


BUDGET = Budget()


class Node:
    """A worker node on this machine; ``hidden`` hides the state directory from it."""

    def __init__(self, ray: OwnRay, folder: Path, cpus: int, *, hidden: bool) -> None:
        home = ray.sylk.home
        environment = ray_environment(home)
        start = [sys.executable, "-c", NODE, ray.state["address"], str(cpus)]
        if hidden:
            token = folder / "ray-token"
            shutil.copy(home / "ray-token", token)
            environment["RAY_AUTH_TOKEN_PATH"] = str(token)
            start = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none '{home}' && exec \"$@\"", "sh", *start]
        with (folder / "node.log").open("ab") as log:
            self._process = subprocess.Popen(start, env=environment, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """Its raylet and all workers, at once."""
        with contextlib.suppress(psutil.NoSuchProcess):
            ray = psutil.Process(self._process.pid)
            for process in [*ray.children(recursive=True), ray]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self._process.wait()


@pytest.fixture
def node(own_ray: OwnRay, tmp_path: Path) -> Iterator[Callable[..., Node]]:
    """Start a node; it is dead, and that is noticed, when the test is over."""
    started: list[Node] = []

    def start(cpus: int, *, hidden: bool = False) -> Node:
        before = float(own_ray.ray("ray.cluster_resources()['CPU']"))
        folder = tmp_path / f"node{len(started)}"
        folder.mkdir()
        started.append(Node(own_ray, folder, cpus, hidden=hidden))
        until(lambda: float(own_ray.ray("ray.cluster_resources()['CPU']")), lambda now: now == before + cpus)
        return started[-1]

    yield start
    for each in started:
        each.kill()
    until(lambda: own_ray.ray("sum(node['Alive'] for node in ray.nodes())"), lambda alive: alive == "1")


def cells_of(ray: OwnRay) -> list[dict[str, Any]]:
    return [cell for cell in ray.sylk.told("ps")["cells"] if cell["cell"].startswith("cell-")]


def node_of(ray: OwnRay, session: str) -> str:
    """The one node that a session's cells are on."""
    (found,) = {cell["node"] for cell in cells_of(ray) if session in cell["sessions"]}
    return found


def started(ray: OwnRay, folder: Path, repo: Path, *names: str) -> list[tuple[WaitingJob, dict[str, Any]]]:
    """Jobs that wait in a tool run."""
    both = []
    for name in names:
        job = WaitingJob(folder, name)
        both.append((job, ray.submit(job, repo)))
        job.wait_for_runs()
    return both


@pytest.fixture(autouse=True)
def no_cells_before(own_ray: OwnRay) -> None:
    """Cells that earlier tests have left are all on the head."""
    for cell in cells_of(own_ray):
        psutil.Process(cell["pid"]).kill()
    until(lambda: cells_of(own_ray), lambda cells: cells == [])


def test_the_sessions_of_a_killed_node_go_on_on_the_other(own_ray, node, repo, tmp_path):
    worker = node(2)
    jobs = started(own_ray, tmp_path / "granted", repo, "one", "two")
    head = own_ray.ray("ray.get_runtime_context().get_node_id()")
    nodes = [node_of(own_ray, told["session_id"]) for _, told in jobs]
    assert len(set(nodes)) == 2, "two sessions, and both on one node"
    (moved, _), (stayed, _) = sorted(jobs, key=lambda each: node_of(own_ray, each[1]["session_id"]) == head)
    worker.kill()
    killed = time.monotonic()

    until(lambda: own_ray.ray("sum(node['Alive'] for node in ray.nodes())"), lambda alive: alive == "1")
    noticed = time.monotonic() - killed
    moved.wait_for_runs(2)
    recovered = time.monotonic() - killed

    for job, told in jobs:
        job.go_on()
        own_ray.until_succeeded(told["job_id"])
    moved.check_work(repo, f"sylk/{moved.name}", waits=(2,))
    stayed.check_work(repo, f"sylk/{stayed.name}", waits=(1,))
    print(f"noticed after {noticed:.2f} s at most, at work again after {recovered:.2f} s")
    assert noticed < BUDGET.noticed_s
    assert recovered < BUDGET.recovery_s


def test_without_another_node_that_has_room_and_sees_the_directory_the_job_is_suspended(own_ray, node, repo, tmp_path):
    skip_without_unshare()
    worker = node(2)
    node(8, hidden=True)
    fill = (
        "__import__('ray.util').util.placement_group([{'CPU': ray.available_resources()['CPU'] - 10.005, "
        "'node:__internal_head__': 0.1}], name='filler', lifetime='detached').wait(5)"
    )
    assert own_ray.ray(fill) == "True"
    try:
        # The head is full, the largest node does not see the state directory: it is the worker's.
        ((job, told),) = started(own_ray, tmp_path / "granted", repo, "five")
        worker.kill()
        status = until(lambda: own_ray.sylk.status_of(told["job_id"]), lambda status: status != "running", 60)
        (shown,) = [each for each in own_ray.sylk.told("jobs")["jobs"] if each["job_id"] == told["job_id"]]
        assert status == "suspended"
        assert "no other place" in str(shown)
        assert "not see the state directory" in str(shown)
    finally:
        own_ray.ray("__import__('ray.util').util.remove_placement_group(ray.util.get_placement_group('filler'))")
    own_ray.resume(told["job_id"])
    job.go_on()
    own_ray.until_succeeded(told["job_id"])
    job.check_work(repo, told["branch"], waits=(1, 2))


def skip_without_unshare() -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("there are no mount namespaces here")
