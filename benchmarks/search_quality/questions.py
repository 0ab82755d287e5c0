"""Questions made of what people wrote: docstrings, READMEs, names and commit messages; and those written by hand.

A docstring that is asked with is taken out of the text that is searched, so that nobody finds it by itself.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.search_quality.asked import Question
from sylk_ray.codebase.languages import GRAMMARS, language_of
from sylk_ray.codebase.outline import Outline, Symbol, SymbolKind
from sylk_ray.codebase.reading import read
from sylk_ray.codebase.roles import Role, role_of

BY_HAND = Path(__file__).with_name("questions.tsv")
REVISIONS = Path(__file__).with_name("revisions.tsv")
"""The commit of each repository that those are about."""
SEED = 20
EACH = 9
"""Questions of a kind from one repository, at most."""
COMMITS = 60
FEWEST_WORDS = 5

_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)|(.+)", re.DOTALL)
_CODE_NAME = re.compile(r"``?([A-Za-z_][\w.]*)(?:\([^)`]*\))?``?")
_MARKUP = re.compile(r"``?[^`]*``?|\[([^\]]*)\]\([^)]*\)|:\w+:|[*_#>|]+|@\w+\b.*|<[^>]+>")
_COMMIT = re.compile(r"(?:feat|fix|perf|refactor)(?:\([^)]*\))?!?: (.+)")
_DOCSTRING = re.compile(r"[ \t]*[rRuUbB]?(\"\"\"|''')(.*?)\1[ \t]*\n", re.DOTALL)


class Tree(msgspec.Struct):
    """The files of one repository, as they are searched."""

    name: str
    texts: dict[str, str]
    outlines: dict[str, Outline]


def tree_of(name: str, folder: Path) -> Tree:
    """Everything in a folder that is text."""
    texts: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not {".git", "node_modules"} & set(path.relative_to(folder).parts):
            try:
                texts[path.relative_to(folder).as_posix()] = path.read_text("utf-8")
            except (UnicodeDecodeError, OSError):
                continue
    return Tree(name, texts, {path: read(path, text) for path, text in texts.items()})


def chosen(questions: Iterable[Question], most: int, name: str) -> list[Question]:
    """Some of them, the same ones every time."""
    every = list(questions)
    return random.Random(f"{SEED} {name}").sample(every, min(most, len(every)))


def first_sentence(doc: str) -> str:
    """What a text says first, without its marks; empty if it says too little to ask with."""
    paragraph = doc.strip().split("\n\n")[0]
    found = _SENTENCE.match(" ".join(paragraph.split()))
    said = _MARKUP.sub(lambda each: each[1] or " ", (found[1] or found[2]) if found else "")
    said = " ".join(said.split()).strip(" .")
    return said if FEWEST_WORDS <= len(said.split()) <= 30 and said.isascii() else ""


def from_docstrings(tree: Tree) -> list[Question]:
    """A documentation's first sentence for its function. Takes the documentation out of the tree."""
    candidates: list[Question] = []
    symbols: dict[tuple[str, int], Symbol] = {}
    for path, outline in tree.outlines.items():
        if outline.language not in GRAMMARS or role_of(path, outline.language) is not Role.CODE:
            continue
        for symbol in outline.symbols:
            asked = first_sentence(symbol.doc)
            callable_ = symbol.kind in (SymbolKind.FUNCTION, SymbolKind.METHOD)
            if asked and callable_ and symbol.end_line - symbol.start_line > 4:
                candidates.append(_question(tree, outline, "docstring", asked, symbol.start_line))
                symbols[path, symbol.start_line] = symbol
    made: list[Question] = []
    for each in chosen(candidates, EACH, tree.name):
        [path] = each.files
        text = without_doc(tree.texts[path], symbols[path, each.line])
        if text is not None:
            tree.texts[path] = text
            made.append(each)
    tree.outlines = {path: read(path, text) for path, text in tree.texts.items()}
    placed = (_where_it_is_now(tree, each, symbols[each.files[0], each.line]) for each in made)
    return [each for each in placed if each]


def _where_it_is_now(tree: Tree, question: Question, symbol: Symbol) -> Question | None:
    """Without its documentation a definition begins further down; None where it is not read any more."""
    now = [each for each in tree.outlines[question.files[0]].symbols if each.qualified == symbol.qualified]
    if not now:
        return None
    nearest = min(now, key=lambda each: abs(each.end_line - symbol.end_line))
    return msgspec.structs.replace(question, line=nearest.start_line)


def without_doc(text: str, symbol: Symbol) -> str | None:
    """A text with a definition's documentation blanked out, its lines kept; None where it is not found."""
    lines = text.split("\n")
    first, last = symbol.start_line - 1, min(symbol.end_line, len(lines))
    above = _after_the_comment(lines, first, last)
    if above > first:
        return "\n".join([*lines[:first], *([""] * (above - first)), *lines[above:]])
    body = "\n".join(lines[first:last]) + "\n"
    for found in _DOCSTRING.finditer(body):
        if " ".join(found[2].split())[:30] == " ".join(symbol.doc.split())[:30]:
            blank = body[: found.start()] + "\n" * found[0].count("\n") + body[found.end() :]
            return "\n".join([*lines[:first], blank.removesuffix("\n"), *lines[last:]])
    return None


def _after_the_comment(lines: Sequence[str], first: int, last: int) -> int:
    opening = lines[first].lstrip()
    if opening.startswith("/*"):
        return next((at + 1 for at in range(first, last) if "*/" in lines[at]), first)
    mark = next((each for each in ("//", "# ") if opening.startswith(each)), None)
    at = first
    while mark and at < last and lines[at].lstrip().startswith(mark):
        at += 1
    return at


def from_readmes(tree: Tree) -> list[Question]:
    """A README's sentence, without what it names, for the one file that defines that."""
    defining: dict[str, set[str]] = {}
    for path, outline in tree.outlines.items():
        for symbol in outline.symbols if role_of(path, outline.language) is Role.CODE else ():
            defining.setdefault(symbol.name, set()).add(path)
    made: dict[str, Question] = {}
    for path, text in tree.texts.items():
        if not path.rsplit("/", 1)[-1].lower().startswith("readme"):
            continue
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])|\n\s*\n|\n[-*] ", text):
            files = [defining.get(name.rpartition(".")[2], set()) for name in _CODE_NAME.findall(sentence)]
            asked = first_sentence(sentence)
            one = next((each for each in files if len(each) == 1), None)
            if asked and one:
                [file] = one
                made.setdefault(asked, _question(tree, tree.outlines[file], "readme", asked, 0))
    return chosen(made.values(), EACH, tree.name)


def from_names(tree: Tree) -> list[Question]:
    """A definition's name for where it stands; names that are defined once."""
    places: dict[str, list[tuple[Outline, Symbol]]] = {}
    for path, outline in tree.outlines.items():
        for symbol in outline.symbols if role_of(path, outline.language) is Role.CODE else ():
            places.setdefault(symbol.name, []).append((outline, symbol))
    once = [each[0] for name, each in sorted(places.items()) if len(each) == 1 and len(name) > 4]
    callables = [each for each in once if each[1].kind is not SymbolKind.CONSTANT]
    questions = (_question(tree, outline, "name", symbol.name, symbol.start_line) for outline, symbol in callables)
    return chosen(questions, EACH // 2, tree.name)


def from_paths(tree: Tree) -> list[Question]:
    """A file by the end of its path that is its own, whatever kind of file it is."""
    ends = Counter(end for path in tree.texts for end in _ends(path))
    made: list[Question] = []
    for path, outline in sorted(tree.outlines.items()):
        end = next((each for each in _ends(path) if ends[each] == 1), path)
        if "." in end:
            made.append(_question(tree, outline, "path", end, 0))
    return chosen(made, EACH // 2, tree.name)


def _ends(path: str) -> list[str]:
    """From its name to the whole of it."""
    parts = path.split("/")
    return ["/".join(parts[at:]) for at in range(len(parts) - 1, -1, -1)]


def from_commits(tree: Tree, repository: Path) -> list[Question]:
    """A commit's subject for the code that it changed, where that is three files at most and still there."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--name-only", "--format=%x00%s"],
        cwd=repository,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    made: list[Question] = []
    for commit in log.split("\0")[1:]:
        subject, *names = commit.strip().split("\n")
        told = _COMMIT.match(subject)
        code = [
            name
            for name in names
            if name in tree.outlines
            and tree.outlines[name].language in GRAMMARS
            and role_of(name, tree.outlines[name].language) is Role.CODE
        ]
        if told and 1 <= len(code) <= 3:
            made.append(
                Question(repository=tree.name, language="python", kind="commit", text=told[1], files=tuple(code))
            )
    return chosen(made, COMMITS, tree.name)


def by_hand(folder: Path) -> Iterator[tuple[str, Path, list[Question]]]:
    """The questions of ``questions.tsv`` by repository, for those whose work trees lie in a folder."""
    by_repository: dict[str, list[Question]] = {}
    for line in BY_HAND.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        repository, kind, text, files, part = line.split("\t")
        paths = tuple(files.split(","))
        by_repository.setdefault(repository, []).append(
            Question(
                repository=repository,
                language=language_of(paths[0]),
                kind=f"hand, {part}: {kind}",
                text=text,
                files=paths,
            )
        )
    missing: list[str] = []
    for repository, questions in by_repository.items():
        tree = folder / repository.rpartition("/")[2]
        if tree.is_dir():
            yield repository, tree, questions
        else:
            missing.append(repository)
    if missing:
        left = f"{len(missing)} of {len(by_repository)} repositories are not in {folder}, and are not asked about"
        print(f"{left}: {', '.join(missing)}", file=sys.stderr)


def _question(tree: Tree, outline: Outline, kind: str, text: str, line: int) -> Question:
    return Question(
        repository=tree.name, language=outline.language, kind=kind, text=text, files=(outline.path,), line=line
    )


def of_package(tree: Tree) -> Sequence[Question]:
    """All kinds that a package gives."""
    asked = from_docstrings(tree)
    return [*asked, *from_readmes(tree), *from_names(tree), *from_paths(tree)]
