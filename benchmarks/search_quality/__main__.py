"""Fetch, ask, and print how good each way of searching is."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

from benchmarks.search_quality import fetching, questions, scoring
from benchmarks.search_quality.asked import Question
from benchmarks.search_quality.beside import Semble
from benchmarks.search_quality.questions import Tree, tree_of
from benchmarks.search_quality.scoring import Score
from benchmarks.search_quality.searchers import searchers
from sylk_ray.codebase.requests import Index
from sylk_ray.codebase.service import CodeService
from sylk_ray.knowledge import KnowledgeBase

OWN = Path(__file__).parents[2]
DEEP = 30
"""Places that each is asked for: several may be in one file."""

Scores = dict[tuple[str, str], dict[str, list[Score]]]
"""By group (level and kind, or level and language), then by searcher."""


def repositories(work: Path, repos: Path | None, *, packages: bool) -> Iterator[tuple[Path, Tree, Sequence[Question]]]:
    """Each repository as it is searched, in a folder of its own, with what is asked about it."""
    for package, folder in fetching.fetched() if packages else ():
        tree = tree_of(package.name, folder)
        asked = questions.of_package(tree)
        yield _written(tree, work / package.name), tree, asked
    if packages and (OWN / ".git").exists():
        own = work / "own"
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=OWN, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as packed:
            packed.extractall(own, filter="data")
        tree = tree_of("sylk_ray", own)
        yield own, tree, questions.from_commits(tree, OWN)
    if repos:
        for name, folder, asked in questions.by_hand(repos):
            yield folder, tree_of(name, folder), asked


def _written(tree: Tree, to: Path) -> Path:
    for path, text in tree.texts.items():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        (to / path).write_text(text, "utf-8")
    return to


def ask_all(
    work: Path, repos: Path | None, only: str, *, packages: bool, semble: bool
) -> tuple[Scores, int, list[float]]:
    """The scores, how many questions there were, and the milliseconds that the product took for each."""
    scores: Scores = {}
    count = 0
    took: list[float] = []
    with KnowledgeBase(work / "known") as base:
        service = CodeService(base)
        for folder, tree, every in repositories(work / "trees", repos, packages=packages):
            asked = [each for each in every if each.kind.startswith(only)]
            if not asked:
                continue
            service.handle(Index(root=str(folder)))
            ways = searchers(tree.texts, folder, base, service)
            if semble:
                ways["semble, with these vectors"] = Semble(_written(tree, work / "semble" / tree.name))
            for name, searcher in ways.items():
                for question in asked:
                    began = time.perf_counter()
                    found = searcher.search(question.text, DEEP)
                    if name == "sylk search":
                        took.append((time.perf_counter() - began) * 1000)
                    by_file, by_definition = scoring.of_files(question, found), scoring.of_definitions(question, found)
                    for level, score in (("file", by_file), ("definition", by_definition)):
                        if score:
                            for group in ("all", question.kind, question.language):
                                scores.setdefault((level, group), {}).setdefault(name, []).append(score)
            count += len(asked)
            print(f"{tree.name}: {len(asked)} questions", file=sys.stderr)
    return scores, count, took


def table(scores: Scores) -> str:
    """For people: a line for each group and searcher."""
    lines = ["| level | questions | searcher | n | NDCG@10 | MRR@10 | recall@10 |", "|---|---|---|---:|---:|---:|---:|"]
    for (level, group), by_searcher in sorted(
        scores.items(), key=lambda each: (each[0][0], each[0][1] != "all", each[0][1])
    ):
        for name, some in by_searcher.items():
            mean = scoring.mean(some)
            lines.append(
                f"| {level} | {group} | {name} | {len(some)} | {mean.ndcg:.3f} | {mean.mrr:.3f} | {mean.recall:.3f} |"
            )
    return "\n".join(lines)


def main() -> int:
    """Ask, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_quality", description=__doc__)
    parser.add_argument("--repos", type=Path, help="where work trees of questions.tsv's repositories lie")
    parser.add_argument(
        "--only", default="", help="questions whose kind begins so: docstring, readme, name, commit, hand"
    )
    parser.add_argument("--without-packages", action="store_true", help="only those of --repos")
    parser.add_argument("--semble", action="store_true", help="semble's ranking beside it, of the extra compare")
    given = parser.parse_args()
    if given.semble and importlib.util.find_spec("semble") is None:
        parser.error("semble is not installed: pip install '.[compare]'")
    began = time.perf_counter()
    work = Path(tempfile.mkdtemp())
    try:
        scores, count, took = ask_all(
            work, given.repos, given.only, packages=not given.without_packages, semble=given.semble
        )
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if not count:
        print("there is nothing to ask", file=sys.stderr)
        return 1
    print(table(scores))
    took.sort()
    print(
        f"\n{count} questions in {time.perf_counter() - began:.0f} s; sylk search took {took[len(took) // 2]:.0f} ms"
        f" (median), {took[len(took) * 99 // 100]:.0f} ms (p99)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
