"""A model at work: it is told what is wanted, uses tools, and comes to a typed result, or to as much of it as it got.

::

    class Done(msgspec.Struct):
        summary: str

    toolbox = Toolbox(IN_A_WORKTREE, frozenset({"filesystem.read", "filesystem.write"}), Bench(tools))
    outcome = await think(
        Matter(system=prompt("engineer"), task="Add a --json flag.", result=Done),
        toolbox, ask=ask, use=toolbox.use, limits=ThinkingLimits(turns=40), window=32_768,
    )
    outcome.result, outcome.ended       # Done(...), "done"; or what there is, and which limit ended it

``ask`` brings a request to a model and ``use`` uses a tool; an agent passes functions that make a step of each, so that
after a crash the same conversation goes on where it was. A conversation that fills the model's window is summed up, and
another begins with that; ``go_on`` is told, and may have somebody else go on. The loop itself keeps nothing, and does
the same again when it is given the same replies. It knows no agent, no Ray and no provider. A tool is a skill
(``sylk_ray.skills``).
"""

from sylk_ray.thinking.helping import help_skill
from sylk_ray.thinking.loop import think
from sylk_ray.thinking.model import Ended, Heard, Matter, Outcome, ThinkingLimits
from sylk_ray.thinking.prompts import Prompt, prompt
from sylk_ray.thinking.summing import Pause, Summary
from sylk_ray.thinking.toolbox import Answer, Toolbox
from sylk_ray.thinking.worktree import IN_A_WORKTREE, Bench, look_with_shell

__all__ = [
    "IN_A_WORKTREE",
    "Answer",
    "Bench",
    "Ended",
    "Heard",
    "Matter",
    "Outcome",
    "Pause",
    "Prompt",
    "Summary",
    "ThinkingLimits",
    "Toolbox",
    "help_skill",
    "look_with_shell",
    "prompt",
    "think",
]
