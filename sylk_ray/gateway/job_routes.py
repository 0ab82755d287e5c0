"""Routes about jobs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from sylk_ray.errors import InputError
from sylk_ray.gateway.answers import NotFound, answer, documented, documented_as
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of
from sylk_ray.gateway.stream import JobStream
from sylk_ray.jobs import Job, load_job
from sylk_ray.pipelines.brief import CHECKS
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.messages import GUIDE, CancelJob, ListJobs, ResumeJob, StartJob, SubmitJob

Reach = Annotated[Front, Depends(front_of)]
_SUBMIT_TIMEOUT_S = 120.0

routes = APIRouter(prefix="/jobs", tags=["jobs"])


class Submission(BaseModel):
    """A job to take. ``job`` is the text of a job file, or the same as a JSON object."""

    model_config = ConfigDict(extra="forbid")

    job: str | dict[str, Any]
    source: str = Field(default="job", description="What problems in the job are reported under.")
    repo: str = Field(default="", description="The repository's absolute path; empty means the job's own `repo`.")
    session: str = Field(default="", description="The session's name; empty makes one from the job's.")
    variables: dict[str, str] = Field(default={}, description="Values for the job's `vars`.")
    start: bool = Field(default=True, description="false leaves the job prepared, for POST /jobs/{id}/start.")
    queue: bool = Field(default=True, description="false refuses the job when as many sessions are at work as may be.")


class Starting(BaseModel):
    """How a prepared job is started."""

    model_config = ConfigDict(extra="forbid")

    ray_job: str = Field(default="", description="The id of the Ray job that stands for it.")
    queue: bool = Field(default=True, description="false refuses it when as many sessions are at work as may be.")


class Cancelling(BaseModel):
    """Why a job is cancelled."""

    model_config = ConfigDict(extra="forbid")

    reason: str = "a person cancelled it"


@routes.post("", status_code=201, responses=documented(JobRecord, 201))
async def submit(body: Submission, front: Reach) -> Response:
    """Validate a job, make its session and branch, and run it. A wrong job is answered with all its problems."""
    text = body.job if isinstance(body.job, str) else json.dumps(body.job, indent=2, ensure_ascii=False)
    job: Job = await asyncio.to_thread(load_job, text, source=body.source, variables=body.variables)
    repo = Path(body.repo or job.repo)
    if not repo.is_absolute():
        raise InputError(
            f"the repository {str(repo)!r} is relative, and the gateway does not know to what",
            hint="give its absolute path as `repo`",
        )
    message = SubmitJob(job.model_dump_json(), str(repo), body.session, body.start, body.queue)
    return answer(await front.ask(GUIDE, message, timeout=_SUBMIT_TIMEOUT_S), 201)


@routes.get("", responses=documented(list[JobRecord]))
async def list_jobs(front: Reach) -> Response:
    """Every job that is known, the newest first."""
    return answer(await front.ask(GUIDE, ListJobs()))


@routes.get("/{job_id}", responses=documented(JobRecord))
async def get_job(job_id: str, front: Reach) -> Response:
    """One job, by its id or an unambiguous beginning of it."""
    return answer(await front.job(job_id))


@routes.post("/{job_id}/start", responses=documented(JobRecord))
async def start(job_id: str, front: Reach, body: Starting | None = None) -> Response:
    """Run a prepared job; one that runs or has run is answered as it is."""
    job, how = await front.job(job_id), body or Starting()
    message = StartJob(job.job_id, how.ray_job, how.queue)
    return answer(await front.ask(GUIDE, message, timeout=_SUBMIT_TIMEOUT_S))


@routes.post("/{job_id}/resume", responses=documented(JobRecord))
async def resume(job_id: str, front: Reach) -> Response:
    """Let a paused or suspended job go on with its session; it may have to stand in line."""
    job = await front.job(job_id)
    try:
        return answer(await front.ask(GUIDE, ResumeJob(job.job_id), timeout=_SUBMIT_TIMEOUT_S))
    finally:
        front.hub.look_again(job.session_id)


@routes.post("/{job_id}/cancel", responses=documented(JobRecord))
async def cancel(job_id: str, front: Reach, body: Cancelling | None = None) -> Response:
    """Stop a job. It is over when its status says so, which may be a moment later."""
    job = await front.job(job_id)
    return answer(await front.ask(GUIDE, CancelJob(job.job_id, (body or Cancelling()).reason), timeout=60))


@routes.get(
    "/{job_id}/events", response_class=StreamingResponse, responses=documented_as("text/event-stream", "Events.")
)
async def events(
    job_id: str,
    front: Reach,
    after: Annotated[int, Query(ge=0, description="Begin after this sequence number.")] = 0,
    follow: Annotated[bool, Query(description="false ends after the events so far.")] = True,
    last_event_id: Annotated[str | None, Header(description="The same, as EventSource sends it.")] = None,
) -> StreamingResponse:
    """The job's events as they happen (text/event-stream): `id` is the sequence number, `event` the kind, `data`
    the event as JSON. It ends after `job.finished`; `stream.ended` asks to come back with the last id."""
    job = await front.job(job_id)
    position = int(last_event_id) if last_event_id and last_event_id.isdecimal() else after
    stream = JobStream(front, job, position, follow=follow)
    return StreamingResponse(stream.frames(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@routes.get("/{job_id}/log", response_class=PlainTextResponse, responses=documented_as("text/plain", "Output."))
async def log(job_id: str, front: Reach, task: str = "") -> StreamingResponse:
    """What the tools printed, as text, the oldest first; of one task or of all."""
    job = await front.job(job_id)
    known = [*job.tasks, CHECKS]
    if task and task not in known:
        raise NotFound(f"job {job.job_id} has no task {task!r}", hint=f"its tasks: {', '.join(known[:-1])}")
    directory = front.directory(job.session_id)
    files = await asyncio.to_thread(_logs, [directory.artifacts(name) for name in ([task] if task else known)])
    return StreamingResponse(_contents(files), media_type="text/plain; charset=utf-8")


def _logs(folders: list[Path]) -> list[Path]:
    found = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    kept = [path for path in found if path.is_file() and not path.is_symlink()]
    return sorted(kept, key=lambda path: (path.stat().st_mtime_ns, path.name))


def _contents(files: list[Path]) -> Iterator[bytes]:
    for path in files:
        yield f"==> {path.parent.name}/{path.name} <==\n".encode()
        last = b"\n"
        with path.open("rb") as file:
            while piece := file.read(1 << 16):
                yield piece
                last = piece[-1:]
        if last != b"\n":
            yield b"\n"
