"""The real ``sylk`` command, as a person or a program runs it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from sylk_ray.gateway.client import GatewayClient

SYLK = Path(sys.executable).parent / "sylk"


class Done(NamedTuple):
    """How a command ended."""

    code: int
    output: str
    errors: str

    def document(self) -> Any:
        """What it printed for programs."""
        return json.loads(self.output)


class Sylk:
    """The command with a state directory of its own, called in a folder; ``close`` ends what it started."""

    def __init__(self, home: Path, folder: Path | None = None, **environment: str) -> None:
        self.home = home
        self._folder = folder
        # What other tests' Ray is told must not reach this one's.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SYLK_", "RAY_"))}
        self._environment = {**inherited, "SYLK_HOME": str(home), **environment}
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """The command in a pipe, without a terminal."""
        process = subprocess.Popen(
            [SYLK, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=self._environment,
            cwd=self._folder,
        )
        self._started.append(process)
        return process

    def __call__(self, *arguments: object) -> Done:
        return end_of(self.start(*arguments))

    def told(self, *arguments: object) -> Any:
        """What it answers with ``--json``, when all is well."""
        done = self(*arguments, "--json")
        assert done.code == 0, done
        return done.document()

    def status_of(self, job: str) -> str:
        """Asked of the gateway by ourselves: a command for each look would be most of what a test costs."""
        return GatewayClient(self.home).get(f"/jobs/{job}")["status"]

    def until_over(self, job: str) -> str:
        """The status that a job ends with."""
        return until(lambda: self.status_of(job), lambda status: status in ("succeeded", "failed", "cancelled"))

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()


class RayJobs:
    """Ray's Jobs API, as the dashboard uses it."""

    def __init__(self, sylk: Sylk) -> None:
        self._url = sylk.told("status")["dashboard_url"]
        self._token = (sylk.home / "ray-token").read_text().strip()

    def get(self, path: str) -> Any:
        return self._call(path, None)

    def post(self, path: str) -> Any:
        return self._call(path, b"")

    def _call(self, path: str, body: bytes | None) -> Any:
        request = urllib.request.Request(f"{self._url}/api/jobs/{path}", body, headers=bearer(self._token))
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)


def end_of(process: subprocess.Popen[str]) -> Done:
    """Wait for a command's end."""
    output, errors = process.communicate(timeout=180)
    return Done(process.returncode, output, errors)


def lines_until(process: subprocess.Popen[str], wanted: str) -> list[str]:
    """What a running command prints, up to a line with ``wanted`` in it."""
    seen: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        seen.append(line)
        if wanted in line:
            return seen
    raise AssertionError(f"it ended without {wanted!r}: {seen} {process.communicate()[1]}")


def until(look: Callable[[], Any], good: Callable[[Any], bool], seconds: float = 30) -> Any:
    """Look again until it is good."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if good(seen):
            return seen
        assert time.monotonic() < deadline, f"waited {seconds} s, and last saw {seen}"
        time.sleep(0.05)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def http_status(url: str, headers: dict[str, str]) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def processes_with(*parts: str) -> Iterator[psutil.Process]:
    """Living processes whose command line has all of these among its words."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if all(part in words for part in parts):
            yield process


def running(part: str) -> set[int]:
    """Processes that have this in their command line."""
    every = psutil.process_iter(["cmdline"])
    return {each.pid for each in every if any(part in word for word in each.info["cmdline"] or ())}


async def until_seen(look: Callable[[], Any], seconds: float = 60) -> Any:
    """What is seen, when it is something."""
    async with asyncio.timeout(seconds):
        while not (seen := look()):
            await asyncio.sleep(0.05)
    return seen
