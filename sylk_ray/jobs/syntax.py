"""From text to YAML nodes: syntax errors with their line and a hint, and limits on what is read at all."""

from __future__ import annotations

from typing import Any, cast

import yaml
from yaml.reader import ReaderError

from sylk_ray.jobs.problems import JobProblems, Problem

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 50

PLAIN = "plain"
"""The tag of a scalar without quotes and without a tag of its own."""
QUOTED = "quoted"

_HINTS = {
    "mapping values are not allowed": 'put quotes around a text that contains ": "',
    "could not find expected ':'": 'a field is written "name: value"',
    "that cannot start any token": "put quotes around a text that starts with this character",
    "unknown escape character": "use single quotes, in which a backslash is only a backslash",
    "expected <block end>": "look at the indentation of this line and of the one before",
    "expected a single document": "a file holds one job: remove the ---",
    "while scanning a quoted scalar": "a quote is opened and not closed",
    "flow mapping": "a { is opened and not closed, or a comma is missing",
    "flow sequence": "a [ is opened and not closed, or a comma is missing",
}


class _TooDeep(Exception):
    """Raised inside the loader, which knows the place."""

    def __init__(self, mark: yaml.Mark) -> None:
        super().__init__()
        self.mark = mark


class _Loader(yaml.SafeLoader):
    """Only composes: tags say how a value was written, and are not resolved to Python types here."""

    def __init__(self, text: str) -> None:
        self._depth = 0
        super().__init__(text)

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            event = cast("Any", self.peek_event())  # pyright: ignore[reportUnknownMemberType]
            raise _TooDeep(event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return PLAIN if implicit[0] else QUOTED
        return "sequence" if kind is yaml.SequenceNode else "mapping"


def compose(text: str, source: str) -> yaml.Node:
    """The top node of the only document in ``text``. Raises JobProblems."""
    if len(text) > MAX_CHARACTERS:
        problem = Problem("", 1, 1, f"the file is longer than {MAX_CHARACTERS:,} characters", "split the job")
        raise JobProblems(source, [problem])
    try:
        loader = _Loader(text)
    except ReaderError as error:
        raise JobProblems(source, [_unreadable(text, error)]) from None
    try:
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise JobProblems(source, [_syntax_problem(text, error)]) from None
    except _TooDeep as error:
        message = f"this is nested more than {MAX_DEPTH} levels deep"
        problem = _at(error.mark, message, "a job needs fewer than 10")
        raise JobProblems(source, [problem]) from None
    except (ValueError, OverflowError) as error:  # from chr() and int(), on escapes and versions out of range
        raise JobProblems(source, [_at(loader.get_mark(), f"this is not valid YAML: {error}")]) from None
    if node is None:
        problem = Problem("", 1, 1, "the job is empty", "begin with: name: my_job")
        raise JobProblems(source, [problem])
    return node


def _at(mark: yaml.Mark, message: str, hint: str = "") -> Problem:
    return Problem("", mark.line + 1, mark.column + 1, message, hint)


def _unreadable(text: str, error: ReaderError) -> Problem:
    before = text[: error.position]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return Problem("", line, column, f"the character U+{ord(text[error.position]):04X} is not allowed", "remove it")


def _syntax_problem(text: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    told = ", ".join(part for part in (error.context, error.problem) if part)
    hint = next((hint for sign, hint in _HINTS.items() if sign in told), "")
    if _tab_in_indentation(text, line):
        hint = "indent with spaces: YAML does not allow tabs there"
    return Problem("", line, column, f"this is not valid YAML: {told}", hint)


def _tab_in_indentation(text: str, line: int) -> bool:
    lines = text.split("\n", line)
    found = lines[line - 1] if line <= len(lines) else ""
    return "\t" in found[: len(found) - len(found.lstrip())]
