"""What was done on a repository, as the histories of all its sessions have it: read when it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.chronicle import memories_of
from actors.consulting_messages import AskArchivalist
from actors.knowledge_messages import ask_codebase
from sylk_ray.codebase.requests import (
    AnyAnswer,
    Memory,
    MemoryKind,
    Preflight,
    ReadThrough,
    ReadThroughAnswer,
    Recall,
    RecallAnswer,
    Remember,
)
from sylk_ray.codebase.serving.frames import Failed
from sylk_ray.errors import SylkError
from sylk_ray.messaging import SHARED
from sylk_ray.routing import Intent
from sylk_ray.runtime import Context
from sylk_ray.runtime.journal import read_events, read_last_event
from sylk_ray.sessions import SessionDirectory, session_directory
from sylk_ray.sessions.store import SessionUnreadable, read_session
from sylk_ray.speech import Heard

AT_ONCE = 500
"""Events of a history that are read together."""
MOST = 8
"""Memories that are told at once."""
LATEST = 20
PATIENCE_S = 120.0
"""For the Archivalist; a history of years may have to be read first."""


class _Journal(NamedTuple):
    """Of one session. ``marks`` change when the file does."""

    session: str
    path: Path
    marks: tuple[int, ...]


class Archive:
    """Seen from one session; whether that is open makes no difference. It keeps nothing itself: journals are the
    record, and what is remembered of them is with what is known of the code. Whatever was written when it is asked is
    taken in first, so it never says that nothing was done when something was.
    """

    def __init__(self, session: str, ctx: Context) -> None:
        self._session = session
        self._ctx = ctx
        self._home = ctx.settings.home
        self._one_at_a_time = asyncio.Lock()
        self._repos: dict[str, str] = {}
        self._seen: dict[str, tuple[int, ...]] = {}

    async def asked(self, request: Recall | Preflight) -> AnyAnswer:
        """The answer. Raises what ``ask_codebase`` does."""
        await self._catch_up()
        return await ask_codebase(self._ctx.ask, request, cell=self._ctx.cell)

    async def recalled(self, query: str, *, own: bool = False, kinds: Sequence[MemoryKind] = ()) -> Heard:
        """What has to do with a question: of the ``own`` session alone, or of all on its repository."""
        root = await asyncio.to_thread(self._repo_of, self._session)
        session = self._session if own else ""
        answer = await self.asked(Recall(query=query, root=root, session=session, kinds=list(kinds), k=MOST))
        assert isinstance(answer, RecallAnswer)
        return _heard(answer.memories, f"nothing like it was done: {answer.hint}")

    async def briefing(self) -> Heard:
        """How the own session stands."""
        latest = await self._latest(LATEST * MOST)
        chosen = [each for each in latest if each.kind in ("workflow", "decision", "failure")][-MOST:]
        return _heard(chosen or latest[-MOST:], NOTHING_YET)

    async def timeline(self, limit: int = LATEST) -> Heard:
        """What happened in the own session last, in order."""
        return _heard((await self._latest(limit))[-limit:], NOTHING_YET)

    async def answer(self, text: str, intent: Intent) -> Heard:
        """To what somebody says, by what they mean with it."""
        match intent:
            case Intent.RESUME:
                return msgspec.structs.replace(await self.briefing(), done_by="briefing")
            case Intent.ACTIVITY:
                return msgspec.structs.replace(await self.timeline(), done_by="session_timeline")
            case _:
                return msgspec.structs.replace(await self.recalled(text), done_by="cross_session_query")

    async def _latest(self, enough: int) -> list[Memory]:
        """What is worth telling of the own session, the latest of it: so much as is enough, from the end."""
        path = SessionDirectory(session_directory(self._home, self._session)).journal

        def read() -> list[Memory]:
            found: list[Memory] = []
            through = read_last_event(path)
            while through > 0 and len(found) < enough:
                after = max(0, through - AT_ONCE)
                found = [*memories_of(read_events(path, after, through - after)), *found]
                through = after
            return found

        return await asyncio.to_thread(read)

    async def _catch_up(self) -> None:
        """Have everything remembered that was written. What cannot be read is left for the next time."""
        async with self._one_at_a_time:
            root = await asyncio.to_thread(self._repo_of, self._session)
            journals = await asyncio.to_thread(self._journals, root)
            # It is asked each time: what was remembered may have been forgotten since.
            read = await ask_codebase(self._ctx.ask, ReadThrough(root=root))
            assert isinstance(read, ReadThroughAnswer)
            for each in journals:
                if each.session in read.through and self._seen.get(each.session) == each.marks:
                    continue
                try:
                    await self._take_in(each, read.through.get(each.session, 0), root)
                except SylkError as error:
                    self._ctx.log.warning("the history of %s is not remembered: %s", each.session, error)
                else:
                    self._seen[each.session] = each.marks

    async def _take_in(self, journal: _Journal, after: int, root: str) -> None:
        while events := await asyncio.to_thread(read_events, journal.path, after, AT_ONCE):
            after = events[-1].sequence
            remember = Remember(root=root, memories=memories_of(events), through={journal.session: after})
            await ask_codebase(self._ctx.ask, remember)

    def _journals(self, root: str) -> list[_Journal]:
        """Of the sessions of a repository."""
        found: list[_Journal] = []
        for folder in sorted((self._home / "sessions").iterdir()):
            session = folder.name
            try:
                if session == SHARED or self._repo_of(session) != root:
                    continue
                path = SessionDirectory(folder).journal
                log = path.with_name(f"{path.name}-wal")
                stats = [each.stat() for each in (path, log) if each.exists()]
            except (OSError, SessionUnreadable):
                continue  # it is being made, or removed
            if stats:
                marks = tuple(mark for each in stats for mark in (each.st_ino, each.st_size, each.st_mtime_ns))
                found.append(_Journal(session, path, marks))
        return found

    def _repo_of(self, session: str) -> str:
        if session not in self._repos:
            self._repos[session] = read_session(self._home, session).repo
        return self._repos[session]


NOTHING_YET = "nothing was done in this session yet"


def told_of(memories: Sequence[Memory]) -> str:
    """Memories for a reader, the session that each is of with it."""
    return "\n".join(
        f"- {each.title} ({each.kind}, {each.session}, {_day(each.at)}): {' '.join(each.text.split())}"
        for each in memories
    )


def _heard(memories: Sequence[Memory], otherwise: str) -> Heard:
    data = [{"title": each.title, "text": each.text, "kind": each.kind} | _where(each) for each in memories]
    return Heard(told_of(memories) or otherwise, data)


def _where(memory: Memory) -> dict[str, Any]:
    return {"session": memory.session, "task": memory.task, "at": memory.at}


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()


async def asked_of_archivalist(ctx: Context, request: Recall | Preflight) -> AnyAnswer:
    """Through the session's router. Raises a DeliveryError, and the SylkError that the request led to."""
    archivalist = ctx.address.beside("archivalist", "main")
    told = await ctx.ask(archivalist, AskArchivalist(request), timeout=PATIENCE_S)
    if isinstance(told.answer, Failed):
        raise told.answer.error()
    return told.answer


async def recalled(ctx: Context, wanted: Recall) -> list[Memory]:
    """The memories that the Archivalist finds. Raises as ``asked_of_archivalist`` does."""
    answer = await asked_of_archivalist(ctx, wanted)
    assert isinstance(answer, RecallAnswer)
    return answer.memories
