"""From an utterance back to what a person would type: ``parse`` reads it as the same utterance."""

from __future__ import annotations

import re

from sylk_ray.routing.commands import command_of
from sylk_ray.routing.utterances import Broadcast, Directed, FreeText, SlashCommand, TaskCommand, Utterance

_SAFE = re.compile(r"[\w./:*?@,+=~%][\w./:*?@,+=~%-]*")
"""What can stand without quotes, as one word that is no option."""
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def show(utterance: Utterance) -> str:
    """One line, except for free text of several."""
    match utterance:
        case Directed(tag, agent, text):
            return f"@{tag}:{agent} {_quoted(text)}"
        case Broadcast(agents, text):
            return f"@broadcast:{','.join(agents)} {_quoted(text)}"
        case TaskCommand(task, action, text):
            return f"/task {task} {action}" + (f" {_quoted(text)}" if text else "")
        case SlashCommand():
            return _slash(utterance)
        case FreeText(text):
            return f"\\{text}" if text.startswith(("@", "/", "\\")) else text


def _slash(said: SlashCommand) -> str:
    command = said.command
    named = f"{said.agent}:" if command_of(said.name) != command else ""
    parts = [f"/{named}{said.name}"]
    for option in command.options:
        value = said.arguments.get(option.name)
        if value is not None:
            parts.append(f"--{option.name}" if option.kind == "flag" else f"--{option.name}={_word(value)}")
    for argument in command.arguments:
        value = said.arguments.get(argument.name)
        if value is not None:
            parts.append(_quoted(value) if argument.kind == "rest" else _word(value))
    return " ".join(parts)


def _word(value: str) -> str:
    return value if _SAFE.fullmatch(value) else _quoted(value)


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPED)}"'
