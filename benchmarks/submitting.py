"""From `sylk submit` to the first task's start, through Ray's Jobs API and direct, with the runtime up."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.table import Row

JOB = "name: quick\ntasks:\n  one: {engineer: [{write: {path: one, content: x}}]}\n"


def measure(times: int = 5) -> list[Row]:
    """All rows; a runtime of its own is started and ended here."""
    root = Path(tempfile.mkdtemp(prefix="sylk-bench-"))
    repo, job = root / "repo", root / "job.yaml"
    repo.mkdir()
    job.write_text(JOB)
    script = "git init -q -b main && git config user.name b && git config user.email b@b && echo x > x && git add x"
    subprocess.run(f"{script} && git commit -qm x", shell=True, cwd=repo, check=True)
    environment = {**os.environ, "SYLK_HOME": str(root / "home")}
    sylk = str(Path(sys.executable).parent / "sylk")

    def run(*arguments: str) -> dict[str, Any]:
        done = subprocess.run([sylk, *arguments, "--json"], env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def until_first_start(*how: str) -> tuple[float, float]:
        began = time.time()
        result = run("submit", str(job), "--repo", str(repo), *how)
        events = [json.loads(line) for line in _history(root / "home", result["session_id"])]
        submitted = json.loads((root / "home" / "sessions" / result["session_id"] / "record.json").read_text())
        started = next(e["at"] for e in events if e["kind"] == "task.state" and e["data"]["state"] == "running")
        return started - began, submitted["submitted_at"] - began

    try:
        run("up")
        until_first_start()
        through_ray = [until_first_start() for _ in range(times)]
        direct = [until_first_start("--direct") for _ in range(times)]
    finally:
        subprocess.run([sylk, "down", "--now"], env=environment, capture_output=True, check=False)
        shutil.rmtree(root, ignore_errors=True)
    return [
        Row("`sylk submit` until the first task starts", statistics.median(t for t, _ in through_ray), "s", 3),
        Row(
            "... of which the CLI, until the gateway has the job",
            statistics.median(s for _, s in through_ray),
            "s",
            None,
        ),
        Row("`sylk submit --direct` until the first task starts", statistics.median(t for t, _ in direct), "s", None),
    ]


def _history(home: Path, session: str) -> list[str]:
    return (home / "sessions" / session / "events.jsonl").read_text().splitlines()
