"""Structural search and replace with ast-grep, repeated until the pattern matches nothing.

One pass replaces the outermost matches that do not overlap, so a match nested in another waits for the next
pass. All files are computed before the first is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from ast_grep_py import SgNode, SgRoot

from sylk_ray.errors import InputError
from sylk_ray.tools import files
from sylk_ray.tools.beneath import read_beneath, write_beneath
from sylk_ray.tools.context import ActionResult, ToolContext
from sylk_ray.tools.errors import ActionFailed, NothingChanged
from sylk_ray.tools.languages import WITH_DOLLAR_NAMES, language_of
from sylk_ray.tools.paths import files_matching
from sylk_ray.tools.specs import Rewrite
from sylk_ray.tools.substitution import Match, Replacement, variables

_GROWTH, _GROWTH_FLOOR = 4, 1 << 16
"""A text that outgrows its first pass by this factor and these characters is being rewritten without end."""


def rewrite(action: Rewrite, context: ToolContext) -> ActionResult:
    """Do a rewrite; blocks."""
    rewriter = _Rewriter.of(action)
    names = files_matching(context.worktree, action.files)
    changed: dict[str, str] = {}
    places = 0
    for name in names:
        data = read_beneath(context.worktree, name)
        if files.is_binary(data):
            continue
        text = files.text_of(data, name)
        new, count = rewriter.rewritten(text, name)
        if new != text:
            changed[name] = new
            places += count
    if not changed and not action.allow_no_change:
        raise _nothing(action, len(names))
    for name, new in changed.items():
        write_beneath(context.worktree, name, new.encode())
    return ActionResult(f"rewrote {places} places in {len(changed)} files", tuple(changed))


@dataclass(frozen=True)
class _Rewriter:
    language: str
    rule: dict[str, Any]
    to: str
    captured: frozenset[str]
    max_passes: int

    @classmethod
    def of(cls, action: Rewrite) -> _Rewriter:
        """The checked rewrite; InputError if the language, the pattern or the replacement is wrong."""
        language = language_of(action.language)
        rule = action.rule if action.rule is not None else {"pattern": action.pattern}
        captured = variables(action.pattern if action.pattern is not None else repr(action.rule))
        unknown = variables(action.to) - captured
        if unknown and language not in WITH_DOLLAR_NAMES:
            raise InputError(
                f"the replacement uses {_listed(unknown)}, which the pattern does not capture",
                hint=f"The pattern captures {_listed(captured) or 'nothing'}.",
            )
        config = rule if "rule" in rule else {"rule": rule}
        made = cls(language, config, action.to, captured, action.max_passes)
        made.check()
        return made

    def check(self) -> None:
        """InputError if ast-grep does not understand the rule."""
        try:
            self._matches("")
        except Exception as error:
            reason = " ".join(str(error).replace("µ", "$").split())
            raise InputError(
                f"the pattern of a rewrite is wrong for {self.language}: {reason}",
                hint="A pattern is one whole piece of code with $A for a node and $$$ARGS for several; "
                "for more use rule. See https://ast-grep.github.io/guide/pattern-syntax.html.",
            ) from error

    def rewritten(self, text: str, name: str) -> tuple[str, int]:
        """The text without any match, and how many were replaced."""
        to = files.with_line_ending(self.to, files.line_ending(text))
        replacement = Replacement(to, self.captured)
        original, count = text, 0
        largest = 0
        for _ in range(self.max_passes):
            matches = _outermost(self._matches(text))
            new = replacement.applied(text, matches)
            if new == text:
                if matches and text != original:
                    raise self._endless(name)
                return text, count
            text, count = new, count + len(matches)
            largest = largest or _GROWTH * len(text) + _GROWTH_FLOOR
            if len(text) > largest:
                raise self._endless(name)
        if self._matches(text):
            raise self._endless(name)
        return text, count

    def _matches(self, text: str) -> list[SgNode]:
        return SgRoot(text, self.language).root().find_all(cast(Any, self.rule))

    def _endless(self, name: str) -> ActionFailed:
        return ActionFailed(
            f"rewriting {name} does not come to an end: the replacement still matches the pattern",
            hint="Make the replacement one that the pattern does not match (a rule with 'not' or 'inside' "
            f"helps), or raise max_passes above {self.max_passes} if matches are nested that deep. "
            "Nothing was written.",
        )


def _outermost(nodes: list[SgNode]) -> list[Match]:
    chosen: list[Match] = []
    for match in sorted(map(Match.of, nodes), key=lambda each: (each.start, -each.end)):
        if not chosen or match.start >= chosen[-1].end:
            chosen.append(match)
    return chosen


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))


def _nothing(action: Rewrite, searched: int) -> NothingChanged:
    if not searched:
        return NothingChanged(
            f"no file matches {action.files!r}", hint="Check the glob of files; it starts at the worktree."
        )
    return NothingChanged(
        f"the pattern finds nothing to change in the {searched} files of {action.files!r}",
        hint="Check the pattern and the language, or set allow_no_change: true.",
    )
