"""The README's code blocks, run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
SHELL = [text for language, text in BLOCKS if language == "sh"]


def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in os.environ if not name.startswith(("RAY_", "SYLK_", "PYTHONPATH"))}
    return {**kept, "TMPDIR": str(tmp_path), "SYLK_DEMO_DIR": str(tmp_path / "demo")}


def bash(script: str, tmp_path: Path) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.timeout(900)
def test_the_demo_leaves_a_branch_of_tested_commits(tmp_path):
    output = bash(SHELL[0], tmp_path)
    assert "succeeded" in output
    assert re.search(r"\d+ files changed, \d+ insertions", output)


@pytest.mark.timeout(600)
def test_a_first_job_a_look_around_and_a_job_that_outlives_its_runtime(tmp_path):
    # One shell for all blocks, as a reader has; whatever happens, the runtime is ended.
    assert len(SHELL) == 7
    output = bash("trap 'sylk down --now >/dev/null' EXIT\n" + "\n".join(SHELL[1:]), tmp_path)
    assert "Use pathlib" in output
    assert "Say so" in output
    assert "suspended" in output
    assert output.rstrip().splitlines().count("two") == 1
    assert "changed: NOTES.md" in output
    assert "notes goes on without the tester" in output
    assert output.splitlines().count("Noted.") == 1
    assert "hello.py:3-4  function  def place(name)" in output
    assert "graph LR" in output
    assert ".git/config: left out" in output
    assert output.count("job.finished") == 3
    assert output.count('"kind":"task.merged"') == 2


def test_the_python_examples_run(tmp_path):
    for language, text in BLOCKS:
        if language == "python":
            path = tmp_path / "example.py"
            path.write_text(text)
            done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
            assert done.stdout.strip() == "Hello Ada"
