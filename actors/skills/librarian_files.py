"""Looking at files: which there are, what they define, what they say."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from actors.skills.curating import MOST_TOKENS, Answered, LibrarianContext, found, nothing, within_budget
from sylk_ray.codebase.requests import Files, FileText, GetFile, ListFiles, Outlined, Structure, SymbolFound
from sylk_ray.errors import InputError
from sylk_ray.skills import count_tokens, skill

_NOTHING_DEFINED = "Nothing is defined there."


class NotOneFile(InputError):
    """A folder was named where only a file will do."""

    code = "not_one_file"


@skill(domain="codebase", keywords=["read", "show", "get", "file", "content"], tier="core", only_looks=True)
async def get_file(
    ctx: LibrarianContext,
    path: str,
    start_line: Annotated[int, Field(ge=0)] = 0,
    end_line: Annotated[int, Field(ge=0)] = 0,
) -> Answered:
    """Read a file, or lines of it, as far as an answer goes.

    Args:
        path: The file, relative to the codebase.
        start_line: The first line, counted from 1; 0 for the file's first.
        end_line: The last line; 0 for the file's last.
    """
    answer = await ctx.ask(GetFile(path=path, root=ctx.root, start_line=start_line or None, end_line=end_line or None))
    assert isinstance(answer, FileText)
    lines = answer.text.split("\n")
    left = MOST_TOKENS - 40
    kept = 0
    for line in lines:
        left -= count_tokens(line) + 1
        if left < 0:
            break
        kept += 1
    shown = lines[: max(kept, 1)]
    last = answer.start_line + len(shown) - 1
    head = f"{answer.path}, lines {answer.start_line}-{last} of {answer.lines}"
    if len(shown) < len(lines):
        head += f"; go on with start_line={last + 1}"
    return found("\n".join([head, *(line[:2000] for line in shown)]))


@skill(domain="codebase", keywords=["list", "files", "glob", "directory"], only_looks=True)
async def list_files(ctx: LibrarianContext, pattern: str) -> Answered:
    """List the files of the codebase that match a glob.

    Args:
        pattern: As in .gitignore, for example **/*.py or src/.
    """
    answer = await ctx.ask(ListFiles(pattern=pattern, root=ctx.root))
    assert isinstance(answer, Files)
    if not answer.paths:
        return nothing("No file matches. Try **/NAME, or a shorter glob.")
    return found(within_budget(answer.paths, "give a narrower glob"))


@skill(domain="codebase", keywords=["structure", "outline", "overview", "symbols"], only_looks=True)
async def get_structure(ctx: LibrarianContext, path: str = "") -> Answered:
    """Get an overview of a file or folder: its files, and what each defines.

    Args:
        path: The file or folder, relative to the codebase; all of it when nothing is said.
    """
    answer = await _outlined(ctx, path)
    if len(answer.files) == 1:
        [(only, symbols)] = answer.files.items()
        if not symbols:
            return nothing(_NOTHING_DEFINED)
        return found(within_budget([only, *(_indented(each) for each in symbols)], "get_file_symbols has them"))
    lines = [f"{file}: {', '.join(_tops(symbols))}".removesuffix(": ") for file, symbols in answer.files.items()]
    return found(within_budget(lines, "give a folder or file within"))


@skill(domain="codebase", keywords=["file symbols", "symbols in", "defined in"], only_looks=True)
async def get_file_symbols(ctx: LibrarianContext, path: str) -> Answered:
    """List everything that one file defines, with lines.

    Args:
        path: The file, relative to the codebase.
    """
    answer = await _outlined(ctx, path)
    if path not in answer.files:
        raise NotOneFile(f"{path} is a folder", hint="get_structure tells what is in a folder")
    symbols = answer.files[path]
    if not symbols:
        return nothing(_NOTHING_DEFINED)
    lines = [f"{each.start_line}-{each.end_line} {each.kind} {each.symbol}" for each in symbols]
    return found(within_budget(lines, "get_structure has their signatures"))


async def _outlined(ctx: LibrarianContext, path: str) -> Outlined:
    answer = await ctx.ask(Structure(path=path, root=ctx.root))
    assert isinstance(answer, Outlined)
    return answer


def _indented(symbol: SymbolFound) -> str:
    depth = symbol.symbol.count(".")
    return f"{'  ' * depth}{symbol.start_line}: {symbol.signature or f'{symbol.kind} {symbol.symbol}'}"


def _tops(symbols: list[SymbolFound]) -> list[str]:
    """Of a file's definitions those at its top; what is constant only where there is nothing else."""
    tops = [each for each in symbols if "." not in each.symbol]
    said = [each.symbol for each in tops if each.kind != "constant"]
    return list(dict.fromkeys(said or [each.symbol for each in tops]))


LOOKING_AT_FILES = (get_file, list_files, get_structure, get_file_symbols)
