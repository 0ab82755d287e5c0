"""``python -m tests.recordings URL [NAME ...] [--keep]``: carry requests out with the model at URL, and record them.

A run that does not end well is recorded as well: the file is what its replay is to show. What it took is printed.
``--keep`` leaves each run's state directory and repository where they are.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from sylk_ray.messaging import Event
from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import SessionDirectory, session_directory
from tests.recordings import MODEL, RUNS, Run, recording_of
from tests.unit.sessions.conftest import new_repository

SYLK = Path(sys.executable).parent / "sylk"
LONGEST_S = 1800


def main() -> None:
    """Record what is named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    for name in given.names or RUNS:
        print(f"{name}: {json.dumps(record(name, RUNS[name], given.url, keep=given.keep), indent=2)}", flush=True)


def record(name: str, run: Run, url: str, *, keep: bool = False) -> dict[str, Any]:
    """Carry a request out on a runtime of its own; answers how it went. Its recording is replaced."""
    root = Path(tempfile.mkdtemp(prefix=f"sylk-record-{name}-"))
    home, repo, made = root / "home", new_repository(root / "shelf", run.files), root / "made.jsonl"
    home.mkdir()
    settings = {"models": {"local": {**MODEL, "base_url": url, "record": str(made)}}, "cells": 1, "warm_cells": 0}
    (home / "settings.yaml").write_text(yaml.safe_dump(settings))
    environment = {**os.environ, "SYLK_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}
    began = time.monotonic()
    try:
        subprocess.run([SYLK, "up", "--no-dashboard"], env=environment, check=True, capture_output=True)
        command = [SYLK, "submit", run.request, "--repo", str(repo), "--yes", "--direct", "--json"]
        began = time.monotonic()
        with (root / "narration").open("w") as narration:
            ended = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, stderr=narration, text=True, timeout=LONGEST_S
            )
        document = json.loads(ended.stdout)
        journal = SessionDirectory(session_directory(home, document["session_id"])).journal
        told = {"seconds": round(time.monotonic() - began), **_told(document, read_events(journal))}
        shutil.copyfile(made, recording_of(name))
        return {**told, "kept": str(root)} if keep else told
    finally:
        subprocess.run([SYLK, "down", "--now"], env=environment, check=False, capture_output=True)
        if not keep:
            shutil.rmtree(root, ignore_errors=True)


def _told(document: dict[str, Any], events: Iterable[Event]) -> dict[str, Any]:
    every = list(events)
    called = [event.data for event in every if event.kind == "model.called"]
    thought = [event.data for event in every if event.kind == "thinking.ended"]
    return {
        "status": document["status"],
        "error": document.get("error"),
        "tasks": {name: [task["state"], task["loops"]] for name, task in document["tasks"].items()},
        "calls": Counter(each["role"] for each in called),
        "tokens": [sum(each["input"] for each in called), sum(each["output"] for each in called)],
        "model_s": round(sum(each["seconds"] for each in called)),
        "ended": [f"{each['role']}: {each['ended']} after {each['turns']}" for each in thought],
        "repairs": Counter(repair for each in called for repair in each["repairs"]),
        "refused": sum(each["refused"] for each in thought),
    }


if __name__ == "__main__":
    main()
