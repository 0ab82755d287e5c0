"""What a durable commit costs: alone, in a crowd, beside raw SQLite; and how long a session takes to come back."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.table import Row
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.journal import Journal, Mail, SavedState, SqliteJournals, Transaction
from sylk_ray.runtime.journal.schema import Durability

AGENTS = [Address("s", "engineer", f"agent-{number}") for number in range(100)]
STATE = bytes(300)
RAW = 5_000


def transaction(number: int, *, events: bool = False) -> Transaction:
    """One handled message: 300 bytes of state, one mail for the next agent, which handles it in its turn."""
    agent, following = AGENTS[number % 100], AGENTS[(number + 1) % 100]
    mail = Mail(f"m-{number + 1}", agent, following, bytes(300))
    told = [Event("task.told", "s", "task", {"number": number}, at=1.0)] if events else []
    return Transaction(agent, f"m-{number}", SavedState(1, STATE), [mail], told, remember_until=1e12)


async def single(home: Path, durability: Durability) -> list[Row]:
    """One commit after the other, each acknowledged before the next."""
    journals = SqliteJournals(lambda session: home / session, durability=durability)
    journal = await journals.open("s", "a")
    times: list[float] = []
    for number in range(5_000):
        started = time.perf_counter()
        await journal.commit(transaction(number))
        times.append(time.perf_counter() - started)
    await journals.close()
    return [
        Row(f"journal: one commit at a time ({durability}), median", statistics.median(times) * 1e3, "ms", 1),
        Row(f"journal: one commit at a time ({durability}), p99", sorted(times)[4_950] * 1e3, "ms", None),
    ]


async def grouped(home: Path, durability: Durability, sessions: int) -> list[Row]:
    """A hundred agents commit at once, in one session or in many."""
    journals = SqliteJournals(lambda session: home / session, durability=durability)
    opened = [await journals.open(f"s{number}", "a") for number in range(sessions)]
    count = 20_000

    async def agent(which: int) -> None:
        for number in range(which, count, 100):
            await opened[which % sessions].commit(transaction(number))

    started = time.perf_counter()
    await asyncio.gather(*(agent(which) for which in range(100)))
    rate = count / (time.perf_counter() - started)
    await journals.close()
    # Sessions share no file and so no transaction: with many of them there is little to group, and no bar.
    of, bar = ("one session", 5_000) if sessions == 1 else (f"{sessions} sessions", None)
    return [Row(f"journal: commits of 100 agents of {of} ({durability})", rate, "/s", bar, more_is_better=True)]


def raw_sqlite(home: Path) -> list[Row]:
    """The same rows without anything around them: each in its transaction, and all in one."""
    rows: list[Row] = []
    for together in (False, True):
        with closing(sqlite3.connect(home / f"raw-{together}.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("CREATE TABLE states(agent TEXT PRIMARY KEY, data BLOB)")
            connection.execute("CREATE TABLE handled(agent TEXT, message TEXT, UNIQUE(agent, message))")
            connection.execute("CREATE TABLE mail(n INTEGER PRIMARY KEY, id TEXT UNIQUE, target TEXT, packet BLOB)")
            started = time.perf_counter()
            if together:
                connection.execute("BEGIN IMMEDIATE")
            for number in range(RAW):
                if not together:
                    connection.execute("BEGIN IMMEDIATE")
                agent, target = str(AGENTS[number % 100]), str(AGENTS[(number + 1) % 100])
                connection.execute("INSERT INTO handled VALUES (?, ?)", (agent, f"m-{number}"))
                connection.execute("DELETE FROM mail WHERE id = ?", (f"m-{number}",))
                connection.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (agent, STATE))
                mail = (f"m-{number + 1}", target, bytes(300))
                connection.execute("INSERT INTO mail(id, target, packet) VALUES (?, ?, ?)", mail)
                if not together:
                    connection.execute("COMMIT")
            if together:
                connection.execute("COMMIT")
            rate = RAW / (time.perf_counter() - started)
        what = "all in one transaction" if together else "each in its transaction"
        rows.append(Row(f"raw sqlite3: the same inserts, {what}", rate, "/s", None))
    return rows


async def filled(journal: Journal, count: int) -> None:
    """Commit so many messages with an event each."""
    for start in range(0, count, 500):
        numbers = range(start, min(count, start + 500))
        await asyncio.gather(*(journal.commit(transaction(number, events=True)) for number in numbers))


async def coming_back(home: Path, count: int) -> list[Row]:
    """Open a session that was killed, so that its log is read too, and recall a hundred agents and the mail."""
    killed = SqliteJournals(lambda session: home / session)
    await filled(await killed.open("s", "a"), count)
    copy = home / "copy"
    copy.mkdir()
    for ending in ("", "-wal", ".lock"):
        (copy / f"journal.db{ending}").write_bytes((home / "s" / f"journal.db{ending}").read_bytes())
    await killed.close()

    journals = SqliteJournals(lambda _: copy)
    started = time.perf_counter()
    journal = await journals.open("s", "b", fence=["a"])
    opened = time.perf_counter() - started
    for agent in AGENTS:
        await journal.recall(agent)
    await journal.pending()
    recalled = time.perf_counter() - started
    assert journal.report.whole
    assert await journal.last_event() == count
    await journals.close()
    return [
        Row(f"journal: open after a kill, {count:,} messages and events", opened * 1e3, "ms", None),
        Row(f"journal: the same, and recall 100 agents and the mail, {count:,}", recalled * 1e3, "ms", None),
    ]


async def pruning(home: Path) -> list[Row]:
    """How long one caller waits at most while 20,000 messages are pruned."""
    journals = SqliteJournals(lambda session: home / session)
    journal = await journals.open("s", "a")
    await filled(journal, 20_000)
    longest = 0.0
    started = time.perf_counter()
    prune = asyncio.ensure_future(journal.prune(1e13))
    number = 0
    while not prune.done():
        before = time.perf_counter()
        await journal.last_event()
        longest = max(longest, time.perf_counter() - before)
        number += 1
    took = time.perf_counter() - started
    await journals.close()
    return [
        Row("journal: pruning 20,000 messages", took * 1e3, "ms", None),
        Row("journal: the longest that another caller waits meanwhile", longest * 1e3, "ms", 50),
    ]


async def measure() -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    for durability in ("process", "power"):
        with tempfile.TemporaryDirectory(prefix="sylk-bench-") as home:
            rows += await single(Path(home) / "single", durability)
            rows += await grouped(Path(home) / "grouped", durability, 1)
            rows += await grouped(Path(home) / "many", durability, 100)
    with tempfile.TemporaryDirectory(prefix="sylk-bench-") as home:
        rows += raw_sqlite(Path(home))
        rows += await pruning(Path(home) / "pruning")
        for count in (100, 1_500, 20_000):
            rows += await coming_back(Path(home) / str(count), count)
    return rows
