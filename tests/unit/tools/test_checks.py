from __future__ import annotations

import os
from pathlib import Path

import pytest

from sylk_ray.errors import InputError
from sylk_ray.tools import ChangedFile, CheckFailed, ToolContext, ToolMissing, inspect
from sylk_ray.tools.specs import Check, Inspection, Limits

from .conftest import MakeContext

GREP = r"^(?P<file>[^:]+):(?P<line>\d+):(?P<message>.*)$"


@pytest.fixture
def bad(worktree: Path) -> ChangedFile:
    (worktree / "bad file.py").write_text("import os\n\n\ndef f() -> int:\n    return 'x'\n")
    return ChangedFile("bad file.py", frozenset({5}), 1, 0)


async def test_ruff_issues_come_with_file_line_and_suggestion(context: ToolContext, bad: ChangedFile) -> None:
    (issue,) = await inspect(Inspection(tools=(Check(name="ruff"),)), [bad], context)

    assert (issue.file, issue.line, issue.severity) == ("bad file.py", 1, "error")
    assert "F401" in issue.message
    assert "Remove unused import" in issue.suggestion


async def test_mypy_issues_come_with_file_and_line(context: ToolContext, bad: ChangedFile) -> None:
    check = Check(name="mypy", severity="warning")

    issues = await inspect(Inspection(tools=(check,)), [bad], context)

    assert [(each.file, each.line, each.category, each.severity) for each in issues] == [
        ("bad file.py", 5, "types", "warning")
    ]
    assert "return-value" in issues[0].message
    assert not (context.worktree / ".mypy_cache").exists()


async def test_only_changed_lines_count_if_so_asked(context: ToolContext, bad: ChangedFile) -> None:
    checks = (Check(name="ruff", scope="changed_lines"), Check(name="mypy", scope="changed_lines"))

    issues = await inspect(Inspection(tools=checks), [bad], context)

    assert [each.line for each in issues] == [5]


async def test_a_syntax_error_is_an_issue_of_both(context: ToolContext, worktree: Path) -> None:
    (worktree / "a.py").write_text("def f(:\n")
    checks = (Check(name="ruff", severity="info"), Check(name="mypy"))

    issues = await inspect(Inspection(tools=checks), [ChangedFile("a.py")], context)

    assert {each.severity for each in issues} == {"error"}
    assert {each.category for each in issues} == {"lint", "types"}


@pytest.mark.parametrize("name", ["ruff", "mypy"])
async def test_a_tool_that_crashes_is_an_error_and_no_silence(
    context: ToolContext, bad: ChangedFile, name: str
) -> None:
    check = Check(name=name, arguments=("--no-such-option",))

    with pytest.raises(CheckFailed, match=r"exit code 2(?s:.*)no-such-option"):
        await inspect(Inspection(tools=(check,)), [bad], context)


async def test_deleted_and_foreign_files_are_not_given_to_tools(context: ToolContext, worktree: Path) -> None:
    (worktree / "README.md").write_text("no python (\n")
    (worktree / "other.py").write_text("import os\n")
    checks = (Check(name="ruff"), Check(name="list", run="echo {files}; exit 1"))

    issues = await inspect(Inspection(tools=checks), [ChangedFile("gone.py"), ChangedFile("README.md")], context)

    assert len(issues) == 1
    assert issues[0].message.endswith("README.md")


async def test_a_command_is_judged_by_its_exit_code(context: ToolContext, bad: ChangedFile) -> None:
    good = Check(name="good", run="true")
    failing = Check(name="failing", run="echo reason; exit 7", category="own", severity="warning")

    (issue,) = await inspect(Inspection(tools=(good, failing)), [bad], context)

    assert (issue.file, issue.line, issue.category, issue.severity) == ("", 0, "own", "warning")
    assert "exit code 7: reason" in issue.message


async def test_a_pattern_reads_a_commands_output(context: ToolContext, bad: ChangedFile) -> None:
    check = Check(name="grep", run="grep -Hn return {files} && echo other.py:1:x", pattern=GREP)

    (issue,) = await inspect(Inspection(tools=(check,)), [bad], context)

    assert (issue.file, issue.line, issue.message) == ("bad file.py", 5, "    return 'x'")


async def test_severity_and_category_come_from_the_pattern(context: ToolContext, bad: ChangedFile) -> None:
    pattern = r"(?P<severity>\w+) (?P<category>\w+) (?P<message>.*)"
    check = Check(name="own", run="echo note style too long", pattern=pattern)

    (issue,) = await inspect(Inspection(tools=(check,)), [bad], context)

    assert (issue.severity, issue.category, issue.message) == ("info", "style", "too long")


async def test_a_command_that_fails_without_a_match_is_an_error(context: ToolContext, bad: ChangedFile) -> None:
    check = Check(name="own", run="echo segfault; exit 9", pattern=GREP)

    with pytest.raises(CheckFailed, match=r"exit code 9(?s:.*)segfault"):
        await inspect(Inspection(tools=(check,)), [bad], context)


async def test_findings_that_are_too_many_to_be_read_are_an_error(
    make_context: MakeContext, bad: ChangedFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context = make_context(limits=Limits(timeout_s=60, output_mb=80))
    flood = "head -c 70000000 /dev/zero | tr '\\0' '\\n'; echo 'bad file.py:5:wrong'"
    with pytest.raises(CheckFailed, match=r"check own found cannot be read: .* larger than 64 MB"):
        await inspect(Inspection(tools=(Check(name="own", run=flood, pattern=GREP),)), [bad], context)

    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "mypy").write_text(f"#!/bin/sh\n{flood}\nexit 1\n")
    (programs / "mypy").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(CheckFailed, match=r"check mypy found cannot be read: .* larger than 64 MB"):
        await inspect(Inspection(tools=(Check(name="mypy"),)), [bad], context)


async def test_a_report_that_is_no_plain_file_is_an_error(
    context: ToolContext, bad: ChangedFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ruff").write_text(f"#!/bin/sh\nmkfifo {context.private_dir}/ruff.json\n")
    (programs / "ruff").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(CheckFailed, match=r"check ruff found cannot be read: .* no regular file"):
        await inspect(Inspection(tools=(Check(name="ruff"),)), [bad], context)


async def test_wrong_checks_are_explained(context: ToolContext, bad: ChangedFile) -> None:
    with pytest.raises(InputError, match="pylint"):
        await inspect(Inspection(tools=(Check(name="pylint"),)), [bad], context)
    with pytest.raises(InputError, match="regular expression"):
        await inspect(Inspection(tools=(Check(name="x", run="true", pattern="("),)), [bad], context)
    with pytest.raises(ToolMissing, match="not-a-linter"):
        await inspect(Inspection(tools=(Check(name="x", run="not-a-linter {files}"),)), [bad], context)


async def test_forbidden_files_and_too_many_lines_are_issues(context: ToolContext) -> None:
    inspection = Inspection(forbid=("secrets/**", "*.lock"), max_changed_lines=10)
    changed = [ChangedFile("secrets/a", added=6), ChangedFile("a/uv.lock", removed=5), ChangedFile("ok.py")]

    issues = await inspect(inspection, changed, context)

    assert [(each.file, each.category) for each in issues] == [
        ("", "size"),
        ("a/uv.lock", "forbidden"),
        ("secrets/a", "forbidden"),
    ]
    assert "11 lines" in issues[0].message
