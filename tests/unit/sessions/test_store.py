from __future__ import annotations

import msgspec
import pytest

from sylk_ray.errors import InputError
from sylk_ray.sessions import JobRecord, JobState, SessionRecord, SessionState
from sylk_ray.sessions.store import SessionStore


def session(number: int, **changes) -> SessionRecord:
    made = SessionRecord(f"s-{number}", f"name-{number}", "/r", f"sylk/name-{number}", "abc", job=f"j-{number}")
    return msgspec.structs.replace(made, **changes)


def job(number: int, status: JobState) -> JobRecord:
    return JobRecord(f"j-{number}", "n", f"s-{number}", f"name-{number}", "/r", "b", status, 1.0)


async def test_what_is_kept_is_there_in_the_next_runtime(home):
    store = SessionStore(home)
    await store.keep(session(1, state=SessionState.COMPLETED), job(1, JobState.SUCCEEDED))
    again = SessionStore(home)
    await again.recover()
    assert (again.sessions, again.jobs) == (store.sessions, store.jobs)


async def test_a_broken_record_costs_only_itself(home):
    store = SessionStore(home)
    await store.keep(session(1), job(1, JobState.SUCCEEDED))
    await store.keep(session(2), job(2, JobState.SUCCEEDED))
    store.directory("s-1").record_of("j-1").write_text("{")
    again = SessionStore(home)
    await again.recover()
    assert list(again.sessions) == ["s-1", "s-2"]
    assert list(again.jobs) == ["j-2"]
    again.directory("s-1").session.write_text("{")
    third = SessionStore(home)
    await third.recover()
    assert list(third.sessions) == ["s-2"]


async def test_a_job_is_found_by_the_beginning_of_its_id_if_only_one_has_it(home):
    store = SessionStore(home)
    for number in (11, 12, 2):
        await store.keep(session(number), job(number, JobState.SUCCEEDED))
    assert store.job("j-2").job_id == "j-2"
    for wrong in ("j-1", "x", ""):
        with pytest.raises(InputError):
            store.job(wrong)


async def test_a_name_is_taken_until_its_session_is_closed(home):
    store = SessionStore(home)
    await store.keep(session(1))
    assert store.open_session_named("name-1") == session(1)
    await store.keep(session(1, closed=True))
    assert store.open_session_named("name-1") is None


async def test_a_session_that_comes_to_another_state_is_told_of_once_it_is_kept(home):
    told: list[str] = []
    store = SessionStore(home, on_change=lambda session: told.append(session.state.value))
    session = SessionRecord("s-1", "tidy", "/r", "sylk/tidy", "abc")
    await store.keep(session)
    await store.keep(msgspec.structs.replace(session, description="d"))
    await store.keep(session.moved(SessionState.ACTIVE))
    await store.keep(msgspec.structs.replace(session.moved(SessionState.ACTIVE), closed=True))
    assert told == ["created", "active", "active"]
