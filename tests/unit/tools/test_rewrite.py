from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sylk_ray.errors import InputError
from sylk_ray.tools import ActionFailed, NothingChanged, ToolContext, perform
from sylk_ray.tools.languages import LANGUAGES, language_of
from sylk_ray.tools.specs import Rewrite


def rewrite(**fields: Any) -> Rewrite:
    return Rewrite(**({"language": "python", "files": "**/*.py"} | fields))


async def rewritten(context: ToolContext, source: str, name: str = "a.py", **fields: Any) -> str:
    path = context.worktree / name
    path.write_bytes(source.encode())
    await perform(rewrite(**fields), context)
    return path.read_bytes().decode()


async def test_variables_take_the_matched_text(context: ToolContext) -> None:
    text = await rewritten(
        context,
        "import os\nprint(os.path.join(base, 'ü', 'x'))\n",
        pattern="os.path.join($A, $$$REST)",
        to="Path($A).joinpath($$$REST)",
    )

    assert text == "import os\nprint(Path(base).joinpath('ü', 'x'))\n"


async def test_names_that_begin_alike_do_not_clash_and_nothing_matched_is_empty(context: ToolContext) -> None:
    text = await rewritten(context, "f(1,  2, 3)\nf(1, )\n", pattern="f($ARG, $$$ARGS)", to="g(*$$$ARGS, $ARG)")

    assert text == "g(*2, 3, 1)\ng(*, 1)\n"


async def test_matches_in_matches_are_rewritten_by_further_passes(context: ToolContext) -> None:
    text = await rewritten(context, "x = f(f(f(1), f(2)), é)\n", pattern="f($$$A)", to="g($$$A)")

    assert text == "x = g(g(g(1), g(2)), é)\n"


async def test_the_number_of_passes_is_bounded_and_nothing_is_written(context: ToolContext) -> None:
    (context.worktree / "a.py").write_text("f(1)\n")
    (context.worktree / "b.py").write_text("g(1)\n")

    with pytest.raises(ActionFailed, match=r"a\.py .* still matches the pattern"):
        await perform(rewrite(pattern="f($A)", to="f(g($A))"), context)

    assert (context.worktree / "a.py").read_text() == "f(1)\n"


async def test_a_replacement_that_doubles_is_stopped_before_it_fills_the_memory(context: ToolContext) -> None:
    (context.worktree / "a.py").write_text("f(1)\n")

    with pytest.raises(ActionFailed, match="still matches"):
        await perform(rewrite(pattern="f($A)", to="f($A) + f($A)", max_passes=1000), context)


async def test_deep_nesting_needs_as_many_passes(context: ToolContext) -> None:
    source = "f(" * 5 + "1" + ")" * 5 + "\n"
    (context.worktree / "a.py").write_text(source)

    with pytest.raises(ActionFailed, match="still matches"):
        await perform(rewrite(pattern="f($A)", to="g($A)", max_passes=4), context)
    await perform(rewrite(pattern="f($A)", to="g($A)", max_passes=5), context)

    assert (context.worktree / "a.py").read_text() == source.replace("f", "g")


@pytest.mark.parametrize("to", ["f($A)", "f( $A)"])
async def test_a_replacement_by_itself_changes_nothing_or_never_ends(context: ToolContext, to: str) -> None:
    (context.worktree / "a.py").write_text("f(1)\n")

    with pytest.raises(NothingChanged if to == "f($A)" else ActionFailed):
        await perform(rewrite(pattern="f($A)", to=to), context)


async def test_no_match_is_an_error_unless_it_is_allowed(context: ToolContext) -> None:
    (context.worktree / "a.py").write_text("f(1)\n")

    with pytest.raises(NothingChanged, match="nothing to change in the 1 files"):
        await perform(rewrite(pattern="h($A)", to="g($A)"), context)
    with pytest.raises(NothingChanged, match="no file matches"):
        await perform(rewrite(pattern="h($A)", to="g($A)", files="*.go"), context)
    result = await perform(rewrite(pattern="h($A)", to="g($A)", allow_no_change=True), context)

    assert result.files_changed == ()


async def test_windows_line_endings_and_the_mode_are_kept(context: ToolContext) -> None:
    path = context.worktree / "a.py"
    path.write_bytes(b"f(1)\r\nx = 2\r\n")
    path.chmod(0o750)

    await perform(rewrite(pattern="f($A)", to="g(\n    $A\n)"), context)

    assert path.read_bytes() == b"g(\r\n    1\r\n)\r\nx = 2\r\n"
    assert path.stat().st_mode & 0o777 == 0o750


async def test_further_lines_are_indented_like_the_first(context: ToolContext) -> None:
    text = await rewritten(
        context,
        "def f():\n    if x:\n        run(1)\n",
        pattern="run($A)",
        to="with lock:\n    go($A)",
    )

    assert text == "def f():\n    if x:\n        with lock:\n            go(1)\n"


async def test_captured_lines_move_along_but_not_those_of_a_string(context: ToolContext) -> None:
    text = await rewritten(
        context,
        'run(\n    [\n        1,\n    ])\nrun("""a\n  b""")\n',
        pattern="run($A)",
        to="with lock:\n    go(\n        $A)",
    )

    moved = "with lock:\n    go(\n        [\n            1,\n        ])\n"
    assert text == moved + 'with lock:\n    go(\n        """a\n  b""")\n'


async def test_rules_find_what_patterns_cannot(context: ToolContext) -> None:
    text = await rewritten(
        context,
        "print(1)\ndef f():\n    print(2)\n",
        rule={"pattern": "print($A)", "inside": {"kind": "function_definition", "stopBy": "end"}},
        to="log($A)",
    )

    assert text == "print(1)\ndef f():\n    log(2)\n"


async def test_javascript(context: ToolContext) -> None:
    text = await rewritten(
        context,
        "var a = b == c;\n",
        "a.js",
        language="JavaScript",
        files="*.js",
        pattern="$A == $B",
        to="$A === $B",
    )

    assert text == "var a = b === c;\n"


async def test_go(context: ToolContext) -> None:
    text = await rewritten(
        context,
        'package a\n\nfunc f() error {\n\treturn errors.New("x")\n}\n',
        "a.go",
        language="golang",
        files="*.go",
        rule={"pattern": {"context": "func f() { errors.New($M) }", "selector": "call_expression"}},
        to="fmt.Errorf($M)",
    )

    assert '\treturn fmt.Errorf("x")\n' in text


async def test_dollar_names_of_the_language_are_left_alone(context: ToolContext) -> None:
    text = await rewritten(
        context, "echo hi\n", "a.sh", language="sh", files="*.sh", pattern="echo $A", to='say "$HOME" $A'
    )

    assert text == 'say "$HOME" hi\n'


async def test_binary_files_are_skipped_and_other_encodings_refused(context: ToolContext) -> None:
    (context.worktree / "image.py").write_bytes(b"f(1)\0\xff")
    (context.worktree / "a.py").write_text("f(1)\n")

    result = await perform(rewrite(pattern="f($A)", to="g($A)"), context)
    (context.worktree / "latin.py").write_bytes(b"f('\xe9')\n")

    assert result.files_changed == ("a.py",)
    with pytest.raises(ActionFailed, match=r"latin\.py is not UTF-8"):
        await perform(rewrite(pattern="f($A)", to="g($A)"), context)


@pytest.mark.parametrize(("name", "suggested"), [("pyton", "python"), ("javascrip", "javascript"), ("c+", "cpp")])
def test_an_unknown_language_is_an_error_with_the_nearest_names(name: str, suggested: str) -> None:
    with pytest.raises(InputError, match="not known") as unknown:
        language_of(name)

    assert suggested in unknown.value.hint


def test_every_language_of_the_table_is_one_that_the_parser_knows() -> None:
    from ast_grep_py import SgRoot

    for language in LANGUAGES:
        assert SgRoot("", language).root() is not None


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"pattern": ""}, "pattern"),
        ({"pattern": "a b c"}, "Multiple AST nodes"),
        ({"rule": {"kind": "nonsense"}}, "nonsense"),
        ({"rule": {"bogus": 1}}, "bogus"),
        ({"pattern": "f($A)", "to": "g($B)"}, r"\$B, which the pattern does not capture"),
    ],
)
async def test_a_wrong_pattern_is_explained(context: ToolContext, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        await perform(rewrite(**({"to": "x"} | fields)), context)


async def test_files_outside_are_not_reached_through_links(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text("f(1)\n")
    (context.worktree / "out").symlink_to(tmp_path)

    with pytest.raises(NothingChanged):
        await perform(rewrite(pattern="f($A)", to="g($A)"), context)


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("$$$BODY", "# note\na = 1\nif a:\n    b = 2\n"),
        ("if True:\n    $$$BODY", "if True:\n    # note\n    a = 1\n    if a:\n        b = 2\n"),
    ],
)
async def test_a_block_behind_a_comment_on_its_header_takes_the_indentation(
    context: ToolContext, to: str, expected: str
) -> None:
    source = "try:\n    unicode\nexcept NameError:  # note\n    a = 1\n    if a:\n        b = 2\n"

    text = await rewritten(context, source, pattern="try:\n    unicode\nexcept NameError:\n    $$$BODY", to=to)

    assert text == expected
