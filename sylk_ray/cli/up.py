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
    now: Annotated[bool, typer.Option("--now", help="Do not wait for what runs to end in order.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """End the runtime: running jobs are cancelled, their branches keep what was merged.

    Examples:

      sylk down

      sylk down --now
    """
    from sylk_ray.cli.lifecycle import take_down

    shell = Shell(home, json)
    stopped = take_down(shell.home, shell.note, now=now)
    shell.document({"stopped": stopped})
    if not json:
        shell.say("stopped" if stopped else f"no runtime runs in {shell.home}")
