"""What a small real model did with requests in plain words, once more: `sylk submit`, real cells, real tools and HTTP,
and a server that says what the model said (tests/recordings)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models import ModelServer
from tests.recordings import MODEL, RUNS, recording_of
from tests.unit.sessions.conftest import git, new_repository

from .command import Done, Sylk
from .test_requests import up


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with ModelServer(recording=recording_of(request.param)) as made:
        yield made


@pytest.fixture
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return new_repository(tmp_path / "shelf", RUNS[request.param].files)


async def carried_out(start: Any, server: ModelServer, name: str, repo: Path) -> Done:
    runtime = await up(start, {"local": {**MODEL, "base_url": server.url}})
    sylk = Sylk(runtime.settings.home)
    try:
        submit = ("submit", RUNS[name].request, "--repo", repo, "--yes", "--direct", "--json")
        return await asyncio.to_thread(sylk, *submit)
    finally:
        sylk.close()


@pytest.mark.parametrize(("server", "repo"), [("new_function", "new_function")], indirect=True)
async def test_a_new_function_is_planned_written_and_merged(start, server, repo):
    ended = await carried_out(start, server, "new_function", repo)
    assert ended.code == 0, ended.errors
    document = ended.document()
    branch = document["branch"]
    assert [task["state"] for task in document["tasks"].values()] == ["succeeded"]
    assert "def count_words(text):" in git(repo, "show", f"{branch}:shelf/text.py")
    assert "def slug(title):" in git(repo, "show", f"{branch}:shelf/text.py")
    assert len(server.asked) == len(recording_of("new_function").read_bytes().splitlines())


@pytest.mark.parametrize(("server", "repo"), [("rename", "rename")], indirect=True)
async def test_a_rename_that_was_begun_in_one_file_fails_its_tests_and_is_done_in_all(start, server, repo):
    ended = await carried_out(start, server, "rename", repo)
    assert ended.code == 0, ended.errors
    document = ended.document()
    (task,) = document["tasks"].values()
    assert (task["state"], task["loops"]["tester"]) == ("succeeded", 1)
    for path in ("shelf/prices.py", "shelf/receipt.py", "tests/test_prices.py"):
        text = git(repo, "show", f"{document['branch']}:{path}")
        assert "format_price(" in text
        assert " fmt_price" not in text
    assert len(server.asked) == len(recording_of("rename").read_bytes().splitlines())


@pytest.mark.parametrize(("server", "repo"), [("failing_test", "failing_test")], indirect=True)
async def test_a_function_whose_test_fails_is_mended(start, server, repo):
    ended = await carried_out(start, server, "failing_test", repo)
    assert ended.code == 0, ended.errors
    document = ended.document()
    assert [task["state"] for task in document["tasks"].values()] == ["succeeded"]
    git(repo, "checkout", "-q", document["branch"])
    tests = subprocess.run([sys.executable, "-m", "pytest", "tests"], cwd=repo, check=False, capture_output=True)
    assert tests.returncode == 0, tests.stdout
    assert len(server.asked) == len(recording_of("failing_test").read_bytes().splitlines())
