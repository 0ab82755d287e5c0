"""Where something goes that a person or an agent says: to whom, with which intent, about what.

Everything here decides and nothing here acts: there is no agent, no thread and no Ray, and time is passed in. What was
said is parsed; what turns out to be free text is classified by rules, without a model; and what was answered before is
found again by what was asked for, not by how it was said::

    match parse('@to:librarian "where is the auth middleware"'):
        case Directed("to", agent, text): ...             # and Broadcast, TaskCommand, SlashCommand
        case FreeText(text):
            route = classify(text, agents=("librarian", "archivalist"), now=datetime.now().astimezone())

    classify("wheres the login middleware?", now=now)
    # Route(target="librarian", intent="locate", subject="auth_middleware", confidence=0.95, reasons=(...))

    cache = LibrarianCache(clock.now)
    asked = Asked.of(session, text, route)
    answer = cache.get(asked)                             # None: ask, and cache.put(asked, response, sources={...})

The grammar stands in ``parsing``; ``show`` is its inverse. What the rules know is data: ``rules.toml`` (signs of each
agent and intent), ``subjects.toml`` (concepts and their synonyms), ``times.toml`` and ``commands.toml``. Under
``CONFIDENT`` a route is a guess: then a model may be asked with ``routing_prompt``, and answers a ``RoutingAnswer``.
"""

from sylk_ray.routing.answers import Answer, AnswerStatistics, Asked, Embedder, IntentCounts
from sylk_ray.routing.archivalist_cache import ArchivalistCache
from sylk_ray.routing.asking import RoutingAnswer, routing_prompt
from sylk_ray.routing.classifier import classify
from sylk_ray.routing.commands import Command, Parameter, command_of, commands
from sylk_ray.routing.intents import CONFIDENT, INTENTS, TARGETS, Intent, Route, intents_of
from sylk_ray.routing.librarian_cache import FileChange, LibrarianCache
from sylk_ray.routing.not_understood import NotUnderstood
from sylk_ray.routing.parsing import parse
from sylk_ray.routing.printing import show
from sylk_ray.routing.route_cache import RouteCache, RouteStatistics, SharedRoutes
from sylk_ray.routing.tasks import AmbiguousTask, UnknownTask, find_task
from sylk_ray.routing.time_scope import SCOPES
from sylk_ray.routing.utterances import (
    Broadcast,
    Directed,
    FreeText,
    SlashCommand,
    TaskAction,
    TaskCommand,
    Utterance,
)

__all__ = [
    "CONFIDENT",
    "INTENTS",
    "SCOPES",
    "TARGETS",
    "AmbiguousTask",
    "Answer",
    "AnswerStatistics",
    "ArchivalistCache",
    "Asked",
    "Broadcast",
    "Command",
    "Directed",
    "Embedder",
    "FileChange",
    "FreeText",
    "Intent",
    "IntentCounts",
    "LibrarianCache",
    "NotUnderstood",
    "Parameter",
    "Route",
    "RouteCache",
    "RouteStatistics",
    "RoutingAnswer",
    "SharedRoutes",
    "SlashCommand",
    "TaskAction",
    "TaskCommand",
    "UnknownTask",
    "Utterance",
    "classify",
    "command_of",
    "commands",
    "find_task",
    "intents_of",
    "parse",
    "routing_prompt",
    "show",
]
