"""Sessions on real cells: they pause, go on, stand in line, and know nothing of each other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sylk_ray.errors import InputError
from sylk_ray.jobs import load_job
from sylk_ray.messaging import Address
from sylk_ray.runtime.dead_letters import DropDeadLetter, ListDeadLetters, RetryDeadLetter
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.journal import read_events
from sylk_ray.runtime.leases import FAIR_SHARE, GetShares
from sylk_ray.sessions import JobState, SessionRecord, SessionState, session_directory
from sylk_ray.sessions.admission import TooMany
from sylk_ray.sessions.messages import (
    GUIDE,
    CreateSession,
    EndSession,
    GetForeground,
    GetSession,
    PauseSession,
    ResumeJob,
    ResumeSession,
    SubmitJob,
    SwitchSession,
)
from sylk_ray.sessions.records import IllegalSessionState
from sylk_ray.tools import find_tool_processes
from tests.cluster import Runtime
from tests.unit.sessions.conftest import git

from .probes import Mark, Marks, SayMark

QUICK = "name: quick\ntasks:\n  one: {engineer: [{run: 'echo {WORD} > {WORD}'}]}\n"


class Steps:
    """A job of two tasks; each tool run notes when it starts and ends, and some wait for a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()

    def text(self, name: str = "steps") -> str:
        return f"""
name: {name}
sandbox: {{write: [{self._folder}]}}
tasks:
  first:
    engineer:
      - run: '{self._noted("one", "echo 1 > one")}'
      - run: '{self._noted("two", f"while [ ! -e {self._folder}/release ]; do sleep 0.02; done; echo 2 > two")}'
  second:
    depends_on: [first]
    engineer: [{{run: '{self._noted("three", "cat one two > three")}'}}]
"""

    def _noted(self, label: str, work: str) -> str:
        log = self._folder / "log"
        return f"echo {label} start >> {log}; {work}; echo {label} end >> {log}"

    def release(self) -> None:
        (self._folder / "release").touch()

    @property
    def done(self) -> list[str]:
        log = self._folder / "log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def steps(tmp_path) -> Steps:
    return Steps(tmp_path / "granted")


async def begun(runtime: Runtime, steps: Steps, repo: Path, session: str = "", label: str = "two start") -> str:
    """A job that is at its second tool run, which waits; its id."""
    record = await runtime.submit(steps.text(), repo, session)

    async def look() -> list[str]:
        return steps.done

    await runtime.until(look, lambda done: label in done)
    return record.job_id


async def session_of(runtime: Runtime, session: str) -> SessionRecord:
    return await runtime.ask(GUIDE, GetSession(session))


async def agents_of(runtime: Runtime, session: str) -> list[str]:
    return [agent.address for agent in (await runtime.census()).agents if agent.session == session]


async def suspend(runtime: Runtime, session: str, grace_s: float) -> SessionRecord:
    return await runtime.ask(GUIDE, PauseSession(session, suspend=True, grace_s=grace_s))


# -- pausing -----------------------------------------------------------------------------------------------------


async def test_a_paused_session_starts_nothing_new_and_what_ran_comes_to_its_end(shared, repo, steps):
    job_id = await begun(shared, steps, repo, "tidy")
    paused = await shared.ask(GUIDE, PauseSession("tidy"))
    assert paused.state is SessionState.PAUSED
    steps.release()
    record = await shared.until(lambda: shared.job(job_id), lambda job: job.tasks["first"].state == "succeeded")
    assert (record.status, record.waiting) == (JobState.PAUSED, "a person paused its session")
    assert record.tasks["second"].state == "blocked"
    assert await shared.at_work("engineer") == []

    assert (await shared.ask(GUIDE, ResumeSession("tidy"))).state is SessionState.ACTIVE

    record = await shared.until_over(job_id)
    assert (record.status, record.waiting) == (JobState.SUCCEEDED, "")
    assert steps.done == [f"{label} {what}" for label in ("one", "two", "three") for what in ("start", "end")]


async def test_a_task_that_waits_for_its_share_does_not_start_while_its_session_is_paused(start, repo, tmp_path):
    runtime = await start(density="packed", cells=2, max_pipelines=1)
    release = tmp_path / "release"
    waits = f"engineer: [{{run: 'while [ ! -e {release} ]; do sleep 0.02; done; echo x > NAME'}}]"
    tasks = "".join(f"  {name}: {{{waits.replace('NAME', name)}}}\n" for name in ("a", "b"))
    job_id = (await runtime.submit(f"name: shares\ntasks:\n{tasks}", repo, "tidy")).job_id
    await runtime.until(lambda: runtime.at_work("engineer"), lambda agents: len(agents) == 1)
    await runtime.ask(GUIDE, PauseSession("tidy"))
    release.touch()
    await runtime.until(
        lambda: runtime.job(job_id), lambda job: any(task.state == "succeeded" for task in job.tasks.values())
    )
    shares = await runtime.ask(FAIR_SHARE, GetShares())
    await asyncio.sleep(0.5)
    assert sorted(task.commit is None for task in (await runtime.job(job_id)).tasks.values()) == [False, True]
    assert shares.held.get("pipelines", 0) == 0
    await runtime.ask(GUIDE, ResumeSession("tidy"))
    assert (await runtime.until_over(job_id)).status is JobState.SUCCEEDED


async def test_a_suspended_session_has_no_agents_and_no_tools_and_goes_on_from_its_last_step(shared, repo, steps):
    job_id = await begun(shared, steps, repo, "tidy")
    session = await session_of(shared, "tidy")
    assert await agents_of(shared, session.id)

    suspended = await suspend(shared, "tidy", grace_s=0)

    assert suspended.state is SessionState.SUSPENDED
    assert await agents_of(shared, session.id) == []
    assert find_tool_processes(f"{session.id}.") == ()
    record = await shared.job(job_id)
    assert (record.status, record.waiting) == (JobState.SUSPENDED, "a person suspended its session")
    steps.release()
    assert (await shared.ask(GUIDE, ResumeJob(job_id))).status is JobState.RUNNING
    record = await shared.until_over(job_id)
    assert (record.status, record.error) == (JobState.SUCCEEDED, None)
    # The first was complete; the second was cut off, and is done again.
    assert steps.done[:4] == ["one start", "one end", "two start", "two start"]
    assert steps.done[4:] == ["two end", "three start", "three end"]
    assert git(repo, "show", "sylk/tidy:three") == "1\n2"
    events = read_events(session_directory(shared.settings.home, session.id) / "journal.db")
    assert [event.kind for event in events].count("action.done") == 3
    assert [event.kind for event in events].count("job.finished") == 1


async def test_a_step_that_ends_within_the_grace_is_not_done_again(shared, repo, steps):
    job_id = await begun(shared, steps, repo, "tidy")
    suspending = asyncio.create_task(suspend(shared, "tidy", grace_s=8))
    await asyncio.sleep(0.3)
    steps.release()
    await suspending
    assert (await shared.job(job_id)).status is JobState.SUSPENDED
    assert "two end" in steps.done
    assert "three start" not in steps.done
    await shared.ask(GUIDE, ResumeSession("tidy"))
    assert (await shared.until_over(job_id)).status is JobState.SUCCEEDED
    assert len(steps.done) == len(set(steps.done)) == 6


async def test_a_session_that_was_paused_and_then_suspended_goes_on(shared, repo, steps):
    job_id = await begun(shared, steps, repo, "tidy")
    await shared.ask(GUIDE, PauseSession("tidy"))
    await suspend(shared, "tidy", grace_s=0)
    steps.release()
    await shared.ask(GUIDE, ResumeSession("tidy"))
    assert (await shared.until_over(job_id)).status is JobState.SUCCEEDED


async def test_a_suspended_session_is_closed_without_being_resumed(shared, repo, steps):
    job_id = await begun(shared, steps, repo, "tidy")
    await suspend(shared, "tidy", grace_s=0)
    done = steps.done
    closed = await shared.ask(GUIDE, EndSession("tidy"))
    assert closed.closed is True
    assert (await shared.job(job_id)).status is JobState.CANCELLED
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert steps.done == done


async def test_illegal_transitions_say_what_is_and_change_nothing(shared, repo, steps):
    job_id = await begun(shared, steps, repo, "tidy")
    await suspend(shared, "tidy", grace_s=0)
    with pytest.raises(IllegalSessionState, match="tidy is suspended and cannot become paused"):
        await shared.ask(GUIDE, PauseSession("tidy"))
    steps.release()
    await shared.ask(GUIDE, ResumeSession("tidy"))
    await shared.until_over(job_id)
    for wish in (PauseSession("tidy"), PauseSession("tidy", suspend=True), ResumeSession("tidy")):
        with pytest.raises(IllegalSessionState, match="tidy is completed and cannot become"):
            await shared.ask(GUIDE, wish)
    with pytest.raises(IllegalSessionState, match=f"job {job_id} is succeeded: there is nothing to resume"):
        await shared.ask(GUIDE, ResumeJob(job_id))
    with pytest.raises(IllegalSessionState, match="tidy is over"):
        await shared.ask(GUIDE, SwitchSession("tidy", "me"))
    await shared.ask(GUIDE, EndSession("tidy"))
    with pytest.raises(IllegalSessionState, match="closed, and cannot become") as caught:
        await shared.ask(GUIDE, ResumeSession("tidy"))
    assert "completed" in caught.value.message
    assert (await session_of(shared, "tidy")).state is SessionState.COMPLETED


# -- standing sessions, and the one in the foreground ------------------------------------------------------------


async def test_a_standing_session_runs_jobs_one_after_the_other_on_one_branch(shared, repo):
    made = await shared.ask(GUIDE, CreateSession("tidy", str(repo), "for tidying"))
    assert (made.state, made.standing) == (SessionState.CREATED, True)
    first = await shared.run(QUICK.replace("{WORD}", "one"), repo, "tidy")
    session = await session_of(shared, "tidy")
    assert (session.state, session.job) == (SessionState.ACTIVE, first.job_id)
    second = await shared.run(QUICK.replace("{WORD}", "two"), repo, "tidy")
    assert (first.status, second.status) == (JobState.SUCCEEDED, JobState.SUCCEEDED)
    assert first.session_id == second.session_id == made.id
    assert git(repo, "show", "--name-only", "--format=", "sylk/tidy", "sylk/tidy~1").split() == ["two", "one"]
    events = read_events(session_directory(shared.settings.home, made.id) / "journal.db")
    assert [event.data["job"] for event in events if event.kind == "job.started"] == [first.job_id, second.job_id]
    assert events[second.first_event].kind == "job.started"


async def test_a_standing_session_takes_one_job_at_a_time(shared, repo, steps):
    await shared.ask(GUIDE, CreateSession("tidy", str(repo)))
    job_id = await begun(shared, steps, repo, "tidy")
    with pytest.raises(InputError, match=f"session tidy has a job already, {job_id}"):
        await shared.submit(QUICK.replace("{WORD}", "x"), repo, "tidy")
    steps.release()
    await shared.until_over(job_id)


async def test_switching_keeps_both_sessions_at_work_unless_the_old_one_is_to_pause(shared, repo, tmp_path):
    one, two = Steps(tmp_path / "g1"), Steps(tmp_path / "g2")
    jobs = [await begun(shared, one, repo, "one"), await begun(shared, two, repo, "two")]
    await shared.ask(GUIDE, SwitchSession("one", "me"))
    await shared.ask(GUIDE, SwitchSession("two", "me"))
    assert [(await session_of(shared, name)).state for name in ("one", "two")] == [SessionState.ACTIVE] * 2
    assert (await shared.ask(GUIDE, GetForeground("me"))).name == "two"
    assert await shared.ask(GUIDE, GetForeground("another")) is None

    await shared.ask(GUIDE, SwitchSession("one", "me", pause=True))

    first, second = [await session_of(shared, name) for name in ("one", "two")]
    assert (first.state, second.state, second.reason) == (
        SessionState.ACTIVE,
        SessionState.PAUSED,
        "one was switched to",
    )
    one.release()
    two.release()
    assert (await shared.until_over(jobs[0])).status is JobState.SUCCEEDED
    await shared.until(lambda: shared.job(jobs[1]), lambda job: job.tasks["first"].state == "succeeded")
    assert "three start" not in two.done
    await shared.ask(GUIDE, ResumeSession("two"))
    assert (await shared.until_over(jobs[1])).status is JobState.SUCCEEDED


# -- standing in line --------------------------------------------------------------------------------------------


async def test_when_there_is_no_room_a_job_waits_with_its_place_and_starts_by_itself(start, repo, steps):
    runtime = await start(density="packed", cells=2, max_sessions=1)
    first = await begun(runtime, steps, repo, "first")
    second = await runtime.submit(QUICK.replace("{WORD}", "b"), repo, "second")
    third = await runtime.submit(QUICK.replace("{WORD}", "c"), repo, "third")
    assert [(job.status, job.waiting[:11]) for job in (second, third)] == [
        (JobState.QUEUED, "1st in line"),
        (JobState.QUEUED, "2nd in line"),
    ]
    loaded = load_job(QUICK, source="j").model_dump_json(by_alias=True)
    with pytest.raises(TooMany, match="max_sessions is 1"):
        await runtime.ask(GUIDE, SubmitJob(loaded, str(repo), "fourth", queue=False))
    with pytest.raises(InputError, match="fourth"):
        await session_of(runtime, "fourth")
    steps.release()
    for job_id in (first, second.job_id, third.job_id):
        record = await runtime.until_over(job_id)
        assert (record.status, record.waiting) == (JobState.SUCCEEDED, "")


async def test_a_suspended_job_gives_up_its_place_and_stands_in_line_again(start, repo, tmp_path):
    runtime = await start(density="packed", cells=2, max_sessions=1)
    one, two = Steps(tmp_path / "g1"), Steps(tmp_path / "g2")
    first = await begun(runtime, one, repo, "first")
    second = (await runtime.submit(two.text(), repo, "second")).job_id
    await suspend(runtime, "first", grace_s=0)
    await runtime.until(lambda: runtime.job(second), lambda job: job.status is JobState.RUNNING)
    one.release()
    resumed = await runtime.ask(GUIDE, ResumeJob(first))
    assert (resumed.status, resumed.waiting[:11]) == (JobState.QUEUED, "1st in line")
    two.release()
    assert (await runtime.until_over(second)).status is JobState.SUCCEEDED
    assert (await runtime.until_over(first)).status is JobState.SUCCEEDED


async def test_a_queued_job_whose_session_is_paused_does_not_start_by_itself(start, repo, steps):
    runtime = await start(density="packed", cells=2, max_sessions=1)
    first = await begun(runtime, steps, repo, "first")
    second = (await runtime.submit(QUICK.replace("{WORD}", "b"), repo, "second")).job_id
    await runtime.ask(GUIDE, PauseSession("second"))
    steps.release()
    await runtime.until_over(first)
    third = await runtime.run(QUICK.replace("{WORD}", "c"), repo, "third")
    assert third.status is JobState.SUCCEEDED
    assert (await runtime.job(second)).status is JobState.SUSPENDED
    await runtime.ask(GUIDE, ResumeSession("second"))
    assert (await runtime.until_over(second)).status is JobState.SUCCEEDED


# -- isolation ---------------------------------------------------------------------------------------------------


async def test_a_hundred_sessions_made_at_once_know_nothing_of_each_other(packed, repo):
    names = [f"many-{number:03}" for number in range(100)]
    made = await asyncio.gather(*(packed.ask(GUIDE, CreateSession(name, str(repo))) for name in names))
    marks = {session.id: f"<mark of {session.name}>" for session in made}
    assert len(marks) == 100
    await asyncio.gather(*(packed.open_session(session) for session in marks))

    async def mark(session: str) -> tuple[list[str], list[str]]:
        one, two = Address(session, "keeper", "one"), Address(session, "keeper", "two")
        await packed.ask(one, SayMark("one", Mark(marks[session], to="two")))
        await packed.until(lambda: packed.ask(two, Marks()), lambda texts: bool(texts))
        return await packed.ask(one, Marks()), await packed.ask(two, Marks())

    found = await asyncio.gather(*map(mark, marks))

    assert found == [([text], [text]) for text in marks.values()]
    for session, text in marks.items():
        folder = session_directory(packed.settings.home, session)
        assert [event.data["text"] for event in read_events(folder / "journal.db")] == [text, text]
        kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        assert text.encode() in kept
        others = [other for other in marks.values() if other != text and other.encode() in kept]
        assert others == []


# -- dead letters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in the router's cell", "in another cell"])
async def test_a_dead_letter_is_listed_sent_again_when_its_cause_is_gone_and_dropped(start, tmp_path, elsewhere):
    runtime = await start(density="packed", cells=2, group_slack=1 if elsewhere else 1000)
    await runtime.open_session("filler")
    await runtime.open_session("s")
    in_the_way = tmp_path / "in the way"
    in_the_way.touch()
    names = [f"n{number}" for number in range(4)]
    sender = Address("s", "keeper", "sender")
    for name in names:
        await runtime.ask(sender, SayMark(name, Mark(f"for {name}", unless=str(in_the_way))))

    async def letters() -> list[str]:
        return sorted(letter.mail.target.name for letter in await runtime.ask(router_of("s"), ListDeadLetters()))

    await runtime.until(letters, lambda found: found == names)
    cells = {agent.cell for agent in (await runtime.census()).agents if agent.session == "s"}
    assert len(cells) == (2 if elsewhere else 1)
    found = {letter.mail.target.name: letter for letter in await runtime.ask(router_of("s"), ListDeadLetters())}
    assert {letter.error for letter in found.values()} == {"handler_failed"}
    assert "is in the way" in found["n0"].reason

    in_the_way.unlink()
    assert await runtime.ask(router_of("s"), DropDeadLetter(found["n0"].mail.id)) is True
    for name in names[1:]:
        assert await runtime.ask(router_of("s"), RetryDeadLetter(found[name].mail.id)) is True

    for name in names[1:]:
        keeper = Address("s", "keeper", name)
        texts = await runtime.until(lambda keeper=keeper: runtime.ask(keeper, Marks()), lambda texts: bool(texts))
        assert texts == [f"for {name}"]
    assert await runtime.ask(Address("s", "keeper", "n0"), Marks()) == []
    assert await letters() == []
    assert await runtime.ask(router_of("s"), RetryDeadLetter(found["n1"].mail.id)) is False
