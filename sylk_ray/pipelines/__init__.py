"""A pipeline: Engineer, Inspector and Tester on one task, correcting each other directly.

The three and the pipeline itself are agents of one session with the same name. ``PipelineBus`` is their own way
to each other, past the session's router; ``Lifecycle`` is the state machine with its loops, without agents;
``Working`` is the base of all who can be stopped in the middle of their work, ``Worker`` of the three, and ``Checker``
of the two whose verdict a person may do without. ``handoff`` is what one pipeline leaves to another that goes on with
its task.
"""

from sylk_ray.pipelines.brief import Brief, Feedback, Work
from sylk_ray.pipelines.bus import PipelineBus
from sylk_ray.pipelines.lifecycle import IllegalPhase, Lifecycle, Phase
from sylk_ray.pipelines.worker import Checker, Worker, Working

__all__ = [
    "Brief",
    "Checker",
    "Feedback",
    "IllegalPhase",
    "Lifecycle",
    "Phase",
    "PipelineBus",
    "Work",
    "Worker",
    "Working",
]
