"""A pipeline: Engineer, Inspector and Tester on one task, correcting each other directly.

The three and the pipeline itself are agents of one session with the same name. ``PipelineBus`` is their own way
to each other, past the session's router; ``Lifecycle`` is the state machine with its loops, without agents;
``Worker`` is the base of the three, which can be stopped in the middle of their work, and ``Checker`` of the two whose
verdict a person may do without.
"""

from sylk_ray.pipelines.bus import PipelineBus
from sylk_ray.pipelines.lifecycle import IllegalPhase, Lifecycle, Phase
from sylk_ray.pipelines.messages import Brief, Feedback, Work
from sylk_ray.pipelines.worker import Checker, Worker

__all__ = ["Brief", "Checker", "Feedback", "IllegalPhase", "Lifecycle", "Phase", "PipelineBus", "Work", "Worker"]
