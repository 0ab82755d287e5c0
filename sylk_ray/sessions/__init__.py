"""Sessions: their records and states, their directories, and their workspace in git.

A session works on a branch ``sylk/<name>`` that starts at the repository's HEAD. Each pipeline gets a worktree of
its own; passing work is merged onto the session's branch, one commit a task. The person's checkout, index, branches
and stash are never touched.
"""

from sylk_ray.sessions.directories import SessionDirectory, session_directory
from sylk_ray.sessions.records import JobRecord, JobState, SessionRecord, SessionState, TaskRecord

__all__ = [
    "JobRecord",
    "JobState",
    "SessionDirectory",
    "SessionRecord",
    "SessionState",
    "TaskRecord",
    "session_directory",
]
