"""What can go wrong with a journal."""

from __future__ import annotations

from sylk_ray.errors import SylkError


class Fenced(SylkError):
    """The writer was replaced: what it does no longer counts, and nothing was written."""

    code = "fenced"


class JournalFull(SylkError):
    """There is no room on the journal's disk. Nothing was written; the same write may be tried again."""

    code = "journal_full"


class JournalDamaged(SylkError):
    """The journal cannot be read, and nothing of it could be saved."""

    code = "journal_damaged"


class JournalClosed(SylkError):
    """The journal was closed: its session is no longer open here."""

    code = "journal_closed"


class JournalTooNew(SylkError):
    """The journal was written by a later version of sylk_ray."""

    code = "journal_too_new"
