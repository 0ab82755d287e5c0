"""What could come next in a line that is being said."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sylk_ray.routing import TaskAction, commands

TAGS = ("@to:", "@guide:", "@broadcast:", "@from:")


def completions(line: str, agents: Collection[str], tasks: Collection[str]) -> list[str]:
    """The words that the last word of ``line`` could become, sorted."""
    words = line.split(" ")
    last = words[-1]
    return sorted(each for each in _candidates(words, last, agents, tasks) if each.startswith(last) and each != last)


def _candidates(words: Sequence[str], last: str, agents: Collection[str], tasks: Collection[str]) -> list[str]:
    if words[0] == "/task":
        actions = [action.value for action in TaskAction]
        return {2: list(tasks), 3: actions}.get(len(words), [])
    if len(words) > 1:
        return []
    if last.startswith("/"):
        return ["/task", *{f"/{each.name}" for each in commands() if each.skill}]
    tag = next((tag for tag in TAGS if last.startswith(tag)), "")
    if not tag:
        return list(TAGS) if last.startswith("@") else []
    before, comma, _ = last.rpartition(",")
    start = f"{before}," if comma else tag
    taken = start.removeprefix(tag).split(",")
    return [f"{start}{agent}" for agent in agents if agent not in taken]
