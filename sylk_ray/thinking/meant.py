"""What a model means by a change that does not fit word for word, where that leaves no doubt."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import takewhile
from textwrap import dedent

from sylk_ray.thinking.written import DEFINITION, parsed


def as_it_stands(path: str, text: str, old: str, new: str) -> tuple[str, str] | None:
    """The lines of a file that are ``old`` but for spaces at their ends and for how far all of them are indented; and
    ``new``, indented as these are. None where there are no such lines, or several, or what would be there could not be
    read any more."""
    before, asked, after = _without_line_feeds(old.replace("\r\n", "\n"))
    wanted = [line.strip() for line in asked.split("\n")]
    if not any(wanted) or not new.strip():
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
    given = new.replace("\r\n", "\n").removeprefix(before).removesuffix(after)
    moved = _moved(given, _indentation(asked), _indentation(stands))
    return (stands, moved) if moved is not None and _readable(path, text, stands, moved) else None


def ended_early(path: str, text: str, old: str, new: str) -> tuple[str, str] | None:
    """Where ``old`` is the beginning of a function and ``new`` is one of the same name that ends by returning or
    raising: all of the old one, whose rest would never be reached, and the new one, with its documentation. None where
    it is not so."""
    tree, whole = parsed(path, text), parsed(path, dedent(new))
    at = text.find(old)
    if tree is None or whole is None or text.count(old) != 1 or "\r" in f"{text}{new}":
        return None
    if len(whole.body) != 1 or not isinstance(made := whole.body[0], _Function):
        return None
    first = text.count("\n", 0, at + len(old) - len(old.lstrip())) + 1
    last = text.count("\n", 0, at + len(old.rstrip())) + 1
    there = next((each for each in ast.walk(tree) if isinstance(each, _Function) and each.lineno == first), None)
    if there is None or there.name != made.name or last >= (there.end_lineno or last):
        return None
    if not isinstance(made.body[-1], ast.Return | ast.Raise):
        return None
    lines = text.split("\n")
    stands = "\n".join(lines[there.lineno - 1 : there.end_lineno])
    given = dedent(new).strip("\n").split("\n")
    if ast.get_docstring(there) and not ast.get_docstring(made) and made.body[0].lineno > made.lineno:
        said = there.body[0]
        kept = dedent("\n".join(lines[said.lineno - 1 : said.end_lineno])).split("\n")
        begins = made.body[0]
        given[begins.lineno - 1 : begins.lineno - 1] = [" " * begins.col_offset + line for line in kept]
    moved = _moved("\n".join(given), "", _indentation(lines[first - 1]))
    return (stands, moved) if moved is not None and _readable(path, text, stands, moved) else None


def redefined(path: str, text: str, added: str) -> str | None:
    """A Python file in which the functions that are ``added`` stand where those of the same names did, and what is new
    beside them. None where something else is added as well, or no function that is there, or where a decorator, another
    definition or another order makes it a question what is meant."""
    tree, more = parsed(path, text), parsed(path, added)
    if tree is None or more is None or "\r" in f"{text}{added}":
        return None
    new = _plain(more.body)
    there = {name: node for name, node in _plain(tree.body).items() if name in new}
    replaced = [name for name in new if name in there]
    if not there or len(new) != len(more.body) or list(there) != replaced:
        return None
    if any(_named(tree.body).count(name) > 1 or not isinstance(there[name], _Function) for name in there):
        return None
    given, lines = added.split("\n"), text.split("\n")
    texts = {name: given[node.lineno - 1 : node.end_lineno] for name, node in new.items()}
    if sum(map(len, texts.values())) < sum(1 for line in given if line.strip()):
        return None
    parts: dict[str, list[str]] = {}
    waiting: list[str] = []
    for name, part in texts.items():
        waiting.append("\n".join(part))
        if name in there:
            parts[name], waiting = waiting, []
    parts[replaced[-1]] += waiting
    for name in reversed(replaced):
        node = there[name]
        lines[node.lineno - 1 : node.end_lineno] = ["\n\n\n".join(parts[name])]
    whole = "\n".join(lines)
    return whole if parsed(path, whole) is not None else None


def replaceable(path: str, text: str, said: str) -> str:
    """The function of a Python file that is said first of those that ``redefined`` would replace; empty when there is
    none."""
    tree = parsed(path, text)
    body = tree.body if tree is not None else []
    every = _named(body)
    plain = {name for name, node in _plain(body).items() if every.count(name) == 1 and isinstance(node, _Function)}
    return next((word for word in re.findall(r"\w+", said) if word in plain), "")


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _plain(body: Iterable[ast.stmt]) -> dict[str, _Definition]:
    """Without those that are decorated."""
    return {node.name: node for node in body if isinstance(node, DEFINITION) and not node.decorator_list}


def _named(body: Iterable[ast.stmt]) -> list[str]:
    return [node.name for node in body if isinstance(node, DEFINITION)]


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
    """Lines that are indented ``there`` instead of ``here``; None where one is less far, or a part of a string."""
    if here == there:
        return text
    lines = [line if line.strip() else "" for line in text.split("\n")]
    if any(line.count('"""') % 2 or line.count("'''") % 2 or not line.startswith(here) for line in lines if line):
        return None
    return "\n".join(there + line[len(here) :] if line else "" for line in lines)


def _readable(path: str, text: str, old: str, new: str) -> bool:
    """Whether a Python file still is, if it was."""
    return parsed(path, text) is None or parsed(path, text.replace(old, new, 1)) is not None
