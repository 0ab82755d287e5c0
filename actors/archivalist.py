"""Knows what was done before: it reads the histories of all sessions that have worked on the same repository."""

from __future__ import annotations

from actors.archive import Archive
from actors.consulting_messages import AskArchivalist
from actors.knowledge_messages import CodebaseAnswer
from actors.skills.archivalist import ARCHIVALIST_SKILLS
from sylk_ray.codebase.serving.frames import Failed
from sylk_ray.errors import SylkError
from sylk_ray.routing import TARGETS
from sylk_ray.runtime import Context, handler
from sylk_ray.speech import Conversant, Hear, Heard


class Archivalist(Conversant[None]):
    """Answers agents, and people, from the archive."""

    role = "archivalist"
    about = TARGETS["archivalist"]
    skills = ARCHIVALIST_SKILLS
    answers_with = "briefing"

    async def on_activate(self, ctx: Context) -> None:
        """Nothing is read before something is asked."""
        self.archive = Archive(ctx.address.session, ctx)

    @handler(concurrent=True)
    async def hear(self, message: Hear, ctx: Context) -> Heard:
        """Answer what was said in words."""
        return await self.archive.answer(message.text, message.intent)

    @handler(concurrent=True)
    async def asked(self, message: AskArchivalist, ctx: Context) -> CodebaseAnswer:
        """What the histories have, or the error that asking led to."""
        try:
            return CodebaseAnswer(await self.archive.asked(message.request))
        except SylkError as error:
            return CodebaseAnswer(Failed.of(error))
