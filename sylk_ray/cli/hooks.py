"""``sylk hooks``: who may look at what the agents do, and change it or say no."""

from __future__ import annotations

from typing import Any

from sylk_ray.cli.shell import Home, Json, Shell


def hooks(home: Home = None, json: Json = False) -> None:
    """List the hooks of the installed packages: where each stands, in which order, and whether it is on.

    A package adds hooks by the entry-point group `sylk.hooks`. The settings switch them: `hooks: {name: false}`. No
    runtime is needed; how often each has run in a session, and how long, is in `GET /sessions/{session}/routing`.

    Examples:

      sylk hooks

      sylk hooks --json
    """
    from rich.table import Table

    from sylk_ray.config import load_settings
    from sylk_ray.hooks import POINTS, installed_hooks

    shell = Shell(home, json)
    known = installed_hooks(load_settings().hooks)
    found: list[dict[str, Any]] = [
        {
            "name": each.name,
            "point": each.point.point,
            "priority": each.priority,
            "enabled": enabled,
            "on_failure": each.on_failure,
            "deadline_s": each.deadline_s,
        }
        for each, enabled in known.all()
    ]
    shell.document({"hooks": found, "points": list(POINTS)})
    if json:
        return
    if not found:
        shell.say(f"no package brings hooks; the points are {', '.join(POINTS)}")
        return
    table = Table("hook", "point", "priority", "on", "when it fails", "deadline", box=None, pad_edge=False)
    for each in found:
        on, fails = "yes" if each["enabled"] else "no", "passed over" if each["on_failure"] == "open" else "refused"
        table.add_row(each["name"], each["point"], str(each["priority"]), on, fails, f"{each['deadline_s']:g} s")
    shell.show(table)
