"""``sylk up`` and ``sylk down``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from sylk_ray.cli.shell import Home, Json, Shell


class Density(StrEnum):
    """How agents share processes."""

    PACKED = "packed"
    SESSION = "session"
    DEDICATED = "dedicated"


def up(
    num_cpus: Annotated[int | None, typer.Option(min=1, help="CPUs that Ray may use; all by default.")] = None,
    dashboard: Annotated[bool, typer.Option(help="Run Ray's dashboard; without it starting is quicker.")] = True,
    density: Annotated[
        Density | None,
        typer.Option(
            help="Agents a process: packed (a few processes hold all), session (processes of each session's own) "
            "or dedicated (a process an agent)."
        ),
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Start a runtime on this machine, unless one runs.

    It listens on 127.0.0.1 only. Asked again it says what runs and changes nothing.

    Examples:

      sylk up

      sylk up --num-cpus 4 --density session

      sylk up --no-dashboard --json
    """
    from sylk_ray.cli.lifecycle import Wanted, bring_up
    from sylk_ray.runtime.cluster.head import ray_token

    shell = Shell(home, json)
    wanted = Wanted(num_cpus, dashboard, density.value if density else None)
    state, started = bring_up(shell.home, wanted, shell.note)
    shell.document({"started": started, **msgspec.to_builtins(state)})
    if json:
        return
    shell.say(f"{'started' if started else 'already runs'}: sylk {state.version} at {state.gateway_url}")
    if state.dashboard_url:
        shell.say(f"Ray dashboard: {state.dashboard_url} (its token: cat {ray_token(shell.home)})")
    if started:
        shell.say("next: sylk submit JOB.yaml")


def down(
    now: Annotated[
        bool, typer.Option("--now", help="Do not wait for the steps that run: they are done again on resuming.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Let all running and queued jobs come to their ends.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """End the runtime. Running jobs are suspended; after the next `sylk up`, `sylk resume JOB` finishes them.

    Examples:

      sylk down

      sylk down --wait

      sylk down --now
    """
    from sylk_ray.cli.lifecycle import take_down
    from sylk_ray.errors import InputError

    if now and wait:
        raise InputError("--now and --wait exclude each other", hint="leave one of them out")
    shell = Shell(home, json)
    ended = take_down(shell.home, shell.note, now=now, wait=wait)
    shell.document(ended._asdict())
    if json:
        return
    shell.say("stopped" if ended.stopped else f"no runtime runs in {shell.home}")
    if ended.resumable:
        shell.say(f"suspended: {', '.join(ended.resumable)}; after `sylk up`, `sylk resume JOB` lets one go on")
