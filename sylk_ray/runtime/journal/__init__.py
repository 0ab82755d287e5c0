"""A session's durable record: agents' states, the mail that waits for them, finished steps, events, dead letters.

A handler's effects commit as one ``Transaction``: the new state, that its message is handled, the mail that it sends
and the events that it tells of. What it cannot do twice it does as a step, whose result is kept until the handler
commits. Whoever writes holds an epoch, which the journal checks within each write: a writer that was replaced, and
does not know it yet, gets ``Fenced`` and changes nothing.

    journal = await journals.open("s-7f3a", "cell-1")
    committed = await journal.commit(Transaction(agent, message_id, SavedState(1, state), outgoing=[mail]))
    memory = await journal.recall(agent)     # state, handled messages and waiting mail, after a crash

``MemoryJournals`` lasts as long as its process; ``SqliteJournals`` keeps a file a session. Both pass
``tests/conformance/test_journal.py``, as any other must.
"""

from sylk_ray.runtime.journal.errors import Fenced, JournalClosed, JournalDamaged, JournalFull, JournalTooNew
from sylk_ray.runtime.journal.faults import JournalUnavailable
from sylk_ray.runtime.journal.looking import read_dead_letters, read_events, read_last_event
from sylk_ray.runtime.journal.memory import MemoryJournals
from sylk_ray.runtime.journal.patient import PatientJournal
from sylk_ray.runtime.journal.protocol import Journal, Journals
from sylk_ray.runtime.journal.records import (
    Committed,
    DeadLetter,
    Mail,
    Memory,
    Report,
    SavedState,
    StepRecord,
    Transaction,
    failed_message,
    failure_of,
)
from sylk_ray.runtime.journal.sqlite import SqliteJournals

__all__ = [
    "Committed",
    "DeadLetter",
    "Fenced",
    "Journal",
    "JournalClosed",
    "JournalDamaged",
    "JournalFull",
    "JournalTooNew",
    "JournalUnavailable",
    "Journals",
    "Mail",
    "Memory",
    "MemoryJournals",
    "PatientJournal",
    "Report",
    "SavedState",
    "SqliteJournals",
    "StepRecord",
    "Transaction",
    "failed_message",
    "failure_of",
    "read_dead_letters",
    "read_events",
    "read_last_event",
]
