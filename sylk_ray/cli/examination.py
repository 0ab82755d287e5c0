"""What ``sylk doctor`` finds: each check looks at one thing, and says how to mend it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

State = Literal["ok", "warn", "fail", "fixed"]


class Finding(NamedTuple):
    """One line of the report. ``fix`` mends it and returns what it did; without one a person must."""

    name: str
    state: State
    detail: str
    hint: str = ""
    fix: Callable[[], str] | None = None

    def told(self) -> dict[str, str | bool]:
        """As ``--json`` prints it."""
        return {
            "name": self.name,
            "state": self.state,
            "detail": self.detail,
            "hint": self.hint,
            "fixable": self.fix is not None,
        }


Check = Callable[[Path], Iterator[Finding]]


def examine(home: Path, *, ask_models: bool = False) -> list[Finding]:
    """Look at everything; a check that fails itself is a finding, not an end."""
    from sylk_ray.cli import machine_checks, model_checks, runtime_checks

    findings: list[Finding] = []
    asking = model_checks.ASKING if ask_models else ()
    for check in (*machine_checks.CHECKS, *runtime_checks.CHECKS, *model_checks.CHECKS, *asking):
        try:
            findings += check(home)
        except Exception as problem:
            last = traceback.extract_tb(problem.__traceback__)[-1]
            detail = f"the check itself failed: {problem!r} ({Path(last.filename).name}:{last.lineno})"
            findings.append(Finding(check.__name__.replace("_", " "), "fail", detail, "please report it"))
    return findings


def mend(finding: Finding) -> Finding:
    """The finding after its fix, if it needs one and has one."""
    if finding.fix is None or finding.state == "ok":
        return finding
    try:
        return Finding(finding.name, "fixed", f"{finding.detail}: {finding.fix()}")
    except Exception as problem:
        return Finding(finding.name, "fail", f"{finding.detail}; it could not be mended: {problem}", finding.hint)
