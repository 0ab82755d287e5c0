"""What can go wrong when an agent touches the world; each error has a code and says what to do next."""

from __future__ import annotations

from sylk_ray.errors import InputError, SylkError


class PathRefused(InputError):
    """A path that is not plainly inside the worktree."""

    code = "path_refused"


class TemplateError(InputError):
    """A template that cannot be rendered: an unknown variable, or wrong syntax."""

    code = "template"


class ToolMissing(SylkError):
    """A program that a tool needs is not installed where tool processes look for it."""

    code = "tool_missing"


class ConfinementUnavailable(SylkError):
    """The kernel cannot confine a tool process, so it was not started."""

    code = "confinement_unavailable"


class ActionFailed(SylkError):
    """An action could not be done as it was asked."""

    code = "action_failed"


class ChangesProtected(ActionFailed):
    """The action would discard changes that are not its own."""

    code = "changes_protected"


class NothingChanged(SylkError):
    """An action that was expected to change something found nothing to change."""

    code = "nothing_changed"


class CheckFailed(SylkError):
    """A checking tool did not run to its end, so its silence means nothing."""

    code = "check_failed"
