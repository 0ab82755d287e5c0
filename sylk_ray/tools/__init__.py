"""What agents can do to the world: change files, run programs, check, and test.

``perform`` does one action of a job in a worktree, ``inspect`` looks at a change, ``run_tests`` runs the
tests, and under all three ``run_process`` runs programs confined by the kernel (no writing outside of the
worktree, no network, no secrets) and within limits, and leaves no process behind. Plain asyncio: nothing here
knows Ray, messages, or agents. What may be asked is in ``specs``; what may go wrong is in ``errors``.
"""

from sylk_ray.tools.actions import perform
from sylk_ray.tools.checks import inspect
from sylk_ray.tools.confinement import Confinement, confinement
from sylk_ray.tools.context import ActionResult, ToolContext
from sylk_ray.tools.coverage import Coverage, describe_coverage
from sylk_ray.tools.errors import (
    ActionFailed,
    ChangesProtected,
    CheckFailed,
    ConfinementUnavailable,
    NothingChanged,
    PathRefused,
    TemplateError,
    ToolMissing,
)
from sylk_ray.tools.issues import ChangedFile, Issue
from sylk_ray.tools.junit import TestFailure
from sylk_ray.tools.process import ProcessResult, run_process
from sylk_ray.tools.processes import ToolProcess, find_tool_processes, kill_tool_processes
from sylk_ray.tools.templates import render, render_action
from sylk_ray.tools.testing import TestReport, run_tests

__all__ = [
    "ActionFailed",
    "ActionResult",
    "ChangedFile",
    "ChangesProtected",
    "CheckFailed",
    "Confinement",
    "ConfinementUnavailable",
    "Coverage",
    "Issue",
    "NothingChanged",
    "PathRefused",
    "ProcessResult",
    "TemplateError",
    "TestFailure",
    "TestReport",
    "ToolContext",
    "ToolMissing",
    "ToolProcess",
    "confinement",
    "describe_coverage",
    "find_tool_processes",
    "inspect",
    "kill_tool_processes",
    "perform",
    "render",
    "render_action",
    "run_process",
    "run_tests",
]
