"""Which commands a model may run: read as a shell reads them, and refused for what none of its tasks needs.

The confinement of tools is what protects the machine; this keeps a model from trying, and tells it why.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from sylk_ray.errors import SylkError
from sylk_ray.thinking.shell_words import Token, Unreadable, tokens


class CommandRefused(SylkError):
    """A command that no task needs."""

    code = "command_refused"


_NEVER = {
    "sudo": "nothing here needs another user",
    "su": "nothing here needs another user",
    "doas": "nothing here needs another user",
    "mkfs": "disks are not a part of the task",
    "dd": "disks are not a part of the task",
    "mount": "disks are not a part of the task",
    "shutdown": "the machine is not a part of the task",
    "reboot": "the machine is not a part of the task",
    "kill": "only programs that you have started in this command may be ended, and they end with it",
    "pkill": "only programs that you have started in this command may be ended, and they end with it",
    "killall": "only programs that you have started in this command may be ended, and they end with it",
    "crontab": "nothing may run later",
    "at": "nothing may run later",
    "nohup": "nothing may run on when the command is over",
    "setsid": "nothing may run on when the command is over",
    "disown": "nothing may run on when the command is over",
    "ssh": "there is no network",
    "scp": "there is no network",
    "nc": "there is no network",
}
_GIT_LOOKS = frozenset(
    {"status", "diff", "log", "show", "blame", "grep", "ls-files", "rev-parse", "describe", "cat-file"}
)
"""All else that git does is done for the agents, not by them."""
_FETCHES = frozenset({"curl", "wget"})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "python", "python3", "perl", "ruby", "node"})
_TAKE_NUMBERS = frozenset({"timeout", "xargs", "nice"})
_NUMBER = re.compile(r"[\d.]+[smhd]?")
_PREFIXES = frozenset(
    {"env", "command", "exec", "time", "nice", "stdbuf", "xargs", "builtin", "timeout"}
    | {"if", "then", "elif", "else", "while", "until", "do", "!"}
)
_REDIRECTS = frozenset({"<", ">", ">>", ">&", ">|", "<<", "<<-", "<<<", "<&", "<>", "&>", "&>>"})
_BEYOND = ("/", "~", "$", "../", "./../")
_MOST_NESTED = 4
_SCRIPT = re.compile(r"-\w*c\w*")
_DOCUMENT = re.compile(r"(?<!<)<<(?!<)-?\s*\\?['\"]?(\w+)['\"]?")


def check_command(command: str) -> None:
    """Raises CommandRefused, with what is the matter."""
    _check(command, 0)


def _check(command: str, depth: int) -> None:
    command, documents = _without_documents(command)
    found = _read(command)
    if any(each.operator and each.text == "&" for each in found):
        raise CommandRefused("nothing may run in the background", hint="run it in the foreground, with a time limit")
    fetched = False
    for begun_by, simple in _simple_commands(found):
        name, arguments = _program(simple)
        if begun_by in ("|", "|&") and fetched and name in _SHELLS:
            raise CommandRefused(f"what {'|'.join(sorted(_FETCHES))} brings is not run", hint="do without it")
        fetched = name in _FETCHES or (fetched and begun_by in ("|", "|&"))
        _check_one(name, arguments)
        script = next((at for at, each in enumerate(arguments[:-1]) if _SCRIPT.fullmatch(each)), None)
        if name in _SHELLS and name.endswith("sh") and script is not None and depth < _MOST_NESTED:
            _check(arguments[script + 1], depth + 1)
        elif name.endswith("sh") and name in _SHELLS and depth < _MOST_NESTED:
            for document in documents:
                _check(document, depth + 1)
        elif name == "eval":
            raise CommandRefused("eval is not run", hint="write the command itself")


def _check_one(name: str, arguments: list[str]) -> None:
    if reason := _NEVER.get(name) or _NEVER.get(name.partition(".")[0]):
        raise CommandRefused(f"{name} is not run: {reason}")
    if name == "git":
        verb = _verb(arguments)
        if verb and verb not in _GIT_LOOKS:
            raise CommandRefused(
                f"git {verb} is not run: commits and branches are made for you",
                hint="git status, diff, log and show are",
            )
    if name == "rm":
        flags = "".join(each for each in arguments if each.startswith("-") and not each.startswith("--"))
        targets = [each for each in arguments if not each.startswith("-")]
        recursive = "r" in flags.lower() or "--recursive" in arguments
        wide = [each for each in targets if each.startswith(_BEYOND) or each.rstrip("/") in ("", ".", "..", "*")]
        if recursive and wide:
            raise CommandRefused(f"rm of {wide[0]} is not run", hint="name the folder, relative to the worktree")
    if name in ("chmod", "chown") and any(each.startswith("/") for each in arguments):
        raise CommandRefused(f"{name} beyond the worktree is not run")


def _verb(arguments: list[str]) -> str:
    """What git is to do: the first word that neither is an option nor belongs to one."""
    words = iter(arguments)
    for word in words:
        if word in ("-C", "-c", "--git-dir", "--work-tree"):
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def _without_documents(command: str) -> tuple[str, list[str]]:
    """A command without its here-documents, and what is in them."""
    lines: list[str] = []
    documents: list[str] = []
    until: list[str] = []
    for line in command.split("\n"):
        if until:
            if line.strip() == until[0]:
                until.pop(0)
            else:
                documents.append(line)
            continue
        lines.append(line)
        until = _DOCUMENT.findall(line)
    return "\n".join(lines), ["\n".join(documents)] if documents else []


def _read(command: str) -> list[Token]:
    try:
        return tokens(command)
    except Unreadable as problem:
        raise CommandRefused(f"a shell could not read that: {problem}", hint="see to its quotes") from None


def _simple_commands(found: list[Token]) -> list[tuple[str, list[str]]]:
    """Each with the separator that it begins after, and without the files that it reads from or writes to."""
    commands: list[tuple[str, list[str]]] = []
    begun_by, current = "", list[str]()
    redirected = False
    for token in found:
        if token.operator and token.text in _REDIRECTS:
            redirected = True
        elif redirected and not token.operator:
            redirected = False
        elif token.operator or (not token.quoted and token.text in ("{", "}")):
            redirected = False
            if current:
                commands.append((begun_by, current))
            begun_by, current = token.text, []
        else:
            current.append(token.text)
    if current:
        commands.append((begun_by, current))
    return commands


def _program(words: list[str]) -> tuple[str, list[str]]:
    """Its name without folders, and its arguments; assignments and what merely runs another are passed over."""
    rest = list(words)
    while rest and (rest[0] in _PREFIXES or ("=" in rest[0] and rest[0].partition("=")[0].isidentifier())):
        runner = rest.pop(0)
        while rest and (rest[0].startswith("-") or (runner in _TAKE_NUMBERS and _NUMBER.fullmatch(rest[0]))):
            rest.pop(0)
    return (PurePosixPath(rest[0]).name, rest[1:]) if rest else ("", [])
