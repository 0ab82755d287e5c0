"""A process of its own that commits until it is told to stop, killed or refused, and says what was acknowledged.

python burst.py HOME WRITER COUNT TOGETHER
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.journal import Fenced, Journal, Mail, SavedState, SqliteJournals, Transaction


def say(word: str) -> None:
    os.write(1, f"{word}\n".encode())


def transaction(writer: str, number: int) -> Transaction:
    """Everything in it has the same number, so that half of one is recognised."""
    agent = Address("s", "engineer", writer)
    mail = Mail(f"{writer}-{number}", agent, Address("s", "tester", writer), b"p" * 300)
    event = Event("done", "s", data={"writer": writer, "number": number})
    state = SavedState(1, str(number).encode().rjust(300))
    return Transaction(agent, f"m-{number}", state, [mail], [event], remember_until=1e12)


async def commit(journal: Journal, writer: str, number: int) -> None:
    try:
        await journal.commit(transaction(writer, number))
        say(str(number))
    except Fenced:
        say("fenced")
        raise


async def main(home: str, writer: str, count: int, together: int) -> None:
    journals = SqliteJournals(lambda _: Path(home))
    journal = await journals.open("s", writer)
    say("ready")
    try:
        for first in range(0, count, together):
            await asyncio.gather(*(commit(journal, writer, n) for n in range(first, min(count, first + together))))
    except Fenced:
        pass
    await asyncio.sleep(0)
    await journals.close()
    say("over")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
