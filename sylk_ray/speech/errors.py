"""Why something that was said came to nobody, or to somebody who could not answer."""

from __future__ import annotations

from sylk_ray.errors import InputError, SylkError


class NobodyOfThatName(InputError):
    """Something was said to an agent that there is not, or that cannot be spoken to."""

    code = "nobody_of_that_name"


class AgentNotHere(SylkError):
    """The agent that it is for is not part of this runtime."""

    code = "agent_not_here"


class NeedsModel(SylkError):
    """What was said can only be answered by a model, and none is configured."""

    code = "needs_model"


class TargetUnwell(SylkError):
    """The agent has failed again and again a moment ago, and is left alone for a while."""

    code = "target_unwell"


class NoSuchJob(SylkError):
    """Something was said about the work of a session that has none."""

    code = "no_job_at_work"


class OnlySaid(SylkError):
    """Words asked for something to be done, which only a command does."""

    code = "only_said"


class Busy(SylkError):
    """Too much is being said to the session at once."""

    code = "busy"


class NobodyAtWork(SylkError):
    """What was said can only be done by agents, and those of the session are put away."""

    code = "nobody_at_work"
