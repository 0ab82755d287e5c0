"""The questions that were written by hand, answered by meaning alone: which file of a repository, beside others."""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.search_quality.asked import Place, Question
from benchmarks.search_quality.questions import Tree, by_hand, tree_of
from benchmarks.search_quality.scoring import Score, mean, of_files
from sylk_ray.codebase.chunks import cut
from sylk_ray.codebase.languages import GRAMMARS
from sylk_ray.codebase.roles import Role, role_of
from training.embedder.comparing import Similar, hybrids
from training.embedder.measuring import SEED, Asked
from training.embedder.pairs import document

FILES = 50
"""Of a repository: those that are asked for, and others by chance. A transformer takes a second for a dozen chunks."""
_IN_WORDS = re.compile(r"\w+\s+\w+\s+\w+")


class _Asked(NamedTuple):
    """Questions about one repository, and the file that each document is of."""

    questions: list[Question]
    asked: Asked
    paths: list[str]


def answered(repositories: Path, ways: dict[str, Callable[[Asked], Similar]]) -> str:
    """A table: those that were developed with and those that were kept, each way of searching."""
    scores: dict[tuple[str, str], list[Score]] = {}
    for each in _every(repositories):
        found: dict[str, Similar] = {}
        for name, way in ways.items():
            began = time.monotonic()
            found[name] = way(each.asked)
            took = time.monotonic() - began
            print(f"{each.asked.language}: {name}: {len(each.paths)} documents in {took:.1f} s", file=sys.stderr)
        for name, similar in (found | hybrids(found)).items():
            for row, question in zip(similar, each.questions, strict=True):
                places = [Place(each.paths[number]) for number in np.argsort(-row, kind="stable")]
                scores.setdefault((question.kind, name), []).append(of_files(question, places))
    lines = ["| questions | searcher | n | NDCG@10 | MRR@10 | recall@10 |", "|---|---|---:|---:|---:|---:|"]
    for (kind, name), some in sorted(scores.items()):
        all_told = mean(some)
        numbers = f"{all_told.ndcg:.3f} | {all_told.mrr:.3f} | {all_told.recall:.3f}"
        lines.append(f"| {kind} | {name} | {len(some)} | {numbers} |")
    return "\n".join(lines)


def _every(repositories: Path) -> Iterator[_Asked]:
    for name, folder, questions in by_hand(repositories):
        in_words = [each for each in questions if _IN_WORDS.search(each.text)]
        if in_words:
            yield _about(name, tree_of(name, folder), in_words)


def _about(name: str, tree: Tree, questions: Sequence[Question]) -> _Asked:
    code = sorted(path for path, outline in tree.outlines.items() if _is_code(path, outline.language))
    right = {path for each in questions for path in each.files}
    others = [path for path in code if path not in right]
    chosen = [*sorted(right), *random.Random(f"{SEED} {name}").sample(others, min(len(others), FILES - len(right)))]
    documents: list[str] = []
    paths: list[str] = []
    for path in chosen:
        for chunk in cut(tree.outlines[path], tree.texts[path]):
            documents.append(document(chunk.title, path, chunk.text))
            paths.append(path)
    return _Asked(list(questions), Asked(name, [each.text for each in questions], documents), paths)


def _is_code(path: str, language: str) -> bool:
    return language in GRAMMARS and role_of(path, language) is Role.CODE
