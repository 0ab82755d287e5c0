"""``sylk session list``, ``show`` and ``close``."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import msgspec
import typer

from sylk_ray.cli.humanise import age
from sylk_ray.cli.shell import Home, Json, Shell
from sylk_ray.sessions import SessionRecord

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="List, show and close sessions.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The session's name or id.")]


@app.command("list")
def list_sessions(
    closed: Annotated[bool, typer.Option("--closed", help="Closed ones as well.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """List the sessions, the newest first."""
    from rich.markup import escape
    from rich.table import Table

    shell = Shell(home, json)
    found = shell.client().get("/sessions", closed=closed)
    shell.document({"sessions": found})
    if json:
        return
    if not found:
        shell.say("no sessions")
        return
    table = Table("session", "id", "state", "job", "made", "branch", "repository", box=None, pad_edge=False)
    for session in msgspec.convert(found, list[SessionRecord]):
        state = f"{session.state}, closed" if session.closed else str(session.state)
        made = age(session.created_at)
        table.add_row(
            escape(session.name), session.id, state, session.job, made, escape(session.branch), escape(session.repo)
        )
    shell.show(table)


@app.command("show")
def show(name: Name, home: Home = None, json: Json = False) -> None:
    """Show one session and its job."""
    from sylk_ray.cli.job_view import failures_told, final_table
    from sylk_ray.cli.results import record_of

    shell = Shell(home, json)
    client = shell.client()
    told = client.get(f"/sessions/{quote(name, safe='')}")
    session = msgspec.convert(told, SessionRecord)
    job = client.get(f"/jobs/{session.job}") if session.job else None
    shell.document({"session": told, "job": job})
    if json:
        return
    shell.say(f"session {session.name} ({session.id}), {session.state}{', closed' if session.closed else ''}")
    shell.say(f"made {age(session.created_at)}, branch {session.branch} from {session.base[:10]} in {session.repo}")
    if job is not None:
        record = record_of(job)
        shell.say(f"job {record.job_id}: {record.status}", "")
        shell.show(final_table(record))
        shell.say(*failures_told(record))


@app.command("close")
def close(
    name: Name,
    delete_branch: Annotated[
        bool, typer.Option("--delete-branch", help="Delete the session's branch as well.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Close a session: its job is cancelled if it runs, its worktrees are removed. Its branch stays.

    Examples:

      sylk session close tidy-up

      sylk session close tidy-up --delete-branch
    """
    shell = Shell(home, json)
    told = shell.client().delete(f"/sessions/{quote(name, safe='')}", delete_branch=delete_branch)
    shell.document(told)
    if not json:
        branch = f"its branch {told['branch']} {'is deleted' if delete_branch else 'stays'}"
        shell.say(f"session {told['name']} is closed; {branch}")
