"""What a model means by a change that does not fit word for word, where that leaves no doubt."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import takewhile

from sylk_ray.thinking.written import DEFINITION, parsed


def as_it_stands(text: str, old: str, new: str) -> tuple[str, str] | None:
    """The lines of a text that are ``old`` but for spaces at their ends and for how far all of them are indented; and
    ``new``, indented as these are. None where there are no such lines, or several times."""
    before, asked, after = _without_line_feeds(old)
    wanted = [line.strip() for line in asked.split("\n")]
    if not any(wanted):
        return None
    lines = text.split("\n")
    bare = [line.strip() for line in lines]
    count = len(wanted)
    even = _even(asked)
    found = [
        number
        for number in range(len(lines) - count + 1)
        if bare[number : number + count] == wanted and _even("\n".join(lines[number : number + count])) == even
    ]
    if len(found) != 1:
        return None
    stands = "\n".join(lines[found[0] : found[0] + count]).removesuffix("\r")
    moved = _moved(new.removeprefix(before).removesuffix(after), _indentation(asked), _indentation(stands))
    return (stands, moved) if moved is not None else None


def redefined(path: str, text: str, added: str) -> str | None:
    """A Python file in which functions and classes that are ``added`` stand where those of the same names did, and the
    others at its end. None where something else is added as well, or nothing that is there, or where a decorator or a
    second definition makes it a question what is meant."""
    tree, more = parsed(path, text), parsed(path, added)
    if tree is None or more is None:
        return None
    new = _plain(more.body)
    there = {name: node for name, node in _plain(tree.body).items() if name in new}
    if not there or len(new) != len(more.body) or any(_named(tree.body).count(name) > 1 for name in there):
        return None
    given, lines = added.split("\n"), text.split("\n")
    texts = {name: given[node.lineno - 1 : node.end_lineno] for name, node in new.items()}
    if sum(map(len, texts.values())) < sum(1 for line in given if line.strip()):
        return None
    for name, node in sorted(there.items(), key=lambda each: -each[1].lineno):
        lines[node.lineno - 1 : node.end_lineno] = texts[name]
    end = "".join(f"\n\n{_joined(part)}\n" for name, part in texts.items() if name not in there)
    whole = _joined(lines)
    return whole + (end if whole.endswith("\n") or not end else f"\n{end}")


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _plain(body: Iterable[ast.stmt]) -> dict[str, _Definition]:
    """Without those that are decorated."""
    return {node.name: node for node in body if isinstance(node, DEFINITION) and not node.decorator_list}


def _named(body: Iterable[ast.stmt]) -> list[str]:
    return [node.name for node in body if isinstance(node, DEFINITION)]


def _joined(lines: list[str]) -> str:
    return "\n".join(lines)


def _without_line_feeds(text: str) -> tuple[str, str, str]:
    """Those that it begins with, what is between, and those that it ends with."""
    left = text.lstrip("\n")
    between = left.rstrip("\n")
    return text[: len(text) - len(left)], between, left[len(between) :]


def _even(text: str) -> list[str]:
    """Its lines without the spaces at their ends, and without how far all of them are indented."""
    far = len(_indentation(text))
    return [line[far:].rstrip() for line in text.split("\n")]


def _indentation(text: str) -> str:
    """What all lines begin with that are not empty."""
    lines = [line for line in text.split("\n") if line.strip()]
    ends = zip(min(lines, default=""), max(lines, default=""), strict=False)
    return "".join(one for one, _ in takewhile(lambda both: both[0] == both[1] and both[0].isspace(), ends))


def _moved(text: str, here: str, there: str) -> str | None:
    """Lines that are indented ``there`` instead of ``here``; None where one is less far."""
    lines = [line if line.strip() else "" for line in text.split("\n")]
    if not all(line.startswith(here) for line in lines if line):
        return None
    return "\n".join(there + line[len(here) :] if line else "" for line in lines)
