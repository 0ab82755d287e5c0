"""What is said to a session, by people and by its agents: brought to whom it is for, and answered.

::

    said = await host.ask(..., router_of(session), Say('@to:tester "how did the tests go?"'))
    said.answers[0].text                                  # and why it went there: said.reasons, said.confidence

``Conversant`` is the base of agents that can be spoken to: ``Hear`` brings them words, ``CallSkill`` uses one of their
skills. ``Dispatcher`` is the routing half of a session's router: it runs the hooks, has the ``Planner`` decide whom an
utterance is for (a grammar, a cache of routes, rules for free text), asks those, and keeps the books: what is pending,
how well each target answers, and how long all that takes. It knows no agent and no Ray; what it needs is passed in.

Source: "SessionRouter", "Guide Skills" and "Common Agent Skills" of the spec.
"""

from sylk_ray.speech.conversant import Conversant, SkillCall
from sylk_ray.speech.dispatcher import Dispatcher
from sylk_ray.speech.errors import AgentNotHere, NeedsModel, NobodyOfThatName, NoSuchJob, TargetUnwell
from sylk_ray.speech.messages import Answered, CallSkill, Hear, Heard, Said, Say
from sylk_ray.speech.planning import Planner
from sylk_ray.speech.receivers import Receiver, Receivers, Voice

__all__ = [
    "AgentNotHere",
    "Answered",
    "CallSkill",
    "Conversant",
    "Dispatcher",
    "Hear",
    "Heard",
    "NeedsModel",
    "NoSuchJob",
    "NobodyOfThatName",
    "Planner",
    "Receiver",
    "Receivers",
    "Said",
    "Say",
    "SkillCall",
    "TargetUnwell",
    "Voice",
]
