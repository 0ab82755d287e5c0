from __future__ import annotations

import pytest

from sylk_ray.sessions.changes import Change, parse_diff
from sylk_ray.sessions.git import Git

from .conftest import git, write


@pytest.mark.parametrize("name", ["plain.txt", "two words.txt", "ünïcode.txt", 'quo"te.txt', "a/b/deep name.txt"])
async def test_names_of_every_kind_are_read_back(repo, name):
    write(repo, {name: "1\n2\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "new")
    write(repo, {name: "1\nchanged\nmore\n"})
    git(repo, "commit", "-qam", "changed")
    diff = await Git(repo).run("diff", "--unified=0", "--no-renames", "--no-prefix", "HEAD~1", "HEAD")
    assert parse_diff(diff) == [Change(name, [2, 3], 2, 1)]


async def test_a_deleted_and_a_binary_file_are_told(repo):
    (repo / "image").write_bytes(bytes(range(256)))
    git(repo, "rm", "-q", "one.txt")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "x")
    diff = await Git(repo).run("diff", "--unified=0", "--no-renames", "--no-prefix", "HEAD~1", "HEAD")
    assert parse_diff(diff) == [Change("image"), Change("one.txt", [], 0, 1, True)]


async def test_a_hunk_header_within_a_file_is_text(repo):
    write(repo, {"d.patch": "@@ -1,500 +1,900 @@\n x\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "x")
    diff = await Git(repo).run("diff", "--unified=0", "--no-renames", "--no-prefix", "HEAD~1", "HEAD")
    assert parse_diff(diff) == [Change("d.patch", [1, 2], 2, 0)]
