"""Job files that several tests submit."""

from __future__ import annotations

from pathlib import Path


def job_in(folder: Path, text: str, name: str = "a jöb.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def waiting_job(folder: Path) -> tuple[Path, Path]:
    """A job whose tool waits for a file, and that file."""
    release = folder / "release"
    text = f"""
name: waiting
tasks:
  wait_here:
    engineer: [{{write: {{path: x, content: x}}}}]
    tester: 'while [ ! -e "{release}" ]; do sleep 0.05; done'
"""
    return job_in(folder, text, "waiting.yaml"), release


def quick_job(folder: Path, word: str) -> Path:
    return job_in(
        folder, f"name: quick\ntasks:\n  {word}: {{engineer: [{{run: 'echo x > {word}'}}]}}\n", f"{word}.yaml"
    )
