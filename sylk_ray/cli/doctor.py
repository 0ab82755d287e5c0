"""``sylk doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sylk_ray.cli.shell import Home, Json, Shell

if TYPE_CHECKING:
    from sylk_ray.cli.examination import Finding


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended.")] = False,
    models: Annotated[bool, typer.Option("--models", help="Ask each model for a word, too.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Check this machine and what runtimes left on it. Exits with 1 when something is wrong and was not mended.

    Examples:

      sylk doctor

      sylk doctor --fix

      sylk doctor --models
    """
    from sylk_ray.cli.examination import examine, mend

    shell = Shell(home, json)
    findings = examine(shell.home, ask_models=models)
    if fix:
        findings = [mend(finding) for finding in findings]
    failed = any(finding.state == "fail" for finding in findings)
    shell.document({"ok": not failed, "checks": [finding.told() for finding in findings]})
    if not json:
        _show(shell, findings)
    if failed:
        raise typer.Exit(1)


def _show(shell: Shell, findings: list[Finding]) -> None:
    from rich.markup import escape
    from rich.table import Table

    colours = {"ok": "green", "warn": "yellow", "fail": "red", "fixed": "cyan"}
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        hint = f"\n  {escape(finding.hint)}" if finding.hint else ""
        table.add_row(f"[{colours[finding.state]}]{finding.state}[/]", finding.name, escape(finding.detail) + hint)
    shell.show(table)
