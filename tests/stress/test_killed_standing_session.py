"""A session that outlives its jobs: what kills did to the first job does not befall the second."""

from __future__ import annotations

import re

from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import JobState, session_directory
from sylk_ray.sessions.messages import GUIDE, CreateSession
from tests.unit.sessions.conftest import git

from .traces import NOTHING, until_nothing_is_left
from .victims import process_of
from .waiting_job import WaitingJob


async def test_the_second_job_of_a_session_ends_as_the_first_did_though_both_are_killed(packed, repo, tmp_path):
    session = await packed.ask(GUIDE, CreateSession("standing", str(repo)))
    records = []
    for number, victim in enumerate(("orchestrator", "system")):
        job = WaitingJob(tmp_path / "granted", f"job{number}")
        # The second makes other files than the first, which are on the branch by then.
        text = re.sub(r"\b(one|two|three)\b", rf"\g<1>{number}", job.text)
        record = await packed.submit(text, repo, "standing")
        await job.until_runs(packed)
        (await process_of(packed, victim, session.id)).kill()
        if victim == "orchestrator":
            await job.until_runs(packed, 2)
        job.go_on()
        records.append(await packed.until_over(record.job_id))
        assert [job.runs(label) for label in ("first", "before", "test")] == [1, 1, 1]

    assert [(record.status, record.error) for record in records] == [(JobState.SUCCEEDED, None)] * 2
    assert git(repo, "rev-list", "--count", f"main..{session.branch}") == "4"
    assert git(repo, "show", f"{session.branch}:three0") == git(repo, "show", f"{session.branch}:three1") == "1\n2"
    events = read_events(session_directory(packed.settings.home, session.id) / "journal.db")
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert [event.kind for event in events].count("job.finished") == 2
    await until_nothing_is_left(packed, repo, records, NOTHING)
