"""How well what was done is recalled: commits' messages are the memories, their first lines ask for the rest.

    python -m benchmarks.search_quality.recalling REPOSITORY ...

Each repository's commits that tell something are remembered as sessions' work is, and recalled through the product. A
first line is in no memory, whatever a merge has repeated, so it has to be found by its words and by what it means.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.search_quality.scoring import AT, Score, mean, of_hits
from sylk_ray.codebase.remembering import Memories
from sylk_ray.codebase.requests import Memory, Recall, Remember
from sylk_ray.knowledge import Domain, KnowledgeBase
from sylk_ray.knowledge.finding import Found
from training.embedder.pairs import squeezed

MOST, ASKED = 600, 150
"""Commits of a repository that are remembered, and asked for."""
SHORTEST, FEWEST = 15, 60
"""Words of a message below its first line, and such commits of a repository, at least."""
LONGEST = 3_000
"""Characters of a message that are remembered."""
LOOKED_AT = 4_000
SEED = 20
_TRAILER = re.compile(r"(?m)^\s*(?:[\w-]+-by:|Change-Id|PiperOrigin|git-svn|Reviewed).*\n?")
_NUMBER = re.compile(r"\s*\(#\d+\)")


class Commit(NamedTuple):
    """What it is called, and what it says."""

    subject: str
    body: str


def log_of(repository: Path) -> str:
    """The messages of its last commits, each with a null after it, its first line with a 1."""
    command = ["git", "-C", str(repository), "log", "--no-merges", f"-n{LOOKED_AT}", "--format=%s%x01%b%x00"]
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def commits_in(log: str) -> list[Commit]:
    """Those that say something beside their first line; each first line and each beginning once."""
    found: dict[str, Commit] = {}
    for message in log.split("\0"):
        subject, _, body = message.strip().partition("\1")
        subject = _NUMBER.sub("", subject).strip()
        bare, lines = squeezed(subject), _TRAILER.sub("", body).split("\n")
        said = "\n".join(line for line in lines if bare not in squeezed(line)).strip()[:LONGEST]
        if len(said.split()) >= SHORTEST and len(subject.split()) >= 3:
            found.setdefault(said[:60], Commit(subject, said))
    return list({commit.subject: commit for commit in found.values()}.values())


def found(base: KnowledgeBase, root: str, commits: Sequence[Commit], asked: Sequence[Commit]) -> dict[str, Score]:
    """How well each way of searching finds what is asked for."""
    ids = {commit.subject: f"{root} {number}" for number, commit in enumerate(commits)}
    kept = [
        Memory(id=ids[subject], domain="history", kind="decision", title="", text=body, session="all")
        for subject, body in commits
    ]
    memories = Memories(base)
    memories.remember(Remember(root=root, memories=kept))

    def recalled(subject: str) -> list[str]:
        return [memory.id for memory in memories.recall(Recall(query=subject, root=root, k=AT)).memories]

    def searched(search: Callable[..., list[Found]], subject: str) -> list[str]:
        return [each.node.id for each in search(subject, AT, domain=Domain.HISTORY, scope=root, gated=False)]

    ways = {
        "BM25": partial(searched, base.search.by_words),
        "meaning alone": partial(searched, base.search.by_meaning),
        "recall": recalled,
    }
    return {
        name: mean([of_hits([each == ids[subject] for each in way(subject)], 1) for subject, _ in asked])
        for name, way in ways.items()
    }


def main() -> int:
    """Ask, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_quality.recalling", description=__doc__)
    parser.add_argument("repositories", type=Path, nargs="+", help="git repositories whose messages tell something")
    every: list[dict[str, Score]] = []
    with tempfile.TemporaryDirectory() as work, KnowledgeBase(Path(work)) as base:
        for repository in dict.fromkeys(path.resolve() for path in parser.parse_args().repositories):
            try:
                commits = commits_in(log_of(repository))
            except (OSError, subprocess.CalledProcessError) as problem:
                print(f"{repository}: its commits cannot be read: {problem}", file=sys.stderr)
                continue
            if len(commits) < FEWEST:
                print(f"{repository}: only {len(commits)} commits that say something", file=sys.stderr)
                continue
            commits = random.Random(SEED).sample(commits, min(MOST, len(commits)))
            every.append(found(base, str(repository), commits, commits[:ASKED]))
            told = "  ".join(f"{name} {score.mrr:.3f}" for name, score in every[-1].items())
            print(f"{repository}: {len(commits)} memories  {told}", file=sys.stderr, flush=True)
    if not every:
        print("there is nothing to ask", file=sys.stderr)
        return 1
    print(f"| {len(every)} repositories | MRR@10 | recall@10 | NDCG@10 |\n|---|---:|---:|---:|")
    for name in every[0]:
        of_all = mean([each[name] for each in every])
        print(f"| {name} | {of_all.mrr:.3f} | {of_all.recall:.3f} | {of_all.ndcg:.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
