"""Topics and patterns: dotted names that are published to, and what subscribers say they want of them.

A topic is segments of letters, digits, ``_`` and ``-`` with dots between: ``session.s-7f3a.engineer.status``. In a
pattern a segment may be ``*``, which stands for exactly one, and the last may be ``#``, which stands for any number,
also none::

    trie = TopicTrie[str]()
    trie.add("session.*.orchestrator.status", "a")
    trie.add("session.s-7f3a.#", "b")
    trie.match("session.s-7f3a.orchestrator.status")  # ["b", "a"], in any order
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Generic, TypeVar

from sylk_ray.errors import InputError

ANY = "*"
TAIL = "#"
MOST_SEGMENTS = 16

ValueT = TypeVar("ValueT")

STATUS = "status"
"""The channel of what becomes of a session and its jobs, whoever publishes it."""

_SEGMENT = re.compile(r"[A-Za-z0-9_-]+\Z")
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")


class InvalidTopic(InputError):
    """A text is no topic, or no pattern."""

    code = "invalid_topic"


@lru_cache(maxsize=65_536)
def topic_segments(topic: str) -> tuple[str, ...]:
    """The parts of a topic; raises InvalidTopic."""
    segments = tuple(topic.split("."))
    _check(topic, segments, "topic")
    for segment in segments:
        if not _SEGMENT.match(segment):
            wild = segment in (ANY, TAIL)
            hint = "only a pattern, to subscribe with, has wildcards" if wild else _FORM
            raise InvalidTopic(f"{topic!r} is not a topic: {segment!r} cannot be a part of one", hint=hint)
    return segments


@lru_cache(maxsize=65_536)
def pattern_segments(pattern: str) -> tuple[str, ...]:
    """The parts of a pattern; raises InvalidTopic."""
    segments = tuple(pattern.split("."))
    _check(pattern, segments, "pattern")
    for number, segment in enumerate(segments, 1):
        if segment == TAIL and number < len(segments):
            raise InvalidTopic(f"{pattern!r} is not a pattern: # can only be its end", hint=_FORM)
        if segment not in (ANY, TAIL) and not _SEGMENT.match(segment):
            raise InvalidTopic(f"{pattern!r} is not a pattern: {segment!r} cannot be a part of one", hint=_FORM)
    return segments


_FORM = (
    "segments of letters, digits, _ and - are joined by dots; * stands for one of them, a # at the end for any number"
)


def _check(text: str, segments: tuple[str, ...], what: str) -> None:
    if len(segments) > MOST_SEGMENTS:
        raise InvalidTopic(f"{text[:80]!r} is not a {what}: it has {len(segments)} parts, and may have {MOST_SEGMENTS}")


def segment_of(name: str) -> str:
    """A name as a part of a topic: what cannot stand there becomes ``_``."""
    return _STRANGE.sub("_", name) or "_"


def session_topic(session: str, agent: str, channel: str) -> str:
    """What an agent of a session publishes to: ``session.{id}.{agent}.{channel}``."""
    return f"session.{segment_of(session)}.{segment_of(agent)}.{segment_of(channel)}"


def status_topic(session: str) -> str:
    """Where one hears what becomes of a session and its jobs: ``session.{id}.status``."""
    return f"session.{segment_of(session)}.{STATUS}"


def global_topic(agent: str, channel: str) -> str:
    """What an agent that serves all sessions publishes to: ``{agent}.{channel}``."""
    return f"{segment_of(agent)}.{segment_of(channel)}"


def matches(pattern: str, topic: str) -> bool:
    """Whether the topic is one of the pattern's: for one pattern, where a trie is not worth its while."""
    wanted, found = pattern_segments(pattern), topic_segments(topic)
    if wanted[-1] == TAIL:
        wanted = wanted[:-1]
        found = found[: len(wanted)]
    return len(wanted) == len(found) and all(
        each in (ANY, segment) for each, segment in zip(wanted, found, strict=True)
    )


def reaches(pattern: str, session: str) -> bool:
    """Whether the pattern could match any topic of a session's."""
    for wanted, segment in zip(pattern_segments(pattern), ("session", segment_of(session)), strict=False):
        if wanted == TAIL:
            return True
        if wanted not in (ANY, segment):
            return False
    return len(pattern_segments(pattern)) > 1


class _Node(Generic[ValueT]):
    """A place in the trie. Values are tuples that are replaced, never changed: who matches meanwhile sees the old ones
    or the new."""

    __slots__ = ("children", "here", "tail")

    def __init__(self) -> None:
        self.children: dict[str, _Node[ValueT]] = {}
        self.here: tuple[ValueT, ...] = ()
        self.tail: tuple[ValueT, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.children or self.here or self.tail)


class TopicTrie(Generic[ValueT]):
    """Values by pattern. What a match costs depends on the topic's length and on its wildcards' branches, not on how
    many patterns there are. One thread may change it at a time; any number may match."""

    def __init__(self) -> None:
        self._root: _Node[ValueT] = _Node()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, pattern: str, value: ValueT) -> bool:
        """Have topics that match the pattern give the value; False when they do already. Raises InvalidTopic."""
        segments = pattern_segments(pattern)
        node = self._root
        for segment in segments[:-1] if segments[-1] == TAIL else segments:
            node = node.children.setdefault(segment, _Node())
        values = node.tail if segments[-1] == TAIL else node.here
        if value in values:
            return False
        if segments[-1] == TAIL:
            node.tail = (*values, value)
        else:
            node.here = (*values, value)
        self._size += 1
        return True

    def discard(self, pattern: str, value: ValueT) -> bool:
        """Have them give it no more; False when they did not. Raises InvalidTopic."""
        segments = pattern_segments(pattern)
        tail = segments[-1] == TAIL
        path: list[tuple[_Node[ValueT], str]] = []
        node = self._root
        for segment in segments[:-1] if tail else segments:
            following = node.children.get(segment)
            if following is None:
                return False
            path.append((node, segment))
            node = following
        values = node.tail if tail else node.here
        if value not in values:
            return False
        left = tuple(each for each in values if each != value)
        if tail:
            node.tail = left
        else:
            node.here = left
        self._size -= 1
        for parent, segment in reversed(path):
            if not parent.children[segment].empty:
                break
            del parent.children[segment]
        return True

    def match(self, topic: str) -> list[ValueT]:
        """The values of all patterns that the topic matches, one for each of them. Raises InvalidTopic."""
        found: list[ValueT] = []
        nodes = [self._root]
        for segment in topic_segments(topic):
            following: list[_Node[ValueT]] = []
            for node in nodes:
                found += node.tail
                for key in (segment, ANY):
                    child = node.children.get(key)
                    if child is not None:
                        following.append(child)
            nodes = following
        for node in nodes:
            found += node.tail
            found += node.here
        return found
