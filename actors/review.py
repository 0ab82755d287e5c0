"""What the Inspector's model sees that tools cannot: it reads a change against its task."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from actors.looking_up import looking_up
from actors.thinking import all_told, fitting, think_as, told
from sylk_ray.pipelines import Brief, Work, Worker
from sylk_ray.pipelines.worker import tool_context, workspace_of
from sylk_ray.runtime import Context
from sylk_ray.sessions.records import Override
from sylk_ray.skills import Permission
from sylk_ray.thinking import IN_A_WORKTREE, Bench, Matter, Toolbox, prompt
from sylk_ray.thinking.toolbox import shortened
from sylk_ray.tools import Issue
from sylk_ray.tools.specs import Severity

NOT_DONE = "not done: "
"""Before what an Engineer says that it has left undone."""
DIFF = 40_000
"""Characters of a change that are told at once; the files can be read besides."""
_SENTENCE = 20
"""Characters of a message that is more than a word or two."""
GRANTED: frozenset[Permission] = frozenset({"filesystem.read", "search"})


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong with a change."""

    severity: Annotated[Severity, Meta(description="error: must be mended before the change may go in.")]
    message: Annotated[str, Meta(min_length=1, description="What is wrong, in a sentence.")]
    file: Annotated[str, Meta(description="Where, relative to the worktree.")] = ""
    line: Annotated[int, Meta(ge=0, description="Of the file as it is now; 0 if it is about more.")] = 0
    category: Annotated[str, Meta(description="For example criteria, edge_case, race, leak.")] = "review"
    suggestion: Annotated[str, Meta(description="What would be right.")] = ""


class Review(msgspec.Struct, frozen=True):
    """What an Inspector's model found."""

    issues: Annotated[tuple[Finding, ...], Meta(description="The worst first; empty when all is well.")] = ()


async def review(
    worker: Worker, brief: Brief, work: Work, known: Sequence[Issue], overridden: Sequence[Override], ctx: Context
) -> list[Issue]:
    """The issues that the model sees in the work so far, besides those that are known, and those that a person has let
    it pass with."""
    if work.commit is None:
        return []
    assignment = brief.assignment
    whole = await workspace_of(brief, ctx).diff(work.base, work.commit)
    diff = shortened(whole, fitting("inspector", DIFF, ctx))
    task = all_told(
        told("Task", assignment.prompt or assignment.description or brief.task.replace("_", " ")),
        told("Criteria", assignment.criteria),
        told("The Engineer says", work.output[-4000:]),
        told("Linters have said", [f"{issue.file}:{issue.line}: {issue.message}" for issue in known[:50]]),
        told("Change", f"```diff\n{diff}\n```"),
        told("Now", "Call finish with the issues, or with none, if what you have been told is enough to judge."),
    )

    left_undone = "\n".join(line for line in work.output.splitlines() if line.startswith(NOT_DONE))

    def says_nothing(finding: Finding) -> bool:
        # What the Engineer itself says is left undone is a finding.
        return is_echo(finding.message, task) and not is_echo(finding.message, left_undone)

    async def check(found: Review, _earlier: Sequence[Review]) -> str:
        echo = next((each for each in found.issues if says_nothing(each)), None)
        if echo is None:
            return ""
        return (
            f"this only repeats what you were told, and says of nothing that it is wrong: {echo.message}\n"
            "Leave it out: when nothing is wrong finish with issues: []."
        )

    matter = Matter(
        system=prompt("inspector"),
        task=all_told(told("A person accepts this: it is no issue", [each.told for each in overridden]), task),
        result=Review,
        about="Give your review. Call it once, when you have seen all that you need.",
    )
    skills = [*IN_A_WORKTREE, *await looking_up(brief.repo, ctx)]
    toolbox = Toolbox(skills, GRANTED, Bench(tool_context(brief, ctx, "inspector")))
    found, _ = await think_as(worker, brief, matter, toolbox, ctx, check=check)
    # Its last word at a limit was not checked.
    return [_issue(each) for each in found.issues if not says_nothing(each)]


def is_echo(message: str, told: str) -> bool:
    """Whether a finding is a sentence of what the model was told. A small one finds the criteria themselves."""
    words = _words(message)
    return len(words) >= _SENTENCE and f" {words} " in f" {_words(told)} "


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _issue(found: Finding) -> Issue:
    return Issue(found.file, found.line, found.category, found.severity, found.message, found.suggestion)
