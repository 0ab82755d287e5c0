"""Saying something to a session, and showing what came back: shared by ``sylk say`` and ``sylk chat``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sylk_ray.cli.shell import user_name
from sylk_ray.gateway.narration import plain

if TYPE_CHECKING:
    from sylk_ray.gateway.client import GatewayClient

TIMEOUT_S = 60.0


class Listener:
    """Who is spoken to: a session, or without one the runtime as a whole."""

    def __init__(self, client: GatewayClient, session: dict[str, Any] | None) -> None:
        self._client = client
        self._session = session
        self._path = f"/sessions/{quote(session['id'], safe='')}" if session else ""

    @property
    def name(self) -> str:
        """For people."""
        return str(self._session["name"]) if self._session else "sylk"

    def say(self, text: str, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
        """Where it went, why, and the answers. Raises what the runtime refuses."""
        body = {"text": text, "timeout_s": timeout_s}
        return self._client.post(f"{self._path}/say", body, timeout=timeout_s + 15)

    def agents(self) -> list[str]:
        """Whom one can speak to."""
        return sorted(self._client.get(f"{self._path}/agents", timeout=5)) if self._path else ["guide"]

    def tasks(self) -> list[str]:
        """The tasks of the session's job."""
        job = self._session.get("job") if self._session else ""
        return sorted(self._client.get(f"/jobs/{quote(job, safe='')}", timeout=5)["tasks"]) if job else []


def listener_of(client: GatewayClient, session: str) -> Listener:
    """The session that is named, else the person's foreground session, else the runtime."""
    if session:
        return Listener(client, client.get(f"/sessions/{quote(session, safe='')}"))
    return Listener(client, client.get("/foreground", user=user_name()))


def told(said: dict[str, Any]) -> list[str]:
    """An answer for people: a line on where it went and why, then what each said."""
    answers = said["answers"]
    to = ", ".join(answer["agent"] for answer in answers)
    sure = said.get("confidence", 1.0)
    how = "" if sure >= 1.0 else f", {sure:.0%} sure"
    known = ", known from before" if said.get("cached") else ""
    meaning = " ".join(filter(None, (said.get("intent", ""), said.get("subject", ""))))
    about = f" [{meaning}]" if said["kind"] == "free" and said.get("subject") else ""
    lines = [f"-> {to}{about}: {'; '.join(said.get('reasons', []))}{how}{known}"]
    for answer in answers:
        if len(answers) > 1:
            lines.append(f"{answer['agent']}:")
        error = answer.get("error")
        if error:
            lines.append(f"error: {error['message']}")
            lines += [f"hint: {error['hint']}"] if error.get("hint") else []
        else:
            lines += answer.get("text", "").splitlines() or ["(no answer)"]
    return [plain(line) for line in lines]


def went_well(said: dict[str, Any]) -> bool:
    """Whether everyone answered."""
    return all(not answer.get("error") for answer in said["answers"])
