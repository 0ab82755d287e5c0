"""``sylk inbox``, ``approve``, ``deny`` and ``answer``: what people are asked, and what they say to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from sylk_ray.cli.humanise import duration
from sylk_ray.cli.shell import Home, Json, Shell, user_name
from sylk_ray.gateway.narration import plain

if TYPE_CHECKING:
    from sylk_ray.gateway.client import GatewayClient

Id = Annotated[str, typer.Argument(metavar="ID", help="As `sylk inbox` shows it; its beginning will do.")]


def inbox(home: Home = None, json: Json = False) -> None:
    """List what jobs wait for a person to say: plans to approve, and questions.

    Examples:

      sylk inbox
    """
    shell = Shell(home, json)
    found = shell.client().get("/inbox")
    shell.document({"inbox": found})
    if json:
        return
    if not found:
        shell.say("nobody is asked anything")
    for each in found:
        asking = each["asking"]
        left = duration(max(0.0, asking["until"] - time.time()))
        shell.say(f"{asking['id']}: a {asking['kind']} of the {asking['by']}, for {each['job_id']} ({left} left)")
        shell.say(*(f"  {plain(line)}" for line in asking["text"].splitlines()), "")
        ways = "answer" if asking["kind"] == "question" else "approve, deny"
        shell.say(f"  sylk {ways} {asking['id']}")


def approve(id: Id, home: Home = None, json: Json = False) -> None:
    """Approve a plan: it is carried out.

    Examples:

      sylk approve a-3f9a2c
    """
    _decide(Shell(home, json), id, "approve", "", "approved: the work begins")


def deny(
    id: Id,
    reason: Annotated[str, typer.Argument(help="What is wanted instead; without it there will be none.")] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Deny a plan. With a reason the Architect makes another one; without, the job is cancelled, or goes on as it was
    when it is a change of a plan.

    Examples:

      sylk deny a-3f9a2c

      sylk deny a-3f9a2c "do it without a new dependency"
    """
    _decide(Shell(home, json), id, "deny", reason, "denied: another plan is made" if reason.strip() else "denied")


def answer(
    id: Id, text: Annotated[str, typer.Argument(help="What you say.")], home: Home = None, json: Json = False
) -> None:
    """Answer a question.

    Examples:

      sylk answer a-3f9a2c "Python 3.11 and newer"
    """
    _decide(Shell(home, json), id, "answer", text, "answered")


def decide(client: GatewayClient, id: str, decision: str, text: str) -> Any:
    """Tell the runtime what a person said; raises its errors."""
    return client.post(f"/inbox/{quote(id, safe='')}", {"decision": decision, "text": text, "who": user_name()})


def _decide(shell: Shell, id: str, decision: str, text: str, told: str) -> None:
    record = decide(shell.client(), id, decision, text)
    shell.document(record)
    if not shell.json:
        shell.say(told, f"follow it with `sylk logs {record['job_id']} --follow`")
