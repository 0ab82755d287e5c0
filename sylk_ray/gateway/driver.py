"""The entry point of a Ray job that stands for a job of ours: ``python -m sylk_ray.gateway.driver JOB_ID``.

It starts the prepared job through the gateway and tells its events on standard output, where the Ray dashboard
shows them. The work is not in this process: killed, it takes nothing with it. Asked to stop (Ray's "stop job" is a
SIGTERM), it cancels the job.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from sylk_ray.errors import SylkError
from sylk_ray.gateway.client import GatewayClient
from sylk_ray.gateway.narration import narrate
from sylk_ray.home import default_home


class StopAsked(BaseException):
    """Ray, or a person, asked this process to end."""


def main(arguments: list[str] | None = None) -> int:
    """0 when the job succeeded, 1 when it did not, 2 or 3 when it could not be started."""
    parser = argparse.ArgumentParser(prog="sylk_ray.gateway.driver", description="Run a prepared job and tell of it.")
    parser.add_argument("job_id")
    parser.add_argument("--home", type=Path, default=default_home())
    parser.add_argument("--ray-job", default=os.environ.get("RAY_JOB_ID", ""), help="the Ray job's submission id")
    parser.add_argument("--no-queue", action="store_true", help="do not stand in line when there is no room")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop_asked)
    signal.signal(signal.SIGINT, _stop_asked)
    try:
        client = GatewayClient(given.home)
        try:
            return run(client, given.job_id, given.ray_job, queue=not given.no_queue)
        except StopAsked:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            print("asked to stop: cancelling the job", flush=True)
            client.post(f"/jobs/{given.job_id}/cancel", {"reason": "its Ray job was stopped"}, timeout=10)
            return 1
    except SylkError as error:
        print(f"error: {error.message}{f' ({error.hint})' if error.hint else ''}", file=sys.stderr, flush=True)
        return error.exit_code


def run(client: GatewayClient, job_id: str, ray_job: str, *, queue: bool = True) -> int:
    """Start the job and follow it to its end."""
    client.post(f"/jobs/{job_id}/start", {"ray_job": ray_job, "queue": queue})
    for event in client.events(job_id):
        for line in narrate(event):
            print(line, flush=True)
        if event.kind == "job.finished":
            return 0 if event.data.get("status") == "succeeded" else 1
    return 1


def _stop_asked(number: int, frame: FrameType | None) -> NoReturn:
    raise StopAsked


if __name__ == "__main__":
    sys.exit(main())
