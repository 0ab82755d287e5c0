"""What an agent that thinks is told of the repository before it looks for itself: which files there are, and what is
in those that its task is about. Each question that need not be asked is a call of the model less.

All is read from a commit, so that it is told the same when a handler runs again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from actors.thinking import all_told, told
from sylk_ray.sessions.workspace import Blob, Workspace

LISTED = 100
"""Files that are listed one by one; of more, the folders are."""
SHOWN = 12_000
"""Bytes of files that are shown."""
_WORDS = re.compile(r"[\w./-]*\w")
_NAMES = re.compile(r"`(\w{2,})(?:\(\))?`|\b(\w+_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)\b|\b([a-zA-Z]\w+)\(")
_MOST_NAMES = 10


async def surroundings(
    workspace: Workspace, commit: str, about: str, *, also: Iterable[str] = (), longest: int = SHOWN
) -> str:
    """The files of a commit, and the text of those that ``about`` names, or that have a name of the code in them which
    it says, first those of ``also``, up to ``longest`` bytes. Empty for an empty repository."""
    files = await workspace.files(commit)
    named = named_files(files, about)
    with_names = await workspace.files_with(commit, names_in(about))
    wanted = dict.fromkeys(path for path in [*also, *named, *with_names] if path in files)
    fitting: dict[str, Blob] = {}
    left = longest
    for path in wanted:
        if files[path].size <= left:
            left -= files[path].size
            fitting[path] = files[path]
    texts = await workspace.texts(fitting)
    shown = [f"{path}:\n```\n{text.rstrip()}\n```" for path, text in texts.items()]
    return all_told(
        told("Files of the repository", listing(files)),
        told("What is in some of them now: these need not be read again", "\n".join(shown)),
    )


def listing(files: Iterable[str]) -> str:
    """Paths, one a line; of many, how many are in which folder."""
    every = sorted(files)
    if len(every) <= LISTED:
        return "\n".join(every)
    folders = Counter(str(PurePosixPath(path).parent) for path in every)
    lines = [f"{folder}/ ({count} files)" for folder, count in folders.most_common(LISTED)]
    return "\n".join([f"There are {len(every)}; the folders with most of them:", *lines])


def named_files(files: Iterable[str], text: str) -> list[str]:
    """The files that a text names, in its order: by their path, or by a name that no other file has."""
    every = sorted(files)
    names = Counter(PurePosixPath(path).name for path in every)
    by_word = {PurePosixPath(path).name: path for path in every if names[PurePosixPath(path).name] == 1}
    by_word |= {path: path for path in every}
    words = (word.removeprefix("./") for word in _WORDS.findall(text))
    return list(dict.fromkeys(by_word[word] for word in words if word in by_word))


def names_in(text: str) -> list[str]:
    """What a text says that can only be the name of something in code: ``in_snake_case``, ``inCamelCase``, a word in
    backticks or before a bracket."""
    found = dict.fromkeys(next(each for each in groups if each) for groups in _NAMES.findall(text))
    return list(found)[:_MOST_NAMES]
