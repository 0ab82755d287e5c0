"""What a model means by a change that does not fit word for word, where that leaves no doubt."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import takewhile
from textwrap import dedent

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


def ended_early(path: str, text: str, old: str, new: str) -> tuple[str, str] | None:
    """Where ``old`` is the beginning of a function and ``new`` is one of the same name that ends by returning or
    raising: all of the old one, whose rest would never be reached, and the new one, with its documentation. None where
    it is not so."""
    tree, whole = parsed(path, text), parsed(path, dedent(new))
    at = text.find(old)
    if tree is None or whole is None or text.count(old) != 1 or [type(each) for each in whole.body] not in _FUNCTION:
        return None
    [made] = whole.body
    first = text.count("\n", 0, at + len(old) - len(old.lstrip())) + 1
    last = text.count("\n", 0, at + len(old.rstrip())) + 1
    there = next((each for each in ast.walk(tree) if isinstance(each, _Function) and each.lineno == first), None)
    if there is None or not isinstance(made, _Function) or there.name != made.name:
        return None
    if last >= (there.end_lineno or last) or not isinstance(made.body[-1], ast.Return | ast.Raise):
        return None
    lines = text.split("\n")
    stands = "\n".join(lines[there.lineno - 1 : there.end_lineno])
    given = dedent(new).strip("\n").split("\n")
    if ast.get_docstring(there) and not ast.get_docstring(made) and made.body[0].lineno > made.lineno:
        said = there.body[0]
        kept = dedent("\n".join(lines[said.lineno - 1 : said.end_lineno])).split("\n")
        begins = made.body[0]
        given[begins.lineno - 1 : begins.lineno - 1] = [" " * begins.col_offset + line for line in kept]
    return stands, _moved("\n".join(given), "", _indentation(lines[first - 1])) or ""


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
    given, lines = added.rstrip("\n").split("\n"), text.split("\n")
    texts: dict[str, list[str]] = {}
    begins = 0
    for name, node in new.items():
        # With what is said above it, and at last with all the rest.
        ends = len(given) if len(texts) + 1 == len(new) else node.end_lineno
        texts[name] = _joined(given[begins:ends]).strip("\n").split("\n")
        begins = node.end_lineno or begins
    for name, node in sorted(there.items(), key=lambda each: -each[1].lineno):
        lines[node.lineno - 1 : node.end_lineno] = texts[name]
    end = "".join(f"\n\n{_joined(part)}\n" for name, part in texts.items() if name not in there)
    whole = _joined(lines)
    return whole + (end if whole.endswith("\n") or not end else f"\n{end}")


def replaceable(path: str, text: str, said: str) -> str:
    """The function or class of a Python file that is said first of those that ``redefined`` would replace; empty when
    there is none."""
    tree = parsed(path, text)
    every = _named(tree.body) if tree is not None else []
    plain = {name for name in _plain(tree.body) if every.count(name) == 1} if tree is not None else set[str]()
    return next((word for word in re.findall(r"\w+", said) if word in plain), "")


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTION = ([ast.FunctionDef], [ast.AsyncFunctionDef])
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
