"""Starting and ending a local runtime: a Ray head of our own, then the system's cells on it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from sylk_ray import __version__
from sylk_ray.cli.leftovers import end_ray
from sylk_ray.cli.state import RuntimeState, one_at_a_time, read_state, state_path, write_state
from sylk_ray.config import Settings, load_settings
from sylk_ray.errors import RuntimeNotReachable, SylkError, error_of
from sylk_ray.gateway.client import GatewayClient
from sylk_ray.gateway.door import door_path, find_door
from sylk_ray.runtime.cluster.head import is_head, ray_environment, start_head, stop_head

Tell = Callable[[str], None]
BOOTSTRAP_TIMEOUT_S = 180.0


class CellsDidNotStart(SylkError):
    """Ray runs, but the program that starts the system's cells on it failed without saying how."""

    code = "cells_did_not_start"


class Wanted(NamedTuple):
    """How a runtime is to be started, if none runs."""

    num_cpus: int | None = None
    dashboard: bool = True
    density: str | None = None


def bring_up(home: Path, wanted: Wanted, tell: Tell) -> tuple[RuntimeState, bool]:
    """The running runtime, and whether it was started just now. What was started is ended again on failure."""
    settings = load_settings(home=home, density=wanted.density)
    with one_at_a_time(home, tell):
        if (running := find_running(home)) is not None:
            return running, False
        state = read_state(home)
        if state is not None and is_head(state.head_pid, home):
            tell("Ray runs but the gateway does not answer; starting the cells that are missing ...")
            try:
                density = wanted.density or state.density
                settings = load_settings(home=home, density=density, incarnation=state.incarnation)
                return _start_cells(home, state, settings), True
            except SylkError as error:
                tell(f"that failed ({error.message}); starting from the beginning")
                stop_head(state.head_pid)
        elif state is not None:
            tell(f"{state_path(home)} is of a runtime that is gone (process {state.head_pid}); replacing it")
        _clear(home, tell)
        settings = settings.model_copy(update={"incarnation": uuid.uuid4().hex})
        return _start(home, wanted, settings, tell), True


class Ended(NamedTuple):
    """Whether there was anything to end, and the jobs that can be resumed."""

    stopped: bool
    resumable: list[str]


def take_down(home: Path, tell: Tell, *, now: bool = False, wait: bool = False) -> Ended:
    """End the runtime, in order as far as it answers. Running jobs are suspended, or with ``wait`` come to their ends
    first; with ``now`` nothing is waited for."""
    if not home.exists():
        return Ended(False, [])
    resumable: list[str] = []
    with one_at_a_time(home, tell):
        state = read_state(home)
        answered = find_running(home) is not None
        if answered:
            tell("waiting for all jobs to end ..." if wait else "suspending jobs and ending cells ...")
            try:
                timeout = 30 if now else 7 * 24 * 3600 if wait else 200
                told = GatewayClient(home).post("/shutdown", {"now": now, "wait": wait}, timeout=timeout)
                resumable = told["resumable"]
            except SylkError as error:
                tell(f"the runtime did not end in order: {error.message}")
        headed = state is not None and is_head(state.head_pid, home)
        if state is not None and headed:
            tell("ending Ray ...")
            try:
                _order(home, {"do": "down", "address": state.address}, timeout=20 if now else 60)
            except SylkError as error:
                tell(f"the system's cells did not end in order: {error.message}")
            stop_head(state.head_pid)
        left = _clear(home, tell)
        return Ended(answered or headed or left, resumable)


def find_running(home: Path) -> RuntimeState | None:
    """The runtime whose gateway answers now."""
    try:
        client = GatewayClient(home)
        told = client.get("/health", timeout=5)
    except SylkError:
        return None
    state = read_state(home)
    if state is not None and state.gateway_url == client.url:
        return state
    return RuntimeState("", "", client.url, 0, time.time(), "", str(told["version"]))


def _start(home: Path, wanted: Wanted, settings: Settings, tell: Tell) -> RuntimeState:
    tell("starting Ray ...")
    try:
        head = start_head(home, num_cpus=wanted.num_cpus, dashboard=wanted.dashboard)
        state = RuntimeState(
            head.address,
            head.dashboard_url,
            "",
            head.pid,
            time.time(),
            settings.density,
            __version__,
            settings.incarnation,
        )
        tell("starting the runtime's cells ...")
        return _start_cells(home, state, settings)
    except BaseException:
        # An interrupt too: what was started must not stay behind without a record.
        end_ray(home)
        door_path(home).unlink(missing_ok=True)
        raise


def _start_cells(home: Path, state: RuntimeState, settings: Settings) -> RuntimeState:
    order = {"do": "up", "address": state.address, "settings": settings.model_dump(mode="json")}
    _order(home, order, timeout=BOOTSTRAP_TIMEOUT_S)
    door = find_door(home)
    if door is None:
        raise RuntimeNotReachable("the gateway's cell started, but did not say where it listens")
    GatewayClient(home).get("/health", timeout=10)
    state = msgspec.structs.replace(state, gateway_url=door.url, density=settings.density)
    write_state(home, state)
    return state


def _order(home: Path, order: Mapping[str, object], timeout: float) -> None:
    """Run the bootstrap program, which may import Ray where the CLI may not."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "sylk_ray.runtime.cluster.bootstrap"],
            input=json.dumps(dict(order)),
            env=ray_environment(home),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            start_new_session=True,
            # Ray's workers look for modules in its driver's folder first: in a repository anybody could put one there.
            cwd="/",
        )
    except subprocess.TimeoutExpired:
        raise CellsDidNotStart(f"Ray did not carry out the order {order['do']!r} within {timeout:g} s") from None
    log = home / "logs" / "bootstrap.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(done.stdout + done.stderr)
    try:
        told = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise CellsDidNotStart(f"the order {order['do']!r} failed: {last}", hint=f"the whole log is {log}") from None
    if "error" in told:
        raise error_of(told["error"], told["message"], told["hint"] or f"see {log} and {home / 'logs' / 'ray.log'}")


def _clear(home: Path, tell: Tell) -> bool:
    """Remove what a runtime that is gone left: its processes, Ray's files, and its records."""
    count = end_ray(home)
    if count:
        tell(f"ended {count} process(es) that were left over")
    records = [path for path in (state_path(home), door_path(home)) if path.exists()]
    for path in records:
        path.unlink(missing_ok=True)
    return bool(count)
