"""Which commands there are, each loaded when it is given: a command line waits for no other command's modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module

import typer

COMMANDS: Mapping[str, str] = {
    "version": "version:version",
    "up": "up:up",
    "down": "up:down",
    "status": "status:status",
    "submit": "submit:submit",
    "validate": "validate:validate",
    "jobs": "jobs:jobs",
    "logs": "jobs:logs",
    "watch": "watch:watch",
    "cancel": "jobs:cancel",
    "resume": "jobs:resume",
    "inbox": "inbox:inbox",
    "approve": "inbox:approve",
    "deny": "inbox:deny",
    "answer": "inbox:answer",
    "say": "say:say",
    "chat": "chat:chat",
    "skills": "skills:skills",
    "hooks": "hooks:hooks",
    "ps": "status:ps",
    "top": "top:top",
    "plan": "plan:app",
    "session": "session:app",
    "dead-letters": "dead_letters:app",
    "index": "code.index:index",
    "search": "code.search:search",
    "symbol": "code.names:symbol",
    "usages": "code.names:usages",
    "deps": "code.deps:deps",
    "graph": "code.deps:graph",
    "knowledge": "code.knowledge:app",
    "models": "models:app",
    "messages": "messages:messages",
    "doctor": "doctor:doctor",
}
"""Module and name within ``sylk_ray.cli``: a command's function, or a group's app. ``sylk --help`` has groups last."""
_SETTINGS = {
    # What is not an option of its own belongs to what is said: `sylk say /status --detailed`.
    "say": {"ignore_unknown_options": True},
}


def wanted_by(arguments: Iterable[str]) -> Iterable[str]:
    """The command that a command line begins with; all of them if it begins with anything else."""
    first = next(iter(arguments), "")
    return [first] if first in COMMANDS else COMMANDS


def add_commands(app: typer.Typer, names: Iterable[str]) -> None:
    """Load commands into an app."""
    for name in names:
        module, _, attribute = COMMANDS[name].partition(":")
        found = getattr(import_module(f"sylk_ray.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name, context_settings=_SETTINGS.get(name))(found)
