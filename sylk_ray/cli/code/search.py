"""``sylk search``: find code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sylk_ray.cli.code.asking import Refresh, Repo, looked_up, root_of
from sylk_ray.cli.shell import Home, Json, Shell, decoded, escaped
from sylk_ray.errors import InputError

if TYPE_CHECKING:
    from sylk_ray.codebase.requests import Result, SearchAnswer

_QUERY_WIDTH = 80
"""Of a query that is shown again."""


class NothingAsked(InputError):
    """A query without a word."""

    code = "nothing_asked"


class UnknownLanguage(InputError):
    """A language that no file can be in."""

    code = "unknown_language"


def search(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", callback=decoded, help="What it does, in words; a name; or a path.")
    ],
    repo: Repo = Path(),
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="Results at most.")] = 10,
    kind: Annotated[Literal["function", "type", "file", "any"], typer.Option("--kind", help="What to find.")] = "any",
    lang: Annotated[str, typer.Option("--lang", metavar="LANGUAGE", help="Only files in this language.")] = "",
    path: Annotated[
        str, typer.Option("--path", metavar="GLOB", callback=decoded, help="Only files whose paths match.")
    ] = "",
    budget: Annotated[int, typer.Option("--budget", min=20, metavar="TOKENS", help="Of all snippets.")] = 4000,
    refresh: Refresh = True,
    home: Home = None,
    json: Json = False,
) -> None:
    """Find code by what it means, by its words, and by its names. The first search of a repository indexes it.

    Results are snippets, the best file first, each file once; after five files more of one may come before another.
    Tests, examples and documents come after the code that they are of, unless the query speaks of them. A query of
    which no file has a single word is answered with nothing, at once. It works without a runtime; nothing leaves this
    machine.

    Examples:

      sylk search "where are passwords hashed"

      sylk search Parser.parse --kind function

      sylk search "retry after a timeout" --lang go --path 'client/**' -k 3

      sylk search "session cookie" --json
    """
    from sylk_ray.codebase.requests import Search, SearchAnswer

    shell = Shell(home, json)
    if not any(letter.isalnum() for letter in query):
        raise NothingAsked("the query has no word", hint='Say what to look for: sylk search "where is it parsed"')
    root = root_of(repo)
    asked = Search(query=query, root=str(root), k=k, kind=kind, language=_language(lang), path=path, budget=budget)
    answer = looked_up(shell, root, asked, SearchAnswer, refresh=refresh)
    shell.document(told(answer))
    if not json:
        _show(shell, answer)


def told(answer: SearchAnswer) -> dict[str, Any]:
    """The document of ``--json``."""
    document: dict[str, Any] = {
        "query": answer.query,
        "status": answer.status,
        "took_ms": answer.took_ms,
        "tokens": answer.tokens,
        "also_exists_in": answer.also_exists_in,
        "results": answer.results,
    }
    return document | ({"hint": answer.hint} if answer.hint else {})


def _language(name: str) -> str:
    from difflib import get_close_matches

    from sylk_ray.codebase.languages import LANGUAGES, language_of

    folded = name.lower().lstrip(".")
    wanted = folded if folded in LANGUAGES else language_of(f"any.{folded}")
    if name and wanted not in LANGUAGES:
        near = get_close_matches(name.lower(), LANGUAGES, n=3, cutoff=0.5)
        raise UnknownLanguage(
            f"the language {name!r} is not known",
            hint=(f"Did you mean {' or '.join(near)}? " if near else "") + f"Known are {', '.join(LANGUAGES)}.",
        )
    return wanted if name else ""


def _show(shell: Shell, answer: SearchAnswer) -> None:
    if not answer.results:
        asked = answer.query if len(answer.query) <= _QUERY_WIDTH else f"{answer.query[:_QUERY_WIDTH]}..."
        shell.say(escaped(f"nothing found for {asked!r}" + (f". {answer.hint}" if answer.hint else "")))
    for number, result in enumerate(answer.results, 1):
        named = f"  {result.symbol} ({result.kind})" if result.symbol else ""
        where = f"{result.path}:{result.start_line}-{result.end_line}"
        shell.say(escaped(f"{number}. {where}{named}  {result.score:.2f}"))
        shell.say(escaped(f"   {'; '.join(result.why)}"))
        _snippet(shell, result)
        shell.say("")


def _snippet(shell: Shell, result: Result) -> None:
    lines = [escaped(line.removesuffix("\r")) for line in result.snippet.split("\n")]
    if shell.is_terminal:
        from rich.syntax import Syntax

        names = {"csharp": "c#", "gomod": "text", "asciidoc": "text"}
        lexer = names.get(result.language, result.language)
        shell.show(
            Syntax(
                "\n".join(lines),
                lexer,
                line_numbers=True,
                start_line=result.start_line,
                background_color="default",
                word_wrap=False,
            )
        )
    else:
        for number, line in enumerate(lines, result.start_line):
            shell.say(f"   {number:>5}  {line}".rstrip())
