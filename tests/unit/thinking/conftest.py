"""A worktree, as the tools' own tests have it."""

from tests.unit.tools.conftest import context, make_context, worktree

__all__ = ["context", "make_context", "worktree"]
